"""Launches on GPUs that wait in a queue while their code is made, on the fake driver."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.normpath(os.path.join(os.environ.get("WEFT_EXTENSION_DIR", ""), "..", "..", "fake_cuda"))

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


@pytest.mark.parametrize("what", ["both", "queue", "errors", "threads", "fork", "leave"])
def test_programs(what, tmp_path):
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": path,
        "CUDA_VISIBLE_DEVICES": "",
        "WEFT_FAKE_CUDA_RUNS": "1",
        "WARP_CACHE_PATH": str(tmp_path / "cache"),
    }
    command = [sys.executable, f"{HERE}/late_launch_program.py", what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout[-3000:] + done.stderr[-3000:]
