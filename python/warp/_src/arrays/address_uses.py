"""What becomes of an address that a program reads (`array.ptr`).

Work on GPUs may wait for its code as long as nobody but this package knows the memory that it touches (docs/design/tiers.md).
Some programs read addresses all the time and tell them to nobody: they compare two of them, or lay an array of another type over
the memory. Both are seen in the text of the expression that reads the address:

    a.ptr == b.ptr        a.ptr is None        wp.array(ptr=a.ptr, dtype=wp.vec3, shape=(n, 3))

All else, and all whose text is not known, counts as told.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import sys
import weakref
from _thread import _local as thread_local
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warp._src.arrays.array import array

# What was found out, by code and place in it: True, False, or the name of what the address is given to as `ptr`.
_uses: dict[tuple[CodeType, int], bool | tuple[str, ...]] = {}
_MOST_USES = 4096
constructor: Any = None  # warp.array; wiring.py sets it
_told = thread_local()  # .array: the one whose address goes into a constructor


def stays_inside(read: array) -> bool:
    """Whether the frame that reads the address of an array does not keep it. Called by the attribute itself."""
    frame = sys._getframe(1)
    key = (frame.f_code, frame.f_lasti)
    use = _uses.get(key)
    if use is None:
        if len(_uses) >= _MOST_USES:
            _uses.clear()
        use = _uses[key] = _find_use(*key)
    if not isinstance(use, tuple):
        return use
    if _meaning(use, frame) is not constructor:
        return False
    _told.array = weakref.ref(read)
    return True


def take_told(address: Any) -> array | None:
    """The array whose address this is, if it was read for the constructor that asks; the array counts as private still."""
    reference = getattr(_told, "array", None)
    if reference is None:
        return None
    _told.array = None
    found = reference()
    return found if found is not None and type(address) is int and found._lies_at(address) else None


def _meaning(names: tuple[str, ...], frame: FrameType) -> Any:
    """What a global name, or a name inside of a module, stands for."""
    value = frame.f_globals.get(names[0], getattr(builtins, names[0], None))
    for name in names[1:]:
        value = getattr(value, name, None) if isinstance(value, ModuleType) else None
    return value


def _find_use(code: CodeType, offset: int) -> bool | tuple[str, ...]:
    if not hasattr(code, "co_positions"):  # before Python 3.11
        return False
    own = next(itertools.islice(code.co_positions(), offset // 2, None), (None,))
    if None in own:
        return False
    first, last = own[:2]
    near = {place for place in code.co_positions() if place[0] and place[0] <= first and place[1] >= last}
    around = [
        place
        for place in near - {own}
        if None not in place and _begin(place) <= _begin(own) and _end(place) >= _end(own)
    ]
    if not around:
        return False
    # Expressions that enclose one another: the last to begin, and the first to end, is the smallest.
    inner = max(around, key=lambda place: (*_begin(place), -place[1], -place[3]))
    try:
        expression = ast.parse(f"({_text(code.co_filename, inner)}\n)", mode="eval").body
    except (SyntaxError, ValueError, IndexError):
        return False
    first, _, column, _ = inner  # lines and columns of the text begin there
    begin = (own[0] - first + 1, own[2] - column + 1 if own[0] == first else own[2])
    end = (own[1] - first + 1, own[3] - column + 1 if own[1] == first else own[3])

    def is_own(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "ptr"
            and (node.lineno, node.col_offset) == begin
            and (node.end_lineno, node.end_col_offset) == end
        )

    if isinstance(expression, ast.Compare):
        operands = [expression.left, *expression.comparators]
        plain = all(isinstance(o, ast.Constant) or (isinstance(o, ast.Attribute) and o.attr == "ptr") for o in operands)
        return plain and any(map(is_own, operands))
    if isinstance(expression, ast.Call):
        local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        if any(word.arg == "ptr" and is_own(word.value) for word in expression.keywords):
            return _global_name(expression.func, local) or False
    return False


def _begin(place: Any) -> tuple[int, int]:
    """Of a place as code objects tell it: first line, last line, first column, last column, in bytes."""
    return place[0], place[2]


def _end(place: Any) -> tuple[int, int]:
    return place[1], place[3]


def _text(file: str, place: Any) -> str:
    """The part of a file that an expression takes."""
    lines = [linecache.getline(file, line).encode() for line in range(place[0], place[1] + 1)]
    lines[-1] = lines[-1][: place[3]]
    lines[0] = lines[0][place[2] :]
    return b"".join(lines).decode()


def _global_name(node: ast.AST, local: set[str]) -> tuple[str, ...] | None:
    """`wp.array` as ("wp", "array"), unless it begins with a variable of the function."""
    if isinstance(node, ast.Name):
        return None if node.id in local else (node.id,)
    if isinstance(node, ast.Attribute):
        inner = _global_name(node.value, local)
        return None if inner is None else (*inner, node.attr)
    return None
