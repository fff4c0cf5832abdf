"""CuPy (gpu/cupy_cases.py): arrays straight to launches, and arrays of ours as CuPy's, in both directions without copies."""

from __future__ import annotations

import pytest
import warp as wp
from gpu_support import look_at, names_in, results_of

pytest.importorskip("cupy", reason="CuPy is not installed")
pytestmark = [
    pytest.mark.cpu_only("a program of its own"),
    pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device"),
]
_told: dict = {}


@pytest.mark.parametrize("name", names_in("cupy_cases"))
def test_on_a_gpu(name, gpu_environment):
    if not _told:
        _told.update(results_of("cupy_cases", gpu_environment))
    look_at(_told[name])
