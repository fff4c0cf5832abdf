"""Calls of names for PyTorch and DLPack, and of the scripts that time them."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

from . import CALLS, calls


@calls("to_dlpack", "from_dlpack")
def capsules() -> None:
    a = wp.array([1.0, 2.0], dtype=float)
    shared = wp.from_dlpack(wp.to_dlpack(a))
    shared.fill_(3.0)
    assert a.list() == [3.0, 3.0]


@calls("to_torch", "from_torch", "dtype_to_torch", "dtype_from_torch")
def tensors() -> None:
    torch = pytest.importorskip("torch")
    a = wp.array(np.arange(6).reshape(2, 3), dtype=float, device="cpu")
    tensor = wp.to_torch(a)
    tensor += 1.0
    assert a.numpy()[1, 2] == 6.0 and wp.from_torch(tensor).ptr == a.ptr
    assert wp.dtype_to_torch(wp.float16) is torch.float16 and wp.dtype_from_torch(torch.int64) is wp.int64


def a_script() -> None:
    """That it is there; the checklist's tests run it."""


CALLS["python -m warp.examples.benchmarks.benchmark_interop_paddle"] = a_script
CALLS["python -m warp.examples.benchmarks.benchmark_interop_torch"] = a_script
