"""`python -m warp`: runs programs as Python does and tells what their kernels took; `wp.kernel_report`, which it reads."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import warp as wp
from warp._src.session.kernel_report import STAGES

KERNELS = """
import sys
import warp as wp

wp.config.quiet = True

@wp.kernel
def small(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0 * x[wp.tid()]

@wp.kernel
def large(x: wp.array(dtype=float), y: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    m = wp.mat33(x[i], 1.0, 2.0, 0.5, 3.0, -1.0, 2.0, 1.0, 4.0)
    for k in range(5):
        m = wp.inverse(m) @ wp.transpose(m) + m
        if m[0, 0] > 10.0:
            m = m * wp.noise(wp.rand_init(1, i), x[i])
        m = wp.quat_to_matrix(wp.quat_from_matrix(m)) + m
    y[i] = m

def step(times=1, device="cpu"):
    x, y = wp.zeros(8, dtype=float, device=device), wp.zeros(8, dtype=wp.mat33, device=device)
    for _ in range(times):
        wp.launch(small, dim=8, inputs=[x], device=device)
        wp.launch(large, dim=8, inputs=[x, y], device=device)
"""


def python(*arguments, at=None, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=at,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(wp.__file__)), **environment},
    )  # fmt: skip


def under_us(folder, text, *options, arguments=(), code=0, **environment):
    """Runs a program from an empty cache; what it printed, the table, and the rows for tools."""
    (folder / "kernels_here.py").write_text(KERNELS)
    program = folder / "program.py"
    program.write_text("from kernels_here import *\n" + textwrap.dedent(text))
    rows = folder / "rows.json"
    cache = () if "--cache-dir" in options else ("--cache-dir", folder / "cache")
    done = python("-m", "warp", *cache, *options, "--json", rows, program, *arguments, at=folder, **environment)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr, json.loads(rows.read_text())


def versions(found):
    return sorted((row["name"], row["version"], row["source"]) for row in found["kernels"])


def test_table_of_a_program(tmp_path):
    shown, table, found = under_us(tmp_path, "step(3); print('ran')", "--wait")
    assert shown == "ran\n"
    assert versions(found) == [("large", "first", "compiled"), ("large", "full", "compiled"), ("small", "full", "compiled")]
    rows = found["kernels"]
    assert [row["total"] for row in rows] == sorted((row["total"] for row in rows), reverse=True)
    for row in rows:
        assert row["device"] == "cpu" and not row["adjoint"] and row["operations"] > 0 and row["lanes"] >= 1
        assert row["place"] in (f"{tmp_path}/kernels_here.py:{line}" for line in (8, 12))
        assert row["block"] is row["registers"] is row["local_bytes"] is row["shared_bytes"] is None and row["assembler"] == 0.0
        assert row["code_generation"] > 0.0 and abs(row["total"] - sum(row[s] for s in STAGES)) < 1e-6
    assert next(row for row in rows if row["version"] == "first")["lanes"] == 1
    assert found["sums"]["builds"] == 3 and found["first_versions_left"] == 0
    assert abs(found["sums"]["total"] - sum(row["total"] for row in rows)) < 1e-6
    lines = table.strip().splitlines()
    assert lines[0].split()[:5] == ["kernel", "where", "device", "version", "lanes"] and "ptxas" not in lines[0]
    assert [line.split()[0] for line in lines[1:5]] == [*(row["name"] for row in rows), "all"]
    assert "compiled: 1 first versions, 2 full ones" in table

    _, table, found = under_us(tmp_path, "step(1)", "--top", "1")
    assert {row["source"] for row in found["kernels"]} == {"cache"} and len(found["kernels"]) == 2
    assert "… and 1 more" in table and "from the cache" in table


def test_versions_that_nobody_waited_for(tmp_path):
    _, table, found = under_us(tmp_path, "step(1)")
    assert versions(found) == [("large", "first", "compiled"), ("small", "full", "compiled")]
    assert found["first_versions_left"] == 1 and "left with their first version: 1 (--wait" in table
    _, _, found = under_us(tmp_path, "step(1); wp.force_load()", "--clear-cache")
    assert ("large", "full", "compiled") in versions(found) and found["first_versions_left"] == 0


def test_options_steer(tmp_path):
    text = "step(2); print(wp.config.first_versions, wp.config.cpu_lanes, wp.config.cpu_threads, wp.config.cache_kernels)"
    shown, _, found = under_us(tmp_path, text, "--first-versions", "off", "--lanes=4", "--threads", "2", "--no-cache")
    assert shown == "False 4 2 False\n"
    assert versions(found) == [("large", "full", "compiled"), ("small", "full", "compiled")]
    assert {row["lanes"] for row in found["kernels"]} == {4} and not list((tmp_path / "cache").rglob("*.wo*"))
    shown, _, found = under_us(tmp_path, "step(2); print(wp.config.kernel_cache_dir)", "--cache-dir", tmp_path / "other")
    assert shown == f"{tmp_path / 'other'}\n" and (tmp_path / "other").is_dir()
    assert found["sums"]["from_cache"] == 0
    _, _, found = under_us(tmp_path, "step(1)", "--cache-dir", tmp_path / "other")
    assert found["sums"]["from_cache"] == 2
    _, _, found = under_us(tmp_path, "step(1)", "--clear-cache", "--cache-dir", tmp_path / "other")
    assert found["sums"]["from_cache"] == 0


def test_adjoints_and_shared_code(tmp_path):
    text = """
        def make():
            @wp.kernel
            def made(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                y[wp.tid()] = wp.sin(x[wp.tid()])
            return made

        x, y = (wp.zeros(8, dtype=float, requires_grad=True, device="cpu") for _ in range(2))
        for kernel in (make(), make()):
            with wp.Tape() as tape:
                wp.launch(kernel, dim=8, inputs=[x, y], device="cpu")
        y.grad.fill_(1.0)
        tape.backward()
    """
    _, table, found = under_us(tmp_path, text)
    mine = {(row["adjoint"], row["source"]) for row in found["kernels"] if row["name"] == "made"}
    assert mine == {(False, "compiled"), (False, "process"), (True, "compiled")}
    assert "made (adjoint)" in table and "full, shared" in table


def test_program_is_main(tmp_path):
    """Names, arguments, the search path and what other modules see are those of a program that runs by itself."""
    text = """
        import __main__, os, pickle, sys
        class Mine:
            pass
        assert __name__ == "__main__" and __spec__ is None and __package__ is None and __doc__ is None
        assert __main__.Mine is Mine and pickle.loads(pickle.dumps(Mine)) is Mine
        print(sys.argv, [os.path.realpath(sys.path[0])], __file__)
    """
    (tmp_path / "folder").mkdir()
    program = tmp_path / "folder" / "program.py"
    program.write_text(textwrap.dedent(text))
    for name in (program, "folder/program.py"):
        plain = python(name, "--top", "-m", "x", at=tmp_path)
        ours = python("-m", "warp", name, "--top", "-m", "x", at=tmp_path)
        assert plain.returncode == ours.returncode == 0, ours.stderr
        assert plain.stdout == ours.stdout and plain.stderr == ""
        assert "no kernels were compiled" in ours.stderr


def test_modules_folders_and_packages(tmp_path):
    for folder in ("pack", "plain"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__main__.py").write_text("import sys; print(__name__, __package__, sys.argv, __spec__.name)")
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "part.py").write_text("from . import __name__ as n; import sys; print(n, __name__, sys.argv, sys.path[0])")
    for what in (["-m", "pack", "a", "-b"], ["-m", "pack.part", "--", "--lanes"], ["plain", "c"]):
        plain, ours = python(*what, at=tmp_path), python("-m", "warp", *what, at=tmp_path)
        assert (plain.stdout, plain.returncode) == (ours.stdout, ours.returncode) and plain.returncode == 0, ours.stderr
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "__init__.py").write_text("")
    for what in (["-m", "nothing"], ["-m", "nothing.inside"], ["-m", "none"], ["nothing.py"], ["none"]):
        plain, ours = python(*what, at=tmp_path), python("-m", "warp", *what, at=tmp_path)
        assert plain.returncode == ours.returncode != 0
        said = plain.stderr.splitlines()[0].partition(": ")[2].split(" (")[0]  # without the interpreter's path
        assert ours.stderr.partition(": ")[2].startswith(said), (plain.stderr, ours.stderr)


@pytest.mark.parametrize(
    "end",
    ["raise ValueError('no')", "sys.exit(7)", "sys.exit('words')", "def", "raise SystemExit", "import atexit; atexit.register(print, 'end')"],
)
def test_ends(tmp_path, end):
    """Exit codes and tracebacks are the program's own; the table comes behind them."""
    program = tmp_path / "program.py"
    program.write_text(f"import sys\ndef f():\n    exec('1')\n    {end if end != 'def' else 'pass'}\nf()\n{'def' if end == 'def' else ''}\n")
    plain, ours = python(program), python("-m", "warp", program)
    assert (plain.returncode, plain.stdout) == (ours.returncode, ours.stdout)
    assert ours.stderr.startswith(plain.stderr) and "no kernels were compiled" in ours.stderr


def test_interrupts(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import time\nprint('begun', flush=True)\ntime.sleep(60)\n")
    ended = []
    for how in ([], ["-m", "warp"]):
        child = subprocess.Popen([sys.executable, *how, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        ended.append((child.communicate(timeout=60)[1], child.returncode))
    assert ended[0][1] == ended[1][1] and ended[1][0].startswith(ended[0][0]) and "KeyboardInterrupt" in ended[0][0]


def test_children_tell_nothing(tmp_path):
    text = """
        import os
        step(2)  # the full version is being made, maybe, and writes down that it is done
        child = os.fork()
        if child == 0:
            step(2)
            assert all(row["after_first"] or row["source"] == "process" for row in wp.kernel_report())
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    shown, table, _ = under_us(tmp_path, text)
    assert shown == "3\n" and table.count("compiled:") == 1


def test_mistakes_and_help():
    for arguments, words in (
        (["--lanes", "x"], "a number, 0 or more, not 'x'"),
        (["--first-versions", "maybe", "a.py"], "invalid choice"),
        (["--top", "3"], "name one"),
        (["-m"], "-m needs the name"),
        (["--lane", "3", "a.py"], "unrecognized arguments"),
    ):
        done = python("-m", "warp", *arguments)
        assert done.returncode == 2 and words in done.stderr, done.stderr
    shown = python("-m", "warp", "--help").stdout
    for word in ("--wait", "--json", "--first-versions", "--cache-dir", "wp.config.cpu_lanes"):
        assert word in shown


def test_report_in_a_program(tmp_path):
    @wp.kernel(module="unique")
    def named_for_a_report(x: wp.array(dtype=float)):
        x[wp.tid()] = wp.cos(x[wp.tid()]) + 17.25

    if not wp.config.record_kernels and not wp._weft.recorded_kernels():
        with pytest.raises(RuntimeError, match="record_kernels = True"):
            wp.kernel_report()
    before = wp._weft.cache_folder()
    wp._weft.set_cache_folder(str(tmp_path))
    wp.config.record_kernels = True
    try:
        assert wp.kernel_report() == []
        x = wp.zeros(4, dtype=float, device="cpu")
        wp.launch(named_for_a_report, dim=4, inputs=[x], device="cpu")
        wp.launch(named_for_a_report, dim=4, inputs=[x], device="cpu")
        (row,) = wp.kernel_report()
    finally:
        wp.config.record_kernels = False
        wp._weft.set_cache_folder(before)
    assert row["place"].startswith(__file__ + ":") and row["operations"] > 0
    assert row["name"] == "named_for_a_report" and row["device"] == "cpu" and row["version"] == "full"
    assert wp.kernel_report() == [row]  # it stays
    wp.launch(named_for_a_report, dim=4, inputs=[wp.zeros(8, dtype=float, device="cpu")[::2]], device="cpu")
    assert wp.kernel_report() == [row]


FAKE = os.path.normpath(os.path.join(os.environ.get("WEFT_EXTENSION_DIR", ""), "..", "..", "fake_cuda"))
needs_fake = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)


@needs_fake
@pytest.mark.parametrize("late", [False, True])
def test_gpus(tmp_path, late):
    text = f"""
        wp._weft.set_late_launches({late}, 1, 2)
        step(2, "cuda:0"); step(1)
    """
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    _, table, found = under_us(
        tmp_path, text, LD_LIBRARY_PATH=path, CUDA_VISIBLE_DEVICES="", WEFT_FAKE_CUDA_RUNS="1",
    )  # fmt: skip
    rows = [row for row in found["kernels"] if row["device"] == "cuda:0"]
    assert sorted(row["name"] for row in rows) == ["large", "small"] and len(found["kernels"]) == 4
    for row in rows:
        assert row["lanes"] is None and row["block"] >= 32 and row["registers"] > 0 and row["operations"] > 0
        assert row["shared_bytes"] == 0
        assert row["front_end"] > 0.0 and row["code_generation"] > 0.0 and row["version"] == "full"
    head = table.strip().splitlines()[0].split()
    assert head[4:9] == ["lanes", "block", "regs", "shared", "ops"] and "ptxas" in head


@needs_fake
@pytest.mark.parametrize("side", [32, 128])
def test_shared_memory_of_blocks(tmp_path, side):
    """What the code has by itself, and what launches ask for above 48 KB."""
    text = f"""
        @wp.kernel(enable_backward=False)
        def turned(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
            i = wp.tid()
            t = wp.tile_load(a, shape=({side}, {side}), storage="shared")
            wp.tile_store(b, wp.tile_transpose(t))
        a = wp.ones(({side}, {side}), dtype=float, device="cuda:0")
        wp.launch_tiled(turned, dim=1, inputs=[a, wp.zeros_like(a)], block_dim=64)
        wp.synchronize()
    """
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    _, table, found = under_us(
        tmp_path, text, LD_LIBRARY_PATH=path, CUDA_VISIBLE_DEVICES="", WEFT_FAKE_CUDA_RUNS="1",
    )  # fmt: skip
    (row,) = (row for row in found["kernels"] if row["name"] == "turned")
    assert row["block"] == 64 and 4 * side * side <= row["shared_bytes"] < 5 * side * side
    assert str(row["shared_bytes"]) in table.split()
