"""Threads' numbers on the CPU: kernels that read tid() are told that it fits into 31 bits, which launches make sure of; others, which
may have more threads, are not. Seen in the code that LLVM gets."""

import os
import shutil
import subprocess

import pytest

import warp as wp

WEFTC = os.environ.get("WEFTC") or shutil.which("weftc")
SOURCE = """
import warp as wp

@wp.kernel
def numbered(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0

@wp.kernel
def counted(x: wp.array(dtype=float)):
    wp.atomic_add(x, 0, 1.0)
"""


@pytest.mark.skipif(WEFTC is None, reason="needs weftc")
@pytest.mark.parametrize("kernel, told", [("numbered", True), ("counted", False)])
def test_what_llvm_is_told(tmp_path, kernel: str, told: bool) -> None:
    source = tmp_path / "threads.py"
    source.write_text(SOURCE)
    command = [WEFTC, str(source), "--kernel", kernel, "--emit=llvm", "--lanes=1"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert ("icmp ult i64" in text and "call void @llvm.assume" in text) == told


@wp.kernel
def numbered(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


def test_more_threads_than_numbers_are_refused() -> None:
    with pytest.raises(Exception, match="reads tid"):
        wp.launch(numbered, 1 << 31, [wp.zeros(1, dtype=float, device="cpu")], device="cpu")
