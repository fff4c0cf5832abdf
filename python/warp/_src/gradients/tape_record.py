"""What a tape records besides launches: copies, fills, and whatever Python does to arrays.

Copies and fills are recorded as launches of small kernels that ran by other means, so that going back over them needs no
Python. Everything else is a function that is called on the way back; `values_now` gives it the values that it needs.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays import listeners
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import copy_values
from warp._src.arrays.listeners import aside, follows, paused, recording  # noqa: F401 - for those who record, too
from warp._src.arrays.struct_elements import arrays_in
from warp._src.kernels.own_kernels import OwnKernel

# Their adjoints are those of copies and fills; they run backwards only.
_COPY = OwnKernel("tape_copy", "src: {array}, dest: {array}", "dest[{at}] = src[{at}]")
_FILL = OwnKernel("tape_fill", "dest: {array}", "dest[{at}] = dest.dtype()")


def _record(own: OwnKernel, inputs: list[array], dest: array, again: Callable[[], Any]) -> None:
    """`again` does the same once more, and tells of it."""
    kernel = own.of(dest.ndim)
    kept = (kernel, dest.shape, 0, inputs, [dest], dest.device, None)
    _weft.run_launch(kernel, dest.shape, inputs, [dest], max(dest._place, -1), 0, None, None, kept, False, again)


def record_copy(dest: array, src: array) -> None:
    """Called by every copy between arrays while a tape records, or waits for one that it has recorded before, or forward mode
    follows."""
    if forward := follows():
        with aside():
            forward._copied(dest, src)
    if not dest._has_grad or dest.size == 0 or not _weft.copies_are_followed():
        return

    def again() -> None:
        dest._copy_from(src)

    if not src._has_grad:
        _record(_FILL, [], dest, again)
    elif max(src._place, -1) != max(dest._place, -1) or dest.grad._overlaps(src.grad):
        # Elsewhere, or with gradients that share memory: what is taken from one must not be seen while it is added.
        if tape := _weft.work_listener():
            tape._add_work(lambda: _move_gradient(dest, src), [src, dest], [dest], again)
    else:
        _record(_COPY, [src], dest, again)


def _move_gradient(dest: array, src: array) -> None:
    taken = _weft.array_new(array, dest._element, dest.shape, False, True, src._place)
    copy_values(taken.grad, dest.grad)
    dest.grad.zero_()
    _weft.run_adjoint(_COPY.of(dest.ndim), dest.shape, [src, taken], [None, None], max(src._place, -1))


def record_fill(dest: array, value: Any) -> None:
    """Called by every fill of an array, with zeros where there is no value, while a tape records, or waits for one that it has
    recorded before, or forward mode follows."""
    if forward := follows():
        with aside():
            forward._copied(dest, None)
    if dest._has_grad and dest.size and _weft.copies_are_followed():
        _record(_FILL, [], dest, dest.zero_ if value is None else lambda: dest.fill_(value))


def record_assignment(dest: array, src: Any, in_order: bool) -> None:
    """Records that an array took the numbers of another, converted and broadcast by NumPy or in their order. To be called
    when it is done."""
    if forward := follows():
        with aside():
            forward._assigned(dest, src)
    if not dest._has_grad or dest.size == 0 or not _weft.copies_are_followed():
        return
    given = src

    def again() -> None:
        (dest.assign if in_order else dest._assign_values)(given)

    if getattr(src, "_wp_indexed_", False):
        src = src.contiguous()
    if isinstance(src, array) and src._valid and dest.ptr == src.ptr and dest._element == src._element:
        if (dest.shape, dest.strides) == (src.shape, src.strides):
            return  # its own elements
    if not isinstance(src, array) or not src.requires_grad or not has_slopes(src):
        _record(_FILL, [], dest, again)
    elif tape := _weft.work_listener():
        tape._add_work(lambda: add_to_gradient(src, take_gradient(dest)), [src, dest], [dest], again)


def record_gather(dest: array, data: array, selection: tuple) -> None:
    """Records that an array took elements that NumPy's index `selection` picks of another."""

    def backward() -> None:
        taken = take_gradient(dest)
        amount = np.zeros(data.shape + taken.shape[dest.ndim :], taken.dtype)
        np.add.at(amount, selection, taken)
        add_to_gradient(data, amount)

    def again() -> None:
        _weft.announce_write(dest, "a gather")
        np.copyto(_interface.numpy_view(dest), _interface.host_view(data)[selection])
        if recording(data) is not None:
            record_gather(dest, data, selection)

    _weft.work_listener()._add_work(backward, [data, dest], [dest], again)


