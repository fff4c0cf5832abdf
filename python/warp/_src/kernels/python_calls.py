"""Calls of `wp.func` functions from Python: which overload a call means.

It is the one whose annotated types are exactly those of the values. Python's bool, int and float are bool, int32 and float32;
values of Warp have the type they have; NumPy's numbers, tuples and None fit nothing that has a type. `Any` and its like fit
everything, after what fits exactly. Programs call small functions (an index in a triangle) again and again with values of the same
classes: where these alone decide, a function remembers what was chosen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from warp import _weft
from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.resolver import describe
from warp._src.values import types as wt

_MOST_REMEMBERED = 64  # a program may make classes without end

_PLAIN = {bool: wt.type_handle(bool), int: wt.type_handle(int), float: wt.type_handle(float)}


def _type_of(value: Any) -> Any:
    """The type of a value in the kernel language; None if it has none."""
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain
    if isinstance(value, _weft.Array):
        return _weft.type_array(value._element, value.ndim) if value._valid else None
    if getattr(value, "_wp_indexed_", False):
        return _weft.type_indexed_array(value.data._element, value.ndim)
    return getattr(value, "_wp_type_", None)


def _class_tells_type(of: type) -> bool:
    """Whether all values of a class have one type."""
    return of in _PLAIN or (not issubclass(of, _weft.Array) and isinstance(getattr(of, "_wp_type_", None), _weft.Type))


class CallForm:
    """What a function takes when it is called from Python."""

    def __init__(self, func: Callable) -> None:
        self.signature = inspect.signature(func)
        self.wanted: dict[str, tuple] = {}
        for name, annotation in annotations_of(func).items():
            answer = None if annotation is None or isinstance(annotation, str) else describe(annotation)
            if name != "return" and answer is not None:
                self.wanted[name] = answer

    def distance(self, arguments: dict[str, Any]) -> int | None:
        """How many arguments are taken by parameters that fit more than one type; None if the call does not fit."""
        generic = 0
        for name, value in arguments.items():
            answer = self.wanted.get(name, ("generic",))
            if answer[0] == "type":
                given = _type_of(value)
                if given is None or given != answer[1]:
                    return None
                continue
            if answer[0] in _PATTERNS and not _PATTERNS[answer[0]](value, answer):
                return None
            generic += 1
        return generic


def _is_array_of(value: Any, wanted: tuple) -> bool:
    """Whether a value is an array of this rank, and of this element type if the annotation has one."""
    given = _type_of(value)
    kind = f"{wanted[3]}array" if len(wanted) > 3 else "array"
    if given is None or given.kind != kind or value.ndim != wanted[2]:
        return False
    return wanted[1] is None or wanted[1][0] != "type" or given.element == wanted[1][1]


def _is_composite_of(value: Any, wanted: tuple) -> bool:
    """Whether a value is a vector or matrix of these extents (0: any), and of this scalar type if the annotation has one."""
    given = _type_of(value)
    if given is None or given.kind != ("vec" if wanted[0] == "generic_vector" else "mat"):
        return False
    if any(extent and extent != has for extent, has in zip(wanted[2:], (given.rows, given.cols))):
        return False
    return wanted[1] is None or wanted[1][0] != "type" or given.element == wanted[1][1]


_PATTERNS: dict[str, Callable[[Any, tuple], bool]] = {
    "generic_array": _is_array_of,
    "generic_vector": _is_composite_of,
    "generic_matrix": _is_composite_of,
}
"""What is to be asked of a value where the annotation leaves something open."""


def choose(function: Any, args: tuple, kwargs: dict[str, Any]) -> Callable:
    """The Python function of the overload that a call means, as `_choose` finds it."""
    chosen = _choose(function, args, kwargs)
    classes = tuple(map(type, args))
    if not kwargs and all(map(_class_tells_type, classes)):
        known = function._chosen if len(function._chosen) < _MOST_REMEMBERED else {}
        function._chosen = {**known, classes: chosen}
    return chosen


def _choose(function: Any, args: tuple, kwargs: dict[str, Any]) -> Callable:
    """The Python function of the overload that a call means. RuntimeError if there is none; TypeError, in Python's own words,
    for the wrong number of arguments of a function without overloads."""
    best: tuple[int, Callable] | None = None
    for candidate in reversed(function.overloads):
        form = candidate._call_form
        if form is None:
            form = candidate._call_form = CallForm(candidate.func)
        try:
            arguments = form.signature.bind(*args, **kwargs).arguments
        except TypeError:
            if not function.others:
                raise
            continue
        distance = form.distance(arguments)
        if distance == 0:
            return candidate.func
        if distance is not None and (best is None or distance < best[0]):
            best = distance, candidate.func
    if best is not None:
        return best[1]
    given = repr(args) if not kwargs else f"{args!r}, {kwargs!r}"
    raise RuntimeError(f"Error calling function '{function.key}', no overload found for arguments {given}")
