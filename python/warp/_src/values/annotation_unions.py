"""Unions in annotations: `wp.array[float] | None`, where what stands left of the bar is an object and no class."""

from __future__ import annotations

from typing import Any, Union


class InUnions:
    """What annotates parameters as an object may be one of several in a union, as classes may."""

    __slots__ = ()

    def __or__(self, other: Any) -> Any:
        return _union(self, self, other)

    def __ror__(self, other: Any) -> Any:
        return _union(self, other, self)


def _union(annotation: Any, first: Any, second: Any) -> Any:
    """The union of two; NotImplemented for an array that has elements."""
    if getattr(annotation, "_valid", False):
        return NotImplemented
    try:
        return Union[first, second]
    except TypeError:  # Python 3.10 lets nothing into a union that can't be called
        return Any
