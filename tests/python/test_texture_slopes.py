"""Gradients of texture samples where they are delicate: between levels, on large numbers, far away, in halves."""

import numpy as np
import pytest
from mesh_cases import EXECUTORS, launch

import warp as wp

WRAP, CLAMP, MIRROR, BORDER = wp.TextureAddressMode
CLOSEST, LINEAR = wp.TextureFilterMode


@wp.kernel
def sample1(tex: wp.Texture1D, at: wp.array(dtype=float), lod: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=float, lod=lod[i], exact=True)


@wp.kernel
def sample2(tex: wp.Texture2D, at: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=float, exact=True)


@wp.kernel
def sample3(tex: wp.Texture3D, at: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=float, exact=True)


@wp.kernel
def sample_four(tex: wp.Texture2D, at: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=wp.vec4, exact=True)


@wp.kernel
def in_the_middle(tex: wp.Texture2D, out: wp.array(dtype=float)):
    out[wp.tid()] = wp.texture_sample(tex, wp.vec2(0.5, 0.5), dtype=float, exact=True)


@wp.kernel
def twice(tex: wp.Texture2D, other: wp.Texture2D, at: wp.array(dtype=wp.vec2), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=float, exact=True) * wp.texture_sample(other, at[i], dtype=float, exact=True)


