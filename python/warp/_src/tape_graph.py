"""The operations of a tape as a graph in the DOT language."""

from __future__ import annotations

from typing import Any

from warp._src.array import array


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _describe(one: array) -> str:
    kind = getattr(one.dtype, "__name__", str(one.dtype))
    return f"{kind}[{', '.join(map(str, one.shape))}]"


def draw(tape: Any, labels: dict[array, str], hide_readonly: bool, ignore_scopes: bool, direction: str) -> str:
    """Arrays are boxes, launches and functions ellipses, scopes are clusters."""
    from warp._src.tape import arrays_of

    names: dict[int, str] = {}
    boxes: dict[str, str] = {}
    edges: list[str] = []
    written: set[int] = set()
    steps = tape.launches
    given = {id(one): name for one, name in labels.items()}

    def box(one: array, name: str) -> str:
        node = names.get(one.ptr or id(one))
        if node is None:
            node = names[one.ptr or id(one)] = f"a{len(names)}"
            color = "lightblue" if one.requires_grad else "lightgray"
            label = given.get(id(one), name)
            boxes[node] = f"{node} [shape=box, style=filled, fillcolor={color}, label={_quoted(label + chr(10) + _describe(one))}]"
        return node

    def sides(step: Any) -> tuple[str, list[tuple[str, Any]], list[tuple[str, Any]]]:
        if len(step) == 2:
            return getattr(step[0], "__name__", "function"), [], [(f"array {k}", one) for k, one in enumerate(step[1])]
        kernel, inputs, outputs = step[0], step[3], step[4]
        params = list(kernel.params) + ["?"] * (len(inputs) + len(outputs))
        return kernel.key, list(zip(params, inputs)), list(zip(params[len(inputs) :], outputs))

    for step in steps:
        for _, one in sides(step)[2]:
            written.update(a.ptr or id(a) for a in arrays_of(one))
    lines = []
    begins: dict[int, list[tuple[str | None, dict]]] = {}
    if not ignore_scopes:
        for at, name, about in tape.scopes:
            begins.setdefault(at, []).append((name, about))
    depth = clusters = 0

    def turn(at: int) -> None:
        nonlocal depth, clusters
        for name, _ in begins.get(at, ()):
            if name is None:
                if depth:
                    depth -= 1
                    lines.append("}")
            else:
                depth += 1
                lines.append(f"subgraph cluster_{clusters} {{ label={_quoted(name)};")
                clusters += 1

    for k, step in enumerate(steps):
        turn(k)
        title, ins, outs = sides(step)
        lines.append(f"k{k} [shape=ellipse, label={_quoted(title)}];")
        for name, value in ins:
            for one in arrays_of(value):
                if not (hide_readonly and (one.ptr or id(one)) not in written):
                    edges.append(f"{box(one, name)} -> k{k};")
        for name, value in outs:
            for one in arrays_of(value):
                edges.append(f"k{k} -> {box(one, name)};")
    turn(len(steps))
    lines.extend("}" * depth)
    body = "\n".join(f"  {line}" for line in [*lines, *(text + ";" for text in boxes.values()), *edges])
    return f"digraph tape {{\n  rankdir={direction};\n{body}\n}}\n"
