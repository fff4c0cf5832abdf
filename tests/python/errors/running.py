"""Programs in processes of their own: a crash ends the program, not the test run, and is told from an exception."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import warp as wp


def run_program(folder, text: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program from a file in `folder`; it must not die of a signal."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(file)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
    )
    assert done.returncode >= 0, f"died of signal {-done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def run_cleanly(folder, text: str, timeout: float = 120, **environment: str) -> str:
    """Runs a program that must end well and say nothing on standard error; gives its output."""
    done = run_program(folder, text, timeout, **environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not done.stderr.strip(), done.stderr
    return done.stdout


def kernel_from(body: str, params: str = "x: wp.array(dtype=float)", **names: object) -> wp.Kernel:
    """A kernel called `bad` with this body."""
    source = f"@wp.kernel\ndef bad({params}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    return wp.context.kernel_from_text(source, "bad", {"wp": wp, **names})
