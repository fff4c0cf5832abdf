"""The operations of a tape as a graph in the DOT language.

What was recorded is a list of steps, launches and functions, with marks where scopes begin and end. Where a sequence of
steps follows itself, `repeated` puts the first one into a group that stands for all; the arrays of the others are then
drawn as those of the first, and dashed edges lead from what a turn leaves to where the next one takes it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from warp._src.arrays.array import array
from warp._src.arrays.struct_elements import arrays_of

_LONGEST = 256  # steps of a sequence that is looked for


class Step(NamedTuple):
    """A launch or a function: its place in the tape, what it is, and its arguments by name."""

    at: int
    title: str
    kind: Any
    inputs: list[tuple[str, Any]]
    outputs: list[tuple[str, Any]]


class Mark(NamedTuple):
    """The beginning of a scope, or the end of one, which has no name."""

    kind: str | None


class Group(NamedTuple):
    """A sequence that follows itself: the items of each turn."""

    kind: tuple
    turns: list[list[Any]]


def _steps_of(tape: Any, ignore_scopes: bool) -> list[Any]:
    marks: dict[int, list[Mark]] = {}
    for at, name, _ in () if ignore_scopes else tape.scopes:
        marks.setdefault(at, []).append(Mark(name))
    items: list[Any] = []
    depth = 0

    def mark(at: int) -> None:
        nonlocal depth
        for one in marks.get(at, ()):
            if one.kind is None and not depth:
                continue  # an end without a beginning
            depth += 1 if one.kind is not None else -1
            items.append(one)

    for k, step in enumerate(tape.launches):
        mark(k)
        if len(step) == 2:
            title = getattr(step[0], "__name__", "function")
            arrays = [(f"array {n}", one) for n, one in enumerate(step[1])]
            items.append(Step(k, title, (title, len(arrays)), [], arrays))
            continue
        kernel, inputs, outputs = step[0], step[3], step[4]
        params = list(kernel.params) + ["?"] * (len(inputs) + len(outputs))
        sides = list(zip(params, inputs)), list(zip(params[len(inputs) :], outputs))
        items.append(Step(k, kernel.key, (id(kernel), len(inputs)), *sides))
    mark(len(tape.launches))
    items.extend([Mark(None)] * depth)
    return items


def _is_whole(items: list[Any]) -> bool:
    """Whether every scope that begins in a sequence ends in it, and there is a step."""
    depth = 0
    for one in items:
        if isinstance(one, Mark):
            depth += 1 if one.kind is not None else -1
            if depth < 0:
                return False
    return depth == 0 and not all(isinstance(one, Mark) for one in items)


def repeated(items: list[Any]) -> list[Any]:
    """The items with sequences that follow themselves in groups: short ones first, which makes long ones shorter."""
    length = 1
    while length <= min(_LONGEST, len(items) // 2):
        made: list[Any] = []
        k = 0
        kinds = [one.kind for one in items]
        while k < len(items):
            turns = 1
            if k + length < len(kinds) and kinds[k] == kinds[k + length]:
                part = kinds[k : k + length]
                while kinds[k + turns * length : k + (turns + 1) * length] == part:
                    turns += 1
            if turns > 1 and _is_whole(items[k : k + length]):
                parts = [items[k + n * length : k + (n + 1) * length] for n in range(turns)]
                made.append(Group(("group", tuple(part), turns), parts))
                k += turns * length
            else:
                made.append(items[k])
                k += 1
        length = 1 if len(made) < len(items) else length + 1
        items = made
    return items


def _leaves(items: list[Any]) -> Iterator[Step]:
    for one in items:
        if isinstance(one, Step):
            yield one
        elif isinstance(one, Group):
            for turn in one.turns:
                yield from _leaves(turn)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _describe(one: array) -> str:
    kind = getattr(one.dtype, "__name__", str(one.dtype))
    return f"{kind}[{', '.join(map(str, one.shape))}]"


def _key(one: array) -> int:
    return one.ptr or id(one)


class _Drawing:
    """Arrays are boxes, launches and functions ellipses, scopes and repetitions are clusters."""

    def __init__(self, items: list[Any], labels: dict[array, str], shown: list[array], hide_readonly: bool, longest: bool):
        self.arrays_of = arrays_of
        self.lines: list[str] = []
        self.boxes: list[str] = []
        self.edges: dict[str, None] = {}  # each once, in order
        self.nodes: dict[int, str] = {}
        self.clusters = 0
        self.labels = {_key(one): name for one, name in labels.items()}
        uses: dict[int, list[str]] = {}
        written = {_key(one) for one in shown}
        for step in _leaves(items):
            for name, value in [*step.inputs, *step.outputs]:
                for one in arrays_of(value):
                    uses.setdefault(_key(one), []).append(name)
            for _, value in step.outputs:
                written.update(_key(one) for one in arrays_of(value))
        # max takes the first of equally long ones
        self.names = {key: max(names, key=len) if longest else names[0] for key, names in uses.items()}
        self.hidden = {key for key in uses if hide_readonly and key not in written}
        for one in shown:
            self.box(one)

    def box(self, one: array) -> str:
        node = self.nodes.get(_key(one))
        if node is None:
            node = self.nodes[_key(one)] = f"a{len(self.boxes)}"
            color = "lightblue" if one.requires_grad else "lightgray"
            label = self.labels.get(_key(one)) or self.names.get(_key(one), "array")
            text = _quoted(label + "\n" + _describe(one))
            self.boxes.append(f"{node} [shape=box, style=filled, fillcolor={color}, label={text}];")
        return node

    def sides(self, step: Step) -> Iterator[tuple[bool, array]]:
        """The arrays of a step: whether written, and which."""
        for written, side in ((False, step.inputs), (True, step.outputs)):
            for _, value in side:
                for one in self.arrays_of(value):
                    yield written, one

    def draw(self, items: list[Any]) -> None:
        for one in items:
            if isinstance(one, Step):
                self.lines.append(f"k{one.at} [shape=ellipse, label={_quoted(one.title)}];")
                for written, which in self.sides(one):
                    if _key(which) in self.hidden:
                        continue
                    node = self.box(which)
                    self.edges[f"k{one.at} -> {node};" if written else f"{node} -> k{one.at};"] = None
            elif isinstance(one, Group):
                self.open(f"repeated {len(one.turns)}x")
                self.draw(one.turns[0])
                self.lines.append("}")
                for turn in one.turns[1:]:
                    for first, again in zip(_leaves(one.turns[0]), _leaves(turn)):
                        self.join(first, again)
            elif one.kind is None:
                self.lines.append("}")
            else:
                self.open(one.kind)

    def open(self, title: str) -> None:
        self.lines.append(f"subgraph cluster_{self.clusters} {{ label={_quoted(title)};")
        self.clusters += 1

    def join(self, first: Step, again: Step) -> None:
        """A step of a later turn: its arrays are those of the first, if they have no box of their own by now."""
        for (written, here), (_, there) in zip(self.sides(first), self.sides(again)):
            if _key(here) in self.hidden or _key(there) in self.hidden:
                continue
            node = self.box(here)
            known = self.nodes.setdefault(_key(there), node)
            if known != node:
                ends = (node, known) if written else (known, node)
                self.edges[f"{ends[0]} -> {ends[1]} [style=dashed, constraint=false];"] = None

    def text(self, direction: str) -> str:
        body = "\n".join(f"  {line}" for line in [*self.lines, *self.boxes, *self.edges])
        return f"digraph tape {{\n  rankdir={direction};\n{body}\n}}\n"


def draw(
    tape: Any,
    labels: dict[array, str],
    shown: list[array],
    *,
    simplify: bool,
    hide_readonly: bool,
    longest_name: bool,
    ignore_scopes: bool,
    direction: str,
) -> str:
    """The whole text; the arrays of `shown` are there in any case."""
    items = _steps_of(tape, ignore_scopes)
    drawing = _Drawing(items, labels, shown, hide_readonly, longest_name)
    drawing.draw(repeated(items) if simplify else items)
    return drawing.text(direction)
