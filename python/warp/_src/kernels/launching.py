"""Launching: `wp.launch`, and launches whose arguments are packed once."""

from __future__ import annotations

import math
import typing

from warp import _weft
from warp._src.arrays import listeners
from warp._src.devices.device import CPU, Device, device_at, get_device, synchronize_device
from warp._src.kernels.definitions import Kernel
from warp._src.session import config
from warp._src.session.logger import tell_launch
from warp._src.values.struct_ctypes import array_t


class Launch(_weft.RecordedLaunch):
    """A launch with its arguments packed once; change some, then `launch()` again.

    `wp.launch(…, record_cmd=True)` makes one with arguments. Made by itself it has none: its parameters are zero, its arrays
    None, its grid empty until `set_dim` and the setters of parameters say otherwise. Structs, vectors, matrices and
    quaternions are kept by reference: what is changed in them later counts for the next `launch()`.
    """

    kernel: Kernel
    """The kernel that it runs."""

    def __new__(cls, *args: object, **kwargs: object) -> Launch:
        """A launch of the adjoint is of another class."""
        if cls is Launch and (kwargs.get("adjoint") or (len(args) > 8 and args[8])):
            from warp._src.kernels.adjoint_launch import AdjointLaunch

            cls = AdjointLaunch
        return super().__new__(cls)

    def __init__(
        self,
        kernel: Kernel,
        device: object = None,
        hooks: object = None,
        params: typing.Sequence[object] | None = None,
        params_addr: object = None,
        bounds: LaunchBounds | int | typing.Sequence[int] | None = None,
        max_blocks: int = 0,
        block_dim: int | None = 256,
        adjoint: bool = False,
    ):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"a launch is made for a kernel (a function decorated with @wp.kernel), not {kernel!r}")
        if isinstance(bounds, LaunchBounds):
            bounds = bounds.shape
        self._make(kernel, 0 if bounds is None else bounds, None, None, get_device(device), max_blocks, block_dim)
        values = [value for value in params or () if not isinstance(value, LaunchBounds)]
        for index, value in enumerate(values):
            self.set_param_at_index(index, value)

    def _make(
        self,
        kernel: Kernel,
        dim: object,
        inputs: typing.Sequence[object] | None,
        outputs: typing.Sequence[object] | None,
        device: Device,
        max_blocks: int,
        block_dim: int | None,
    ) -> None:
        """Packs the arguments; None for both: they come later."""
        self._device = device
        super().__init__(kernel, dim, inputs, outputs, device.ordinal, max_blocks, block_dim or 0)
        self.kernel = kernel
        given = [*(inputs or ()), *(outputs or ())]
        self._arguments: list[object] = given if inputs is not None else [None] * len(kernel.params)
        self._counts = len(self._arguments) - len(outputs or ()), max_blocks, block_dim

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        dim: object,
        inputs: typing.Sequence[object],
        outputs: typing.Sequence[object],
        device: Device,
        max_blocks: int,
        block_dim: int | None,
    ) -> Launch:
        """A launch of a kernel with its arguments."""
        made = cls.__new__(cls)
        made._make(kernel, dim, inputs or (), outputs or (), device, max_blocks, block_dim)
        return made

    adjoint = False
    """Whether it runs the kernel's adjoint."""

    @property
    def max_blocks(self) -> int:
        """The most CUDA blocks; 0: no limit."""
        return self._counts[1]

    @property
    def block_dim(self) -> int:
        """Threads per CUDA block."""
        return self._counts[2] or 256

    _record_tape = True

    def _on_tape(self) -> tuple | None:
        """What a tape keeps of the launch; None: nothing."""
        if not self._record_tape:
            return None
        inputs, max_blocks, block_dim = self._counts
        arguments = self._arguments
        return self.kernel, self.dim, max_blocks, arguments[:inputs], arguments[inputs:], self._device, block_dim

    def _verify(self) -> None:
        """Waits for the launch and reports its failed checks, if wp.config.verify_cuda says so."""
        if config.verify_cuda and not self._device.is_capturing:
            synchronize_device(self._device)

    def _launch_forward(self) -> None:
        """Runs in forward mode."""
        inputs, max_blocks, block_dim = self._counts
        arguments = self._arguments
        request = (self.kernel, self.dim, max_blocks, arguments[:inputs], arguments[inputs:], self._device, block_dim)
        place = (self._device.ordinal, max_blocks, block_dim, None)
        listeners.active_forward()._launch(request, place, self._record_tape)

    @property
    def device(self) -> Device:
        """Where the launch runs."""
        return self._device

    @property
    def bounds(self) -> LaunchBounds:
        """The grid."""
        return LaunchBounds(self.dim)

    @property
    def params(self) -> list[str]:
        """Names of the kernel's parameters."""
        return self.kernel.params

    def _index(self, name: str) -> int:
        try:
            return self.kernel.params.index(name)
        except ValueError:
            raise ValueError(f"kernel '{self.kernel.key}' has no parameter '{name}'") from None

    def _check(self, index: int, adjoint: bool) -> None:
        if adjoint:
            raise RuntimeError("this launch runs forwards; one of gradients is made by wp.launch(…, adjoint=True)")
        count = len(self.kernel.params)
        if not 0 <= index < count:
            raise IndexError(f"kernel '{self.kernel.key}' has {count} parameters, there is none at {index}")

    def set_param_at_index(self, index: int, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by its position, with the conversions of `wp.launch`."""
        self._check(index, adjoint)
        self._set_param(index, value)
        self._keep(index, value)

    def _keep(self, index: int, value: object) -> None:
        self._arguments[index:index] = [None] * (index + 1 - len(self._arguments))
        self._arguments[index] = value

    def set_param_at_index_from_ctype(self, index: int, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by a ctypes value (its bytes are taken as they are) or a number."""
        self._check(index, adjoint)
        if isinstance(value, (int, float, array_t)):
            self._set_param(index, value)
        else:
            self._set_bytes(index, value)
        self._keep(index, value)

    def set_param_by_name(self, name: str, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by the parameter's name; ValueError if there is no such parameter."""
        self.set_param_at_index(self._index(name), value, adjoint)

    def set_param_by_name_from_ctype(self, name: str, value: object, adjoint: bool = False) -> None:
        """Replaces an argument by a ctypes value or a number, by the parameter's name."""
        self.set_param_at_index_from_ctype(self._index(name), value, adjoint)

    def set_params_from_ctypes(self, values: typing.Sequence[object]) -> None:
        """Replaces the first arguments by ctypes values or numbers, in order."""
        for index, value in enumerate(values):
            self.set_param_at_index_from_ctype(index, value)

    def set_params(self, values: typing.Sequence[object]) -> None:
        """Replaces the first arguments, in order."""
        for index, value in enumerate(values):
            self.set_param_at_index(index, value)


class LaunchBounds:
    """The extents of a launch: `shape`, its length `ndim`, and the number of threads `size`."""

    def __init__(self, shape: int | typing.Sequence[int]):
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        if not 1 <= len(extents) <= 4:
            raise ValueError(f"a launch has 1 to 4 dimensions, not {len(extents)}")
        self.ndim = len(extents)
        self.shape = extents
        self.size = math.prod(extents)

    def __repr__(self) -> str:
        return f"LaunchBounds({self.shape})"


def _dim_of_first_array(args: typing.Iterable[object]) -> tuple[int, ...]:
    for arg in args:
        if isinstance(arg, _weft.Array):
            return arg.shape
        shape = getattr(arg, "shape", None)
        if isinstance(shape, tuple) and shape:
            return shape
    raise ValueError("wp.launch needs dim=: there is no array argument to take it from")


def _device_of(device: object, inputs: typing.Sequence[object], outputs: typing.Sequence[object]) -> Device:
    """Where a launch runs: the named device; without one that of the thread's scope, of the arrays, or the current one."""
    current = get_device(device)
    return current if device is not None else device_at(_weft.launch_place(inputs, outputs))


def _launch_rare(
    kernel: Kernel,
    dim: object,
    inputs: typing.Sequence[object],
    outputs: typing.Sequence[object],
    adj_inputs: typing.Sequence[object],
    adj_outputs: typing.Sequence[object],
    device: object,
    stream: object,
    adjoint: bool,
    record_tape: bool,
    record_cmd: bool,
    max_blocks: int,
    block_dim: int | None,
) -> Launch | None:
    """Launches that C++ hands over: not its usual case of a known kernel and device (see src/bind/launch.cpp)."""
    if not isinstance(kernel, Kernel):
        raise RuntimeError(f"wp.launch runs kernels (functions decorated with @wp.kernel), not {kernel!r}")
    where = stream.device if stream is not None else _device_of(device, inputs, outputs)  # type: ignore[attr-defined]
    place = (where.ordinal, max_blocks, block_dim, None if stream is None else stream._queue)  # type: ignore[attr-defined]
    if dim is None:
        dim = _dim_of_first_array([*inputs, *outputs])
    if config.print_launches and not record_cmd:
        tell_launch(kernel.key, dim, inputs, outputs, where, adjoint)
    if adjoint:
        if _weft.forward_mode():
            raise RuntimeError(
                "forward mode does not follow adjoint launches; for second derivatives go back from a tangent (wp.hvp)"
            )
        from warp._src.kernels.adjoint_launch import AdjointLaunch, launch_adjoint

        if record_cmd:
            back = AdjointLaunch.of(kernel, dim, inputs, outputs, where, max_blocks, block_dim)
            back.use_gradients(adj_inputs, adj_outputs)  # type: ignore[attr-defined]
            return back
        launch_adjoint(kernel, dim, inputs, outputs, adj_inputs, adj_outputs, place)
        return None
    if record_cmd:
        made = Launch.of(kernel, dim, inputs, outputs, where, max_blocks, block_dim)
        made._record_tape = record_tape
        return made
    request = (kernel, dim, max_blocks, list(inputs or ()), list(outputs or ()), device, block_dim)
    if forward := listeners.active_forward():
        forward._launch(request, place, record_tape)
    else:
        _weft.run_launch(kernel, dim, inputs, outputs, *place, request if record_tape else None)
    if config.verify_cuda and where.is_cuda and not where.is_capturing:
        synchronize_device(where)
    return None


launch = _weft.launch


def _launch_tiled_rare(*args: typing.Any, **kwargs: typing.Any) -> Launch | None:
    """Tiled launches that C++ hands over: not its usual case of plain extents and a known device (see src/bind/launch_tiled.cpp)."""
    for name in ("dim", "block_dim"):
        if name not in kwargs:
            raise RuntimeError(f"launch_tiled() needs the keyword argument '{name}'")
    if len(args) > 1:
        raise RuntimeError("launch_tiled() takes one positional argument, the kernel; give the others by keyword")
    try:
        dim, block_dim = kwargs.pop("dim"), kwargs.pop("block_dim")
        threads = 256 if block_dim is None or block_dim <= 0 else int(block_dim)
        on_cpu = threads if config.enable_cpu_blocks and block_dim is not None and block_dim > 0 else 1
        extents = list(dim) if hasattr(dim, "__iter__") else [dim]
        if not 1 <= len(extents) <= 3:
            raise RuntimeError(f"launch_tiled() takes a dim of 1 to 3 extents, not {len(extents)}: the block is one more")
        stream = kwargs.get("stream")
        where = stream.device if stream is not None else _device_of(
            kwargs.get("device"), kwargs.get("inputs") or (), kwargs.get("outputs") or ()
        )  # fmt: skip
        if where.is_cpu and on_cpu == 1:  # its one thread needs no extent: an index that a launch does not have is zero
            return launch(*args, dim=extents, block_dim=1, **kwargs)
        return launch(*args, dim=(*extents, threads), block_dim=threads, **kwargs)
    finally:
        del args, kwargs  # an error that somebody keeps is not to keep the kernel


launch_tiled = _weft.launch_tiled

_weft.set_launch_hooks(rare=_launch_rare, rare_tiled=_launch_tiled_rare, cpu=CPU)
