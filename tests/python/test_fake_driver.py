"""Programs on the fake driver (tests/fake_cuda), on any machine: every call of the driver fails once."""

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


def run(*arguments: str, code: str | None = None, **environment: str) -> str:
    """What a program prints that finds the fake driver."""
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    command = [sys.executable, "-c", code] if code else [sys.executable, f"{HERE}/fake_driver_program.py", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, "LD_LIBRARY_PATH": path, "CUDA_VISIBLE_DEVICES": "", **environment},
        capture_output=True,
        text=True,
        timeout=900 if os.environ.get("WEFT_SOAK") else 300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def run_with(module: str, statements: str, folder) -> None:
    """Statements that use a module of this folder, in a program on a GPU whose kernels run; `folder` is theirs to write to."""
    head = ["import pathlib, sys", f"sys.path.insert(0, {HERE!r})", "import warp as wp", "wp.config.quiet = True"]
    lines = [*head, f"import {module}", f"folder = pathlib.Path({str(folder)!r})", statements, 'print("done")']
    assert run(code="\n".join(lines), WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(folder)).endswith("done\n")


@pytest.mark.parametrize("part", ["arrays", "streams", "launches", "graphs", "one_by_one", "settings", "algorithms", "files", "trees", "grids"])
def test_every_call_may_fail(part):
    assert "memory lost by []" in run("every", "999", part)


def test_every_call_of_a_volume_may_fail():
    assert "memory lost by []" in run("every", "999", "volumes", WEFT_FAKE_CUDA_RUNS="1")


def test_a_volume_without_memory_is_as_before():
    assert run("keep_volume", WEFT_FAKE_CUDA_RUNS="1").endswith("done\n")


@pytest.mark.parametrize("part", ["arrays", "graphs", "trees"])
def test_memory_may_run_out_at_every_call(part):
    assert "memory lost by []" in run("every", "2", part)


@pytest.mark.parametrize(
    "what", ["start", "compile", "hang", "memory", "contexts", "refused", "repeated", "order", "messages", "checks", "keep"]
)
def test_programs(what):
    assert run(what).endswith("done\n")


def test_an_older_driver():
    assert run("old", WEFT_FAKE_CUDA_VERSION="12000").endswith("done\n")


ASK = "import warp as wp; wp.config.quiet = True; print(len(wp.get_cuda_devices()), flush=True); wp.zeros(3, device='cuda')"


@pytest.mark.parametrize(
    "environment, text",
    [
        ({"WEFT_FAKE_CUDA_VERSION": "11020"}, "supports CUDA 11.2, 11.4 or newer is needed; update the NVIDIA driver"),
        ({"WEFT_FAKE_CUDA_DEVICES": "0"}, "there is no CUDA device"),
        ({"WEFT_FAKE_CUDA_FAIL_AT": "2", "WEFT_FAKE_CUDA_CODE": "100"}, "there is no CUDA device"),
        ({"WEFT_FAKE_CUDA_FAIL_AT": "2", "WEFT_FAKE_CUDA_CODE": "803"}, "does not start: cuInit gave"),
    ],
)
def test_drivers_that_do_not_serve(environment, text):
    program = f"try:\n    {ASK}\nexcept RuntimeError as error:\n    print(error)"
    out = run(code=program.replace("; ", "\n    "), **environment)
    assert out.startswith("0\n") and text in out and "use device='cpu'" in out


def test_a_driver_that_shows_no_device():
    """As with CUDA_VISIBLE_DEVICES= on a machine with GPUs: the driver has a version, and everything runs on the CPU."""
    tests = f"{HERE}/test_devices.py", f"{HERE}/test_api_rows.py"
    only = "names_of_devices or (test_row and (warp.get_ or _available or conditional))"
    program = f"import pytest; raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', '{only}', *{tests}]))"
    out = run(code=program, WEFT_FAKE_CUDA_DEVICES="0")
    assert " passed" in out and "failed" not in out
    ask = "import warp as wp; wp.config.quiet = True; print(wp.get_cuda_driver_version())"
    assert run(code=ask, WEFT_FAKE_CUDA_DEVICES="0") == "(13, 0)\n"


LIBRARY_KERNELS = """
import numpy as np, warp as wp
wp.config.quiet = True
numbers = (np.arange(72, dtype=np.float32) * 7 % 11).reshape(-1, 3)
with wp.ScopedDevice("cuda:0"):
    points, indices = wp.array(numbers, dtype=wp.vec3), wp.array(np.arange(24), dtype=int)
    lone = wp.array(np.arange(3), dtype=int)
    groups = wp.array(np.arange(8) % 2, dtype=int)
    for faces, group in ((indices, groups), (indices, None), (lone, wp.zeros(1, dtype=int))):
        wp.Mesh(points, faces, support_winding_number=True, groups=group).refit()
    wp.Bvh(points, wp.clone(points)).refit()
wp.synchronize()
print("built", wp._weft.cuda_ptx_compiler()[1])
"""


@pytest.mark.skipif("WEFT_SANITIZED" in os.environ, reason="builds with sanitizers have none")
def test_trees_are_built_by_kernels_that_came_with_the_library(tmp_path):
    """In every form that launches ask for: no compiler runs but the driver's, which the fake one writes down."""
    built, linked = run(code=LIBRARY_KERNELS, WARP_CACHE_PATH=str(tmp_path)).split()
    assert built == "built"
    if linked == "True":
        pytest.skip("nvPTXCompiler is linked in: the fake driver is not asked for machine code")
    texts = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    made = {text for text in texts if b"machine code of" in text and b".entry" in text}
    assert any(b"gather_moments" in text for text in made) and any(b"lay_out_groups" in text for text in made)
    assert all(b".target sm_70" in text for text in made)
