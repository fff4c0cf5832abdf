"""The text of a Python function: from its file, or from linecache for code that was exec'ed or typed into a notebook.

It is that of the time when the function was declared: `keep_text` notes the lines of its file, which all functions of the
file share, and the text is cut out of them when somebody wants it. So a file may be edited, or deleted, once it is imported.

`inspect` would find the text too, but reads through all loaded modules and tokenizes it, which costs more than the rest of a
first launch. Here it is cut by indentation; `exact=True` asks inspect.
"""

from __future__ import annotations

import inspect
import linecache
from typing import Any, Callable

_read: dict[str, tuple[Any, list[str]]] = {}
"""By file: whose import read it, and its lines."""


def keep_text(func: Callable) -> None:
    """Notes the lines of the file of a function that is being declared."""
    kept = func.__dict__
    if "_wp_lines_" not in kept and "_wp_source_" not in kept:
        kept["_wp_lines_"] = _lines_now(_written(func) if "__wrapped__" in kept else func)


def lines_of(func: Callable) -> list[str]:
    """The lines of the function's file; none if they can't be found."""
    kept = func.__dict__.get("_wp_lines_")
    return kept or _lines_now(_written(func))  # linecache may have been told since


def _written(func: Callable) -> Any:
    return inspect.unwrap(func) if "__wrapped__" in func.__dict__ else func


def _lines_now(func: Any) -> list[str]:
    """The lines as they are. A module's file is read once for each time that it is imported: functions that are declared later,
    by a function of the module, stand in the text that was imported."""
    file, names = func.__code__.co_filename, func.__globals__
    imported = (names.get("__spec__") or names.get("__loader__")) if names.get("__file__") == file else None
    if imported is not None:
        known = _read.get(file)
        if known is not None and known[0] is imported:
            return known[1]
    linecache.checkcache(file)
    lines = linecache.getlines(file, names)
    if imported is not None and lines:
        _read[file] = imported, lines
    return lines


def name_in_text(func: Callable) -> str:
    """The name behind `def`; the function may have been renamed since."""
    return _written(func).__code__.co_name


def source_of(func: Callable, exact: bool = False) -> tuple[str, str, int]:
    """Text, file and first line of a function. Without `exact` the text ends early in the odd function that has a
    bracket or text in several lines, one of them indented less than itself; it does not parse then."""
    code = _written(func).__code__
    given = getattr(func, "_wp_source_", None)
    if given is not None:
        return given, code.co_filename, 1
    lines, first = lines_of(func), code.co_firstlineno
    if 0 < first <= len(lines):
        if exact:
            return "".join(inspect.getblock(lines[first - 1 :])), code.co_filename, first
        return "".join(lines[first - 1 : _end_of_block(lines, first)]), code.co_filename, first
    raise RuntimeError(
        f"the source text of '{func.__qualname__}' can't be found (defined in {code.co_filename}); define it in a "
        "file or notebook cell, or register the text with linecache"
    )


def _end_of_block(lines: list[str], first: int) -> int:
    """The number of the last line of the block that begins at line `first`: before the first line that is indented no more,
    unless it closes a bracket. What else goes on in such a line (a text, brackets within brackets) is cut, and does not parse."""
    indent = _indent(lines[first - 1])
    end = first
    while end < len(lines) and not lines[end - 1].lstrip().startswith(("def ", "async def ")):
        end += 1  # decorators
    # Every kernel passes here before its first launch.
    for number in range(end, len(lines)):
        line = lines[number]
        text = line.lstrip()
        if not text or text[0] == "#":
            continue  # belongs to the block only if more of it follows
        if (len(line) - len(text) if "\t" not in line else _indent(line)) <= indent and text[0] not in ")]}":
            break
        end = number + 1
    return end


def _indent(line: str) -> int:
    if "\t" in line:
        line = line.expandtabs()
    return len(line) - len(line.lstrip())
