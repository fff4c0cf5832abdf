"""Atomics of every type under contention from all threads: on elements, on components, on fields of structs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.bfloat16, wp.float32, wp.float64)
COUNT = 12000
# As many addresses as keep the sums of ones exact.
ADDRESSES = {wp.float16: 8, wp.bfloat16: 64}

every_type = pytest.mark.parametrize("scalar", INTEGERS + FLOATS, ids=lambda t: t.__name__)


@pytest.fixture(params=[0, 1, 4], ids=lambda n: f"lanes{n}", autouse=True)
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield
    wp.config.cpu_lanes = 0


def values_of(array: wp.array) -> np.ndarray:
    """Numbers, of bfloat16 too."""
    held = array.numpy()
    if array.dtype in (wp.bfloat16,) or getattr(array.dtype, "_wp_scalar_type_", None) is wp.bfloat16:
        return (held.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return held.astype(np.float64) if held.dtype.kind == "f" else held


def addresses_of(scalar: type) -> int:
    return ADDRESSES.get(scalar, 3)


def run(body: str, space: dict, arrays: dict[str, wp.array], count: int = COUNT) -> None:
    params = ", ".join(f"{name}: wp.array(dtype={name}_t)" for name in arrays)
    types = {f"{name}_t": array.dtype for name, array in arrays.items()}
    lines = "\n    ".join(["i = wp.tid()", *body.strip().split("\n")])
    kernel = kernel_from_text(f"@wp.kernel\ndef k({params}):\n    {lines}\n", "k", {"wp": wp, **types, **space})
    wp.launch(kernel, count, list(arrays.values()))


def wrapped(number: int, scalar: type) -> object:
    """A whole number in the type."""
    return np.array([number]).astype(np.int64).astype(wp.types.warp_type_to_np_dtype[scalar])[0]


@every_type
def test_add_and_subtract(scalar: type) -> None:
    n = addresses_of(scalar)
    up, down, plus, minus = (wp.zeros(n, dtype=scalar) for _ in range(4))
    old = wp.zeros(COUNT, dtype=scalar)
    body = """
k = i % n
old[i] = wp.atomic_add(up, k, S(1))
wp.atomic_sub(down, k, S(1))
plus[k] += S(1)
minus[k] -= S(1)"""
    run(body, {"S": scalar, "n": wp.constant(n)}, {"up": up, "down": down, "plus": plus, "minus": minus, "old": old})
    share = COUNT // n + (np.arange(n) < COUNT % n)
    if scalar in INTEGERS:
        share, negative = (np.array([wrapped(s * int(v), scalar) for v in share]) for s in (1, -1))
    else:
        negative = -share
    np.testing.assert_array_equal(values_of(up), share)
    np.testing.assert_array_equal(values_of(plus), share)
    np.testing.assert_array_equal(values_of(down), negative)
    np.testing.assert_array_equal(values_of(minus), negative)
    # Each thread saw another sum before its own addition.
    for k in range(n):
        seen = np.sort(values_of(old)[k::n].astype(np.float64))
        bits = np.iinfo(wp.types.warp_type_to_np_dtype[scalar]).bits if scalar in INTEGERS else 64
        many = len(seen)
        if bits > 8:
            np.testing.assert_array_equal(seen, np.arange(many))
        else:
            counts = np.unique(seen, return_counts=True)[1]
            assert counts.sum() == many and counts.max() - counts.min() <= 1


@every_type
def test_least_and_largest(scalar: type) -> None:
    n = addresses_of(scalar)
    rng = np.random.default_rng(1)
    values = rng.integers(0 if scalar.__name__.startswith("uint") else -120, 120, COUNT)
    given = wp.array(values.astype(np.float32 if scalar in FLOATS else np.int64), dtype=scalar)
    least, largest = wp.full(n, scalar(120), dtype=scalar), wp.full(n, scalar(0), dtype=scalar)
    body = "k = i % n\nwp.atomic_min(least, k, given[i])\nwp.atomic_max(largest, k, given[i])"
    run(body, {"n": wp.constant(n)}, {"given": given, "least": least, "largest": largest})
    np.testing.assert_array_equal(values_of(least), [values[k::n].min() for k in range(n)])
    np.testing.assert_array_equal(values_of(largest), [max(values[k::n].max(), 0) for k in range(n)])


@every_type
def test_exchange(scalar: type) -> None:
    """What was there and what came after it is, in all, what was put there."""
    place, old = wp.zeros(2, dtype=scalar), wp.zeros(COUNT, dtype=scalar)
    given = wp.array((np.arange(COUNT) % 100 + 1).astype(np.float32), dtype=scalar)
    run("old[i] = wp.atomic_exch(place, i % 2, given[i])", {}, {"place": place, "old": old, "given": given})
    for k in range(2):
        seen = np.sort(np.append(values_of(old)[k::2], values_of(place)[k]))
        np.testing.assert_array_equal(seen, np.sort(np.append(values_of(given)[k::2], 0)))


@every_type
def test_compare_and_swap(scalar: type) -> None:
    n = addresses_of(scalar)
    count = 2000
    total = wp.zeros(n, dtype=scalar)
    body = """
