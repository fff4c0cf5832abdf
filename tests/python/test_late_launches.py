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


def run(program, *arguments, cache) -> subprocess.CompletedProcess:
    return run_file(f"{HERE}/{program}.py", *arguments, cache=cache)


def run_file(program, *arguments, cache) -> subprocess.CompletedProcess:
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": path,
        "CUDA_VISIBLE_DEVICES": "",
        "WEFT_FAKE_CUDA_RUNS": "1",
        "WARP_CACHE_PATH": str(cache),
    }
    command = [sys.executable, str(program), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


PROGRAMS = ["both", "queue", "errors", "threads", "fork", "leave", "ahead", "elsewhere", "others", "meanings", "statics", "contention", "blocks"]


@pytest.mark.parametrize("what", PROGRAMS)
def test_programs(what, tmp_path):
    assert run("late_launch_program", what, cache=tmp_path / "cache").stdout.endswith("done\n")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames don't know which expression they are in")
def test_addresses_that_go_nowhere(tmp_path):
    assert run("late_launch_program", "addresses", cache=tmp_path / "cache").stdout.endswith("done\n")


def test_who_leaves_is_told(tmp_path):
    """What the driver refused of launches that nobody waited for."""
    told = run("late_launch_program", "leave_failing", cache=tmp_path / "cache").stderr
    assert "step" in told and "cuModuleLoad" in told


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed, tmp_path):
    """The same results whether launches wait in a queue or not."""
    now = run("late_random_program", seed, 0, cache=tmp_path / "now")
    late = run("late_random_program", seed, 5, cache=tmp_path / "late")
    assert now.stdout == late.stdout and (now.stderr, late.stderr) == ("now\n", "late\n")
