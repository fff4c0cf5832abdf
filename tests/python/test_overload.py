"""`wp.overload`: instances of generic kernels, also where annotations are text, as they are in this file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp


@wp.kernel
def fill(x: wp.array(dtype=Any), n: wp.array(dtype=int), value: Any):
    i = wp.tid()
    x[i] = value + value
    n[0] = i


@wp.overload
def fill(x: wp.array(dtype=wp.float64), n: wp.array(dtype=int), value: wp.float64): ...  # noqa: F811


def built() -> int:
    return sum(wp._weft.build_counts()[name] for name in ("compiled", "disk", "process"))


def test_the_decorator_gives_the_generic_kernel_back():
    assert fill.is_generic and len(fill.overloads) == 1
    made = next(iter(fill.overloads.values()))
    assert not made.is_generic and made.generic_parent is fill and made.key == fill.key


def test_a_dictionary_of_some_parameters(device):
    before = built()
    made = wp.overload(fill, {"x": wp.array(dtype=float), "value": float})
    assert built() == before  # nothing is compiled
    assert made is not fill and not made.is_generic and made.module is fill.module
    assert [(p.label, getattr(p.type, "dtype", p.type)) for p in made.adj.args] == [
        ("x", wp.float32),
        ("n", wp.int32),
        ("value", wp.float32),
    ]
    assert wp.overload(fill, [wp.array(dtype=float), wp.array(dtype=int), float]) is made
    assert fill.get_overload([wp.array(dtype=float), wp.array(dtype=int), float]) is made
    x, n = wp.zeros(3), wp.zeros(1, dtype=int)
    wp.launch(made, 3, [x, n, 2.0])
    assert np.all(x.numpy() == 4.0)
    with pytest.raises(RuntimeError, match="'x'"):
        wp.launch(made, 3, [wp.zeros(3, dtype=int), n, 2])
    wp.launch(fill, 3, [wp.zeros(3, dtype=int), n, 2])


def test_an_overload_where_the_names_are_local(device):
    pair = wp.types.vector(length=2, dtype=float)

    @wp.kernel
    def double(x: wp.array(dtype=Any)):
        i = wp.tid()
        x[i] = x[i] + x[i]

    @wp.overload
    def double(x: wp.array(dtype=pair)): ...  # noqa: F811

    assert double.is_generic and [p.type.dtype for o in double.overloads.values() for p in o.adj.args] == [pair]
    x = wp.full(2, pair(1.0, 2.0), dtype=pair)
    wp.launch(double, 2, [x])
    assert x.numpy().tolist() == [[2.0, 4.0]] * 2


def test_what_is_refused():
    with pytest.raises(TypeError, match="Kernel fill argument 'x' cannot be generic"):
        wp.overload(fill, {"value": float})
    with pytest.raises(RuntimeError, match="Invalid argument name 'z' in overload of kernel fill"):
        wp.overload(fill, {"z": float})
    with pytest.raises(RuntimeError, match="Invalid number of arguments for kernel fill: it takes 3 argument types, got 1"):
        wp.overload(fill, [float])
    with pytest.raises(RuntimeError, match="no generic kernel 'nothing'"):

        @wp.overload
        def nothing(x: float): ...

    @wp.kernel
    def plain(x: wp.array(dtype=float)):
        x[0] = 1.0

    with pytest.raises(RuntimeError, match="Only generic kernels can be overloaded"):
        wp.overload(plain, [wp.array(dtype=float)])
    with pytest.raises(TypeError, match="inline"):
        wp.func(inline=3)


def test_modules_compile_overloads(tmp_path):
    @wp.kernel(module=wp.Module("overloads_only"))
    def two(x: wp.array(dtype=Any)):
        i = wp.tid()
        x[i] = x[i] * x[i]

    wp.overload(two, [wp.array(dtype=wp.float16)])
    before = built()
    two.module.load("cpu")
    assert built() == before + 1
