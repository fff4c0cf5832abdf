"""Random numbers: the generator bit for bit, samplers by their formulas and by their statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

COUNT = 20000
U32 = np.uint32


def pcg(s: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        b = np.asarray(s, dtype=U32) * U32(747796405) + U32(2891336453)
        c = ((b >> ((b >> U32(28)) + U32(4))) ^ b) * U32(277803737)
    return (c >> U32(22)) ^ c


class Stream:
    """COUNT generators side by side, in NumPy."""

    def __init__(self) -> None:
        with np.errstate(over="ignore"):
            self.state = pcg(U32(42) + pcg(np.arange(COUNT, dtype=U32)))

    def bits(self) -> np.ndarray:
        self.state = pcg(self.state)
        return self.state

    def unit(self) -> np.ndarray:
        return (self.bits() >> U32(8)).astype(np.float64) * 2.0**-24

    def angle(self) -> np.ndarray:
        return self.unit() * 2 * np.pi


def draw(expression: str, result: type = float, count: int = COUNT, **values: float) -> tuple[np.ndarray, np.ndarray]:
    """The expression for generators 0, 1, 2… of seed 42, and their states after it."""
    params = "".join(f", {name}: {type(value).__name__}" for name, value in values.items())
    source = (
        f"@wp.kernel\ndef k(o: wp.array(dtype=R), after: wp.array(dtype=wp.uint32){params}):\n    i = wp.tid()\n"
        f"    state = wp.rand_init(42, i)\n    o[i] = {expression}\n    after[i] = state\n"
    )
    out, after = wp.zeros(count, dtype=result), wp.zeros(count, dtype=wp.uint32)
    wp.launch(kernel_from_text(source, "k", {"wp": wp, "R": result}), count, [out, after, *values.values()])
    return out.numpy(), after.numpy()


def test_known_values():
    assert wp.rand_init(42) == 1223963391 and wp.rand_init(42, 7) == 3115480925
    state = wp.rand_init(42)
    assert wp.randf(state) == pytest.approx(0.64850521, abs=1e-8)
    assert wp.randn(state) == pytest.approx(0.84789330, rel=1e-6)


def test_generator_bit_for_bit():
    stream = Stream()
    made, after = draw("wp.randu(state)", wp.uint32)
    assert (made == stream.bits()).all() and (after == stream.state).all()
    made, _ = draw("wp.randi(state)", int)
    assert (made == Stream().bits().view(np.int32)).all()
    made, _ = draw("wp.randf(state)")
    assert (made == Stream().unit().astype(np.float32)).all()


@pytest.mark.parametrize(("low", "high"), [(-5, 7), (0, 1), (-(2**31), 2**31 - 1), (3, 1000000)])
def test_integers_in_a_range(low, high):
    made, after = draw("wp.randi(state, low, high)", int, low=low, high=high)
    stream = Stream()
    want = (stream.bits() % U32((high - low) & 0xFFFFFFFF)).astype(np.int64) + low
    assert (made == ((want + 2**31) % 2**32 - 2**31)).all() and (after == stream.state).all()
    assert made.min() >= low and made.max() < high


def test_unsigned_integers_in_a_range():
    made, _ = draw("wp.randu(state, wp.uint32(10), wp.uint32(3000000000))", wp.uint32)
    assert (made == Stream().bits() % U32(2999999990) + U32(10)).all()


@pytest.mark.parametrize(("low", "high"), [(-1.5, 3981.0), (0.1, 0.7), (-10.0, -9.0)])
def test_floats_in_a_range(low, high):
    made, _ = draw("wp.randf(state, low, high)", low=low, high=high)
    u, a, b = Stream().unit().astype(np.float32), np.float32(low), np.float32(high)
    assert (made == (b - a) * u + a).all()  # two roundings, not a fused sum


def test_normal_numbers():
    made, after = draw("wp.randn(state)")
    stream = Stream()
    u = stream.unit()
    want = np.sqrt(-2 * np.log(u + 5.96e-8)) * np.cos(2 * np.pi * stream.unit())
    np.testing.assert_allclose(made, want, rtol=1e-5, atol=2e-6)
    assert (after == stream.state).all()
    assert abs(made.mean()) < 4 / math.sqrt(COUNT) and abs(made.std() - 1) < 0.03
    assert abs((np.abs(made) < 1).mean() - 0.6827) < 0.02


def sphere(phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(theta) * np.sin(phi), np.sin(theta) * np.sin(phi), np.cos(phi)], axis=1)


def expected_samples(name: str, s: Stream) -> np.ndarray:
    if name == "triangle":
        r = np.sqrt(s.unit())
        return np.stack([1 - r, s.unit() * r], axis=1)
    if name in ("unit_ring", "unit_disk"):
        r = np.sqrt(s.unit()) if name == "unit_disk" else np.ones(COUNT)
        theta = s.angle()
        return np.stack([r * np.cos(theta), r * np.sin(theta)], axis=1)
    if name in ("unit_square", "unit_cube"):
        return np.stack([s.unit() - 0.5 for _ in range(2 if name == "unit_square" else 3)], axis=1)
    phi = np.arccos(1 - (1 if "hemi" in name else 2) * s.unit())
    points = sphere(phi, s.angle())
    return points if name.endswith("surface") else points * np.cbrt(s.unit())[:, None]


SHAPES = ["triangle", "unit_ring", "unit_disk", "unit_square", "unit_sphere_surface", "unit_sphere"]
SHAPES += ["unit_hemisphere_surface", "unit_hemisphere", "unit_cube"]


@pytest.mark.parametrize("name", SHAPES)
def test_samples_of_shapes(name):
    stream = Stream()
    want = expected_samples(name, stream)
    made, after = draw(f"wp.sample_{name}(state)", wp.vec2 if want.shape[1] == 2 else wp.vec3)
    np.testing.assert_allclose(made, want, atol=2e-6)
    assert (after == stream.state).all()
    length = np.linalg.norm(made, axis=1)
    if "surface" in name or "ring" in name:
        np.testing.assert_allclose(length, 1, atol=1e-6)
    elif "disk" in name or "sphere" in name:
        assert length.max() <= 1 + 1e-6
        inner = (length < 0.5).mean()  # the share of the inner disk or ball is that of its measure
        assert abs(inner - 0.5 ** want.shape[1]) < 0.02
    elif name == "triangle":
        assert (made >= 0).all() and (made.sum(axis=1) <= 1 + 1e-6).all()
        np.testing.assert_allclose(made.mean(axis=0), 1 / 3, atol=0.01)
    else:
        assert (np.abs(made) <= 0.5).all()
    centre = np.array([0, 0, 0.5 if name.endswith("hemisphere_surface") else 0.375])[: want.shape[1]]
    if "hemi" not in name:
        centre = 0 * centre
    else:
        assert (made[:, 2] >= -1e-7).all()
    if name != "triangle":
        np.testing.assert_allclose(made.mean(axis=0), centre, atol=0.03)


def test_samples_of_a_table():
    weights = np.array([0.1, 0.0, 0.4, 0.25, 0.25])
    cdf = np.cumsum(weights).astype(np.float32)
    source = (
        "@wp.kernel\ndef k(c: wp.array(dtype=float), o: wp.array(dtype=int)):\n    i = wp.tid()\n"
        "    state = wp.rand_init(42, i)\n    o[i] = wp.sample_cdf(state, c)\n"
    )
    out = wp.zeros(COUNT, dtype=int)
    wp.launch(kernel_from_text(source, "k", {"wp": wp}), COUNT, [wp.array(cdf, dtype=float), out])
    want = np.minimum(np.searchsorted(cdf, Stream().unit().astype(np.float32)), len(cdf) - 1)
    assert (out.numpy() == want).all()
    np.testing.assert_allclose(np.bincount(out.numpy(), minlength=5) / COUNT, weights, atol=0.02)


@pytest.mark.parametrize("lam", [0.01, 0.5, 3.0, 9.99, 10.0, 25.0, 300.0, 1e5])
def test_poisson(lam):
    made, _ = draw("wp.poisson(state, lam)", wp.uint32, lam=lam)
    made = made.astype(np.float64)
    assert abs(made.mean() - lam) < 5 * math.sqrt(lam / COUNT)
    assert abs(made.var() / lam - 1) < 5 * math.sqrt((2 + 1 / lam) / COUNT)


def test_poisson_of_few():
    made, after = draw("wp.poisson(state, lam)", wp.uint32, lam=0.0)
    assert (made == 0).all() and (after == Stream().state).all()
    made, after = draw("wp.poisson(state, lam)", wp.uint32, lam=2.0)
    stream, product, want = Stream(), np.ones(COUNT, dtype=np.float32), np.zeros(COUNT, dtype=int)
    running = np.ones(COUNT, dtype=bool)
    while running.any():
        product = product * stream.unit().astype(np.float32)
        running &= product > np.exp(np.float32(-2.0))
        want += running
    assert (made == want).all()
    for odd in (-1.0, math.nan, math.inf):  # no answer is right, but there must be one
        draw("wp.poisson(state, lam)", wp.uint32, count=64, lam=odd)


def test_uniformity_and_independence():
    """Chi squared over cells in one, two and three dimensions, along a stream and across streams; correlations."""
    along = np.empty(60000)
    state = pcg(U32(7))
    for i in range(len(along)):
        state = pcg(state)
        along[i] = (int(state) >> 8) * 2.0**-24
    across, _ = draw("wp.randf(state)", count=60000)
    for u in (along, across.astype(np.float64)):
        for dimensions, cells in ((1, 64), (2, 8), (3, 4)):
            points = (u.reshape(-1, dimensions) * cells).astype(int)
            counts = np.bincount(np.ravel_multi_index(points.T, (cells,) * dimensions), minlength=cells**dimensions)
            expected = len(points) / cells**dimensions
            chi = ((counts - expected) ** 2 / expected).sum()
            freedom = cells**dimensions - 1
            assert abs(chi - freedom) < 5 * math.sqrt(2 * freedom), (dimensions, chi)
        for lag in (1, 2, 3, 7, 100):
            assert abs(np.corrcoef(u[:-lag], u[lag:])[0, 1]) < 5 / math.sqrt(len(u))
