"""`wp.Tape`: records launches, copies and fills, and goes back over them to compute gradients."""

from __future__ import annotations

from typing import Any, Callable, Iterator

from warp import _weft
from warp._src import config
from warp._src.array import array
from warp._src.struct import StructInstance

__all__ = ["Tape"]


class Tape(_weft.TapeCore):
    """Records what runs inside its `with` block; `backward` computes the gradients of what went in.

    Gradients are exact when arrays are overwritten later on, too: the tape keeps a copy of what the backward pass still
    needs (`kept_bytes` says how much), and kernels that overwrite what they have read write it down (`log_bytes`). With
    `keep_copies=False` the first is an error instead.
    """

    def __init__(self, keep_copies: bool = True):
        super().__init__()
        self.gradients: dict[Any, Any] = {}
        self.loss: array | None = None
        self.scopes: list[tuple[int, str | None, dict]] = []
        self._refuse_copies(not keep_copies)

    # ---- recording ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Tape:
        global current
        if current is not None:
            raise RuntimeError("Warp: Error, entering a tape while one is already active")
        current = self
        self._verify(config.mode == "debug" or bool(config.verify_autograd_array_access))
        self._start()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        global current
        if current is None:
            raise RuntimeError("Warp: Error, ended tape capture, but tape not present")
        self._stop()
        current = None
        if config.verify_autograd_array_access and exc_type is None:
            for note in self._notes():
                print(f"Warp: Warning: {note}")

    def record_func(self, backward: Callable[[], Any], arrays: Any) -> None:
        """Calls `backward` when the backward pass reaches this place; `arrays` are those whose gradients it touches."""
        self._add(backward, list(arrays))

    def record_scope_begin(self, scope_name: str, metadata: dict | None = None) -> None:
        """Opens a named group of operations for `visualize`."""
        self.scopes.append((len(self.launches), scope_name, dict(metadata or {})))

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """Closes the group opened last."""
        if remove_scope_if_empty and self.scopes and self.scopes[-1][0] == len(self.launches) and self.scopes[-1][1]:
            self.scopes.pop()
            return
        self.scopes.append((len(self.launches), None, {}))

    @property
    def launches(self) -> list[Any]:
        """What was recorded, in order: (kernel, dim, max_blocks, inputs, outputs, device, block_dim) of launches,
        (function, arrays) of functions."""
        return self._steps()

    # ---- going back --------------------------------------------------------------------------------------------------

    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Adds to the gradient of every array that was read what the gradients of the written ones say.

        `loss` is an array of one element whose gradient becomes 1; `grads` maps arrays to the gradients they start with;
        without either, the gradients that the arrays have are taken as they are.
        """
        global current
        recording = current
        if recording is not None:
            recording._stop()
            current = None
        try:
            self._seed(loss, grads)
            retained = [a for a in self._arrays() if a.retain_grad and a.requires_grad]
            if retained:
                self._backward_retaining(retained)
            else:
                self._backward()
        finally:
            if recording is not None:
                current = recording
                recording._start()
        self._collect()

    def _seed(self, loss: array | None, grads: dict[array, array] | None) -> None:
        if loss is not None:
            if not isinstance(loss, array):
                raise TypeError(f"the loss must be a wp.array, not {type(loss).__name__}")
            if loss.size != 1:
                raise RuntimeError(f"Can only return gradients for scalar loss functions; the loss has {loss.size} elements")
            if not loss.requires_grad:
                raise RuntimeError(
                    "Scalar loss arrays should have requires_grad=True set before calling Tape.backward()"
                )
            loss.grad.fill_(1.0)
            self.loss = loss
        for given, gradient in (grads or {}).items():
            if not isinstance(given, array) or not given.requires_grad:
                raise RuntimeError("`grads` maps arrays that have requires_grad=True to their gradients")
            given.grad.assign(gradient)

    def _backward_retaining(self, retained: list[array]) -> None:
        # A store's adjoint takes the gradient of what it wrote; for these arrays what was taken comes back at the end.
        from warp._src.array_factories import clone

        taken: dict[int, tuple[array, array]] = {}
        steps = self.launches
        for index in range(len(steps) - 1, -1, -1):
            for one in retained:
                if id(one) not in taken and self._writes(index, one):
                    taken[id(one)] = (one, clone(one.grad, requires_grad=False))
            self._reverse(index)
        for one, before in taken.values():
            _put_back(one.grad, before)

    def _collect(self) -> None:
        self.gradients = {}
        for one in self._arguments():
            if isinstance(one, array):
                if one.requires_grad:
                    self.gradients[one] = one.grad
            elif isinstance(one, StructInstance):
                self.gradients[one] = _struct_gradient(one)

    @property
    def adjoints(self) -> dict[Any, Any]:
        """Another name of `gradients`."""
        return self.gradients

    def zero(self) -> None:
        """Sets the gradients of all recorded arrays to zero."""
        seen = set()
        for one in self._arrays():
            if one.requires_grad and id(one) not in seen:
                seen.add(id(one))
                one.grad.zero_()

    def reset(self) -> None:
        """Forgets everything that was recorded, and sets the gradients to zero."""
        self.zero()
        self._clear()
        self.gradients = {}
        self.scopes = []
        self.loss = None

    # ---- what was recorded -------------------------------------------------------------------------------------------

    def _arguments(self) -> Iterator[Any]:
        for step in self.launches:
            if len(step) == 2:
                yield from step[1]
            else:
                yield from (*step[3], *step[4])

    def _arrays(self) -> Iterator[array]:
        for one in self._arguments():
            yield from arrays_of(one)

    def visualize(
        self,
        filename: str | None = None,
        simplify_graph: bool = True,
        hide_readonly_arrays: bool = False,
        array_labels: dict[array, str] | None = None,
        choose_longest_node_name: bool = True,
        ignore_graph_scopes: bool = False,
        track_inputs: list[array] | None = None,
        track_outputs: list[array] | None = None,
        track_input_names: list[str] | None = None,
        track_output_names: list[str] | None = None,
        graph_direction: str = "LR",
    ) -> str:
        """The recorded operations as a graph in the DOT language; written to `filename` where one is given."""
        from warp._src.tape_graph import draw

        labels = dict(array_labels or {})
        for arrays, names in ((track_inputs, track_input_names), (track_outputs, track_output_names)):
            for one, name in zip(arrays or [], names or []):
                labels.setdefault(one, name)
        text = draw(self, labels, hide_readonly_arrays, ignore_graph_scopes, graph_direction)
        if filename is not None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        return text


current: Tape | None = None
"""The tape that records now."""


def arrays_of(one: Any) -> Iterator[array]:
    """The arrays in an argument: itself, those of an indexed array, those in the fields of a struct."""
    if isinstance(one, array):
        if one._valid:
            yield one
    elif getattr(one, "_wp_indexed_", False):
        yield one.data
    elif isinstance(one, StructInstance):
        for name in type(one)._wp_fields_:
            yield from arrays_of(getattr(one, name))


def _struct_gradient(one: Any) -> Any:
    made = type(one)()
    for name in type(one)._wp_fields_:
        value = getattr(one, name)
        if isinstance(value, array):
            setattr(made, name, value.grad if value._valid and value.requires_grad else None)
        elif isinstance(value, StructInstance):
            setattr(made, name, _struct_gradient(value))
    return made


# ---- copies and fills ------------------------------------------------------------------------------------------------


_kernels: dict[tuple[str, int], Any] = {}


def _kernel(kind: str, rank: int) -> Any:
    """Kernels whose adjoints are those of copies and fills; they run backwards only."""
    made = _kernels.get((kind, rank))
    if made is None:
        import typing

        import warp as wp
        from warp._src.context import kernel_from_text

        index = ", ".join("ijkl"[:rank])
        body = {
            "copy": f"dest[{index}] = src[{index}]",
            "fill": f"dest[{index}] = dest.dtype()",
            "add": f"dest[{index}] = dest[{index}] + src[{index}]",
            "put_back": f"dest[{index}] = wp.where(dest[{index}] == type(dest[{index}])(0.0), src[{index}], dest[{index}])",
        }[kind]
        params = f"dest: wp.array(dtype=Any, ndim={rank})"
        if kind != "fill":
            params = f"src: wp.array(dtype=Any, ndim={rank}), {params}"
        text = f"def tape_{kind}({params}):\n    {index} = wp.tid()\n    {body}\n"
        made = _kernels[kind, rank] = kernel_from_text(text, f"tape_{kind}", {"wp": wp, "Any": typing.Any})
    return made


def _record(kind: str, inputs: list[array], dest: array) -> None:
    kernel = _kernel(kind, dest.ndim)
    kept = (kernel, dest.shape, 0, inputs, [dest], dest.device, None)
    _weft.run_launch(kernel, dest.shape, inputs, [dest], max(dest._place, -1), 0, None, None, kept, False)


def record_copy(dest: array, src: array) -> None:
    """Called by every copy between arrays while a tape records."""
    if current is None or not dest._has_grad or dest.size == 0:
        return
    if not src._has_grad:
        _record("fill", [], dest)
    elif max(src._place, -1) == max(dest._place, -1):
        _record("copy", [src], dest)
    else:

        def backward() -> None:
            from warp._src.array_factories import clone

            moved = clone(dest.grad, device=src.device, requires_grad=False)
            _add_to(src.grad, moved)
            dest.grad.zero_()

        current.record_func(backward, [src, dest])


def record_fill(dest: array) -> None:
    """Called by every fill of an array while a tape records."""
    if current is not None and dest._has_grad and dest.size:
        _record("fill", [], dest)


def _add_to(dest: array, src: array) -> None:
    from warp._src.context import launch

    launch(_kernel("add", dest.ndim), dest.shape, [src], [dest], device=dest.device, record_tape=False)


def _put_back(dest: array, src: array) -> None:
    """dest = src where dest is zero."""
    import numpy as np

    now, before = dest.numpy(), src.numpy()
    dest.assign(np.where(now == 0, before, now))


_weft.set_tape_hooks(record_copy, record_fill)
