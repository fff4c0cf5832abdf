"""Annotations of functions as objects: text (`from __future__ import annotations`) is evaluated with the names that the
function sees, and those of the function around it while that runs."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import Any


def enclosing_names(func: Callable, depth: int = 1) -> Mapping[str, Any]:
    """The variables of the running function, or class, in which another one is being declared; none at module level. `depth`
    frames belong to who asks."""
    parts = func.__qualname__.split(".")
    outer = next((part for part in reversed(parts[:-1]) if part != "<locals>"), None)
    frame: types.FrameType | None = sys._getframe(depth + 1) if outer is not None else None
    file = func.__code__.co_filename
    while frame is not None:
        if frame.f_code.co_name == outer and frame.f_code.co_filename == file:
            return frame.f_locals
        frame = frame.f_back
    return {}


def annotations_of(func: Callable, names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a function's parameters are annotated with, None without, and what it returns (`"return"`) where it says so. Text
    that can't be evaluated stays text. `names` are further ones."""
    given = func.__annotations__
    code = func.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    found = {name: given.get(name) for name in code.co_varnames[:count]}
    if "return" in given:
        found["return"] = given["return"]
    texts = [name for name, annotation in found.items() if isinstance(annotation, str)]
    if not texts:
        return found
    known = dict(names or {})
    for name, cell in zip(code.co_freevars, func.__closure__ or ()):
        try:
            known[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in texts:
        try:
            found[name] = eval(found[name], func.__globals__, known)  # noqa: S307 - the program's own annotation
        except Exception:  # noqa: BLE001, S112 - whatever it raises
            continue
    return found
