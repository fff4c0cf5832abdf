"""Kernels that hold many rows each, run by the interpreter and at any number of lanes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from domains import samples
from kinds import bits_of_bfloats, type_of
from signatures import Instance, Value

import warp as wp
from warp import _weft
from warp._src.session import settings

# Larger kernels compile in more than their share of time; on a GPU parameters must fit into 4 KiB.
ARRAYS = 14


def arrays_of(instance: Instance) -> int:
    return len(instance.params) + len(instance.results)


class Batch:
    """Some instances in one kernel."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.instances: list[Instance] = []
        self.inputs: list[list[np.ndarray]] = []
        self.kernel: wp.Kernel

    def source(self) -> str:
        params, lines = [], []
        for j, instance in enumerate(self.instances):
            arguments = []
            for k, value in enumerate(instance.params):
                params.append(f"a{j}_{k}: wp.array(dtype={value.spelled()})")
                arguments.append(f"a{j}_{k}" if value.form == "array" else f"a{j}_{k}[i]")
            for k, value in enumerate(instance.results):
                params.append(f"r{j}_{k}: wp.array(dtype={value.spelled()})")
            for k in instance.updated:
                lines.append(f"v{j}_{k} = a{j}_{k}[i]")
                arguments[k] = f"v{j}_{k}"
            call = f"wp.{instance.row.name}({', '.join(arguments)})"
            count = len(instance.returns)
            names = [f"x{j}_{k}" for k in range(count)]
            lines.append(f"{', '.join(names)} = {call}" if count else call)
            lines += [f"r{j}_{k}[i] = x{j}_{k}" for k in range(count)]
            lines += [f"r{j}_{count + n}[i] = v{j}_{k}" for n, k in enumerate(instance.updated)]
        body = "\n    ".join(["i = wp.tid()", *lines])
        return f"@wp.kernel\ndef {self.name}({', '.join(params)}):\n    {body}\n"

    def arrays(self) -> tuple[list[wp.array], list[list[wp.array]]]:
        """All arguments, and the results of each instance."""
        given, results = [], []
        for instance, inputs in zip(self.instances, self.inputs):
            given += [to_array(held, value) for held, value in zip(inputs, instance.params)]
            made = [wp.zeros(self.count, dtype=class_of(value)) for value in instance.results]
            given += made
            results.append(made)
        return given, results

    @property
    def of_numbers(self) -> bool:
        return all(instance.of_numbers for instance in self.instances)

    @property
    def count(self) -> int:
        """Threads that run: all instances of a batch have as many samples."""
        return count_of(self.instances[0], self.inputs[0])

    def run(self) -> list[list[np.ndarray]]:
        given, results = self.arrays()
        wp.launch(self.kernel, self.count, given)
        return [[bits_of_bfloats(r.numpy()) for r in made] for made in results]

    def interpret(self) -> list[list[np.ndarray]]:
        """As run, by the reference interpreter."""
        self.kernel.native()
        options = settings.compile_options({**self.kernel.module.options, **self.kernel.options})
        self.kernel._use(_weft.Kernel(self.kernel._function, options, True), settings.epoch)
        made = self.run()
        settings.bump()
        return made


def class_of(value: Value) -> type:
    scalar = type_of(value.kind)
    if value.form in ("scalar", "array"):
        return scalar
    if value.form == "vec":
        return wp.types.vector(value.shape[0], scalar)
    if value.form == "mat":
        return wp.types.matrix(value.shape, scalar)
    return (wp.types.quaternion if value.form == "quat" else wp.types.transformation)(scalar)


def to_array(held: np.ndarray, value: Value) -> wp.array:
    return wp.array(np.ascontiguousarray(held), dtype=class_of(value))


def count_of(instance: Instance, inputs: list[np.ndarray]) -> int:
    return max(len(held) for held, value in zip(inputs, instance.params) if value.form != "array")


def make_batches(instances: list[Instance], folder: Path, smooth: int = 0, limit: int = ARRAYS) -> list[Batch]:
    """Instances of one scalar type and as many samples share kernels; all kernels are in one file in the folder.

    smooth: that many samples where slopes can be compared.
    """
    batches: list[Batch] = []
    open_ones: dict[tuple, Batch] = {}
    for instance in instances:
        inputs = samples(instance, smooth, True) if smooth else samples(instance)
        kind = next(iter(instance.kinds.values()), "fixed").replace("wp.", "").partition("(")[0].replace(".", "_")
        key = (kind, count_of(instance, inputs), instance.of_numbers)
        batch = open_ones.get(key)
        if batch is None or sum(map(arrays_of, batch.instances)) + arrays_of(instance) > limit:
            batch = open_ones[key] = Batch(f"{kind}_{len(batches)}")
            batches.append(batch)
        batch.instances.append(instance)
        batch.inputs.append(inputs)
    path = folder / "row_kernels.py"
    path.write_text("import warp as wp\n\n\n" + "\n\n".join(batch.source() for batch in batches))
    spec = importlib.util.spec_from_file_location("row_kernels" + ("_smooth" if smooth else ""), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for batch in batches:
        batch.kernel = getattr(module, batch.name)
    return batches
