"""Structs: `@wp.struct` makes a class whose instances have typed fields in C layout.

Fields start at zero (arrays at None). Assignment checks and converts, and copies: vectors and inner structs are values,
arrays are references. What is read back is what a kernel would see. Instances are compared by identity, as programs put
them into dictionaries.
"""

from __future__ import annotations

import ctypes
import inspect
import struct as _bytes
import sys
import weakref
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.values import types as wt
from warp._src.values.composite import FORMATS
from warp._src.values.scalars import PLAIN, bfloat_from_bits, bool_, float_base, is_number, memory_dtype, plain_number

_DESCRIPTOR = _bytes.Struct("<QQ4q4qii")
_DESCRIPTOR_DTYPE = np.dtype(
    {
        "names": ["data", "grad", "shape", "strides", "ndim"],
        "formats": ["<u8", "<u8", ("<i8", (4,)), ("<i8", (4,)), "<i4"],
        "offsets": [0, 8, 16, 48, 80],
        "itemsize": _DESCRIPTOR.size,
    }
)

_classes: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_library: dict[str, Any] = {}


array_class: Any = None
indexed_class: Any = None
"""The classes `array` and `indexedarray`, which are built on structs. `api/wiring.py` sets the first, the other's module,
which a program loads by naming it, the second."""
fabric_at: Callable[[_weft.Type, int], Any]  # arrays over buckets; their module sets it, too


def _array_at(element: _weft.Type, shape: tuple, strides: tuple, ptr: int, grad: int) -> Any:
    """The array over memory that a descriptor names."""
    layout: dict[str, Any] = {"dtype": wt.class_of(element), "shape": shape}
    if not ptr:
        return array_class(**layout) if 0 in shape else None
    layout["strides"] = strides
    return array_class(ptr=ptr, grad=array_class(ptr=grad, **layout) if grad else None, **layout)


def _array_from(data: bytes, offset: int, element: _weft.Type) -> Any:
    """The array that a descriptor in a struct's bytes names; None if it names none."""
    ptr, grad, *numbers, ndim, _ = _DESCRIPTOR.unpack_from(data, offset)
    if not 1 <= ndim <= 4:
        return None
    return _array_at(element, tuple(numbers[:ndim]), tuple(numbers[4 : 4 + ndim]), ptr, grad)


