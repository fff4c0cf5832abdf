"""`wp.jax_kernel`: a kernel as a function of JAX."""

from __future__ import annotations

import enum
import threading
import weakref
from typing import Any, Callable, Sequence

from warp import _weft
from warp._src.interop.jax_batched import batched_kernel
from warp._src.interop.jax_calls import Call
from warp._src.interop.jax_parameters import (
    VALUE,
    Parameter,
    Roles,
    bare,
    check_are_arrays,
    check_array,
    dims_of,
    element_for,
    inner_dims,
    numpy_type,
    output_shape,
    pick_output_dims,
    static_dims,
    static_value,
    value_type,
)
from warp._src.interop.jax_support import import_jax, register_handlers
from warp._src.interop.jax_traced import with_traced_numbers
from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.definitions import Kernel
from warp._src.session import settings

__all__ = ["JaxKernel", "JaxModulePreloadMode", "jax_kernel"]


class JaxModulePreloadMode(enum.IntEnum):
    """When a kernel that JAX calls is compiled. Whichever is chosen, programs find it compiled for their own devices."""

    NONE = 0
    """When a program is compiled, as otherwise, or first runs."""
    CURRENT_DEVICE = 1
    """For the devices of the program that is compiled."""
    ALL_DEVICES = 2
    """For all devices of JAX's platform."""


def check_vmap_method(given: Any, what: str) -> Any:
    if given is not None and given not in Call.VMAP_METHODS:
        raise ValueError(f"{what}: vmap_method is one of {', '.join(map(repr, Call.VMAP_METHODS))}, not {given!r}")
    return given


def kernel_parameters(kernel: Kernel) -> list[Parameter]:
    annotations = annotations_of(kernel.func)
    made = []
    for name, handle, _, has_default in kernel.native().params():
        if handle is None:
            made.append(Parameter(name, None, int(getattr(annotations.get(name), "ndim", 0) or 0), has_default))
            continue
        if handle.kind == "indexedarray":
            raise TypeError(f"kernel '{kernel.key}': '{name}' is an indexedarray, which JAX has not; take a wp.array")
        made.append(Parameter(name, handle, handle.rank if handle.kind == "array" else 0, has_default))
    return made


_MAX_EXTENT = (1 << 31) - 1
_living: weakref.WeakSet = weakref.WeakSet()
_listing = threading.Lock()  # such a set must not grow while another thread goes through it


