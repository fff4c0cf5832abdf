"""Statements about CUDA devices, and about memory that other libraries have there. They run where there is a GPU; the forms of
`__cuda_array_interface__` run everywhere, on the fake driver (../test_cuda_interface.py)."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

pytestmark = [
    pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device"),
    pytest.mark.cpu_only("about CUDA devices, which the tests choose themselves"),
]

n = 64


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


class Seen:
    """An array as CuPy or Numba would show it."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


def test_seed_014_data_is_copied_to_the_gpu():
    r = np.arange(n, dtype=np.float32)
    a = wp.array(r, dtype=float, device="cuda")
    assert a.device.is_cuda and a.numpy().tolist() == r.tolist()


def test_seed_139_arrays_of_cupy_straight_to_launch():
    cp = pytest.importorskip("cupy", reason="CuPy is not installed")
    with cp.cuda.Device(0):
        x, y = cp.arange(n, dtype=cp.float32), cp.ones(n, dtype=cp.float32)
    wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device="cuda:0")
    wp.synchronize()
    assert cp.asnumpy(y).tolist() == [i + 1.0 for i in range(n)]


def test_seed_164_the_cuda_array_interface_in_and_out():
    x, y = wp.ones(n, dtype=float, device="cuda:0"), wp.zeros(n, dtype=float, device="cuda:0")
    assert wp.array(Seen(x), copy=False).ptr == x.ptr
    wp.launch(saxpy, dim=n, inputs=[Seen(x), Seen(y), 2.0], device="cuda:0")
    assert y.list() == [2.0] * n


def test_seed_183_streams_of_other_libraries():
    stream = wp.Stream("cuda:0")
    other = wp.Stream("cuda:0", cuda_stream=stream.cuda_stream)
    x, y = wp.ones(n, dtype=float, device="cuda:0"), wp.zeros(n, dtype=float, device="cuda:0")
    with wp.ScopedStream(other):
        assert wp.get_stream("cuda:0").cuda_stream == stream.cuda_stream
        wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device="cuda:0")
        assert y.list() == [1.0] * n


def test_seed_193_memory_is_shared_through_the_interface():
    x = wp.zeros(n, dtype=float, device="cuda:0")
    shared = wp.array(Seen(x), copy=False)
    shared.fill_(3.0)
    assert x.list() == [3.0] * n


def test_seed_197_numpy_waits():
    x, y = wp.ones(n, dtype=float, device="cuda:0"), wp.zeros(n, dtype=float, device="cuda:0")
    for _ in range(100):
        wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device="cuda:0")
    assert y.numpy().tolist() == [100.0] * n


def test_seed_200_several_gpus():
    for device in wp.get_cuda_devices():
        x, y = wp.ones(n, dtype=float, device=device), wp.zeros(n, dtype=float, device=device)
        wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device=device)
        assert y.list() == [1.0] * n
