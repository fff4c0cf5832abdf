"""Random kernels on tiles: their text by a number, and what they compute on every executor and block size.

A program keeps a handful of tiles under names, changes them by random statements (maps, windows, reductions, products, in place,
by loops and branches, by single threads) and stores all of them. Its results hang on nothing but its inputs: the interpreter, the
CPU at all lanes and GPUs at all block sizes give the same bits. Where a thread does something of its own it does it once for the
block (`lane == 0`), or with whole numbers whose sum has no order.

`values(n)` has float32 and int32; `smooth(n)` is float64 and differentiable, for adjoints beside differences and forward mode.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import textwrap
import zlib

import numpy as np
import tile_programs_kept
from tile_statements import ADDED_AT, MoreStatements

import warp as wp
from warp import _weft
from warp._src.session import settings as session

GRID = 3  # blocks of a launch
ROOM = 4096  # numbers that a block stores, at most
SOURCE = 40  # extents of the input of a block

HEAD = """
import warp as wp

S = wp.{scalar}
V = wp.types.vector(length=2, dtype=S)


@wp.func
def bounded(x: S):
    return wp.clamp(x, S(-8.0), S(8.0))


@wp.func
def mixed(x: S, y: S):
    return wp.max(x, S(0.5) * y) - wp.min(y, S(0.25))


@wp.func
def smoothly(x: S, y: S):
    return wp.tanh(x) * y + wp.sin(y)


@wp.func
def root(x: S):
    return wp.sqrt(wp.abs(x))


@wp.func
def paired(x: S, y: S):
    return V(x, S(0.5) * y)


@wp.func
def folded(v: V):
    return v[0] - v[1]


{functions}
@wp.kernel(enable_backward={backward})
def program(
    x: wp.array3d(dtype=S), y: wp.array2d(dtype=S), whole: wp.array2d(dtype=int), turns: int, sums: wp.array(dtype=int)
):
    {numbers}
    k = block % 3
"""

# A block is a row of the grid, or as many threads as come next in a grid of one dimension.
ROWS = "block, lane = wp.tid()"
IN_A_LINE = "block, lane = wp.tid() // wp.block_dim(), wp.tid() % wp.block_dim()"


def head(scalar: str, backward: bool = False, functions: str = "", numbers: str = ROWS) -> str:
    """What stands in front of a program's statements."""
    return HEAD.format(scalar=scalar, backward=backward, functions=functions, numbers=numbers)


@dataclasses.dataclass
class Tile:
    name: str
    shape: tuple[int, ...]
    whole: bool = False  # int32

    @property
    def count(self) -> int:
        return int(np.prod(self.shape))


@dataclasses.dataclass
class Program:
    text: str
    scalar: str
    kernel: wp.Kernel | None = None

    @property
    def in_a_line(self) -> bool:
        return IN_A_LINE in self.text


