"""Types of elements for tests of tiles beside NumPy: numbers of all widths, vectors, matrices, quaternions, transforms, structs.

Elements are arrays of NumPy whose last dimension are an element's numbers. Numbers are small and whole, so that sums and products are exact
in every type, whatever their order; bfloat16 is float32 in NumPy.
"""

import dataclasses

import numpy as np

import warp as wp


@wp.struct
class Pair:
    p: wp.float32
    v: wp.vec3


@wp.struct
class Packed:
    x: wp.float64
    y: wp.float32
    a: wp.int8
    b: wp.int8
    h: wp.float16


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    dtype: type  # of Weft
    scalar: type  # of NumPy
    inner: tuple[int, ...] = ()
    limit: int = 3  # of the numbers

    @property
    def count(self) -> int:
        return int(np.prod(self.inner, dtype=int))

    @property
    def is_number(self) -> bool:
        return self.inner == () and self.name != "bool"

    @property
    def is_float(self) -> bool:
        return np.issubdtype(self.scalar, np.floating) or self.name == "bfloat16"

    @property
    def is_unsigned(self) -> bool:
        return np.issubdtype(self.scalar, np.unsignedinteger)

    @property
    def is_struct(self) -> bool:
        return self.name in ("Pair", "Packed")

    @property
    def one(self) -> np.ndarray:
        """What tile_ones has: every number is 1, but of quaternions the first alone."""
        return np.array([1, 0, 0, 0], self.scalar) if self.name == "quat" else np.ones(self.count, self.scalar)

    def numbers(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        low, high = (0, 2 * self.limit) if self.is_unsigned else (-self.limit, self.limit)
        if self.name == "bool":
            low, high = 0, 1
        if self.name == "Packed":
            return self._packed(rng, shape)
        return rng.integers(low, high + 1, size=(*shape, self.count)).astype(self.scalar)

    def _packed(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        values = np.zeros(shape, dtype=Packed.numpy_dtype())
        for name in values.dtype.names:
            values[name] = rng.integers(-9, 9, size=shape)
        return values.view(np.uint8).reshape(*shape, 16)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.zeros((*shape, self.count), self.scalar)

    def array(self, values: np.ndarray, device: str) -> wp.array:
        shape = values.shape[:-1]
        values = np.ascontiguousarray(values)
        if self.is_struct:
            values = values.view(self.dtype.numpy_dtype()).reshape(shape)
        elif self.name == "bfloat16":
            values = (values.view(np.uint32) >> 16).astype(np.uint16).reshape(shape)
        else:
            values = values.reshape(*shape, *self.inner)
        return wp.array(values, dtype=self.dtype, device=device)

    def values(self, array: wp.array) -> np.ndarray:
        got = np.ascontiguousarray(array.numpy())
        shape = tuple(array.shape)
        if self.name == "bfloat16":
            return (got.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(*shape, 1)
        return got.view(self.scalar).reshape(*shape, self.count)


def vector(length: int, dtype):
    return wp.types.vector(length=length, dtype=dtype)


ALL = [
    Kind("float16", wp.float16, np.float16),
    Kind("bfloat16", wp.bfloat16, np.float32, limit=1),
    Kind("float32", wp.float32, np.float32),
    Kind("float64", wp.float64, np.float64),
    *(
        Kind(name, getattr(wp, name), getattr(np, name))
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    ),
    Kind("bool", wp.bool, np.bool_),
    Kind("vec3", wp.vec3, np.float32, (3,)),
    Kind("vec2f", wp.vec2f, np.float32, (2,)),
    Kind("vec2d", wp.vec2d, np.float64, (2,)),
    Kind("vec2h", wp.vec2h, np.float16, (2,)),
    Kind("vec5d", vector(5, wp.float64), np.float64, (5,)),
    Kind("vec3b", vector(3, wp.int8), np.int8, (3,)),
    Kind("mat22", wp.mat22, np.float32, (2, 2)),
    Kind("mat23d", wp.types.matrix(shape=(2, 3), dtype=wp.float64), np.float64, (2, 3)),
    Kind("quat", wp.quat, np.float32, (4,)),
    Kind("transform", wp.transform, np.float32, (7,)),
    Kind("Pair", Pair, np.float32, (4,)),
    Kind("Packed", Packed, np.uint8, (16,)),
]
BY_NAME = {kind.name: kind for kind in ALL}
NUMBERS = [kind for kind in ALL if kind.is_number]
WHOLE = [kind for kind in NUMBERS if not kind.is_float]
FLOATS = [kind for kind in NUMBERS if kind.is_float]
WIDE_FLOATS = [BY_NAME["float32"], BY_NAME["float64"]]
VECTORS = [kind for kind in ALL if kind.name.startswith(("vec", "mat"))]
SUMS = [*NUMBERS, *VECTORS]  # what has + and −
