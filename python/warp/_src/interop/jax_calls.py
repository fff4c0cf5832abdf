"""A call of a kernel in a program of JAX: what is static of it, and the records of its forward, tangent and adjoint.

A record (src/interop/call_record.h) is bytes that say all that a handler does. A plan is a record with what JAX's custom
call needs beside it: which results begin as arguments, and buffers that only the handler uses.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Sequence

import numpy as np

from warp import _weft
from warp._src.interop.jax_batched import batched_kernel
from warp._src.interop.jax_parameters import IN_OUT, INPUT, OUTPUT, VALUE, numpy_type

_WORTH_A_LAUNCH = 1 << 14  # threads of a sample

# What threads do with an array, if they keep to rows of their own (src/analysis/own_rows.h).
UNUSED, OWN, WHOLE, ADDED = range(4)


@dataclasses.dataclass(frozen=True)
class Input:
    """An array that goes in."""

    index: int  # of the parameter
    dtype: np.dtype
    in_out: bool
    moves: bool  # it has derivatives


@dataclasses.dataclass(frozen=True)
class Output:
    """An array that comes out, as JAX sees it."""

    index: int
    shape: tuple[int, ...]
    dtype: np.dtype
    moves: bool
    in_out: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """A custom call."""

    direction: int  # as interop::Direction
    record: bytes
    aliases: dict[int, int]
    scratch: tuple[Output, ...] = ()


class Call:
    """The static part of a call; equal calls have equal keys, and JAX compares them."""

    origin: tuple[Call, tuple[bool, ...]] | None = None
    """Of a kernel's tangent that is called as a kernel: the kernel's call, and which of its inputs move."""
    is_batched = False
    """It runs all samples of a batch in one launch."""
    VMAP_METHODS = ("broadcast_all", "expand_dims", "sequential", "sequential_unrolled")

    def __init__(
        self,
        kernel: Any,
        native: _weft.Kernel,
        types: Sequence[_weft.Type],
        roles: Sequence[int],
        values: Sequence[Any],
        dims: tuple[int, ...],
        shapes: dict[int, tuple[int, ...]],
        *,
        block_dim: int = 0,
        vmap_method: str | None = "broadcast_all",
        enable_backward: bool = True,
        has_side_effect: bool = False,
        portable: bool = False,
        key: Any = None,
    ):
        self.kernel, self.native = kernel, native
        self.name = native.name
        self.types, self.roles, self.values = list(types), list(roles), list(values)
        self.dims, self.block_dim = dims, block_dim
        self.vmap_method, self.enable_backward = vmap_method, enable_backward
        self.has_side_effect, self.portable = has_side_effect, portable
        self._set_arrays(shapes)
        self._key = (
            id(native), tuple(t.name for t in self.types), tuple(roles), tuple(map(repr, values)), dims,
            tuple(sorted(shapes.items())), block_dim, vmap_method, enable_backward, has_side_effect,
            portable, key,
        )  # fmt: skip
        self._hash = hash(self._key)
        self._plans: dict[Any, Plan] = {}
        self._batched: dict[Any, Call | None] = {}
        self._parts: dict[int, Call] = {}
        self._capturable: dict[tuple[bytes, int], bool] = {}
        self._facts: dict[str, Any] | None = None
        self._rows: tuple[int, ...] | None | bool = False  # False: nobody has asked

    def _set_arrays(self, shapes: dict[int, tuple[int, ...]]) -> None:
        """What goes in and comes out, in the order of JAX's arguments and results."""
        self._shapes = shapes
        self.inputs: list[Input] = []
        outs: list[Output] = []
        for k, (t, role) in enumerate(zip(self.types, self.roles)):
            if role == VALUE:
                continue
            dtype, moves = numpy_type(t.element), t.element.has_floats
            if role in (INPUT, IN_OUT):
                self.inputs.append(Input(k, dtype, role == IN_OUT, moves))
            if role in (OUTPUT, IN_OUT):
                outs.append(Output(k, shapes[k], dtype, moves, role == IN_OUT))
        self.outputs = outs

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Call) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.name}{list(self.dims)}"

    @property
    def facts(self) -> dict[str, Any]:
        """What the compiler knows of the kernel's accesses, per parameter."""
        if self._facts is None:
            self._facts = _weft.xla_facts(self.native, self.types, len(self.dims))
        return self._facts

    def check_inputs(self, names: Sequence[str]) -> None:
        """Raises if the kernel writes to what JAX takes for a constant."""
        written = self.facts["written"]
        for one in self.inputs:
            if written[one.index] and not one.in_out:
                name = names[one.index]
                raise ValueError(
                    f"kernel '{self.name}' writes to its input '{name}', and JAX's arrays do not change; name it in "
                    f"in_out_argnames=['{name}'] (num_outputs counts it), or make it an output"
                )

    def check_differentiable(self) -> None:
        problem = self.facts["problem"]
        if problem:
            raise RuntimeError(problem)
        if not self.kernel._backward():
            raise RuntimeError(
                f"kernel '{self.name}' can't be differentiated: enable_backward is off for it or its module"
            )

    def check_exportable(self) -> None:
        """Raises if the call holds what means something in this process alone."""
        if self.facts["handles"]:
            raise ValueError(
                f"kernel '{self.name}' takes the id of a mesh, grid, volume or texture, which is an address of this process: a "
                "program with it can't be exported; let the program that imports it make the object, and call the kernel there"
            )

    def targets(self, capturable: bool) -> str:
        """The handler for a call."""
        return "weft.launch" if capturable else "weft.launch.uncaptured"

    def compile(self, record: bytes, places: Sequence[int]) -> bool:
        """Compiles for devices; says whether all of them may capture the call into command buffers."""
        for place in places:
            if (record, place) not in self._capturable:
                self._capturable[record, place] = _weft.xla_compile(record, place)
        return all(self._capturable[record, place] for place in places)

    # ---- Plans -------------------------------------------------------------------------------------------------------

    def _register(self, native: _weft.Kernel, direction: int, batch: int, buffers: dict[int, list[int]]) -> bytes:
        """`buffers`: by parameter (arg, ret, arg_dot, ret_dot)."""
        params = []
        filled = self._filled() if direction == 0 else ()
        for k, role in enumerate(self.roles):
            own = buffers.get(k, [-1] * 4)
            zeroed = role == OUTPUT and k not in filled
            params.append((role, zeroed, *own, self.values[k] if role == VALUE else None))
        return _weft.xla_register(
            native, self.types, direction, self.dims, self.block_dim, batch, params, self.portable
        )

    def _filled(self) -> set[int]:
        """The outputs of which the launch writes each element and reads none, so that nobody has to clear them."""
        like = {k for k, role in enumerate(self.roles) if role == OUTPUT and self._shapes[k] == tuple(self.dims)}
        if not like:
            return like
        return {k for k, fills in enumerate(_weft.xla_filled(self.native, self.types, len(self.dims))) if fills} & like

    def forward_plan(self, batch: int) -> Plan:
        known = self._plans.get(batch)
        if known is None:
            buffers: dict[int, list[int]] = {}
            aliases = {}
            for a, one in enumerate(self.inputs):
                buffers[one.index] = [a, -1, -1, -1]
            for r, out in enumerate(self.outputs):
                buffers.setdefault(out.index, [-1] * 4)[1] = r
                if out.in_out:
                    aliases[buffers[out.index][0]] = r
            record = self._register(self.native, 0, batch, buffers)
            known = self._plans[batch] = Plan(0, record, aliases)
        return known

    def tangent_plan(self, batch: int, moving: tuple[bool, ...]) -> Plan:
        known = self._plans.get((batch, moving))
        if known is None:
            buffers: dict[int, list[int]] = {}
            aliases = {}
            dot = len(self.inputs)
            for a, (one, moves) in enumerate(zip(self.inputs, moving)):
                buffers[one.index] = [a, -1, dot if moves else -1, -1]
                dot += moves
            moved = [o for o in self.outputs if o.moves]
            for r, out in enumerate(moved):
                own = buffers.setdefault(out.index, [-1] * 4)
                own[3] = r
                if own[2] >= 0:
                    aliases[own[2]] = r
            for r, out in enumerate(self.outputs):
                buffers.setdefault(out.index, [-1] * 4)[1] = len(moved) + r
            record = self._register(self.kernel.tangent.native(), 1, batch, buffers)
            known = self._plans[batch, moving] = Plan(1, record, aliases)
        return known

    def adjoint_plan(self, batch: int, seeded: tuple[bool, ...], wanted: tuple[bool, ...]) -> Plan:
        known = self._plans.get((batch, seeded, wanted))
        if known is not None:
            return known
        facts = self.facts
        buffers: dict[int, list[int]] = {}
        aliases: dict[int, int] = {}
        results = 0
        for a, (one, asked) in enumerate(zip(self.inputs, wanted)):
            buffers[one.index] = [a, -1, -1, results if asked else -1]
            results += asked
        scratch: list[Output] = []

        def take(out: Output) -> int:
            scratch.append(out)
            return results + len(scratch) - 1

        seed = len(self.inputs)
        for out, has_seed in zip(self.outputs, seeded):
            own = buffers.setdefault(out.index, [-1] * 4)
            if has_seed:
                own[2] = seed
                seed += 1
            replaced = facts["replaced"][out.index] or out.in_out
            if own[3] < 0 and has_seed and replaced:
                own[3] = take(out)  # the adjoint clears what it has passed on, and seeds are JAX's
            if own[2] >= 0 and own[3] >= 0:
                aliases[own[2]] = own[3]
            needs_values = facts["log"] or (not out.in_out and (facts["needed"][out.index] or not has_seed))
            if needs_values:
                own[1] = take(out)
        record = self._register(self.native, 2, batch, buffers)
        known = self._plans[batch, seeded, wanted] = Plan(2, record, aliases, tuple(scratch))
        return known

    def batched(self, size: int, which: Sequence[bool]) -> Call | None:
        """The call for a batch of samples as one launch, some of its inputs having a batch in front; None if there is none:
        the kernel has no such form, or a sample is work enough for a launch of its own."""
        if self.is_batched or self.origin is not None or math.prod(self.dims) > _WORTH_A_LAUNCH:
            return None
        key = (size, tuple(which))
        if key not in self._batched:
            self._batched[key] = self._over_batch(*key)
        return self._batched[key]

    def _over_batch(self, size: int, which: tuple[bool, ...]) -> Call | None:
        own = {one.index: has_batch for one, has_batch in zip(self.inputs, which)}
        arrays = tuple(role != VALUE and own.get(k, True) for k, role in enumerate(self.roles))
        kernel = batched_kernel(self.kernel, self.types, arrays, len(self.dims))
        if kernel is None:
            return None
        types = [_weft.type_array(t.element, t.rank + 1) if b else t for t, b in zip(self.types, arrays)]
        shapes = {k: (size, *shape) for k, shape in self._shapes.items()}
        made = Call(
            kernel, kernel.native(), types, self.roles, self.values, (size, *self.dims), shapes,
            block_dim=self.block_dim, vmap_method=self.vmap_method, enable_backward=self.enable_backward,
            has_side_effect=self.has_side_effect, portable=self.portable,
        )  # fmt: skip
        made.is_batched = True
        return made

    # ---- Parts of a launch, each for a device's share of the arrays' first dimension -------------------------------------

    @property
    def rows(self) -> tuple[int, ...] | None:
        """Per parameter OWN, WHOLE or ADDED if the launch can be cut along its first dimension; None if it can't."""
        if self._rows is False:
            self._rows = self._find_rows()
        return self._rows  # type: ignore[return-value]

    def _find_rows(self) -> tuple[int, ...] | None:
        if self.has_side_effect:
            return None
        if self.origin is not None:  # a direction lies as what moves in it
            own = self.origin[0].rows
            return None if own is None else (*own, *own)
        found = _weft.xla_row_uses(self.native, self.types, len(self.dims))
        if found is None:
            return None
        made = []
        for k, (use, role) in enumerate(zip(found, self.roles)):
            if role == VALUE or use == UNUSED and role == INPUT:
                use = WHOLE
            elif use == OWN:
                if role != INPUT and self._shapes[k][0] != self.dims[0]:
                    return None
            elif (use, role) not in ((WHOLE, INPUT), (ADDED, OUTPUT)):
                return None
            made.append(use)
        return tuple(made) if OWN in made else None

    def part(self, count: int) -> Call:
        """The call for one of so many equal parts of the first dimension."""
        made = self._parts.get(count)
        if made is not None:
            return made
        rows = self.rows
        assert rows is not None and self.dims[0] % count == 0
        shapes = {k: (s[0] // count, *s[1:]) if rows[k] == OWN else s for k, s in self._shapes.items()}
        made = Call(
            self.kernel, self.native, self.types, self.roles, self.values, (self.dims[0] // count, *self.dims[1:]), shapes,
            block_dim=self.block_dim, vmap_method=self.vmap_method, enable_backward=self.enable_backward,
            portable=self.portable,
        )  # fmt: skip
        made.is_batched = self.is_batched
        if self.origin is not None:
            made.origin = (self.origin[0].part(count), self.origin[1])
        self._parts[count] = made
        return made

    def doubled(self, moving: tuple[bool, ...]) -> Call:
        """The call of the kernel's tangent as a kernel like others, some of its inputs moving."""
        double = self.kernel.tangent
        if double is None or getattr(self.kernel, "_option", None):
            raise NotImplementedError(f"third derivatives of kernel '{self.name}' are not there")
        moves = {one.index: m for one, m in zip(self.inputs, moving)}
        count = len(self.types)
        roles, values, shapes = list(self.roles), list(self.values), dict(self._shapes)
        for k, role in enumerate(self.roles):
            own = role
            if role == INPUT and not moves[k] or role == VALUE or not self.types[k].element.has_floats:
                own = VALUE
            elif role == IN_OUT and not moves[k]:
                own = OUTPUT
            if own in (OUTPUT, IN_OUT):
                shapes[count + k] = self._shapes[k]
            roles.append(own)
            values.append(None)
        made = Call(
            double, double.native(), [*self.types, *self.types], roles, values, self.dims, shapes,
            block_dim=self.block_dim, vmap_method=self.vmap_method, enable_backward=True, portable=self.portable,
        )  # fmt: skip
        made.origin = (self, moving)
        return made
