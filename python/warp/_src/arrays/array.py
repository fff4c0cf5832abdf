"""`wp.array`: typed memory with 1 to 4 dimensions, and the annotation of array parameters.

Memory, views and indexing lie in C++ (`_weft.Array`); this class adds the constructor's many forms, NumPy, gradients
as attributes and what Python expects of an object. An array made with a dtype only, `wp.array(dtype=float, ndim=2)`,
has no memory: it is an annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays import array_operators, listeners
from warp._src.arrays.array_arguments import (
    ArrayTypeError,
    checked_element,
    element_handle,
    extents_of,
    is_host,
    plain_handles,
    rank_in_brackets,
    resolved_extents,
    strided_room,
)
from warp._src.arrays.array_exchange import ArrayExchange
from warp._src.arrays.struct_elements import (
    check_textures,
    derived,
    element_value,
    field_arrays,
    flatten_objects,
    restore_arrays,
    struct_value,
    take_refs,
    write_objects,
)
from warp._src.devices.device import CPU, ON_CPU, place_of
from warp._src.values.annotation_unions import InUnions
from warp._src.values.struct_ctypes import ArrayDescriptor
from warp._src.values.types import class_of, type_handle, type_handle_or_none

__all__ = ["array"]

_ndarray = np.ndarray


@array_operators.with_operators
class array(ArrayExchange, InUnions):
    """An array of elements of one type.

    `data` is anything NumPy reads, another array, or None; trailing dimensions become the components of a vector or
    matrix `dtype`. `copy=False` shares the memory of `data` where dtype and layout allow it; read-only memory too, with a
    warning when it is first written to.
    With `ptr` the array lies over foreign memory, which `deleter(ptr, bytes)` frees at the end. With neither, `shape`
    makes new memory that is not initialised. A dtype alone makes an annotation.
    """

    __slots__ = ()

    # What few arrays have of their own.
    _refs: dict[Any, Any] | None = None
    _ref: Any = None  # programs put here what an array over a pointer is to keep alive; views keep the array then
    _grad: array | None = None
    _retain = False

    def __init__(
        self,
        data: Any = None,
        dtype: Any = Any,
        shape: int | Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        ptr: int | None = None,
        capacity: int | None = None,
        device: Any = None,
        pinned: bool = False,
        copy: bool = True,
        deleter: Callable[[int, int], None] | None = None,
        ndim: int | None = None,
        grad: array | None = None,
        requires_grad: bool = False,
        retain_grad: bool = False,
        *,
        length: int | None = None,
        owner: bool | None = None,
        n: int | None = None,
    ) -> None:
        if (
            data.__class__ is _ndarray
            and shape is ndim is ptr is strides is length is None
            and not pinned
            and is_host(device)
        ):
            handle = None if dtype is Any or dtype is None else plain_handles[dtype]
            if handle is not None or dtype is Any:
                if self._init_foreign(data, handle, copy):
                    if requires_grad or grad is not None or retain_grad:
                        self._init_grad(grad, requires_grad, retain_grad)
                    return
        if (
            ptr.__class__ is int
            and shape.__class__ is tuple
            and data is strides is capacity is deleter is owner is ndim is grad is length is n is None
            and not (pinned or requires_grad or retain_grad)
            and ptr > 0
            and is_host(device)
            and self._init_over(ptr, dtype, shape)
        ):
            return
        if length is None:
            length = n
        if length is not None:
            if shape is not None:
                raise RuntimeError("give shape= or length=, not both")
            shape = length
        if data is not None and ptr is not None:
            raise RuntimeError("Should only construct arrays with either data or ptr arguments, not both")
        if ndim is not None and ndim is not Any and not 1 <= ndim <= 4:
            raise RuntimeError(f"an array has 1 to 4 dimensions, not {ndim}")
        if data is None and ptr is None and shape is None:
            if device is not None or pinned:
                place_of(device, pinned)
            self._init_annotation(dtype, ndim)
            return
        if device is None and not pinned and isinstance(data, _weft.Array) and data._valid:
            place = data._place  # a copy lies beside its original
        else:
            place = place_of(device, pinned)
        if data is not None:
            if strides is not None:
                raise RuntimeError("strides= goes with ptr= or shape=; data brings its own")
            if place == ON_CPU and (not _interface.on_device(data) or hasattr(data, "__array_interface__")):
                if copy or not self._init_shared(data, dtype, shape):
                    self._init_data(data, dtype, shape, copy)
                if self._refs is not None:
                    check_textures(self._refs, self)
            else:
                from warp._src.arrays.cuda_interface import init_elsewhere

                anywhere = device is None and not pinned and not copy  # shared memory is where it is
                init_elsewhere(self, data, dtype, shape, copy, place, anywhere)
        else:
            if dtype is Any or dtype is None:
                raise RuntimeError("an array without data needs a dtype")
            handle = element_handle(dtype)
            extents = extents_of(shape)
            if ptr is not None:
                self._init_ptr(handle, extents, strides, ptr, capacity, owner, deleter, place)
            elif strides is None and capacity is None:
                self._allocate(handle, extents, False, False, place)
            else:
                self._init_strided(handle, extents, strides, capacity, place)
            self._dtype = dtype if handle.kind == "struct" else class_of(handle)
            if _interface.holds_arrays(handle):
                if ptr is None:
                    self._zero()
                self._refs = {}
        self._init_grad(grad, requires_grad, retain_grad)
        if requires_grad and (hasattr(data, "_wp_indexed_") or (isinstance(data, array) and data.ptr != self.ptr)):
            self._record_values(data, True)

    # ---- construction ----------------------------------------------------------------------------------------------

    def _init_annotation(self, dtype: Any, ndim: int | None) -> None:
        self._init_null()
        handle = None if dtype is Any or dtype is None else checked_element(type_handle_or_none(dtype))
        known = handle is not None and handle.kind == "scalar"
        self._dtype = Any if dtype is None else class_of(handle) if known else dtype
        self._annotated_ndim = 1 if ndim is None else ndim

    def _init_grad(self, grad: array | None, requires_grad: bool, retain_grad: bool) -> None:
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self._set_requires_grad(True)
        if retain_grad:
            self._retain = True

    def _record_values(self, source: Any, in_order: bool = False) -> None:
        """Tells tapes that want to know, and forward mode, where the elements came from: as `assign` takes them?"""
        if (self._has_grad and _weft.copies_are_followed()) or _weft.forward_mode():
            listeners.record_assignment(self, source, in_order)

    def _init_shared(self, data: Any, dtype: Any, shape: Any) -> bool:
        """Shares the memory of another library's object; False if it has to be looked at more closely."""
        if shape is not None or isinstance(data, (list, tuple, _weft.Array)) or hasattr(data, "_wp_type_"):
            return False
        handle = None if dtype is Any or dtype is None else plain_handles[dtype]
        return (handle is not None or dtype is Any or dtype is None) and self._init_foreign(data, handle, False)

    def _init_data(self, data: Any, dtype: Any, shape: Any, copy: bool) -> None:
        handle = None if dtype is Any or dtype is None else element_handle(dtype)
        extents = None if shape is None else extents_of(shape)
        if isinstance(data, _weft.Array):
            if not data._valid:
                raise RuntimeError("the data is an array annotation: it has no memory")
            if (handle is None or handle == data._element) and (extents is None or extents == data.shape):
                if copy:
                    self._allocate(data._element, data.shape, False, False)
                    self._copy_from(data)
                else:
                    self._share(data)
                self._dtype = data.dtype
                take_refs(self, data, copy)
                return
            values = _interface.host_view(data)
            if handle is None:
                handle = data._element
        else:
            if getattr(data, "_wp_indexed_", False) or hasattr(data, "_wp_fabric_"):
                data = data.contiguous()
                self._init_data(data, dtype, shape, False)
                return
            if handle is not None and handle.kind == "struct" and not isinstance(data, _ndarray):
                self._init_structs(data, handle, dtype, extents)
                return
            values = _interface.as_ndarray(data)
        if values.ndim == 0:
            if not _interface.is_array_like(data):
                raise RuntimeError("the data of an array must be a sequence or an array, not a single value")
            values = values.reshape(1)
        if handle is None:
            handle = _interface.element_handle(values)
            if handle.kind == "struct":
                self._init_structs(data, handle, class_of(handle), extents)
                return
        known = _interface.layout(handle)
        if extents is None:
            extents = _interface.folded_shape(values.shape, known)
        elif any(n < 0 for n in extents):
            extents = resolved_extents(extents, values.size, known.components, f"data of shape {values.shape}")
        if not 1 <= len(extents) <= 4:
            raise RuntimeError(f"an array has 1 to 4 dimensions, the data has {len(extents)}")
        values = _interface.comparable(values, known)
        full = extents + known.inner
        try:
            values = values if values.shape == full else values.reshape(full)
        except ValueError:
            raise RuntimeError(
                f"data of shape {values.shape} can't become an array of {handle.name} of shape {extents}"
            ) from None
        if copy or not _interface.alias(values, known, self):
            self._allocate(handle, extents, False, False)
            with np.errstate(all="ignore"):
                np.copyto(_interface.numpy_view(self, known), values, casting="unsafe")
            _weft.host_record_values(self)
        if known.kind == "struct":
            self._dtype = class_of(handle) if dtype is Any or dtype is None else dtype
            if known.holds_arrays:
                self._refs = {"data": data}

    def _init_structs(self, data: Any, handle: _weft.Type, dtype: Any, extents: Any) -> None:
        """Elements from struct instances in nested lists, or from tuples of field values."""
        found, leaves = flatten_objects(data)
        if extents is None:
            extents = found
        elif any(n < 0 for n in extents):
            extents = resolved_extents(extents, len(leaves), 1, f"{len(leaves)} structs")
        self._allocate(handle, extents, True, False)
        self._dtype = dtype
        if self.size != len(leaves):
            raise RuntimeError(f"{len(leaves)} structs can't become an array of shape {extents}")
        self._refs = write_objects(self.flatten(), leaves, _interface.holds_arrays(handle))

    def _init_strided(self, handle: _weft.Type, extents: Any, strides: Any, capacity: int | None, place: int) -> None:
        """New memory with strides or room of its own."""
        steps, room = strided_room(handle.size, extents, strides, capacity)
        memory = _weft.array_new(array, type_handle(np.uint8), room, False, False, place)
        self._share(memory._reinterpret(handle, list(extents), steps))
        self._capacity = room

    # ---- attributes ------------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether there is a gradient. Setting True adds a zero gradient, False drops it."""
        return self._has_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if bool(value) != self._has_grad:
            self._set_requires_grad(bool(value))
            self._grad = None

    @property
    def grad(self) -> array | None:
        """The gradient: an array of the same dtype, shape and strides, or None."""
        if not self._has_grad:
            return None
        if self._grad is None:
            self._grad = self._grad_view()
            of_base = self._ref._grad if isinstance(self._ref, array) else None
            if of_base is not None and of_base._ref is not None:  # a view of the gradient that a program gave its base
                self._grad._ref = of_base
        return self._grad

    @grad.setter
    def grad(self, value: array | None) -> None:
        if value is None:
            self.requires_grad = False
            return
        if not isinstance(value, array):
            raise ValueError(f"The given gradient array is incompatible: it is no wp.array but {type(value).__name__}")
        try:
            if value.strides != self.strides and value.shape == self.shape and value._element == self._element:
                value = self._restrided(value)
            self._set_grad(value)
        except RuntimeError as error:
            raise ValueError(f"The given gradient array is incompatible: {error}") from None
        self._grad = value

    @property
    def retain_grad(self) -> bool:
        """Whether the gradient stays readable after a backward pass that overwrote the array."""
        return self._retain

    @retain_grad.setter
    def retain_grad(self, value: bool) -> None:
        self._retain = bool(value)

    @property
    def vars(self) -> dict[str, Any]:
        """The fields of the kernel argument and their C types."""
        return dict(ArrayDescriptor._fields_)

    def __ctype__(self) -> ArrayDescriptor:
        """The kernel argument."""
        shape, strides = self.shape, self.strides
        return ArrayDescriptor(self.ptr or 0, self._grad_ptr if self._valid else 0, shape, strides, len(shape), 0)

    def mark_read(self) -> None:
        """Notes that a kernel read the array, for config.verify_autograd_array_access."""
        self.is_read = True

    def mark_write(self, **kwargs: Any) -> None:
        """Notes that a kernel wrote to the array, for config.verify_autograd_array_access."""
        self.is_read = False

    # ---- Python ----------------------------------------------------------------------------------------------------

    def __class_getitem__(cls, item: Any) -> array:
        """`wp.array[float]` and `wp.array[float, 2]`: annotations."""
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype=dtype, ndim=rank_in_brackets(ndim))

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __getitem__(self, key: Any) -> Any:
        item = self._get(key)
        if item is NotImplemented:
            from warp._src.arrays.indexed_array import index_by_arrays

            return index_by_arrays(self, key)
        if isinstance(item, array):
            return derived(item, self)
        if self._refs is not None:
            restore_arrays(item, self._refs)
        return item

    def __setitem__(self, key: Any, value: Any) -> None:
        written = self._put(key, element_value(self, value) if self._refs is not None or value.__class__ is tuple else value)
        if written is NotImplemented:
            self[key].put(value)
        elif written.__class__ is not int:
            derived(written, self)._assign_values(value)
        else:
            if self._refs is not None:
                self._refs[written] = field_arrays(value)
            if self._has_grad or _weft.forward_mode():
                keys = key if isinstance(key, tuple) else (key,)
                _weft.note_fill(self[tuple(k if k is ... else slice(k, k + 1 or None) for k in keys)], value)

    def __str__(self) -> str:
        if not self._valid:
            return repr(self)
        return str(self._shown())

    def __repr__(self) -> str:
        name = getattr(self.dtype, "__name__", None) or str(self.dtype)
        if not self._valid:
            return f"array(ndim={self.ndim}, dtype={name})"
        text = np.array2string(self._shown(), separator=", ", prefix="array(")
        shape = f"shape={self.shape}, " if self.size == 0 else ""
        return f"array({text}, {shape}dtype={name})"

    def _shown(self) -> np.ndarray:
        values = self.numpy()
        return _interface.bfloat16_values(values) if self._element.scalar == "bfloat16" and values.size else values

    def __reduce__(self) -> tuple:
        if not self._valid:
            return _restore_annotation, (self.dtype, self.ndim)
        if _interface.holds_arrays(self._element):
            raise TypeError("an array of structs that hold arrays can't be pickled: its elements are addresses")
        grad = self.grad.contiguous()._raw_bytes() if self._has_grad else None
        return _restore, (self.dtype, self.shape, self.contiguous()._raw_bytes(), grad, self.retain_grad)

    def _raw_bytes(self) -> bytes:
        return bytes(_interface.on_host(self)._memory()[0])

    def __copy__(self) -> array:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict) -> array:
        if not self._valid:
            return array(dtype=self.dtype, ndim=self.ndim)
        made = _weft.array_new(array, self._element, self.shape, False, self._has_grad, self._place)
        made._dtype = self.dtype
        made._copy_from(self)
        take_refs(made, self, True)
        if self._has_grad:
            made.grad._copy_from(self.grad)
        if self.retain_grad:
            made._retain = True
        memo[id(self)] = made
        return made

    # ---- elements ----------------------------------------------------------------------------------------------------

    def list(self) -> list[Any]:
        """All elements in one flat list: Python numbers, or vectors, matrices and structs."""
        if self.size == 0:
            return []
        kind = self._element.kind
        if kind == "scalar":
            return self._shown().ravel().tolist()
        flat = self.contiguous().flatten()
        if kind == "struct":
            return [flat[i] for i in range(flat.size)]
        data, size, make = flat._raw_bytes(), self._element.size, self.dtype.from_buffer_copy
        return [make(data, at) for at in range(0, len(data), size)]

    def zero_(self) -> array:
        """Sets all bytes to zero."""
        self._zero()
        return self

    def fill_(self, value: Any) -> array:
        """Sets every element to a value; a number fills all components of vectors and matrices, 0 clears structs."""
        if value.__class__ is int and value == 0 and self._element.kind == "struct":
            return self.zero_()
        if value.__class__ is tuple:
            try:
                value = struct_value(self, value)
            except (TypeError, RuntimeError) as error:
                raise ValueError(f"Failed to convert the value to the array data type: {error}") from error
        if self._refs is not None:
            self._refs["fill", self.ptr, self.strides] = field_arrays(element_value(self, value))
        self._fill(value)
        return self

    def assign(self, src: Any) -> None:
        """Copies elements from another array or from data that converts to this dtype, in order."""
        from warp._src.arrays.array_factories import copy

        given = src
        if not isinstance(src, array) or src._element != self._element:
            src = array(src, dtype=self.dtype, copy=False, device=CPU if self._refs is None else self.device)
        if src is given:
            return copy(self, src)
        with listeners.paused():  # what comes next says more
            copy(self, src)
        (self if src.size == self.size else self.flatten()[: src.size])._record_values(given, True)

    def _assign_values(self, value: Any) -> None:
        """What `a[1:3] = value` does: elements of the same shape, or values that NumPy broadcasts."""
        if getattr(value, "_wp_indexed_", False):
            value = value.contiguous()
        if isinstance(value, array) and value._element == self._element:
            if value.shape == self.shape:
                take_refs(self, value, True)
                self._copy_from(value)
                return
        elif not isinstance(value, (_weft.Array, _ndarray)):
            if getattr(value, "_wp_type_", None) is not None or np.isscalar(value):
                self.fill_(value)
                return
            if self._element.kind == "struct":
                value = array(value, dtype=self.dtype, device=CPU if self._refs is None else self.device)
        source = _interface.host_view(value) if isinstance(value, _weft.Array) else _interface.as_ndarray(value)
        values = _interface.comparable(source, _interface.layout(self._element))
        target = _interface.staging(self)
        if isinstance(value, array):
            take_refs(self, value, True)
        _weft.announce_write(self, "an assignment")
        with np.errstate(all="ignore"):
            np.copyto(_interface.numpy_view(target), values, casting="unsafe")
        if target is not self:
            self._take_back(target)
        self._record_values(value)

    # ---- views -----------------------------------------------------------------------------------------------------

    def reshape(self, shape: int | Sequence[int]) -> array:
        """The same elements in another shape, one extent of which may be -1. Contiguous arrays only."""
        return derived(self._reshape(shape), self)

    def flatten(self) -> array:
        """The elements in one dimension. Contiguous arrays only."""
        return self if self.ndim == 1 else self.reshape(self.size)

    def transpose(self, axes: Sequence[int] | None = None) -> array:
        """The dimensions in another order, reversed if none is given."""
        if axes is None:
            return derived(self._transpose([]), self)
        ndim = self.ndim
        order = [a + ndim if -ndim <= a < 0 else a for a in axes]
        if len(order) != ndim:
            raise ValueError(f"transpose needs {ndim} axes, got {len(order)}")
        return derived(self._transpose(order), self)

    def contiguous(self) -> array:
        """This array if it is contiguous, else a copy that is."""
        if self.is_contiguous:
            return self
        from warp._src.arrays.array_factories import clone

        return clone(self)

    def view(self, dtype: Any) -> array:
        """The same memory with another element type: one of the same size, or vectors and matrices for trailing
        dimensions that fit, or their scalars."""
        handle, mine = element_handle(dtype), self._element
        shape, strides = self.shape, self.strides
        if handle.size != mine.size:
            if handle.kind == "struct" or mine.kind == "struct" or handle.scalar != mine.scalar:
                raise ArrayTypeError(
                    f"cannot create an array view with dtype {handle.name} from source dtype {mine.name}: source dtype has "
                    f"size {mine.size} bytes, but target dtype has size {handle.size} bytes"
                )
            before, after = _interface.layout(mine), _interface.layout(handle)
            shape, strides = shape + before.inner, strides + before.strides
            rank = len(shape) - len(after.inner)
            if not 1 <= rank <= 4 or shape[rank:] != after.inner or strides[rank:] != after.strides:
                raise ArrayTypeError(f"can't view an array of {mine.name} of shape {self.shape} as {handle.name}")
            shape, strides = shape[:rank], strides[:rank]
        made = self._reinterpret(handle, shape, strides)
        made._refs = self._refs
        if self._ref is not None:
            made._ref = self
        if handle.kind == "struct":
            made._dtype = dtype
        return made

    def to(self, device: Any, requires_grad: bool | None = None) -> array:
        """This array, or a copy where it lies on another device or `requires_grad` differs."""
        place = self._place if device is None else place_of(device)
        if (place == self._place or (place == ON_CPU and self.pinned)) and requires_grad in (None, self._has_grad):
            return self
        from warp._src.arrays.array_factories import clone

        return clone(self, device=device, requires_grad=requires_grad)

    def __matmul__(self, other: Any) -> array:
        return array_operators.product(self, other)


def _restore_annotation(dtype: Any, ndim: int) -> array:
    return array(dtype=dtype, ndim=ndim)


def _restore(dtype: Any, shape: tuple[int, ...], data: bytes, grad: bytes | None, retain_grad: bool) -> array:
    made = array(shape=shape, dtype=dtype, requires_grad=grad is not None, retain_grad=retain_grad, device=CPU)
    for target, content in ((made, data), (made.grad, grad)):
        if target is not None and content:
            memoryview(target._memory()[0])[:] = content
    return made


_weft.set_view_class(array)
