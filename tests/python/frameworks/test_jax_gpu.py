"""JAX on one GPU (gpu/jax_cases.py): streams of XLA, command buffers, functions in every graph mode, both platforms at once."""

from __future__ import annotations

import pytest
import warp as wp
from gpu_support import look_at, names_in, results_of

pytest.importorskip("jax", reason="JAX is not installed")
pytestmark = [
    pytest.mark.cpu_only("a program of its own"),
    pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device"),
]
# XLA captures custom calls by itself in long programs; here at once, whatever the program's length.
_AT_ONCE = "--xla_gpu_enable_command_buffer=FUSION,CUSTOM_CALL --xla_gpu_graph_min_graph_size=1"
_told: dict = {}


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("name", names_in("jax_cases"))
def test_on_a_gpu(name, captured, gpu_environment):
    if captured not in _told:
        more = {"XLA_FLAGS": _AT_ONCE} if captured else {}
        _told[captured] = results_of("jax_cases", gpu_environment, XLA_PYTHON_CLIENT_PREALLOCATE="false", **more)
    told = _told[captured][name]
    if "Unknown flag" in told.get("text", ""):
        pytest.skip("this XLA has other flags for command buffers")
    look_at(told)
