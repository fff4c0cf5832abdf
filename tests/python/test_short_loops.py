"""Loops that GPUs unroll, and private arrays in them: lists of the least, stacks, rows of any length."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


@wp.kernel
def least_five(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float), places: wp.array2d(dtype=int)):
    i = wp.tid()
    best = wp.zeros(shape=5, dtype=float)
    place = wp.zeros(shape=5, dtype=int)
    for k in range(5):
        best[k] = 1.0e30
    for j in range(x.shape[1]):
        d = x[i, j]
        if d < best[4]:
            k = int(4)
            while k > 0 and best[k - 1] > d:
                best[k] = best[k - 1]
                place[k] = place[k - 1]
                k -= 1
            best[k] = d
            place[k] = j
    for k in range(5):
        out[i, k] = best[k]
        places[i, k] = place[k]


@pytest.mark.parametrize("columns", [3, 5, 64])
def test_the_least(device, columns):
    given = np.random.default_rng(1).permuted(np.tile(np.arange(columns, dtype=np.float32), (100, 1)), axis=1)
    out, places = wp.zeros((100, 5), device=device), wp.zeros((100, 5), dtype=int, device=device)
    wp.launch(least_five, 100, inputs=[wp.array(given, device=device)], outputs=[out, places], device=device)
    known = min(columns, 5)
    np.testing.assert_array_equal(out.numpy()[:, :known], np.sort(given, axis=1)[:, :known])
    np.testing.assert_array_equal(places.numpy()[:, :known], np.argsort(given, axis=1)[:, :known])
    assert (out.numpy()[:, known:] == np.float32(1.0e30)).all()
    assert (places.numpy()[:, known:] == 0).all()


@wp.kernel
def descend(values: wp.array(dtype=int), leaves: int, limit: int, out: wp.array(dtype=int)):
    i = wp.tid()
    stack = wp.zeros(shape=24, dtype=int)
    depth = int(1)
    stack[0] = 1
    found = int(0)
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if values[node] % (i + 2) == 0:
            continue
        if node >= leaves:
            found += 1
            if found == limit:
                break
            continue
        stack[depth] = 2 * node
        stack[depth + 1] = 2 * node + 1
        depth += 2
    out[i] = found


@wp.kernel
def unwritten(pushes: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    stack = wp.zeros(shape=8, dtype=int)
    for k in range(pushes[i]):
        stack[k] = k + 1
    sum = int(0)
    for k in range(8):  # also of elements that nobody has written: these are zeros
        sum += stack[k]
    out[i] = sum


def test_stacks(device):
    leaves, n = 256, 40
    values = np.random.default_rng(2).integers(1, 1000, 2 * leaves).astype(np.int32)

    def walk(i: int, limit: int) -> int:
        stack, found = [1], 0
        while stack:
            node = stack.pop()
            if values[node] % (i + 2) == 0:
                continue
            if node >= leaves:
                found += 1
                if found == limit:
                    break
                continue
            stack += [2 * node, 2 * node + 1]
        return found

    for limit in (3, 1000):
        out = wp.zeros(n, dtype=int, device=device)
        wp.launch(descend, n, inputs=[wp.array(values, device=device), leaves, limit], outputs=[out], device=device)
        assert out.numpy().tolist() == [walk(i, limit) for i in range(n)]


def test_zeros_are_zeros(device):
    pushes = np.arange(9, dtype=np.int32)
    for _ in range(3):
        out = wp.zeros(9, dtype=int, device=device)
        wp.launch(unwritten, 9, inputs=[wp.array(pushes, device=device)], outputs=[out], device=device)
        assert out.numpy().tolist() == [k * (k + 1) // 2 for k in range(9)]


@wp.kernel
def rows(starts: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float), last: wp.array(dtype=int)):
    i = wp.tid()
    sum = float(0.0)
    seen = int(-1)
    for j in range(starts[i], starts[i + 1]):
        sum = sum * 0.5 + x[j]
        seen = j
    out[i] = sum
    last[i] = seen


@wp.kernel
def twice(starts: wp.array(dtype=int), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    sum = float(0.0)
    for j in range(starts[i], starts[i + 1]):
        sum += x[j]
    rest = float(0.0)
    for j in range(starts[i], starts[i + 1]):
        rest += (x[j] - sum) * (x[j] - sum)
    out[i] = rest


def test_rows_of_any_length(device):
    lengths = np.concatenate([np.arange(20), np.random.default_rng(3).integers(0, 12, 200)])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    starts[100:] -= starts[100]  # one row ends before it begins, and is empty
    x = np.random.default_rng(4).integers(0, 64, starts.max() + 1).astype(np.float32)
    n = len(lengths)
    out, squares, last = (wp.zeros(n, dtype=t, device=device) for t in (float, float, int))
    given = [wp.array(starts, device=device), wp.array(x, device=device)]
    wp.launch(rows, n, inputs=given, outputs=[out, last], device=device)
    wp.launch(twice, n, inputs=given, outputs=[squares], device=device)
    for i in range(n):
        sum, seen = np.float32(0), -1
        for j in range(starts[i], starts[i + 1]):
            sum, seen = sum * np.float32(0.5) + x[j], j
        assert (out.numpy()[i], last.numpy()[i]) == (sum, seen), lengths[i]
        row = x[starts[i] : starts[i + 1]]
        assert squares.numpy()[i] == pytest.approx(((row - row.sum()) ** 2).sum(), rel=1e-5)


def test_rows_that_begin_below_zero(device):
    starts = np.array([-5, 2, -1, 0, -7], dtype=np.int32)
    x = np.arange(8, dtype=np.float32)
    out, last = wp.zeros(4, device=device), wp.zeros(4, dtype=int, device=device)
    wp.launch(
        rows, 4, inputs=[wp.array(starts, device=device), wp.array(x, device=device)], outputs=[out, last], device=device
    )
    sums, seen = [], []
    for a, b in zip(starts, starts[1:]):
        sum = 0.0
        for j in range(a, b):
            sum = sum * 0.5 + float(x[j])
        sums.append(sum)
        seen.append(b - 1 if b > a else -1)
    assert out.numpy().tolist() == sums
    assert last.numpy().tolist() == seen
