"""noise, pnoise and curlnoise against NumPy in float64; continuity, periods, no divergence, gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

U32 = np.uint32
PRIMES = [73856093, 19349663, 53471161, 10000019]
COUNT = 3000


def pcg(s: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        b = s * U32(747796405) + U32(2891336453)
        c = ((b >> ((b >> U32(28)) + U32(4))) ^ b) * U32(277803737)
    return (c >> U32(22)) ^ c


def lattice_gradients(state: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Gradients of lattice points: unit vectors, in one dimension numbers of [-1, 1)."""
    n = cells.shape[1]
    hashed = np.zeros(len(cells), dtype=U32)
    for axis in range(n):
        term = ((cells[:, axis].astype(np.int64) * PRIMES[axis]) & 0xFFFFFFFF).astype(U32)
        with np.errstate(over="ignore"):
            hashed = hashed ^ (term + state if axis == n - 1 else term)
    draws = np.empty((len(cells), n))
    for axis in range(n):
        hashed = pcg(hashed)
        draws[:, axis] = (hashed >> U32(8)) * 2.0**-24
    if n == 1:
        return 2 * draws - 1
    return (draws - 0.5) / np.linalg.norm(draws - 0.5, axis=1)[:, None]


def reference(
    state: np.ndarray, points: np.ndarray, periods: tuple[int, ...] | np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Noise and its gradient."""
    n = points.shape[1]
    floor = np.floor(points)
    d = points - floor
    fade = d**3 * (d * (d * 6 - 15) + 10)
    slope = 30 * (d * (d - 1)) ** 2
    value, gradient = np.zeros(len(points)), np.zeros(points.shape)
    for corner in itertools.product((0, 1), repeat=n):
        cells = floor + corner
        if periods is not None:
            cells = np.fmod(np.fmod(floor, periods) + corner, periods)
        g = lattice_gradients(state, cells)
        dot = (g * (d - corner)).sum(axis=1)
        weights = np.where(corner, fade, 1 - fade)
        weight = weights.prod(axis=1)
        value += weight * dot
        gradient += weight[:, None] * g
        for axis in range(n):
            others = np.delete(weights, axis, axis=1).prod(axis=1)
            gradient[:, axis] += others * (slope[:, axis] if corner[axis] else -slope[:, axis]) * dot
    return value, gradient


def kernel(expression: str, n: int, result: type) -> wp.Kernel:
    point = float if n == 1 else getattr(wp, f"vec{n}")
    source = (
        "@wp.kernel\ndef k(s: wp.array(dtype=wp.uint32), p: wp.array(dtype=P), o: wp.array(dtype=R)):\n"
        f"    i = wp.tid()\n    o[i] = wp.{expression}\n"
    )
    return kernel_from_text(source, "k", {"wp": wp, "P": point, "R": result})


def points_of(n: int, low: float = -20, high: float = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    points = rng.uniform(low, high, (COUNT, n)).astype(np.float32)
    points[:100] = np.round(points[:100])  # on the lattice
    points[100:200, 0] = np.round(points[100:200, 0])
    return rng.integers(0, 2**32, COUNT, dtype=U32), points


def evaluate(expression: str, state: np.ndarray, points: np.ndarray, result: type = float) -> np.ndarray:
    n = points.shape[1]
    p = wp.array(points[:, 0].copy(), dtype=float) if n == 1 else wp.array(points, dtype=getattr(wp, f"vec{n}"))
    out = wp.zeros(len(points), dtype=result)
    wp.launch(kernel(expression, n, result), len(points), [wp.array(state, dtype=wp.uint32), p, out])
    return out.numpy()


def test_known_values():
    s = wp.uint32(42)
    assert wp.noise(s, 1.3) == pytest.approx(-0.12455966, abs=1e-6)
    assert wp.noise(s, wp.vec2(0.3, 0.7)) == pytest.approx(-0.09480616, abs=1e-6)
    assert wp.noise(s, wp.vec3(0.3, 0.7, 1.1)) == pytest.approx(0.16714221, abs=1e-6)
    np.testing.assert_allclose(np.array(wp.curlnoise(s, wp.vec2(0.3, 0.7))), [-0.43561995, -0.37469280], atol=1e-6)
    want = [0.09307152, -0.59506804, 0.13385832]
    np.testing.assert_allclose(np.array(wp.curlnoise(s, wp.vec3(0.3, 0.7, 0.2))), want, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_noise(n):
    state, points = points_of(n)
    made = evaluate("noise(s[i], p[i])", state, points)
    np.testing.assert_allclose(made, reference(state, points.astype(np.float64))[0], atol=2e-6)
    assert (made[:100] == 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_pnoise(n):
    state, points = points_of(n)
    periods = (3, 4, 5, 6)[:n]
    call = f"pnoise(s[i], p[i], {', '.join(map(str, periods))})"
    made = evaluate(call, state, points)
    np.testing.assert_allclose(made, reference(state, points.astype(np.float64), periods)[0], atol=2e-6)
    points = np.floor(np.abs(points) * 64) / 64  # shifts by a period are exact
    again = evaluate(call, state, (points + np.array(periods) * 2).astype(np.float32))
    assert (evaluate(call, state, points.astype(np.float32)) == again).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_noise_is_continuous(n):
    """Neighbouring points have neighbouring values, across the faces of cells too; so have the slopes."""
    rng = np.random.default_rng(9)
    points = rng.uniform(-5, 5, (COUNT, n))
    points[:, 0] = np.round(points[:, 0])
    state = np.full(COUNT, 5, dtype=U32)
    low, high = points.copy(), points.copy()
    low[:, 0] -= 1e-3
    high[:, 0] += 1e-3
    values = [evaluate("noise(s[i], p[i])", state, p.astype(np.float32)) for p in (low, points, high)]
    assert np.abs(values[2] - values[0]).max() < 6e-3
    assert np.abs(values[2] - 2 * values[1] + values[0]).max() < 1e-4


CURL = {2: wp.vec2, 3: wp.vec3, 4: wp.vec3}


def reference_curl(state: np.ndarray, p: np.ndarray, octaves: int, lacunarity: float, gain: float) -> np.ndarray:
    n = p.shape[1]
    out = np.zeros((len(p), min(n, 3)))
    for octave in range(octaves):
        fields = []
        for seed in (None,) if n == 2 else (None, 10019689, 13112221):
            if seed is not None:
                with np.errstate(over="ignore"):
                    state = pcg(state + pcg(np.full(1, seed, dtype=U32)))
            fields.append(reference(state, p * lacunarity**octave)[1])
        if n == 2:
            curl = np.stack([-fields[0][:, 1], fields[0][:, 0]], axis=1)
        else:
            a, b, c = fields
            curl = np.stack([c[:, 1] - b[:, 2], a[:, 2] - c[:, 0], b[:, 0] - a[:, 1]], axis=1)
        out += gain**octave * curl
    return out


@pytest.mark.parametrize("n", sorted(CURL))
def test_curlnoise(n):
    state, points = points_of(n, -4, 4)
    for call, octaves, lacunarity, gain in [
        ("curlnoise(s[i], p[i])", 1, 2.0, 0.5),
        ("curlnoise(s[i], p[i], wp.uint32(3))", 3, 2.0, 0.5),
        ("curlnoise(s[i], p[i], octaves=wp.uint32(2), lacunarity=1.5, gain=0.25)", 2, 1.5, 0.25),
        ("curlnoise(s[i], p[i], gain=0.25, octaves=wp.uint32(2))", 2, 2.0, 0.25),
        ("curlnoise(s[i], p[i], wp.uint32(0))", 0, 2.0, 0.5),
    ]:
        made = evaluate(call, state, points, CURL[n])
        want = reference_curl(state, points.astype(np.float64), octaves, lacunarity, gain)
        np.testing.assert_allclose(made, want, atol=3e-5)


@pytest.mark.parametrize("n", sorted(CURL))
def test_curlnoise_has_no_divergence(n):
    rng = np.random.default_rng(2)
    points = rng.uniform(-3, 3, (500, n)).astype(np.float32)
    state = np.full(500, 11, dtype=U32)
    divergence, size = np.zeros(500), 0.0
    for axis in range(min(n, 3)):
        shift = np.zeros(n, dtype=np.float32)
        shift[axis] = 1 / 128
        high, low = (evaluate("curlnoise(s[i], p[i])", state, points + k * shift, CURL[n])[:, axis] for k in (1, -1))
        divergence += (high - low) * 64
        size = max(size, np.abs((high - low) * 64).max())
    assert np.abs(divergence).max() < 2e-3 * size


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_gradient_of_noise(n):
    state, points = points_of(n, 0, 20)
    point = float if n == 1 else getattr(wp, f"vec{n}")
    for call in ("noise(s[i], p[i])", f"pnoise(s[i], p[i], {', '.join(['64'] * n)})"):
        p = wp.array(points[:, 0].copy() if n == 1 else points, dtype=point, requires_grad=True)
        out = wp.zeros(COUNT, dtype=float, requires_grad=True)
        out.grad.fill_(1.0)
        arrays = [wp.array(state, dtype=wp.uint32), p, out]
        wp.launch(kernel(call, n, float), COUNT, arrays, adj_inputs=[None] * 3, adj_outputs=[], adjoint=True)
        want = reference(state, points.astype(np.float64))[1]
        np.testing.assert_allclose(p.grad.numpy().reshape(COUNT, n), want, atol=2e-5)