def record_scatter(data: array, selection: tuple, src: Any, again: Callable[[], None]) -> None:
    """Records that elements of an array were set to those of `src`, broadcast by NumPy, or to constants. Where an element
    was set several times the last one counts. `again` does the same once more."""
    places = np.arange(data.size).reshape(data.shape)[selection]
    last = np.zeros(data.size, np.int64)
    order = np.arange(places.size).reshape(places.shape)
    last[places] = order
    counts = last[places] == order
    source = src if isinstance(src, array) and src.requires_grad and has_slopes(src) else None

    def backward() -> None:
        full = _numbers(_interface.host_view(data.grad), data).copy()
        taken = full[selection].copy()
        taken[~counts] = 0
        full[selection] = 0
        data.grad.assign(full)
        add_to_gradient(source, taken)

    _weft.work_listener()._add_work(backward, [data] if source is None else [data, source], [data], again)


def has_slopes(one: array) -> bool:
    """Whether its elements are floats, or made of floats."""
    return one._element.kind != "struct" and "float" in one._element.scalar


def held_arrays(one: array) -> Iterable[array]:
    """The arrays that the structs in an array hold."""
    return () if one._refs is None else [a for a in arrays_in(list(one._refs.values())) if a._valid]


# ---- for functions that go back --------------------------------------------------------------------------------------


def values_now(one: array, by: str) -> Callable[[], np.ndarray]:
    """A function that gives the values which an array has now, on the way back over the tape that records."""
    version = _weft.work_listener()._need(one, by)

    def values() -> np.ndarray:
        view = one._reinterpret(one._element, one.shape, one.strides)
        version._share_into(view)
        return _numbers(_interface.host_view(view), one)

    return values


def take_gradient(one: array) -> np.ndarray:
    """The gradient of an array that was overwritten, which it loses by that."""
    taken = _numbers(_interface.host_view(one.grad), one).copy()
    one.grad.zero_()
    return taken


def add_to_gradient(one: array | None, amount: np.ndarray) -> None:
    """Adds to an array's gradient where it has one."""
    if one is not None and one.requires_grad:
        add_numbers(one.grad, amount)


def add_numbers(one: array, amount: np.ndarray) -> None:
    """Adds to an array what was broadcast from it or taken in its order."""
    _weft.announce_write(one, "a backward pass")
    host = _interface.on_host(one)
    view = _interface.numpy_view(host)
    with np.errstate(all="ignore"):
        total = _numbers(view, one) + _fitted(amount, view.shape)
        np.copyto(view, _interface.comparable(total, _interface.layout(one._element)), casting="unsafe")
    if host is not one:
        one._take_back(host)


def _fitted(amount: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient of what NumPy broadcast to another shape, or took in its order."""
    if amount.shape == shape:
        return amount
    if amount.size == np.prod(shape, dtype=np.int64):
        return amount.reshape(shape)
    amount = amount.sum(axis=tuple(range(amount.ndim - len(shape))))
    return amount.sum(axis=tuple(d for d, n in enumerate(shape) if n == 1 and amount.shape[d] != 1), keepdims=True)


def _numbers(values: np.ndarray, like: array) -> np.ndarray:
    return _interface.bfloat16_values(values) if like._element.scalar == "bfloat16" else values


# Lower rooms and C++ call these once something listens, and whatever listens has loaded this module.
listeners.record_assignment = record_assignment
listeners.record_gather = record_gather
listeners.record_scatter = record_scatter
_weft.set_tape_hooks(record_copy, record_fill, held_arrays)
