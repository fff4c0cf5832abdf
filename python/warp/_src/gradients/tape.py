"""`wp.Tape`: records launches, copies and fills, and goes back over them to compute gradients."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Callable

import numpy as np

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.struct_elements import arrays_of
from warp._src.gradients import tape_record
from warp._src.session import config
from warp._src.values.struct import StructInstance

__all__ = ["Tape"]


class Gradients(Mapping):
    """Gradients by the argument that they belong to: arrays by array, structs of gradients by struct."""

    def __init__(self) -> None:
        # By identity: what gives the argument, and what gives its gradient, which may have to be fetched from a device.
        self._found: dict[int, tuple[Callable[[], Any], Callable[[Any], Any]]] = {}

    def _put(self, one: Any, gradient: Callable[[Any], Any]) -> None:
        self._found[id(one)] = (lambda: one, gradient)

    def _let_go(self) -> None:
        """Keeps nothing alive from now on: what the program still has can be looked up."""
        for key, (given, gradient) in list(self._found.items()):
            gone = functools.partial(self._found.pop, key, None)
            self._found[key] = (weakref.ref(given(), lambda _, gone=gone: gone()), gradient)

    def __getitem__(self, one: Any) -> Any:
        found = self._found.get(id(one))
        if found is None or found[0]() is not one:
            raise KeyError(one)
        return found[1](one)

    def __iter__(self) -> Iterator[Any]:
        return iter([one for one, _ in self.items()])

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, one: object) -> bool:
        return id(one) in self._found

    def values(self) -> Any:
        """The gradients."""
        return [gradient for _, gradient in self.items()]

    def items(self) -> Any:
        """Arguments and their gradients."""
        held = [(given(), gradient) for given, gradient in list(self._found.values())]
        return [(one, gradient(one)) for one, gradient in held if one is not None]

    def __repr__(self) -> str:
        return f"<gradients of {len(self)} arguments>"


def _alone(method: Callable[..., None]) -> Callable[..., None]:
    """One thread at a time does such things with a tape; functions that it calls on its way may do them again."""

    @functools.wraps(method)
    def call(self: Tape, *args: Any, **keywords: Any) -> None:
        with self._turn:
            method(self, *args, **keywords)

    return call


class Tape(_weft.TapeCore):
    """Records what runs inside its `with` block; `backward` computes the gradients of what went in.

    A thread has one tape at a time. The first one that is entered also records threads which have none.

    Gradients are exact when arrays are overwritten later on, too: the tape keeps a copy of what the backward pass still
    needs (`kept_bytes` says how much), and kernels that overwrite what they have read write it down (`log_bytes`). With
    `keep_copies=False` the first is an error instead.
    """

    def __init__(self, keep_copies: bool = True):
        super().__init__()
        self._turn = threading.RLock()
        self._handed_out = Gradients()
        self.gradients: Mapping[Any, Any] = self._handed_out
        self.loss: array | None = None
        self.scopes: list[tuple[int, str | None, dict | None]] = []
        self._refuse_copies(not keep_copies)

    # ---- recording ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Tape:
        self._start()  # RuntimeError where this thread has one already
        self._verify(config.mode == "debug" or bool(config.verify_autograd_array_access))
        self._watch_threads(bool(config.verify_autograd_array_access))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self._stop()
        if config.verify_autograd_array_access and exc_type is None:
            for note in self._notes():
                print(f"Warp: Warning: {note}")

    def record_func(self, backward: Callable[[], Any], arrays: Any) -> None:
        """Calls `backward` when the backward pass reaches this place; `arrays` are those whose gradients it touches."""
        if not callable(backward):
            raise TypeError(f"`backward` is a function without arguments, not {type(backward).__name__}")
        given = [arrays] if _holds_arrays(arrays) else list(arrays)
        for one in given:
            if not _holds_arrays(one):
                raise TypeError(f"`arrays` lists the arrays whose gradients `backward` touches, not {type(one).__name__}")
        self._add(backward, [a for one in given for a in arrays_of(one)])

    def record_scope_begin(self, scope_name: str, metadata: dict | None = None) -> None:
        """Opens a named group of operations for `visualize`."""
        self.scopes.append((self._count(), scope_name, dict(metadata or {})))

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """Closes the group opened last."""
        if sum(1 if name is not None else -1 for _, name, _ in self.scopes) < 1:
            raise RuntimeError("Warp: Error, ended tape scope, but scope not present")
        if remove_scope_if_empty and self.scopes and self.scopes[-1][0] == self._count() and self.scopes[-1][1]:
            self.scopes.pop()
            return
        self.scopes.append((self._count(), None, None))

    @property
    def launches(self) -> list[Any]:
        """What was recorded, in order: [kernel, dim, max_blocks, inputs, outputs, device, block_dim] of launches,
        [function, arrays] of functions."""
        return self._steps()

    # ---- going back --------------------------------------------------------------------------------------------------

    @_alone
    def backward(self, loss: array | None = None, grads: dict[array, array] | None = None) -> None:
        """Adds to the gradient of every array that was read what the gradients of the written ones say.

        `loss` is an array of one element whose gradient becomes 1; `grads` maps arrays to the gradients they start with;
        without either, the gradients that the arrays have are taken as they are. An array of `grads` that has no gradient
        has one for this pass.
        """
        if tape_record.follows():
            raise RuntimeError(
                "forward mode does not follow a backward pass: go back when its block has ended; for second derivatives, "
                "from a tangent (wp.hvp)"
            )
        with tape_record.paused():
            arrays = self._arrays()
            lent = _lend_gradients(grads)
            try:
                retained = [a for a in arrays if a.retain_grad and a.requires_grad]
                self._backward(lambda: self._seed(loss, grads), retained)
                self._collect(arrays)
                for one in lent:
                    self._handed_out._put(one, lambda _, gradient=one.grad: gradient)
            finally:
                for one in lent:
                    one.requires_grad = False

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
            if gradient is None:
                raise RuntimeError(f"`grads` has None for an array of shape {given.shape}; give the gradient to start from")
            if not isinstance(gradient, array) or gradient._element != given._element:
                gradient = array(gradient, dtype=given.dtype, copy=False, device="cpu")
            if gradient.size != given.size:
                raise RuntimeError(
                    f"an array of shape {given.shape} can't take a gradient of shape {gradient.shape}: there must be one for "
                    "each element"
                )
            given.grad.assign(gradient)

    def _collect(self, arrays: list[array]) -> None:
        found = Gradients()
        for one in arrays:
            if one.requires_grad:
                found._put(one, _own_gradient)
        for one in self._compounds():
            if isinstance(one, StructInstance):
                found._put(one, self._struct_gradient)
            elif getattr(one, "_wp_indexed_", False) and one.requires_grad:
                found._put(one, _own_gradient)
        self.gradients = self._handed_out = found

    @_alone
    def replay(self) -> None:
        """Runs everything that was recorded again, in its order, on the values that arrays have now; `backward` then gives the
        gradient there.

        A program that does the same launches, copies and fills itself, outside of the tape, needs no call: the tape sees it.
        """
        self._replay()

    @property
    def adjoints(self) -> Mapping[Any, Any]:
        """Another name of `gradients`."""
        return self.gradients

    def get_adjoint(self, value: Any) -> Any:
        """The gradient of an argument: of an array its `grad`, of a struct one of the gradients of its fields; None for what
        has none."""
        if value in self.gradients:
            return self.gradients[value]
        if isinstance(value, StructInstance):
            return self._struct_gradient(value)
        return value.grad if isinstance(value, array) or getattr(value, "_wp_indexed_", False) else None

    @_alone
    def zero(self) -> None:
        """Sets the gradients of all recorded arrays to zero."""
        with tape_record.paused():
            for one in self._arrays():
                if (gradient := one.grad) is not None:
                    gradient.zero_()
            self._zero_numbers()

    @_alone
    def reset(self) -> None:
        """Forgets everything that was recorded, and sets the gradients to zero. They can still be looked up."""
        self.zero()
        self._clear()
        self._handed_out._let_go()
        self.scopes = []
        self.loss = None

    def _struct_gradient(self, one: Any) -> Any:
        """Gradients of a struct's fields: arrays have theirs, numbers the sum over all threads that got them."""
        made = _array_gradients(one)
        sums: dict[tuple[str, ...], np.ndarray] = {}
        for names, values in self._numbers(one):
            sums[names] = sums.get(names, 0.0) + np.asarray(values)
        for names, values in sums.items():
            owner = functools.reduce(getattr, names[:-1], made)
            kind = type(getattr(owner, names[-1]))
            setattr(owner, names[-1], kind(*values.tolist()))
        return made

    # ---- what was recorded -------------------------------------------------------------------------------------------

    def _arrays(self) -> list[array]:
        """Every array that was recorded, once; arrays in structs as they were then."""
        found = {id(one): one for one in self._launch_arrays()}
        for _, arrays in self._functions():
            found.update((id(one), one) for one in arrays)
        return list(found.values())

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
        """The recorded operations as a graph in the DOT language; written to `filename` where one is given.

        `simplify_graph` shows sequences that follow themselves once, in a group; `hide_readonly_arrays` leaves out arrays
        that nothing writes, but for those to track. Arrays are named by `array_labels` or by `track_input_names` and
        `track_output_names`, else as parameters are: by the longest name of all, or with `choose_longest_node_name=False`
        by the first.
        """
        from warp._src.gradients.tape_graph import draw

        if graph_direction not in ("LR", "RL", "TB", "BT"):
            raise ValueError(f"graph_direction is one of LR, RL, TB and BT, not {graph_direction!r}")
        labels = dict(array_labels or {})
        for arrays, names in ((track_inputs, track_input_names), (track_outputs, track_output_names)):
            for one, name in zip(arrays or [], names or []):
                labels.setdefault(one, name)
        text = draw(
            self,
            labels,
            [*(track_inputs or ()), *(track_outputs or ())],
            simplify=simplify_graph,
            hide_readonly=hide_readonly_arrays,
            longest_name=choose_longest_node_name,
            ignore_scopes=ignore_graph_scopes,
            direction=graph_direction,
        )
        if filename is not None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
        return text


