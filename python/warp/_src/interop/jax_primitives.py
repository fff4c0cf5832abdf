"""Kernels as primitives of JAX: forward, tangent (linear in directions) and adjoint, with their rules.

Everything that leans on `jax.interpreters` stands here. The forward's derivative is the tangent, the tangent's transpose is
the adjoint; reverse mode never runs the tangent. A call's static part is a `Call` (jax_calls.py); beside it, each primitive
has the number of leading dimensions that batches have put in front of every operand, each 1 or the batch's size.
"""

from __future__ import annotations

import functools
from typing import Any, Sequence

import numpy as np

from warp._src.interop import jax_sharding
from warp._src.interop.jax_calls import Call
from warp._src.interop.jax_support import ffi_module, import_jax, register_handlers

jax = import_jax()
register_handlers()
import jax.numpy as jnp  # noqa: E402
from jax.extend.core import Primitive  # noqa: E402
from jax.interpreters import ad, batching, mlir  # noqa: E402

_ShapedArray = jax.core.ShapedArray
# As versions of before 0.6 have them.
_Effect = getattr(jax.extend.core, "Effect", None) or jax.core.Effect
_typeof = getattr(jax, "typeof", None) or jax.core.get_aval


class SideEffect(_Effect):
    """Of kernels that do more than fill their outputs: JAX keeps calls whose results nobody uses."""

    def __str__(self) -> str:
        return "Weft"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SideEffect)

    def __hash__(self) -> int:
        return hash(SideEffect)


_side_effect = SideEffect()
mlir.lowerable_effects.add_type(SideEffect)
try:  # loops of JAX ask another table, which is not public
    from jax._src import effects as _effects

    _effects.control_flow_allowed_effects.add_type(SideEffect)
    _effects.remat_allowed_effects.add_type(SideEffect)
except (ImportError, AttributeError):
    pass


# ---- Mesh axes over which values vary (shard_map) --------------------------------------------------------------------


def _varying(aval: Any) -> frozenset:
    kind = getattr(aval, "manual_axis_type", None)
    return kind.varying if kind is not None else getattr(aval, "vma", frozenset())


def _made_varying(value: Any, axes: tuple) -> Any:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(value, axes, to="varying")
    return jax.lax.pvary(value, axes)


def unite_axes(values: Sequence[Any]) -> list[Any]:
    """Values that vary over the same axes: the results of a kernel do over those of all its arguments."""
    if not hasattr(jax, "typeof") or jax.sharding.get_abstract_mesh().empty:
        return list(values)
    avals = [_typeof(v) for v in values]
    axes = frozenset().union(*(_varying(a) for a in avals))
    if not axes:
        return list(values)
    made = []
    for value, aval in zip(values, avals):
        missing = tuple(sorted(axes - _varying(aval), key=str))
        made.append(_made_varying(value, missing) if missing else value)
    return made


def _result(shape: Sequence[int], dtype: Any, like: Sequence[Any]) -> Any:
    """The abstract value of a result, which varies as the operands do."""
    if not like or not _varying(like[0]):
        return _ShapedArray(tuple(shape), np.dtype(dtype))
    sharding = jax.sharding.NamedSharding(jax.sharding.get_abstract_mesh(), jax.sharding.PartitionSpec())
    return like[0].update(shape=tuple(shape), dtype=np.dtype(dtype), weak_type=False, sharding=sharding)


# ---- The primitives --------------------------------------------------------------------------------------------------


def _primitive(name: str) -> Primitive:
    made = Primitive(name)
    made.multiple_results = True

    @functools.lru_cache(maxsize=1024)
    def compiled(params: tuple) -> Any:
        return jax.jit(functools.partial(made.bind, **dict(params)))

    @made.def_impl
    def run(*args: Any, **params: Any) -> Any:
        program = compiled(tuple(sorted(params.items())))
        if not jax.config.jax_disable_jit:
            return program(*args)
        with jax.disable_jit(False):  # a custom call is a program even where the steps around it are run one by one
            return program(*args)

    return made


