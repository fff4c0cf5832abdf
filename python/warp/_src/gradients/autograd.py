"""`warp.autograd`: Jacobians by tapes and by central differences, and checks of one against the other."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from warp import _weft
from warp._src.arrays import array_interface as _interface
from warp._src.arrays.array import array
from warp._src.arrays.struct_elements import arrays_of
from warp._src.devices.device import ScopedDevice
from warp._src.gradients import tape_record
from warp._src.gradients.tape import Tape
from warp._src.kernels.definitions import Kernel
from warp._src.kernels.launching import launch

__all__ = ["FunctionMetadata", "gradcheck", "gradcheck_tape", "jacobian", "jacobian_fd", "jacobian_plot"]


class FunctionMetadata:
    """Names of a function and of its inputs and outputs, for messages and plots."""

    def __init__(
        self,
        key: str | None = None,
        input_labels: list[str] | None = None,
        output_labels: list[str] | None = None,
        input_strides: list[int] | None = None,
        output_strides: list[int] | None = None,
    ):
        self.key = key
        self.input_labels = input_labels
        self.output_labels = output_labels
        self.input_strides = input_strides
        self.output_strides = output_strides

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return self.key is None


class _Problem:
    """A kernel or function with its arguments: which arrays are differentiated by which, and how to run it."""

    def __init__(
        self,
        function: Any,
        dim: Any,
        inputs: Sequence[Any] | None,
        outputs: Sequence[Any] | None,
        mask: list[tuple] | None,
        metadata: FunctionMetadata | None,
        options: dict[str, Any],
    ):
        if not callable(function):
            raise TypeError(f"a kernel or a function is differentiated, not {type(function).__name__}")
        if _weft.recording_tape() is not None:
            raise RuntimeError(
                "Jacobians and checks run their function on tapes of their own and change its arrays for a while; ask for "
                "them outside of a tape's block"
            )
        if not inputs:
            raise ValueError("there are no inputs to differentiate by; give inputs=[…]")
        self.inputs = list(inputs)
        self.given_outputs = list(outputs or ())
        self.device = _device_of(options["device"], [*self.inputs, *self.given_outputs])
        self.function, self.dim, self.options = function, dim, {**options, "device": self.device}
        self.from_inputs = isinstance(function, Kernel) and not self.given_outputs  # they are inputs that it writes
        self.metadata = metadata or FunctionMetadata()
        names = list(getattr(getattr(function, "func", function), "__code__", _NO_CODE).co_varnames)
        if self.metadata.is_empty:
            self.metadata.key = getattr(function, "key", None) or getattr(function, "__name__", "function")
        if self.metadata.input_labels is None:
            self.metadata.input_labels = [_named(names, k, "input") for k in range(len(self.inputs))]
        self._names = names
        self.mask = mask
        self.sources = [k for k, one in enumerate(self.inputs) if _differentiable(one) and one.requires_grad]
        if not self.sources:
            raise ValueError("none of the inputs is an array of floats with requires_grad=True")
        self._known: list[tuple[array, np.ndarray]] = [
            (a, _interface.host_view(a).copy()) for a in _arrays_of([*self.inputs, *self.given_outputs])
        ]
        self._gradients = [(a, _interface.host_view(a.grad).copy()) for a, _ in self._known if a.requires_grad]
        self.written = self._written() if self.from_inputs else []

    def finish(self, restore_inputs: bool) -> None:
        """Puts gradients back as they were, and the arrays if they are to stay as they were."""
        with tape_record.paused():
            for one, values in self._gradients:
                if one.requires_grad:
                    _put(one.grad, values)
            if restore_inputs:
                self.reset()

    def reset(self) -> None:
        """Gives all arrays that were passed the values that they had at first."""
        for one, values in self._known:
            _put(one, values)

    def run(self) -> list[Any]:
        """Runs the function; the outputs."""
        if isinstance(self.function, Kernel):
            launch(self.function, dim=self.dim, inputs=self.inputs, outputs=self.given_outputs, **self.options)
            results = self.inputs if self.from_inputs else self.given_outputs
        else:
            with ScopedDevice(self.device):  # what it makes lies beside what it is given
                made = self.function(*self.inputs)
            if made is None and self.given_outputs:
                raise ValueError("a function that is differentiated returns its outputs; return the arrays")
            results = list(made) if isinstance(made, (tuple, list)) else [made]
        if self.metadata.output_labels is None:
            first = 0 if self.from_inputs else len(self.inputs)
            kernel = isinstance(self.function, Kernel)
            self.metadata.output_labels = [
                _named(self._names, first + k, "output") if kernel else f"output_{k}" for k in range(len(results))
            ]
        return results

    def _written(self) -> list[int]:
        """Which inputs the kernel writes, found by running it."""
        tape = Tape()
        with tape:
            launch(self.function, dim=self.dim, inputs=self.inputs, **self.options)
        self.reset()
        return [k for k, one in enumerate(self.inputs) if _differentiable(one) and tape._writes(0, one)]

    def targets(self, results: list[Any]) -> list[int]:
        """Which outputs are arrays of floats; of a kernel without outputs, those inputs that it writes."""
        found = self.written if self.from_inputs else [k for k, one in enumerate(results) if _differentiable(one)]
        if not found:
            raise ValueError("there is no output that is an array of floats")
        return found

    def wanted(self, source: int, target: int) -> bool:
        """Whether a pair of input and output is asked for."""
        if self.mask is None:
            return True
        inputs, outputs = self.metadata.input_labels or [], self.metadata.output_labels or []
        for given in self.mask:
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise ValueError(f"a mask lists pairs of an input and an output, by name or number, not {given!r}")
            if (_number(given[0], inputs, "input"), _number(given[1], outputs, "output")) == (source, target):
                return True
        return False


class _NoCode:
    co_varnames: tuple[str, ...] = ()


_NO_CODE = _NoCode()


def _number(given: Any, names: list[str], what: str) -> int:
    if isinstance(given, str):
        if given not in names:
            raise ValueError(f"there is no {what} named '{given}'; there are {', '.join(names)}")
        return names.index(given)
    if not isinstance(given, (int, np.integer)) or not 0 <= given < len(names):
        raise ValueError(f"there is no {what} number {given!r}; there are {len(names)}")
    return int(given)


def _named(names: list[str], k: int, what: str) -> str:
    return names[k] if k < len(names) else f"{what}_{k}"


def _differentiable(one: Any) -> bool:
    return isinstance(one, array) and one._valid and tape_record.has_slopes(one)


def _arrays_of(arguments: list[Any]) -> list[array]:
    return list({id(a): a for one in arguments for a in arrays_of(one)}.values())


def _device_of(device: Any, arguments: list[Any]) -> Any:
    """Where a function runs: on the device that is asked for, else where its first array lies."""
    found = next(iter(_arrays_of(arguments)), None) if device is None else None
    return device if found is None else found.device


def _put(one: array, values: np.ndarray) -> None:
    if one.size:
        one.assign(array(values, dtype=one.dtype, copy=False, device="cpu"))


def _numbers(one: array) -> np.ndarray:
    """All scalars of an array's elements in one line, as float64."""
    values = _interface.host_view(one)
    if one._element.scalar == "bfloat16":
        values = _interface.bfloat16_values(values)
    return values.astype(np.float64).ravel()


