"""wp.address_of: places of array elements, and of variables while a native function works on them."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from warp._src.kernels import custom_functions

pytestmark = pytest.mark.cpu_only  # addresses are handed to C++ for the CPU
needs_clang = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@wp.struct
class Inner:
    flag: wp.bool
    value: float
    m: wp.mat22


@wp.struct
class Outer:
    id: int
    inner: Inner


@wp.func_native("*(float*)ptr += by; return *(float*)ptr;")
def add_at(ptr: wp.uint64, by: float) -> float: ...


@wp.func_native("int32_t t = *(int32_t*)a; *(int32_t*)a = *(int32_t*)b; *(int32_t*)b = t;")
def swap_at(a: wp.uint64, b: wp.uint64): ...


@wp.func
def add_twice(ptr: wp.uint64, by: float):
    add_at(ptr, by)
    return add_at(ptr, by)


@wp.kernel(enable_backward=False)
def variables(n: int, out: wp.array(dtype=float)):
    x = float(1.0)
    out[0] = add_at(wp.address_of(x), 2.0)
    out[1] = x
    v = wp.vec3(1.0, 2.0, 3.0)
    add_at(wp.address_of(v.y), 10.0)
    add_at(wp.address_of(v[n]), 20.0)
    out[2] = v[1]
    out[3] = v[2]
    s = Outer()
    s.inner.value = 4.0
    for _ in range(n):
        add_twice(wp.address_of(s.inner.value), 1.0)
    out[4] = s.inner.value
    if n > 1:
        add_at(ptr=wp.address_of(x), by=out[0])
    out[5] = x


@needs_clang
def test_variables_have_what_the_function_left() -> None:
    out = wp.zeros(6, dtype=float)
    wp.launch(variables, dim=1, inputs=[2, out])
    assert out.numpy().tolist() == [3.0, 3.0, 12.0, 23.0, 8.0, 6.0]


@wp.kernel(enable_backward=False)
def swapped(out: wp.array2d(dtype=int)):
    i = wp.tid()
    a = int(i)
    b = 10 * i
    swap_at(wp.address_of(a), wp.address_of(b))
    out[i, 0] = a
    out[i, 1] = b


@needs_clang
def test_several_in_one_call() -> None:
    out = wp.zeros((40, 2), dtype=int)
    wp.launch(swapped, dim=40, inputs=[out])
    assert out.numpy().tolist() == [[10 * i, i] for i in range(40)]


@wp.kernel(enable_backward=False)
def elements(a: wp.array2d(dtype=float), s: wp.array(dtype=Outer), k: int, where: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    where[0] = wp.address_of(a[1, 2])
    where[1] = wp.address_of(a[-1, k])
    where[2] = wp.address_of(s[1].inner.m[1, 0])
    where[3] = wp.address_of(s[1].inner.m[k - 1, k - 1])
    part = a[1:, ::2]
    where[4] = wp.address_of(part[0, 1])
    p = wp.address_of(s[0].inner.value)
    add_at(p, 5.0)


@needs_clang
def test_elements_lie_where_python_says() -> None:
    a, s = wp.zeros((3, 4), dtype=float), wp.zeros(2, dtype=Outer)
    where = wp.zeros(5, dtype=wp.uint64)
    wp.launch(elements, dim=1, inputs=[a, s, 2, where])
    kind = Outer.numpy_dtype()
    inner = kind.fields["inner"]
    matrix = s.ptr + s.strides[0] + inner[1] + inner[0].fields["m"][1]
    assert where.list() == [a.ptr + 24, a.ptr + 40, matrix + 8, matrix + 12, a.ptr + 24]
    assert s.numpy()["inner"]["value"].tolist() == [5.0, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = int(1)\n    out[0] = wp.address_of(x + x)", "a temporary value has no address"),
        ("out[0] = wp.address_of(wp.vec3(1.0, 2.0, 3.0).x)", "a temporary value has no address"),
        ("x = int(1)\n    out[0] = wp.address_of(x)", "only while a function runs"),
        ("x = int(1)\n    out[0] = wp.uint64(wp.address_of(x))", "only while a function runs"),
        ("out[0] = wp.address_of()", "takes one argument"),
    ],
)
def test_what_has_no_address(text: str, words: str) -> None:
    source = f"@wp.kernel(enable_backward=False)\ndef run(out: wp.array(dtype=wp.uint64)):\n    {text}\n"
    kernel = wp._src.kernels.definitions.kernel_from_text(source, "run")
    with pytest.raises(wp.WarpCodegenError, match=words):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=wp.uint64)])
