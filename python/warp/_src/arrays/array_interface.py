"""Arrays of other libraries, in and out.

Out: the memory of an array as a NumPy view (`numpy_view`), for every element type. In: whatever programs hand to
`wp.array` as one NumPy array (`as_ndarray`), by buffer protocol, `__array_interface__` or `__array__`. Interfaces are
checked before anything is read through them. `as_array` serves `wp.launch`: foreign arrays without a copy.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from warp import _weft
from warp._src.values.scalars import NUMPY_NAMES, ScalarBase, memory_dtype, scalar_class
from warp._src.values.struct import numpy_dtype
from warp._src.values.types import ARRAY_KINDS, type_handle_or_none

array_class: Any = None
"""The class `array`, which is built on this; `api/wiring.py` sets it."""

INT64_MAX = (1 << 63) - 1


class Layout:
    """How NumPy sees the elements of a type: `base` dtype, `inner` dimensions (those of a vector or matrix) and their
    strides; and what Python code asks of a type often."""

    __slots__ = ("handle", "kind", "scalar", "components", "align", "size", "holds_arrays", "base", "inner", "strides")

    def __init__(self, handle: _weft.Type):
        self.handle = handle
        self.kind = kind = handle.kind
        self.scalar = handle.scalar if kind != "struct" else ""
        self.components, self.align, self.size = handle.components, handle.align, handle.size
        self.holds_arrays = False
        self.inner: tuple[int, ...] = ()
        if kind == "struct":
            fields = handle.fields
            texture = handle.is_library and handle.name.startswith("Texture")  # its texels are kept like an array's memory
            self.holds_arrays = texture or any(
                f.kind in ARRAY_KINDS or (f.kind == "struct" and layout(f).holds_arrays)
                for _, f, _ in fields
            )
            self.base = numpy_dtype(handle)
        elif kind in ("scalar", "vec", "mat", "quat", "transform"):
            self.base = memory_dtype(self.scalar)
            if kind != "scalar":
                self.inner = (handle.rows, handle.cols) if kind == "mat" else (handle.components,)
        else:
            raise TypeError(f"arrays can't hold elements of type {handle.name}")
        self.strides = tuple(self.base.itemsize * int(np.prod(self.inner[d + 1 :])) for d in range(len(self.inner)))


_layouts: dict[_weft.Type, Layout] = {}


def layout(handle: _weft.Type) -> Layout:
    """The layout of a type, made once."""
    known = _layouts.get(handle)
    if known is None:
        known = _layouts[handle] = Layout(handle)
    return known


def holds_arrays(handle: _weft.Type) -> bool:
    """Whether elements are structs with arrays inside, whose memory somebody must keep."""
    return layout(handle).holds_arrays


def numpy_view(array: Any, known: Layout | None = None) -> np.ndarray:
    """The array's memory as a NumPy array; it keeps the memory alive."""
    if known is None:
        known = layout(array._element)
    if array.size == 0:
        return np.empty(array.shape + known.inner, known.base)
    memory, offset = array._memory()
    return np.ndarray(array.shape + known.inner, known.base, memory, offset, array.strides + known.strides)


def no_elements(annotation: Any) -> np.ndarray:
    """What `numpy_view` is of an annotation."""
    handle = type_handle_or_none(annotation.dtype)
    shape = (0,) * annotation.ndim
    return np.empty(shape) if handle is None else np.empty(shape + layout(handle).inner, layout(handle).base)


def on_host(array: Any) -> Any:
    """The array itself if the CPU reaches its memory, else a copy on the host."""
    if array._place < 0:
        return array
    made = _weft.array_new(array_class, array._element, array.shape, False, False)
    made._copy_from(array)
    return made


def staging(array: Any) -> Any:
    """Where the elements of an array are written that are to be replaced: its own memory, or an array on the host whose
    elements it takes afterwards, because it lies elsewhere or a graph is captured on the CPU."""
    if array._place < 0 and not _weft.host_capturing():
        return array
    return _weft.array_new(array_class, array._element, array.shape, False, False)


def on_device(data: Any) -> bool:
    """Whether data for an array lies on a CUDA device."""
    if isinstance(data, _weft.Array):
        return data._place >= 0
    return not isinstance(data, (np.ndarray, list, tuple)) and hasattr(data, "__cuda_array_interface__")


