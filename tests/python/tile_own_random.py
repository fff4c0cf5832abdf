"""Random programs of what tiles in registers are made of (passes/own_tiles): loads, maps, windows, sums and stores of tiles to the same
arrays at many places, beside NumPy, on the CPU and on a GPU or the fake driver's.

A program is a kernel's text and, statement by statement, what it does to arrays of NumPy. Numbers are small and whole, so results are
exact in every type and order (tile_own_elements.py). Blocks stay in regions of their own; arrays are passed apart, behind an odd element,
twice, as overlapping parts of one buffer, and with rows that are parts of longer ones. What one statement
stores the next one finds: barriers are the compiler's matter.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import pathlib
import textwrap
from collections.abc import Callable

import numpy as np
from tile_own_elements import KINDS, STRUCTS, Kind, conversion, functions_of, limited, mixed, turned_into, twisted

import warp as wp

GRID = 3
REGION = 1536  # elements of a block in a line
HEIGHT, WIDTH = 24, 96  # of a block in a plane
TURNS = 2
HEAD = """import warp as wp

"""


@dataclasses.dataclass
class Tile:
    name: str
    kind: Kind
    shape: tuple[int, ...]


@dataclasses.dataclass
class Parameter:
    name: str
    kind: Kind
    rank: int


class State:
    """What a block holds, in NumPy."""

    def __init__(self, arrays: dict[str, np.ndarray], block: int):
        self.arrays, self.block = arrays, block
        self.tiles: dict[str, np.ndarray] = {}
        self.turn = 0


Effect = Callable[[State], None]
Statement = tuple[list[str], Effect]


def box(array: np.ndarray, at: list[int], shape: tuple[int, ...]):
    """The part of an array that a window covers, and where in the window that is."""
    inside, mine = [], []
    for start, extent, size in zip(at, shape, array.shape):
        low, high = max(start, 0), min(start + extent, size)
        high = max(high, low)
        inside.append(slice(min(low, size), max(min(high, size), min(low, size))))
        mine.append(slice(low - start, low - start + inside[-1].stop - inside[-1].start))
    return tuple(inside), tuple(mine)


def loaded(array: np.ndarray, at: list[int], shape: tuple[int, ...]) -> np.ndarray:
    inside, mine = box(array, at, shape)
    tile = np.zeros((*shape, array.shape[-1]), array.dtype)
    tile[mine] = array[inside]
    return tile


def store(array: np.ndarray, at: list[int], tile: np.ndarray) -> None:
    inside, mine = box(array, at, tile.shape[:-1])
    array[inside] = tile[mine]


class Writer:
    def __init__(self, number: int, wide: bool):
        self.rng = np.random.default_rng(number)
        self.wide = wide  # places and extents that 16 bytes fit to
        two = self.rng.choice(len(KINDS), size=int(self.rng.integers(1, 3)), replace=False)
        self.kinds = [KINDS[int(k)] for k in two]
        self.parameters = [
            Parameter(f"{'ab'[n]}{k}_{rank}", kind, rank) for k, kind in enumerate(self.kinds) for n in range(2) for rank in (1, 2)
        ]
        self.tiles: list[Tile] = []
        self.made = 0

    def pick(self, *things):
        return things[int(self.rng.integers(len(things)))]

    # ---- places

    def extent(self) -> int:
        return int(self.pick(64, 128, 256, 256, 512, 1024, 100, 33, 250) if not self.wide else self.pick(256, 512, 1024))

    def shape(self, rank: int) -> tuple[int, ...]:
        if rank == 1:
            return (self.extent(),)
        if self.wide:
            return self.pick((16, 32), (8, 64), (16, 16))
        return self.pick((16, 32), (8, 64), (4, 32), (5, 7), (1, 96), (3, 40), (16, 16))

    def place(self, shape: tuple[int, ...], turning: bool) -> tuple[str, Callable[[State], list[int]]]:
        """Somewhere in the block's region, which begins half a region in front of the array."""
        step = 16 if self.wide or self.rng.integers(2) else 1
        room = [REGION - 64] if len(shape) == 1 else [HEIGHT, WIDTH]
        moves = [0] * len(shape)
        at = []
        for axis, (size, extent) in enumerate(zip(room, shape)):
            most = size - extent
            if turning and self.rng.integers(2) and most > TURNS * 16:
                moves[axis] = 16 if step == 16 else int(self.rng.integers(1, 17))
            most -= moves[axis] * TURNS
            at.append(int(self.rng.integers(0, most // step + 1)) * step)
        base = [REGION, 0] if len(shape) == 1 else [HEIGHT, 0]

        hidden = not self.rng.integers(5)  # where a region begins is in an array

        def text(axis):
            parts = []
            if axis == 0:
                begin = f"begins[block * 2 + {len(shape) - 1}]" if hidden else f"block * {base[0]}"
                parts.append(f"{begin} + {at[0] - base[0] // 2}")
            else:
                parts.append(str(at[axis]))
            if moves[axis]:
                parts.append(f"turn * {moves[axis]}")
            return " + ".join(parts)

        def where(state: State) -> list[int]:
            found = [a + m * state.turn for a, m in zip(at, moves)]
            found[0] += state.block * base[0] - base[0] // 2
            return found

        return "(" + ", ".join(text(axis) for axis in range(len(shape))) + ",)", where

    # ---- names

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def tile(self, *, kind: Kind | None = None, rank: int | None = None, shape=None) -> Tile | None:
        fitting = [
            t
            for t in self.tiles
            if (kind is None or t.kind == kind) and (rank is None or len(t.shape) == rank) and (shape is None or t.shape == shape)
        ]
        return self.pick(*fitting) if fitting else None

    def parameter(self, kind: Kind, rank: int) -> Parameter:
        return self.pick(*[p for p in self.parameters if p.kind == kind and p.rank == rank])

    # ---- statements

    def load_into(self, tile: Tile, turning: bool) -> Statement:
        p = self.parameter(tile.kind, len(tile.shape))
        text, where = self.place(tile.shape, turning)
        storage = self.pick("", ", storage='shared'")

        def effect(s: State):
            s.tiles[tile.name] = loaded(s.arrays[p.name], where(s), tile.shape)

        return [f"{tile.name} = wp.tile_load({p.name}, shape={tile.shape}, offset={text}{storage})"], effect

    def reload(self, turning: bool) -> Statement:
        return self.load_into(self.tile(), turning)

    def store_of(self, turning: bool) -> Statement:
        t = self.tile()
        p = self.parameter(t.kind, len(t.shape))
        text, where = self.place(t.shape, turning)

        def effect(s: State):
            store(s.arrays[p.name], where(s), s.tiles[t.name])

        return [f"wp.tile_store({p.name}, {t.name}, offset={text})"], effect

    def add(self, turning: bool) -> Statement | None:
        t = self.tile()
        if not t.kind.sums:
            return None
        p = self.parameter(t.kind, len(t.shape))
        text, where = self.place(t.shape, turning)

        def effect(s: State):
            array, at = s.arrays[p.name], where(s)
            store(array, at, loaded(array, at, t.shape) + s.tiles[t.name])

        return [f"wp.tile_atomic_add({p.name}, {t.name}, offset={text})"], effect

    def row(self, turning: bool) -> Statement | None:
        """A part of a row, loaded and stored as a line."""
        t = self.tile(rank=1)
        if not t or t.shape[0] > WIDTH:
            return None
        p = self.parameter(t.kind, 2)
        line, at = int(self.rng.integers(6)), int(self.rng.integers(WIDTH - t.shape[0] + 1))
        row = f"{p.name}[block * {HEIGHT} + {line}]"

        def effect(s: State):
            place = [s.block * HEIGHT + line, at]
            old = loaded(s.arrays[p.name], place, (1, *t.shape))[0]
            store(s.arrays[p.name], place, s.tiles[t.name][None])
            s.tiles[t.name] = old

        other = self.name()
        return [
            f"{other} = wp.tile_load({row}, shape={t.shape}, offset={at})",
            f"wp.tile_store({row}, {t.name}, offset={at})",
            f"{t.name} = {other}",
        ], effect

    def store_part(self, turning: bool) -> Statement:
        t = self.tile()
        pieces, texts, shape = [], [], []
        for n in t.shape:
            start = int(self.rng.integers(n))
            stop = int(self.rng.integers(start + 1, n + 1))
            step = self.pick(1, 1, 2)
            pieces.append(slice(start, stop, step))
            texts.append(f"{start}:{stop}:{step}")
            shape.append(len(range(start, stop, step)))
        p = self.parameter(t.kind, len(t.shape))
        text, where = self.place(tuple(shape), turning)

        def effect(s: State):
            store(s.arrays[p.name], where(s), s.tiles[t.name][tuple(pieces)].copy())

        return [f"wp.tile_store({p.name}, {t.name}[{', '.join(texts)}], offset={text})"], effect

    def map(self, turning: bool) -> Statement:
        t = self.tile()
        u = self.tile(kind=t.kind, shape=t.shape)
        if self.rng.integers(3) == 0:

            def twist(s: State):
                s.tiles[t.name] = twisted(s.tiles[u.name])

            return [f"{t.name} = wp.tile_map(twist_{t.kind.name}, {u.name})"], twist

        def effect(s: State):
            s.tiles[t.name] = mixed(s.tiles[t.name], s.tiles[u.name])

        return [f"{t.name} = wp.tile_map(mix_{t.kind.name}, {t.name}, {u.name})"], effect

    def arithmetic(self, turning: bool) -> Statement:
        t = self.tile()
        u = self.tile(kind=t.kind, shape=t.shape)
        how = self.pick("+", "-")
        text = self.pick(f"{t.name} {how}= {u.name}", f"{t.name} = {t.name} {how} {u.name}")

        def effect(s: State):
            x, y = s.tiles[t.name], s.tiles[u.name]
            s.tiles[t.name] = limited(x + y if how == "+" else x - y)

        return [text, f"{t.name} = wp.tile_map(bound_{t.kind.name}, {t.name})"], effect

    def convert(self, turning: bool) -> Statement | None:
        t = self.tile()
        u = [u for u in self.tiles if u.shape == t.shape and u.kind != t.kind]
        if not u:
            return None
        u = self.pick(*u)

        def effect(s: State):
            s.tiles[t.name] = turned_into(s.tiles[u.name], t.kind)

        return [f"{t.name} = wp.tile_map({t.kind.name}_of_{u.kind.name}, {u.name})"], effect

    def window(self, turning: bool) -> Statement:
        t = self.tile()
        u = self.tile(kind=t.kind, shape=t.shape)
        n = t.shape[0]
        size = int(self.rng.integers(1, n + 1))
        a, b = (int(self.rng.integers(n - size + 1)) for _ in range(2))

        def effect(s: State):
            s.tiles[t.name][a : a + size] = s.tiles[u.name][b : b + size].copy()

        return [f"{t.name}[{a}:{a + size}] = {u.name}[{b}:{b + size}]"], effect

    def reduce(self, turning: bool) -> Statement | None:
        u = self.tile()
        t = self.tile(kind=u.kind)
        if u.kind.count > 1 and not u.kind.sums:
            return None
        how = self.pick("sum", "sum", "min", "max") if u.kind.sums and u.kind.count == 1 else ("sum" if u.kind.sums else self.pick("min", "max"))
        total = self.name()

        def effect(s: State):
            x = s.tiles[u.name].reshape(-1, u.kind.count)
            found = limited(getattr(x, how)(axis=0, **({"dtype": x.dtype} if how == "sum" else {})))
            s.tiles[t.name] = mixed(s.tiles[t.name], found)

        return [
            f"{total} = wp.tile_map(bound_{u.kind.name}, wp.tile_{how}({u.name}))",
            f"{t.name} = wp.tile_map(mix_{t.kind.name}, {t.name}, {total}[0])",
        ], effect

    def by_threads(self, turning: bool) -> Statement:
        """Elements of each thread, or one of the first thread."""
        t = self.tile(rank=1) or self.tile()
        if len(t.shape) > 1:
            return self.map(turning)
        n = t.shape[0]
        if self.rng.integers(2):
            e = int(self.rng.integers(n))

            def one(s: State):
                s.tiles[t.name][e] = twisted(s.tiles[t.name][e])

            return [
                "if lane == 0:",
                f"    {t.name}[{e}] = twist_{t.kind.name}({t.name}[{e}])",
            ], one
        j = self.name()

        def effect(s: State):
            s.tiles[t.name] = twisted(s.tiles[t.name])

        return [
            f"for {j} in range(lane, {n}, wp.block_dim()):",
            f"    {t.name}[{j}] = twist_{t.kind.name}({t.name}[{j}])",
        ], effect

    def turn_round(self, turning: bool) -> Statement:
        t = self.tile()
        u = self.tile(kind=t.kind, shape=t.shape)

        def effect(s: State):
            s.tiles[t.name] = s.tiles[u.name][::-1].copy()

        return [f"{t.name} = wp.tile_map(bound_{t.kind.name}, {u.name}[::-1])"], effect

    def copy(self, turning: bool) -> Statement:
        t = self.tile()
        u = self.tile(kind=t.kind, shape=t.shape)

        def effect(s: State):
            s.tiles[t.name] = s.tiles[u.name].copy()

        return [f"{t.name} = {u.name}"], effect

    def statement(self, depth: int, turning: bool) -> Statement:
        kinds = [
            self.reload, self.store_of, self.store_of, self.store_of, self.store_part, self.map, self.map, self.arithmetic, self.convert,
            self.copy, self.add, self.row,
        ]  # fmt: skip
        if not self.wide or self.rng.integers(4) == 0:
            kinds += [self.window, self.reduce, self.by_threads, self.turn_round]
        while True:
            if depth and self.rng.integers(5) == 0:
                return self.pick(self.loop, self.branch)(depth, turning)
            found = self.pick(*kinds)(turning)
            if found:
                return found

    def body(self, depth: int, turning: bool) -> Statement:
        all = [self.statement(depth, turning) for _ in range(int(self.rng.integers(1, 4)))]

        def effect(s: State):
            for _, one in all:
                one(s)

        return self.lines_of(all), effect

    @staticmethod
    def lines_of(statements: list[Statement]) -> list[str]:
        return [line for lines, _ in statements for line in lines]

    def loop(self, depth: int, turning: bool) -> Statement | None:
        if turning:
            return self.branch(depth, turning)
        lines, inner = self.body(depth - 1, True)
        bound = self.pick("turns", str(TURNS))

        def effect(s: State):
            for s.turn in range(TURNS):
                inner(s)
            s.turn = 0

        return [f"for turn in range({bound}):", *textwrap.indent("\n".join(lines), "    ").split("\n")], effect

    def branch(self, depth: int, turning: bool) -> Statement:
        (yes, do), (no, other) = self.body(depth - 1, turning), self.body(depth - 1, turning)
        text, condition = self.pick(
            ("block % 2 == 0", lambda s: s.block % 2 == 0),
            ("turns > 1", lambda s: True),
            ("block + turns > 3", lambda s: s.block + TURNS > 3),
        )

        def effect(s: State):
            (do if condition(s) else other)(s)

        def deeper(lines):
            return textwrap.indent("\n".join(lines), "    ").split("\n")

        return [f"if {text}:", *deeper(yes), "else:", *deeper(no)], effect

    def program(self) -> tuple[str, Effect]:
        statements: list[Statement] = []
        shapes = [self.shape(1), self.shape(2)]
        for rank in (1, 2):
            for kind in self.kinds:
                for _ in range(2 if rank == 1 or not self.rng.integers(3) else 1):
                    made = Tile(self.name(), kind, shapes[rank - 1] if self.rng.integers(4) else self.shape(rank))
                    statements.append(self.load_into(made, False))
                    self.tiles.append(made)
        for _ in range(int(self.rng.integers(4, 10))):
            statements.append(self.statement(2, False))
        for t in self.tiles:
            if self.rng.integers(3):
                p = self.parameter(t.kind, len(t.shape))
                text, where = self.place(t.shape, False)

                def last(s: State, t=t, p=p, where=where):
                    store(s.arrays[p.name], where(s), s.tiles[t.name])

                statements.append(([f"wp.tile_store({p.name}, {t.name}, offset={text})"], last))
        arguments = ", ".join(f"{p.name}: wp.array{'' if p.rank == 1 else '2d'}(dtype=T_{p.kind.name})" for p in self.parameters)
        text = HEAD + STRUCTS + "".join(functions_of(kind) for kind in self.kinds)
        text += "".join(conversion(a, b) for a, b in itertools.permutations(self.kinds, 2))
        text += f"\n@wp.kernel(enable_backward=False)\ndef program({arguments}, begins: wp.array(dtype=int), turns: int):\n    block, lane = wp.tid()\n"
        text += textwrap.indent("\n".join(self.lines_of(statements)), "    ") + "\n"

        def effect(s: State):
            for _, one in statements:
                one(s)

        return text, effect


# ---- running

WAYS = ["apart", "behind", "twice", "overlapping", "cut"]
LONGER = 3  # numbers behind a row of arrays that are parts of others
LINE, PLANE = REGION * GRID - REGION // 2 - 40, (HEIGHT * GRID - HEIGHT // 2 - 3, WIDTH)


class Arrays:
    """The arrays of a launch: buffers of NumPy, and the same on a device."""

    def __init__(self, writer: Writer, way: str, seed: int):
        rng = np.random.default_rng(seed)
        self.way, self.parameters = way, writer.parameters
        self.buffers: dict[str, tuple[Kind, np.ndarray]] = {}
        self.parts: dict[str, tuple[str, int]] = {}  # buffer, first element
        for p in writer.parameters:
            size = LINE if p.rank == 1 else PLANE[0] * (WIDTH + LONGER)
            together = way in ("twice", "overlapping")
            buffer = p.name[1:] if together else p.name
            if buffer not in self.buffers:
                self.buffers[buffer] = p.kind, p.kind.numbers(size + 64, rng)
            begin = 1 if way == "behind" else 0
            if way == "overlapping" and p.name[0] == "b":
                begin = 16 if writer.wide else 5
                begin = begin if p.rank == 1 else 0
            self.parts[p.name] = buffer, begin

    def cut(self, buffer, begin: int, rank: int, *inner: int):
        """The part of a buffer that a parameter is, of NumPy's or a device's."""
        if rank == 1:
            return buffer[begin : begin + LINE]
        width = WIDTH + (LONGER if self.way == "cut" else 0)
        return buffer[begin : begin + PLANE[0] * width].reshape((PLANE[0], width, *inner))[:, :WIDTH]

    def in_numpy(self) -> dict[str, np.ndarray]:
        found = {}
        for p in self.parameters:
            buffer, begin = self.parts[p.name]
            kind, values = self.buffers[buffer]
            found[p.name] = self.cut(values, begin, p.rank, kind.count)
        return found

    def on_device(self, types: dict[str, type], device: str):
        buffers = {}
        for name, (kind, values) in self.buffers.items():
            dtype = types[kind.name]
            if kind.name in ("Pair", "Bytes"):
                data = values.copy().view(dtype.numpy_dtype()).reshape(-1)
            elif kind.name == "mat22":
                data = values.reshape(-1, 2, 2)
            else:
                data = values.reshape(-1) if kind.count == 1 else values
            buffers[name] = wp.array(data, dtype=dtype, device=device)
        given = []
        for p in self.parameters:
            buffer, begin = self.parts[p.name]
            given.append(self.cut(buffers[buffer], begin, p.rank))
        return buffers, given


def results(kernel, arrays: Arrays, types, where: str, block: int) -> dict[str, np.ndarray]:
    device = "cuda" if where == "cuda" else "cpu"
    buffers, given = arrays.on_device(types, device)
    begins = wp.array([n for block in range(GRID) for n in (block * REGION, block * HEIGHT)], dtype=int, device=device)
    wp.config.enable_cpu_blocks = where == "cpu" and block > 1
    try:
        wp.launch_tiled(kernel, dim=GRID, inputs=[*given, begins, TURNS], block_dim=block, device=device)
    finally:
        wp.config.enable_cpu_blocks = False
    found = {}
    for name, buffer in buffers.items():
        kind, values = arrays.buffers[name]
        found[name] = np.ascontiguousarray(buffer.numpy()).view(kind.scalar).reshape(values.shape)
    return found


def check(number: int, wide: bool, executors: list, folder: pathlib.Path) -> None:
    writer = Writer(number, wide)
    text, effect = writer.program()
    path = folder / f"own_{'wide' if wide else 'any'}_{number}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types = {kind.name: getattr(module, f"T_{kind.name}") for kind in writer.kinds}
    for way in WAYS:
        want = Arrays(writer, way, number)
        for block in range(GRID):
            effect(State(want.in_numpy(), block))
        first = None
        for where, block in executors:
            place = f"program {number} (wide={wide}) on {where}, blocks of {block}, arrays {way}\n{text}"
            try:
                got = results(module.program, Arrays(writer, way, number), types, where, block)
            except Exception as error:
                raise AssertionError(f"{error}\n{place}") from error
            for name, values in got.items():
                wrong = np.argwhere(values != want.buffers[name][1])
                assert not len(wrong), f"{name} differs at {wrong[:5].tolist()} of {len(wrong)}: {place}"
            first = first or got
            for name, values in got.items():
                assert values.tobytes() == first[name].tobytes(), f"{name} has other zeros: {place}"
