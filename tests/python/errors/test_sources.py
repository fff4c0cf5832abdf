"""Where kernels come from: files, exec, notebook cells, classes, __main__, closures; no stale code ever runs."""

import importlib
import linecache
import sys
import textwrap

import numpy as np
import pytest
from running import run_cleanly

import warp as wp


def run(kernel, n=1, *args):
    x = wp.zeros(n, dtype=float)
    wp.launch(kernel, dim=n, inputs=[x, *args])
    return x.list()


class Cells:
    """A notebook: each cell is compiled under its own name, its text in linecache, all in one namespace."""

    def __init__(self):
        self.namespace = {"__name__": "__main__", "wp": wp}
        self.count = 0

    def run(self, text: str) -> None:
        self.count += 1
        text = textwrap.dedent(text)
        name = f"<ipython-input-{self.count}-{id(self)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), self.namespace)

    def __getitem__(self, name: str):
        return self.namespace[name]


def test_cells_redefine_kernels():
    cells = Cells()
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0\n")
    first = cells["k"]
    assert run(first) == [1.0]
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 2.0\n")
    assert run(cells["k"]) == [2.0]
    assert run(first) == [1.0]  # the object of before still is what it was


def test_cells_redefine_functions():
    """A kernel calls the function that its name means when it is compiled; after a change it is compiled anew."""
    cells = Cells()
    cells.run("@wp.func\ndef f(a: float):\n    return a + 1.0\n")
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = f(1.0)\n")
    assert run(cells["k"]) == [2.0]
    cells.run("@wp.func\ndef f(a: float):\n    return a + 10.0\n")
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = f(1.0)\n")
    assert run(cells["k"]) == [11.0]


def test_cells_redefine_constants():
    cells = Cells()
    cells.run("N = wp.constant(3)\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = float(N)\n")
    assert run(cells["k"]) == [3.0]
    cells.run("N = wp.constant(4)\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = float(N)\n")
    assert run(cells["k"]) == [4.0]


def test_cells_redefine_structs():
    cells = Cells()
    cells.run("@wp.struct\nclass S:\n    a: float\n")
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float), s: S):\n    x[0] = s.a\n")
    s = cells["S"]()
    s.a = 5.0
    assert run(cells["k"], 1, s) == [5.0]
    cells.run("@wp.struct\nclass S:\n    b: wp.vec3\n    a: float\n")
    cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float), s: S):\n    x[0] = s.a + s.b[2]\n")
    t = cells["S"]()
    t.a, t.b = 1.0, wp.vec3(0.0, 0.0, 2.0)
    assert run(cells["k"], 1, t) == [3.0]
    with pytest.raises((RuntimeError, TypeError)):
        run(cells["k"], 1, s)


def test_the_same_cell_run_again():
    cells = Cells()
    for _ in range(3):
        cells.run("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = x[0] + 7.0\n")
        assert run(cells["k"]) == [7.0]


def test_source_given_as_text():
    kernel = wp.context.kernel_from_text(
        """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = offset + 1.0
        """,
        "k",
        {"wp": wp, "offset": 2.0},
    )
    assert run(kernel) == [3.0]


def test_source_that_cannot_be_found():
    """exec without linecache: an error that says what to do, when the text is needed."""
    namespace = {"wp": wp, "__name__": "nowhere"}
    with pytest.raises((RuntimeError, OSError), match="source|linecache"):
        exec(
            compile("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0\n", "<nowhere>", "exec"), namespace
        )
        run(namespace["k"])


def test_a_file_that_changed_on_disk(tmp_path, monkeypatch):
    """A module that is edited and reloaded gets its new kernels."""
    file = tmp_path / "edited_module.py"
    text = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = {}\n"
    file.write_text(text.format("1.0"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("edited_module")
    old = module.k
    assert run(old) == [1.0]
    file.write_text(text.format("2.25"))
    importlib.invalidate_caches()
    importlib.reload(module)
    assert run(module.k) == [2.25]
    assert run(old) == [1.0]


class Solver:
    gain = wp.constant(4.0)

    @wp.func
    def helper(a: float):
        return a * 2.0

    @wp.kernel
    def kernel(x: wp.array(dtype=float)):
        x[0] = Solver.helper(Solver.gain)

    class Inner:
        @wp.kernel
        def kernel(x: wp.array(dtype=float)):
            x[0] = Solver.gain + 0.5


def test_kernels_in_classes():
    assert run(Solver.kernel) == [8.0] and run(Solver().kernel) == [8.0]
    assert run(Solver.Inner.kernel) == [4.5]
    assert Solver.kernel.key == "Solver__kernel" and Solver.Inner.kernel.key == "Solver__Inner__kernel"


def test_keys():
    def make():
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = 1.0

        return k

    assert make().key == "test_keys__locals__make__locals__k"


def test_kernels_in_main(tmp_path):
    out = run_cleanly(
        tmp_path,
        """
        from __future__ import annotations
        import warp as wp
        wp.config.quiet = True
        N = 3
        @wp.struct
        class S:
            a: float
            v: wp.vec3
        @wp.func
        def f(s: S) -> float:
            return s.a + s.v[1]
        @wp.kernel
        def k(s: S, x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = f(s) * float(N)
        if __name__ == "__main__":
            s = S()
            s.a, s.v = 1.0, wp.vec3(0.0, 2.0, 0.0)
            x = wp.zeros(2, dtype=float)
            wp.launch(k, dim=2, inputs=[s, x])
            print(x.list(), k.module.name)
        """,
    )
    assert out == "[9.0, 9.0] __main__\n"


def test_kernels_from_standard_input(tmp_path):
    """Text that Python reads from a pipe has no file: the error is clear; with linecache it works."""
    import subprocess

    kernel = "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0\n"
    use = "x = wp.zeros(1)\nwp.launch(k, dim=1, inputs=[x])\nprint(x.list())\n"
    text = "import warp as wp\nwp.config.quiet = True\n" + kernel + use
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0 and done.stdout == "[1.0]\n") or ("linecache" in done.stderr and done.returncode == 1)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0 and done.stdout == "[1.0]\n") or ("linecache" in done.stderr and done.returncode == 1)