forward_p = _primitive("weft_launch")
tangent_p = _primitive("weft_tangent")
adjoint_p = _primitive("weft_adjoint")


def _lead(avals: Sequence[Any], batch: int) -> tuple[int, ...]:
    """The extents of the batches that operands have in front."""
    lead = [1] * batch
    for aval in avals:
        for d in range(batch):
            if aval.shape[d] != 1:
                lead[d] = aval.shape[d]
    return tuple(lead)


def _forward_abstract(*avals: Any, call: Call, batch: int, sizes: tuple) -> tuple[list, set]:
    made = [_result((*sizes, *o.shape), o.dtype, avals) for o in call.outputs]
    return made, {_side_effect} if call.has_side_effect else set()


forward_p.def_effectful_abstract_eval(_forward_abstract)


@tangent_p.def_abstract_eval
def _tangent_abstract(*avals: Any, call: Call, batch: int, sizes: tuple, moving: tuple) -> list:
    return [_result((*sizes, *o.shape), o.dtype, avals) for o in call.outputs if o.moves]


@adjoint_p.def_abstract_eval
def _adjoint_abstract(*avals: Any, call: Call, batch: int, sizes: tuple, seeded: tuple, shapes: tuple) -> list:
    wanted = [(i, s) for i, s in zip(call.inputs, shapes) if s is not None]
    return [_result(shape, i.dtype, avals) for i, shape in wanted]


# ---- Lowering --------------------------------------------------------------------------------------------------------


def _places(ctx: Any) -> list[int]:
    """Numbers of the devices that a program may run on: -1 is the CPU."""
    platforms = ctx.platforms or ctx.module_context.platforms
    places = []
    for platform in platforms:
        if platform == "cpu":
            places.append(-1)
        elif platform in ("cuda", "gpu"):
            for device in jax.local_devices(backend="cuda"):
                number = getattr(device, "local_hardware_id", None)
                places.append(device.id if number is None else number)
        else:
            raise NotImplementedError(f"kernels run on JAX's platforms cpu and cuda, not on {platform}")
    return places


def _lower(ctx: Any, operands: Sequence[Any], plan: Any, call: Call, scratch: Sequence[tuple]) -> list:
    """A custom call for a plan (jax_calls.py); buffers that only the handler needs are results that nobody uses."""
    if getattr(getattr(ctx.module_context, "lowering_parameters", None), "for_export", False):
        call.check_exportable()
    capturable = call.compile(plan.record, _places(ctx))
    extra = [_ShapedArray(shape, np.dtype(dtype)) for shape, dtype in scratch]
    rule = ffi_module().ffi_lowering(
        call.targets(capturable),
        operand_output_aliases=plan.aliases,
        has_side_effect=call.has_side_effect and plan.direction == 0,
    )
    count = len(ctx.avals_out)
    inner = ctx.replace(avals_out=[*ctx.avals_out, *extra]) if extra else ctx
    return list(rule(inner, *operands, weft=np.frombuffer(plan.record, np.uint8)))[:count]


def _cut(ctx: Any, operands: Sequence[Any], bind: Any, call: Call, places: Sequence[int], made: Sequence[int]) -> Any:
    """The call for a program whose arrays lie on several devices, cut along its rows; None: it is not, or can't be.
    `places` and `made` are the parameters that operands and results belong to."""
    if not jax_sharding.runs_on_many(ctx):
        return None
    layout = jax_sharding.layout_of(call, places, made, ctx)
    if layout is None:
        return None
    whole = jax_sharding.partitioned(bind, call, layout)
    return mlir.lower_fun(lambda *args: list(whole(*args)), multiple_results=True)(ctx, *operands)


jax_sharding.let_lowering_know_devices([forward_p, tangent_p, adjoint_p])


def _bind_forward(call: Call, parts: int, operands: Sequence[Any]) -> list:
    return forward_p.bind(*operands, call=call, batch=0, sizes=())


