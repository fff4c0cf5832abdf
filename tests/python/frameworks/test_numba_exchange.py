"""Numba: functions of the CPU take the memory of arrays, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

numba = pytest.importorskip("numba", reason="Numba is not installed")


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@numba.njit
def add_one(values):
    for i in range(values.shape[0]):
        values[i] += 1.0


@pytest.mark.cpu_only("functions of the CPU")
def test_compiled_functions_write_to_arrays():
    a = wp.zeros(8, dtype=float, device="cpu")
    add_one(a.numpy())
    assert a.list() == [1.0] * 8
    b = wp.zeros(8, dtype=float, device="cpu")
    wp.launch(double, 8, [a], [b], device="cpu")
    add_one(b.numpy())
    assert b.list() == [3.0] * 8


@pytest.mark.cpu_only("functions of the CPU")
def test_kernels_write_to_what_compiled_functions_made():
    @numba.njit
    def made(n):
        return np.arange(n).astype(np.float32)

    x, y = made(8), np.zeros(8, np.float32)
    wp.launch(double, 8, [x], [y], device="cpu")
    assert y.tolist() == [2.0 * i for i in range(8)]


def test_device_arrays():
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    cuda = pytest.importorskip("numba.cuda", reason="this Numba has no part for CUDA")
    if not cuda.is_available():
        pytest.skip("there is no CUDA device that Numba knows")
    a = wp.array(np.arange(8, dtype=np.float32), device="cuda:0")
    seen = numba.cuda.as_cuda_array(a)
    assert seen.copy_to_host().tolist() == list(range(8))
    other = numba.cuda.device_array(8, np.float32)
    wp.launch(double, 8, [seen, other], device="cuda:0")
    wp.synchronize()
    assert other.copy_to_host().tolist() == [2.0 * i for i in range(8)]
