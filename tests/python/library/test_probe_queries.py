"""Loops over structs of the library: values, exits, copies, gradients. The probes stand in for queries of geometry."""

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d

if not hasattr(wp, "probe_hit"):
    pytest.skip("needs the extension with the probes of tests/library (ctest: python_library)", allow_module_level=True)

CASES, case = collector()
DATA = {"counts": [0, 1, 2, 3, 4, 5, 6, 7, 2], "x": np.linspace(0.3, 1.4, 9), "rate": np.linspace(0.5, 1.1, 9)}


@wp.func
def total(q: wp.ProbeRange) -> int:
    s = int(0)
    for i in q:
        s += i
    return s


@wp.struct
class Search:
    query: wp.ProbeRange
    weight: float


@wp.kernel
def loops(out: wp.array2d(dtype=int)):
    n = wp.tid()
    q = wp.probe_range(0, n)
    out[n, 0] = total(q)  # by value: q stays where it is
    count = int(0)
    for i in q:
        if i == 5:
            break
        if i % 2 == 0:
            continue
        for j in wp.probe_range(i, 2 * i):
            count += j
    out[n, 1] = count
    last = int(-1)
    for i in q:  # goes on where the loop above left
        last = i
    out[n, 2] = last
    s = Search(wp.probe_range(n, 2 * n, 3), 2.0)
    i = int(0)
    while wp.probe_range_next(s.query, i):
        out[n, 3] += i
    for i in s.query:
        out[n, 3] = -1
    out[n, 4] = s.query.last


def expected(n: int) -> list[int]:
    rest, count = iter(range(n)), 0
    for i in rest:
        if i == 5:
            break
        count += sum(range(i, 2 * i)) if i % 2 else 0
    return [sum(range(n)), count, list(rest)[-1] if n > 6 else -1, sum(range(n, 2 * n, 3)), 2 * n]


@pytest.mark.parametrize("lanes", [1, 0])
def test_loops(device, lanes):
    out = wp.zeros((50, 5), dtype=int, device=device)
    before = wp.config.cpu_lanes
    wp.config.cpu_lanes = lanes
    try:
        wp.launch(loops, 50, outputs=[out], device=device)
    finally:
        wp.config.cpu_lanes = before
    np.testing.assert_array_equal(out.numpy(), [expected(n) for n in range(50)])


@wp.kernel
def keeps_the_last(out: wp.array(dtype=int)):
    n = wp.tid()
    i = int(-5)
    for i in wp.probe_range(0, n, 2):
        out[n] += 100
    out[n] += i


def test_the_variable_keeps_the_last_number(device):
    out = wp.zeros(6, dtype=int, device=device)
    wp.launch(keeps_the_last, 6, inputs=[out], device=device)
    assert out.numpy().tolist() == [-5, 100, 100, 202, 202, 304]


@wp.kernel
def first_hit(out: wp.array(dtype=int), limit: int):
    n = wp.tid()
    for i in wp.probe_range(n, limit, 2):
        if i % 7 == 3:
            out[n] = i
            return
    out[n] = -1


def test_return_leaves_the_loop(device):
    out = wp.zeros(40, dtype=int, device=device)
    wp.launch(first_hit, 40, inputs=[out, 30], device=device)
    hits = [next((i for i in range(n, 30, 2) if i % 7 == 3), -1) for n in range(40)]
    np.testing.assert_array_equal(out.numpy(), hits)


def test_a_query_from_python(device):
    @wp.kernel
    def k(q: wp.ProbeRange, s: Search, out: wp.array(dtype=int)):
        for i in q:
            wp.atomic_add(out, 0, i)
        for i in s.query:
            wp.atomic_add(out, 1, i)

    out = wp.zeros(2, dtype=int, device=device)
    search = Search()
    search.query = wp.probe_range(0, 5)
    wp.launch(k, 1, inputs=[wp.probe_range(0, 10, 3), search], outputs=[out], device=device)
    assert out.numpy().tolist() == [18, 10]


@wp.kernel
def in_runs(out: wp.array2d(dtype=int)):
    n = wp.tid()
    for i in wp.probe_rows(0, n, 4):
        out[n, 0] += i
    q = wp.probe_rows(0, n, 4)
    i = int(0)
    while wp.probe_rows_next(q, i):
        if i % 4 == 3:
            break
        out[n, 1] += i
    for i in q:
        out[n, 2] += i


def test_queries_of_runs(device):
    out = wp.zeros((30, 3), dtype=int, device=device)
    wp.launch(in_runs, 30, outputs=[out], device=device)
    for n, row in enumerate(out.numpy()):
        all_of = [1000 + 10 * k + j for k in range(n) for j in range(7 * k % 4)]
        stop = next((k for k, i in enumerate(all_of) if i % 4 == 3), len(all_of))
        assert list(row) == [sum(all_of), sum(all_of[:stop]), sum(all_of[stop + 1 :])]


@case(9, **DATA)
@wp.kernel
def over_runs(x: wp.array(dtype=d), rate: wp.array(dtype=d), counts: wp.array(dtype=int), out: wp.array(dtype=d)):
    n = wp.tid()
    s = x[n]
    for i in wp.probe_rows(0, counts[n], 3):
        s = s * rate[n] + wp.sin(x[i % 9])
    q = wp.probe_rows(0, counts[n], 4)
    j = int(0)
    while wp.probe_rows_next(q, j):
        s = s + s * x[j % 9] * d(0.1)
        if j > 1030:
            break
    out[n] = s


@case(9, **DATA)
@wp.kernel
def shrinking(x: wp.array(dtype=d), rate: wp.array(dtype=d), counts: wp.array(dtype=int), out: wp.array(dtype=d)):
    n = wp.tid()
    s = d(0.0)
    q = wp.probe_decay(x[n], rate[n], counts[n])
    for i in q:
        s += wp.sin(q.value) * d(i + 1)
    out[n] = s


@case(9, **DATA)
@wp.kernel
def nested(x: wp.array(dtype=d), rate: wp.array(dtype=d), counts: wp.array(dtype=int), out: wp.array(dtype=d)):
    n = wp.tid()
    s = x[n]
    for i in wp.probe_range(0, counts[n]):
        if i == 4:
            break
        q = wp.probe_decay(s, rate[n], i + 1)
        for j in q:
            if j == 1:
                continue
            s = s + q.value * x[(n + j) % 9] * d(0.25)
        out[n] += s


@case(9, **DATA)
@wp.kernel
def by_hand(x: wp.array(dtype=d), rate: wp.array(dtype=d), counts: wp.array(dtype=int), out: wp.array(dtype=d)):
    n = wp.tid()
    q = wp.probe_decay(x[n], rate[n], counts[n])
    i = int(0)
    while wp.probe_decay_next(q, i, d(1.5)):
        out[n] = out[n] + q.value * q.value


@wp.func
def summed(q: wp.ProbeDecay, scale: d) -> d:
    s = d(0.0)
    for i in q:
        if i == 3:
            return s * scale
        s += q.value
    return s


@case(9, **DATA)
@wp.kernel
def in_a_function(x: wp.array(dtype=d), rate: wp.array(dtype=d), counts: wp.array(dtype=int), out: wp.array(dtype=d)):
    n = wp.tid()
    out[n] = summed(wp.probe_decay(x[n], rate[n], counts[n]), x[(n + 1) % 9])


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_gradients(case) -> None:
    case.check()
