"""`wp.ref[T]`: annotates a parameter of a function that changes the caller's variable; and `wp.address_of`."""

from __future__ import annotations

from typing import Any

from warp._src.kernels.resolver import describe
from warp._src.values import types as wt


class ref:  # noqa: N801 - a type of annotations, as wp.array is
    """A parameter by reference: what a function assigns to it, its caller's variable, component, field or array element
    has afterwards.

        @wp.func
        def push(x: wp.ref[float], by: float):
            x += by

    The argument must be something that can be assigned to. Its value is handed in and handed back when the function
    returns.
    """

    def __init__(self, dtype: Any):
        self.dtype = dtype

    def __class_getitem__(cls, dtype: Any) -> ref:
        return cls(dtype)

    @property
    def value_type(self) -> Any:
        """The type of the value: the same as `dtype`."""
        return self.dtype

    def _wp_answer_(self) -> tuple:
        """What the compiler is told of a name that means this annotation."""
        return ("ref", describe(self.dtype))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ref) and wt.types_equal(self.dtype, other.dtype)

    def __hash__(self) -> int:
        handle = wt.type_handle_or_none(self.dtype)
        return hash((ref, handle.name if handle is not None else None))

    def __repr__(self) -> str:
        return f"wp.ref[{wt.type_repr(self.dtype)}]"


def address_of(value: Any) -> Any:
    """In kernels: the address, a uint64, of an array element, or of a variable that a function gets in this call.

    Native functions read and write there. Elements of arrays, their fields and components keep their addresses. A variable
    lies in memory only while the function runs whose argument `wp.address_of(x)` is; afterwards it has what the function left
    there.
    """
    raise RuntimeError("wp.address_of has a meaning only in kernels")


address_of._wp_builtin_ = "address_of"  # type: ignore[attr-defined]