k = i % n
seen = total[k]
done = int(0)
while done == 0:
    expected = seen
    seen = wp.atomic_cas(total, k, expected, expected + S(1))
    if seen == expected:
        done = 1"""
    run(body, {"S": scalar, "n": wp.constant(n)}, {"total": total}, count)
    share = count // n + (np.arange(n) < count % n)
    want = [wrapped(int(v), scalar) for v in share] if scalar in INTEGERS else share
    np.testing.assert_array_equal(values_of(total), want)


@pytest.mark.parametrize("scalar", INTEGERS, ids=lambda t: t.__name__)
def test_bits(scalar: type) -> None:
    dtype = wp.types.warp_type_to_np_dtype[scalar]
    bits = np.iinfo(dtype).bits
    some, none, odd = wp.zeros(2, dtype=scalar), wp.full(2, ~dtype(0), dtype=scalar), wp.zeros(2, dtype=scalar)
    signs = [wp.zeros(2, dtype=scalar), wp.full(2, ~dtype(0), dtype=scalar), wp.zeros(2, dtype=scalar)]
    body = """
bit = S(1) << S(i % (bits - 1))
wp.atomic_or(some, 0, bit)
wp.atomic_and(none, 0, ~bit)
wp.atomic_xor(odd, 0, bit)
some2[1] |= bit
none2[1] &= ~bit
odd2[1] ^= bit"""
    arrays = {"some": some, "none": none, "odd": odd, "some2": signs[0], "none2": signs[1], "odd2": signs[2]}
    run(body, {"S": scalar, "bits": wp.constant(bits)}, arrays)
    top = ~dtype(0) ^ dtype((1 << (bits - 1)) - 1)
    times = np.bincount(np.arange(COUNT) % (bits - 1))
    parity = sum(int(t % 2) << k for k, t in enumerate(times))
    for place, (a, b, c) in ((0, (some, none, odd)), (1, tuple(signs))):
        assert a.numpy()[place] == ~top and b.numpy()[place] == top and int(c.numpy()[place]) == parity
        assert a.numpy()[1 - place] == 0 and b.numpy()[1 - place] == ~dtype(0) and c.numpy()[1 - place] == 0


@every_type
def test_components(scalar: type) -> None:
    """Vectors and matrices as a whole, one component, several at once; each component is updated by itself."""
    vec, mat = wp.types.vector(3, scalar), wp.types.matrix((2, 2), scalar)
    n = addresses_of(scalar)
    whole, part, run_of = (wp.zeros(n, dtype=vec) for _ in range(3))
    square, entry, row = (wp.zeros(n, dtype=mat) for _ in range(3))
    body = """
