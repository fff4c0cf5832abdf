"""Random kernels that draw numbers from counters (`n = wp.atomic_add(counter, 0, 1)`) and write by them: their text by a number.

Every draw writes its key (the thread, the place in the program, the turns of the loops around it) to a list by the number that it
got: draw_replay.py runs the same text in plain Python with the numbers found there. What a program writes hangs on nothing but its
inputs and these numbers. `in_order` programs also look at counters and lists while they change, draw nothing, and give back.
`slopes` programs are differentiable: what is stored to `q` has the slope of `f`.
"""

from __future__ import annotations

import dataclasses
import textwrap

import numpy as np

TURNS = 16  # of the loops around a draw, at most
SLOTS = ("c[0]", "c[which]", "d[1, 0]", "lists.count[1]", "deep[0].count[0]", "d[which - 2]")  # the last is a row of `d`
COUNTERS = ("int", "wp.uint32", "wp.int64", "wp.uint64")
LISTS = ("p", "other", "q", "r", "v", "m", "s", "lists.p", "deep[0].p")  # what is written by numbers
MINE = 4  # numbers that a thread has for itself

HEAD = """
import warp as wp

C = {counter}


@wp.struct
class Item:
    at: wp.vec3
    kind: wp.int16
    on: bool


@wp.struct
class Lists:
    count: wp.array(dtype=C)
    p: wp.array(dtype=int)


@wp.func
def take(counter: wp.array(dtype=C), amount: int):
    return int(wp.atomic_add(counter, 0, C(amount)))


@wp.func
def note(list: wp.array(dtype=int), at: int, value: int, most: int):
    if at >= most:
        return
    list[at] = value


@wp.kernel(enable_backward={backward}, module="unique", module_options={{"deterministic": {deterministic}}})
def program(
    x: wp.array(dtype=int),
    f: wp.array(dtype=wp.float64),
    table: wp.array2d(dtype=int),
    which: int,
    most: int,
    c: wp.array(dtype=C),
    d: wp.array2d(dtype=C),
    lists: Lists,
    deep: wp.array(dtype=Lists),
    keys0: wp.array(dtype=int),
    keys1: wp.array(dtype=int),
    keys2: wp.array(dtype=int),
    mine: wp.array2d(dtype=int),
    sums: wp.array(dtype=int),
    p: wp.array(dtype=int),
    other: wp.array(dtype=int),
    q: wp.array(dtype=wp.float64),
    r: wp.array(dtype=wp.float16),
    v: wp.array(dtype=wp.vec3),
    m: wp.array2d(dtype=wp.uint8),
    s: wp.array(dtype=Item),
):
"""


@dataclasses.dataclass
class Draw:
    name: str  # of the number
    slot: int
    amount: str
    key: str


@dataclasses.dataclass
class Scope:
    """What a statement may use."""

    names: list[str]  # of int32
    draws: list[Draw]
    pending: list[Draw]  # draws of this block that have not written their keys
    turns: list[str]  # loop variables around it
    in_loop: bool = False
    outer: Scope | None = None

    def inner(self, in_loop: bool | None = None, turn: str | None = None) -> Scope:
        turns = [*self.turns, turn] if turn else self.turns
        return Scope(list(self.names), list(self.draws), [], turns, self.in_loop if in_loop is None else in_loop, self)

    def may_leave(self) -> bool:
        """Whether nothing is left behind by leaving the loop."""
        return self.in_loop and not self.pending and (self.outer is None or not self.outer.in_loop or self.outer.may_leave())


