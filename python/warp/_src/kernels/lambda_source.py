"""Plain Python functions and lambdas as functions of the kernel language, for `wp.map`.

Parameters without annotation are generic. A lambda's text is found by parsing the file it stands in: the one that
begins on its first line, and where several do, the one at its column, or with its code where Python 3.10 knows none.
"""

from __future__ import annotations

import ast
import functools
import inspect
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from warp import _weft
from warp._src.kernels import definitions
from warp._src.kernels.resolver import describe
from warp._src.kernels.source_text import lines_of, name_in_text, source_of
from warp._src.values.builtins import BuiltinFunction


_parsing = threading.Lock()  # CPython 3.11's parser counts its depth for all threads together


def plain_function(func: Any) -> Any:
    """A wp.func or builtin as it is, anything else of Python as a wp.func with generic parameters."""
    if isinstance(func, (definitions.Function, BuiltinFunction)):
        return func
    if not inspect.isfunction(func):
        raise TypeError(
            f"kernels can't call a {type(func).__name__}; pass a wp.func, a builtin such as wp.sin, a Python function or "
            "a lambda"
        )
    return PlainFunction(func)


class PlainFunction(definitions.Function):
    """A Python function that was not decorated."""

    def __init__(self, func: Callable) -> None:
        key = "lambda" if func.__name__ == "<lambda>" else func.__name__
        super().__init__(func, key, definitions.get_module(func.__module__ or "warp.map"))

    def native(self) -> _weft.Function:
        if self._native is None:
            source, file, line = lambda_source(self.func) if self.key == "lambda" else source_of(self.func)
            known: dict[str, tuple] = {}
            for name in inspect.signature(self.func).parameters:
                annotation = self.func.__annotations__.get(name, Any)
                answer = None if isinstance(annotation, str) else describe(annotation)
                if answer is not None and answer[0] in ("type", "generic", "generic_array"):
                    known[name] = answer
            name = "map_lambda" if self.key == "lambda" else name_in_text(self.func)
            unique = f"{self.key}#{next(definitions._counter)}"
            self._native = _weft.make_function(source, file, line, name, self._resolver, unique, known)
        return self._native


def lambda_source(func: Callable) -> tuple[str, str, int]:
    """A lambda as the text of a function `map_lambda`, with file and line."""
    code = func.__code__
    node = _find_lambda(func)
    parameters = node.args
    if parameters.vararg or parameters.kwarg or parameters.kwonlyargs:
        raise RuntimeError("a lambda for wp.map takes plain parameters only, no '*' or keyword-only ones")
    names = [a.arg for a in [*parameters.posonlyargs, *parameters.args]]
    text = f"def map_lambda({', '.join(names)}):\n    return {ast.unparse(node.body)}\n"
    return text, code.co_filename, code.co_firstlineno


def _find_lambda(func: Callable) -> ast.Lambda:
    code = func.__code__
    lines = lines_of(func)
    try:
        with _parsing:
            tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
    if not lines or not tree.body:
        raise RuntimeError(
            f"the source text of a lambda can't be found (defined in {code.co_filename}); write a def with @wp.func, or "
            "define the lambda in a file or notebook cell"
        )
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _fits(n, code)]
    if len(found) > 1:
        is_it = _at_position if hasattr(code, "co_positions") else functools.partial(_compiles_to, tree)
        found = [n for n in found if is_it(n, code)] or found
    if len({ast.dump(n) for n in found}) != 1:
        what = "several lambdas stand" if found else "no lambda was found"
        raise RuntimeError(
            f"{what} in line {code.co_firstlineno} of {code.co_filename}; write each in a line of its own, or a def with "
            "@wp.func"
        )
    return found[0]


def _fits(node: ast.Lambda, code: Any) -> bool:
    names = tuple(a.arg for a in [*node.args.posonlyargs, *node.args.args])
    return node.lineno == code.co_firstlineno and names == code.co_varnames[: code.co_argcount]


def _at_position(node: ast.Lambda, code: Any) -> bool:
    """Whether the code's instructions come from the lambda's body."""
    spans = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    begin = (node.body.lineno, node.body.col_offset)
    end = (node.body.end_lineno or node.body.lineno, node.body.end_col_offset or 0)
    return bool(spans) and all(begin <= span <= end for span in spans)


def _compiles_to(tree: ast.Module, node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda of the tree has this code. The file is compiled with the lambda in a line of its own behind it."""
    line, mark = node.lineno, 1 + max(getattr(n, "end_lineno", None) or 0 for n in ast.walk(tree))
    node.lineno = mark
    try:
        pending = [compile(tree, code.co_filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    finally:
        node.lineno = line
    while pending:
        for inner in pending.pop().co_consts:
            if not isinstance(inner, CodeType):
                continue
            if inner.co_firstlineno == mark:
                return inner.replace(co_firstlineno=line) == code
            pending.append(inner)
    return False
