#!/usr/bin/env python3
"""Writes the pages of the site that are made from sources: builtins from the compiler's rows, Python names from their
docstrings, and a page for each example with its text.

make_reference.py FOLDER      writes reference/builtins.md, reference/python.md and examples/NAME.md there
"""

from __future__ import annotations

import argparse
import ast
import inspect
import pathlib
import re
import types

import warp
from warp import _weft
from warp._src.values.builtins import BuiltinFunction

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE_WORDS = """
In the signatures, `F` stands for a type of floating-point numbers, `I` for integers, `S` for either, `T` for any type;
a letter that occurs twice is the same type both times. `vec[N,S]`, `mat[R,C,S]`, `quat[F]`, `transform[F]` and
`array[T]` are the [types](../types.md) made of them. `ref[…]` is a variable that the builtin changes.
"""
STRUCTS = """
What some builtins return and others take. Parameters of `@wp.func` functions and fields of structs may be of them.
Fields that are not listed are the library's own: a value that has such fields can't lie in an array.
"""


def groups() -> dict[str, list[str]]:
    """Builtins by the table they stand in: title to names."""
    found: dict[str, list[str]] = {}
    for table in sorted((ROOT / "src/builtins").glob("*.def")):
        text = table.read_text(encoding="utf-8")
        title = text.split("\n", 1)[0].lstrip("# ").split(".")[0].split(":")[0]
        names = re.findall(r"^([a-z][a-z_0-9]*)\(", text, re.M)
        found[title] = sorted(set(names))
    return found


def builtins_page() -> str:
    """All overloads of all builtins."""
    known = set(_weft.builtin_names())
    lines = ["# Builtins", "", "All of these work in kernels; those that don't ask for the thread work in Python, too."]
    lines += [TYPE_WORDS]
    for title, names in groups().items():
        lines += [f"## {title}", ""]
        for name in names:
            if name not in known:
                continue
            lines += [f"### {name}", ""]
            for signature, doc, _ in _weft.builtin_rows(name):
                lines += [f"`{signature}`", f": {doc or '—'}", ""]
    return "\n".join(lines + structs()) + "\n"


def structs() -> list[str]:
    """The library's structs with their fields; nothing if there are none."""
    lines = ["## Structs", STRUCTS]
    for name in _weft.library_struct_names():
        kind = getattr(warp, name)
        fields = ", ".join(f"`{field}: {of.handle.name}`" for field, of in kind.vars.items())
        lines += [f"### {name}", "", plain_text(kind), "", f"Fields: {fields or 'none'}.", ""]
    return lines if _weft.library_struct_names() else []


def first_paragraph(thing: object) -> str:
    """What a docstring opens with, on one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n", 1)[0].split())


def signature_of(thing: object) -> str:
    """The parameters, without annotations, which would drown the names."""
    try:
        signature = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(…)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    plain = [p for p in plain if p.name not in ("self", "cls")]
    return re.sub(r"<class '(\w+)'>", r"\1", str(inspect.Signature(plain)))


def plain_text(thing: object) -> str:
    """The first words, with what would be markup escaped."""
    return re.sub(r"([*_<\[])", r"\\\1", first_paragraph(thing)) or "—"


def entry(name: str, thing: object) -> list[str]:
    """A name with its parameters and what it does."""
    return [f"`{name}{signature_of(thing)}`", f": {plain_text(thing)}", ""]


def methods_of(kind: type) -> list[str]:
    """Public methods and properties of a class that say what they do."""
    lines: list[str] = []
    for name, member in sorted(vars(kind).items()):
        if name.startswith("_") or not first_paragraph(member):
            continue
        if isinstance(member, property):
            lines += [f"`.{name}`", f": {plain_text(member)}", ""]
        elif callable(member):
            lines += entry(f".{name}", member)
    return lines


def python_page() -> str:
    """Functions and classes of the package, less what is only a builtin and the many named types."""
    functions: list[str] = []
    classes: list[str] = []
    for name in sorted(dir(warp), key=str.lower):
        thing = getattr(warp, name)
        if name.startswith("_") or isinstance(thing, (types.ModuleType, BuiltinFunction)):
            continue
        module = getattr(thing, "__module__", "") or ""
        if not module.startswith("warp"):
            continue
        if inspect.isclass(thing):
            if hasattr(thing, "_wp_type_") or thing.__name__ != name:
                continue
            classes += [f"### {name}", "", plain_text(thing), "", *methods_of(thing)]
        elif callable(thing):
            functions += entry(f"wp.{name}", thing)
    lines = ["# Python names", "", "Functions and classes of `import warp as wp`, with their first words.", ""]
    lines += ["## Functions", "", *functions, "## Classes", "", *classes]
    return "\n".join(lines) + "\n"


def example_page(path: pathlib.Path) -> str:
    """What the example says of itself, its picture where there is one, and its text."""
    text = path.read_text(encoding="utf-8")
    words = ast.get_docstring(ast.parse(text)) or ""
    title, _, rest = words.partition("\n")
    lines = [f"# {path.name}", "", title, rest, ""]
    picture = f"images/{path.stem}.png"
    if (ROOT / "docs" / picture).exists():
        lines += [f"![What {path.name} draws](../{picture})", ""]
    return "\n".join([*lines, "```python", text.rstrip("\n"), "```", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    pages = {"reference/builtins": builtins_page(), "reference/python": python_page()}
    for path in sorted((ROOT / "examples/python").glob("*.py")):
        pages[f"examples/{path.stem}"] = example_page(path)
    for name, text in pages.items():
        page = folder / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
