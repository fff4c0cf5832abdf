"""Texels of 8 bits, which lie on a CPU as they were given: samples are those of a texture of the quotients by 255, bit for bit."""

import numpy as np
import pytest
from mesh_cases import EXECUTORS
from test_texture import CLASSES, CLOSEST, LINEAR, MODES, places_of, sampled, texels_of

import warp as wp

SPECIAL = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0, 1.0, -0.0, 1.0 - 2**-24, 2**-149, 0.5], np.float32)
SHAPES = {1: [(1,), (2,), (7,)], 2: [(1, 1), (3, 1), (1, 2), (5, 17)], 3: [(1, 1, 1), (2, 3, 1), (3, 2, 5)]}


def both(texels: np.ndarray, **options):
    """A texture of bytes, and one of the numbers that they stand for."""
    kind = CLASSES[texels.ndim - 1]
    return kind(texels, **options), kind(texels.astype(np.float32) / np.float32(255), **options)


def many_places(ndim: int) -> np.ndarray:
    more = SPECIAL if ndim == 1 else np.stack([np.roll(SPECIAL, k) for k in range(ndim)], 1)
    return np.concatenate([places_of(ndim, 40), more])


def test_every_byte(device: str) -> None:
    texels = np.arange(256, dtype=np.uint8).reshape(256, 1)
    at = ((np.arange(256) + 0.5) / 256).astype(np.float32)
    for filtering in (CLOSEST, LINEAR):
        got = sampled(wp.Texture1D(texels, filter_mode=filtering, device=device), at)
        np.testing.assert_array_equal(got[:, 0], np.arange(256, dtype=np.float32) / np.float32(255))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_as_their_quotients(ndim: int, channels: int, executor: str | int) -> None:
    places = many_places(ndim)
    for shape in SHAPES[ndim]:
        texels = texels_of(shape, channels, "uint8")
        for filtering in (CLOSEST, LINEAR):
            for mode in MODES if shape == SHAPES[ndim][-1] else [wp.TextureAddressMode.CLAMP]:
                own, floats = both(texels, filter_mode=filtering, address_mode=mode, device="cpu")
                for wanted in (1, 2, 4):
                    got = sampled(own, places, wanted, executor=executor)
                    np.testing.assert_array_equal(got, sampled(floats, places, wanted, executor=executor))
                    assert (got[:, channels:] == 0.0).all()


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_slopes_are_those_of_their_quotients(ndim: int, device: str) -> None:
    from test_texture import PLACES, SAMPLERS, VALUES

    texels = texels_of({1: (9,), 2: (5, 7), 3: (3, 4, 5)}[ndim], 4, "uint8")
    at = places_of(ndim, 30)
    slopes = []
    for tex in both(texels, device=device):
        places = wp.array(at, dtype=PLACES[ndim], device=device, requires_grad=True)
        out = wp.zeros(len(at), dtype=VALUES[4], device=device, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(SAMPLERS[ndim, 4], len(at), [tex, places, -1.0], [out], device=device)
        tape.backward(grads={out: wp.array(np.arange(4 * len(at)).reshape(-1, 4), dtype=wp.vec4, device=device)})
        slopes.append(places.grad.numpy())
    np.testing.assert_array_equal(*slopes)
    assert np.abs(slopes[0]).max() > 1.0


def test_copies_reach_kernels() -> None:
    """The bytes that kernels read are those that are copied in and out, and a tape keeps the ones it saw."""
    first, second = texels_of((3, 5), 4, "uint8", 1), texels_of((3, 5), 4, "uint8", 2)
    tex = wp.Texture2D(first, device="cpu")
    at = places_of(2, 20)
    before = sampled(tex, at)
    tex.copy_from(second)
    np.testing.assert_array_equal(sampled(tex, at), sampled(wp.Texture2D(second, device="cpu"), at))
    back = np.zeros_like(second)
    tex.copy_to(back)
    np.testing.assert_array_equal(back, second)
    tex.copy_from(first)
    np.testing.assert_array_equal(sampled(tex, at), before)
