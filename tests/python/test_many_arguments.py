"""Kernels with more parameters than most: blocks of arguments beyond the 4 KB that every CUDA driver takes."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from warp._src.kernels.definitions import kernel_from_text


def sum_of(count: int) -> wp.Kernel:
    parameters = ", ".join(f"a{k}: wp.array(dtype=float)" for k in range(count))
    terms = " + ".join(f"a{k}[i]" for k in range(count))
    text = f"def sum_of_{count}({parameters}, out: wp.array(dtype=float), s: float):\n    i = wp.tid()\n    out[i] = s * ({terms})\n"
    return kernel_from_text(text, f"sum_of_{count}", {"wp": wp})


def large_parameters() -> bool:
    version = wp.get_cuda_driver_version()
    return wp.get_device().is_cpu or version >= (12, 1)


@pytest.mark.parametrize("count", [40, 44, 45, 60, 120])
def test_many_arrays(count):
    if count > 40 and not large_parameters():
        pytest.skip("drivers before CUDA 12.1 take 4 KB of arguments")
    kernel = sum_of(count)
    arrays = [wp.full(10, float(k), requires_grad=k % 2 == 0) for k in range(count)]
    out = wp.zeros(10, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, 10, [*arrays], [out, 2.0])
    assert np.all(out.numpy() == count * (count - 1))
    out.grad.fill_(1.0)
    tape.backward()
    assert all(np.all(a.grad.numpy() == 2.0) for a in arrays if a.requires_grad)
    recorded = wp.launch(kernel, 10, [*arrays, out, 1.0], record_cmd=True)
    recorded.launch()
    with wp.ScopedCapture() as capture:
        wp.launch(kernel, 10, [*arrays, out, 3.0])
    assert np.all(out.numpy() == count * (count - 1) / 2)
    wp.capture_launch(capture.graph)
    assert np.all(out.numpy() == 3 * count * (count - 1) / 2)


def test_more_than_a_gpu_takes(device):
    kernel = sum_of(400)
    arrays = [wp.full(10, 1.0) for _ in range(400)]
    out = wp.zeros(10)
    if device.is_cpu:
        wp.launch(kernel, 10, [*arrays, out, 1.0])
        assert np.all(out.numpy() == 400.0)
        return
    with pytest.raises(RuntimeError, match="sum_of_400 has .* bytes of parameters; a GPU takes"):
        wp.launch(kernel, 10, [*arrays, out, 1.0])
    assert np.all(out.numpy() == 0.0)