@functools.partial(mlir.register_lowering, forward_p)
def _lower_forward(ctx: Any, *operands: Any, call: Call, batch: int, sizes: tuple) -> list:
    if batch == 0:
        own = [i.index for i in call.inputs]
        cut = _cut(ctx, operands, _bind_forward, call, own, [o.index for o in call.outputs])
        if cut is not None:
            return cut
    return _lower(ctx, operands, call.forward_plan(batch), call, ())


@functools.lru_cache(maxsize=1024)
def _tangent_binder(moving: tuple) -> Any:
    def bind(call: Call, parts: int, operands: Sequence[Any]) -> list:
        return tangent_p.bind(*operands, call=call, batch=0, sizes=(), moving=moving)

    return bind


@functools.partial(mlir.register_lowering, tangent_p)
def _lower_tangent(ctx: Any, *operands: Any, call: Call, batch: int, sizes: tuple, moving: tuple) -> list:
    if batch == 0:
        own = [i.index for i in call.inputs]
        moved = [k for k, m in zip(own, moving) if m]
        results = [o.index for o in call.outputs if o.moves]
        cut = _cut(ctx, operands, _tangent_binder(moving), call, own + moved, results)
        if cut is not None:
            return cut
    plan = call.tangent_plan(batch, moving)
    scratch = [((*sizes, *o.shape), o.dtype) for o in call.outputs]
    return _lower(ctx, operands, plan, call, scratch)


