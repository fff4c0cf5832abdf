"""What a process leaves in bundles of the kernel cache, and what the next one makes of them, damaged ones included."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import warp as wp
from warp import _weft

wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[1]


@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


@wp.kernel
def shift(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] = x[i] + by


with wp.ScopedDevice("cpu"):
    x = wp.ones(100)
    wp.launch(double, dim=100, inputs=[x])
    wp.launch(shift, dim=100, inputs=[x, 3.0])
assert x.numpy().tolist() == [5.0] * 100
counts = _weft.build_counts()
print(counts["compiled"], counts["disk"], counts["by_source"])
"""


class Runner:
    def __init__(self, folder: pathlib.Path):
        self.cache = folder / "cache"
        self.program = folder / "program.py"
        self.program.write_text(PROGRAM)

    def run(self) -> tuple[int, ...]:
        """How many kernels a fresh process compiled, found on disk, and found without running the front end."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, str(self.program), str(self.cache)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return tuple(int(n) for n in done.stdout.split())

    def files(self, kind: str) -> list[pathlib.Path]:
        return sorted(self.cache.glob(f"*.{kind}"))


@pytest.fixture
def runner(tmp_path: pathlib.Path) -> Runner:
    return Runner(tmp_path)


def test_the_next_process_needs_the_bundle_alone(runner):
    assert runner.run() == (2, 0, 0)
    assert len(runner.files("pak")) == 1 and len(runner.files("obj")) == 2
    for kind in ("obj", "src"):
        for path in runner.files(kind):
            path.unlink()
    assert runner.run() == (0, 2, 2)


def test_a_bundle_that_is_missing_is_made_again(runner):
    runner.run()
    runner.files("pak")[0].unlink()
    assert runner.run() == (0, 2, 2)
    assert len(runner.files("pak")) == 1


@pytest.mark.parametrize("where", [0, 20, 140, 300, -200, -1])
def test_damage_costs_nothing_but_time(runner, where):
    runner.run()
    path = runner.files("pak")[0]
    damaged = bytearray(path.read_bytes())
    damaged[where] ^= 0x55
    path.write_bytes(damaged)
    assert runner.run()[:2] == (0, 2)
    path.write_bytes(damaged[: len(damaged) // 2])
    assert runner.run()[:2] == (0, 2)
    path.unlink(missing_ok=True)
    path.mkdir()
    assert runner.run()[:2] == (0, 2)


def test_text_that_changed_is_compiled(runner):
    runner.run()
    runner.program.write_text(PROGRAM.replace("2.0 * x[i]", "x[i] + x[i]"))
    assert runner.run() == (1, 1, 1)
    assert runner.run() == (0, 2, 2)


def test_folders_that_nobody_may_write_to(runner):
    runner.run()
    runner.files("pak")[0].unlink()
    mode = runner.cache.stat().st_mode
    runner.cache.chmod(0o555)
    try:
        assert runner.run() == (0, 2, 2)
    finally:
        runner.cache.chmod(mode)
