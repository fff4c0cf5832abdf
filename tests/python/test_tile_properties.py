"""Random programs on tiles (maps, windows, reductions, in place, carried by loops and branches) against NumPy, on every executor.

Numbers are small and whole, so that NumPy's results are exact whatever the order; with other numbers the executors must agree
with each other bit for bit.
"""

from __future__ import annotations

import importlib.util
import pathlib
import textwrap

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warp as wp
from warp import _weft
from warp._src.session import settings as session

pytestmark = pytest.mark.cpu_only("kernels with tiles, and the interpreter")

EXECUTORS = ["interpreter", 1, 4, 0]  # or lanes of the CPU; 0 for as many as it likes
BLOCKS = 6
LIMIT = 50.0

HEAD = """
import warp as wp

N = {n}

@wp.func
def bounded(x: float):
    return wp.clamp(x, -50.0, 50.0)

@wp.func
def taken(t: wp.tile[float, N, N], u: wp.tile[float, N, N]):
    return t - u

@wp.kernel(enable_backward=False)
def program(x: wp.array3d(dtype=float), y: wp.array3d(dtype=float), z: wp.array2d(dtype=float), turns: int):
    block = wp.tid()
    k = block % N
    a = wp.tile_load(x[2 * block], shape=(N, N))
    b = wp.tile_load(x[2 * block + 1], shape=(N, N))
    v = wp.tile_zeros(N, dtype=float)
"""
TAIL = """
wp.tile_store(y[2 * block], a)
wp.tile_store(y[2 * block + 1], b)
wp.tile_store(z[block], v)
"""


def clamped(values):
    return np.clip(values, np.float32(-LIMIT), np.float32(LIMIT))


class State:
    """What a block holds, in NumPy."""

    def __init__(self, a, b, block, turns):
        self.tiles = {"a": a.copy(), "b": b.copy()}
        self.n = len(a)
        self.v = np.zeros(self.n, np.float32)
        self.k, self.turns, self.block = block % self.n, turns, block


# Each operation is a name and arguments: its text, and what it does to a State.


def text_of(op):
    kind, t, u, *rest = op
    if kind == "map":
        return [f"{t} = wp.tile_map(wp.{rest[0]}, {t}, {u})", f"{t} = wp.tile_map(bounded, {t})"]
    if kind == "inplace":
        return [f"{t} {rest[0]}= {u}", f"{t} = wp.tile_map(bounded, {t})"]
    if kind == "function":
        return [f"{t} = wp.tile_map(bounded, taken({t}, {u}))"]
    if kind == "window":
        (i0, i1, si), (j0, j1, sj) = rest
        return [f"{t}[{i0}:{i1}:{si}, {j0}:{j1}:{sj}] = {u}[{i0}:{i1}:{si}, {j0}:{j1}:{sj}]"]
    if kind == "assign":
        return [f"wp.tile_assign({t}, wp.tile_view({u}, offset=(k, 0), shape=(1, N)), offset=({rest[0]}, 0))"]
    if kind == "shift":
        return [f"{t}[1:N] = {t}[0:N-1]"]
    if kind == "transpose":
        return [f"{t} = wp.tile_map(bounded, wp.tile_transpose({u}) + {t})"]
    if kind == "sum":
        return [f"v = wp.tile_map(bounded, wp.tile_sum({t}, axis={rest[0]}))"]
    if kind == "broadcast":
        shape = "(N, 1)" if rest[0] else "(1, N)"
        return [f"{t} = wp.tile_map(wp.max, {t}, wp.tile_broadcast(wp.tile_reshape(v, {shape}), shape=(N, N)))"]
    if kind == "element":
        return [f"{t}[k, {rest[0]}] = wp.tile_min({u})[0]", f"{t}[{rest[0]}, k] += 1.0"]
    if kind == "rows":
        return [f"{t} = {u}[wp.tile_arange(N - 1, -1, -1, dtype=int), :]"]
    if kind == "swap":
        return ["a, b = b, a"]
    if kind == "where":
        return [f"{t} = wp.where(k > {rest[0]}, {t}, {u})"]
    if kind == "scan":
        return ["v = wp.tile_map(bounded, wp.tile_scan_inclusive(v))"]
    body = textwrap.indent("\n".join(line for inner in rest[0] for line in text_of(inner)), "    ").split("\n")
    if kind == "loop":
        return ["for turn in range(turns):", *body]
    other = textwrap.indent("\n".join(line for inner in rest[1] for line in text_of(inner)), "    ").split("\n")
    return [f"if k > {rest[2]}:", *body, "else:", *other]


BINARY = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "+": np.add, "-": np.subtract}


