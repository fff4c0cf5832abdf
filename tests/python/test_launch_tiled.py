"""`wp.launch_tiled` in all its spellings: those that C++ makes a launch of, and those that it hands to Python, mean the same."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp



@wp.kernel
def where_1(out: wp.array2d(dtype=int)):
    i, thread = wp.tid()
    wp.atomic_add(out, i, thread, 1)


@wp.kernel
def where_2(out: wp.array3d(dtype=int)):
    i, j, thread = wp.tid()
    wp.atomic_add(out, i, j, thread, 1)


@wp.kernel
def where_3(out: wp.array4d(dtype=int)):
    i, j, k, thread = wp.tid()
    wp.atomic_add(out, i, j, k, thread, 1)


KERNELS = {1: where_1, 2: where_2, 3: where_3}


def threads_of_block(block_dim, on_cpu: bool) -> int:
    if on_cpu:
        return 1
    return 256 if block_dim is None or block_dim <= 0 else int(block_dim)


@pytest.mark.parametrize("block_dim", [32, 1, 64, 0, -3, None, np.int64(32)])
@pytest.mark.parametrize(
    "dim", [3, (3,), [3], (2, 3), [2, 3], (2, 3, 2), [2, 3, 2], np.int64(3), (np.int32(2), 3), range(2, 4)]
)
def test_every_block_has_its_threads(dim, block_dim, device):
    extents = tuple(int(n) for n in dim) if hasattr(dim, "__iter__") else (int(dim),)
    threads = threads_of_block(block_dim, wp.get_device(device).is_cpu)
    out = wp.zeros((*extents, 256), dtype=int, device=device)
    kernel = KERNELS[len(extents)]
    spellings = (
        dict(inputs=[out], device=device),
        dict(inputs=[], outputs=[out], device=wp.get_device(device)),
        dict(inputs=(), outputs=(out,), device=device, stream=None, record_tape=False),
    )
    for times, words in enumerate(spellings, 1):
        wp.launch_tiled(kernel, dim=dim, block_dim=block_dim, **words)
        expected = np.zeros((*extents, 256), dtype=int)
        expected[..., :threads] = times
        np.testing.assert_array_equal(out.numpy(), expected)
    with wp.ScopedDevice(device):
        wp.launch_tiled(kernel=kernel, dim=dim, block_dim=block_dim, inputs=None, outputs=[out])
    assert (out.numpy()[..., :threads] == len(spellings) + 1).all()


def test_words_that_are_missing_or_unknown(device):
    out = wp.zeros((3, 256), dtype=int, device=device)
    good = dict(dim=3, block_dim=32, inputs=[out], device=device)
    for missing in ("dim", "block_dim"):
        with pytest.raises(RuntimeError, match=f"needs the keyword argument '{missing}'"):
            wp.launch_tiled(where_1, **{name: value for name, value in good.items() if name != missing})
    with pytest.raises(RuntimeError, match="one positional argument"):
        wp.launch_tiled(where_1, out, **good)
    with pytest.raises(RuntimeError, match="1 to 3 extents, not 4"):
        wp.launch_tiled(where_1, **{**good, "dim": (1, 1, 1, 1)})
    with pytest.raises(RuntimeError, match="1 to 3 extents, not 0"):
        wp.launch_tiled(where_1, **{**good, "dim": ()})
    with pytest.raises(TypeError, match="unexpected keyword argument 'dimension'"):
        wp.launch_tiled(where_1, **good, dimension=2)
    with pytest.raises(TypeError, match="missing 1 required argument: 'kernel'"):
        wp.launch_tiled(**good)
    with pytest.raises(TypeError, match="multiple values for argument 'kernel'"):
        wp.launch_tiled(where_1, kernel=where_1, **good)
    with pytest.raises(RuntimeError, match="runs kernels"):
        wp.launch_tiled(print, **good)
    for bad in ("3", (2.5,), None):
        with pytest.raises((TypeError, RuntimeError)):
            wp.launch_tiled(where_1, **{**good, "dim": bad})
    with pytest.raises((TypeError, RuntimeError)):
        wp.launch_tiled(where_1, **{**good, "block_dim": "32"})
    with pytest.raises((ValueError, RuntimeError)):
        wp.launch_tiled(where_1, **{**good, "device": "none such"})
    assert not out.numpy().any()


def test_a_launch_to_record_is_one(device):
    out = wp.zeros((3, 256), dtype=int, device=device)
    threads = threads_of_block(32, wp.get_device(device).is_cpu)
    for dim in (3, [3]):
        again = wp.launch_tiled(where_1, dim=dim, block_dim=32, inputs=[out], device=device, record_cmd=True)
        assert isinstance(again, wp.Launch)
        again.launch()
        again.launch()
    assert (out.numpy()[:, :threads] == 4).all() and not out.numpy()[:, threads:].any()


def test_on_a_tape(device):
    @wp.kernel
    def squared(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        i, thread = wp.tid()
        t = wp.tile_load(x[i], shape=8)
        s = wp.tile_sum(wp.tile_map(wp.mul, t, t))
        wp.tile_store(y, s, offset=i)

    for dim in (2, (2,), [2]):
        x = wp.array(np.arange(16.0).reshape(2, 8), dtype=float, device=device, requires_grad=True)
        y = wp.zeros(2, dtype=float, device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(squared, dim=dim, block_dim=32, inputs=[x], outputs=[y], device=device)
        y.grad.fill_(1.0)
        tape.backward()
        np.testing.assert_array_equal(x.grad.numpy(), 2.0 * x.numpy())


def test_blocks_of_several_threads_on_the_cpu():
    out = wp.zeros((3, 256), dtype=int, device="cpu")
    wp.config.enable_cpu_blocks = True
    try:
        wp.launch_tiled(where_1, dim=3, block_dim=8, inputs=[out], device="cpu")
        assert (out.numpy()[:, :8] == 1).all() and not out.numpy()[:, 8:].any()
        out.zero_()
        wp.launch_tiled(where_1, dim=3, block_dim=0, inputs=[out], device="cpu")
        assert (out.numpy()[:, 0] == 1).all() and not out.numpy()[:, 1:].any()
    finally:
        wp.config.enable_cpu_blocks = False