def _lend_gradients(grads: Any) -> list[array]:
    """Gives the arrays of `grads` that have no gradient one; to be taken back."""
    if grads is not None and not isinstance(grads, Mapping):
        raise TypeError(f"`grads` is a dictionary from arrays to their gradients, not {type(grads).__name__}")
    for given in grads or ():
        if not isinstance(given, array) or not given._valid:
            raise RuntimeError(f"`grads` maps arrays to their gradients; {type(given).__name__} is none")
    lent = [one for one in grads or () if not one.requires_grad]
    for one in lent:
        if not tape_record.has_slopes(one):
            raise RuntimeError(f"`grads` has an array of {one.dtype.__name__}, which has no gradient")
    for one in lent:
        one.requires_grad = True
    return lent


def _own_gradient(one: Any) -> Any:
    return one.grad


def _holds_arrays(one: Any) -> bool:
    return isinstance(one, (array, StructInstance)) or getattr(one, "_wp_indexed_", False)


def _array_gradients(one: Any) -> Any:
    made = type(one)()
    for name in type(one)._wp_fields_:
        value = getattr(one, name)
        if isinstance(value, array):
            setattr(made, name, value.grad if value._valid and value.requires_grad else None)
        elif isinstance(value, StructInstance):
            setattr(made, name, _array_gradients(value))
        elif getattr(value, "_wp_indexed_", False):
            setattr(made, name, value.grad)
    return made
