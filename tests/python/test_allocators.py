"""A program's own allocator for arrays on a CUDA device."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")


class Counting:
    """Hands on to the device's own allocator and counts."""

    def __init__(self) -> None:
        self.inner = wp.get_device_allocator("cuda")
        self.sizes: dict[int, int] = {}
        self.calls = 0

    def allocate(self, size_in_bytes: int) -> int:
        self.calls += 1
        ptr = self.inner.allocate(size_in_bytes)
        self.sizes[ptr] = size_in_bytes
        return ptr

    def deallocate(self, ptr: int, size_in_bytes: int) -> None:
        assert self.sizes.pop(ptr) == size_in_bytes
        self.inner.deallocate(ptr, size_in_bytes)


@wp.kernel
def square(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


def test_arrays_come_from_it_and_go_back():
    own = Counting()
    with wp.ScopedAllocator("cuda", own):
        a = wp.array(np.arange(1000, dtype=np.float32), device="cuda")
        b = wp.clone(a)
        wp.launch(square, dim=1000, inputs=[b], device="cuda")
        np.testing.assert_array_equal(b.numpy(), np.arange(1000, dtype=np.float32) ** 2)
        assert own.sizes[a.ptr] == 4000 and own.calls >= 2
    calls = own.calls
    c = wp.zeros(10, device="cuda")  # from the device's own again
    assert own.calls == calls and c.ptr not in own.sizes
    del a, b
    gc.collect()
    wp.synchronize()
    wp.set_device_allocator("cuda", None)  # looks for blocks whose work is done
    assert not own.sizes


def test_errors_of_allocators_are_the_programs():
    class Broken(Counting):
        def allocate(self, size_in_bytes: int) -> int:
            raise ValueError("not today")

    with wp.ScopedAllocator("cuda", Broken()), pytest.raises(ValueError, match="not today"):
        wp.zeros(10, device="cuda")
    assert wp.zeros(10, device="cuda").numpy().sum() == 0.0


def test_out_of_memory_tells_sizes_and_the_program_goes_on():
    device = wp.get_device("cuda")
    huge = device.total_memory
    with pytest.raises(MemoryError, match=rf"{huge} bytes on cuda:\d: \d+ of \d+ bytes are free"):
        wp.empty(huge, dtype=wp.uint8, device=device)
    a = wp.ones(1000, device=device)
    assert a.numpy().sum() == 1000.0


def test_graphs_keep_what_they_were_captured_with():
    own = Counting()
    x = wp.ones(100, device="cuda")
    with wp.ScopedAllocator("cuda", own):
        with wp.ScopedCapture(device="cuda") as capture:
            y = wp.clone(x)
            wp.launch(square, dim=100, inputs=[y], device="cuda")
            wp.copy(x, y)
            del y
    x.fill_(3.0)
    wp.capture_launch(capture.graph)
    assert own.sizes and x.numpy()[0] == 9.0


def test_pytorch_as_the_allocator():
    torch = pytest.importorskip("torch")

    class Torch:
        def allocate(self, size_in_bytes: int) -> int:
            return torch.cuda.caching_allocator_alloc(size_in_bytes)

        def deallocate(self, ptr: int, size_in_bytes: int) -> None:
            torch.cuda.caching_allocator_delete(ptr)

    before = torch.cuda.memory_allocated()
    with wp.ScopedAllocator("cuda", Torch()):
        a = wp.full(1 << 20, 2.0, device="cuda")
        assert torch.cuda.memory_allocated() >= before + (4 << 20)
        wp.launch(square, dim=a.shape, inputs=[a], device="cuda")
        assert a.numpy()[-1] == 4.0
    del a
    wp.synchronize()
    wp.set_device_allocator("cuda", None)
    assert torch.cuda.memory_allocated() == before