def slopes(kernel, tex, device, *numbers, seed=None) -> tuple[np.ndarray, ...]:
    """What comes out, and the gradients of the arrays of numbers."""
    types = {1: float, 2: wp.vec2, 3: wp.vec3}
    arrays = []
    for one in numbers:
        one = np.asarray(one, np.float32)
        dtype = types[one.shape[1]] if one.ndim == 2 else float
        arrays.append(wp.array(one, dtype=dtype, device=device, requires_grad=True))
    dtype = wp.vec4 if kernel is sample_four else float
    out = wp.zeros(len(numbers[0]) if numbers else 1, dtype=dtype, device=device, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(kernel, out.shape[0], [tex, *arrays], [out], device=device)
    weights = wp.ones_like(out) if seed is None else wp.array(np.asarray(seed, np.float32), dtype=dtype, device=device)
    tape.backward(grads={out: weights})
    return (out.numpy(), *(one.grad.numpy() for one in arrays))


def test_at_whole_levels_the_slope_leads_to_the_next_one(device) -> None:
    texels = np.array([0.0, 8.0, 1.0, 5.0, 2.0, 2.0, 7.0, 3.0], np.float32)
    tex = wp.Texture1D(texels, num_mip_levels=3, device=device)
    lod = np.array([-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    at = np.full(len(lod), 0.3)
    out, _, found = slopes(sample1, tex, device, at, lod)
    whole = {level: out[np.flatnonzero(lod == level)[0]] for level in (0.0, 1.0, 2.0)}
    first, second = whole[1.0] - whole[0.0], whole[2.0] - whole[1.0]
    np.testing.assert_allclose(found, [0.0, first, first, second, second, 0.0, 0.0], rtol=1e-5)


@pytest.mark.parametrize("mode", list(wp.TextureAddressMode))
def test_a_large_number_in_common_costs_no_slopes(mode: int, device) -> None:
    plane = 1e8 + 8.0 * np.arange(4)[None, :] + 16.0 * np.arange(4)[:, None]
    tex = wp.Texture2D(plane.astype(np.float32), address_mode=mode, normalized_coords=False, device=device)
    _, found = slopes(sample2, tex, device, [[1.75, 2.25]])
    np.testing.assert_array_equal(found, [[8.0, 16.0]])
    block = (plane[None] + 32.0 * np.arange(4)[:, None, None]).astype(np.float32)
    solid = wp.Texture3D(block, address_mode=mode, normalized_coords=False, device=device)
    _, found = slopes(sample3, solid, device, [[1.75, 2.25, 1.5]])
    np.testing.assert_array_equal(found, [[8.0, 16.0, 32.0]])


def test_channels_that_nothing_depends_on_do_not_count(device) -> None:
    """Their slopes are beyond float32, and none of it comes back."""
    texels = np.zeros((2, 2, 4), np.float32)
    texels[..., 0], texels[..., 2:] = [[-2e38, 2e38]], [[[3e38, -3e38]], [[-3e38, 3e38]]]
    texels[..., 1] = [[0.0, 1.0], [0.0, 1.0]]
    tex = wp.Texture2D(texels, normalized_coords=False, device=device)
    _, found = slopes(sample_four, tex, device, [[1.0, 1.0]], seed=[[0.0, 1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(found, [[1.0, 0.0]])


@pytest.mark.parametrize("filtering", [CLOSEST, LINEAR])
@pytest.mark.parametrize("mode", [WRAP, MIRROR])
def test_far_away_all_is_as_in_the_first_period(mode: int, filtering: int) -> None:
    for extent in (3, 7, 8):
        texels = (np.arange(extent, dtype=np.float32) + 1.0) ** 2
        tex = wp.Texture1D(texels, address_mode=mode, filter_mode=filtering, normalized_coords=False, device="cpu")
        far = np.array([16.0, 2.0**23 + 5, 2.0**31, 2.0**40 + 2.0**20, 1e20, 3e38], np.float32)
        far = np.concatenate([far, -far])
        period = extent * (2 if mode == MIRROR else 1)
        near = np.array([int(one) % period for one in far.tolist()], np.float32)
        lod = np.full(len(far), -1.0)
        got, want = slopes(sample1, tex, "cpu", far, lod), slopes(sample1, tex, "cpu", near, lod)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])


def test_mirrored_texels_begin_where_their_images_do() -> None:
    """The nearest texel at a border belongs to the cell that begins there, in images as well."""
    tex = wp.Texture1D(np.array([1, 2, 3, 4], np.float32), address_mode=MIRROR, filter_mode=CLOSEST, normalized_coords=False, device="cpu")
    at = np.arange(-4, 12, dtype=np.float32)
    out, _, _ = slopes(sample1, tex, "cpu", at, np.full(len(at), -1.0))
    np.testing.assert_array_equal(out, [4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4])


def test_texels_at_a_fixed_place_have_gradients(device) -> None:
    """Nothing that the kernel reads decides about the place; the texels are data all the same."""
    source = wp.array(np.arange(16, dtype=np.float32).reshape(4, 4), dtype=float, device=device, requires_grad=True)
    tex = wp.Texture2D(source)
    (out,) = slopes(in_the_middle, tex, device)
    want = np.zeros((4, 4))
    want[1:3, 1:3] = 0.25
    np.testing.assert_array_equal(out, [7.5])
    np.testing.assert_array_equal(source.grad.numpy(), want)


@pytest.mark.parametrize("levels", [1, 2])
def test_halves_have_gradients(levels: int, device) -> None:
    texels = np.arange(16, dtype=np.float16).reshape(4, 4)
    source = wp.array(texels, dtype=wp.float16, device=device, requires_grad=True)
    tex = wp.Texture2D(source, num_mip_levels=levels, normalized_coords=False)
    out, found = slopes(sample2, tex, device, [[1.75, 2.0], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_array_equal(out, [1.25 + 6.0, 0.0, 0.0])
    np.testing.assert_allclose(found[0], [1.0, 4.0], rtol=1e-6)
    want = np.zeros((4, 4))
    want[1:3, 1:3] = [[0.375, 0.125], [0.375, 0.125]]
    want[0, 0] = 2.0
    assert source.grad.dtype is wp.float16
    np.testing.assert_array_equal(source.grad.numpy().astype(float), want)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.cpu_only("executors are the CPU's")
def test_executors_agree_on_two_textures(executor: str | int) -> None:
    """Kernels that sample in several places call what those with one sample contain."""
    rng = np.random.default_rng(7)
    one = wp.Texture2D(rng.uniform(-1, 1, (5, 7)).astype(np.float32), device="cpu")
    other = wp.Texture2D(rng.uniform(-1, 1, (6, 3)).astype(np.float32), address_mode=MIRROR, device="cpu")
    at = wp.array(rng.uniform(-1, 2, (70, 2)).astype(np.float32), dtype=wp.vec2, device="cpu")
    got, want = wp.zeros(70, dtype=float, device="cpu"), wp.zeros(70, dtype=float, device="cpu")
    launch(twice, 70, [one, other, at], [got], executor)
    launch(twice, 70, [one, other, at], [want], 1)
    np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.cpu_only("executors are the CPU's")
def test_executors_agree_on_rows(executor: str | int) -> None:
    """Places next to each other in texels next to each other, which lanes read as vectors, and beyond the ends of rows."""
    rng = np.random.default_rng(8)
    image = rng.uniform(-1, 1, (9, 40)).astype(np.float32)
    row = np.stack(np.meshgrid(np.arange(-3, 45) + 0.75, [0.25, 4.0, 8.9]), -1).reshape(-1, 2).astype(np.float32)
    at = wp.array(row, dtype=wp.vec2, device="cpu")
    for mode in wp.TextureAddressMode:
        tex = wp.Texture2D(image, address_mode=mode, normalized_coords=False, device="cpu")
        got, want = wp.zeros(len(row), dtype=float, device="cpu"), wp.zeros(len(row), dtype=float, device="cpu")
        launch(sample2, len(row), [tex, at], [got], executor)
        launch(sample2, len(row), [tex, at], [want], 1)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