class Writer(MoreStatements):
    """Statements at random."""

    def __init__(self, number: int, smooth: bool):
        self.rng = np.random.default_rng(number)
        self.smooth = smooth
        self.tiles: list[Tile] = []
        self.functions: list[str] = []
        self.made = 0

    # ---- choices

    def pick(self, *things):
        return things[int(self.rng.integers(len(things)))]

    def extent(self) -> int:
        return int(self.pick(1, 2, 3, 4, 5, 7, 8, 16, 33))

    def tile(self, rank: int | None = None, whole: bool = False) -> Tile | None:
        fitting = [t for t in self.tiles if t.whole == whole and (rank is None or len(t.shape) == rank)]
        return fitting[int(self.rng.integers(len(fitting)))] if fitting else None

    def like(self, tile: Tile) -> Tile:
        return self.pick(*[t for t in self.tiles if t.shape == tile.shape and t.whole == tile.whole])

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def bound(self, text: str) -> str:
        return f"wp.tile_map(bounded, {text})"

    def number(self) -> str:
        return f"S({self.pick(-1.5, -0.5, 0.25, 0.75, 1.25)})"

    # ---- tiles that are there from the start

    def load(self, shape: tuple[int, ...], whole: bool = False) -> list[str]:
        made = Tile(self.name(), shape, whole)
        if whole:
            start = int(self.rng.integers(-3, 4))
            text = f"wp.tile_astype(wp.tile_map(wp.floor, wp.tile_load(x[block, 0], shape={made.count}, offset={start}) * S(9.0)), int)"
            if len(shape) > 1:
                text = f"wp.tile_reshape({text}, {shape})"
        elif len(shape) == 1:
            storage = self.pick("register", "shared")
            text = f"wp.tile_load(x[block, {int(self.rng.integers(3))}], shape={shape[0]}, offset={int(self.rng.integers(-2, 9))}, storage='{storage}')"
        else:
            offset = tuple(int(n) for n in self.rng.integers(-2, 6, 2))
            text = f"wp.tile_load(x[block], shape={shape}, offset={offset})"
        self.tiles.append(made)
        return [f"{made.name} = {text}"]

    def start(self) -> list[str]:
        n, m = self.extent(), self.extent()
        lines = self.load((n,)) + self.load((n,)) + self.load((n, m)) + self.load((n, m)) + self.load((m, n))
        if not self.smooth:
            lines += self.load((n,), True) + self.load((n, m), True)
        return lines

    # ---- statements; each is some lines, or None where no tile fits

    def statement(self, depth: int) -> list[str]:
        kinds = [
            self.map, self.map, self.inplace, self.window, self.shift, self.view, self.sum, self.broadcast, self.product, self.product_into,
            self.element, self.gather, self.scan, self.transpose, self.function, self.choose, self.system, self.reshaped,
            self.swap, self.named_window, self.reload, self.indexed, self.add_to_array, self.vectors, self.scaled_addition, self.dot,
            self.extract, self.column, self.helper_loop,
        ]  # fmt: skip
        if self.smooth:
            kinds += [self.own_sums]
        else:
            kinds += [self.extreme, self.sort, self.threads, self.scatter, self.whole, self.reduce, self.each_element]
            kinds += [self.while_below]
        nested = [self.loop, self.branch, self.by_condition, self.passed_by] if depth else []
        if nested and not self.smooth:
            nested += [self.by_element]
        while True:
            kind = self.pick(*kinds, *nested)
            lines = kind(depth) if kind in nested else kind()
            if lines:
                return lines

    def body(self, depth: int) -> list[str]:
        count = int(self.rng.integers(1, 4))
        return textwrap.indent("\n".join(line for _ in range(count) for line in self.statement(depth)), "    ").split("\n")

    def loop(self, depth: int) -> list[str]:
        kind = self.pick("for", "constant", "break")
        if kind == "constant":
            return [f"for turn{self.name()} in range({int(self.rng.integers(1, 4))}):", *self.body(depth - 1)]
        lines = [f"for turn in range(turns + {int(self.rng.integers(0, 3))}):", *self.body(depth - 1)]
        return [*lines, "    if turn > k:", "        break"] if kind == "break" else lines

    def branch(self, depth: int) -> list[str]:
        condition = self.pick("k > 0", "turns > 1", "block % 2 == 0")
        t = self.tile(whole=True)
        if t and self.rng.integers(2):
            condition = f"wp.tile_sum({t.name})[0] % 2 == 0"
        lines = [f"if {condition}:", *self.body(depth - 1)]
        return [*lines, "else:", *self.body(depth - 1)] if self.rng.integers(2) else lines

    def map(self):
        t = self.tile()
        u = self.like(t)
        if self.smooth:
            return [f"{t.name} = wp.tile_map({self.pick('smoothly', 'wp.mul', 'wp.sub')}, {t.name}, {u.name})"]
        if self.rng.integers(4) == 0:
            return [f"{t.name} = wp.tile_map(root, {u.name})"]
        name = self.pick("mixed", "wp.add", "wp.sub", "wp.mul", "wp.max")
        return [f"{t.name} = {self.bound(f'wp.tile_map({name}, {t.name}, {u.name})')}"]

    def inplace(self):
        t = self.tile()
        u = self.like(t)
        lines = [f"{t.name} {self.pick('+=', '-=', '*=')} {self.pick(u.name, u.name + ' * ' + self.number())}"]
        return lines + [f"{t.name} = {self.bound(t.name)}"]

    def piece(self, n: int) -> str:
        start = int(self.rng.integers(n))
        stop = int(self.rng.integers(start + 1, n + 1))
        if self.rng.integers(4) == 0:
            return "::-1"
        return f"{start}:{stop}:{self.pick(1, 1, 2)}"

    def window(self):
        t = self.tile()
        u = self.like(t)
        part = ", ".join(self.piece(n) for n in t.shape)
        form = self.pick("{0}[{2}] = {1}[{2}]", "{0}[{2}] += {1}[{2}]", "wp.tile_assign({0}, {1} * S(0.5))")
        return [form.format(t.name, u.name, part), f"{t.name} = {self.bound(t.name)}"]

    def shift(self):
        t = self.tile()
        n = t.shape[0]
        return [f"{t.name}[1:{n}] = {t.name}[0:{n - 1}]"] if n > 1 else None

    def view(self):
        t = self.tile(2)
        n, m = t.shape
        h, w = int(self.rng.integers(1, n + 1)), int(self.rng.integers(1, m + 1))
        return [
            f"wp.tile_view({t.name}, offset=(wp.min(k, {n - h}), {int(self.rng.integers(m - w + 1))}), shape=({h}, {w}))[0] *= {self.number()}",
            f"{t.name} = {self.bound(t.name)}",
        ]

    def sum(self):
        t = self.tile(2)
        axis = int(self.rng.integers(2))
        u = [u for u in self.tiles if u.shape == (t.shape[1 - axis],) and not u.whole]
        if not u:
            return [f"{t.name} *= {self.bound(f'wp.tile_sum({t.name})')}[0]", f"{t.name} = {self.bound(t.name)}"]
        return [f"{u[0].name} = {self.bound(f'wp.tile_sum({t.name}, axis={axis})')}"]

    def broadcast(self):
        t = self.tile(2)
        u = [u for u in self.tiles if u.shape == (t.shape[0],) and not u.whole]
        if not u:
            return None
        text = f"wp.tile_broadcast(wp.tile_reshape({u[0].name}, ({t.shape[0]}, 1)), shape={t.shape})"
        return [f"{t.name} = {self.bound(f'{t.name} + {text}')}"]

    def operands(self):
        a = self.tile(2)
        b = [u for u in self.tiles if len(u.shape) == 2 and not u.whole and u.shape[0] == a.shape[1]]
        if not b:
            return None
        b = self.pick(*b)
        return a, b, (a.shape[0], b.shape[1])

    def product(self):
        found = self.operands()
        if not found:
            return None
        a, b, shape = found
        into = [u for u in self.tiles if u.shape == shape and not u.whole]
        alpha = self.pick("", ", alpha=-1.0", ", alpha=0.5")
        text = self.bound(f"wp.tile_matmul({a.name}, {b.name}{alpha})")
        if into:
            return [f"{into[0].name} = {text}"]
        return [f"{a.name} *= wp.tile_max({text})[0]", f"{a.name} = {self.bound(a.name)}"]

    def product_into(self):
        a = self.tile(2)
        into = [u for u in self.tiles if u.shape == (a.shape[0], a.shape[0]) and not u.whole]
        factors = self.pick("", ", alpha=-1.0", ", alpha=0.5, beta=0.25", ", beta=0.0")
        if not into:
            total = self.name()
            return [
                f"{total} = wp.tile_zeros(shape=({a.shape[0]}, {a.shape[0]}), dtype=S)",
                f"wp.tile_matmul({a.name}, wp.tile_transpose({a.name}), {total}{factors})",
                f"{a.name}[0] *= {self.bound(f'wp.tile_sum({total})')}[0]",
                f"{a.name} = {self.bound(a.name)}",
            ]
        t = into[0]
        return [f"wp.tile_matmul({a.name}, wp.tile_transpose({a.name}), {t.name}{factors})", f"{t.name} = {self.bound(t.name)}"]

    def element(self):
        t = self.tile()
        u = self.like(t)
        at = ", ".join(f"k % {n}" if self.rng.integers(2) else str(int(self.rng.integers(-n, n))) for n in t.shape)
        lines = [f"{t.name}[{at}] = {self.number()} * {u.name}[{', '.join('0' * len(u.shape))}]"]
        return [*lines, "if lane == 0:", f"    {t.name}[{at}] += {self.number()}", f"{t.name} = {self.bound(t.name)}"]

    def gather(self):
        t = self.tile(2)
        n = t.shape[0]
        order = self.pick(f"wp.tile_arange({n - 1}, -1, -1, dtype=int)", f"wp.tile_arange({n}, dtype=int)")
        return [f"{t.name} = {t.name}[{order}, :]"]

    def scan(self):
        t = self.tile(1)
        form = "inclusive" if self.smooth else self.pick("inclusive", "exclusive", "max_inclusive", "min_inclusive")
        return [f"{t.name} = {self.bound(f'wp.tile_scan_{form}({t.name})')}"]

    def transpose(self):
        t = self.tile(2)
        u = [u for u in self.tiles if u.shape == t.shape[::-1] and not u.whole]
        return [f"{t.name} = {self.bound(f'wp.tile_transpose({u[0].name}) + {t.name}')}"] if u else None

    def reshaped(self):
        t = self.tile(2)
        n = t.count
        return [f"wp.tile_reshape({t.name}, ({n},))[{self.piece(n)}] *= {self.number()}", f"{t.name} = {self.bound(t.name)}"]

    def function(self):
        t = self.tile()
        u = self.like(t)
        name = f"f{len(self.functions)}"
        if t is u:
            return None
        annotation = f"wp.tile(dtype=S, shape={t.shape})"
        body = self.pick("    a += b * S(0.5)\n    return a - b", "    a[0] = b[0]\n    return a * b")
        self.functions.append(f"@wp.func\ndef {name}(a: {annotation}, b: {annotation}):\n{body}\n\n\n")
        return [f"{t.name} = {self.bound(f'{name}({t.name}, {u.name})')}"]

    def choose(self):
        t = self.tile()
        return [f"{t.name} = wp.where(k > {int(self.rng.integers(3))}, {t.name}, {self.like(t).name} * {self.number()})"]

    def system(self):
        """A system with a matrix that is positive definite whatever the tile is."""
        a = self.tile(2)
        n = a.shape[0]
        y = [u for u in self.tiles if u.shape == (n,) and not u.whole]
        if n > 8 or not y:
            return None
        spd, factor = self.name(), self.name()
        return [
            f"{spd} = wp.tile_diag_add(wp.tile_matmul({a.name}, wp.tile_transpose({a.name})), wp.tile_full({n}, S(9.0), dtype=S))",
            f"{factor} = wp.tile_cholesky({spd})",
            self.pick(
                f"{y[0].name} = wp.tile_cholesky_solve({factor}, {y[0].name})",
                f"wp.tile_lower_solve_inplace({factor}, {y[0].name})",
                f"{y[0].name} = wp.tile_upper_solve(wp.tile_transpose({factor}), {y[0].name})",
            ),
            f"{y[0].name} = {self.bound(y[0].name)}",
        ]

    # Only where nothing is differentiated.

    def extreme(self):
        t, w = self.tile(), self.tile(whole=True)
        at = ", ".join("0" * len(w.shape))
        return [f"{w.name}[{at}] = wp.tile_{self.pick('argmin', 'argmax')}({t.name})[0]"]

    def sort(self):
        keys = self.tile(1, whole=self.pick(True, False))
        values = self.tile(1, whole=not keys.whole)
        if not values or values.shape != keys.shape:
            return None
        return [f"wp.tile_sort({keys.name}, {values.name})"]

    def reduce(self):
        t = self.tile()
        reduced = f"wp.tile_reduce(wp.{self.pick('max', 'min', 'add')}, {t.name})"
        return [f"{t.name} *= {self.bound(reduced)}[0]", f"{t.name} = {self.bound(t.name)}"]

    def threads(self):
        """Whole numbers of the threads, summed by a tile."""
        w, own, i = self.tile(whole=True), self.name(), self.name()
        at = ", ".join("0" * len(w.shape))
        return [
            f"{own} = int(0)",
            f"for {i} in range(lane, {int(self.rng.integers(1, 300))}, wp.block_dim()):",
            f"    {own} += {i} * {i} % 7",
            f"{w.name}[{at}] = wp.tile_sum(wp.tile({own}))[0]",
        ]

    def scatter(self):
        w, i = self.tile(1, whole=True), self.name()
        n = w.shape[0]
        if self.rng.integers(2):
            return [
                f"for {i} in range(lane, {int(self.rng.integers(1, 200))}, wp.block_dim()):",
                f"    wp.tile_scatter_add({w.name}, {i} % {n}, {i}, {i} % 3 != 0)",
            ]
        return [
            f"for {i} in range(lane, {n}, wp.block_dim()):",
            f"    wp.tile_scatter_masked({w.name}, {i}, {i} * 3, {i} % 2 == k % 2)",
        ]

    def whole(self):
        t = self.tile(whole=True)
        return [self.pick(f"{t.name} += {self.like(t).name}", f"{t.name} = wp.tile_map(wp.max, {t.name}, {self.like(t).name})")]

    def each_element(self):
        """A thread's own elements."""
        t, i = self.tile(1), self.name()
        return [f"for {i} in range(lane, {t.shape[0]}, wp.block_dim()):", f"    {t.name}[{i}] = S({i}) * S(0.125)"]

    # ---- the whole

    def program(self) -> Program:
        lines = self.start()
        for _ in range(int(self.rng.integers(3, 9))):
            lines += self.statement(2)
        at = at_whole = 0
        for t in self.tiles:
            flat = f"wp.tile_reshape({t.name}, ({t.count},))"
            lines.append(f"wp.tile_store({'whole' if t.whole else 'y'}[block], {flat}, offset={at_whole if t.whole else at})")
            at, at_whole = (at, at_whole + t.count) if t.whole else (at + t.count, at_whole)
        whole = self.tile(whole=True)
        if whole:
            lines.append(f"wp.tile_atomic_add(sums, wp.tile_reshape({whole.name}, ({whole.count},)))")
        assert max(at, at_whole) <= ADDED_AT
        scalar = "float64" if self.smooth else "float32"
        numbers = self.pick(ROWS, ROWS, IN_A_LINE)
        start = head(scalar, self.smooth, "".join(self.functions), numbers)
        return Program(start + textwrap.indent("\n".join(lines), "    ") + "\n", scalar)


