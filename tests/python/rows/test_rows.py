"""Every builtin row for every scalar type: against its reference, and the same bits from all executors, GPUs too."""

from __future__ import annotations

import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from domains import COUNT, takes_special_values
from executors import Batch, make_batches
from expected import differences
from kinds import widened
from references import TABLE, reference_of
from signatures import Instance, Row, all_rows, instances

import warp as wp
from warp import _weft

ROWS = all_rows()
COMPUTED = [row for row in ROWS if not row.sample.startswith("none")]
INSTANCES: dict[str, list[Instance]] = defaultdict(list)
for _instance in instances():
    INSTANCES[_instance.row.key].append(_instance)
# LLVM's effort does not change results, and vectors and matrices are made of the operations on numbers. Both take long at
# many lanes: only the types that programs use most get all of it.
COMMON = ("float32", "float64", "int32", "fixed")
THREADS = 2
# WEFT_ROWS_LEVELS=all: every row at each of LLVM's levels, for these have other instruction selectors and other passes.
LEVELS = range(4) if os.environ.get("WEFT_ROWS_LEVELS") == "all" else ()


class Runs:
    """The results of all instances from all executors."""

    def __init__(self, folder: Path) -> None:
        self.inputs: dict[str, list[np.ndarray]] = {}
        self.results: dict[str, dict[str, list[np.ndarray]]] = defaultdict(dict)
        self.batches = make_batches([i for many in INSTANCES.values() for i in many], folder)
        for batch in self.batches:
            for instance, inputs in zip(batch.instances, batch.inputs):
                self.inputs[instance.name] = inputs
        natural = _weft.host_target()[2]
        common = [b for b in self.batches if b.name.startswith(COMMON)]
        others = [b for b in self.batches if b not in common]
        try:
            self.run("1 lane", 1, None, self.batches)
            self.run(f"{natural} lanes", natural, None, common)
            self.run(f"{natural} lanes", natural, 0, [b for b in others if natural <= 4 or b.of_numbers])
            if natural > 4:
                self.run("4 lanes", 4, 0, self.batches)
            for level in LEVELS:
                for lanes in {1, natural}:
                    self.run(f"{lanes} lanes, level {level}", lanes, level, self.batches)
        finally:
            wp.config.cpu_lanes, wp.config.optimization_level = 0, None
        if wp.is_cuda_available():
            with wp.ScopedDevice("cuda"):
                self.run("cuda", 0, None, self.batches)
        for batch in self.batches:
            self.keep("interpreter", batch, batch.interpret())

    def run(self, executor: str, lanes: int, level: int | None, batches: list[Batch]) -> None:
        wp.config.cpu_lanes, wp.config.optimization_level = lanes, level
        with ThreadPoolExecutor(THREADS) as pool:
            for batch, made in zip(batches, pool.map(Batch.run, batches)):
                self.keep(executor, batch, made)

    def keep(self, executor: str, batch: Batch, made: list[list[np.ndarray]]) -> None:
        for instance, results in zip(batch.instances, made):
            self.results[instance.name][executor] = results


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("rows"))


def canonical(held: np.ndarray, kind: str) -> bytes:
    """Bits, with one NaN for all."""
    wide = widened(held, kind)
    if wide.dtype.kind != "f":
        return held.tobytes()
    nan = np.isnan(wide)
    return nan.tobytes() + np.where(nan, np.zeros((), held.dtype), held).tobytes()


def test_every_row_has_a_reference() -> None:
    assert not [row.key for row in COMPUTED if reference_of(row) is None]
    names = {row.name for row in ROWS} | {row.key for row in ROWS}
    assert not [key for key in TABLE if key not in names], "references of rows that are no more"


@pytest.mark.parametrize("row", COMPUTED, ids=lambda row: row.key)
def test_row_agrees_with_its_reference(row: Row, runs: Runs) -> None:
    expected = reference_of(row)
    if expected is None:
        pytest.fail(f"no reference for {row.key} in tests/python/rows/reference_*.py")
    wrong = []
    for instance in INSTANCES[row.key]:
        inputs, made = runs.inputs[instance.name], runs.results[instance.name]["1 lane"]
        if not expected.special or not takes_special_values(instance):
            inputs, made = [i[:COUNT] for i in inputs], [m[:COUNT] for m in made]
        text = differences(expected, instance, inputs, made)
        if text:
            wrong.append(f"{instance.name}: {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", COMPUTED, ids=lambda row: row.key)
def test_executors_agree_bit_for_bit(row: Row, runs: Runs) -> None:
    wrong = []
    for instance in INSTANCES[row.key]:
        made = runs.results[instance.name]
        for executor, results in made.items():
            for k, (a, b, value) in enumerate(zip(made["interpreter"], results, instance.results)):
                if canonical(a, value.kind) != canonical(b, value.kind):
                    at = int(np.argmax([canonical(x, value.kind) != canonical(y, value.kind) for x, y in zip(a, b)]))
                    arguments = [i[at] if len(i) == len(a) else i for i in runs.inputs[instance.name]]
                    wrong.append(
                        f"{instance.name} of {arguments}: {executor} {b[at]!r}, interpreter {a[at]!r} (result {k})"
                    )
                    break
    assert not wrong, "\n".join(wrong)
