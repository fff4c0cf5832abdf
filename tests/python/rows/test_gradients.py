"""The gradient of every differentiable row over its sample domain, in float64, against central differences.

Rows of float32 alone (noise) are compared with differences of their reference, which is in float64.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from domains import is_wide
from executors import Batch, class_of, make_batches, to_array
from expected import evaluate
from kinds import is_float, stored
from references import reference_of
from signatures import Instance, Value, instances

import warp as wp

COUNT = 13
STEP = 1e-5


def differentiable_kind(instance: Instance) -> str:
    """The type of all floats of the instance, if it is one to test gradients in."""
    into = {v.kind for v in instance.params if is_float(v.kind) and v.form != "array"}
    out = {v.kind for v in instance.results if is_float(v.kind)}
    if not into or not out or len(into | out) > 1:
        return ""
    kind = next(iter(out))
    return kind if kind == "float64" or (kind == "float32" and not instance.kinds) else ""


def compared(instance: Instance) -> bool:
    """Rows of the library's own that have an overload for each type are tested by their callers in other types."""
    fixed = not instance.kinds and instance.row.name.startswith("_")
    return bool(differentiable_kind(instance)) and not (fixed and differentiable_kind(instance) == "float32")


INSTANCES = {i.name: i for i in instances() if compared(i)}


def floats_of(instance: Instance) -> list[tuple[int, int]]:
    """Parameter and component of each float that goes in."""
    return [
        (k, c)
        for k, (value, param) in enumerate(zip(instance.params, instance.row.params))
        if is_float(value.kind) and value.form != "array" and param.domain != "out"
        for c in range(int(np.prod(value.shape)))
    ]


def compared_floats(instance: Instance) -> np.ndarray:
    """Which of them gradients go to."""
    return np.array([instance.row.params[k].differentiable for k, _ in floats_of(instance)])


def weights_of(value: Value) -> np.ndarray:
    """How much each component of a result counts."""
    signs = np.where(np.arange(np.prod(value.shape)) % 3 == 1, -1, 1).reshape(value.shape)
    return np.random.default_rng(5).uniform(0.5, 1.5, value.shape) * signs


def steps_of(held: np.ndarray, domain: str) -> np.ndarray:
    return STEP * (np.abs(held) if is_wide(domain) else np.maximum(np.abs(held), 1.0))


def moved_inputs(instance: Instance, inputs: list[np.ndarray], blocks: int) -> list[np.ndarray]:
    """Samples again and again; in the blocks 2 c and 2 c + 1 the c-th float is moved up and down."""
    tiled = [
        held if value.form == "array" else np.concatenate([held] * blocks)
        for held, value in zip(inputs, instance.params)
    ]
    for c, (k, component) in enumerate(floats_of(instance)):
        flat = tiled[k].reshape(blocks, COUNT, -1)
        step = steps_of(inputs[k].reshape(COUNT, -1)[:, component], instance.row.params[k].domain)
        with np.errstate(invalid="ignore"):  # some domains have infinities
            flat[2 * c, :, component] += step
            flat[2 * c + 1, :, component] -= step
    return tiled


def slopes(instance: Instance, inputs: list[np.ndarray], results: list[np.ndarray], blocks: int) -> np.ndarray:
    """Central differences of the weighted results, for each sample and float."""
    total = np.zeros((blocks, COUNT))
    for value, made in zip(instance.results, results):
        if is_float(value.kind):
            total += (made.reshape(blocks, COUNT, -1) * weights_of(value).reshape(-1)).sum(axis=2)
    columns = []
    for c, (k, component) in enumerate(floats_of(instance)):
        step = steps_of(inputs[k].reshape(COUNT, -1)[:, component], instance.row.params[k].domain)
        columns.append((total[2 * c] - total[2 * c + 1]) / (2 * step))
    return np.stack(columns, axis=1)


def differences(batch: Batch) -> list[np.ndarray]:
    """Slopes of each instance of the batch by differences."""
    blocks = 2 * max(len(floats_of(i)) for i in batch.instances)
    moved = Batch(batch.name)
    moved.instances, moved.kernel = batch.instances, batch.kernel
    moved.inputs = [moved_inputs(i, held, blocks) for i, held in zip(batch.instances, batch.inputs)]
    return [slopes(i, held, made, blocks) for i, held, made in zip(batch.instances, batch.inputs, moved.run())]


def reference_differences(instance: Instance, inputs: list[np.ndarray]) -> np.ndarray:
    expected = reference_of(instance.row)
    assert expected is not None and expected.reference is not None
    wide = [h.astype(np.float64) if is_float(v.kind) else h for h, v in zip(inputs, instance.params)]
    blocks = 2 * len(floats_of(instance))
    made = evaluate(expected.reference, moved_inputs(instance, wide, blocks))
    return slopes(instance, wide, made, blocks)


def gradients(batch: Batch) -> list[np.ndarray]:
    """Slopes of each instance of the batch by its adjoint."""
    arguments, into = [], []
    for instance, inputs in zip(batch.instances, batch.inputs):
        given = [to_array(held, value) for held, value in zip(inputs, instance.params)]
        for array, value in zip(given, instance.params):
            array.requires_grad = is_float(value.kind) and value.form != "array"
        made = [wp.zeros(COUNT, dtype=class_of(v), requires_grad=is_float(v.kind)) for v in instance.results]
        for array, value in zip(made, instance.results):
            if is_float(value.kind):
                array.grad.assign(stored(np.broadcast_to(weights_of(value), (COUNT, *value.shape)), value.kind))
        arguments += [*given, *made]
        into.append(given)
    wp.launch(batch.kernel, COUNT, arguments, adj_inputs=[None] * len(arguments), adj_outputs=[], adjoint=True)
    return [
        np.stack([given[k].grad.numpy().reshape(COUNT, -1)[:, c] for k, c in floats_of(instance)], axis=1)
        for instance, given in zip(batch.instances, into)
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[np.ndarray, np.ndarray] | Exception]:
    return run_all(tmp_path_factory.mktemp("gradients"))


def run_all(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray] | Exception]:
    out: dict[str, tuple[np.ndarray, np.ndarray] | Exception] = {}
    for batch in make_batches(list(INSTANCES.values()), folder, COUNT, limit=6):
        try:
            got = gradients(batch)
        except Exception as error:
            out |= {instance.name: error for instance in batch.instances}
            continue
        want = differences(batch)
        for k, instance in enumerate(batch.instances):
            if differentiable_kind(instance) == "float32" and compared_floats(instance).any():
                want[k] = reference_differences(instance, batch.inputs[k])
            out[instance.name] = got[k], want[k]
    return out


@pytest.mark.parametrize("name", INSTANCES)
def test_gradient(name: str, made: dict[str, tuple[np.ndarray, np.ndarray] | Exception]) -> None:
    result = made[name]
    if isinstance(result, Exception):
        raise result
    got, want = result
    assert np.isfinite(got).all()
    some = compared_floats(INSTANCES[name])
    if not some.any():
        return
    got, want = got[:, some], want[:, some]
    tolerance = 2e-7 if differentiable_kind(INSTANCES[name]) == "float64" else 1e-3
    size = np.maximum(np.abs(want).max(axis=1, keepdims=True), 1.0)
    wrong = np.abs(got - want) > tolerance * size
    text = f"{int(wrong.sum())} of {wrong.size} wrong; adjoint {got[wrong][:6]}, differences {want[wrong][:6]}"
    assert not wrong.any(), text
