"""Kernels in jitted programs whose arrays lie on several devices, without `shard_map`.

XLA knows nothing of a kernel: left alone it gathers all arrays on every device and runs the whole launch on each. Where the
compiler shows that threads keep to rows of their own (src/analysis/own_rows.h), a launch can be cut along its first
dimension: each device runs its part of the grid on its part of the arrays. Arrays that threads read anywhere lie on every
device as a whole; what all of them add to is added up over the devices.
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any, Callable, NamedTuple, Sequence

from warp._src.interop.jax_calls import ADDED, OWN, WHOLE, Call
from warp._src.interop.jax_support import import_jax

jax = import_jax()
from jax.experimental.custom_partitioning import custom_partitioning  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402


class Layout(NamedTuple):
    """How the operands and results of a call lie: OWN, WHOLE or ADDED, and their shapes."""

    operands: tuple[int, ...]
    results: tuple[int, ...]
    operand_shapes: tuple[tuple[int, ...], ...]
    result_shapes: tuple[tuple[int, ...], ...]


def let_lowering_know_devices(primitives: Sequence[Any]) -> bool:
    """JAX tells lowering rules the devices of a program for primitives of a set that is not public."""
    try:
        from jax._src import dispatch

        dispatch.prim_requires_devices_during_lowering.update(primitives)
    except (ImportError, AttributeError):
        return False
    return True


def runs_on_many(ctx: Any) -> bool:
    """Whether a program is lowered for several devices among which XLA spreads its arrays."""
    module = ctx.module_context
    if getattr(getattr(module, "lowering_parameters", None), "for_export", False):
        return False  # a rule is a function of this process
    devices = getattr(module.axis_context, "device_assignment", None)
    return devices is not None and len(devices) > 1


def layout_of(call: Call, operands: Sequence[int], results: Sequence[int], ctx: Any) -> Layout | None:
    """The layout for parameters by number; None if the call can't be cut. Of gradients (ADDED to) that are results, a whole
    array's is summed up."""
    rows = call.rows
    if rows is None or call.dims[0] == 0:
        return None
    shapes = tuple(tuple(a.shape) for a in ctx.avals_in), tuple(tuple(a.shape) for a in ctx.avals_out)
    made = Layout(tuple(rows[k] for k in operands), tuple(rows[k] for k in results), *shapes)
    for use, shape in zip((*made.operands, *made.results), (*shapes[0], *shapes[1])):
        if use == OWN and shape[0] != call.dims[0]:
            return None  # threads beyond the rows, or rows beyond the threads
    return made._replace(
        operands=tuple(OWN if use == OWN else WHOLE for use in made.operands),
        results=tuple(OWN if use == OWN else ADDED for use in made.results),
    )


def _rule(layout: Layout) -> dict[str, Any]:
    """For Shardy: rows are one factor; every other dimension lies on each device as a whole."""
    replicated: list[str] = []

    def mapped(use: int, shape: tuple[int, ...]) -> str:
        names = []
        for d in range(len(shape)):
            if d == 0 and use == OWN:
                names.append("rows")
            else:
                replicated.append(f"d{len(replicated)}")
                names.append(replicated[-1])
        return " ".join(names)

    left = ", ".join(map(mapped, layout.operands, layout.operand_shapes))
    right = ", ".join(map(mapped, layout.results, layout.result_shapes))
    return {"sharding_rule": f"{left} -> {right}", "need_replication_factors": tuple(replicated)}


@functools.lru_cache(maxsize=1024)
def partitioned(bind: Callable, call: Call, layout: Layout) -> Any:
    """The call as a function that XLA's partitioner cuts; bind(call, parts, operands) makes a part of it."""

    @custom_partitioning
    def whole(*operands: Any) -> tuple:
        return tuple(bind(call, 1, operands))

    def axes_of(shapes: Sequence[Any]) -> Any:
        """The mesh axes over which rows are spread: those of the first array whose rows are."""
        for one, use in zip(shapes, (*layout.operands, *layout.results)):
            spec = getattr(one.sharding, "spec", None)
            if use == OWN and spec and spec[0] is not None:
                return spec[0]
        return None

    def spread(mesh: Any, axes: Any, uses: Sequence[int], shapes: Sequence[tuple]) -> tuple:
        return tuple(
            NamedSharding(mesh, PartitionSpec(axes if use == OWN else None, *[None] * (len(shape) - 1)))
            for use, shape in zip(uses, shapes)
        )

    def partition(mesh: Any, given: Sequence[Any], wanted: Sequence[Any]) -> tuple:
        axes = axes_of((*given, *wanted))
        names = () if axes is None else axes if isinstance(axes, tuple) else (axes,)
        parts = math.prod(mesh.shape[name] for name in names)
        if call.dims[0] % parts:
            # XLA would fill up the last part with rows that are none.
            axes, names, parts = None, (), 1

        def one_part(*operands: Any) -> tuple:
            outs = bind(call.part(parts) if parts > 1 else call, parts, operands)
            return tuple(
                jax.lax.psum(out, names) if use == ADDED and names else out for out, use in zip(outs, layout.results)
            )

        results = spread(mesh, axes, layout.results, layout.result_shapes)
        return mesh, one_part, results, spread(mesh, axes, layout.operands, layout.operand_shapes)

    def infer(mesh: Any, given: Sequence[Any], wanted: Sequence[Any]) -> tuple:
        return spread(mesh, axes_of(given), layout.results, layout.result_shapes)

    known = inspect.signature(whole.def_partition).parameters
    options = _rule(layout) if "sharding_rule" in known else {}
    whole.def_partition(partition, infer_sharding_from_operands=infer, **options)
    return whole
