"""References of random numbers, samplers, noise and searches: the generator in NumPy's uint32."""

from __future__ import annotations

import numpy as np
from expected import Expected, exact
from test_builtins_noise import reference as noise_and_slope
from test_builtins_noise import reference_curl
from test_builtins_random import pcg, sphere

U32 = np.uint32


class Stream:
    """Generators side by side; `end` gives results together with the states after them."""

    def __init__(self, state: np.ndarray) -> None:
        self.state = state.astype(U32)

    def bits(self) -> np.ndarray:
        self.state = pcg(self.state)
        return self.state

    def unit(self) -> np.ndarray:
        return (self.bits() >> U32(8)).astype(np.float64) * 2.0**-24

    def angle(self) -> np.ndarray:
        return self.unit() * 2 * np.pi

    def end(self, result: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return result, self.state


def seeded(seed: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
    with np.errstate(over="ignore"):
        return pcg(seed.astype(U32)) if offset is None else pcg(seed.astype(U32) + pcg(offset.astype(U32)))


def integers(state: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    with np.errstate(over="ignore"):
        return s.end((s.bits() % (high - low).astype(U32)).astype(low.dtype) + low)


def floats(state: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, a, b = Stream(state), low.astype(np.float32), high.astype(np.float32)
    return s.end(((b - a) * s.unit().astype(np.float32) + a).astype(np.float64))  # two roundings, not a fused sum


def normal(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    radius = np.sqrt(-2 * np.log((s.unit().astype(np.float32) + np.float32(5.96e-8)).astype(np.float64)))
    return s.end(radius * np.cos(s.angle()))


def triangle(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    r = np.sqrt(s.unit())
    return s.end(np.stack([1 - r, s.unit() * r], axis=1))


def flat(state: np.ndarray, disk: bool) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    r = np.sqrt(s.unit()) if disk else np.ones(len(state))
    theta = s.angle()
    return s.end(np.stack([r * np.cos(theta), r * np.sin(theta)], axis=1))


def round_sample(state: np.ndarray, hemisphere: bool, inside: bool) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    phi = np.arccos(1 - (1 if hemisphere else 2) * s.unit())
    points = sphere(phi, s.angle())
    return s.end(points * np.cbrt(s.unit())[:, None] if inside else points)


def box(state: np.ndarray, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    return s.end(np.stack([s.unit() - 0.5 for _ in range(dimensions)], axis=1))


def from_table(state: np.ndarray, cdf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    return s.end(np.minimum(np.searchsorted(cdf, s.unit()), len(cdf) - 1).astype(np.int32))


def few(state: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts below a mean of 10: factors until their product falls below exp(-lam)."""
    s, product = Stream(state), np.ones(len(state), dtype=np.float32)
    running, counts = lam > 0, np.zeros(len(state), dtype=U32)
    end = np.exp(-lam.astype(np.float32))
    while running.any():
        before = s.state
        product = np.where(running, product * s.unit().astype(np.float32), product)
        s.state = np.where(running, s.state, before)
        running = running & (product > end)
        counts = counts + running.astype(U32)
    return s.end(counts)


def noise(state: np.ndarray, p: np.ndarray) -> np.ndarray:
    return noise_and_slope(state, p.reshape(len(p), -1))[0]


def periodic(state: np.ndarray, p: np.ndarray, *periods: np.ndarray) -> np.ndarray:
    return noise_and_slope(state, p.reshape(len(p), -1), np.stack(periods, axis=1))[0]


def curl(state: np.ndarray, p: np.ndarray, octaves: np.ndarray, lacunarity: np.ndarray, gain: np.ndarray) -> np.ndarray:
    out = np.zeros((len(p), min(p.shape[1], 3)))
    for count in np.unique(octaves):
        some = octaves == count
        out[some] = reference_curl(state[some], p[some], int(count), lacunarity[some, None], gain[some, None])
    return out


def search(array: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.minimum(np.searchsorted(array, value), len(array) - 1).astype(np.int32)


def search_part(array: np.ndarray, begin: np.ndarray, end: np.ndarray, value: np.ndarray) -> np.ndarray:
    found = [np.searchsorted(array[a:b], v) + a for a, b, v in zip(begin, end, value)]
    return np.minimum(found, end - 1).astype(np.int32)


def whole(state: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    return s.end(s.bits().view(dtype))


def one_float(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = Stream(state)
    return s.end(s.unit())


TABLE: dict[str, Expected] = {
    "rand_init(int)": exact(seeded),
    "rand_init(int, int)": exact(seeded),
    "randi(uint32)": exact(lambda s: whole(s, np.int32)),
    "randi(uint32, int, int)": exact(integers),
    "randu(uint32)": exact(lambda s: whole(s, np.uint32)),
    "randu(uint32, uint32, uint32)": exact(integers),
    "randf(uint32)": exact(one_float),
    "randf(uint32, float, float)": exact(floats),
    "randn": Expected(normal, scale=1),
    "sample_cdf": exact(from_table),
    "sample_triangle": Expected(triangle, scale=1),
    "sample_unit_ring": Expected(lambda s: flat(s, False), scale=1),
    "sample_unit_disk": Expected(lambda s: flat(s, True), scale=1),
    "sample_unit_sphere_surface": Expected(lambda s: round_sample(s, False, False), loose=40, scale=1),
    "sample_unit_sphere": Expected(lambda s: round_sample(s, False, True), loose=40, scale=1),
    "sample_unit_hemisphere_surface": Expected(lambda s: round_sample(s, True, False), loose=40, scale=1),
    "sample_unit_hemisphere": Expected(lambda s: round_sample(s, True, True), loose=40, scale=1),
    "sample_unit_square": exact(lambda s: box(s, 2)),
    "sample_unit_cube": exact(lambda s: box(s, 3)),
    "poisson": exact(few),
    "noise": Expected(noise, loose=16, scale=1),
    "pnoise": Expected(periodic, loose=16, scale=1),
    "curlnoise": Expected(curl, loose=32, scale=1),
    "lower_bound(array[S,1], S)": exact(search),
    "lower_bound(array[S,1], int, int, S)": exact(search_part),
}
