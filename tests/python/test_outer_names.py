"""What code takes from outside, read from its bytecode, against what `dis` says; and what first launches make of it."""

from __future__ import annotations

import dis
import types
from typing import Any

import pytest
import warp as wp
from warp._src.kernels import resolver

pytestmark = pytest.mark.cpu_only


def by_dis(code: types.CodeType) -> set[tuple[str, ...]]:
    found, path = set(), ()
    for one in dis.get_instructions(code):
        if one.opname == "EXTENDED_ARG":  # part of the next one
            continue
        if one.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            path = (one.argval,)
        elif path and one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path = (*path, one.argval)
        else:
            path = ()
        if path:
            found.add(path)
    return found


def functions() -> list[types.FunctionType]:
    def plain(a, b):
        return wp.sin(a) + wp.vec3(b, b, b).x + types.ModuleType.__name__

    outer, inner = 3.0, types.SimpleNamespace(deep=types.SimpleNamespace(f=len))

    def closed(a, cell):
        def nested():
            return cell + outer

        return inner.deep.f(a) + outer + nested()

    # More names than one byte counts.
    text = "def wide(a):\n" + "".join(f"    a = a + name{k}.part{k}.leaf{k}(a)\n" for k in range(300)) + "    return a\n"
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102
    library = [resolver.describe, resolver.FunctionResolver.meaning, dis.get_instructions, types.new_class]
    return [plain, closed, names["wide"], *library]


@pytest.mark.parametrize("function", functions(), ids=lambda f: f.__name__)
def test_the_names_are_those_that_dis_finds(function: types.FunctionType) -> None:
    assert resolver._outer_names(function.__code__) == sorted(by_dis(function.__code__))


step_size = 2.0


@wp.func
def scaled(x: float):
    return x * step_size


def test_what_kernels_mean() -> None:
    def meaning(function: Any) -> tuple[bool, str]:
        return wp.kernel(function, module="unique")._resolver.meaning()

    def only_warp(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = wp.sin(x[i])

    def a_number(x: wp.array(dtype=float)):
        x[wp.tid()] = step_size

    def a_function(x: wp.array(dtype=float)):
        x[wp.tid()] = scaled(1.0)

    inner = 4.0

    def a_closure(x: wp.array(dtype=float)):
        x[wp.tid()] = inner

    assert meaning(only_warp) == (False, "")
    assert meaning(a_number) == (True, "step_size=('float', 2.0)")
    assert meaning(a_closure) == (True, "inner=('float', 4.0)")
    variable, text = meaning(a_function)
    assert variable and text.startswith("scaled=") and "step_size=('float', 2.0)" in text


class Grid:
    """An object with numbers, as programs keep them."""

    def __init__(self, count: int) -> None:
        self.sizes = types.SimpleNamespace(count=count, half=count / 2)


def filler(self: Grid):
    @wp.kernel
    def fill(out: wp.array(dtype=int)):
        for i in range(self.sizes.count):
            out[i] = i + 1

    return fill


def test_bounds_of_loops_are_numbers_of_objects(device):
    for count in (2, 5, 3):
        out = wp.zeros(6, dtype=int, device=device)
        wp.launch(filler(Grid(count)), 1, [out], device=device)
        assert out.numpy().tolist() == [*range(1, count + 1), *[0] * (6 - count)]


def test_numbers_of_objects_are_no_values(device):
    grid = Grid(3)

    @wp.kernel
    def read(out: wp.array(dtype=int)):
        out[0] = grid.sizes.count

    @wp.kernel
    def loop(out: wp.array(dtype=int)):
        for i in range(grid.sizes.nothing):
            out[i] = 1

    for kernel in (read, loop):
        with pytest.raises(TypeError, match="Invalid external reference type"):
            wp.launch(kernel, 1, [wp.zeros(3, dtype=int, device=device)], device=device)
