"""`wp.jax_callable`: an annotated Python function that launches kernels, as a function of JAX."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import threading
from typing import Any, Callable, Sequence

from warp import _weft
from warp._src.arrays.array import array
from warp._src.arrays.array_factories import clone, copy, zeros_like
from warp._src.devices.device import CPU, Device, get_device, is_cuda_available
from warp._src.gradients.forward import ForwardMode
from warp._src.gradients.tape import Tape
from warp._src.interop.jax_calls import Call, Output, Plan
from warp._src.interop.jax_graphs import GraphCache, JaxCallableGraphMode, get_jax_callable_default_graph_cache_max
from warp._src.interop.jax_kernel import JaxModulePreloadMode, Wrappers, check_vmap_method
from warp._src.interop.jax_parameters import (
    IN_OUT,
    INPUT,
    OUTPUT,
    VALUE,
    Parameter,
    Roles,
    bare,
    check_are_arrays,
    check_array,
    output_shape,
    pick_output_dims,
    static_dims,
    static_value,
)
from warp._src.interop.jax_support import import_jax, scope_of_call
from warp._src.kernels.annotations import annotations_of, enclosing_names
from warp._src.kernels.resolver import describe

__all__ = ["JaxCallable", "jax_callable"]

_GRAPHS = (JaxCallableGraphMode.WARP, JaxCallableGraphMode.WARP_STAGED, JaxCallableGraphMode.WARP_STAGED_EX)


def _parameters(func: Callable, what: str, names: Any) -> list[Parameter]:
    annotations = annotations_of(func, names)
    returned = annotations.pop("return", None)
    if returned is not None:
        raise TypeError(f"{what} returns nothing: its outputs are its last arguments, not {returned}")
    defaults = inspect.signature(func).parameters
    made = []
    for name, annotation in annotations.items():
        if annotation is None:
            raise TypeError(f"{what}: argument '{name}' has no annotation; write e.g. {name}: wp.array(dtype=float)")
        answer = describe(annotation)
        if answer is None or answer[0] != "type":
            raise TypeError(f"{what}: argument '{name}' has the annotation {annotation!r}, which is no type of kernels")
        handle = answer[1]
        has_default = defaults[name].default is not inspect.Parameter.empty
        made.append(Parameter(name, handle, handle.rank if handle.kind == "array" else 0, has_default))
    return made


class FunctionCall(Call):
    """The static part of a call of a function: as that of a kernel, with other records."""

    def __init__(self, owner: JaxCallable, values: Sequence[Any], roles: Sequence[int], shapes: dict, **options: Any):
        self.owner = owner
        func = owner.func
        self.kernel = self.native = None
        self.name = func.__name__
        self.roles, self.values, self.dims = list(roles), list(values), ()
        self.types = [p.type for p in owner.roles.parameters]
        self._set_arrays(shapes)
        self.vmap_method = options["vmap_method"]
        self.enable_backward, self.has_side_effect = options["enable_backward"], options["has_side_effect"]
        self._key = (id(owner), tuple(map(repr, values)), tuple(sorted(shapes.items())), tuple(sorted(options.items())))
        self._hash = hash(self._key)
        self._plans: dict[Any, Plan] = {}
        self._forward_records: set[bytes] = set()

    def targets(self, capturable: bool) -> str:
        return "weft.call" if capturable else "weft.call.uncaptured"

    def compile(self, record: bytes, places: Sequence[int]) -> bool:
        return self.owner.graph_mode == JaxCallableGraphMode.JAX and record in self._forward_records

    def check_differentiable(self) -> None:
        return

    def check_exportable(self) -> None:
        return

    def batched(self, size: int, which: Sequence[bool]) -> Call | None:
        return None  # it is called once for each sample

    def doubled(self, moving: tuple[bool, ...]) -> Call:
        raise NotImplementedError(f"second derivatives of the function '{self.name}' are not there")

    def _record(self, what: str, batch: int, *further: Any) -> bytes:
        """Bytes that name the call: equal for equal calls, in any process that has the function."""
        func = self.owner.func
        shown = (func.__module__, func.__qualname__, what, batch, self.owner.described, repr(self._key[1:]), further)
        number = self.owner.number  # of functions that have the same name
        digest = hashlib.sha256(repr((shown, number)).encode()).digest()
        return digest[:16] + f"{func.__qualname__}:{what}".encode()

    def _arrays_of(self, args: Sequence[Any], rets: Sequence[Any]) -> list[Any]:
        """The function's arguments of a forward call; None for values."""
        made: list[Any] = [None] * len(self.types)
        for one, given in zip(self.inputs, args):
            made[one.index] = given
        for out, given in zip(self.outputs, rets):
            made[out.index] = given
        return made

    def _types(self, ones: Sequence[Any]) -> list[Any]:
        return [self.types[one.index] for one in ones]

    def forward_plan(self, batch: int) -> Plan:
        known = self._plans.get(batch)
        if known is not None:
            return known
        owner = self.owner
        begins = [
            next(a for a, i in enumerate(self.inputs) if i.index == o.index) if o.in_out else -1 for o in self.outputs
        ]
        values = {k: v for k, (v, role) in enumerate(zip(self.values, self.roles)) if role == VALUE}

        def run(args: list, rets: list, place: int, stream: int) -> None:
            arrays = self._arrays_of(args, rets)
            with scope_of_call(place, stream):
                if owner.graph_mode in _GRAPHS:
                    device: Device = CPU if place < 0 else get_device(f"cuda:{place}")
                    owner._graphs.run(
                        owner.graph_mode, self._key[1:], device, stream, owner.func, arrays, values, owner.staged_in,
                        owner.staged_out,
                    )  # fmt: skip
                    return
                for k, v in values.items():
                    arrays[k] = v
                owner.func(*arrays)

        record = self._record("forward", batch)
        self._forward_records.add(record)
        types = self._types(self.inputs), self._types(self.outputs)
        # Where there is no device but the CPU, nothing has to be made current around the function.
        direct = None if owner.graph_mode in _GRAPHS or is_cuda_available() else owner.func
        slots = [(-1, -1, value) for value in self.values]
        for a, one in enumerate(self.inputs):
            slots[one.index] = (a, -1, None)
        for r, out in enumerate(self.outputs):
            slots[out.index] = (-1, r, None)
        _weft.xla_register_function(record, *types, begins, batch, run, direct, slots)
        aliases = {b: r for r, b in enumerate(begins) if b >= 0}
        known = self._plans[batch] = Plan(0, record, aliases)
        return known

    def tangent_plan(self, batch: int, moving: tuple[bool, ...]) -> Plan:
        known = self._plans.get((batch, moving))
        if known is not None:
            return known
        count = len(self.inputs)
        movers = [one for one, m in zip(self.inputs, moving) if m]
        moved = [o for o in self.outputs if o.moves]
        at = {one.index: a for a, one in enumerate(self.inputs)}
        begins = [-1] * len(moved) + [at[o.index] if o.in_out else -1 for o in self.outputs]

        def run(args: list, rets: list, place: int, stream: int) -> None:
            arrays = self._arrays_of(args[:count], rets[len(moved) :])
            starts = {arrays[one.index]: dot for one, dot in zip(movers, args[count:])}
            full = [self.values[k] if a is None else a for k, a in enumerate(arrays)]
            with scope_of_call(place, stream):
                with ForwardMode(starts) as forward:
                    self.owner.func(*full)
                for out, ret in zip(moved, rets):
                    copy(ret, forward.tangent(arrays[out.index]))

        record = self._record("tangent", batch, moving)
        types = self._types([*self.inputs, *movers]), self._types([*moved, *self.outputs])
        _weft.xla_register_function(record, *types, begins, batch, run)
        known = self._plans[batch, moving] = Plan(1, record, {})
        return known

    def adjoint_plan(self, batch: int, seeded: tuple[bool, ...], wanted: tuple[bool, ...]) -> Plan:
        known = self._plans.get((batch, seeded, wanted))
        if known is not None:
            return known
        count = len(self.inputs)
        seeds = [o for o, s in zip(self.outputs, seeded) if s]
        asked = [one for one, w in zip(self.inputs, wanted) if w]

        def run(args: list, rets: list, place: int, stream: int) -> None:
            given = dict(zip((o.index for o in seeds), args[count:]))
            wants = dict(zip((one.index for one in asked), rets))
            with scope_of_call(place, stream):
                full: list[Any] = list(self.values)
                for one, value in zip(self.inputs, args):
                    full[one.index] = self._watched(value, one.in_out, wants.get(one.index), given.get(one.index))
                for out in self.outputs:
                    if not out.in_out:
                        full[out.index] = self._made(out, batch, given.get(out.index), place)
                tape = Tape()
                with tape:
                    self.owner.func(*full)
                tape.backward()

        begins = [-1] * len(asked)
        record = self._record("adjoint", batch, seeded, wanted)
        _weft.xla_register_function(record, self._types([*self.inputs, *seeds]), self._types(asked), begins, batch, run)
        known = self._plans[batch, seeded, wanted] = Plan(2, record, {})
        return known

    @staticmethod
    def _watched(value: array, in_out: bool, gradient: array | None, seed: array | None) -> array:
        """An argument whose gradient goes to JAX's buffer, or that begins with a seed."""
        made = clone(value) if in_out else value
        if gradient is None and seed is not None:
            gradient = zeros_like(value)
        if gradient is None:
            return made
        if seed is not None:
            copy(gradient, seed)
        made._set_grad(gradient)
        return made

    def _made(self, out: Output, batch: int, seed: array | None, place: int) -> array:
        """A result that nobody wants, with the gradient it begins with."""
        handle = self.types[out.index]
        shape = out.shape[: handle.rank]
        made = _weft.array_new(array, handle.element, shape, True, seed is not None, place)
        if seed is not None:
            copy(made.grad, seed)
        return made