class Field:
    """One field: its name, annotation and type, and how values get in and out."""

    def __init__(self, name: str, annotation: Any, handle: _weft.Type) -> None:
        self.label = name
        self.type = annotation
        self.handle = handle
        self.offset = 0
        self.zero, self.convert, self.read, self.copy = getattr(self, f"_{_GROUPS[handle.kind]}")()

    def _scalar(self) -> tuple[Callable, Callable, Callable, Callable]:
        cls: Any = wt.class_of(self.handle)
        # As components of vectors are: plain numbers, or those that know their type, which are numbers, too.
        shown = (lambda number: number) if cls in PLAIN else cls._of
        zero = shown(cls().value)
        code = _bytes.Struct("<" + FORMATS[self.handle.scalar])

        def convert(value: Any) -> Any:
            try:
                number = plain_number(value)
            except TypeError:
                raise TypeError(f"Struct field '{self.label}' {self._wants(value)}") from None
            if isinstance(number, float) and cls is not bool_ and not issubclass(cls, float_base):
                raise TypeError(f"Struct field '{self.label}' {self._wants(value)}; write int(…) to cut it")
            return shown(cls(number).value)

        def read(data: bytes, offset: int) -> Any:
            number = code.unpack_from(data, offset)[0]
            return shown(bfloat_from_bits(number) if self.handle.scalar == "bfloat16" else number)

        return lambda: zero, convert, read, lambda value: value

    def _composite(self) -> tuple[Callable, Callable, Callable, Callable]:
        cls: Any = wt.class_of(self.handle)
        zero = bytes(self.handle.size)

        def convert(value: Any) -> Any:
            if type(value) is cls:
                return cls.from_buffer_copy(value)
            if value is None:
                return cls.from_buffer_copy(zero)
            if isinstance(value, (str, bytes)) or is_number(value):
                raise TypeError(
                    f"Struct field '{self.label}' {self._wants(value)}. "
                    f"Construct the value explicitly, e.g.: {self.handle.name}(...)."
                )
            return cls(value)

        return lambda: cls.from_buffer_copy(zero), convert, cls.from_buffer_copy, cls.from_buffer_copy

    def _struct(self) -> tuple[Callable, Callable, Callable, Callable]:
        cls: Any = self.type if isinstance(self.type, Struct) else class_of_struct(self.handle)

        zero = getattr(cls, "_wp_empty_", cls)  # textures are not made of nothing

        def convert(value: Any) -> Any:
            if value is None and hasattr(cls, "_wp_empty_"):
                return zero()
            if not isinstance(value, StructInstance):
                raise RuntimeError(
                    f"Trying to assign a non-structure value to a struct attribute with type: {self.handle.name}"
                )
            if value._wp_type_ != self.handle:
                raise RuntimeError(
                    f"Trying to assign a structure of type {value._wp_type_.name} to an attribute of {self.handle.name}"
                )
            return value.__copy__()

        return zero, convert, lambda data, offset: cls.from_bytes(data, offset), lambda value: value.__copy__()

    def _check_elements(self, value: Any, element: Any, rank: int) -> None:
        """Raises if an array, of any kind, has other elements or another rank."""
        if value._element != element:
            raise TypeError(f"Struct field '{self.label}' expects dtype {element.name}, got {value._element.name}")
        if value.ndim != rank:
            expected = f"Struct field '{self.label}' expects an array with {rank} dimension(s)"
            raise TypeError(f"{expected}, got {value.ndim} dimension(s)")

    def _array(self) -> tuple[Callable, Callable, Callable, Callable]:
        element, rank = self.handle.element, self.handle.rank
        assert element is not None

        def convert(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, _weft.Array) or not value._valid:
                raise TypeError(f"Struct field '{self.label}' expects a Warp array, got {type(value).__name__}")
            self._check_elements(value, element, rank)
            return value

        return lambda: None, convert, lambda data, offset: _array_from(data, offset, element), lambda value: value

    def _indexed(self) -> tuple[Callable, Callable, Callable, Callable]:
        element, rank = self.handle.element, self.handle.rank
        assert element is not None
        index = _weft.type_scalar("int32")

        def convert(value: Any) -> Any:
            if value is None:
                return None
            data = getattr(value, "data", None) if getattr(value, "_wp_indexed_", False) else value
            if not isinstance(data, _weft.Array) or not data._valid:
                raise TypeError(f"Struct field '{self.label}' expects a Warp indexed array, got {type(value).__name__}")
            self._check_elements(data, element, rank)
            return indexed_class(value) if value is data else value  # an array is seen through no index array

        def read(data: bytes, offset: int) -> Any:
            seen = _array_from(data, offset, element)
            picked = [_array_from(data, offset + (1 + k) * _DESCRIPTOR.size, index) for k in range(rank)]
            return None if seen is None else indexed_class(seen, picked)

        return lambda: None, convert, read, lambda value: value

    def _fabric(self) -> tuple[Callable, Callable, Callable, Callable]:
        element, rank, kind = self.handle.element, self.handle.rank, self.handle.kind
        assert element is not None
        indexed = kind == "indexedfabricarray"
        tables = self.handle.fields[0][1] if indexed else self.handle
        starts_at = next(offset for name, _, offset in tables.fields if name == "starts")  # the array over buckets comes first

        def convert(value: Any) -> Any:
            if value is None:
                return None
            if f"{getattr(value, '_wp_fabric_', '')}array" != kind or not value._valid:
                wanted = "a Warp indexed Fabric array" if indexed else "a Warp Fabric array"
                raise TypeError(f"Struct field '{self.label}' expects {wanted}, got {type(value).__name__}")
            self._check_elements(value, element, rank)
            return value

        def read(data: bytes, offset: int) -> Any:
            address = _DESCRIPTOR.unpack_from(data, offset + starts_at)[0]
            return fabric_at(self.handle, address) if address else None

        return lambda: None, convert, read, lambda value: value

    def _wants(self, value: Any) -> str:
        given = "a single value" if is_number(value) and _GROUPS[self.handle.kind] == "composite" else "a value"
        return f"expects {self.handle.name} but got {given} of type {type(value).__name__}"


