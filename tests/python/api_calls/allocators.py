"""Allocators of arrays on CUDA devices; test_allocators.py has what they do there."""

from __future__ import annotations

import importlib.util

import pytest

import warp as wp

from . import calls, members


class _Refuses:
    """An allocator without memory."""

    def allocate(self, size_in_bytes: int) -> int:
        return 0

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        raise AssertionError


@calls("set_cuda_allocator", "set_device_allocator", "get_device_allocator")
@calls("ScopedAllocator", "ScopedAllocator.__enter__", "ScopedAllocator.__exit__")
def hooks() -> None:
    wp.set_cuda_allocator(None)
    with pytest.raises(TypeError, match="allocate"):
        wp.set_cuda_allocator(5)
    for use in (
        lambda: wp.set_device_allocator("cpu", None),
        lambda: wp.get_device_allocator("cpu"),
        lambda: wp.ScopedAllocator("cpu", _Refuses()).__enter__(),
    ):
        with pytest.raises(ValueError, match="CUDA devices"):
            use()
    for device in wp.get_cuda_devices():
        own = _Refuses()
        with wp.ScopedAllocator(device, own):
            assert wp.get_device_allocator(device) is own
            with pytest.raises(MemoryError, match="400 bytes"):
                wp.zeros(100, device=device)
        assert wp.get_device_allocator(device) is not own and wp.zeros(100, device=device).numpy().sum() == 0.0


@calls("CudaManagedAllocator")
@members("CudaManagedAllocator", "allocate", "deallocate", "memory_kind")
def managed() -> None:
    made = wp.CudaManagedAllocator()
    assert made.memory_kind is wp.MemoryKind.CUDA_MANAGED
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            made.allocate(64)
        return
    with wp.ScopedAllocator("cuda", made):
        a = wp.ones(10, device="cuda")
        assert a.numpy().sum() == 10.0
    wp.get_device("cuda").make_current()
    made.deallocate(made.allocate(64), 64)


@calls("utils.AllocatorRmm")
@members("utils.AllocatorRmm", "allocate", "deallocate")
def rmm() -> None:
    if importlib.util.find_spec("rmm") is None:
        with pytest.raises(RuntimeError, match="rmm"):
            wp.utils.AllocatorRmm()
        return
    own = wp.utils.AllocatorRmm()
    with wp.ScopedAllocator("cuda", own):
        assert wp.ones(10, device="cuda").numpy().sum() == 10.0