class JaxKernel(_weft.QuickJaxCall):
    """A kernel as a function of JAX; `jax_kernel` makes it. Usual calls don't reach `__call__` (src/bind/jax_quick_call.cpp)."""

    def __init__(self, kernel: Kernel, options: dict[str, Any]):
        self._jax = import_jax()
        register_handlers()  # programs that were exported may call the kernel before anything is traced here
        self.original = self.kernel = kernel
        self.traced: frozenset[str] = frozenset()
        if options["traced_scalars"]:
            self.kernel, self.traced = with_traced_numbers(kernel)
        self.options = options
        self.what = f"kernel '{kernel.key}'"
        self.__name__ = kernel.key
        self.__doc__ = kernel.__doc__
        parameters = kernel_parameters(self.kernel)
        if self.traced:  # under the names that the program knows
            parameters = [p._replace(name=name) for p, name in zip(parameters, kernel.params)]
        self.roles = Roles(self.what, parameters, options["num_outputs"], options["in_out_argnames"])
        self.launch_dims = None if options["launch_dims"] is None else dims_of(options["launch_dims"], "launch_dims")
        self.output_dims = static_dims(options["output_dims"], "output_dims")
        self.vmap_method = check_vmap_method(options["vmap_method"], self.what)
        JaxModulePreloadMode(options["module_preload_mode"])
        self.block_dim = options["block_dim"]
        self._tracer = self._jax.core.Tracer
        self._values = [k for k, p in enumerate(self.roles.inputs) if not p.is_array]
        # Settings, the kernel under them, and what JAX has compiled of it: one value, so that threads see what belongs together.
        self._now: tuple[int, Any, Any, Any] = (-1, None, None, None)
        self._refreshing = threading.RLock()
        self._single = len(self.roles.outputs) == 1
        with _listing:
            _living.add(self)

    def _refresh(self) -> tuple[int, Any, Any, Any]:
        """The functions of JAX for the kernel as it is now; a kernel under other settings is another one. The first takes what is
        said for a call, and numbers; the second arrays alone, and gives a lone result as it is: neither costs JAX anything.

        One thread makes them: JAX would compile each thread's, and threads that drop theirs while others are traced have ended
        the process inside of JAX 0.11's caches."""
        with self._refreshing:
            epoch = settings.epoch
            if self._now[0] == epoch:
                return self._now
            native = self.kernel.native()
            _, known, function, plain = self._now
            if native is not known:
                static = (0, *[k + 1 for k in self._values])

                def trace(config: Any, *inputs: Any) -> list[Any]:
                    return self._trace(native, config, *inputs)

                def trace_plain(*inputs: Any) -> Any:
                    made = self._trace(native, None, *inputs)
                    return made[0] if self._single else made

                trace.__name__ = trace_plain.__name__ = self.__name__
                function = self._jax.jit(trace, static_argnums=static, inline=True)
                plain = None if self._values else self._jax.jit(trace_plain, inline=True)
            self._now = (epoch, native, function, plain)
            self._set_quick(plain, epoch, len(self.roles.inputs), self._single)
            return self._now

    def __call__(
        self, *inputs: Any, launch_dims: Any = None, output_dims: Any = None, vmap_method: str | None = None
    ) -> list[Any]:
        """Calls the kernel in JAX: eagerly, or as part of what is traced.

        Args:
            inputs: JAX arrays and static numbers, as the kernel's inputs.
            launch_dims: of this call.
            output_dims: of this call: one shape for all outputs, or a dictionary by name.
            vmap_method: of this call.
        """
        epoch, _, function, plain = self._now
        if epoch != settings.epoch:
            _, _, function, plain = self._refresh()
        if launch_dims is None and output_dims is None and vmap_method is None:
            config = None
        else:
            config = (
                None if launch_dims is None else dims_of(launch_dims, "launch_dims"),
                static_dims(output_dims, "output_dims"),
                check_vmap_method(vmap_method, self.what),
            )
        try:
            if plain is None or len(inputs) != len(self.roles.inputs):
                return function(config, *self._complete(inputs))
            if config is not None:
                return function(config, *inputs)
            made = plain(*inputs)
            return [made] if self._single else made
        except TypeError:
            check_are_arrays(self.roles, inputs)  # JAX names no argument
            raise

    def _complete(self, inputs: Sequence[Any]) -> list[Any]:
        self.roles.check_count(len(inputs))
        made = list(inputs)
        defaults = self.original.func.__defaults__ or ()
        missing = len(self.roles.inputs) - len(made)
        if missing:
            at = len(defaults) - (len(self.roles.parameters) - len(made))
            made += defaults[at : at + missing]
        for k in self._values:
            made[k] = static_value(self.what, self.roles.inputs[k], made[k], self._tracer)
        return made

    def _types(self, inputs: Sequence[Any]) -> list[_weft.Type]:
        """The types of all parameters, generic ones by what is given."""
        types: list[Any] = []
        first_generic = None
        for k, p in enumerate(self.roles.parameters):
            if p.type is not None:
                types.append(p.type)
                continue
            if k >= len(inputs):
                if first_generic is None:
                    raise TypeError(f"{self.what}: the type of output '{p.name}' can't be told from its inputs")
                types.append(_weft.type_array(first_generic, p.ndim))
            elif p.is_array:
                element = element_for(p, inputs[k])
                first_generic = first_generic or element
                types.append(_weft.type_array(element, p.ndim))
            else:
                known = value_type(inputs[k])
                if known is None:
                    raise TypeError(f"{self.what}: the type of argument '{p.name}' can't be told; pass a typed number")
                types.append(known)
        return types

    def _call(self, native: Any, config: Any, inputs: Sequence[Any]) -> Call:
        """The static part of a call with these inputs, checked."""
        roles, what = self.roles, self.what
        launch, output, method = config or (None, None, None)
        check_are_arrays(roles, inputs)
        types = self._types(inputs)
        for p, t, value in zip(roles.inputs, types, inputs):
            if p.is_array:
                check_array(what, p, t, value)
        dims = launch or self.launch_dims
        if dims is None:
            for p, value in zip(roles.inputs, inputs):
                if p.is_array and p.name not in self.traced:
                    dims = tuple(value.shape[: p.ndim])
                    break
            else:
                raise RuntimeError(f"{what} has no array among its inputs: give launch_dims")
        if not 1 <= len(dims) <= 4:
            raise ValueError(f"{what}: launch_dims are 1 to 4 extents, not {dims}")
        if any(n > _MAX_EXTENT for n in dims):
            read = _weft.xla_tid_dims_read(native, types, len(dims))
            for d, n in enumerate(dims):
                if n > _MAX_EXTENT and read >> d & 1:
                    raise ValueError(
                        f"Warp cannot launch a kernel using wp.tid() with extent {n} in dimension {d}: {what} reads that "
                        f"thread index, a 32-bit integer; the most is {_MAX_EXTENT}"
                    )
        shapes: dict[int, tuple[int, ...]] = {}
        names = [p.name for p in roles.parameters]
        pure = [p for p in roles.outputs if p.name not in roles.in_out]
        wanted = output if output is not None else self.output_dims
        # In-out arguments have their shape already; naming them is no mistake.
        given = wanted
        if wanted and isinstance(wanted[0], tuple):
            given = tuple(item for item in wanted if item[0] not in roles.in_out)
        if given is None:
            chosen = {p.name: self._default_dims(p, dims, inputs) for p in pure}
        else:
            chosen = pick_output_dims(what, given, pure)
        for p in pure:
            k = names.index(p.name)
            shapes[k] = output_shape(what, p, types[k].element, chosen[p.name])
        for k, p in enumerate(roles.inputs):
            if p.name in roles.in_out:
                shapes[k] = tuple(inputs[k].shape)
        by_parameter = [roles.role(k) for k in range(len(names))]
        values = [bare(inputs[k]) if role == VALUE else None for k, role in enumerate(by_parameter)]
        made = Call(
            self.kernel, native, types, by_parameter, values, dims, shapes,
            block_dim=self.block_dim or 0, vmap_method=method or self.vmap_method,
            enable_backward=self.options["enable_backward"], has_side_effect=self.options["has_side_effect"],
            portable=self.options.get("portable", False), key=tuple(v for v in inputs if type(v).__name__ == "Static"),
        )  # fmt: skip
        made.check_inputs(names)
        return made

    def _default_dims(self, p: Parameter, dims: tuple[int, ...], inputs: Sequence[Any]) -> tuple[int, ...]:
        """The shape of an output that nobody gave: the grid; for one of another rank, the first input of that rank."""
        if len(dims) != p.ndim:
            for other, value in zip(self.roles.inputs, inputs):
                if other.ndim == p.ndim:
                    return tuple(value.shape[: p.ndim])
        return dims

    def _trace(self, native: Any, config: Any, *inputs: Any) -> list[Any]:
        from warp._src.interop import jax_primitives

        self.roles.check_count(len(inputs))
        if self.traced:
            inputs = tuple(self._held(p, v) for p, v in zip(self.roles.inputs, inputs))
        call = self._call(native, config, [bare(v) for v in inputs])
        return jax_primitives.launch(call, [v for v, p in zip(inputs, self.roles.inputs) if p.is_array])

    def _held(self, p: Parameter, value: Any) -> Any:
        """A number that JAX may trace as the array of one element that the kernel takes."""
        if p.name not in self.traced:
            return value
        element = p.type.element  # type: ignore[union-attr]
        inner = inner_dims(element)
        made = self._jax.numpy.asarray(value)
        if made.shape not in (inner, (1, *inner)):
            raise TypeError(f"{self.what}: argument '{p.name}' is one {element.name}; shape {made.shape} was given")
        return made.astype(numpy_type(element)).reshape((1, *inner))

    def __reduce__(self) -> tuple:
        return _remade, (self.original, self.options)

    def __repr__(self) -> str:
        return f"<jax_kernel {self.kernel.key}>"