_GROUPS = {kind: "composite" for kind in ("vec", "mat", "quat", "transform")}
_GROUPS |= {"scalar": "scalar", "struct": "struct", "array": "array", "indexedarray": "indexed"}
_GROUPS |= {"fabricarray": "fabric", "indexedfabricarray": "fabric"}


def numpy_dtype(handle: _weft.Type) -> np.dtype:
    """The NumPy dtype of a field: structs are structured dtypes of the same layout, arrays the descriptors that generated
    code reads."""
    group = _GROUPS[handle.kind]
    if group == "array":
        return _DESCRIPTOR_DTYPE
    if group == "indexed":
        return np.dtype([("data", _DESCRIPTOR_DTYPE), ("indices", _DESCRIPTOR_DTYPE, (handle.rank,))])
    if group in ("struct", "fabric"):
        names, types, offsets = zip(*handle.fields) if handle.fields else ((), (), ())
        formats = [numpy_dtype(field) for field in types]
        layout = {"names": list(names), "formats": formats, "offsets": list(offsets), "itemsize": handle.size}
        return np.dtype(layout)  # type: ignore[call-overload]
    scalar = memory_dtype(handle.scalar)
    return scalar if group == "scalar" else np.dtype((scalar, wt.class_of(handle)._shape_))  # type: ignore[attr-defined]


class _Private:
    """A field of a library's struct that only the library uses. Its value lies with the others, out of sight."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.text = f"the field '{name}' of {owner.__name__} is the library's own"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise AttributeError(self.text)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(self.text)


class Struct(type):
    """Metaclass of structs: what a program asks of a struct type, out of the way of the names of fields."""

    _wp_type_: _weft.Type
    _wp_fields_: dict[str, Field]
    _wp_class_: type

    @property
    def key(cls) -> str:
        """The struct's name: its qualified name as a plain identifier."""
        return cls.__qualname__.replace(".", "_").replace("<", "_").replace(">", "_")

    @property
    def native_name(cls) -> str:
        """The struct's name in the compiler."""
        return cls._wp_type_.name

    @property
    def cls(cls) -> type:
        """The class that was decorated."""
        return cls._wp_class_

    @property
    def vars(cls) -> dict[str, Field]:
        """The fields by name; each has `label` and `type`."""
        return {name: field for name, field in cls._wp_fields_.items() if not cls._is_private(name)}

    def _is_private(cls, name: str) -> bool:
        return name.startswith("_") and cls._wp_type_.is_library

    def numpy_dtype(cls) -> np.dtype:
        """The structured dtype of the same layout, that of arrays of the struct. Array fields are descriptors."""
        return numpy_dtype(cls._wp_type_)

    def from_bytes(cls, data: bytes, offset: int = 0) -> Any:
        """The instance whose C layout these bytes are. Its arrays see memory that the caller keeps alive."""
        if offset < 0 or len(data) - offset < cls._wp_type_.size:
            raise ValueError(f"{cls.__name__} takes {cls._wp_type_.size} bytes")
        instance = cls.__new__(cls)
        for name, field in cls._wp_fields_.items():
            instance.__dict__[name] = field.read(data, offset + field.offset)
        return instance

    def from_ptr(cls, ptr: int) -> Any:
        """A copy of the struct at an address."""
        if not ptr:
            raise RuntimeError("NULL pointer exception")
        return cls.from_bytes(ctypes.string_at(ptr, cls._wp_type_.size))