k = i % n
wp.atomic_add(whole, k, V(S(1), S(0), S(1)))
part[k][1] += S(1)
part[k].z -= S(1)
run_of[k][1:3] += W(S(1), S(1))
square[k] += M(S(1), S(0), S(0), S(1))
entry[k][1, 0] += S(1)
row[k][1] += W(S(1), S(1))"""
    space = {"S": scalar, "V": vec, "W": wp.types.vector(2, scalar), "M": mat, "n": wp.constant(n)}
    arrays = {"whole": whole, "part": part, "run_of": run_of, "square": square, "entry": entry, "row": row}
    run(body, space, arrays)
    share = (COUNT // n + (np.arange(n) < COUNT % n)).astype(np.float64)
    one, minus = (
        np.array([wrapped(int(s * v), scalar) for v in share]) if scalar in INTEGERS else s * share for s in (1, -1)
    )
    o = np.zeros_like(one)
    np.testing.assert_array_equal(values_of(whole), np.stack([one, o, one], axis=1))
    np.testing.assert_array_equal(values_of(part), np.stack([o, one, minus], axis=1))
    np.testing.assert_array_equal(values_of(run_of), np.stack([o, one, one], axis=1))
    np.testing.assert_array_equal(values_of(square).reshape(n, 4), np.stack([one, o, o, one], axis=1))
    np.testing.assert_array_equal(values_of(entry).reshape(n, 4), np.stack([o, o, one, o], axis=1))
    np.testing.assert_array_equal(values_of(row).reshape(n, 4), np.stack([o, o, one, one], axis=1))


@every_type
def test_least_and_largest_of_components(scalar: type) -> None:
    vec = wp.types.vector(2, scalar)
    values = np.random.default_rng(2).integers(0, 120, (COUNT, 2))
    given = wp.array(values.astype(np.float32), dtype=vec)
    least, largest = wp.full(2, vec(scalar(120)), dtype=vec), wp.zeros(2, dtype=vec)
    run(
        "wp.atomic_min(least, i % 2, given[i])\nwp.atomic_max(largest, i % 2, given[i])",
        {},
        {"given": given, "least": least, "largest": largest},
    )
    np.testing.assert_array_equal(values_of(least), [values[k::2].min(axis=0) for k in range(2)])
    np.testing.assert_array_equal(values_of(largest), [values[k::2].max(axis=0) for k in range(2)])


@pytest.mark.parametrize("scalar", (wp.float32, wp.float64), ids=lambda t: t.__name__)
def test_quaternions_and_transforms(scalar: type) -> None:
    quat, transform = wp.types.quaternion(scalar), wp.types.transformation(scalar)
    q, t, p, r = (wp.zeros(2, dtype=c) for c in (quat, transform, transform, transform))
    body = """
wp.atomic_add(q, i % 2, Q(S(1), S(0), S(2), S(0)))
q[i % 2].w += S(1)
t[i % 2] += T(V(S(1), S(2), S(3)), Q(S(4), S(5), S(6), S(7)))
p[i % 2].p += V(S(1), S(2), S(3))
p[i % 2].q -= Q(S(1), S(2), S(3), S(4))
r[i % 2].p.x += S(1)
r[i % 2][6] += S(1)"""
    space = {"S": scalar, "Q": quat, "T": transform, "V": wp.types.vector(3, scalar)}
    run(body, space, {"q": q, "t": t, "p": p, "r": r})
    half = COUNT // 2
    np.testing.assert_array_equal(q.numpy(), [[half, 0, 2 * half, half]] * 2)
    np.testing.assert_array_equal(t.numpy(), [[half * k for k in range(1, 8)]] * 2)
    np.testing.assert_array_equal(p.numpy(), [[half * k for k in (1, 2, 3, -1, -2, -3, -4)]] * 2)
    np.testing.assert_array_equal(r.numpy(), [[half, 0, 0, 0, 0, 0, half]] * 2)


def struct_of(scalar: type) -> type:
    class Inner:
        number: scalar
        corner: wp.types.vector(2, scalar)

    Inner.__annotations__ = {"number": scalar, "corner": wp.types.vector(2, scalar)}
    inner = wp.struct(Inner)

    class Outer:
        pass

    Outer.__annotations__ = {"first": scalar, "square": wp.types.matrix((2, 2), scalar), "inner": inner}
    return wp.struct(Outer)


@every_type
def test_fields(scalar: type) -> None:
    n = addresses_of(scalar)
    cls = struct_of(scalar)
    s = wp.zeros(n, dtype=cls)
    body = """
