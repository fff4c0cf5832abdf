"""Laws that builtins keep for any input: inverses, lengths, decompositions, continuity, fairness of random bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import warp as wp

chosen = settings(max_examples=60, deadline=None, derandomize=True)
TYPES = {wp.float32: 2.0**-23, wp.float64: 2.0**-52}
every_type = pytest.mark.parametrize("scalar", TYPES, ids=lambda t: t.__name__)
unit = st.floats(-1, 1, allow_subnormal=False)
number = st.floats(-100, 100, allow_subnormal=False)
scale = st.integers(-30, 30).map(lambda e: 2.0**e)


def vectors(n: int, part: st.SearchStrategy = unit) -> st.SearchStrategy:
    return st.lists(part, min_size=n, max_size=n).map(np.array)


def vec(values: np.ndarray, scalar: type) -> object:
    return wp.types.vector(len(values), scalar)(*values.tolist())


def mat(values: np.ndarray, scalar: type) -> object:
    n = math.isqrt(len(values))
    return wp.types.matrix((n, n), scalar)(*values.tolist())


def quat(values: np.ndarray, scalar: type) -> object:
    """A unit quaternion."""
    assume(np.linalg.norm(values) > 0.1)
    return wp.types.quaternion(scalar)(*(values / np.linalg.norm(values)).tolist())


def plain(value: object) -> np.ndarray:
    numbers = np.array(value, dtype=np.float64)
    return numbers.reshape(getattr(value, "_shape_", numbers.shape))


@every_type
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_inverse_times_matrix_is_one(n: int, scalar: type) -> None:
    @chosen
    @given(vectors(n * n), scale)
    def law(values: np.ndarray, factor: float) -> None:
        m = mat(values * factor, scalar)
        condition = np.linalg.cond(plain(m))
        assume(condition < 1e4 and np.abs(plain(m)).max() > 1e-30)
        product = plain(wp.inverse(m) @ m)
        assert np.abs(product - np.eye(n)).max() < 30 * n * condition * TYPES[scalar]
        assert np.abs(plain(m @ wp.inverse(m)) - np.eye(n)).max() < 30 * n * condition * TYPES[scalar]

    law()


@every_type
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_determinant_of_a_product(n: int, scalar: type) -> None:
    @chosen
    @given(vectors(n * n), vectors(n * n))
    def law(a: np.ndarray, b: np.ndarray) -> None:
        p, q = mat(a, scalar), mat(b, scalar)
        bound = np.prod(np.linalg.norm(plain(p), axis=1)) * np.prod(np.linalg.norm(plain(q), axis=0))
        difference = float(wp.determinant(p @ q)) - float(wp.determinant(p)) * float(wp.determinant(q))
        assert abs(difference) <= 200 * TYPES[scalar] * max(bound, n**n) + 1e-300

    law()


@every_type
def test_quaternion_times_inverse_is_one(scalar: type) -> None:
    @chosen
    @given(vectors(4), vectors(4))
    def law(a: np.ndarray, b: np.ndarray) -> None:
        p, q = quat(a, scalar), quat(b, scalar)
        slack = 16 * TYPES[scalar]
        for product in (q * wp.quat_inverse(q), wp.quat_inverse(q) * q):
            assert np.abs(plain(product) - [0, 0, 0, 1]).max() < slack
        back = wp.quat_inverse(p * q), wp.quat_inverse(q) * wp.quat_inverse(p)
        assert np.abs(plain(back[0]) - plain(back[1])).max() < slack

    law()


@every_type
def test_rotations_keep_lengths_and_angles(scalar: type) -> None:
    @chosen
    @given(vectors(4), vectors(3), vectors(3), scale)
    def law(r: np.ndarray, a: np.ndarray, b: np.ndarray, factor: float) -> None:
        q, v, w = quat(r, scalar), vec(a * factor, scalar), vec(b * factor, scalar)
        size, slack = max(np.linalg.norm(plain(v)), np.linalg.norm(plain(w)), 1e-300), 32 * TYPES[scalar]
        turned, other = wp.quat_rotate(q, v), wp.quat_rotate(q, w)
        assert abs(np.linalg.norm(plain(turned)) - np.linalg.norm(plain(v))) <= slack * size
        assert abs(plain(turned) @ plain(other) - plain(v) @ plain(w)) <= slack * size * size
        assert np.abs(plain(wp.quat_rotate_inv(q, turned)) - plain(v)).max() <= slack * size
        assert np.abs(plain(wp.quat_to_matrix(q) @ v) - plain(turned)).max() <= slack * size
        t = wp.types.transformation(scalar)(wp.types.vector(3, scalar)(), q)
        assert np.abs(plain(wp.transform_vector(t, v)) - plain(turned)).max() <= slack * size

    law()


@every_type
def test_ways_there_and_back(scalar: type) -> None:
    """Matrix, axis and angle, roll-pitch-yaw, and back."""

    @chosen
    @given(vectors(4))
    def law(r: np.ndarray) -> None:
        q = quat(r, scalar)
        axis, angle = wp.quat_to_axis_angle(q)
        roll, pitch, yaw = (scalar(float(x)) for x in wp.quat_to_rpy(q))
        ways = {
            "matrix": wp.quat_from_matrix(wp.quat_to_matrix(q)),
            "axis": wp.quat_from_axis_angle(axis, scalar(float(angle))),
            "rpy": wp.quat_rpy(roll, pitch, yaw),
        }
        for way, back in ways.items():
            error = min(np.abs(plain(back) - plain(q)).max(), np.abs(plain(back) + plain(q)).max())
            assert error < (64 * TYPES[scalar] if way != "rpy" else 4 * math.sqrt(TYPES[scalar])), way

    law()


@every_type
def test_transform_times_inverse_is_one(scalar: type) -> None:
    @chosen
    @given(vectors(3, number), vectors(4), vectors(3, number))
    def law(p: np.ndarray, r: np.ndarray, x: np.ndarray) -> None:
        t = wp.types.transformation(scalar)(vec(p, scalar), quat(r, scalar))
        slack = 32 * TYPES[scalar] * max(np.abs(p).max(), np.abs(x).max(), 1.0)
        for product in (t * wp.transform_inverse(t), wp.transform_inverse(t) * t):
            assert np.abs(plain(product) - [0, 0, 0, 0, 0, 0, 1]).max() < slack
        point = vec(x, scalar)
        back = wp.transform_point(wp.transform_inverse(t), wp.transform_point(t, point))
        assert np.abs(plain(back) - plain(point)).max() < 4 * slack

    law()


@every_type
@pytest.mark.parametrize("n", [2, 3])
def test_singular_values_recombine(n: int, scalar: type) -> None:
    @chosen
    @given(vectors(n * n), scale)
    def law(values: np.ndarray, factor: float) -> None:
        m = mat(values * factor, scalar)
        u, sigma, v = wp.svd3(m) if n == 3 else wp.svd2(m)
        size, slack = max(np.abs(plain(m)).max(), 1e-300), 40 * TYPES[scalar]
        back = plain(u) * plain(sigma) @ plain(v).T
        assert np.abs(back - plain(m)).max() <= slack * size
        assert np.abs(plain(u) @ plain(u).T - np.eye(n)).max() <= slack
        assert np.abs(plain(v) @ plain(v).T - np.eye(n)).max() <= slack
        assert (np.diff(np.abs(plain(sigma))) <= slack * size).all()

    law()


@every_type
def test_other_decompositions_recombine(scalar: type) -> None:
    @chosen
    @given(vectors(9), scale)
    def law(values: np.ndarray, factor: float) -> None:
        m = mat(values * factor, scalar)
        size, slack = max(np.abs(plain(m)).max(), 1e-300), 60 * TYPES[scalar]
        q, r = wp.qr3(m)
        assert np.abs(plain(q) @ plain(r) - plain(m)).max() <= slack * size
        assert np.abs(np.tril(plain(r), -1)).max() <= slack * size
        symmetric = m + wp.transpose(m)
        q, d = wp.eig3(symmetric)
        assert np.abs(plain(q) * plain(d) @ plain(q).T - plain(symmetric)).max() <= 2 * slack * size

    law()


@every_type
def test_vectors_keep_their_laws(scalar: type) -> None:
    @chosen
    @given(vectors(3), vectors(3), scale)
    def law(a: np.ndarray, b: np.ndarray, factor: float) -> None:
        assume(np.abs(a).max() > 1e-3)
        v, w = vec(a * factor, scalar), vec(b, scalar)
        slack = 8 * TYPES[scalar]
        assert abs(float(wp.length(wp.normalize(v))) - 1) <= slack
        length = 3 * np.abs(plain(v)).max()  # squares of tiny numbers would vanish
        size = length * max(3 * np.abs(plain(w)).max(), 1e-300)
        assert abs(float(wp.dot(wp.cross(v, w), v))) <= slack * size * length
        assert np.abs(plain(wp.skew(v) @ w) - plain(wp.cross(v, w))).max() <= slack * size
        assert abs(float(wp.trace(wp.outer(v, w))) - float(wp.dot(v, w))) <= slack * size
        assert plain(wp.get_diag(wp.diag(v))).tolist() == plain(v).tolist()

    law()


def value_of_noise(n: int, state: int, point: np.ndarray) -> float:
    return float(wp.noise(wp.uint32(state), float(point[0]) if n == 1 else vec(point, wp.float32)))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_noise_is_continuous(n: int) -> None:
    """A small step changes it little, from and to any point; pnoise comes again after its periods."""

    @chosen
    @given(st.integers(0, 2**32 - 1), vectors(n, number), vectors(n))
    def law(state: int, point: np.ndarray, step: np.ndarray) -> None:
        point = point.astype(np.float32).astype(np.float64)
        there = (point + step / 256).astype(np.float32).astype(np.float64)
        change = abs(value_of_noise(n, state, there) - value_of_noise(n, state, point))
        assert change <= 4 * np.abs(there - point).sum() + 1e-5
        grid = np.abs(np.round(point * 16) / 16)  # shifts by a period are exact
        periods = [3, 4, 5, 6][:n]
        values = [
            wp.pnoise(wp.uint32(state), float(p[0]) if n == 1 else vec(p, wp.float32), *periods)
            for p in (grid, grid + np.array(periods))
        ]
        assert values[0] == values[1]

    law()


@wp.kernel
def draw_bits(seed: int, out: wp.array2d(dtype=wp.uint32)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    for k in range(out.shape[1]):
        out[i, k] = wp.randu(state)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1])
def test_every_random_bit_is_fair_and_independent(seed: int) -> None:
    """Within five deviations: ones of each bit; equal neighbours along a stream, across streams and across seeds."""
    streams, draws = 4000, 8
    made = []
    for s in (seed, seed - 1):
        out = wp.zeros((streams, draws), dtype=wp.uint32)
        wp.launch(draw_bits, streams, [s, out])
        made.append(out.numpy())
    bits, others = (((m[:, :, None] >> np.arange(32, dtype=np.uint32)) & 1).astype(np.int8) for m in made)

    def fair(ones: np.ndarray) -> None:
        """The share of ones of each bit."""
        count = ones.shape[0] * ones.shape[1]
        assert (np.abs(ones.sum(axis=(0, 1)) - count / 2) < 5 * math.sqrt(count) / 2).all()

    fair(bits)
    fair(bits[:, 1:] ^ bits[:, :-1])
    fair(bits[1:] ^ bits[:-1])
    fair(bits ^ others)
    fair(bits ^ np.roll(bits, 1, axis=2))
    pairs = made[0].reshape(-1)
    assert len(np.unique(pairs)) > 0.999 * len(pairs)