@functools.lru_cache(maxsize=1024)
def _adjoint_binder(seeded: tuple, shapes: tuple, own: tuple) -> Any:
    def bind(call: Call, parts: int, operands: Sequence[Any]) -> list:
        cut = tuple((s[0] // parts, *s[1:]) if s is not None and o else s for s, o in zip(shapes, own))
        return adjoint_p.bind(*operands, call=call, batch=0, sizes=(), seeded=seeded, shapes=cut)

    return bind


@functools.partial(mlir.register_lowering, adjoint_p)
def _lower_adjoint(
    ctx: Any, *operands: Any, call: Call, batch: int, sizes: tuple, seeded: tuple, shapes: tuple
) -> list:
    if batch == 0 and jax_sharding.runs_on_many(ctx) and call.rows is not None:
        own = tuple(call.rows[i.index] == jax_sharding.OWN for i in call.inputs)
        given = [i.index for i in call.inputs] + [o.index for o, s in zip(call.outputs, seeded) if s]
        results = [i.index for i, s in zip(call.inputs, shapes) if s is not None]
        cut = _cut(ctx, operands, _adjoint_binder(seeded, shapes, own), call, given, results)
        if cut is not None:
            return cut
    plan = call.adjoint_plan(batch, seeded, tuple(s is not None for s in shapes))
    scratch = [((*sizes, *o.shape), o.dtype) for o in plan.scratch]
    return _lower(ctx, operands, plan, call, scratch)


# ---- Derivatives -----------------------------------------------------------------------------------------------------


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero or getattr(tangent, "dtype", None) == jax.dtypes.float0


def _zero_of(aval: Any) -> Any:
    return ad.Zero(aval.to_tangent_aval())


def _check_differentiable(call: Call) -> None:
    if not call.enable_backward:
        raise RuntimeError(
            f"kernel '{call.name}' can't be differentiated: its jax_kernel was made with enable_backward=False"
        )
    call.check_differentiable()


def _forward_jvp(primals: Sequence, tangents: Sequence, *, call: Call, batch: int, sizes: tuple) -> tuple:
    outs = forward_p.bind(*primals, call=call, batch=batch, sizes=sizes)
    moving = tuple(not _is_zero(t) for t in tangents)
    zeros = [_zero_of(_typeof(o)) for o in outs]
    if not any(moving):
        return outs, zeros
    _check_differentiable(call)
    directions = [t for t, moves in zip(tangents, moving) if moves]
    dots = iter(tangent_p.bind(*primals, *directions, call=call, batch=batch, sizes=sizes, moving=moving))
    return outs, [next(dots) if o.moves else zero for o, zero in zip(call.outputs, zeros)]


ad.primitive_jvps[forward_p] = _forward_jvp


def _beyond(call: Call) -> NotImplementedError:
    return NotImplementedError(f"third derivatives of kernel '{call.name}' are not there")


def _tangent_jvp(
    primals: Sequence, tangents: Sequence, *, call: Call, batch: int, sizes: tuple, moving: tuple
) -> tuple:
    count = len(call.inputs)
    params = {"call": call, "batch": batch, "sizes": sizes}
    outs = tangent_p.bind(*primals, moving=moving, **params)
    if not all(_is_zero(t) for t in tangents[:count]):
        # The tangent is a kernel like others, in inputs and directions: this is its own tangent, of which the outputs'
        # tangents count, not the outputs. Reverse mode transposes it, and never runs it.
        double = call.doubled(moving)
        again = tuple(not _is_zero(t) for t in tangents)
        directions = [t for t, m in zip(tangents, again) if m]
        dots = tangent_p.bind(*primals, *directions, call=double, batch=batch, sizes=sizes, moving=again)
        return outs, dots[sum(o.moves for o in call.outputs) :]
    given = iter(tangents[count:])
    moved = [next(given) if m else None for m in moving]
    again = tuple(t is not None and not _is_zero(t) for t in moved)
    if not any(again):
        return outs, [_zero_of(_typeof(o)) for o in outs]
    directions = [t for t, m in zip(moved, again) if m]
    return outs, tangent_p.bind(*primals[:count], *directions, moving=again, **params)


ad.primitive_jvps[tangent_p] = _tangent_jvp


def _tangent_transpose(
    cotangents: Sequence, *operands: Any, call: Call, batch: int, sizes: tuple, moving: tuple
) -> list:
    count = len(call.inputs)
    primals, directions = operands[:count], operands[count:]
    if any(ad.is_undefined_primal(p) for p in primals):
        raise _beyond(call)
    seeded_floats = iter([not _is_zero(c) for c in cotangents])
    seeded = tuple(o.moves and next(seeded_floats) for o in call.outputs)
    if not any(seeded):
        return [None] * len(operands)
    given = iter(directions)
    asked = [next(given) if m else None for m in moving]
    wanted = [d is not None and ad.is_undefined_primal(d) for d in asked]
    shapes = tuple(d.aval.shape if w else None for d, w in zip(asked, wanted))
    seeds = [c for c in cotangents if not _is_zero(c)]
    made = iter(
        adjoint_p.bind(*primals, *seeds, call=call, batch=batch, sizes=sizes, seeded=seeded, shapes=shapes)
    )
    return [None] * count + [next(made) if w else None for w, m in zip(wanted, moving) if m]


ad.primitive_transposes[tangent_p] = _tangent_transpose


def _adjoint_jvp(
    primals: Sequence, tangents: Sequence, *, call: Call, batch: int, sizes: tuple, seeded: tuple, shapes: tuple
) -> tuple:
    count = len(call.inputs)
    params = {"call": call, "batch": batch, "sizes": sizes, "shapes": shapes}
    outs = adjoint_p.bind(*primals, seeded=seeded, **params)
    dots: list[Any] = [None] * len(outs)

    def add(more: Sequence[Any]) -> None:
        for k, one in enumerate(more):
            dots[k] = one if dots[k] is None else dots[k] + one

    given = iter(zip(primals[count:], tangents[count:]))
    seeds = [next(given) if s else None for s in seeded]
    again = tuple(s is not None and not _is_zero(s[1]) for s in seeds)
    if any(again):  # linear in the seeds
        moved = [s[1] for s, a in zip(seeds, again) if a and s is not None]
        add(adjoint_p.bind(*primals[:count], *moved, seeded=again, **params))
    moving = tuple(not _is_zero(t) for t in tangents[:count])
    if any(moving):
        # The gradient of a derivative in a direction is the derivative of the gradient in that direction: going back
        # over the kernel's tangent, from seeds at the outputs' tangents.
        double = call.doubled(moving)
        directions = [t for t, m in zip(tangents[:count], moving) if m]
        directions = [jnp.broadcast_to(d, p.shape) if d.shape != p.shape else d
                      for d, p in zip(directions, [p for p, m in zip(primals, moving) if m])]
        back = tuple([False] * len(call.outputs)) + tuple(s for s, o in zip(seeded, call.outputs) if o.moves)
        wanted = (*shapes, *[None] * len(directions))
        add(
            adjoint_p.bind(
                *primals[:count], *directions, *primals[count:], call=double, batch=batch, sizes=sizes, seeded=back,
                shapes=wanted,
            )
        )  # fmt: skip
    return outs, [_zero_of(_typeof(o)) if d is None else d for o, d in zip(outs, dots)]


ad.primitive_jvps[adjoint_p] = _adjoint_jvp


def _adjoint_transpose(
    cotangents: Sequence, *operands: Any, call: Call, batch: int, sizes: tuple, seeded: tuple, shapes: tuple
) -> list:
    """The transpose of the adjoint, which is linear in its seeds, is the tangent."""
    count = len(call.inputs)
    given = iter(cotangents)
    asked = [next(given) if s is not None else None for s in shapes]
    moving = tuple(c is not None and not _is_zero(c) for c in asked)
    if not any(moving):
        return [None] * len(operands)
    if any(ad.is_undefined_primal(p) for p in operands[:count]):
        return _transposed_curvature(asked, moving, operands, call, batch, sizes, seeded)
    directions = [c for c, m in zip(asked, moving) if m]
    dots = tangent_p.bind(*operands[:count], *directions, call=call, batch=batch, sizes=sizes, moving=moving)
    of_seeds = [d for d, s in zip(dots, [s for s, o in zip(seeded, call.outputs) if o.moves]) if s]
    return [None] * count + [
        d if ad.is_undefined_primal(o) else None for d, o in zip(of_seeds, operands[count:])
    ]


def _transposed_curvature(
    asked: Sequence, moving: tuple, operands: Sequence, call: Call, batch: int, sizes: tuple, seeded: tuple
) -> list:
    """The adjoint of a kernel's tangent is linear in the tangent's directions, and symmetric: second derivatives commute. Its
    transpose goes the same way, from what was asked for to what moved."""
    if call.origin is None:
        raise _beyond(call)
    origin, moved = call.origin
    count = len(origin.inputs)
    primals, directions, seeds = operands[:count], operands[count : len(call.inputs)], operands[len(call.inputs) :]
    if any(ad.is_undefined_primal(p) for p in (*primals, *seeds)):
        raise _beyond(call)
    given = iter(directions)
    by_input = [next(given) if m else None for m in moved]
    wanted = [d is not None and ad.is_undefined_primal(d) for d in by_input]
    shapes = [d.aval.shape if w else None for d, w in zip(by_input, wanted)]  # type: ignore[union-attr]
    back = moving[:count]
    double = origin.doubled(back)
    cotangents = [c for c, m in zip(asked, back) if m]
    made = iter(
        adjoint_p.bind(
            *primals, *cotangents, *seeds, call=double, batch=batch, sizes=sizes, seeded=seeded,
            shapes=(*shapes, *[None] * len(cotangents)),
        )
    )  # fmt: skip
    results = [next(made) if w else None for w in wanted]
    return [None] * count + [r for r, m in zip(results, moved) if m] + [None] * len(seeds)


ad.primitive_transposes[adjoint_p] = _adjoint_transpose


# ---- Batches ---------------------------------------------------------------------------------------------------------


def _in_front(value: Any, dim: Any, size: int, spread: bool) -> Any:
    """An operand with the batch in front: its own, or a dimension of 1 where it has none; `spread`: of its size."""
    if dim is not None:
        return jnp.moveaxis(value, dim, 0)
    made = jnp.expand_dims(value, 0)
    return jnp.broadcast_to(made, (size, *value.shape)) if spread else made


def _size(args: Sequence, dims: Sequence) -> int:
    return next(a.shape[d] for a, d in zip(args, dims) if d is not None)


def _one_by_one(prim: Primitive, args: Sequence, dims: Sequence, params: dict, unroll: bool) -> tuple:
    """JAX's own loop over the samples."""
    batched = [d is not None for d in dims]
    moved = [jnp.moveaxis(a, d, 0) if d is not None else a for a, d in zip(args, dims)]

    def body(_: Any, xs: Sequence) -> tuple:
        own = iter(xs)
        return (), prim.bind(*[next(own) if b else a for a, b in zip(moved, batched)], **params)

    _, outs = jax.lax.scan(body, (), [a for a, b in zip(moved, batched) if b], unroll=unroll or 1)
    return outs, [0] * len(outs)


def _batch(prim: Primitive, args: Sequence, dims: Sequence, params: dict, spread: Sequence[bool]) -> tuple:
    call = params["call"]
    if call.vmap_method in ("sequential", "sequential_unrolled"):
        return _one_by_one(prim, args, dims, params, call.vmap_method == "sequential_unrolled")
    if call.vmap_method is None:
        raise NotImplementedError(
            f"kernel '{call.name}' has vmap_method=None; vmap wants one of {', '.join(map(repr, call.VMAP_METHODS))}"
        )
    size = _size(args, dims)
    if params["batch"] == 0 and size > 0:
        made = _in_one_launch(prim, args, dims, params, size, spread)
        if made is not None:
            return made, [0] * len(made)
    moved = [_in_front(a, d, size, s) for a, d, s in zip(args, dims, spread)]
    params = {**params, "batch": params["batch"] + 1, "sizes": (size, *params["sizes"])}
    if "shapes" in params:  # each sample has gradients of its own
        params["shapes"] = tuple(s if s is None else (size, *s) for s in params["shapes"])
    outs = prim.bind(*moved, **params)
    return outs, [0] * len(outs)


def _in_one_launch(
    prim: Primitive, args: Sequence, dims: Sequence, params: dict, size: int, spread: Sequence[bool]
) -> Any:
    """The batch as one launch of the kernel's form for batches; None if there is none."""
    call = params["call"]
    count = len(call.inputs)
    which = [d is not None or s for d, s in zip(dims[:count], spread)]
    more = [True] * (len(args) - count)  # seeds: of results, which all have a batch
    if prim is tangent_p:  # a direction and what moves in it are arrays of one shape
        movers = [k for k, m in enumerate(params["moving"]) if m]
        for k, d in zip(movers, dims[count:]):
            which[k] = which[k] or d is not None
        more = [which[k] for k in movers]
    elif prim is adjoint_p:  # each sample has gradients of its own
        which = [w or s is not None for w, s in zip(which, params["shapes"])]
    batched = call.batched(size, which)
    if batched is None:
        return None
    moved = [_in_front(a, d, size, True) if b else a for a, d, b in zip(args, dims, [*which, *more])]
    params = {**params, "call": batched}
    if prim is adjoint_p:
        params["shapes"] = tuple(s if s is None else (size, *s) for s in params["shapes"])
    return prim.bind(*moved, **params)


def _batch_forward(args: Sequence, dims: Sequence, **params: Any) -> tuple:
    return _batch(forward_p, args, dims, params, [i.in_out for i in params["call"].inputs])


def _batch_tangent(args: Sequence, dims: Sequence, **params: Any) -> tuple:
    own = [i.in_out for i in params["call"].inputs]
    return _batch(tangent_p, args, dims, params, own + [s for s, m in zip(own, params["moving"]) if m])


def _batch_adjoint(args: Sequence, dims: Sequence, **params: Any) -> tuple:
    own = [i.in_out for i in params["call"].inputs]
    return _batch(adjoint_p, args, dims, params, own + [True] * (len(args) - len(own)))


batching.primitive_batchers[forward_p] = _batch_forward
batching.primitive_batchers[tangent_p] = _batch_tangent
batching.primitive_batchers[adjoint_p] = _batch_adjoint


def launch(call: Call, values: Sequence[Any]) -> list[Any]:
    """Binds a kernel's call to its array arguments."""
    return forward_p.bind(*unite_axes(values), call=call, batch=0, sizes=())