class StructInstance:
    """An instance of a struct."""

    _wp_type_: _weft.Type
    _wp_fields_: dict[str, Field]

    def __init__(self) -> None:
        values = self.__dict__
        for name, field in self._wp_fields_.items():
            values[name] = field.zero()

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._wp_fields_.get(name)
        if field is None:
            raise RuntimeError(f"Trying to set Warp struct attribute that does not exist {name}")
        if type(self)._is_private(name):  # type: ignore[attr-defined]
            object.__setattr__(self, name, value)  # which the class forbids
        self.__dict__[name] = field.convert(value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"the fields of a struct can't be deleted: '{name}'")

    def to_bytes(self) -> bytes:
        """The instance in C layout. Its arrays must be kept alive as long as the bytes are used."""
        return _weft.pack(self._wp_type_, self)

    def __ctype__(self) -> Any:
        """A structure of ctypes with a copy of the instance's bytes. Its arrays must be kept alive meanwhile."""
        from warp._src.values.struct_ctypes import structure_of

        return structure_of(self._wp_type_).from_buffer_copy(self.to_bytes())

    def numpy_value(self) -> tuple:
        """The instance as a tuple that fits a structured array of its dtype."""
        return np.frombuffer(self.to_bytes(), dtype=type(self).numpy_dtype())[0].item()  # type: ignore[attr-defined]

    def assign(self, value: Any) -> None:
        """Takes over all fields of an instance of the same struct."""
        if not isinstance(value, StructInstance) or value._wp_type_ != self._wp_type_:
            raise RuntimeError(f"expected an instance of {self._wp_type_.name}, got {type(value).__name__}")
        for name, field in self._wp_fields_.items():
            self.__dict__[name] = field.copy(value.__dict__[name])

    def to(self, device: Any) -> Any:
        """A copy whose arrays are on the device."""
        other = self.__copy__()
        for name, field in self._wp_fields_.items():
            value = self.__dict__[name]
            if field.handle.kind == "struct" or (field.handle.kind in wt.ARRAY_KINDS and value is not None):
                if hasattr(value, "_wp_fabric_") and not value._stays_on(device):
                    what = "Warp indexed Fabric array" if hasattr(value, "fa") else "Warp Fabric array"
                    raise ValueError(f"Cannot move struct field '{name}' containing a {what} to {device}: it keeps no memory of its own")
                other.__dict__[name] = value.to(device)
        return other

    def __copy__(self) -> Any:
        other = type(self).__new__(type(self))
        other.assign(self)
        return other

    def __deepcopy__(self, memo: dict) -> Any:
        from copy import deepcopy

        other = self.__copy__()
        for name, field in self._wp_fields_.items():
            other.__dict__[name] = deepcopy(self.__dict__[name], memo)
        return other

    def __reduce__(self) -> tuple:
        if self._wp_type_.is_library:  # some of their classes have no name under warp
            return _restore_library, (self._wp_type_.name, dict(self.__dict__))
        return _restore, (type(self), dict(self.__dict__))

    def _text(self, show: Callable[[Any], str]) -> str:
        names = type(self).vars  # type: ignore[attr-defined]
        lines = [f"\t{name}=" + show(self.__dict__[name]).replace("\n", "\n\t") + ",\n" for name in names]
        return f"{type(self).__name__}(\n{''.join(lines)})"

    def __repr__(self) -> str:
        return self._text(repr)

    def __str__(self) -> str:
        return self._text(str)


def _restore(cls: Any, values: dict[str, Any]) -> Any:
    instance = cls()
    for name, value in values.items():
        if cls._is_private(name):
            instance.__dict__[name] = value
        else:
            setattr(instance, name, value)
    return instance


def _restore_library(name: str, values: dict[str, Any]) -> Any:
    return _restore(class_of_struct(_weft.library_struct(name)[0]), values)