def test_future_annotations_in_closures(tmp_path):
    """Annotations as text are read where the kernel stands: closure variables in them are found."""
    out = run_cleanly(
        tmp_path,
        """
        from __future__ import annotations
        import warp as wp
        wp.config.quiet = True
        def make(n):
            vec = wp.types.vector(length=n, dtype=wp.float32)
            @wp.kernel
            def k(x: wp.array(dtype=vec)):
                v = vec()
                for c in range(n):
                    v[c] = float(c)
                x[0] = v
            return k, vec
        for n in (2, 5):
            k, vec = make(n)
            x = wp.zeros(1, dtype=vec)
            wp.launch(k, dim=1, inputs=[x])
            print(x.numpy()[0].tolist())
        """,
    )
    assert out == "[0.0, 1.0]\n[0.0, 1.0, 2.0, 3.0, 4.0]\n"


def make_adder(amount):
    @wp.kernel
    def add(x: wp.array(dtype=float)):
        x[wp.tid()] = x[wp.tid()] + amount

    return add


def test_closures_capture_their_own_values():
    kernels = [make_adder(float(k)) for k in range(10)]
    for k in (3, 7, 0, 3, 9):
        assert run(kernels[k], 2) == [float(k)] * 2
    kernels.reverse()
    assert [run(k)[0] for k in kernels] == [float(9 - k) for k in range(10)]


def test_closures_over_types_functions_and_structs():
    @wp.func
    def double(a: float):
        return 2.0 * a

    @wp.func
    def negate(a: float):
        return -a

    @wp.struct
    class Local:
        a: float

    def make(f, t):
        @wp.kernel
        def k(x: wp.array(dtype=float), s: Local):
            x[0] = float(t(f(s.a)))

        return k

    s = Local()
    s.a = 1.75
    assert run(make(double, wp.float32), 1, s) == [3.5]
    assert run(make(negate, wp.int32), 1, s) == [-1.0]
    assert run(make(double, wp.int32), 1, s) == [3.0]


def test_a_captured_variable_that_changed_before_the_first_launch():
    """What counts is the value when the kernel is compiled, at its first launch."""
    amount = 1.0

    @wp.kernel
    def add(x: wp.array(dtype=float)):
        x[0] = x[0] + amount

    amount = 5.0
    assert run(add) == [5.0]


def test_a_factory_called_again_after_the_first_kernel_died():
    """No code of a dead closure is found by name or address."""
    for k in range(50):
        assert run(make_adder(float(k) + 0.5)) == [k + 0.5]


def test_closures_in_unique_modules():
    def make(n):
        @wp.kernel(module="unique")
        def k(x: wp.array(dtype=float)):
            x[0] = float(n)

        return k

    one, two, again = make(1), make(2), make(1)
    assert run(one) == [1.0] and run(two) == [2.0] and run(again) == [1.0]
    assert one.module.name != two.module.name and one.module.name.startswith(one.key + "_")


def test_a_variable_that_is_not_set_yet():
    def make():
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = later

        if False:
            later = 1.0
        return k

    with pytest.raises(KeyError, match="later"):
        run(make())


def test_functions_made_by_static_expressions():
    """wp.static may make a function for one call; one that dies at once leaves nothing behind."""

    def power(n):
        @wp.func
        def f(a: float):
            p = float(1.0)
            for _ in range(n):
                p = p * a
            return p

        return f

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        s = float(0.0)
        for n in range(6):
            s = s + wp.static(power(n))(2.0)
        x[0] = s

    assert run(k) == [63.0]


def test_overloads_and_shadowing():
    @wp.func
    def length(a: float):
        return -a

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = length(3.0) + wp.length(wp.vec3(0.0, 3.0, 4.0))

    assert run(k) == [2.0]


def test_decorated_methods_with_decorators_and_comments(tmp_path):
    """Decorator lines with arguments, comments, blank lines, continuation lines and tabs around the def."""
    out = run_cleanly(
        tmp_path,
        '''
        import warp as wp
        wp.config.quiet = True
        if True:
                # a comment
                @wp.kernel(
                    enable_backward=False,
                )

                # another
                def k(
                    x: wp.array(dtype=float),  # the array
                    a: float = 2.0,
                ) -> None:
                    """A docstring with a ' and a \\" in it: def k():"""
                    # x[0] = 5.0
                    i = (
                        wp.tid()
                    )
                    x[i] = a + \\
                        1.0; x[i] = x[i] * 2.0
        x = wp.zeros(2, dtype=float)
        wp.launch(k, dim=2, inputs=[x])
        print(x.list())
        ''',
    )
    assert out == "[6.0, 6.0]\n"


def test_numpy_constants_and_enums():
    import enum

    class Mode(enum.IntEnum):
        FAST = 3

    scale = np.float32(0.5)
    big = np.int64(7)

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = scale + float(big) + float(int(Mode.FAST))

    assert run(k) == [10.5]
