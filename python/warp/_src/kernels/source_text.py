"""The text of a Python function: from its file, or from linecache for code that was exec'ed or typed into a notebook.

`inspect` would find it too, but reads through all loaded modules and tokenizes the text, which costs more than the rest
of a first launch. Here the text is cut by indentation; `exact=True` asks inspect.
"""

from __future__ import annotations

import inspect
import linecache
import types
from typing import Callable


def source_of(func: Callable, exact: bool = False) -> tuple[str, str, int]:
    """Text, file and first line of a function. Without `exact` the text may end early in the odd function that has a
    bracket or text in several lines, indented less than itself, at its end; it does not parse then."""
    code = func.__code__
    given = getattr(func, "_wp_source_", None)
    if given is not None:
        return given, code.co_filename, 1
    linecache.checkcache(code.co_filename)
    if not exact and not hasattr(func, "__wrapped__"):
        lines = linecache.getlines(code.co_filename, func.__globals__)
        first = code.co_firstlineno
        if 0 < first <= len(lines):
            return "".join(lines[first - 1 : _end_of_block(lines, first, _last_line(code))]), code.co_filename, first
    try:
        block, first = inspect.getsourcelines(func)
    except (OSError, TypeError) as error:
        raise RuntimeError(
            f"the source text of '{func.__qualname__}' can't be found (defined in {code.co_filename}); define it in a "
            "file or notebook cell, or register the text with linecache"
        ) from error
    return "".join(block), code.co_filename, max(first, 1)


def _last_line(code: types.CodeType) -> int:
    """The last line that has code: a line inside the function's block, behind its header."""
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            last = max(last, _last_line(constant))
    return last


def _end_of_block(lines: list[str], first: int, last: int) -> int:
    """The number of the last line of the block that begins at line `first` and has code up to line `last`."""
    indent = _indent(lines[first - 1])
    end = min(last, len(lines))
    header = first
    while header < len(lines) and not lines[header - 1].lstrip().startswith(("def ", "async def ")):
        header += 1  # decorators; a body of nothing but text has no code behind them
    end = max(end, header)
    for number in range(end + 1, len(lines) + 1):
        line = lines[number - 1].strip()
        if not line or line.startswith("#"):
            continue  # belongs to the block only if more of it follows
        if _indent(lines[number - 1]) <= indent:
            break
        end = number
    return end


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())
