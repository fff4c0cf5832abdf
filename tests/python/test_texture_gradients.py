"""Gradients of texture_sample: in coordinates, in the level of detail, in texels that came from an array of ours."""

import numpy as np
import pytest

import warp as wp

LINEAR = wp.TextureFilterMode.LINEAR
MODES = list(wp.TextureAddressMode)


@wp.kernel
def sample1(tex: wp.Texture1D, at: wp.array(dtype=float), lod: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=wp.vec2, lod=lod[i], exact=True)


@wp.kernel
def sample2(tex: wp.Texture2D, at: wp.array(dtype=wp.vec2), lod: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=wp.vec2, lod=lod[i], exact=True)


@wp.kernel
def sample3(tex: wp.Texture3D, at: wp.array(dtype=wp.vec3), lod: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=wp.vec2, lod=lod[i], exact=True)


@wp.kernel
def sample2_quick(tex: wp.Texture2D, at: wp.array(dtype=wp.vec2), lod: wp.array(dtype=float), out: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=wp.vec2, lod=lod[i])


CASES = {1: (sample1, wp.Texture1D, float, (9,)), 2: (sample2, wp.Texture2D, wp.vec2, (6, 9)), 3: (sample3, wp.Texture3D, wp.vec3, (4, 6, 5))}


def run(kernel, tex, at: np.ndarray, lod: np.ndarray, place, device, tape=None):
    a = wp.array(at, dtype=place, device=device, requires_grad=True)
    detail = wp.array(lod.astype(np.float32), dtype=float, device=device, requires_grad=True)
    out = wp.zeros(len(lod), dtype=wp.vec2, device=device, requires_grad=True)
    if tape is None:
        wp.launch(kernel, len(lod), [tex, a, detail], [out], device=device)
    else:
        with tape:
            wp.launch(kernel, len(lod), [tex, a, detail], [out], device=device)
    return a, detail, out


def inner_places(shape: tuple[int, ...], levels: int, n: int, rng) -> np.ndarray:
    """Places at which differences of one part in 64 of a texel stay between the same texels at all levels."""
    ndim = len(shape)
    out = np.empty((n, ndim))
    for axis in range(ndim):
        extent = shape[ndim - 1 - axis]
        found = []
        while len(found) < n:
            u = rng.uniform(-1.5, 2.5)
            fractions = [(u * max(extent >> k, 1) - 0.5) % 1.0 for k in range(levels)]
            edges = [abs(u - round(u)) * max(extent >> k, 1) for k in range(levels)]
            if all(0.08 < f < 0.92 for f in fractions) and min(edges) > 0.1:
                found.append(u)
        out[:, axis] = found
    return out


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_coordinates_and_levels(ndim: int, mode: int, device) -> None:
    kernel, cls, place, shape = CASES[ndim]
    rng = np.random.default_rng(ndim)
    tex = cls(rng.uniform(-1, 1, (*shape, 2)).astype(np.float32), address_mode=mode, num_mip_levels=2, device=device)
    at = inner_places(shape, 2, 40, rng)
    lod = rng.uniform(0.2, 0.8, 40)
    rows = at[:, 0] if ndim == 1 else at
    tape = wp.Tape()
    a, detail, out = run(kernel, tex, rows.astype(np.float32), lod, place, device, tape)
    seed = rng.uniform(-1, 1, (40, 2)).astype(np.float32)
    tape.backward(grads={out: wp.array(seed, dtype=wp.vec2, device=device)})
    got = a.grad.numpy().reshape(40, ndim)

    def value(at, lod):
        r = at[:, 0] if ndim == 1 else at
        return (run(kernel, tex, r.astype(np.float32), lod, place, device)[2].numpy() * seed).sum(1).astype(float)

    for axis in range(ndim):
        h = 2.0**-8
        step = np.zeros((1, ndim))
        step[0, axis] = h
        np.testing.assert_allclose(got[:, axis], (value(at + step, lod) - value(at - step, lod)) / (2 * h), atol=2e-3)
    h = 2.0**-4
    np.testing.assert_allclose(detail.grad.numpy(), (value(at, lod + h) - value(at, lod - h)) / (2 * h), atol=1e-4)


