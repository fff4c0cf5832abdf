"""Vectors of length 0: what `wp.vector(length=wp.static(n))` makes where n is 0. Programs guard what they do with them by n."""

import numpy as np
import pytest
import warp as wp


def gather(n: int):
    """A kernel that keeps up to n numbers that are above a bound, and sums them."""

    @wp.kernel(module="unique")
    def kept(values: wp.array(dtype=int), out: wp.array(dtype=int)):
        found = wp.vector(length=wp.static(n), dtype=wp.int32)
        count = int(0)
        for i in range(values.shape[0]):
            if values[i] > 2:
                if count < wp.static(n):
                    found[count] = values[i]
                    count += 1
        total = int(0)
        for k in range(count):
            total += found[k]
        out[0] = total
        out[1] = len(found)

    return kept


@pytest.mark.parametrize("n, expected", [(0, [0, 0]), (2, [7, 2])])
def test_code_for_any_length_compiles_for_none(n, expected):
    values, out = wp.array([1, 3, 4, 5], dtype=int), wp.zeros(2, dtype=int)
    wp.launch(gather(n), dim=1, inputs=[values, out])
    assert out.numpy().tolist() == expected


@wp.func
def passed_on(v: wp.types.vector(0, wp.float32), more: float) -> float:
    return more + float(len(v))


@wp.kernel
def passes(out: wp.array(dtype=float)):
    v = wp.vector(length=0, dtype=float)
    if out[0] > 0.0:
        v = wp.vector(length=0, dtype=float)
    out[0] = passed_on(v, 2.0)


def test_they_are_passed_and_assigned():
    out = wp.zeros(1, dtype=float)
    wp.launch(passes, dim=1, inputs=[out])
    assert out.numpy()[0] == 2.0


def test_the_class_in_python():
    cls = wp.types.vector(0, wp.float32)
    assert cls is wp.types.vector(length=0, dtype=wp.float32)
    assert cls is not wp.types.vector(0, wp.int32)
    assert len(cls()) == 0
    with pytest.raises(TypeError, match="length 0"):
        wp.zeros(3, dtype=cls)


def test_a_read_that_happens_is_zero_and_in_debug_mode_an_error():
    @wp.kernel(module="unique")
    def reads(k: int, out: wp.array(dtype=float)):
        v = wp.vector(length=0, dtype=float)
        v[k] = 3.0
        out[0] = v[k]

    out = wp.full(1, 5.0, dtype=float)
    wp.launch(reads, dim=1, inputs=[1, out])
    assert out.numpy()[0] == 0.0
    wp.set_module_options({"mode": "debug"}, module=reads.module)
    with pytest.raises(Exception, match="length 0"):
        wp.launch(reads, dim=1, inputs=[1, out])
        wp.synchronize()
