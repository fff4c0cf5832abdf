"""The text of kernels and functions is that of the time when they were declared."""

from __future__ import annotations

import importlib
import sys
import textwrap

import numpy as np
import pytest
import warp as wp

TEXT = """
import warp as wp

@wp.func
def change(x: float):
    return x + {number}.0

@wp.kernel
def apply(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = change(x[i])

def make(factor):
    @wp.kernel
    def scale(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * factor * {number}.0
    return scale
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a module and imports it, or imports it again."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"declared_{tmp_path.name}".replace("-", "_")
    path = tmp_path / f"{name}.py"

    def write(text: str) -> None:
        path.write_text(textwrap.dedent(text))
        importlib.invalidate_caches()

    def load(text: str):
        write(text)
        module = sys.modules.get(name)
        return importlib.reload(module) if module is not None else importlib.import_module(name)

    load.write, load.path = write, path
    yield load
    sys.modules.pop(name, None)


def run(kernel) -> float:
    x = wp.full(3, 1.0, dtype=float)
    wp.launch(kernel, 3, [x])
    assert np.all(x.numpy() == x.numpy()[0])
    return float(x.numpy()[0])


def test_a_file_that_is_edited_after_its_import(written, device):
    module = written(TEXT.format(number=1))
    written.write("# a line more\n\n\n" + TEXT.format(number=7))
    assert run(module.apply) == 2.0
    assert run(module.make(3.0)) == 3.0  # declared now, but it stands in what was imported


def test_a_file_that_is_deleted_after_its_import(written, device):
    module = written(TEXT.format(number=2))
    written.path.unlink()
    assert run(module.apply) == 3.0
    assert run(module.make(3.0)) == 6.0


def test_what_is_imported_again_is_the_new_text(written, device):
    module = written(TEXT.format(number=1))
    old = module.apply
    module = written("# moved\n" + TEXT.format(number=23))
    assert run(module.apply) == 24.0
    assert run(module.make(1.0)) == 23.0
    del old


def test_kernels_compile_again_from_the_text_of_their_declaration(written, device):
    module = written(TEXT.format(number=4))
    assert run(module.apply) == 5.0
    written.path.unlink()
    module.apply.module.unload()
    assert run(module.apply) == 5.0


def test_a_function_that_was_renamed(device):
    def plain(x: wp.array(dtype=float)):
        x[wp.tid()] = 5.0

    plain.__name__ = "renamed"
    assert run(wp.kernel(plain)) == 5.0


def test_keys():
    class Sim:
        @wp.kernel
        def step(x: wp.array(dtype=float)):  # noqa: N805
            x[wp.tid()] = 1.0

    assert Sim.step.key == "test_keys__locals__Sim__step"
    assert wp.codegen.make_full_qualified_name("Sim.step") == "Sim__step"
    assert wp.codegen.make_full_qualified_name(Sim.step.func) == Sim.step.key


ODD = '''
import warp as wp

class Box:
    @wp.kernel(
        enable_backward=False,
    )
    def closed(
        x: wp.array(dtype=float),
    ):
        i = wp.tid()
# a remark at the margin

        x[i] = wp.max(
            x[i],
    5.0,
        )
        # the end

    @wp.kernel
    def quoted(x: wp.array(dtype=float)):
        """A text

that goes to the margin.
"""
        i = wp.tid()
        x[i] = x[i] \\
+ 6.0

    def behind(self): return 1

@wp.kernel
def tabbed(x: wp.array(dtype=float)):
\ti = wp.tid()
\tif i < 5:
\t\tx[i] = 8.0

@wp.kernel
def brief(x: wp.array(dtype=float)): x[wp.tid()] = 9.0
@wp.kernel
def last(x: wp.array(dtype=float)):
    x[wp.tid()] = (
10.0
)'''


@pytest.mark.parametrize("name, expected", [("closed", 5.0), ("quoted", 7.0), ("tabbed", 8.0), ("brief", 9.0), ("last", 10.0)])
def test_texts_that_go_to_the_margin_end_where_python_says(written, name, expected):
    module = written(ODD)
    assert run(getattr(module.Box, name, None) or getattr(module, name)) == expected


def test_functions_with_odd_texts_are_cut_by_indentation_as_inspect_cuts_them(written):
    import inspect

    from warp._src.kernels import source_text

    module = written(TEXT.format(number=1))
    for kernel in (module.change, module.apply, module.make(2.0)):
        text, _, first = source_text.source_of(kernel.func)
        lines, number = inspect.getsourcelines(kernel.func)
        assert (text.strip(), first) == ("".join(lines).strip(), number)
