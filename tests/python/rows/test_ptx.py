"""The PTX of every builtin row is accepted by ptxas: in float32 and float64; rows of numbers in other types as well."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from executors import Batch, make_batches
from signatures import Instance, instances

USUAL = ("float32", "float64", "int32", "fixed")
OTHERS = ("float16", "bfloat16", "bool", "int8", "uint16", "uint64")
TARGET = "sm_80"
ARRAYS = 8  # large kernels take ptxas more than their share of time


def tool(variable: str, name: str, *folders: str) -> str | None:
    return os.environ.get(variable) or shutil.which(name) or next(filter(None, map(shutil.which, folders)), None)


PTXAS = tool("WEFT_PTXAS", "ptxas", os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas"))
WEFTC = tool("WEFTC", "weftc")


def kind_of(instance: Instance) -> str:
    return next(iter(instance.kinds.values()), "fixed")


def compile_batch(batch: Batch, folder: Path) -> str:
    """What is wrong with the batch's PTX; empty if nothing."""
    text = folder / f"{batch.name}.ptx"
    emit = [WEFTC, folder / "row_kernels.py", f"--kernel={batch.name}", "--emit=ptx", f"--target={TARGET}", "-o", text]
    for command in (emit, [PTXAS, f"-arch={TARGET}", "-O1", "-o", os.devnull, text]):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            return f"{[i.name for i in batch.instances]}: {(done.stdout + done.stderr)[-2000:]}"
    return ""


@pytest.mark.skipif(PTXAS is None, reason="there is no ptxas (set CUDA_HOME or WEFT_PTXAS)")
@pytest.mark.skipif(WEFTC is None, reason="there is no weftc (set WEFTC)")
@pytest.mark.parametrize("kind", USUAL + OTHERS)
def test_ptx_is_accepted(kind: str, tmp_path: Path) -> None:
    chosen = [i for i in instances() if kind_of(i).replace("wp.", "") == kind and (kind in USUAL or i.of_numbers)]
    assert chosen
    batches = make_batches(chosen, tmp_path, limit=ARRAYS)
    with ThreadPoolExecutor(2) as pool:
        complaints = [text for text in pool.map(lambda batch: compile_batch(batch, tmp_path), batches) if text]
    assert not complaints, "\n".join(complaints)
