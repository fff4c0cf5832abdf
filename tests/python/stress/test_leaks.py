"""Nothing grows: launches, arrays and kernel definitions hold memory constant after a warm-up.

Each form runs in a process of its own, so that one's memory does not hide another's. The bounds leave room for the
allocators and none for what was made: 2,000 kernels that stayed would hold more than 30 MiB, 100,000 arrays or launches
more than 6 MiB at 64 bytes each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from measuring import FULL

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc"),
    pytest.mark.skipif("WEFT_SANITIZED" in os.environ, reason="a sanitizer keeps memory that was given back"),
]

HEADER = """
import gc, linecache, sys, weakref
from typing import Any
import numpy as np
import warp as wp
from measuring import growth_kib, resident_kib
wp.config.quiet = True
wp.config.cache_kernels = False
x = wp.zeros(8, dtype=float)
numbers = np.zeros(8, dtype=np.float32)
indices = wp.array([1, 2], dtype=int)

@wp.kernel
def add(x: wp.array(dtype=float), v: float):
    i = wp.tid()
    x[i] = x[i] + v

@wp.struct
class Pair:
    a: float
    values: wp.array(dtype=float)

def step(k):
"""

# What happens once per step; a few hundred thousand of them must leave nothing.
LIGHT = {
    "launch": "wp.launch(add, dim=8, inputs=[x, 1.0])",
    "launch_numpy": "wp.launch(add, dim=8, inputs=[numbers, 1.0])",
    "launch_keywords": "wp.launch(kernel=add, dim=(8,), inputs=[x], outputs=[2.0], device='cpu')",
    "record": "c = wp.launch(add, dim=8, inputs=[x, 1.0], record_cmd=True); c.set_param_at_index(1, 2.0); c.launch()",
    "array": "a = wp.zeros(100 + k % 7, dtype=float)",
    "array_large": "a = wp.empty(300_000, dtype=float)",
    "array_grad": "a = wp.zeros(16, dtype=float, requires_grad=True); a.grad.zero_()",
    "array_from_numpy": "a = wp.array(numbers); b = wp.array(numbers, copy=False)",
    "array_views": "a = wp.zeros((4, 8), dtype=float); b = a[1:3]; c = b[0]; d = a.reshape((8, 4)); e = a.numpy()",
    "array_elements": "x[k % 8] = x[(k + 1) % 8] * 0.5",
    "array_copies": "a = wp.clone(x); wp.copy(a, x); a.fill_(1.0); a.assign(numbers); a.list()",
    "array_interface": "np.asarray(x); x.__array_interface__; np.from_dlpack(x)",
    "map": "wp.map(wp.sin, x); y = x + x; z = wp.map(lambda v: v * 2.0, x)",
    "indexed_array": "a = wp.indexedarray(x, [indices]); a.numpy()",
    "struct": "s = Pair(); s.a = float(k); s.values = x; t = wp.array([s, s], dtype=Pair)",
    "values": "v = wp.vec3(1.0, 2.0, float(k)); m = wp.mat33(*range(9)) * v; wp.normalize(v); wp.dot(v, m)",
    "failed_launch": """
        try:
            wp.launch(add, dim=8, inputs=[x])
        except RuntimeError:
            pass
        """,
    "failed_array": """
        try:
            wp.array(numbers, dtype=wp.vec3)
        except RuntimeError:
            pass
        """,
}

# A kernel definition per step, compiled and launched: none must stay once it is out of sight.
KERNELS = {
    "closure": """
        def make(c):
            @wp.kernel
            def made(x: wp.array(dtype=float)):
                i = wp.tid()
                x[i] = x[i] + c
            return made
        wp.launch(make(float(k)), dim=8, inputs=[x])
        """,
    "closure_function": """
        @wp.func
        def f(a: float):
            return a + float(k)
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = f(x[i])
        wp.launch(made, dim=8, inputs=[x])
        """,
    "unique": """
        @wp.kernel(module="unique")
        def made(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = x[i] + float(k)
        wp.launch(made, dim=8, inputs=[x])
        """,
    "text": """
        source = f"@wp.kernel\\ndef made(x: wp.array(dtype=float)):\\n    x[wp.tid()] = {float(k)}\\n"
        wp.launch(wp.context.kernel_from_text(source, "made", {"wp": wp}), dim=8, inputs=[x])
        """,
    "exec": """
        source = f"@wp.func\\ndef f(a: float):\\n    return a + {float(k)}\\n"
        source += "@wp.kernel\\ndef made(x: wp.array(dtype=float)):\\n    x[wp.tid()] = f(2.0)\\n"
        linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
        namespace = {"wp": wp, "__name__": "__main__"}
        exec(compile(source, "<cell>", "exec"), namespace)
        namespace["recorded"] = wp.launch(namespace["made"], dim=8, inputs=[x], record_cmd=True)
        namespace["recorded"].launch()
        """,
    "generic": """
        @wp.kernel
        def made(x: wp.array(dtype=Any), v: Any):
            i = wp.tid()
            x[i] = x[i] + v + type(v)(k)
        wp.launch(made, dim=8, inputs=[x, 1.0])
        """,
    "struct": """
        @wp.struct
        class Local:
            a: float
            v: wp.vec3
        @wp.kernel
        def made(s: Local, x: wp.array(dtype=float)):
            x[wp.tid()] = s.a + float(k)
        wp.launch(made, dim=8, inputs=[Local(), x])
        """,
    "static": """
        table = [float(k), 2.0]
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid()] = wp.static(table[0] + table[1])
        wp.launch(made, dim=8, inputs=[x])
        """,
    "self_reference": """
        class Owner:
            pass
        owner = Owner()
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid()] = float(k) + wp.static(owner.offset)
        owner.offset, owner.kernel = 1.0, made
        wp.launch(made, dim=8, inputs=[x])
        """,
    "error": """
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid()] = nothing_of_this_name
        try:
            wp.launch(made, dim=8, inputs=[x])
        except KeyError:
            pass
        """,
    "debug": """
        wp.config.mode = "debug"
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid() + 100] = float(k)
        try:
            wp.launch(made, dim=8, inputs=[x])
        except RuntimeError:
            pass
        """,
    "never_launched": """
        @wp.func
        def f(a: float):
            return a
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid()] = f(float(k))
        """,
    "same_again": """
        @wp.kernel
        def made(x: wp.array(dtype=float)):
            x[wp.tid()] = 1.0
        wp.launch(made, dim=8, inputs=[x])
        """,
}


def growth(folder, body: str, count: int, warm_up: int) -> int:
    """Runs the steps in a process of its own; KiB that it grew."""
    text = HEADER + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    file = folder / "program.py"
    file.write_text(text + f"\n\nprint(growth_kib(step, {count}, {warm_up}))\n")
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("form", LIGHT)
def test_launches_and_arrays(tmp_path, form):
    count = 100_000
    if form in ("map", "values", "struct", "failed_launch", "failed_array") and not FULL:
        count = 20_000
    assert growth(tmp_path, LIGHT[form], count, 2_000) < 1024


@pytest.mark.parametrize("form", KERNELS)
def test_kernel_definitions(tmp_path, form):
    assert growth(tmp_path, KERNELS[form], 2_000 if FULL else 300, 100) < (4096 if FULL else 2048)


def test_two_thousand_definitions(tmp_path):
    """The form that programs use most, in full at every run."""
    assert growth(tmp_path, KERNELS["same_again"].replace("1.0", "float(k % 50)"), 2_000, 200) < 3072


def test_dead_kernels_are_dead(tmp_path):
    """Kernels, functions and their captures are collected; no registry, cache or cycle keeps them."""
    file = tmp_path / "program.py"
    file.write_text(
        HEADER
        + """    pass

class Captured:
    value = 3.0

def make():
    captured = Captured()
    @wp.func
    def f(a: float):
        return a + wp.static(captured.value)
    @wp.kernel
    def made(x: wp.array(dtype=float)):
        x[wp.tid()] = f(1.0)
    captured.kernel = made
    wp.launch(made, dim=8, inputs=[x])
    recorded = wp.launch(made, dim=8, inputs=[x], record_cmd=True)
    captured.recorded = recorded
    recorded.launch()
    return [weakref.ref(o) for o in (captured, made, f)]

first = make()
second = make()  # takes the place of the first in its module
gc.collect()
print([r() is None for r in first])
"""
    )
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout == "[True, True, True]\n", done.stdout + done.stderr