@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_texels(ndim: int, levels: int, device) -> None:
    """A sample is linear in texels: the gradient, times texels, is the sample."""
    kernel, cls, place, shape = CASES[ndim]
    rng = np.random.default_rng(ndim)
    for mode in MODES:
        texels = rng.uniform(-1, 1, (*shape, 2)).astype(np.float32)
        source = wp.array(texels, dtype=wp.vec2, device=device, requires_grad=True)
        tex = cls(source, address_mode=mode, num_mip_levels=levels, device=device)
        at = rng.uniform(-0.5, 1.5, (50, ndim)).astype(np.float32)
        lod = rng.uniform(-0.5, 2.5, 50)
        tape = wp.Tape()
        _, _, out = run(kernel, tex, at[:, 0] if ndim == 1 else at, lod, place, device, tape)
        seed = rng.uniform(-1, 1, (50, 2)).astype(np.float32)
        tape.backward(grads={out: wp.array(seed, dtype=wp.vec2, device=device)})
        gradient = source.grad.numpy()
        np.testing.assert_allclose((gradient * texels).sum(), (out.numpy() * seed).sum(), rtol=1e-4, atol=1e-4)
        # And one texel by a difference, which is exact up to rounding.
        where = tuple(int(rng.integers(n)) for n in shape)
        moved = texels.copy()
        moved[where][0] += 1.0
        _, _, other = run(kernel, cls(moved, address_mode=mode, num_mip_levels=levels, device=device), at[:, 0] if ndim == 1 else at, lod, place, device)
        np.testing.assert_allclose(gradient[where][0], ((other.numpy() - out.numpy()) * seed).sum(), atol=2e-5)


def test_the_texture_unit_has_the_same_slopes(device) -> None:
    rng = np.random.default_rng(0)
    source = wp.array(rng.uniform(-1, 1, (6, 9, 2)).astype(np.float32), dtype=wp.vec2, device=device, requires_grad=True)
    tex = wp.Texture2D(source, num_mip_levels=2)
    at = rng.uniform(-0.5, 1.5, (30, 2)).astype(np.float32)
    lod = rng.uniform(0.0, 1.0, 30)
    found = []
    for kernel in (sample2, sample2_quick):
        source.grad.zero_()
        tape = wp.Tape()
        a, detail, out = run(kernel, tex, at, lod, wp.vec2, device, tape)
        tape.backward(grads={out: wp.array(np.ones((30, 2), np.float32), dtype=wp.vec2, device=device)})
        found.append((a.grad.numpy(), detail.grad.numpy(), source.grad.numpy()))
    for exact, quick in zip(*found):
        np.testing.assert_allclose(exact, quick, atol=1e-5)


def test_tapes_keep_texels(device) -> None:
    """copy_from between the launch and the backward pass changes nothing of it."""
    rng = np.random.default_rng(3)
    texels = rng.uniform(-1, 1, (6, 9, 2)).astype(np.float32)
    tex = wp.Texture2D(texels, device=device)
    at = rng.uniform(0.2, 0.8, (20, 2)).astype(np.float32)
    tape = wp.Tape()
    a, _, out = run(sample2, tex, at, np.zeros(20), wp.vec2, device, tape)
    seed = wp.array(np.ones((20, 2), np.float32), dtype=wp.vec2, device=device)
    tape.backward(grads={out: seed})
    want = a.grad.numpy()
    tape.zero()
    tex.copy_from(np.zeros((6, 9, 2), np.float32))
    tape.backward(grads={out: seed})
    np.testing.assert_array_equal(a.grad.numpy(), want)


def test_gradients_that_come_later(device) -> None:
    source = wp.array(np.ones((3, 4, 2), np.float32), dtype=wp.vec2, device=device)
    tex = wp.Texture2D(source)
    source.requires_grad = True
    tape = wp.Tape()
    _, _, out = run(sample2, tex, np.full((1, 2), 0.5, np.float32), np.zeros(1), wp.vec2, device, tape)
    tape.backward(grads={out: wp.array(np.ones((1, 2), np.float32), dtype=wp.vec2, device=device)})
    np.testing.assert_allclose(source.grad.numpy().sum(), 2.0, atol=1e-6)


def test_an_image_is_found(device) -> None:
    """Descent on texels: the texture is made of them anew in each step."""
    rng = np.random.default_rng(5)
    target = rng.uniform(0, 1, (4, 5, 2)).astype(np.float32)
    at = rng.uniform(0, 1, (400, 2)).astype(np.float32)
    _, _, want = run(sample2, wp.Texture2D(target, device=device), at, np.zeros(400), wp.vec2, device)
    guess = wp.zeros((4, 5), dtype=wp.vec2, device=device, requires_grad=True)
    for _ in range(150):
        tex = wp.Texture2D(guess)
        tape = wp.Tape()
        _, _, out = run(sample2, tex, at, np.zeros(400), wp.vec2, device, tape)
        seed = wp.array(out.numpy() - want.numpy(), dtype=wp.vec2, device=device)
        tape.backward(grads={out: seed})
        guess.assign(guess.numpy() - 0.08 * guess.grad.numpy())
        guess.grad.zero_()
    assert np.abs(guess.numpy() - target).max() < 0.05
