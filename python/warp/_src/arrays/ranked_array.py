"""`wp.array1d` … `wp.array4d`: `wp.array` with the number of dimensions given."""

from __future__ import annotations

from typing import Any

from warp._src.arrays.array import array


class RankedArray:
    """`wp.array2d` and its kin, for annotations and for making arrays."""

    def __init__(self, ndim: int):
        self.ndim = ndim
        self.__name__ = self.__qualname__ = f"array{ndim}d"
        self.__doc__ = f"wp.array with ndim={ndim}."

    def __call__(self, *args: Any, **kwargs: Any) -> array:
        if kwargs.setdefault("ndim", self.ndim) != self.ndim:
            raise RuntimeError(f"{self.__name__} has {self.ndim} dimensions, not {kwargs['ndim']}")
        return array(*args, **kwargs)

    def __getitem__(self, dtype: Any) -> array:
        if isinstance(dtype, tuple):
            raise TypeError(f"{self.__name__}[…] takes a single type parameter, the dtype; the name says the rank")
        return array(dtype=dtype, ndim=self.ndim)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, array) and value.ndim == self.ndim

    def __repr__(self) -> str:
        return f"<warp {self.__name__}>"


array1d, array2d, array3d, array4d = (RankedArray(ndim) for ndim in (1, 2, 3, 4))
