"""Programs of several processes, for the tests of this folder: started by mpirun, or by hand; what they print comes back."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "python"


def needs(module: str) -> None:
    """Skips the test where a package is missing, and says which."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed (make test-frameworks installs it)", allow_module_level=True)


def _environment(**more: str) -> dict[str, str]:
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}


def _finish(running: subprocess.Popen, timeout: float) -> str:
    try:
        out, _ = running.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        running.kill()
        out, _ = running.communicate()
        raise AssertionError(f"it did not end within {timeout} s:\n{out[-3000:]}") from None
    assert running.returncode == 0, out[-5000:]
    return out


def mpirun(count: int, *command: object, timeout: float = 300, **environment: str) -> str:
    """Runs a Python program in `count` processes of MPI."""
    needs("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not there (Debian and Ubuntu: apt-get install openmpi-bin)")
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("mpirun is not Open MPI's")
    options = ["--oversubscribe", "-np", str(count)]
    if os.geteuid() == 0:
        options.append("--allow-run-as-root")
    running = subprocess.Popen(
        ["mpirun", *options, sys.executable, *map(str, command)],
        env=_environment(OMPI_MCA_btl_vader_single_copy_mechanism="none", **environment),  # containers forbid its way
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return _finish(running, timeout)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def together(count: int, *command: object, timeout: float = 300, **environment: str) -> list[str]:
    """Runs a Python program in `count` processes that find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
    torchrun does; what each of them printed."""
    port = str(free_port())
    started = [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            env=_environment(
                RANK=str(rank),
                LOCAL_RANK=str(rank),
                WORLD_SIZE=str(count),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=port,
                **environment,
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        return [_finish(one, timeout) for one in started]
    finally:
        for one in started:
            if one.poll() is None:
                one.kill()