def host_view(array: Any, known: Layout | None = None) -> np.ndarray:
    """The elements as a NumPy array: the memory itself on the host, a copy of a device's."""
    return numpy_view(on_host(array), known)


# ---- Values --------------------------------------------------------------------------------------------------------


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """Numbers rounded to bfloat16, as bits. 16-bit unsigned integers and ml_dtypes' bfloat16 are bits already."""
    if values.dtype.name == "bfloat16":
        return values.view(np.uint16)
    if values.dtype == np.uint16:
        return values
    with np.errstate(all="ignore"):
        near = values.astype(np.float32)
        bits = near.view(np.uint32) if near.ndim else near.reshape(1).view(np.uint32).reshape(())
        if values.dtype.itemsize > 4 or values.dtype.kind != "f":
            # Through a float32 rounded to odd, so that nothing is rounded twice.
            exact = near.astype(np.float64) if values.dtype.kind == "f" else near.astype(np.longdouble)
            beyond = np.abs(exact) > np.abs(values.astype(exact.dtype))
            bits = np.where(exact != values, (bits - beyond.astype(np.uint32)) | np.uint32(1), bits)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(near), np.uint16(0x7FC0), rounded.astype(np.uint16))


def bfloat16_values(bits: np.ndarray) -> np.ndarray:
    """The numbers of bfloat16 memory as float32."""
    return (bits.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def host_numbers(array: Any) -> np.ndarray:
    """The elements as numbers, those of bfloat16 as float32."""
    values = host_view(array)
    return bfloat16_values(values) if array._element.scalar == "bfloat16" else values


def comparable(values: np.ndarray, known: Layout) -> np.ndarray:
    """Values ready to be copied into memory of the element type by NumPy, whose conversions do the rest. RuntimeError
    if they are no numbers (or, for structs, not of the same fields)."""
    dtype = values.dtype
    if dtype == known.base and known.scalar != "bfloat16":
        return values
    if known.kind == "struct":
        if dtype.names != known.base.names:
            raise RuntimeError(f"data of dtype {dtype} does not have the fields of the struct {known.handle.name}")
        return values
    if dtype.kind == "O":
        values = _numbers_of_objects(values, known)
        dtype = values.dtype
    if dtype.kind not in "biuf" and dtype.name != "bfloat16":
        raise RuntimeError(f"data of dtype {dtype} can't become an array of {known.scalar}: it holds no numbers")
    if known.scalar == "bfloat16":
        return bfloat16_bits(values).view(known.base)
    return values if dtype.kind != "V" else bfloat16_values(values)


def _numbers_of_objects(values: np.ndarray, known: Layout) -> np.ndarray:
    if any(isinstance(x, (str, bytes)) for x in values.flat):
        raise RuntimeError(f"text can't become an array of {known.scalar}")
    try:
        return values.astype(np.float64 if known.scalar == "bfloat16" else known.base)
    except (TypeError, ValueError, OverflowError) as error:
        raise RuntimeError(f"the data can't become an array of {known.scalar}: {error}") from error


def element_handle(values: np.ndarray) -> _weft.Type:
    """The scalar type that a NumPy dtype stands for; RuntimeError if it stands for none."""
    scalar = scalar_class(values.dtype.newbyteorder("=") if values.dtype.kind in "iuf" else values.dtype)
    if scalar is None:
        first = next((x for x in values.flat), None) if values.dtype.kind == "O" else None
        handle = getattr(first, "_wp_type_", None)
        if isinstance(handle, _weft.Type):
            return handle
        raise RuntimeError(
            f"data of dtype {values.dtype} has no element type; give dtype= and data that converts to it"
        )
    return scalar._wp_type_


def folded_shape(shape: tuple[int, ...], known: Layout) -> tuple[int, ...]:
    """The array shape that data of this shape has when its trailing dimensions are vectors or matrices. Data in which
    the components lie flat in the last dimension is taken as well, and extents of 1 behind them are left out;
    RuntimeError if the sizes do not fit."""
    inner, count = known.inner, known.components
    if not inner:
        return shape
    outer = shape
    while outer:
        if len(outer) >= len(inner) and outer[-len(inner) :] == inner:
            return outer[: -len(inner)] or (1,)
        if outer[-1] == count and len(outer) > 1:
            return outer[:-1]
        if outer[-1] % count == 0:
            return (*outer[:-1], outer[-1] // count)
        if outer[-1] != 1:
            break
        outer = outer[:-1]
    raise RuntimeError(
        f"data of shape {shape} can't become an array of {known.handle.name}: its last dimensions must be {inner}, or "
        f"the last one a multiple of {count}"
    )


# ---- Foreign arrays ------------------------------------------------------------------------------------------------


class _Checked:
    """An `__array_interface__` that was looked at; keeps the object it came from."""

    def __init__(self, interface: dict, owner: object):
        self.__array_interface__ = interface
        self.owner = owner


def _integers(values: Any, what: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(v) for v in values)
    except TypeError:
        raise RuntimeError(
            f"the object's __array_interface__ is wrong: {what} is {values!r}, not a tuple of integers"
        ) from None


def checked_interface(interface: Any, owner: object) -> np.ndarray:
    """The NumPy array behind an `__array_interface__`. RuntimeError for one that can't be true: no shape, negative or
    overflowing extents, strides beyond the address space, no memory."""
    if not isinstance(interface, dict):
        raise RuntimeError(f"the object's __array_interface__ is wrong: it is a {type(interface).__name__}, not a dict")
    missing = [key for key in ("shape", "typestr") if key not in interface]
    if missing:
        raise RuntimeError(f"the object's __array_interface__ is wrong: it has no '{missing[0]}'")
    if interface.get("mask") is not None:
        raise RuntimeError("arrays with a mask are not supported; fill the masked values first")
    shape = _integers(interface["shape"], "shape")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"the object's __array_interface__ is wrong: its shape {shape} has a negative extent")
    try:
        dtype = np.dtype(interface["typestr"])
    except TypeError as error:
        raise RuntimeError(f"the object's __array_interface__ is wrong: {error}") from error
    if dtype.hasobject:
        raise RuntimeError("memory that holds Python objects can't become an array")
    item = dtype.itemsize
    spread = item
    size = 1
    strides = interface.get("strides")
    for n in shape:
        size *= n
    if strides is None:
        spread = size * item
    else:
        strides = _integers(strides, "strides")
        if len(strides) != len(shape):
            raise RuntimeError(
                f"the object's __array_interface__ is wrong: {len(strides)} strides for {len(shape)} dimensions"
            )
        spread += sum(abs(s) * (n - 1) for s, n in zip(strides, shape)) if size else 0
    if size * item > INT64_MAX or spread > INT64_MAX:
        raise RuntimeError(
            f"the object's __array_interface__ is wrong: shape {shape} with strides {strides} reaches beyond "
            "the address space"
        )
    data = interface.get("data")
    if isinstance(data, tuple):
        if len(data) != 2 or not isinstance(data[0], int):
            raise RuntimeError("the object's __array_interface__ is wrong: data must be (address, read-only)")
        address = data[0]
        if size and item and not 0 < address <= INT64_MAX - spread:
            raise RuntimeError(
                f"the object's __array_interface__ is wrong: {address:#x} is no address for {spread} bytes"
            )
    checked = {**interface, "shape": shape, "strides": strides, "version": 3}
    if size == 0:  # NumPy asks for an address even where there is nothing
        return np.empty(shape, interface["typestr"])
    try:
        made = np.asarray(_Checked(checked, owner))
    except (ValueError, TypeError) as error:
        raise RuntimeError(f"the object's __array_interface__ is wrong: {error}") from error
    if made.dtype.hasobject:  # by its "descr"
        raise RuntimeError("memory that holds Python objects can't become an array")
    return made


def foreign_ndarray(obj: Any) -> np.ndarray | None:
    """The NumPy array over an object's own memory where it exports one; None for sequences and other objects."""
    if isinstance(obj, np.ndarray):
        return obj
    if isinstance(obj, (list, tuple, str)) or isinstance(obj, type):
        return None
    if not isinstance(obj, np.generic):
        try:
            seen = _weft.foreign_array(array_class, obj, zero_rank=True)
        except RuntimeError:  # elements or layouts that arrays don't have: NumPy may know more
            seen = None
        if seen is not None and seen._place < 0:
            values = numpy_view(seen)
            return values.reshape(()) if getattr(obj, "shape", None) == () else values
    interface = getattr(obj, "__array_interface__", None)
    if interface is not None:
        return checked_interface(interface, obj)
    try:
        memory = memoryview(obj)
    except TypeError:
        pass
    except (ValueError, BufferError) as error:
        raise RuntimeError(f"the memory of a {type(obj).__name__} can't be read: {error}") from error
    else:
        try:
            return np.asarray(memory)
        except (ValueError, TypeError, NotImplementedError) as error:
            raise RuntimeError(
                f"the buffer of a {type(obj).__name__} has a format that arrays don't have: {error}"
            ) from error
    if hasattr(obj, "__array__"):
        made = np.asarray(obj)
        return made if made.dtype.kind != "O" else None
    return None


def is_array_like(data: Any) -> bool:
    """Whether data of no dimension is an array, of which it is the one element; numbers are not."""
    return isinstance(data, np.ndarray) or (
        not isinstance(data, np.generic)
        and not hasattr(data, "_wp_type_")
        and (hasattr(data, "__array_interface__") or hasattr(data, "__array__"))
    )


def as_ndarray(data: Any) -> np.ndarray:
    """Data for an array as one NumPy array, without a copy where it is one already."""
    made = foreign_ndarray(data)
    if made is not None:
        return made
    if isinstance(data, (str, bytes)):
        raise RuntimeError("text can't become an array; the data must be a sequence of numbers")
    try:
        return np.asarray(data, dtype=_dtype_of_scalars(data))
    except (ValueError, TypeError, OverflowError) as error:
        raise RuntimeError(f"the data can't become an array: {error}") from error


def _dtype_of_scalars(data: Any) -> Any:
    """The dtype of lists of our scalars, all of one type; None for others. NumPy takes them for Python's numbers."""
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if not isinstance(first, ScalarBase):
        return None
    kinds = {type(x) for x in np.asarray(data, dtype=object).flat}
    return NUMPY_NAMES.get(type(first).__name__, np.float32) if len(kinds) == 1 else None


def alias(values: np.ndarray, known: Layout, target: Any) -> bool:
    """Makes `target` an array over the memory of a NumPy array whose trailing dimensions are the element's. False when
    dtype, alignment or layout need a copy; read-only memory does too, for kernels could write to it."""
    same = values.dtype == known.base or (known.scalar == "bfloat16" and values.dtype.name in ("bfloat16", "uint16"))
    if not same or not values.flags.writeable or not values.flags.aligned:
        return False
    rank = values.ndim - len(known.inner)
    if not 1 <= rank <= 4 or values.shape[rank:] != known.inner:
        return False
    if any(n > 1 and s != t for n, s, t in zip(known.inner, values.strides[rank:], known.strides)):
        return False
    address = values.__array_interface__["data"][0]
    if address % known.align or any(s % known.align for s in values.strides[:rank]):
        return False
    target._wrap(known.handle, values.shape[:rank], values.strides[:rank], address, values, None)
    return True


def as_array(obj: Any, type: _weft.Type, place: int = -1) -> Any:
    """An argument of `wp.launch` that C++ does not read, as an array of this array type over the object's memory: structs.
    None if the object is no such array, or the launch does not run on the CPU."""
    handle = type.element
    if place >= 0 or handle.kind != "struct":
        return None
    values = foreign_ndarray(obj)
    if values is None or values.ndim != type.rank:
        return None
    known = layout(handle)
    if values.dtype == known.base and not values.flags.writeable:
        raise RuntimeError("the memory of these structs is read-only; pass a copy")
    made = array_class.__new__(array_class)
    return made if alias(values, known, made) else None


def type_of(value: Any) -> _weft.Type | None:
    """The type that a generic parameter takes from a NumPy number or from another library's array: an array of its
    scalars (vectors are not guessed). None for other objects."""
    if isinstance(value, np.generic):
        scalar = scalar_class(value.dtype)
        return scalar._wp_type_ if scalar is not None else None
    values = foreign_ndarray(value)
    if values is None or not 1 <= values.ndim <= 4:
        return None
    return _weft.type_array(element_handle(values), values.ndim)
