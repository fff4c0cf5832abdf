"""Operators on arrays: element by element, by `wp.map`, into new arrays or in place. Comparison stays identity."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

_Class = TypeVar("_Class", bound=type)


# What computes them lies above arrays: `api/wiring.py` sets these.
operate: Callable[[str, Any, Any, Any], Any]
operate_unary: Callable[[str, Any], Any]
product: Callable[[Any, Any], Any]


def _operate(name: str, a: Any, b: Any, out: Any = None) -> Any:
    return operate(name, a, b, out)


class ArrayOperators:
    """What `array` and `indexedarray` have in common."""

    def __add__(self, other: Any) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operate("add", other, self)

    def __iadd__(self, other: Any) -> Any:
        return _operate("add", self, other, self)

    def __sub__(self, other: Any) -> Any:
        return _operate("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operate("sub", other, self)

    def __isub__(self, other: Any) -> Any:
        return _operate("sub", self, other, self)

    def __mul__(self, other: Any) -> Any:
        return _operate("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operate("mul", other, self)

    def __imul__(self, other: Any) -> Any:
        return _operate("mul", self, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operate("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operate("div", other, self)

    def __itruediv__(self, other: Any) -> Any:
        return _operate("div", self, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _operate("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operate("floordiv", other, self)

    def __ifloordiv__(self, other: Any) -> Any:
        return _operate("floordiv", self, other, self)

    def __mod__(self, other: Any) -> Any:
        return _operate("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _operate("mod", other, self)

    def __imod__(self, other: Any) -> Any:
        return _operate("mod", self, other, self)

    def __pow__(self, other: Any) -> Any:
        return _operate("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _operate("pow", other, self)

    def __ipow__(self, other: Any) -> Any:
        return _operate("pow", self, other, self)

    def __neg__(self) -> Any:
        return operate_unary("neg", self)

    def __pos__(self) -> Any:
        return operate_unary("pos", self)


def with_operators(cls: _Class) -> _Class:
    """Class decorator: adds the operators. (Classes of the binding have one base, so they can't be inherited.)"""
    for name, method in vars(ArrayOperators).items():
        if callable(method):
            setattr(cls, name, method)
    return cls
