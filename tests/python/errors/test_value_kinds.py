"""Values of one kind where another one is wanted: vectors for arrays, products of two vectors, rows that are too short."""

from __future__ import annotations

from typing import Any

import pytest
import warp as wp


@wp.kernel
def fill(out: wp.array(dtype=float)):
    out[wp.tid()] = 1.0


@wp.kernel
def double(a: wp.array(dtype=Any)):
    a[0] = a[0] + a[0]


def test_vectors_are_no_arrays() -> None:
    v = wp.vec3(1.0, 2.0, 3.0)
    for value in (v, wp.mat22(), wp.quat(), wp.transform()):
        with pytest.raises(RuntimeError, match="argument 'out': expected array"):
            wp.launch(fill, dim=1, inputs=[value])
    assert list(v) == [1.0, 2.0, 3.0]


def test_a_number_for_an_array_of_any_type() -> None:
    with pytest.raises(TypeError, match="argument 'a': expected .*array.*, got int32"):
        wp.launch(double, dim=1, inputs=[1])


def test_two_vectors_have_no_matrix_product() -> None:
    v = wp.vec3(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        v @ v  # noqa: B018
    assert wp.mat33(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0) @ v == v


def test_too_few_numbers_for_a_matrix() -> None:
    with pytest.raises(TypeError):
        wp.mat33(1.0, 2.0, 3.0)


def test_transforms_change_sign() -> None:
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    assert -t == wp.transform(-1.0, -2.0, -3.0, 0.0, 0.0, 0.0, -1.0)


def test_modes_of_captures() -> None:
    assert [int(mode) for mode in wp.CaptureMode] == [0, 1, 2]