def load(name: str, text: str, scalar: str, folder: pathlib.Path) -> Program:
    """The program of a text, whose kernel is named `program`."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(text, scalar, module.program)


def compiled(number: int, smooth: bool, folder: pathlib.Path) -> Program:
    program = Writer(number, smooth).program()
    return load(f"tiles_{'smooth' if smooth else 'values'}_{number}", program.text, program.scalar, folder)


def kept(text: str, smooth: bool, folder: pathlib.Path) -> Program:
    """A program whose body is one of tile_programs_kept.py."""
    scalar = "float64" if smooth else "float32"
    body = textwrap.indent(textwrap.dedent(text).strip(), "    ") + "\n"
    name = f"tiles_kept_{zlib.crc32(text.encode())}"
    numbers = IN_A_LINE if "# in a line" in text else ROWS
    return load(name, head(scalar, smooth, numbers=numbers) + body, scalar, folder)


def source(number: int) -> np.ndarray:
    return np.random.default_rng(1000 + number).normal(size=(GRID, SOURCE, SOURCE))


class Launch:
    """A program's arrays on one executor: "interpreter", lanes of the CPU (0: as many as it likes), or ("cuda", block size).

    ("cpu", block size) and ("interpreter", block size) are blocks of several threads there.
    """

    def __init__(self, program: Program, executor, numbers: np.ndarray, gradients: bool = False):
        self.program, self.executor = program, executor
        self.where, self.block = executor if isinstance(executor, tuple) else (executor, 0)
        self.device = "cuda" if self.where == "cuda" else "cpu"
        dtype = getattr(wp, program.scalar)
        self.x = wp.array(numbers, dtype=dtype, device=self.device, requires_grad=gradients)
        self.y = wp.zeros((GRID, ROOM), dtype=dtype, device=self.device, requires_grad=gradients)
        self.whole = wp.zeros((GRID, ROOM), dtype=int, device=self.device)
        self.sums = wp.zeros(ROOM, dtype=int, device=self.device)

    def run(self, x=None, y=None):
        kernel = self.program.kernel
        before = wp.config.cpu_lanes
        try:
            wp.config.enable_cpu_blocks = self.block > 0
            if self.where == "interpreter":
                kernel.native()
                options = session.compile_options({**kernel.module.options, **kernel.options})
                kernel._use(_weft.Kernel(kernel._function, options, True), session.epoch)
            elif self.where not in ("cpu", "cuda"):
                wp.config.cpu_lanes = self.where
            how = {"inputs": [x or self.x, y or self.y, self.whole, 2, self.sums], "device": self.device}
            if self.program.in_a_line:
                wp.launch(kernel, dim=GRID * max(self.block, 1), block_dim=max(self.block, 1), **how)
            else:
                wp.launch_tiled(kernel, dim=GRID, block_dim=self.block or 32, **how)
        finally:
            wp.config.cpu_lanes = before
            wp.config.enable_cpu_blocks = False
            session.bump()

    def results(self) -> list[np.ndarray]:
        self.run()
        return [self.y.numpy(), self.whole.numpy(), self.sums.numpy()]


def check_values(number: int, executors: list, folder: pathlib.Path) -> None:
    """All executors give the bits of the first."""
    compare_values(compiled(number, False, folder), number, executors)


def compare_values(program: Program, number: int, executors: list) -> None:
    numbers = source(number)
    first = None
    for executor in executors:
        try:
            got = Launch(program, executor, numbers).results()
        except Exception as error:
            raise AssertionError(f"program {number} on {executor}: {error}\n{program.text}") from error
        bits = [values.view(np.uint32) for values in got]
        first = first or bits
        for a, b in zip(bits, first):
            if not np.array_equal(a, b):
                places = np.argwhere(a != b)[:5].tolist()
                raise AssertionError(f"program {number} on {executor} and {executors[0]} differ at {places}\n{program.text}")


def check_gradients(number: int, executors: list, folder: pathlib.Path) -> None:
    """The adjoint, forward mode and differences agree along a direction; all executors give the same adjoint, up to rounding."""
    compare_gradients(compiled(number, True, folder), number, executors)


def compare_gradients(program: Program, number: int, executors: list) -> None:
    rng = np.random.default_rng(2000 + number)
    numbers, weights, direction = source(number), rng.normal(size=(GRID, ROOM)), rng.normal(size=(GRID, SOURCE, SOURCE))
    first = None
    for executor in executors:
        where = f"program {number} on {executor}\n{program.text}"
        try:
            launch = Launch(program, executor, numbers, gradients=True)
            with wp.Tape() as tape:
                launch.run()
            tape.backward(grads={launch.y: wp.array(weights, dtype=wp.float64, device=launch.device)})
            gradient = launch.x.grad.numpy()
        except Exception as error:
            raise AssertionError(f"{error}\n{where}") from error
        if first is None:
            first = gradient
            y = wp.zeros_like(launch.y)
            with wp.ForwardMode({launch.x: wp.array(direction, dtype=wp.float64, device=launch.device)}) as forward:
                launch.run(y=y)
            along = float((forward.tangent(y).numpy() * weights).sum())
            slope = float((gradient * direction).sum())
            size = np.abs(gradient * direction).sum() + 1.0
            assert abs(along - slope) <= 1e-9 * size, f"forward {along}, adjoint {slope}: {where}"
            ends = [Launch(program, executor, numbers + s * direction).results()[0] for s in (1e-7, -1e-7)]
            difference = float(((ends[0] - ends[1]) * weights).sum()) / 2e-7
            assert abs(difference - slope) <= 1e-4 * size, f"differences {difference}, adjoint {slope}: {where}"
        np.testing.assert_allclose(gradient, first, rtol=1e-9, atol=1e-9 * np.abs(first).max(), err_msg=where)


def check_kept(executors: list, gradient_executors: list, folder: pathlib.Path) -> None:
    for number, text in enumerate(tile_programs_kept.VALUES.values()):
        compare_values(kept(text, False, folder), number, executors)
    for number, text in enumerate(tile_programs_kept.GRADIENTS.values()):
        compare_gradients(kept(text, True, folder), number, gradient_executors)