class JaxCallable:
    """An annotated function as a function of JAX; `jax_callable` makes it."""

    def __init__(self, func: Callable, options: dict[str, Any], names: Any = None):
        self.func, self.options = func, options
        self.what = f"function '{getattr(func, '__name__', func)}'"
        self.__name__ = func.__name__
        self.__doc__ = func.__doc__
        mode = options["graph_mode"]
        if options["graph_compatible"] is not None:
            mode = JaxCallableGraphMode.JAX if options["graph_compatible"] else JaxCallableGraphMode.NONE
        self.graph_mode = JaxCallableGraphMode(mode)
        staged = {key: options[key] for key in ("stage_in_argnames", "stage_out_argnames")}
        self.roles = Roles(self.what, _parameters(func, self.what, names), options["num_outputs"],
                           options["in_out_argnames"], staged)  # fmt: skip
        self.output_dims = static_dims(options["output_dims"], "output_dims")
        self.vmap_method = check_vmap_method(options["vmap_method"], self.what)
        JaxModulePreloadMode(options["module_preload_mode"])
        most = options["graph_cache_max"]
        self._graphs = GraphCache(most)
        self.staged_in = self._staged("stage_in_argnames", (INPUT, IN_OUT))
        self.staged_out = self._staged("stage_out_argnames", (OUTPUT, IN_OUT))
        parameters = [(p.name, p.type.name) for p in self.roles.parameters]  # type: ignore[union-attr]
        # All that tells one wrapper of a function from another, for its records.
        self.described = repr((parameters, int(self.graph_mode), sorted(self.staged_in), sorted(self.staged_out), most))
        self.number = _number_of(func)
        self._jax = import_jax()
        self._tracer = self._jax.core.Tracer
        self._values = [k for k, p in enumerate(self.roles.inputs) if not p.is_array]
        static = (0, *[k + 1 for k in self._values])
        self._function = self._jax.jit(self._trace, static_argnums=static, inline=True)

    def _staged(self, key: str, roles: tuple[int, ...]) -> frozenset:
        given = self.options[key]
        names = None if given is None else {given} if isinstance(given, str) else set(given)
        for k, p in enumerate(self.roles.parameters):
            if names and p.name in names and self.roles.role(k) not in roles:
                kind = "output" if INPUT in roles else "input"
                raise ValueError(f"{self.what}: {key} names '{p.name}', which is an {kind} and nothing else")
        return frozenset(
            k for k, p in enumerate(self.roles.parameters)
            if self.roles.role(k) in roles and (names is None or p.name in names)
        )  # fmt: skip

    @property
    def stage_in_argnames(self) -> set[str]:
        """The inputs that staged graphs copy to their memory."""
        return {self.roles.parameters[k].name for k in self.staged_in}

    @property
    def stage_out_argnames(self) -> set[str]:
        """The outputs that staged graphs copy from there."""
        return {self.roles.parameters[k].name for k in self.staged_out}

    @property
    def graph_cache_max(self) -> int | None:
        """How many graphs are kept; None: all."""
        return self._graphs.most

    @graph_cache_max.setter
    def graph_cache_max(self, most: int | None) -> None:
        self._graphs.most = most

    def __call__(self, *inputs: Any, output_dims: Any = None, vmap_method: str | None = None) -> list[Any]:
        """Calls the function in JAX: eagerly, or as part of what is traced.

        Args:
            inputs: JAX arrays and static numbers, as the function's inputs.
            output_dims: of this call: one shape for all outputs, or a dictionary by name.
            vmap_method: of this call.
        """
        config = None
        if output_dims is not None or vmap_method is not None:
            config = (static_dims(output_dims, "output_dims"), check_vmap_method(vmap_method, self.what))
        if self._values or len(inputs) != len(self.roles.inputs):
            inputs = self._complete(inputs)
        try:
            return self._function(config, *inputs)
        except TypeError:
            check_are_arrays(self.roles, inputs)  # JAX names no argument
            raise

    def _complete(self, inputs: Sequence[Any]) -> Any:
        self.roles.check_count(len(inputs))
        made = list(inputs)
        signature = inspect.signature(self.func).parameters
        for p in self.roles.inputs[len(made) :]:
            made.append(signature[p.name].default)
        for k in self._values:
            made[k] = static_value(self.what, self.roles.inputs[k], made[k], self._tracer)
        return made

    def _call(self, config: Any, inputs: Sequence[Any]) -> FunctionCall:
        roles, what = self.roles, self.what
        output, method = config or (None, None)
        first = None
        check_are_arrays(roles, inputs)
        for p, value in zip(roles.inputs, inputs):
            if not p.is_array:
                continue
            check_array(what, p, p.type, value)  # type: ignore[arg-type]
            first = tuple(value.shape[: p.ndim]) if first is None else first
        names = [p.name for p in roles.parameters]
        pure = [p for p in roles.outputs if p.name not in roles.in_out]
        wanted = output if output is not None else self.output_dims
        if wanted and isinstance(wanted[0], tuple):
            wanted = tuple(item for item in wanted if item[0] not in roles.in_out)
        if wanted is None and pure and first is None:
            raise RuntimeError(f"{what} has no array among its inputs: give output_dims")
        chosen = {p.name: first for p in pure} if wanted is None else pick_output_dims(what, wanted, pure)
        shapes = {}
        for p in pure:
            k = names.index(p.name)
            shapes[k] = output_shape(what, p, p.type.element, chosen[p.name])  # type: ignore[union-attr,arg-type]
        for k, p in enumerate(roles.inputs):
            if p.name in roles.in_out:
                shapes[k] = tuple(inputs[k].shape)
        by_parameter = [roles.role(k) for k in range(len(names))]
        values = [bare(inputs[k]) if role == VALUE else None for k, role in enumerate(by_parameter)]
        return FunctionCall(
            self, values, by_parameter, shapes, vmap_method=method or self.vmap_method,
            enable_backward=self.options["enable_backward"], has_side_effect=self.options["has_side_effect"],
        )  # fmt: skip

    def _trace(self, config: Any, *inputs: Any) -> list[Any]:
        from warp._src.interop import jax_primitives

        self.roles.check_count(len(inputs))
        call = self._call(config, [bare(v) for v in inputs])
        return jax_primitives.launch(call, [v for v, p in zip(inputs, self.roles.inputs) if p.is_array])

    def __reduce__(self) -> tuple:
        return JaxCallable, (self.func, self.options)

    def __repr__(self) -> str:
        return f"<jax_callable {self.func.__name__}>"


