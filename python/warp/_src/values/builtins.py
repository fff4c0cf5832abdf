"""Builtins as Python functions: made from the compiler's rows on first use, evaluated by the interpreter.

A builtin has the same result here as in a kernel: float32, int32 and bool come back as Python numbers, other scalars as
their scalar types. Types must match exactly, as in kernels. Lists, tuples and NumPy arrays are taken for vectors and
matrices, as old programs pass them, with a warning.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.session.logger import warn
from warp._src.values import constructors
from warp._src.values import types as wt

_call = _weft.call_builtin


def _row_params(signature: str) -> dict[str, tuple[str, str]]:
    """Parameters of 'lerp(a: F, b: F, t: F = 1.0) -> F': type words and the text of the default, if any."""
    depth, params, word = 0, {}, ""
    end = signature.find(") ->")  # the result may be a tuple
    for char in signature[signature.index("(") + 1 : end if end >= 0 else signature.rindex(")")] + ",":
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            name, _, rest = word.partition(":")
            words, _, default = rest.partition("=")
            if name.strip():
                params[name.strip()] = words.strip(), default.strip()
            word = ""
        else:
            word += char
    return params


def _default(words: str, text: str) -> Any:
    """A parameter's default as a value; None if it has none, or one whose type depends on other arguments."""
    if not text or (words not in ("int", "float") and not hasattr(wt, words)):
        return None
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    return number if words in ("int", "float") else getattr(wt, words)(number)


class BuiltinFunction:
    """A builtin, callable from Python. Kernels see it under its key, whatever name it is bound to."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.__name__ = self.__qualname__ = key
        self.__module__ = "warp"
        rows = _weft.builtin_rows(key)
        self.params = [_row_params(signature) for signature, _, _ in rows]
        self._python: Callable | None = constructors.FUNCTIONS.get(key)
        self._makes_tiles = self._python is None and (key.startswith("tile_") or key == "untile")
        lines = [f"{signature}\n    {doc}" for signature, doc, _ in rows]
        self.__doc__ = "\n".join(lines) or (self._python.__doc__ if self._python else None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._python is not None:
            return self._python(*args, **kwargs)
        if self._makes_tiles:
            raise RuntimeError(
                f"wp.{self.key}() can be called only in kernels: tiles live there. Call it in a function with @wp.kernel, and "
                "start that with wp.launch_tiled(…)"
            )
        if kwargs:
            args = self._bound(args, kwargs)
        try:
            return _call(self.key, *args)
        except (TypeError, RuntimeError):
            if any(isinstance(arg, _SEQUENCES) for arg in args):
                for result in self._with_sequences(args):
                    return result
            self._explain(args)
            raise

    def _with_sequences(self, args: tuple) -> Any:
        """Results of the call with sequences as the vectors, matrices… that they may stand for, the likeliest first."""
        for values in itertools.product(*map(_meanings, args)):
            try:
                result = _call(self.key, *values)
            except (TypeError, RuntimeError):
                continue
            warn(
                "lists, tuples and NumPy arrays as arguments of built-in functions are deprecated; make values of types "
                "such as wp.vec3 or wp.mat33 of them",
                DeprecationWarning,
                stacklevel=3,
            )
            yield result

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """Keyword arguments in the order of the first row that has these names, today's or older ones.

        Parameters that are left out before the last one given get their defaults; later ones get them from the compiler.
        """
        for params, older in zip(self.params, _weft.builtin_older_names(self.key)):
            named = {older.get(name, name): value for name, value in kwargs.items()}
            rest = list(params)[len(args) :]
            if len(named) < len(kwargs) or not all(name in rest for name in named):
                continue
            last = max(rest.index(name) for name in named)
            values = [named[name] if name in named else _default(*params[name]) for name in rest[: last + 1]]
            if all(value is not None or name in named for name, value in zip(rest, values)):
                return (*args, *values)
        self._no_match((*args, *kwargs.values()), " by the names " + ", ".join(kwargs))
        return ()

    def _explain(self, args: tuple) -> None:
        """A better word on arguments that no builtin takes."""
        for arg in args:
            if isinstance(arg, (list, tuple, np.ndarray, str, bytes)):
                raise TypeError(
                    f"'{self.key}' cannot be called with a {type(arg).__name__}: built-in functions take values of "
                    "types such as wp.vec3, wp.mat33 or wp.array; convert it first, for instance wp.vec3(…)"
                ) from None
            if arg is None or isinstance(arg, type):
                self._no_match(args)

    def _no_match(self, args: tuple, how: str = "") -> None:
        given = ", ".join(type_name(arg) for arg in args)
        text = f"Couldn't find a function '{self.key}' compatible with the arguments '{given}'{how}"
        raise RuntimeError(text) from None

    def __repr__(self) -> str:
        return f"<builtin function {self.key}>"

    def __reduce__(self) -> tuple:
        return python_function, (self.key,)


_SEQUENCES = (list, tuple, np.ndarray)


def _component_class(numbers: list) -> Any:
    """The scalar type of numbers; None if they have several. Integers of Python may stand among its floats."""
    found = {wt.scalar_class(type(x)) for x in numbers}
    if found == {wt.float32, wt.int32} and all(type(x) in (int, float) for x in numbers):
        return wt.float32
    return found.pop() if len(found) == 1 else None


def _meanings(value: Any) -> list:
    """The values that a sequence of numbers may stand for; one of rows is a matrix, any other object itself."""
    if not isinstance(value, _SEQUENCES):
        return [value]
    items = list(value)
    rows = [list(item) for item in items if isinstance(item, (*_SEQUENCES, wt.Vector))]
    numbers = [x for row in rows for x in row] if rows else items
    scalar = _component_class(numbers)
    if scalar is None or (rows and (len(rows) != len(items) or len({len(row) for row in rows}) != 1)):
        return []
    count = len(numbers)
    if rows:
        return [wt.matrix((len(rows), count // len(rows)), scalar)(*numbers)]
    kinds: list[Any] = [wt.vector(count, scalar)]
    if count == 4 and scalar in wt.float_types:
        kinds.append(wt.quaternion(scalar))
    if count == 7 and scalar in wt.float_types:
        kinds.append(wt.transformation(scalar))
    shapes = [(r, count // r) for r in range(2, count // 2 + 1) if count % r == 0]
    shapes.sort(key=lambda shape: abs(shape[0] - shape[1]))  # square ones first
    return [kind(*numbers) for kind in (*kinds, *(wt.matrix(shape, scalar) for shape in shapes))]


def type_name(value: Any) -> str:
    """The type of an argument as messages name it."""
    if isinstance(value, type):
        return f"type {value.__name__}"
    return wt.type_repr(type(value))


_functions: dict[str, BuiltinFunction] = {}
_names: frozenset[str] | None = None


def names() -> frozenset[str]:
    """The names of all builtins that Python code may call."""
    global _names
    if _names is None:
        public = (name for name in _weft.builtin_names() if not name.startswith("_"))
        _names = frozenset((*public, *constructors.FUNCTIONS))
    return _names


def python_function(name: str) -> BuiltinFunction | None:
    """The builtin of this name as a Python function, always the same object; None if there is none."""
    function = _functions.get(name)
    if function is None and name in names():
        function = _functions.setdefault(name, BuiltinFunction(name))
    return function