def _annotations(c: type, local_names: dict[str, Any]) -> dict[str, Any]:
    """The annotations of a class and its bases, texts evaluated where the class stands."""
    found: dict[str, Any] = {}
    for base in reversed(c.__mro__):
        if base is object or base is StructInstance:
            continue
        scope = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        for name, annotation in inspect.get_annotations(base).items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, dict(scope), {**local_names, **vars(base)})  # noqa: S307
                except Exception as error:
                    raise TypeError(f"the annotation of {c.__name__}.{name} can't be evaluated: {error}") from error
            found[name] = annotation
    return found


def _finish(cls_name: str, bases: tuple, members: dict[str, Any], fields: dict[str, Field], handle: _weft.Type) -> Any:
    for field, (_, _, offset) in zip(fields.values(), handle.fields):
        field.offset = offset
    cls = Struct(cls_name, bases, {**members, "_wp_type_": handle, "_wp_fields_": fields})
    _classes[handle] = cls
    return cls


def struct(c: Any = None, *, module: Any = None) -> Any:
    """Class decorator: makes a struct of the annotations. `module` is accepted; structs belong to no module."""
    local_names = sys._getframe(1).f_locals
    if c is None:
        return lambda later: _struct(later, local_names)
    return _struct(c, local_names)


def _struct(c: Any, local_names: dict[str, Any]) -> Any:
    if not isinstance(c, type):
        raise TypeError(f"wp.struct decorates a class, got {type(c).__name__}")
    fields: dict[str, Field] = {}
    for name, annotation in _annotations(c, local_names).items():
        handle = wt.type_handle_or_none(annotation)
        if handle is None or handle.kind not in _GROUPS:
            cure = "use scalars, vectors, matrices, quaternions, transforms, structs or typed arrays, indexed or not"
            if hasattr(type(annotation), "_wp_tile_"):
                cure = "tiles live in kernels only; hold an array, wp.array(dtype=…), and load a part of it in a kernel: wp.tile_load(…)"
            raise TypeError(
                f"field '{name}' of struct {c.__name__} has the annotation {annotation!r}, which is not a type that a "
                f"struct can hold: {cure}"
            )
        if name.startswith("_wp_") or (name.startswith("__") and name.endswith("__")):
            raise TypeError(f"field '{name}' of struct {c.__name__}: this name is reserved")
        fields[name] = Field(name, annotation, handle)
    handle = _weft.type_struct(c.__name__, [(name, field.handle) for name, field in fields.items()])
    members = {"__doc__": c.__doc__, "__module__": c.__module__, "__qualname__": c.__qualname__, "_wp_class_": c}
    members["__annotations__"] = dict(inspect.get_annotations(c))
    bases = (c,) if issubclass(c, StructInstance) else (StructInstance, c)
    return _finish(c.__name__, bases, members, fields, handle)


def class_of_struct(handle: _weft.Type) -> type:
    """The class of a struct type; one without methods is made if the program's own is gone."""
    cls = _classes.get(handle)
    if cls is not None:
        return cls
    fields = {name: Field(name, field_type, field_type) for name, field_type, _ in handle.fields}
    members: dict[str, Any] = {"__doc__": None, "__module__": "warp.types", "_wp_class_": StructInstance}
    if handle.is_library:
        hidden = [name for name in fields if name.startswith("_")]
        known = _weft.library_struct(handle.name)
        members |= {"__module__": "warp", "__doc__": known and known[1], **{name: _Private() for name in hidden}}
        if handle.name.endswith("HashGridQuery"):  # of grids of all kinds of numbers: HashGridQuery[wp.float16]
            members["__class_getitem__"] = classmethod(lambda cls, _scalar: cls)
    cls = _finish(handle.name, (StructInstance,), members, fields, handle)
    if handle.is_library:
        _library[handle.name] = cls
    return cls


def library_struct(name: str) -> Any:
    """The class of a struct of the library that builtins return or take, always the same; None if there is none."""
    known = None if name.startswith("_") else _weft.library_struct(name)
    return class_of_struct(known[0]) if known is not None else None


wt._class_of_struct = class_of_struct
__all__ = ["struct"]