def apply(op, s):
    kind, t, u, *rest = op
    tiles, n = s.tiles, s.n
    if kind in ("map", "inplace"):
        tiles[t] = clamped(BINARY[rest[0]](tiles[t], tiles[u]))
    elif kind == "function":
        tiles[t] = clamped(tiles[t] - tiles[u])
    elif kind == "window":
        part = tuple(slice(*r) for r in rest)
        tiles[t][part] = tiles[u][part].copy()
    elif kind == "assign":
        tiles[t][rest[0]] = tiles[u][s.k].copy()
    elif kind == "shift":
        tiles[t][1:] = tiles[t][:-1].copy()
    elif kind == "transpose":
        tiles[t] = clamped(tiles[u].T + tiles[t])
    elif kind == "sum":
        s.v = clamped(tiles[t].sum(axis=rest[0]))
    elif kind == "broadcast":
        tiles[t] = np.maximum(tiles[t], s.v.reshape((n, 1) if rest[0] else (1, n)))
    elif kind == "element":
        tiles[t][s.k, rest[0]] = tiles[u].min()
        tiles[t][rest[0], s.k] += 1
    elif kind == "rows":
        tiles[t] = tiles[u][::-1].copy()
    elif kind == "swap":
        tiles["a"], tiles["b"] = tiles["b"], tiles["a"]
    elif kind == "where":
        tiles[t] = (tiles[t] if s.k > rest[0] else tiles[u]).copy()
    elif kind == "scan":
        s.v = clamped(np.cumsum(s.v))
    elif kind == "loop":
        for _ in range(s.turns):
            for inner in rest[0]:
                apply(inner, s)
    else:
        for inner in rest[0] if s.k > rest[2] else rest[1]:
            apply(inner, s)


@st.composite
def slices(draw, n):
    start = draw(st.integers(0, n - 1))
    return start, draw(st.integers(start + 1, n)), draw(st.integers(1, 2))


def operations(n, depth):
    names = st.sampled_from(["a", "b"])
    place = st.integers(0, n - 1)
    plain = [
        st.tuples(st.just("map"), names, names, st.sampled_from(["add", "sub", "min", "max"])),
        st.tuples(st.just("inplace"), names, names, st.sampled_from(["+", "-"])),
        st.tuples(st.just("function"), names, names),
        st.tuples(st.just("window"), names, names, slices(n), slices(n)),
        st.tuples(st.just("assign"), names, names, place),
        st.tuples(st.just("transpose"), names, names),
        st.tuples(st.just("sum"), names, names, st.integers(0, 1)),
        st.tuples(st.just("broadcast"), names, names, st.booleans()),
        st.tuples(st.just("element"), names, names, place),
        st.tuples(st.just("rows"), names, names),
        st.tuples(st.just("swap"), names, names),
        st.tuples(st.just("where"), names, names, place),
        st.tuples(st.just("scan"), names, names),
    ]
    if n > 1:
        plain.append(st.tuples(st.just("shift"), names, names))
    if depth:
        block = st.lists(operations(n, depth - 1), min_size=1, max_size=3)
        plain.append(st.tuples(st.just("loop"), names, names, block))
        plain.append(st.tuples(st.just("branch"), names, names, block, block, place))
    return st.one_of(plain)


programs = st.integers(1, 5).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(operations(n, 2), min_size=2, max_size=7), st.integers(0, 3))
)


def compiled(folder: pathlib.Path, n, ops):
    lines = "\n".join(line for op in ops for line in text_of(op))
    text = HEAD.format(n=n) + textwrap.indent(lines + TAIL, "    ")
    path = folder / "random_tiles.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("random_tiles", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program, text


def results(kernel, executor, x, turns):
    n = x.shape[1]
    y = wp.zeros((2 * BLOCKS, n, n), dtype=float, device="cpu")
    z = wp.zeros((BLOCKS, n), dtype=float, device="cpu")
    before = wp.config.cpu_lanes
    try:
        if executor == "interpreter":
            kernel.native()
            options = session.compile_options({**kernel.module.options, **kernel.options})
            kernel._use(_weft.Kernel(kernel._function, options, True), session.epoch)
        else:
            wp.config.cpu_lanes = executor
        inputs = [wp.array(x, dtype=float, device="cpu"), y, z, turns]
        wp.launch_tiled(kernel, dim=BLOCKS, inputs=inputs, block_dim=32, device="cpu")
    finally:
        wp.config.cpu_lanes = before
        session.bump()
    return y.numpy(), z.numpy()


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(programs)
def test_programs_do_what_numpy_does_on_every_executor(tmp_path, program):
    n, ops, turns = program
    kernel, text = compiled(tmp_path, n, ops)
    rng = np.random.default_rng(3)
    whole = rng.integers(-9, 10, (2 * BLOCKS, n, n)).astype(np.float32)
    real = rng.normal(size=(2 * BLOCKS, n, n)).astype(np.float32)
    want_y, want_z = np.zeros_like(whole), np.zeros((BLOCKS, n), np.float32)
    for block in range(BLOCKS):
        state = State(whole[2 * block], whole[2 * block + 1], block, turns)
        for op in ops:
            apply(op, state)
        want_y[2 * block], want_y[2 * block + 1], want_z[block] = state.tiles["a"], state.tiles["b"], state.v
    first = None
    for executor in EXECUTORS:
        y, z = results(kernel, executor, whole, turns)
        np.testing.assert_array_equal(y, want_y, err_msg=f"{executor}\n{text}")
        np.testing.assert_array_equal(z, want_z, err_msg=f"{executor}\n{text}")
        bits = [values.view(np.uint32) for values in results(kernel, executor, real, turns)]
        first = first or bits
        for got, want in zip(bits, first):
            np.testing.assert_array_equal(got, want, err_msg=f"{executor}\n{text}")
