"""Elements for random programs (tile_own_random.py): types of 1 to 16 bytes, and what their functions do in kernels and in NumPy. Numbers are small
and whole, so results are exact in every type and order."""

import dataclasses

import numpy as np

@dataclasses.dataclass(frozen=True)
class Kind:
    """A type of elements: numbers of one type under names."""

    name: str
    text: str
    scalar: type
    parts: tuple[str, ...] = ("",)
    sums: bool = True

    @property
    def unsigned(self) -> bool:
        return np.issubdtype(self.scalar, np.unsignedinteger)

    @property
    def count(self) -> int:
        return len(self.parts)

    def built(self, parts) -> str:
        """The text of an element of these numbers."""
        made = f"make_{self.name}" if self.name in ("Pair", "Bytes") else f"T_{self.name}"
        return f"{made}({', '.join(parts)})"

    def numbers(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0 if self.unsigned else -8, 9, size=(count, self.count)).astype(self.scalar)


VECTOR = tuple(f"[{i}]" for i in range(8))
KINDS = [
    Kind("i8", "wp.int8", np.int8),
    Kind("u8", "wp.uint8", np.uint8),
    Kind("f16", "wp.float16", np.float16, sums=False),
    Kind("i16", "wp.int16", np.int16),
    Kind("f32", "wp.float32", np.float32),
    Kind("u32", "wp.uint32", np.uint32),
    Kind("f64", "wp.float64", np.float64),
    Kind("i64", "wp.int64", np.int64),
    Kind("vec2h", "wp.types.vector(length=2, dtype=wp.float16)", np.float16, VECTOR[:2], sums=False),
    Kind("vec3", "wp.vec3", np.float32, VECTOR[:3]),
    Kind("vec3b", "wp.types.vector(length=3, dtype=wp.int8)", np.int8, VECTOR[:3]),
    Kind("vec4", "wp.vec4", np.float32, VECTOR[:4]),
    Kind("mat22", "wp.mat22", np.float32, ("[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]")),
    Kind("Pair", "Pair", np.float32, (".p", ".v[0]", ".v[1]", ".v[2]"), sums=False),
    Kind("Bytes", "Bytes", np.int8, (".a", ".b", ".c"), sums=False),
]
STRUCTS = """
@wp.struct
class Pair:
    p: wp.float32
    v: wp.vec3


@wp.struct
class Bytes:
    a: wp.int8
    b: wp.int8
    c: wp.int8


@wp.func
def make_Pair(a: wp.float32, b: wp.float32, c: wp.float32, d: wp.float32):
    one = Pair()
    one.p = a
    one.v = wp.vec3(b, c, d)
    return one


@wp.func
def make_Bytes(a: wp.int8, b: wp.int8, c: wp.int8):
    one = Bytes()
    one.a = a
    one.b = b
    one.c = c
    return one


"""


def limited(values: np.ndarray) -> np.ndarray:
    low = 0 if np.issubdtype(values.dtype, np.unsignedinteger) else -8
    return np.clip(values, values.dtype.type(low), values.dtype.type(8))


def mixed(x, y):
    return limited(x - y)


def twisted(x):
    return limited(np.roll(x, -1, axis=-1) * x.dtype.type(2) - x.dtype.type(1))


def turned_into(x, kind: Kind):
    parts = x[..., [c % x.shape[-1] for c in range(kind.count)]]
    return (np.abs(parts) if kind.unsigned else parts).astype(kind.scalar)


def functions_of(kind: Kind) -> str:
    """A type's name and functions for kernels."""
    t, e = f"T_{kind.name}", f"E_{kind.name}"
    limit = "wp.min(x, {0}(8))" if kind.unsigned else "wp.clamp(x, {0}(-8), {0}(8))"
    turned = [*kind.parts[1:], kind.parts[0]]
    return f"""
{t} = {kind.text}
{e} = wp.{np.dtype(kind.scalar).name}


@wp.func
def limit_{kind.name}(x: {e}):
    return {limit.format(e)}


@wp.func
def mix_{kind.name}(x: {t}, y: {t}):
    return {kind.built(f"limit_{kind.name}(x{p} - y{p})" for p in kind.parts)}


@wp.func
def bound_{kind.name}(x: {t}):
    return {kind.built(f"limit_{kind.name}(x{p})" for p in kind.parts)}


@wp.func
def twist_{kind.name}(x: {t}):
    return {kind.built(f"limit_{kind.name}(x{p} * {e}(2) - {e}(1))" for p in turned)}

"""


def conversion(kind: Kind, other: Kind) -> str:
    """A function that makes an element of another type one of this."""
    e = f"E_{kind.name}"
    change = f"{e}(wp.abs(x{{}}))" if kind.unsigned and not other.unsigned else f"{e}(x{{}})"
    parts = (change.format(other.parts[c % other.count]) for c in range(kind.count))
    return f"""
@wp.func
def {kind.name}_of_{other.name}(x: T_{other.name}):
    return {kind.built(parts)}

"""
