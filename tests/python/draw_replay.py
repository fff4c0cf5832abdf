"""Kernels of draw_programs.py on every executor, beside the same text in plain Python.

Which thread draws which number is nobody's business. So a program is run again in plain Python with the numbers that its threads
got, by the keys that they wrote: all that the kernel wrote is the same then, to the bit. Numbers of a counter are used once and
without holes, and a thread's own go up. Where threads run one after the other (the interpreter; one lane on one core) the numbers
are known, too.
"""

from __future__ import annotations

import importlib.util
import pathlib
import types

import numpy as np
from draw_programs import MINE, SLOTS, TURNS, Writer

import warp as wp
from warp import _weft
from warp._src.session import settings as session

WHICH = 2  # the parameter of this name
START = 5  # what a counter says before
PLACES = {slot: slot for slot in SLOTS} | {"c[which]": f"c[{WHICH}]", "d[which - 2]": "d[0, 0]"}
IN_ORDER = ("interpreter", (1, 1))  # (lanes, threads) of the CPU


class I(int):  # noqa: E742: a kernel's int32
    def __new__(cls, value):
        value = int(value) & 0xFFFFFFFF
        return int.__new__(cls, value - (1 << 32) if value >> 31 else value)

    def __add__(self, other):
        return I(int(self) + int(other))

    def __sub__(self, other):
        return I(int(self) - int(other))

    def __rsub__(self, other):
        return I(int(other) - int(self))

    def __mul__(self, other):
        return I(int(self) * int(other))

    def __and__(self, other):
        return I(int(self) & int(other))

    def __mod__(self, other):
        return I(np.fmod(int(self), int(other)))

    __radd__, __rmul__, __rand__ = __add__, __mul__, __and__


class Counters:
    """An array of counters, or a row of one, whose values stand in a dictionary by their names."""

    def __init__(self, name: str, values: dict[str, int], row: tuple[int, ...] = (), rank: int = 1):
        self.name, self.values, self.row, self.rank = name, values, row, rank

    def place(self, at) -> str:
        at = self.row + tuple(int(n) for n in (at if isinstance(at, tuple) else (at,)))
        return f"{self.name}[{', '.join(map(str, at))}]"

    def __getitem__(self, at):
        if not isinstance(at, tuple) and self.rank > 1:
            return Counters(self.name, self.values, (int(at),))
        return self.values[self.place(at)]


class Rows:
    """A NumPy array; numbers that are read are a kernel's int32."""

    def __init__(self, values: np.ndarray):
        self.values, self.shape = values, values.shape

    def __getitem__(self, at):
        found = self.values[at]
        return Rows(found) if isinstance(found, np.ndarray) else I(found)

    def __setitem__(self, at, value):
        self.values[at] = value


class Sloped:
    """`factor * f[i] + constant`, as it stands in a text."""

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to us

    def __init__(self, i: int, value: float, factor: float = 1.0):
        self.i, self.value, self.factor = i, value, factor

    def __rmul__(self, number):
        return Sloped(self.i, number * self.value, number * self.factor)

    def __add__(self, number):
        return Sloped(self.i, self.value + number, self.factor)


class SlopedList:
    """`q`: takes the slopes of `f` down, for a given gradient."""

    def __init__(self, values: np.ndarray, weights: np.ndarray, slopes: np.ndarray):
        self.values, self.weights, self.slopes = values, weights, slopes

    def __setitem__(self, at, value):
        self.values[at] = value.value
        self.slopes[value.i] += value.factor * self.weights[at]


class Plain:
    """`wp` in the text; `draw` is asked for every number."""

    float64, float16, uint8, int16 = np.float64, np.float16, np.uint8, np.int16

    def __init__(self, draw):
        self.draw = draw
        self.thread = I(0)

    def tid(self) -> I:
        return self.thread

    @staticmethod
    def vec3(*numbers):
        return np.array(numbers if len(numbers) == 3 else numbers * 3, dtype=np.float32)

    @staticmethod
    def where(condition, a, b):
        return a if condition else b

    def atomic_add(self, counters, *rest):
        return self.draw(self.thread, counters.place(rest[:-1]), int(rest[-1]))

    def atomic_sub(self, counters, *rest):
        return self.draw(self.thread, counters.place(rest[:-1]), -int(rest[-1]))


