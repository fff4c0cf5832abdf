"""Calls of tiles, and of arrays of fixed size, which are annotations."""

from __future__ import annotations

import pytest

import warp as wp

from . import calls, members


@wp.kernel
def add_up(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(y, wp.tile_sum(wp.tile_load(x, shape=8, offset=8 * i)), offset=i)


@calls("launch_tiled", "context.launch_tiled")
def sums() -> None:
    y = wp.zeros(2, dtype=float)
    wp.launch_tiled(add_up, dim=2, inputs=[wp.ones(16, dtype=float)], outputs=[y], block_dim=32)
    assert y.list() == [8.0, 8.0] and wp.context.launch_tiled is wp.launch_tiled


@calls("tile", "tile.ctype", "tile.size_in_bytes", "types.is_tile", "types.type_is_tile", "build.is_tile")
def types_of_tiles() -> None:
    one = wp.tile(dtype=wp.vec3, shape=(3, 4))
    assert one.size_in_bytes() == 144 and "3, 4" in one.ctype()
    assert wp.types.is_tile(one) and wp.types.type_is_tile(wp.tile) and wp.build.is_tile is wp.types.is_tile
    assert not wp.types.is_tile(wp.tile) and not wp.types.type_is_tile(one) and not wp.types.is_tile(wp.tile_stack(2, int))
    with pytest.raises(RuntimeError, match="open"):
        wp.tile(dtype=float).size_in_bytes()


@calls("tile_stack", "tile_stack.ctype", "tile_stack.size_in_bytes")
def types_of_stacks() -> None:
    one = wp.tile_stack(capacity=8, dtype=int)
    assert one.size_in_bytes() == 48 and "8" in one.ctype()


@members("fixedarray", "__len__", "numpy", "list", "contiguous", "requires_grad", "grad", "retain_grad", "vars", "memory_kind")
@members("fixedarray", "reshape", "flatten", "view", "transpose", "__getitem__", "__array_interface__", "__dlpack__", "ipc_handle")
@members("fixedarray", "__cuda_array_interface__", "assign", "fill_", "zero_", "to", "mark_read", "mark_write", "__ctype__", "cptr")
def fixed() -> None:
    """What it says of itself; it has no memory, and whoever wants some hears of that."""
    one = wp.fixedarray(shape=(2, 3), dtype=float)
    assert one.ndim == 2 and one.shape == (2, 3) and not one.requires_grad and one.grad is None and not one.retain_grad
    assert one.numpy().size == 0 and one.list() == []
    for call in (one.zero_, one.__dlpack__, lambda: one.fill_(1.0), one.flatten):
        with pytest.raises((RuntimeError, BufferError), match="memory"):
            call()
    with pytest.raises(RuntimeError, match="don't fit"):
        one.assign([1.0])