k = i % n
s[k].first += S(1)
s[k].square[0, 1] += S(1)
s[k].inner.number -= S(1)
s[k].inner.corner += W(S(1), S(0))
s[k].inner.corner[1] += S(1)"""
    run(body, {"S": scalar, "W": wp.types.vector(2, scalar), "n": wp.constant(n)}, {"s": s})
    share = COUNT // n + (np.arange(n) < COUNT % n)
    for k in range(n):
        up, down = (wrapped(x * int(share[k]), scalar) if scalar in INTEGERS else float(x * share[k]) for x in (1, -1))
        record = s.numpy()[k]

        def number(held: object) -> object:
            if scalar is wp.bfloat16:
                return (np.asarray(held).view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
            return np.asarray(held)

        assert number(record["first"]) == up and number(record["inner"]["number"]) == down
        np.testing.assert_array_equal(number(record["square"]), [[0, up], [0, 0]])
        np.testing.assert_array_equal(number(record["inner"]["corner"]), [up, up])


def test_ranks_and_keywords() -> None:
    """One index for each dimension, by position or name; negative ones and those of 64 bits."""
    a = [wp.zeros((2,) * rank, dtype=wp.int32) for rank in (1, 2, 3, 4)]
    source = """
@wp.kernel
def k(a: wp.array(dtype=int), b: wp.array2d(dtype=int), c: wp.array3d(dtype=int), d: wp.array4d(dtype=int)):
    i = wp.tid()
    wp.atomic_add(a, -1, 1)
    wp.atomic_add(arr=b, i=i % 2, j=wp.int64(1), value=1)
    wp.atomic_max(c, 1, i % 2, -1, i)
    wp.atomic_add(d, i % 2, 0, 1, 1, value=2)
"""
    wp.launch(kernel_from_text(source, "k", {"wp": wp}), COUNT, a)
    half = COUNT // 2
    np.testing.assert_array_equal(a[0].numpy(), [0, COUNT])
    np.testing.assert_array_equal(a[1].numpy(), [[0, half], [0, half]])
    assert (
        a[2].numpy()[1, 0, 1] == COUNT - 2
        and a[2].numpy()[1, 1, 1] == COUNT - 1
        and a[2].numpy().sum() == 2 * COUNT - 3
    )
    assert (a[3].numpy()[:, 0, 1, 1] == COUNT).all() and a[3].numpy().sum() == 2 * COUNT


@pytest.fixture
def one_thread():
    wp.config.cpu_threads = 1
    yield
    wp.config.cpu_threads = 0


@pytest.mark.cpu_only("threads of a GPU come in any order")
@pytest.mark.parametrize("scalar", INTEGERS, ids=lambda t: t.__name__)
def test_numbers_of_one_counter_in_order(scalar: type, one_thread: None) -> None:
    """Threads in their order find what those before them left, lanes or not: all of them, some, none, in a branch."""
    counters = wp.zeros(4, dtype=scalar)
    every, some, few = (wp.zeros(COUNT, dtype=scalar) for _ in range(3))
    body = """
every[i] = wp.atomic_add(counters, 0, S(i % 3))
if i % 5 != 2:
    some[i] = wp.atomic_add(counters, 1, S(1)) + S(1)
if i % 97 == 3 and every[i] != S(120):
    few[i] = wp.atomic_add(counters, 2, S(2)) + S(1)
if i > 2 * 12000:
    wp.atomic_add(counters, 3, S(1))