class State:
    """What a launch starts with, or leaves: NumPy arrays by name, and counters by place."""

    def __init__(self, program: Program):
        rng = np.random.default_rng(program.number)
        n, room = program.writer.threads, program.writer.threads * program.writer.room
        self.x = rng.integers(0, 50, n).astype(np.int32)
        self.f = rng.integers(-9, 10, n).astype(np.float64)
        self.table = rng.integers(-100, 100, (5, 3)).astype(np.int32)
        self.keys0, self.keys1, self.keys2 = (np.full(room, -1, np.int32) for _ in range(3))
        self.mine, self.sums = np.zeros((n, MINE), np.int32), np.zeros(n, np.int32)
        self.p = np.full(room, -1, np.int32)
        self.other = self.p if program.writer.shared else np.full(room, -1, np.int32)
        self.list_p, self.deep_p = np.full(room, -1, np.int32), np.full(room, -1, np.int32)
        self.q, self.r = np.zeros(room), np.zeros(room, np.float16)
        self.v, self.m = np.zeros((room, 3), np.float32), np.zeros((room, 3), np.uint8)
        self.s = np.zeros(room, program.item)
        self.counters = {place: START for place in ("c[0]", "c[1]", "c[2]", "d[0, 0]", "d[0, 1]", "d[1, 0]", "d[1, 1]")}
        self.counters |= {f"{name}[{k}]": START for name in ("lists.count", "deep[0].count") for k in (0, 1)}

    PARAMETERS = ("keys0", "keys1", "keys2", "mine", "sums", "p", "other", "q", "r", "v", "m", "s")
    ARRAYS = (*PARAMETERS, "list_p", "deep_p")


