"""Threads that append to lists: numbers drawn from a counter, and what is written by them. On the CPU such draws wait until their
chunk ends (docs/design/launches.md); nobody may be able to tell."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

N = 40_000
LANES = (1, 4, 8, 16)


@pytest.fixture(params=[(lanes, threads) for lanes in LANES for threads in (1, 0, 5)], ids=lambda p: f"{p[0]}x{p[1]}")
def run_by(request):
    """Kernels of so many lanes, on so many threads."""
    before = wp.config.cpu_lanes, wp.config.cpu_threads
    wp.config.cpu_lanes, wp.config.cpu_threads = request.param
    yield request.param
    wp.config.cpu_lanes, wp.config.cpu_threads = before


def ints(values) -> wp.array:
    return wp.array(np.asarray(values, dtype=np.int32), dtype=int, device="cpu")


def launch(kernel, count: int, *inputs) -> None:
    wp.launch(kernel, dim=count, inputs=list(inputs), device="cpu")


@wp.kernel(enable_backward=False)
def keep_even(x: wp.array(dtype=int), most: int, count: wp.array(dtype=int), out: wp.array(dtype=int), which: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    if v % 2 == 0:
        n = wp.atomic_add(count, 0, 1)
        if n < most:
            out[n] = v
            which[n] = i


@pytest.mark.parametrize("most", [N, 500])
def test_append(run_by, most):
    x = np.random.default_rng(1).integers(0, 100, N)
    count, out, which = ints([7]), ints(np.full(N + 7, -1)), ints(np.full(N + 7, -1))
    launch(keep_even, N, ints(x), most + 7, count, out, which)
    even = np.flatnonzero(x % 2 == 0)
    assert count.numpy()[0] == 7 + len(even)
    taken = min(len(even), most)
    found = which.numpy()[7 : 7 + taken]
    assert (out.numpy()[7 : 7 + taken] == x[found]).all()
    assert len(set(found)) == taken and set(found) <= set(even)
    assert (which.numpy()[:7] == -1).all() and (which.numpy()[7 + taken :] == -1).all()
    if run_by[1] == 1:  # one after the other
        assert (found == even[:taken]).all()


@wp.kernel(enable_backward=False)
def several_each(count: wp.array(dtype=int), out: wp.array(dtype=wp.vec2i)):
    i = wp.tid()
    for j in range(i % 5):
        n = wp.atomic_add(count, 0, 1)
        out[n] = wp.vec2i(i, j)


def test_loops(run_by):
    expected = sorted((i, j) for i in range(N) for j in range(i % 5))
    count, out = ints([0]), wp.zeros(len(expected), dtype=wp.vec2i, device="cpu")
    launch(several_each, N, count, out)
    assert count.numpy()[0] == len(expected)
    assert sorted(map(tuple, out.numpy().tolist())) == expected


@wp.struct
class Lists:
    count: wp.array(dtype=wp.int64)
    kind: wp.array(dtype=int)
    at: wp.array(dtype=wp.vec3)
    turn: wp.array(dtype=wp.mat22)
    flag: wp.array(dtype=wp.bool)


@wp.func
def note(lists: Lists, kind: int, at: wp.vec3, turn: wp.mat22, flag: bool):
    n = wp.atomic_add(lists.count, 1, wp.int64(1))
    if n >= wp.int64(lists.kind.shape[0]):
        return
    lists.kind[int(n)] = kind
    lists.at[int(n)] = at
    lists.turn[int(n)] = turn
    lists.flag[int(n)] = flag


@wp.kernel(enable_backward=False)
def two_places(x: wp.array(dtype=float), lists: Lists):
    i = wp.tid()
    v = x[i]
    if v < 0.25:
        note(lists, 1, wp.vec3(v, float(i), 1.0), wp.mat22(v, 2.0, 3.0, 4.0), i % 3 == 0)
    else:
        if v > 0.6:
            note(lists, 2, wp.vec3(float(i), v, wp.sqrt(v)), wp.mat22(1.0, v, v, 1.0), v > 0.8)
    if i % 100 == 0:
        note(lists, 3, wp.vec3(float(i)), wp.mat22(0.0, 0.0, 0.0, v), True)


def test_several_places_and_all_kinds_of_values(run_by):
    x = np.random.default_rng(2).random(N, dtype=np.float32)
    lists = Lists()
    lists.count = wp.array([5, 0, 6], dtype=wp.int64, device="cpu")
    lists.kind, lists.at = wp.zeros(2 * N, dtype=int, device="cpu"), wp.zeros(2 * N, dtype=wp.vec3, device="cpu")
    lists.turn, lists.flag = wp.zeros(2 * N, dtype=wp.mat22, device="cpu"), wp.zeros(2 * N, dtype=wp.bool, device="cpu")
    launch(two_places, N, wp.array(x, dtype=float, device="cpu"), lists)
    i = np.arange(N)
    low, high, third = x < 0.25, x > 0.6, i % 100 == 0
    total = low.sum() + high.sum() + third.sum()
    assert lists.count.numpy().tolist() == [5, total, 6]
    kind, at, turn, flag = (a.numpy()[:total] for a in (lists.kind, lists.at, lists.turn, lists.flag))
    assert [(kind == k).sum() for k in (1, 2, 3)] == [low.sum(), high.sum(), third.sum()]
    one, two, three = kind == 1, kind == 2, kind == 3
    first, second, last = at[one, 1].astype(int), at[two, 0].astype(int), at[three, 0].astype(int)
    assert sorted(first) == i[low].tolist() and sorted(second) == i[high].tolist() and sorted(last) == i[third].tolist()
    assert (at[one, 0] == x[first]).all() and (turn[one, 0, 0] == x[first]).all() and (flag[one] == (first % 3 == 0)).all()
    assert (at[two, 1] == x[second]).all() and (at[two, 2] == np.sqrt(x[second])).all()
    assert (turn[two, 0, 1] == x[second]).all() and (flag[two] == (x[second] > np.float32(0.8))).all()
    assert (turn[three, 1, 1] == x[last]).all() and flag[three].all()


@wp.kernel(enable_backward=False)
def spans(sizes: wp.array(dtype=int), end: wp.array(dtype=wp.uint32), first: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    first[i] = wp.atomic_add(end, 0, wp.uint32(sizes[i]))


def test_as_many_as_each_wants(run_by):
    sizes = np.random.default_rng(3).integers(0, 9, N)
    end, first = wp.zeros(1, dtype=wp.uint32, device="cpu"), wp.zeros(N, dtype=wp.uint32, device="cpu")
    launch(spans, N, ints(sizes), end, first)
    assert end.numpy()[0] == sizes.sum()
    begin = first.numpy().astype(np.int64)
    order = np.lexsort((sizes, begin))
    assert (begin[order][1:] == (begin + sizes)[order][:-1]).all() and begin[order][0] == 0
    if run_by[1] == 1:
        assert (begin == np.cumsum(sizes) - sizes).all()


@wp.kernel(enable_backward=False)
def take_back(left: wp.array(dtype=int), pool: wp.array(dtype=int), mine: wp.array(dtype=int)):
    i = wp.tid()
    n = wp.atomic_sub(left, 0, 1)
    if n > 0:
        mine[i] = pool[n - 1]


def test_taking_away(run_by):
    pool = np.random.default_rng(4).permutation(N)
    left, mine = ints([N - 100]), ints(np.full(N, -1))
    launch(take_back, N, left, ints(pool), mine)
    assert left.numpy()[0] == -100
    got = mine.numpy()[mine.numpy() >= 0]
    assert sorted(got) == sorted(pool[: N - 100])


@wp.kernel(enable_backward=False)
def read_again(count: wp.array(dtype=int), out: wp.array(dtype=int), seen: wp.array(dtype=int), total: wp.array(dtype=int)):
    i = wp.tid()
    n = wp.atomic_add(count, 0, 1)
    out[n] = i + 5
    seen[i] = out[n] - n  # at once: nothing may wait here
    total[i] = wp.atomic_add(count, 1, 1)


def test_what_is_read_again_does_not_wait(run_by):
    count, out, seen, total = ints([0, 0]), ints(np.zeros(N)), ints(np.zeros(N)), ints(np.zeros(N))
    launch(read_again, N, count, out, seen, total)
    assert sorted(out.numpy()) == list(range(5, N + 5))
    assert sorted(np.arange(N) + 5 - seen.numpy()) == list(range(N))
    assert sorted(total.numpy()) == list(range(N))


@wp.kernel(enable_backward=False)
def two_lists(x: wp.array(dtype=int), counts: wp.array(dtype=int), low: wp.array(dtype=int), high: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] < 50:
        low[wp.atomic_add(counts, 0, 1)] = i
    else:
        high[wp.atomic_add(counts, 1, 1)] = i


@wp.kernel(enable_backward=False)
def two_counters(
    x: wp.array(dtype=int), a: wp.array(dtype=int), b: wp.array(dtype=int), low: wp.array(dtype=int), high: wp.array(dtype=int)
):
    i = wp.tid()
    if x[i] < 50:
        low[wp.atomic_add(a, 0, 1)] = i
    else:
        high[wp.atomic_add(b, 0, 1)] = i


def test_two_lists(run_by):
    x = np.random.default_rng(5).integers(0, 100, N)
    for kernel, counters in ((two_lists, [ints([0, 0])]), (two_counters, [ints([0]), ints([0])])):
        low, high = ints(np.full(N, -1)), ints(np.full(N, -1))
        launch(kernel, N, ints(x), *counters, low, high)
        counts = np.concatenate([c.numpy() for c in counters])
        assert counts.tolist() == [(x < 50).sum(), (x >= 50).sum()]
        assert sorted(low.numpy()[: counts[0]]) == np.flatnonzero(x < 50).tolist()
        assert sorted(high.numpy()[: counts[1]]) == np.flatnonzero(x >= 50).tolist()


@wp.kernel(enable_backward=False)
def rows(count: wp.array(dtype=int), out: wp.array(dtype=wp.vec3i)):
    i, j, k = wp.tid()
    if (i + j * k) % 3 == 1:
        out[wp.atomic_add(count, 0, 1)] = wp.vec3i(i, j, k)


def test_grids_with_short_rows(run_by):
    shape = (40, 23, 19)
    expected = [at for at in np.ndindex(shape) if (at[0] + at[1] * at[2]) % 3 == 1]
    count, out = ints([0]), wp.zeros(len(expected), dtype=wp.vec3i, device="cpu")
    wp.launch(rows, dim=shape, inputs=[count, out], device="cpu")
    assert count.numpy()[0] == len(expected)
    found = list(map(tuple, out.numpy().tolist()))
    assert (found if run_by[1] == 1 else sorted(found)) == expected


@wp.kernel(enable_backward=False)
def pass_on(x: wp.array(dtype=int), count: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    v = x[i]
    y[wp.atomic_add(count, 0, 1) + 1] = v + 1


@pytest.mark.parametrize("other", ["apart", "list", "counter"])
def test_arrays_that_overlap(run_by, other):
    lanes, threads = run_by
    x = ints(np.zeros(N + 1))
    y, count = (x if other == "list" else ints(np.zeros(N + 1))), (x[N:] if other == "counter" else ints([0]))
    launch(pass_on, N, x, count, y)
    assert count.numpy()[0] == N
    if other != "list":
        assert (y.numpy()[1:] == 1).all()
    elif lanes == 1 and threads == 1:
        assert (y.numpy() == np.arange(N + 1)).all()  # each reads what the one before wrote


@wp.kernel(enable_backward=False)
def each_other(count: wp.array(dtype=int), out: wp.array(dtype=int)):
    a = wp.atomic_add(count, 0, 1)
    b = wp.atomic_add(count, 0, 1)
    out[a] = b
    out[b] = a


@wp.kernel(enable_backward=False)
def one_by_the_other(first: wp.array(dtype=int), second: wp.array(dtype=int), out: wp.array(dtype=int), back: wp.array(dtype=int)):
    i = wp.tid()
    a = wp.atomic_add(first, 0, 1)
    if i % 2 == 0:
        b = wp.atomic_add(second, 0, 1)
        out[a] = b
        back[b] = a


@wp.kernel(enable_backward=False)
def as_many_as_drawn(first: wp.array(dtype=int), second: wp.array(dtype=int), out: wp.array(dtype=int)):
    a = wp.atomic_add(first, 0, 1)
    b = wp.atomic_add(second, 0, a + 1)
    out[a] = b


def test_numbers_that_meet(run_by):
    """What is written by one number is another number that was drawn."""
    count, out = ints([0]), ints(np.full(2 * N, -1))
    launch(each_other, N, count, out)
    found = out.numpy()
    assert count.numpy()[0] == 2 * N and (found >= 0).all() and (found[found] == np.arange(2 * N)).all()
    first, second, out, back = ints([0]), ints([0]), ints(np.full(N, -1)), ints(np.full(N, -1))
    launch(one_by_the_other, N, first, second, out, back)
    places = np.flatnonzero(out.numpy() >= 0)
    assert len(places) == N // 2 and (back.numpy()[out.numpy()[places]] == places).all()
    first, second, out = ints([0]), ints([0]), ints(np.full(3000, -1))
    launch(as_many_as_drawn, 3000, first, second, out)
    found = np.sort(out.numpy())
    assert second.numpy()[0] == 3000 * 3001 // 2 and found[0] == 0 and len(set(found)) == 3000


@wp.kernel(enable_backward=False)
def last_first(count: wp.array(dtype=int), first: wp.array(dtype=int), second: wp.array(dtype=int)):
    i = wp.tid()
    a = wp.atomic_add(count, 0, 1)
    b = wp.atomic_add(count, 0, 1)
    second[b] = i
    first[a] = i


@wp.kernel(enable_backward=False)
def one_inside(count: wp.array(dtype=int), first: wp.array(dtype=int), second: wp.array(dtype=int)):
    i = wp.tid()
    a = wp.atomic_add(count, 0, 1)
    if i % 2 == 0:
        b = wp.atomic_add(count, 0, 1)
        second[b] = i
    first[a] = i


@pytest.mark.parametrize("kernel", [last_first, one_inside], ids=lambda k: k.key)
def test_a_threads_numbers_go_up(run_by, kernel):
    """Whatever is written first."""
    count, first, second = ints([0]), ints(np.full(2 * N, -1)), ints(np.full(2 * N, -1))
    launch(kernel, N, count, first, second)
    threads = np.arange(N)[:: 1 if kernel is last_first else 2]
    assert count.numpy()[0] == N + len(threads)
    of_first, of_second = np.zeros(N, dtype=int), np.zeros(N, dtype=int)
    for numbers, found in ((of_first, first.numpy()), (of_second, second.numpy())):
        places = np.flatnonzero(found >= 0)
        numbers[found[places]] = places
    assert (of_first[threads] < of_second[threads]).all()


@wp.kernel(enable_backward=False)
def runs(lengths: wp.array(dtype=int), count: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    n = lengths[i]
    begin = wp.atomic_add(count, 0, n)
    for k in range(n):
        out[begin + k] = i * 16 + k


def test_runs_of_each_threads_own_length(run_by):
    lengths = np.random.default_rng(2).integers(0, 9, N)
    count, out = ints([0]), ints(np.full(lengths.sum(), -1))
    launch(runs, N, ints(lengths), count, out)
    expected = np.concatenate([i * 16 + np.arange(n) for i, n in enumerate(lengths)])
    assert count.numpy()[0] == lengths.sum() and (np.sort(out.numpy()) == expected).all()
    together = expected[1:] // 16 == expected[:-1] // 16  # of one thread: side by side
    assert (np.diff(np.argsort(out.numpy()))[together] == 1).all()