def _scalars(one: array) -> int:
    return one.size * (one._element.size // {"float64": 8, "float32": 4}.get(one._element.scalar, 2))


def _matrix(values: np.ndarray, x: array, y: array) -> array:
    wide = "float64" in (x._element.scalar, y._element.scalar)
    return array(values, dtype=np.float64 if wide else np.float32, device=x.device)


def _options(device: Any, max_blocks: int, block_dim: int | None) -> dict[str, Any]:
    return {"device": device, "max_blocks": max_blocks, "block_dim": block_dim}


def jacobian(
    function: Kernel | Callable,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: list[tuple[str | int, str | int]] | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_outputs_per_var: int = -1,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
    kernel: Kernel | None = None,
) -> dict[tuple[int, int], array]:
    """Jacobians of a kernel, or of a function that takes arrays and returns arrays, by a backward pass for each row.

    Args:
        function: what is differentiated. Kernels take `dim`, `inputs` and `outputs` as `wp.launch` does.
        inputs: arguments; those that are arrays of floats with requires_grad=True are differentiated by.
        input_output_mask: pairs of an input and an output, by number or name; others are left out.
        max_outputs_per_var: so many rows of each Jacobian at most; the others are NaN.
        restore_inputs: give all arrays that were passed their values back.

    Returns the matrices by (number of the input, number of the output). Vectors and matrices count as their scalars, in
    order: the matrix has a row for each scalar of the output and a column for each scalar of the input.
    """
    problem = _Problem(
        kernel or function, dim, inputs, outputs, input_output_mask, metadata, _options(device, max_blocks, block_dim)
    )
    added: list[array] = []
    try:
        with tape_record.paused():
            problem.reset()
        tape = Tape()
        for one in problem.given_outputs:
            if _differentiable(one) and not one.requires_grad:
                one.requires_grad = True
                added.append(one)
        results, found = _rows(problem, tape, max_outputs_per_var)
    finally:
        for one in added:
            one.requires_grad = False
        problem.finish(restore_inputs)
    if plot_jacobians:
        jacobian_plot(found, problem.metadata, problem.inputs, results)
    return found


def _rows(problem: _Problem, tape: Tape, most: int) -> tuple[list[Any], dict[tuple[int, int], array]]:
    with tape:
        results = problem.run()
    for kernel in (one[0] for one in tape.launches if len(one) == 7):
        if not kernel._backward():  # rows of zeros would look like an answer
            raise ValueError(
                "Kernel must have backward pass enabled to compute Jacobians; "
                f"'{kernel.key}' has enable_backward=False, and nothing can be differentiated through it"
            )
    found: dict[tuple[int, int], array] = {}
    for target in problem.targets(results):
        y = results[target]
        sources = [k for k in problem.sources if problem.wanted(k, target)]
        if not y.requires_grad or not sources:
            continue
        rows = _scalars(y)
        parts = {k: np.full((rows, _scalars(problem.inputs[k])), np.nan) for k in sources}
        for row in range(rows if most <= 0 else min(rows, most)):
            tape.zero()
            for k in sources:
                problem.inputs[k].grad.zero_()
            seed = np.zeros(rows)
            seed[row] = 1.0
            shape = y.shape + _interface.layout(y._element).inner
            tape.backward(grads={y: array(seed.reshape(shape), dtype=y.dtype, device="cpu")})
            for k in sources:
                parts[k][row] = _numbers(problem.inputs[k].grad)
        for k in sources:
            found[k, target] = _matrix(parts[k], problem.inputs[k], y)
    tape.zero()
    return results, found


def jacobian_fd(
    function: Kernel | Callable,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    input_output_mask: list[tuple[str | int, str | int]] | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    eps: float = 1e-4,
    plot_jacobians: bool = False,
    metadata: FunctionMetadata | None = None,
    restore_inputs: bool = True,
    kernel: Kernel | None = None,
) -> dict[tuple[int, int], array]:
    """What `jacobian` computes, by central differences of width 2·eps: one column for two runs.

    With `max_inputs_per_var`, so many columns of each Jacobian at most; the others are NaN.
    """
    if not (isinstance(eps, (int, float, np.number)) and 0 < eps < np.inf):
        raise ValueError(f"eps is a step greater than 0, not {eps!r}")
    problem = _Problem(
        kernel or function, dim, inputs, outputs, input_output_mask, metadata, _options(device, max_blocks, block_dim)
    )
    try:
        with tape_record.paused():
            problem.reset()
            results = problem.run()
            targets = problem.targets(results)
            found = _columns(problem, targets, max_inputs_per_var, eps)
    finally:
        problem.finish(restore_inputs)
    if plot_jacobians:
        jacobian_plot(found, problem.metadata, problem.inputs, results)
    return found


def _columns(problem: _Problem, targets: list[int], most: int, eps: float) -> dict[tuple[int, int], array]:
    found: dict[tuple[int, int], array] = {}
    for source in problem.sources:
        pairs = [t for t in targets if problem.wanted(source, t)]
        if not pairs:
            continue
        x = problem.inputs[source]
        columns = _scalars(x)
        parts: dict[int, np.ndarray] = {}
        results: list[Any] = []
        for column in range(columns if most <= 0 else min(columns, most)):
            sides = []
            for step in (eps, -eps):
                problem.reset()
                values = _numbers(x)
                values[column] += step
                _put(x, values.reshape(x.shape + _interface.layout(x._element).inner))
                moved = _numbers(x)[column]
                results = problem.run()
                sides.append((moved, {t: _numbers(results[t]) for t in pairs}))
            (right, up), (left, down) = sides
            for t in pairs:
                part = parts.setdefault(t, np.full((len(up[t]), columns), np.nan))
                part[:, column] = (up[t] - down[t]) / (right - left)  # the step as it was rounded
        for t, part in parts.items():
            found[source, t] = _matrix(part, x, results[t])
    return found


def gradcheck(
    function: Kernel | Callable,
    dim: Any = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_mask: list[tuple[str | int, str | int]] | None = None,
    device: Any = None,
    max_blocks: int = 0,
    block_dim: int | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    restore_inputs: bool = True,
) -> bool:
    """Compares the Jacobians by tape and by differences. Returns whether all entries agree within atol + rtol·|entry|;
    raises ValueError where they don't, unless `raise_exception` is off."""
    metadata = FunctionMetadata()
    shared = (dim, inputs, outputs, input_output_mask, device, max_blocks, block_dim)
    by_differences = jacobian_fd(
        function, *shared, max_inputs_per_var=max_inputs_per_var, eps=eps, metadata=metadata, restore_inputs=True
    )
    by_tape = jacobian(
        function, *shared, max_outputs_per_var=max_outputs_per_var, metadata=metadata, restore_inputs=restore_inputs
    )
    lines, wrong, relative, absolute = [], [], {}, {}
    for pair in sorted(by_differences.keys() | by_tape.keys()):
        name = f"{metadata.input_labels[pair[0]]} → {metadata.output_labels[pair[1]]}"  # type: ignore[index]
        if pair not in by_tape:
            wrong.append(f"{name}: the output has no gradient; make it with requires_grad=True")
            continue
        expected, got = (one[pair].numpy().astype(np.float64) for one in (by_differences, by_tape))
        rows = len(got) if max_outputs_per_var <= 0 else min(len(got), max_outputs_per_var)
        columns = got.shape[1] if max_inputs_per_var <= 0 else min(got.shape[1], max_inputs_per_var)
        expected, got = expected[:rows, :columns], got[:rows, :columns]
        error = np.abs(got - expected)
        scaled = error / np.maximum(np.abs(expected), 1e-30)
        passed = bool(np.all(error <= atol + rtol * np.abs(expected)))  # false for NaN
        worst = (float(error.max()), float(scaled[error > 0].max(initial=0.0))) if error.size else (0.0, 0.0)
        lines.append(f"  {name:32} {'passed' if passed else 'FAILED':8} {worst[0]:12.4g} {worst[1]:12.4g}")
        absolute[pair] = array(error, dtype=np.float64, device="cpu")
        relative[pair] = array(scaled, dtype=np.float64, device="cpu")
        if not passed:
            at = np.unravel_index(int(np.nanargmax(np.where(np.isnan(error), np.inf, error))), error.shape)
            wrong.append(f"{name}: entry {tuple(map(int, at))} is {got[at]:g} by tape, {expected[at]:g} by differences")
    if show_summary:
        print(f"gradients of {metadata.key}:\n  {'input → output':32} {'':8} {'absolute':>12} {'relative':>12}")
        print("\n".join(lines))
    for wanted, errors, title in (
        (plot_relative_error, relative, "relative error"),
        (plot_absolute_error, absolute, "absolute error"),
    ):
        if wanted:
            jacobian_plot(errors, metadata, title=f"{metadata.key}: {title}")
    if wrong and raise_exception:
        raise ValueError(f"the gradients of {metadata.key} are not those of differences; " + "; ".join(wrong))
    return not wrong


def gradcheck_tape(
    tape: Tape,
    *,
    eps: float = 1e-4,
    atol: float = 1e-3,
    rtol: float = 1e-2,
    raise_exception: bool = True,
    input_output_masks: dict[str, list[tuple[str | int, str | int]]] | None = None,
    blacklist_kernels: list[str] | None = None,
    whitelist_kernels: list[str] | None = None,
    max_inputs_per_var: int = -1,
    max_outputs_per_var: int = -1,
    plot_relative_error: bool = False,
    plot_absolute_error: bool = False,
    show_summary: bool = True,
    reverse_launches: bool = False,
    skip_to_launch_index: int = 0,
) -> bool:
    """`gradcheck` of every launch that a tape recorded, with the values that its arrays have now. Launches without a
    differentiable input or output are skipped, as are kernels with enable_backward=False, those on the blacklist, and those
    off a whitelist that is given."""
    launches = [one for one in tape.launches if len(one) == 7]
    order = list(enumerate(launches))
    if reverse_launches:
        order.reverse()
    right = True
    for index, (kernel, dim, max_blocks, inputs, outputs, device, block_dim) in order:
        if index < skip_to_launch_index or kernel.key in (blacklist_kernels or ()) or not kernel._backward():
            continue
        if whitelist_kernels and kernel.key not in whitelist_kernels:
            continue
        if not any(_differentiable(one) and one.requires_grad for one in inputs) or not (
            not outputs or any(_differentiable(one) for one in outputs)
        ):
            continue
        if dim is None:
            dim = next(one.shape for one in (*inputs, *outputs) if isinstance(one, array))
        right &= gradcheck(
            kernel,
            dim,
            inputs,
            outputs,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            input_output_mask=(input_output_masks or {}).get(kernel.key),
            device=device,
            max_blocks=max_blocks,
            block_dim=block_dim,
            max_inputs_per_var=max_inputs_per_var,
            max_outputs_per_var=max_outputs_per_var,
            plot_relative_error=plot_relative_error,
            plot_absolute_error=plot_absolute_error,
            show_summary=show_summary,
        )
    return right


def jacobian_plot(
    jacobians: dict[tuple[int, int], array],
    metadata: FunctionMetadata | None = None,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    show_plot: bool = True,
    show_colorbar: bool = True,
    scale_colors_per_submatrix: bool = False,
    title: str | None = None,
    colormap: str = "coolwarm",
    log_scale: bool = False,
) -> Any:
    """Draws Jacobians side by side with matplotlib, which must be installed; returns the figure."""
    from warp._src.gradients.autograd_plot import draw

    return draw(
        jacobians,
        metadata or FunctionMetadata(),
        show_plot,
        show_colorbar,
        scale_colors_per_submatrix,
        title,
        colormap,
        log_scale,
    )