class Program:
    def __init__(self, number: int, folder: pathlib.Path, in_order: bool = False, slopes: bool = False, deterministic: bool = False):
        self.number = number
        self.writer = Writer(number, in_order, slopes)
        self.text = self.writer.head(deterministic) + self.writer.text
        path = folder / f"draws_{number}_{int(in_order)}{int(slopes)}{int(deterministic)}.py"
        path.write_text(self.text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        self.item = wp.zeros(1, dtype=self.module.Item, device="cpu").numpy().dtype
        self.code = compile("def program():\n" + self.writer.text, str(path), "exec")

    # ---- in plain Python

    def replay(self, state: State, draw, weights: np.ndarray | None = None) -> np.ndarray:
        """Runs all threads one after the other; the slopes of `f` for a gradient of `q`."""
        plain, slopes = Plain(draw), np.zeros(len(state.f))
        values = state.counters

        def take(counters, amount):
            return I(plain.atomic_add(counters, 0, amount))

        def note(rows, at, value, most):
            if at < most:
                rows[at] = value

        names = {name: Rows(getattr(state, name)) for name in ("x", "table", *State.PARAMETERS)}
        names |= {"wp": plain, "int": I, "float": np.float32, "C": I, "range": lambda n: map(I, range(n)), "take": take, "note": note}
        names |= {"which": I(WHICH), "most": I(len(state.p)), "Item": lambda *fields: fields}
        names |= {"c": Counters("c", values), "d": Counters("d", values, rank=2)}
        lists = types.SimpleNamespace(count=Counters("lists.count", values), p=Rows(state.list_p))
        deep = types.SimpleNamespace(count=Counters("deep[0].count", values), p=Rows(state.deep_p))
        names |= {"lists": lists, "deep": [deep]}
        names["f"] = [Sloped(i, value) for i, value in enumerate(state.f)]
        names["q"] = SlopedList(state.q, np.zeros(len(state.q)) if weights is None else weights, slopes)
        exec(self.code, names)
        for i in range(len(state.x)):
            plain.thread = I(i)
            names["program"]()
        return slopes

    def in_order(self) -> State:
        state = State(self)
        bits = 64 if "64" in self.writer.counter else 32

        def draw(_, place, amount):
            before = state.counters[place]
            after = (before + amount) % (1 << bits)
            state.counters[place] = after if "uint" in self.writer.counter or not after >> (bits - 1) else after - (1 << bits)
            return I(before)

        self.replay(state, draw)
        return state

    def by_numbers(self, found: State, weights: np.ndarray | None = None) -> tuple[State, np.ndarray]:
        """What the kernel does whose threads drew the numbers by which they wrote their keys."""
        state = State(self)
        slot_of = {PLACES[slot]: k for k, slot in enumerate(self.writer.slots)}
        numbers: list[dict[int, list[int]]] = [{} for _ in self.writer.slots]
        for slot, of_thread in enumerate(numbers):
            keys = getattr(found, f"keys{slot}")
            for number in np.flatnonzero(keys >= 0):
                of_thread.setdefault(int(keys[number]) // (TURNS * self.writer.places), []).append(int(number))
        taken: list[list[tuple[int, int]]] = [[] for _ in self.writer.slots]

        def draw(thread, place, amount):
            of_thread = numbers[slot_of[place]].get(int(thread))
            assert of_thread, f"thread {thread} drew more numbers from {place} than have its keys"
            taken[slot_of[place]].append((of_thread[0], amount))
            return I(of_thread.pop(0))

        slopes = self.replay(state, draw, weights)
        for place, slot in slot_of.items():
            left = sum(map(len, numbers[slot].values()))
            assert not left, f"{left} numbers of {place} have keys and were not drawn"
            end = START
            for number, amount in sorted(taken[slot]):
                assert number == end, f"numbers of {place}: {number} was drawn, {end} is next"
                end += amount
            state.counters[place] = end
        return state, slopes

    # ---- on an executor

    def launch(self, executor, weights: np.ndarray | None = None) -> tuple[State, np.ndarray | None]:
        """What it leaves; with a gradient of `q`, by way of a tape, that of `f`, too."""
        state, kernel = State(self), self.module.program
        device = "cuda" if executor == "cuda" else "cpu"
        sloped = weights is not None
        counter = self.module.C if isinstance(self.module.C, type) and self.module.C is not int else wp.int32
        kinds = {"f": wp.float64, "q": wp.float64, "r": wp.float16, "v": wp.vec3, "m": wp.uint8, "s": self.module.Item}

        def array(name: str):
            return wp.array(getattr(state, name), dtype=kinds.get(name, int), device=device, requires_grad=sloped and name in "fq")

        def counts(shape):
            return wp.full(shape, START, dtype=counter, device=device)

        arrays = {name: array(name) for name in ("x", "f", "table", *State.ARRAYS)}
        if self.writer.shared:
            arrays["other"] = arrays["p"]
        lists, inner = self.module.Lists(), self.module.Lists()
        lists.count, lists.p, inner.count, inner.p = counts(2), arrays["list_p"], counts(2), arrays["deep_p"]
        counters = {"c": counts(3), "d": counts((2, 2)), "lists.count": lists.count, "deep[0].count": inner.count}
        deep = wp.array([inner], dtype=self.module.Lists, device=device)
        inputs = [arrays["x"], arrays["f"], arrays["table"], WHICH, len(state.p), counters["c"], counters["d"], lists, deep]
        inputs += [arrays[name] for name in State.PARAMETERS]
        before = wp.config.cpu_lanes, wp.config.cpu_threads
        try:
            if executor == "interpreter":
                kernel.native()
                options = session.compile_options({**kernel.module.options, **kernel.options})
                kernel._use(_weft.Kernel(kernel._function, options, True), session.epoch)
            elif executor != "cuda":
                wp.config.cpu_lanes, wp.config.cpu_threads = executor
            if sloped:
                with wp.Tape() as tape:
                    wp.launch(kernel, dim=self.writer.threads, inputs=inputs, device=device)
                tape.backward(grads={arrays["q"]: wp.array(weights, dtype=wp.float64, device=device)})
            else:
                wp.launch(kernel, dim=self.writer.threads, inputs=inputs, device=device)
        finally:
            wp.config.cpu_lanes, wp.config.cpu_threads = before
            session.bump()
        for name in State.ARRAYS:
            setattr(state, name, arrays[name].numpy())
        for name, values in counters.items():
            for at, value in np.ndenumerate(values.numpy()):
                state.counters[f"{name}[{', '.join(map(str, at))}]"] = int(value)
        return state, arrays["f"].grad.numpy() if sloped else None


def compare(found: State, wanted: State) -> None:
    assert found.counters == wanted.counters, f"counters {found.counters} instead of {wanted.counters}"
    for name in State.ARRAYS:
        a, b = getattr(found, name), getattr(wanted, name)
        for field in a.dtype.names or (None,):
            ours, theirs = (a[field], b[field]) if field else (a, b)
            if not np.array_equal(ours.view(np.uint8) if field is None else ours, theirs.view(np.uint8) if field is None else theirs):
                places = np.argwhere(ours != theirs)[:5]
                pairs = [f"{at.tolist()}: {ours[tuple(at)]}, not {theirs[tuple(at)]}" for at in places]
                raise AssertionError(f"{name}{'.' + field if field else ''} at {'; '.join(pairs)}")


def check(number: int, executors: list, folder: pathlib.Path, **form: bool) -> None:
    """One program on all executors; `form` as Program takes it."""
    program = Program(number, folder, **form)
    slopes, exact = form.get("slopes", False), form.get("in_order", False)
    deterministic = form.get("deterministic", False)
    plain = program.in_order()
    weights = np.random.default_rng(number).integers(-9, 10, len(plain.q)).astype(np.float64)
    for executor in executors:
        try:
            for with_tape in (False, True) if slopes else (False,):
                found, gradient = program.launch(executor, weights if with_tape else None)
                if executor in IN_ORDER or exact or (executor == "cuda" and deterministic):
                    compare(found, plain)
                elif deterministic:
                    compare(found, program.launch(executor)[0])
                if exact:
                    continue
                wanted, slope = program.by_numbers(found, weights if with_tape else None)
                compare(found, wanted)
                if with_tape:
                    assert np.array_equal(gradient, slope), f"gradients differ at {np.flatnonzero(gradient != slope)[:5]}"
        except Exception as error:
            raise AssertionError(f"program {number} {form} on {executor}: {error}\n{program.text}") from error
