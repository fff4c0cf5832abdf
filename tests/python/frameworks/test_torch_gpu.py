"""PyTorch on a GPU (gpu/torch_cases.py): streams, captured graphs, backward on torch's own thread."""

from __future__ import annotations

import pytest
import warp as wp
from gpu_support import look_at, names_in, results_of

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = [
    pytest.mark.cpu_only("a program of its own"),
    pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(not torch.backends.cuda.is_built(), reason="this PyTorch is built without CUDA"),
]
_told: dict = {}


@pytest.mark.parametrize("name", names_in("torch_cases"))
def test_on_a_gpu(name, gpu_environment):
    if not _told:
        _told.update(results_of("torch_cases", gpu_environment))
    look_at(_told[name])
