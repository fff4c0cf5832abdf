"""Compiling ahead: idle cores compile the kernels behind those that are being launched, and nothing is seen of it."""

import os
import subprocess
import sys
import textwrap

import pytest

from warp._src.kernels import compile_ahead

pytestmark = pytest.mark.skipif(compile_ahead._cores() < 2, reason="one core: nothing is compiled ahead")

COUNT = 12
HEAD = """
import os, sys, threading, time
import numpy as np
import warp as wp
from warp import _weft
from warp._src.kernels import compile_ahead

wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[1]
SCALE = 2.0
"""
KERNEL = """
@wp.kernel
def k{i}(x: wp.array(dtype=float)):
    t = wp.tid()
    for j in range(x.shape[0]):
        x[t] = wp.sin(x[t] + {i}.0) * SCALE
"""
TOOLS = """
kernels = [globals()[f"k{i}"] for i in range(COUNT)]
module = k0.module

def launch(i):
    x = wp.zeros(4, dtype=float, device="cpu")
    wp.launch(kernels[i], dim=4, inputs=[x], device="cpu")
    return x.numpy()

def rest():
    deadline = time.monotonic() + 20
    while compile_ahead._threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not compile_ahead._threads

def entries():
    return sum(len(files) for _, _, files in os.walk(sys.argv[1]))

def begun():
    return compile_ahead._neighbours[module].begun
"""


def run(tmp_path, body, kernels=None):
    """Runs a program with COUNT kernels and a cache of its own; returns what it prints."""
    text = HEAD + "".join(kernels or [KERNEL.format(i=i) for i in range(COUNT)])
    text += TOOLS.replace("COUNT", str(COUNT)) + textwrap.dedent(body)
    program = tmp_path / "program.py"
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_nobody_waits_for_full_versions_of_what_was_not_launched(tmp_path):
    run(
        tmp_path,
        """
        _weft.set_first_versions(True, 0.0)  # every kernel begins with one
        wp.config.record_kernels = True
        for i in range(3): launch(i)
        rest()
        assert begun()
        assert _weft.count_first_versions() == 3, _weft.count_first_versions()
        wp.finish_kernels()
        assert sorted(row["name"] for row in wp.kernel_report() if row["after_first"]) == ["k0", "k1", "k2"]
        launch(3)
        assert _weft.count_first_versions() == 1 and len(wp.kernel_report()) == 7
        wp.finish_kernels()
        assert _weft.count_first_versions() == 0 and wp.kernel_report()[-1]["after_first"]
        """,
    )


def test_kernels_behind_are_compiled_and_used(tmp_path):
    run(
        tmp_path,
        """
        for i in range(3): launch(i)
        rest()
        assert 4 <= len(begun()) <= 8, begun()  # more where one of the three launched was compiled ahead itself
        for i in range(12): launch(i)
        assert compile_ahead._neighbours[module].window > 4
        assert not begun()
        assert _weft.build_counts() == dict(compiled=12, disk=0, process=0, by_source=0, first=0, full=0)
        """,
    )


def test_kernels_never_launched_leave_no_trace(tmp_path):
    counts = run(
        tmp_path,
        """
        for i in range(3): launch(i)
        rest()
        print(entries(), _weft.build_counts()["compiled"])
        """,
    )
    alone = run(
        tmp_path,
        """
        import shutil
        shutil.rmtree(sys.argv[1])
        wp.config.kernel_cache_dir = sys.argv[1]
        wp.config.compile_ahead = False
        for i in range(3): launch(i)
        assert threading.active_count() == 1
        print(entries(), _weft.build_counts()["compiled"])
        """,
    )
    assert counts == alone


def test_a_warm_cache_compiles_nothing_ahead(tmp_path):
    run(tmp_path, "for i in range(12): launch(i)")
    run(
        tmp_path,
        """
        for i in range(12): launch(i)
        assert threading.active_count() == 1
        assert _weft.build_counts()["compiled"] == 0
        assert _weft.build_counts()["by_source"] == 12
        """,
    )


def test_a_constant_changed_meanwhile_counts(tmp_path):
    run(
        tmp_path,
        """
        for i in range(3): launch(i)
        rest()
        assert 5 in begun()
        SCALE = 3.0
        x = np.float32(0)
        for _ in range(4): x = np.float32(np.sin(x + np.float32(5))) * np.float32(3)
        np.testing.assert_allclose(launch(5), x, rtol=1e-5)
        """,
    )


def test_errors_wait_for_the_launch(tmp_path):
    broken = KERNEL.format(i=5).replace("wp.sin(x[t] + 5.0)", "wp.no_such_function(x[t])")
    kernels = [broken if i == 5 else KERNEL.format(i=i) for i in range(COUNT)]
    run(
        tmp_path,
        """
        for i in range(4): launch(i)
        rest()
        try:
            launch(5)
        except Exception as error:
            assert "no_such_function" in str(error), error
        else:
            raise AssertionError("no error")
        launch(6)
        """,
        kernels,
    )


def test_code_of_the_program_runs_only_for_launches(tmp_path):
    static = KERNEL.format(i=5).replace("SCALE", "wp.static(called())")
    kernels = ["calls = []\n\ndef called():\n    calls.append(threading.current_thread())\n    return 2.0\n"]
    kernels += [static if i == 5 else KERNEL.format(i=i) for i in range(COUNT)]
    run(
        tmp_path,
        """
        for i in range(5): launch(i)
        rest()
        assert not calls
        launch(5)
        assert set(calls) == {threading.main_thread()}
        """,
        kernels,
    )


def test_grids_of_two_dimensions_are_foreseen(tmp_path):
    plane = KERNEL.replace("t = wp.tid()", "t, u = wp.tid()")
    run(
        tmp_path,
        """
        def launch(i):
            wp.launch(kernels[i], dim=(4, 1), inputs=[wp.zeros(4, dtype=float, device="cpu")], device="cpu")

        for i in range(3): launch(i)
        rest()
        before = _weft.build_counts()
        launch(5)
        after = _weft.build_counts()
        assert after["compiled"] == before["compiled"] + 1
        begin = time.perf_counter()
        launch(6)
        print(time.perf_counter() - begin)
        assert _weft.build_counts()["compiled"] == 5
        """,
        [plane.format(i=i) for i in range(COUNT)],
    )


def test_exit_and_fork_while_threads_compile(tmp_path):
    run(tmp_path, "for i in range(3): launch(i)")
    run(
        tmp_path,
        """
        import shutil
        shutil.rmtree(sys.argv[1])
        wp.config.kernel_cache_dir = sys.argv[1]
        for i in range(3): launch(i)
        child = os.fork()
        if child == 0:
            for i in range(12): launch(i)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for i in range(12): launch(i)
        """,
    )


def test_many_threads_launch_at_once(tmp_path):
    run(
        tmp_path,
        """
        failed = []
        def go(first):
            try:
                for i in range(first, 12, 2): launch(i)
            except Exception as error:
                failed.append(error)
        threads = [threading.Thread(target=go, args=(n,)) for n in (0, 1, 0, 1)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failed
        """,
    )