_numbers: dict[str, list[Any]] = {}
_counting = threading.Lock()


def _number_of(func: Callable) -> int:
    """Tells functions of one name apart: 0 unless a program has several, which are counted by their code and by what that
    code sees. Addresses serve for that: whoever can still call a function holds what it sees."""
    name = f"{func.__module__}.{func.__qualname__}"
    try:
        seen = (id(func.__globals__), repr(func.__closure__), [id(v) for v in func.__defaults__ or ()])
        code = pickle.dumps((func.__code__.co_code, repr(func.__code__.co_consts), func.__code__.co_names, seen))
    except Exception:  # noqa: BLE001 - whatever it is, it is another one
        code = str(id(func)).encode()
    with _counting:
        known = _numbers.setdefault(name, [])
        if code not in known:
            known.append(code)
        return known.index(code)


_wrappers = Wrappers()


def jax_callable(
    func: Callable,
    num_outputs: int = 1,
    graph_mode: JaxCallableGraphMode = JaxCallableGraphMode.JAX,
    vmap_method: str | None = "broadcast_all",
    output_dims: Any = None,
    in_out_argnames: Sequence[str] | None = None,
    stage_in_argnames: Sequence[str] | None = None,
    stage_out_argnames: Sequence[str] | None = None,
    graph_cache_max: int | None | str = "default",
    module_preload_mode: JaxModulePreloadMode = JaxModulePreloadMode.CURRENT_DEVICE,
    has_side_effect: bool = False,
    enable_backward: bool = True,
    graph_compatible: bool | None = None,
) -> JaxCallable:
    """Makes a Python function that launches kernels a function of JAX.

    The function's arguments are annotated as a kernel's: inputs, then outputs. When JAX runs it, it gets arrays over JAX's
    memory, and its device and stream are current; arrays that it keeps have no memory afterwards. No function of JAX may
    be called inside.

    Args:
        func: the annotated function; it returns nothing.
        num_outputs: how many outputs there are, in-out arguments included.
        graph_mode: whether what it queues becomes a graph, and whose.
        vmap_method: as of `jax_kernel`; the function is called once for each sample.
        output_dims: shape of the outputs, or a dictionary of shapes by name; by itself that of the first array input.
        in_out_argnames: inputs that the function changes.
        stage_in_argnames: of staged graphs: inputs that are copied to memory of the graph; None or none named: all.
        stage_out_argnames: of staged graphs: outputs that are copied from there; None or none named: all.
        graph_cache_max: how many graphs are kept; None: all.
        module_preload_mode: accepted; kernels are compiled when they are first launched.
        has_side_effect: it does more than fill its outputs.
        enable_backward: JAX may differentiate it: going back runs it again on a tape.
        graph_compatible: True is graph_mode JAX, False is NONE.
    """
    if not inspect.isfunction(func):
        raise TypeError(f"jax_callable takes an annotated function, not {type(func).__name__}")
    options = {
        "num_outputs": num_outputs,
        "graph_mode": graph_mode,
        "vmap_method": vmap_method,
        "output_dims": output_dims,
        "in_out_argnames": in_out_argnames,
        "stage_in_argnames": stage_in_argnames or None,
        "stage_out_argnames": stage_out_argnames or None,
        "graph_cache_max": graph_cache_max,
        "module_preload_mode": module_preload_mode,
        "has_side_effect": bool(has_side_effect),
        "enable_backward": bool(enable_backward),
        "graph_compatible": graph_compatible,
    }
    if graph_cache_max == "default":
        options["graph_cache_max"] = get_jax_callable_default_graph_cache_max()
    names = enclosing_names(func)
    return _wrappers.get(func, options, lambda: JaxCallable(func, options, names))