class Writer:
    """Statements at random."""

    def __init__(self, number: int, in_order: bool = False, slopes: bool = False):
        self.rng = np.random.default_rng(number)
        self.in_order, self.slopes = in_order, slopes
        self.counter = self.pick(*COUNTERS)
        # Calm programs do nothing with numbers but to write by them: most of these draws may wait.
        self.calm = self.chance(0.5)
        self.slots = [str(s) for s in self.rng.permutation(SLOTS)[: int(self.rng.integers(1, 4))]]
        # Numbers of two counters may be the same, so that each list is one counter's.
        self.list_of = {name: int(self.rng.integers(len(self.slots))) for name in LISTS}
        self.list_of["other"] = self.list_of["p"]  # a launch may give one array twice
        self.made = self.places = 0
        self.room = 8  # numbers that a thread draws from one counter, at most, and what is there before
        self.text = textwrap.indent(self.body(), "    ") + "\n"
        self.threads = self.pick(37, 300, 1500)
        self.shared = self.chance(0.2)  # one array is both `p` and `other`

    def pick(self, *things):
        return things[int(self.rng.integers(len(things)))]

    def chance(self, part: float) -> bool:
        return bool(self.rng.random() < part)

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    # ---- expressions: int32

    def expression(self, scope: Scope) -> str:
        a, b = self.pick(*scope.names), self.pick(*scope.names, "3", "7", "which")
        form = self.rng.integers(8)
        if form == 0:
            return f"table[({a} & 1023) % 5, ({b} & 1023) % 3]"
        if form == 1:
            return f"x[({a} & 1023) % x.shape[0]]"
        if form == 2:
            return f"wp.where({a} > {b}, {a}, {b} - 1)"
        return f"({a} {self.pick('+', '-', '*', '&')} {b})"

    def condition(self, scope: Scope) -> str:
        return f"({self.expression(scope)} & 1023) % 3 != {int(self.rng.integers(3))}"

    # ---- statements, each some lines

    def draw(self, scope: Scope) -> list[str]:
        slot = int(self.rng.integers(len(self.slots)))
        where = self.slots[slot]
        amounts = ["1", "1", "2", "(x[i] % 3 + 1)", f"({self.pick(*scope.names)} % 2 * 0 + 3)"]
        if self.in_order:
            amounts += ["0", "(x[i] % 3)"]
        if scope.draws and not self.calm:
            amounts.append(f"({self.pick(*scope.draws).name} % 2 + 1)")
        amount = self.pick(*amounts)
        turn = "0"
        for variable in scope.turns:
            turn = f"({turn} * 4 + {variable})"
        drawn = Draw(self.name("n"), slot, amount, f"((i * PLACES + {self.places}) * {TURNS} + {turn})")
        self.places += 1
        self.room += 3 * 3 ** len(scope.turns)
        array, _, at = where.rpartition("[")
        at = at[:-1]
        if where == "d[which - 2]":
            made = f"take({where}, {amount})"
        elif at == "0" and self.chance(0.2):
            made = f"take({array}, {amount})"
        elif self.in_order and self.chance(0.15):
            made = f"int(wp.atomic_sub({array}, {at}, C({amount})))"
        else:
            made = f"int(wp.atomic_add({array}, {at}, C({amount})))"
        if not self.calm:
            scope.names.append(drawn.name)
        scope.draws.append(drawn)
        scope.pending.append(drawn)
        lines = [f"{drawn.name} = {made}"]
        if self.slopes and self.list_of["q"] == slot and self.chance(0.8):
            lines.append(self.put("q", drawn.name, scope))  # once: an adjoint knows nothing of what was written before
        return lines + self.flush(scope) if self.chance(0.6) else lines

    def key(self, drawn: Draw) -> list[str]:
        if self.in_order:  # numbers may be anything
            return [f"if {drawn.name} >= 0 and {drawn.name} < most:", f"    keys{drawn.slot}[{drawn.name}] = {drawn.key}"]
        form = self.rng.integers(3)
        if form == 0:
            return [f"note(keys{drawn.slot}, {drawn.name}, {drawn.key}, most)"]
        if form == 1:
            return [f"if {drawn.name} < most:", f"    keys{drawn.slot}[{drawn.name}] = {drawn.key}"]
        return [f"keys{drawn.slot}[{drawn.name}] = {drawn.key}"]

    def flush(self, scope: Scope) -> list[str]:
        """The keys that have not been written, in any order."""
        order = [scope.pending[k] for k in self.rng.permutation(len(scope.pending))]
        scope.pending.clear()
        return [line for drawn in order for line in self.key(drawn)]

    def put(self, name: str, at: str, scope: Scope) -> str:
        value = self.expression(scope)
        if name == "q":
            return f"q[{at}] = wp.float64({value}) * f[i] + wp.float64(2.0)"
        if name == "r":
            return f"r[{at}] = wp.float16({value} & 255)"
        if name == "v":
            return f"v[{at}] = wp.vec3(float({value}), float(i), 1.0)"
        if name == "m":
            return f"m[{at}, {self.pick('0', '1', 'which')}] = wp.uint8({value} & 255)"
        if name == "s":
            return f"s[{at}] = Item(wp.vec3(float({value})), wp.int16({value} & 1023), {self.condition(scope)})"
        return f"{name}[{at}] = {value}"

    def append(self, scope: Scope) -> list[str] | None:
        if not scope.draws:
            return None
        drawn = self.pick(*scope.draws)
        names = [name for name in LISTS if self.in_order or self.list_of[name] == drawn.slot and not (self.slopes and name == "q")]
        if not names:
            return None
        name, at = self.pick(*names), drawn.name
        if self.in_order:
            return [f"if {at} >= 0 and {at} < most:", f"    {self.put(name, at, scope)}"]
        form = self.rng.integers(4)
        if form == 0:
            return [f"if {at} < {self.pick('most', '40')}:", f"    {self.put(name, at, scope)}"]
        if form == 1:
            k = self.name("k")
            scope = scope.inner()
            scope.names.append(k)
            return [f"for {k} in range({drawn.amount}):", f"    {self.put(name, f'{at} + {k}', scope)}"]
        return [self.put(name, at, scope)]

    def keep(self, scope: Scope) -> list[str]:
        """Memory of the thread's own: written, and read by what follows."""
        return [f"mine[i, {int(self.rng.integers(MINE))}] = {self.expression(scope)}"]

    def look(self, scope: Scope) -> list[str] | None:
        if self.slopes:  # adjoints read what is there at the end
            return None
        read = f"mine[i, {int(self.rng.integers(MINE))}]"
        if self.in_order and self.chance(0.6):
            read = self.pick("int(c[0])", "int(d[1, 0])", "p[i]", "other[i]", "lists.p[i]", "int(lists.count[1])")
        name = self.name("v")
        lines = [f"{name} = {read}"]
        scope.names.append(name)
        return lines

    def compute(self, scope: Scope) -> list[str]:
        if self.chance(0.5):
            return [f"total {self.pick('+=', '-=')} {self.expression(scope)}"]
        name = self.name("v")
        lines = [f"{name} = {self.expression(scope)}"]
        scope.names.append(name)
        return lines

    def block(self, scope: Scope, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(int(self.rng.integers(1, 4))):
            lines += self.statement(scope, depth)
        lines += self.flush(scope)
        return textwrap.indent("\n".join(lines), "    ").split("\n")

    def branch(self, scope: Scope, depth: int) -> list[str]:
        lines = [f"if {self.condition(scope)}:"]
        inner = scope.inner()
        lines += self.block(inner, depth - 1)
        if scope.may_leave() and self.chance(0.2):
            return [*lines, f"    {self.pick('break', 'continue')}"]
        if self.chance(0.4):
            lines += ["else:", *self.block(scope.inner(), depth - 1)]
        return lines

    def loop(self, scope: Scope, depth: int) -> list[str]:
        if len(scope.turns) > 1:
            return self.compute(scope)
        scope_lines = self.flush(scope)  # whoever leaves the loop early leaves nothing behind
        j = self.name("j")
        if self.chance(0.25):
            inner = scope.inner(False, j)
            inner.names.append(j)
            return [*scope_lines, f"{j} = int(0)", f"while {j} < x[i] % 4:", *self.block(inner, depth - 1), f"    {j} += 1"]
        inner = scope.inner(True, j)
        inner.names.append(j)
        turns = self.pick("2", "3", "x[i] % 4", "which")
        return [*scope_lines, f"for {j} in range({turns}):", *self.block(inner, depth - 1)]

    def leave(self, scope: Scope) -> list[str]:
        lines = self.flush(scope)
        return [*lines, f"if {self.condition(scope)} and x[i] % 7 == 0:", "    sums[i] = total", "    return"]

    def statement(self, scope: Scope, depth: int) -> list[str]:
        kinds = [self.draw] * 4 + [self.append] * 4 + [self.keep, self.look, self.compute]
        if depth:
            kinds += [self.branch, self.branch, self.loop]
        while True:
            kind = self.pick(*kinds)
            lines = kind(scope, depth) if kind in (self.branch, self.loop) else kind(scope)
            if lines:
                return lines

    # ---- the whole

    def head(self, deterministic: bool = False) -> str:
        return HEAD.format(counter=self.counter, backward=self.slopes, deterministic=deterministic)

    def body(self) -> str:
        scope = Scope(["i", "x[i]", "total"], [], [], [])
        lines = ["i = wp.tid()", "total = int(0)"]
        lines += self.draw(scope)
        for _ in range(int(self.rng.integers(3, 9))):
            lines += self.statement(scope, 2)
            if self.chance(0.06):
                lines += self.leave(scope)
        lines += [*self.flush(scope), "sums[i] = total"]
        return "\n".join(lines).replace("PLACES", str(self.places))
