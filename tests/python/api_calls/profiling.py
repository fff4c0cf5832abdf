"""What devices spend their time on, and what is known of kernels."""

from __future__ import annotations

import contextlib
import io

import pytest

import warp as wp

from . import calls


@wp.kernel
def _scale(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@calls("timing_begin", "timing_end", "timing_print")
def timing() -> None:
    x = wp.ones(4)
    wp.launch(_scale, 4, [x])
    wp.timing_begin(wp.TIMING_KERNEL | wp.TIMING_GRAPH)
    wp.launch(_scale, 4, [x])
    results = wp.timing_end()
    assert [one.name for one in results] == (["forward kernel _scale"] if x.device.is_cuda else [])
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        wp.timing_print(results)
    assert ("CUDA timeline" if results else "No activity") in out.getvalue()


@calls("array.__cuda_array_interface__")
def cuda_array_interface() -> None:
    x = wp.ones(4)
    assert hasattr(x, "__cuda_array_interface__") == x.device.is_cuda
    assert x.device.is_cpu or x.__cuda_array_interface__["data"][0] == x.ptr


@calls("TIMING_ALL", "TIMING_GRAPH", "TIMING_KERNEL", "TIMING_KERNEL_BUILTIN", "TIMING_MEMCPY", "TIMING_MEMSET")
def flags() -> None:
    kinds = (wp.TIMING_KERNEL, wp.TIMING_KERNEL_BUILTIN, wp.TIMING_MEMCPY, wp.TIMING_MEMSET, wp.TIMING_GRAPH)
    assert kinds == (1, 2, 4, 8, 16) and sum(kinds) & wp.TIMING_ALL == sum(kinds)


@calls(
    "ScopedCudaProfiler",
    "ScopedCudaProfiler.__enter__",
    "ScopedCudaProfiler.__exit__",
    "cuda_profiler_start",
    "cuda_profiler_stop",
)
def profiler() -> None:
    with wp.ScopedCudaProfiler() as scope:
        assert scope.device == wp.get_device()
    wp.cuda_profiler_start()
    wp.cuda_profiler_stop()


@calls("get_cuda_kernel_properties", "get_cuda_max_cluster_dim", "get_suggested_block_size")
def kernels() -> None:
    block, blocks = wp.get_suggested_block_size(_scale)
    assert wp.get_cuda_max_cluster_dim(_scale) >= 1 and blocks >= 1
    if wp.get_device().is_cpu:
        assert (block, blocks) == (1, 1)
        with pytest.raises(RuntimeError, match="requires a CUDA device"):
            wp.get_cuda_kernel_properties(_scale)
    else:
        assert block >= 32 and wp.get_cuda_kernel_properties(_scale)["register_count"] > 0