"""
    run(body, {"S": scalar}, {"counters": counters, "every": every, "some": some, "few": few})
    i = np.arange(COUNT)
    kind = wp.types.warp_type_to_np_dtype[scalar]
    brought = (i % 3).astype(kind)
    before = (np.cumsum(brought.astype(np.int64)) - brought).astype(kind)
    np.testing.assert_array_equal(every.numpy(), before)
    takes = i % 5 != 2
    np.testing.assert_array_equal(some.numpy(), np.where(takes, np.cumsum(takes).astype(np.int64), 0).astype(kind))
    rare = (i % 97 == 3) & (before != kind(120))
    expected = np.where(rare, 2 * (np.cumsum(rare).astype(np.int64) - 1) + 1, 0).astype(kind)
    np.testing.assert_array_equal(few.numpy(), expected)
    totals = [int(brought.astype(np.int64).sum()), int(takes.sum()), 2 * int(rare.sum()), 0]
    np.testing.assert_array_equal(counters.numpy(), np.array(totals, dtype=np.int64).astype(kind))


def test_a_list_has_every_item_once() -> None:
    """From many cores: each finds a place of its own, and there are no gaps."""
    count = 200_000
    taken, places, items = wp.zeros(1, dtype=int), wp.full(count, -1, dtype=int), wp.full(count, -1, dtype=int)
    body = """
if i % 7 < 3:
    at = wp.atomic_add(taken, 0, 1)
    places[i] = at
    items[at] = i
"""
    run(body, {}, {"taken": taken, "places": places, "items": items}, count)
    chosen = np.flatnonzero(np.arange(count) % 7 < 3)
    assert taken.numpy()[0] == len(chosen)
    np.testing.assert_array_equal(np.sort(places.numpy()[chosen]), np.arange(len(chosen)))
    np.testing.assert_array_equal(np.sort(items.numpy()[: len(chosen)]), chosen)
    assert (items.numpy()[len(chosen) :] == -1).all()


@pytest.mark.parametrize("lanes", [1, 4, 16, 0])
@pytest.mark.parametrize("dtype, size", [(wp.vec3, 3), (wp.types.vector(5, wp.float32), 5), (wp.mat33, 9), (wp.vec2, 2)])
def test_vectors_of_an_odd_number_of_floats_add_up_at_every_alignment(monkeypatch, lanes, dtype, size):
    """Threads add two neighbours by one operation: elements begin at multiples of eight bytes, or between them. The array is
    read as well, so that the additions stay atomic."""
    monkeypatch.setattr(wp.config, "cpu_lanes", lanes)

    @wp.kernel(module="unique")
    def add(at: wp.array(dtype=int), value: wp.array(dtype=Any), sums: wp.array(dtype=Any), seen: wp.array(dtype=Any)):
        i = wp.tid()
        wp.atomic_add(sums, at[i], value[i])
        seen[i] = sums[at[i]]
        wp.atomic_sub(sums, at[i], 2.0 * value[i])
        wp.atomic_add(sums, at[i], 2.0 * value[i])

    count, places = 3000, 37
    random = np.random.default_rng(2)
    at = random.integers(0, places, count).astype(np.int32)
    shape = dtype._shape_
    value = random.integers(-50, 50, (count, *shape)).astype(np.float32)  # whole numbers: any order gives the same
    for offset in (0, 1):  # of the array in its memory, in elements
        whole = wp.zeros(places + offset, dtype=dtype, device="cpu")
        sums = whole[offset:]
        seen = wp.zeros(count, dtype=dtype, device="cpu")
        inputs = [wp.array(at, dtype=int, device="cpu"), wp.array(value, dtype=dtype, device="cpu"), sums, seen]
        for _ in range(3):
            wp.launch(add, dim=count, inputs=inputs, device="cpu")
        expected = np.zeros((places, *shape), dtype=np.float32)
        np.add.at(expected, at, 3.0 * value)
        assert np.array_equal(sums.numpy(), expected)
        assert np.all(whole.numpy()[:offset] == 0.0)
