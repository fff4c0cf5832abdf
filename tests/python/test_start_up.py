"""What `import warp` and first launches load of Python, and that the rest is there when a program asks for it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
before = set(sys.modules)
import warp as wp
wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[1]

@wp.kernel
def double(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]

@wp.kernel
def add(x: wp.array(dtype=float), by: float):
    i = wp.tid()
    x[i] = x[i] + by

@wp.kernel
def square(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]

a = wp.array(np.arange(4, dtype=np.float32), dtype=float, device="cpu")
wp.launch(double, dim=4, inputs=[a], device="cpu")
wp.launch(add, dim=4, inputs=[a, 1.0], device="cpu")
wp.launch(square, dim=4, inputs=[a], device="cpu")
b = wp.clone(a)
b.fill_(3.0)
b.assign([1.0, 2.0, 3.0, 4.0])
wp.copy(b, a)
wp.synchronize()
assert b.numpy().tolist() == [1.0, 9.0, 25.0, 49.0]
loaded = {name for name in set(sys.modules) - before if not name.startswith("warp.")}
ours = {name.removeprefix("warp._src.") for name in set(sys.modules) - before if name.startswith("warp._src.")}
rooms = {name: sys.modules["warp._src." + name] for name in ours}
files = {name for name, module in rooms.items() if getattr(module, "__file__", None)}
"""

RARE = {
    "algorithms.elementwise",
    "api.native_core",
    "arrays.indexed_array",
    "gradients.tape",
    "gradients.tape_record",
    "kernels.custom_functions",
    "kernels.own_kernels",
    "session.memory_report",
}


def run(folder: Path, text: str) -> str:
    program = folder / "program.py"
    program.write_text(PROGRAM + textwrap.dedent(text))
    environment = {**os.environ, "WARP_CACHE_PATH": str(folder / "unused")}
    ran = subprocess.run(
        [sys.executable, str(program), str(folder / "cache")], capture_output=True, text=True, timeout=300, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_rare_modules_wait(tmp_path: Path) -> None:
    text = f"assert not files & {RARE!r}, sorted(files & {RARE!r})\nassert 'warp._weft' in sys.modules"
    run(tmp_path, text)


def test_threads_are_only_loaded_to_compile_ahead(tmp_path: Path) -> None:
    run(tmp_path, "")  # cold: kernels behind the second one may be compiled by a thread
    run(tmp_path, "assert 'kernels.compile_ahead' not in files\nassert 'threading' not in loaded, sorted(loaded)")


@pytest.mark.parametrize(
    "text",
    [
        """
        a.requires_grad = True
        b.requires_grad = True
        with wp.Tape() as tape:
            wp.launch(double, dim=4, inputs=[a], device="cpu")
            wp.copy(b, a)
        tape.backward(grads={b: wp.full(4, 1.0, dtype=float, device="cpu")})
        assert a.grad.numpy().tolist() == [2.0] * 4
        assert tape is not None and wp.tape.Tape is wp.Tape and wp._src.tape.Tape is wp.Tape
        """,
        """
        import warp.tape
        from warp._src.tape import Tape
        from warp import Tape as own
        assert Tape is own is warp.tape.Tape is wp.Tape
        assert wp.context.runtime is None or wp.context.runtime.tape is None
        """,
        """
        picked = wp.indexedarray(a, [wp.array([3, 0], dtype=int, device="cpu")])
        assert wp.clone(picked).numpy().tolist() == [49.0, 1.0]
        assert wp.zeros_like(picked).shape == (2,)
        wp.copy(picked, wp.array([5.0, 6.0], dtype=float, device="cpu"))
        assert a.numpy().tolist() == [6.0, 9.0, 25.0, 5.0]
        assert wp.indexedarray2d is not None and wp.types.indexedarray is wp.indexedarray
        """,
        """
        picked = a[wp.array([2, 1], dtype=int, device="cpu")]
        assert type(picked) is wp.indexedarray
        try:
            wp.zeros_like(wp.indexedarray)
        except TypeError as error:
            assert "expected a wp.array" in str(error)
        else:
            raise AssertionError("a class was taken for an array")
        """,
        """
        wp.init()
        core = wp.context.runtime.core
        assert core is wp.context.runtime.core and core.wp_is_cuda_enabled()
        assert wp.context.runtime.is_cuda_enabled is True
        """,
        """
        wp.config.track_memory = True
        with wp.ScopedMemoryTracker("here", print=False) as tracker:
            wp.zeros(100, dtype=float, device="cpu")
        assert "here" in tracker.text()
        """,
        """
        @wp.func
        def cube(x: float):
            return x * x * x

        @wp.func_grad(cube)
        def adj_cube(x: float, adj: float):
            wp.adjoint[x] += 100.0 * adj

        @wp.kernel
        def cubes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            y[0] = cube(x[0])

        x = wp.ones(1, dtype=float, device="cpu", requires_grad=True)
        y = wp.zeros(1, dtype=float, device="cpu", requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(cubes, dim=1, inputs=[x], outputs=[y], device="cpu")
        tape.backward(loss=y)
        assert x.grad.numpy()[0] == 100.0
        """,
    ],
    ids=["tape", "tape_paths", "indexed", "index_by_array", "core", "memory", "gradient_function"],
)
def test_what_waits_is_there_when_asked_for(tmp_path: Path, text: str) -> None:
    run(tmp_path, text)
