"""Judges gradients of single kernels: what a tape says against central differences in float64, for all arrays at once.

A case is a kernel and its data. The loss is a weighted sum of everything that is in its float arrays after the launch, so
the gradient of an array is what the launch, or two in a row, make of its first values. Cases run with one lane, with all
lanes and serially; adjoint launches without a tape must agree or refuse, and so must forward mode.
"""

from typing import Any, Callable

import numpy as np
import pytest
import warp as wp
from warp._src.arrays.array import array as _array

d = wp.float64
MODES = {"one lane": (1, 0), "all lanes": (0, 0), "serial": (0, 1)}  # cpu_lanes, cpu_threads


class Case:
    """A kernel, its data, and how it is to be judged.

    `given` are arrays and numbers by name; other arrays get `size` pleasant numbers, those whose names begin with `out`
    zeros. `ordered`: results depend on the order of threads, which is known where they run one after another; tapes keep it
    by themselves. `pack` makes the arguments from the arrays, for kernels that take them in structs or as views; `types` then says
    what they are. `forward`: whether forward mode follows it; else it must refuse.
    """

    def __init__(
        self,
        kernel: Any,
        dim: Any,
        given: dict[str, Any],
        tolerance: float = 1e-6,
        step: float = 2e-6,
        modes: tuple[str, ...] = tuple(MODES),
        ordered: bool = False,
        twice: bool = True,
        size: int | None = None,
        pack: Callable | None = None,
        types: dict[str, Any] | None = None,
        forward: bool = True,
    ):
        self.kernel, self.name, self.given = kernel, kernel.key, given
        self.dim = dim if isinstance(dim, tuple) else (dim,)
        self.tolerance, self.step, self.modes, self.pack = tolerance, step, modes, pack
        self.times = (1, 2) if twice else (1,)
        self.ordered, self.follows = ordered, forward
        self.size = size if size is not None else int(np.prod(self.dim))
        self.kinds = types if types is not None else kernel.func.__annotations__
        arrays = [name for name, kind in self.kinds.items() if isinstance(kind, _array)]
        self.first = {name: self._values(name, k) for k, name in enumerate(arrays)}
        self.floats = [name for name in arrays if _is_float(self.kinds[name].dtype)]

    def _values(self, name: str, index: int) -> np.ndarray:
        kind = self.kinds[name]
        if name in self.given:
            return np.asarray(self.given[name], np.float64 if _is_float(kind.dtype) else np.int32)
        shape = (self.size,) * kind.ndim + tuple(getattr(kind.dtype, "_shape_", ()) or ())
        if name.startswith("out") or not _is_float(kind.dtype):
            return np.zeros(shape, np.float64 if _is_float(kind.dtype) else np.int32)
        return 0.3 + 0.37 * np.sin(1.7 * np.arange(int(np.prod(shape))) + 2.1 * index).reshape(shape)

    def _weight(self, name: str) -> np.ndarray:
        first = self.first[name]
        return (0.5 + np.cos(2.3 * np.arange(first.size) + len(name) + ord(name[-1]))).reshape(first.shape)

    def _array(self, name: str, values: np.ndarray, grad: bool = False) -> Any:
        kind = self.kinds[name]
        return wp.array(values, dtype=kind.dtype, ndim=kind.ndim, requires_grad=grad and name in self.floats)

    def _launch(self, arrays: dict[str, Any], **how: Any) -> None:
        inputs = self.pack(arrays) if self.pack else [arrays.get(name, self.given.get(name)) for name in self.kinds]
        wp.launch(self.kernel, dim=self.dim, inputs=inputs, **how)

    def _loss(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """The loss after each launch."""
        arrays = {name: self._array(name, value) for name, value in values.items()}
        losses = []
        for _ in self.times:
            self._launch(arrays)
            losses.append(sum(float(np.sum(self._weight(name) * arrays[name].numpy())) for name in self.floats))
        return np.array(losses)

    def slopes(self) -> list[dict[str, np.ndarray]]:
        """The gradients by differences, after each launch."""
        out: list[dict] = [{name: np.zeros(self.first[name].shape) for name in self.floats} for _ in self.times]
        for name in self.floats:
            for at in np.ndindex(self.first[name].shape):

                def slope(step: float) -> np.ndarray:
                    sides = []
                    for moved in (self.first[name][at] + step, self.first[name][at] - step):
                        values = self.first[name].copy()
                        values[at] = moved
                        sides.append(self._loss({**self.first, name: values}))
                    return (sides[0] - sides[1]) / (2 * step)

                step = self.step * max(1.0, abs(self.first[name][at]))
                for times, value in enumerate((4 * slope(step / 2) - slope(step)) / 3):
                    out[times][name][at] = value
        return out

    def taped(self, times: int) -> dict[str, np.ndarray]:
        """The gradients by a tape; going back a second time must give the same."""
        arrays = {name: self._array(name, value, True) for name, value in self.first.items()}
        with wp.Tape() as tape:
            for _ in range(times):
                self._launch(arrays)
        found: list[dict[str, np.ndarray]] = []
        for _ in range(2):
            tape.backward(grads={arrays[name]: self._array(name, self._weight(name)) for name in self.floats})
            found.append({name: arrays[name].grad.numpy().copy() for name in self.floats})
        for name in self.floats:
            np.testing.assert_allclose(
                found[1][name], found[0][name], rtol=1e-11, atol=1e-11, err_msg="a second backward"
            )
        return found[0]

    def untaped(self) -> dict[str, np.ndarray] | None:
        """The gradients by an adjoint launch; none where it refuses."""
        arrays = {name: self._array(name, value, True) for name, value in self.first.items()}
        self._launch(arrays)
        for name in self.floats:
            arrays[name].grad.assign(self._array(name, self._weight(name)))
        try:
            self._launch(arrays, adjoint=True)
        except Exception as error:
            assert "overwrite" in str(error) or "order of the threads" in str(error), str(error)
            return None
        return {name: arrays[name].grad.numpy().copy() for name in self.floats}

    def forward(self) -> list[tuple[float, float]] | None:
        """By forward mode: the loss's slope in a direction in which everything moves, and its size, after each launch."""
        arrays = {name: self._array(name, value) for name, value in self.first.items()}
        along = {arrays[name]: self._array(name, self._along(name)) for name in self.floats if arrays[name].size}
        slopes = []
        try:
            with wp.ForwardMode(along) as forward:
                for _ in self.times:
                    self._launch(arrays)
                    parts = [self._weight(name) * forward.tangent(arrays[name]).numpy() for name in self.floats]
                    slopes.append((sum(float(np.sum(p)) for p in parts), sum(float(np.sum(np.abs(p))) for p in parts)))
        except Exception as error:
            assert not self.follows and "forward mode does not" in str(error), str(error)
            return None
        assert self.follows, "forward mode should refuse it"
        return slopes

    def _along(self, name: str) -> np.ndarray:
        first = self.first[name]
        return np.sin(3.1 * np.arange(first.size) + ord(name[0])).reshape(first.shape)

    def check(self) -> None:
        """Compares everything with the differences."""
        on_gpu = wp.get_device().is_cuda
        if on_gpu and "all lanes" not in self.modes:
            pytest.skip("threads that meet without an atomic")
        try:
            serial = "all lanes" not in self.modes
            wp.config.cpu_threads = 1 if self.ordered or serial else 0
            with wp.ScopedDevice("cpu" if self.ordered else None):
                want = self.slopes()
            for mode in ["all lanes"] if on_gpu else self.modes:
                wp.config.cpu_lanes, wp.config.cpu_threads = MODES[mode]
                for times, values in enumerate(want):
                    self._compare(values, self.taped(times + 1), f"{mode}, {times + 1} launches")
                got = self.untaped()
                if got is not None:
                    self._compare(want[0], got, f"{mode}, without a tape")
            wp.config.cpu_lanes, wp.config.cpu_threads = 0, int(serial)
            for values, (slope, size) in zip(want, self.forward() or ()):
                wanted = sum(float(np.sum(self._along(name) * values[name])) for name in self.floats)
                assert abs(slope - wanted) <= 10 * self.tolerance * max(1.0, size), f"forward mode: {slope}, not {wanted}"
        finally:
            wp.config.cpu_lanes, wp.config.cpu_threads = 0, 0

    def _compare(self, want: dict[str, np.ndarray], got: dict[str, np.ndarray], what: str) -> None:
        for name, values in want.items():
            size = max(1.0, np.abs(values).max(initial=0.0))
            np.testing.assert_allclose(
                got[name],
                values,
                rtol=self.tolerance,
                atol=self.tolerance * size,
                err_msg=f"{what}: gradient of {name}",
            )


def _is_float(dtype: Any) -> bool:
    return getattr(dtype, "_wp_scalar_type_", dtype) in (wp.float64, wp.float32, wp.float16, float)


_OPTIONS = ("ordered", "tolerance", "step", "modes", "twice", "size", "pack", "types", "forward")


def collector() -> tuple[list[Case], Callable]:
    """A list of cases and the decorator that adds kernels to it; its keywords are options of a case and data."""
    cases: list[Case] = []

    def case(dim: Any = 5, **options: Any) -> Callable:
        own = {name: options.pop(name) for name in _OPTIONS if name in options}

        def add(kernel: Any) -> Any:
            cases.append(Case(kernel, dim, options, **own))
            return kernel

        return add

    return cases, case
