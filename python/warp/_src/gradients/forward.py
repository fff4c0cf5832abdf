"""Forward mode: derivatives in a direction, carried along by everything that runs.

Arrays that move have a shadow: memory of their tangents beside their own, one stretch for each allocation, so that views
find the tangents of what they are views of. A launch of a kernel in forward mode runs the kernel's tangent instead, which
does what the kernel does and fills the shadows of what it writes. It is an ordinary kernel with twice the parameters: a
tape can record it, and what goes back over the tape then are second derivatives.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays import listeners
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import clone, copy_values, ones_like, zeros
from warp._src.arrays.struct_elements import field_arrays
from warp._src.devices.device import get_device
from warp._src.gradients import tape_record
from warp._src.gradients.tape import Tape
from warp._src.kernels.definitions import Kernel
from warp._src.session import settings
from warp._src.values.scalars import uint8
from warp._src.values.struct import StructInstance

__all__ = ["ForwardMode", "hvp", "jvp"]

_ALIGNMENT = 64  # shadows lie to boundaries of this size as their arrays do


class _Stretch:
    """The tangents of one piece of memory, and their gradients once a tape may ask for them."""

    def __init__(self, like: array, low: int, high: int):
        self.low, self.high, self.place = low, high, like._place
        self._device = like.device
        self.memory, self.start = self._make()
        self.gradients: tuple[array, int] | None = None

    def _make(self) -> tuple[array, int]:
        room = zeros(self.high - self.low + 2 * _ALIGNMENT, dtype=uint8, device=self._device)
        return room, room.ptr + (self.low - room.ptr) % _ALIGNMENT

    def view(self, one: array) -> array:
        """The tangents of an array in this memory."""
        gradient = 0
        if one.requires_grad:
            if self.gradients is None:
                self.gradients = self._make()
            gradient = self.gradients[1] + one.ptr - self.low
        made = array.__new__(array)
        address = self.start + one.ptr - self.low
        made._wrap(one._element, one.shape, one.strides, address, self, None, gradient, one._place)
        made._dtype = one.dtype
        made._foreign = True
        return made


def _bytes_of(one: array) -> tuple[int, int]:
    low, high = one.ptr, one.ptr + one._element.size
    for extent, stride in zip(one.shape, one.strides):
        low, high = low + min(0, (extent - 1) * stride), high + max(0, (extent - 1) * stride)
    return low, high


def _can_move(one: Any) -> bool:
    return isinstance(one, array) and one._valid and one.size > 0 and one._element.has_floats


def _joined(item: StructInstance, arrays: StructInstance | None) -> StructInstance:
    """A struct with the arrays of another, which may be missing."""
    for name, field, _ in item._wp_type_.fields:
        part = None if arrays is None else getattr(arrays, name)
        if field.kind in ("array", "indexedarray"):
            setattr(item, name, part)
        elif field.kind == "struct":
            setattr(item, name, _joined(getattr(item, name), part))
    return item


class ForwardMode:
    """Follows tangents through what its thread does inside its `with` block, as they are when it is entered.

        with wp.ForwardMode({x: direction}) as forward:
            wp.launch(kernel, dim=n, inputs=[x], outputs=[y])
        slope = forward.tangent(y)

    Launches, copies, fills, assignments, products, sums, prefix sums and sorting are followed; what would lose a tangent
    raises. With a tape around or inside it, the tape records tangents as well: going back from a tangent gives second derivatives.

    Args:
        tangents: directions by array; each has its array's type and shape. They are copied.
    """

    def __init__(self, tangents: Mapping[array, array] | None = None):
        self._stretches: list[_Stretch] = []
        self._held: list[Any] = []  # memory that is given back and taken again would have the tangents of before
        self._nested: dict[Any, list[Any]] = {}  # arrays in structs in memory, by the place of their tangents
        self._starts = list((tangents or {}).items())
        self._active = False
        self._before: Any = None  # the one that this thread had in what it put aside (listeners.apart)
        for one, tangent in self._starts:
            if not _can_move(one):
                raise TypeError(f"a tangent belongs to an array of floats, not to {one!r}")
            if not isinstance(tangent, array) or tangent._element != one._element or tangent.shape != one.shape:
                raise TypeError(
                    f"the tangent of an array of shape {one.shape} is an array of the same shape and type, not {tangent!r}"
                )

    def __enter__(self) -> ForwardMode:
        if _weft.has_forward_mode() or self._active:
            raise RuntimeError("forward mode is active already: it follows one direction at a time")
        for one, tangent in self._starts:
            with tape_record.paused():
                copy_values(self._view(one), tangent)
        self._starts = []
        self._active = True
        settings.follow(1)
        self._before = listeners.begin_forward(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        listeners.end_forward(self._before)
        settings.follow(-1)
        self._active = False

    def tangent(self, one: array) -> array:
        """The derivative of an array's elements in the direction that was given; zeros if nothing moves them."""
        if not _can_move(one):
            raise TypeError(f"a tangent belongs to an array of floats, not to {one!r}")
        return self._view(one)

    # ---- shadows -----------------------------------------------------------------------------------------------------

    def _find(self, one: array) -> _Stretch | None:
        low, high = _bytes_of(one)
        for stretch in self._stretches:
            if stretch.low < high and low < stretch.high and stretch.place == one._place:
                if low < stretch.low or stretch.high < high:
                    raise RuntimeError(
                        "forward mode followed a part of this foreign memory before; pass the whole array first, or views of it"
                    )
                return stretch
        return None

    @staticmethod
    def _may_move(one: Any) -> bool:
        return _can_move(one)

    def _moves(self, one: Any) -> bool:
        """Whether an array has tangents, zero or not."""
        return _can_move(one) and self._find(one) is not None

    def _view(self, one: array) -> array:
        stretch = self._find(one)
        if stretch is None:
            stretch = _Stretch(one, *one._block)
            self._stretches.append(stretch)
            self._held.append(one)
        return stretch.view(one)

    def _shadow(self, value: Any, written: bool) -> Any:
        """The tangent of a launch's argument; None: it does not move."""
        if getattr(value, "_wp_indexed_", False):
            data = self._shadow(value.data, written)
            return None if data is None else type(value)(data, value.indices)
        if isinstance(value, StructInstance):
            fields = {name: self._shadow(getattr(value, name), written) for name in value._wp_fields_}
            if all(tangent is None for tangent in fields.values()):
                return None
            made = type(value)()
            for name, tangent in fields.items():
                if tangent is not None:
                    setattr(made, name, tangent)
            return made
        if not _can_move(value):
            return None
        if value._refs is not None:
            return self._shadow_of_structs(value, written)
        return self._view(value) if written or self._moves(value) else None

    def _shadow_of_structs(self, value: array, written: bool) -> Any:
        """The tangent of an array whose structs hold arrays: its own structs hold the tangents of those."""
        if not written and not any(self._moves(one) for one in (value, *tape_record.held_arrays(value))):
            return None
        places = list(np.ndindex(*value.shape))
        held = [self._shadow(value[at], written) for at in places]
        made = self._view(value)
        for at, one in zip(places, held):
            now = field_arrays(one)
            known = self._nested.get((made.ptr, made.strides, at))
            if known is None or [a.ptr for a in known] != [a.ptr for a in now]:
                with tape_record.paused():  # where tangents lie, not what they are
                    made[at] = _joined(made[at], one)
                self._nested[made.ptr, made.strides, at] = now
        return made

    # ---- what runs ---------------------------------------------------------------------------------------------------

    def _launch(self, request: tuple, place: tuple, record: bool, tangents: Sequence[Any] = ()) -> None:
        """Runs a kernel with its tangent; `request` is what a tape keeps of a launch."""
        kernel, dim, max_blocks, inputs, outputs, device, block_dim = request
        arguments = [*inputs, *outputs]
        missing = len(kernel.params) - len(arguments)
        if 0 < missing <= len(kernel.func.__defaults__ or ()):
            arguments += kernel.func.__defaults__[-missing:]
        kernel.native()
        rank = len(dim) if isinstance(dim, (tuple, list)) else 1
        written = _weft.written_params(kernel, arguments, (), rank)
        given = [*tangents, *[None] * (len(arguments) - len(tangents))]
        follows = any(t is not None for t in given) or any(self._shadow(a, False) is not None for a in arguments)
        if not follows:
            _weft.run_launch(kernel, dim, inputs, outputs, *place, request if record else None)
            return
        shadows = [self._shadow(a, w) if t is None else t for a, w, t in zip(arguments, written, given)]
        self._held.append(arguments)
        double = kernel.tangent
        kept = (double, dim, max_blocks, arguments, shadows, device, block_dim) if record else None
        _weft.run_launch(double, dim, arguments, shadows, *place, kept)

    def _copied(self, dest: array, src: Any) -> None:
        """An array took the elements of another, or constants."""
        if self._moves(src) and _can_move(dest):
            copy_values(self._view(dest), self._view(src))
        elif self._moves(dest):
            self._view(dest).zero_()

    def _assigned(self, dest: array, src: Any) -> None:
        """An array took numbers, converted and broadcast."""
        if self._moves(src) and _can_move(dest):
            moved, moving = self._view(dest), self._view(src)
            moved.assign(moving) if _numbers_in(dest) == _numbers_in(src) else moved._assign_values(moving)
        elif self._moves(dest):
            self._view(dest).zero_()

    def _gathered(self, dest: array, src: Any) -> None:
        """A new array took the elements of an indexed one."""
        if self._moves(src.data):
            copy_values(self._view(dest), self._shadow(src, True))

    def _scattered(self, dest: Any, src: Any) -> None:
        """The elements of an indexed array took those of another, or constants."""
        if self._moves(src) and _can_move(dest.data):
            self._shadow(dest, True).assign(self._view(src))
        elif self._moves(dest.data):
            self._shadow(dest, True).zero_()

    def _lost(self, function: str, *arrays: Any) -> None:
        """Raises if a function is about to give numbers to Python whose tangent would be lost."""
        if any(self._moves(one) for one in arrays):
            raise RuntimeError(f"forward mode can't follow the number that {function} returns; give it out=")


