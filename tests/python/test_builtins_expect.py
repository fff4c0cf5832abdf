"""expect_eq, expect_neq and expect_near: what they print, and that kernels go on."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp


@wp.kernel
def met(out: wp.array(dtype=int)):
    wp.expect_eq(1, 1)
    wp.expect_eq(wp.float64(0.5), wp.float64(0.5))
    wp.expect_eq(wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 2.0, 3.0))
    wp.expect_eq(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.mat22(1.0, 2.0, 3.0, 4.0))
    wp.expect_eq(wp.quat_identity(), wp.quat_identity())
    wp.expect_eq(wp.transform_identity(), wp.transform_identity())
    wp.expect_eq(True, True)
    wp.expect_neq(1, 2)
    wp.expect_neq(wp.vec2i(1, 2), wp.vec2i(2, 2))
    wp.expect_near(1.0, 1.0)
    wp.expect_near(1.0, 1.5, 0.5)
    wp.expect_near(arg1=wp.vec3(1.0, 2.0, 3.0), arg2=wp.vec3(1.0, 2.5, 3.0), tolerance=0.5)
    wp.expect_near(wp.mat22(1.0, 2.0, 3.0, 4.0), wp.mat22(1.0, 2.0, 3.0, 4.5), 0.5)
    wp.expect_near(wp.quat_identity(), wp.quat(0.0, 0.5, 0.0, 1.0), 0.5)
    out[0] = 1


@wp.kernel
def not_met(out: wp.array(dtype=int)):
    wp.expect_eq(1, 2)
    wp.expect_neq(wp.uint8(3), wp.uint8(3))
    wp.expect_near(1.0, 2.0, 0.5)
    wp.expect_near(wp.vec2(1.0, 2.0), wp.vec2(1.0, 5.0), 0.25)
    out[0] = 1


def test_silent_when_met(capfd: pytest.CaptureFixture) -> None:
    out = wp.zeros(1, dtype=int)
    wp.launch(met, 1, [out])
    wp.synchronize()
    assert out.numpy()[0] == 1 and capfd.readouterr().out == ""


def test_kernels_print_and_go_on(capfd: pytest.CaptureFixture) -> None:
    out = wp.zeros(1, dtype=int)
    wp.launch(not_met, 1, [out])
    wp.synchronize()
    text = capfd.readouterr().out
    assert out.numpy()[0] == 1
    assert "Error, expect_eq() failed:\n\t Expected: 2\n\t Actual: 1\n" in text
    assert "Error, expect_neq() failed:\n\t Expected: 3\n\t Actual: 3\n" in text
    assert "Error, expect_near() failed with tolerance 0.5\n    Expected: 2" in text and "Absolute difference: 1" in text
    assert "Max absolute difference: 3" in text


def test_from_python(capfd: pytest.CaptureFixture) -> None:
    wp.expect_eq(1, 1)
    wp.expect_near(1.0, 1.0)
    wp.expect_near(wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 2.0, 3.5), tolerance=0.5)
    assert capfd.readouterr().out == ""
    wp.expect_eq(arg1=1, arg2=2)
    assert "Error, expect_eq() failed:\n\t Expected: 2\n\t Actual: 1\n" in capfd.readouterr().out


def test_not_a_number_equals_nothing(capfd: pytest.CaptureFixture) -> None:
    nan = float(np.nan)
    wp.expect_near(nan, nan)
    assert capfd.readouterr().out == ""
    wp.expect_eq(nan, nan)
    assert "expect_eq() failed" in capfd.readouterr().out


def test_less_exact_forms_are_the_exact_ones() -> None:
    m = wp.mat33(2.0, 1.0, 0.0, 0.0, 3.0, 1.0, 1.0, 0.0, 4.0)
    assert wp.inverse_approx(m) == wp.inverse(m)
    assert wp.div_approx(1.0, 3.0) == wp.div(1.0, 3.0) and wp.div_approx(wp.vec2(1.0, 2.0), 4.0) == (0.25, 0.5)
    assert wp.div_approx(1.0, wp.vec2(2.0, 4.0)) == (0.5, 0.25)