_weft.call_jax_quickly(JaxKernel)


def _remade(kernel: Kernel, options: dict[str, Any]) -> JaxKernel:
    return JaxKernel(kernel, options)


def checked_block_dim(given: Any) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"block_dim must be an integer or None, not {given!r}")
    if int(given) < 1:
        raise ValueError(f"block_dim must be positive, not {given}")
    return int(given)


class Wrappers:
    """Wrappers by what they wrap and their options: asked for again, they are the same. They go with their last user."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, wrapped: Any, options: dict[str, Any], make: Callable[[], Any]) -> Any:
        key = (id(wrapped), tuple((name, _shown(value)) for name, value in options.items()))
        found = self._known.get(key)
        if found is None:
            made = make()
            with self._lock:  # of several threads that ask at once, all get one
                found = self._known.setdefault(key, made)
        return found


def _shown(value: Any) -> str:
    """An option as text that differs where it differs; an empty list is none."""
    if isinstance(value, (list, tuple)):
        value = tuple(value) or None
    return repr(value)


_wrappers = Wrappers()


def _adopt(record: bytes) -> None:
    """A program that was compiled or exported elsewhere calls a kernel: a wrapper that lives here may have it."""
    described = _weft.xla_record_kernel(record)
    with _listing:
        wrappers = list(_living)
    for wrapper in wrappers if described is not None else ():
        kernel = wrapper.kernel
        types = [p.type for p in wrapper.roles.parameters]
        if kernel.native().name != described[0] or any(t is None for t in types):
            continue
        if _adopt_for(record, described, kernel, types):
            return
        _, _, names, rank = described
        longer = [_weft.type_array(t.element, t.rank + 1) if t.kind == "array" and t.rank < 4 else t for t in types]
        batched = tuple(own.text == name != t.text for own, name, t in zip(longer, names, types))
        over = batched_kernel(kernel, types, batched, rank - 1) if any(batched) else None
        if over is not None:
            own = [one if b else t for one, t, b in zip(longer, types, batched)]
            if _adopt_for(record, described, over, own):
                return


def _adopt_for(record: bytes, described: tuple, kernel: Kernel, types: list[Any]) -> bool:
    # The source tells the kernel from its tangent, and from that called as a kernel of its own.
    for native, own in ((kernel.native(), types), (kernel.tangent.native(), types), (kernel.tangent.native(), types * 2)):
        if _weft.xla_source(native) == described[1] and _weft.xla_adopt_record(record, native, own):
            return True
    return False


_weft.xla_set_unknown_hook(_adopt)


def jax_kernel(
    kernel: Kernel,
    num_outputs: int = 1,
    vmap_method: str | None = "broadcast_all",
    launch_dims: Any = None,
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | None = None,
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    enable_backward: bool = True,
    has_side_effect: bool = False,
    block_dim: int | None = None,
    traced_scalars: bool = False,
    portable: bool = False,
) -> JaxKernel:
    """Makes a kernel a function of JAX: it can be called eagerly, in jitted functions, differentiated (jvp, grad) and mapped.

    The kernel's parameters are inputs, then outputs. Arrays of vectors and matrices have their components in JAX's last
    dimensions. Numbers are static. The function returns a list of the outputs, in-out arguments first.

    Args:
        kernel: what @wp.kernel made of a function.
        num_outputs: how many outputs there are, in-out arguments included.
        vmap_method: how jax.vmap treats a call: "broadcast_all" and "expand_dims" run the kernel once for each sample in
            one call, "sequential" and "sequential_unrolled" in a loop of JAX. Results are the same.
        launch_dims: the grid; by itself the shape of the first array among the inputs.
        output_dims: shape of the outputs, or a dictionary of shapes by name; by itself the grid.
        in_out_argnames: inputs that the kernel changes; what becomes of them are outputs.
        module_preload_mode: when to compile.
        enable_backward: False: JAX can't differentiate it.
        has_side_effect: the kernel does more than fill its outputs (prints); JAX keeps calls whose results are not used.
        block_dim: threads per CUDA block.
        traced_scalars: numbers among the inputs may be values that JAX traces, and have gradients.
        portable: programs carry the kernel itself: exported ones (jax.export) run wherever the package is installed, on any
            device, without the kernel's text. They are larger for it.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"jax_kernel takes a kernel, not {type(kernel).__name__}; decorate the function with @wp.kernel")
    options = {
        "num_outputs": num_outputs,
        "vmap_method": vmap_method,
        "launch_dims": launch_dims,
        "output_dims": output_dims,
        "in_out_argnames": in_out_argnames,
        "module_preload_mode": module_preload_mode,
        "enable_backward": bool(enable_backward),
        "has_side_effect": bool(has_side_effect),
        "block_dim": checked_block_dim(block_dim),
        "traced_scalars": bool(traced_scalars),
        "portable": bool(portable),
    }
    return _wrappers.get(kernel, options, lambda: JaxKernel(kernel, options))