def _numbers_in(one: Any) -> int:
    element = (one if isinstance(one, array) else one.data)._element
    return one.size * math.prod(_interface.layout(element).inner)


def _directions(primals: Sequence[Any], tangents: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    if len(primals) != len(tangents):
        raise ValueError(f"there are {len(primals)} arguments and {len(tangents)} tangents; None is one that does not move")
    return ((one, tangent) for one, tangent in zip(primals, tangents) if tangent is not None)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def jvp(
    function: Callable | Kernel,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    dim: Any = None,
    outputs: Iterable[array] = (),
    device: Any = None,
) -> tuple[Any, Any]:
    """The results of a function and their derivative in a direction: a Jacobian times a vector, at the cost of two runs.

    Args:
        function: launches kernels on the arrays that it is given, and returns one array or several; or a kernel.
        primals: its arguments. Of a kernel: its inputs.
        tangents: the direction: for each argument an array of the same shape and type, or None where nothing moves. Of a
            kernel, also of arguments that are passed by value.
        dim: of a kernel: the grid.
        outputs: of a kernel: the arrays that it writes.
        device: of a kernel: where it runs.

    Returns:
        What the function returned, and the tangents of that. Of a kernel: its outputs and their tangents.
    """
    moving = list(_directions(primals, tangents))
    if not isinstance(function, Kernel):
        with ForwardMode(dict(moving)) as forward:
            results = function(*primals)
        slopes = [forward.tangent(one) for one in _listed(results)]
        return results, slopes if isinstance(results, (list, tuple)) else slopes[0]
    arrays = {one: tangent for one, tangent in moving if isinstance(one, array)}
    by_value = [None if isinstance(one, array) else tangent for one, tangent in zip(primals, tangents)]
    results = list(outputs)
    where = get_device(device)
    with ForwardMode(arrays) as forward:
        request = (function, dim, 0, list(primals), results, where, None)
        forward._launch(request, (where.ordinal, 0, None, None), True, by_value)
    return results, [forward.tangent(one) for one in results]


def hvp(function: Callable, primals: Sequence[array], tangents: Sequence[array | None]) -> tuple[array, list[array]]:
    """A Hessian times a vector: the change of a function's gradient in a direction, exact, at the cost of a gradient.

    Args:
        function: launches kernels on the arrays that it is given and returns the array of one element whose second
            derivatives are wanted. Arrays that it makes on the way need requires_grad=True, as for a tape.
        primals: its arguments, arrays of floats.
        tangents: the vector: an array for each argument, None for zeros.

    Returns:
        The function's value, and the product for each argument.
    """
    moving = dict(_directions(primals, tangents))
    with tape_record.paused():
        own = {id(one): clone(one, requires_grad=False) for one in primals}
        for one in own.values():
            one.requires_grad = True
    tape = Tape()
    with ForwardMode({own[id(one)]: tangent for one, tangent in moving.items()}) as forward, tape:
        value = function(*[own[id(one)] for one in primals])
    if not isinstance(value, array) or value.size != 1 or not value.requires_grad:
        raise TypeError("the function must return an array of one element, made with requires_grad=True")
    slope = forward.tangent(value)
    tape.backward(grads={slope: ones_like(slope)})
    return value, [own[id(one)].grad for one in primals]
