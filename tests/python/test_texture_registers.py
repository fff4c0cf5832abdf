"""Registers of GPU kernels that sample textures: adjoints call a large function for textures that are not plain, and must not have its
registers all the time. Seen in the PTX, which needs no GPU."""

import os
import shutil
import subprocess

import pytest

WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")
SAMPLE = """
import warp as wp

@wp.kernel
def sample(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), out: wp.array(dtype=wp.vec4)):
    n = wp.tid()
    out[n] = wp.texture_sample(tex, places[n], dtype=wp.vec4)

@wp.kernel
def march(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), steps: int, out: wp.array(dtype=wp.vec4)):
    n = wp.tid()
    total = wp.vec4()
    for k in range(steps):
        total += wp.texture_sample(tex, places[n] * float(k), dtype=wp.vec4)
    out[n] = total
"""


def ptx_of(tmp_path, kernel: str, *options: str) -> str:
    source = tmp_path / "sample.py"
    source.write_text(SAMPLE)
    command = [WEFTC, str(source), "--kernel", kernel, "--emit=ptx", "--target=sm_90", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
def test_adjoints_of_samples_are_held_to_few_registers(tmp_path) -> None:
    adjoint = ptx_of(tmp_path, "sample", "--adjoint")
    entry = adjoint[adjoint.index(".visible .entry") :]
    assert ".maxnreg 40" in entry[: entry.index("{")]
    # Four texels around a place for plain textures, four for the others of one level; two loops, by alignment.
    assert entry[: entry.index("\n}\n")].count("tex.2d.v4.f32.s32") == 16


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
@pytest.mark.parametrize("kernel, options", [("sample", ()), ("march", ()), ("march", ("--adjoint",))])
def test_others_have_what_they_need(tmp_path, kernel: str, options: tuple) -> None:
    assert ".maxnreg" not in ptx_of(tmp_path, kernel, *options)
