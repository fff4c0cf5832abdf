"""Functions in C++ on every device: values, arrays, structs, atomics and their gradients."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import warp as wp
from warp._src.session import gpu_options
from warp._src.kernels import custom_functions

pytestmark = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@pytest.fixture(autouse=True)
def _libdevice(_on_device):
    if wp.get_device().is_cuda and not gpu_options.find_libdevice():
        pytest.skip("there is no libdevice")


@wp.struct
class Body:
    x: wp.vec3
    mass: float


@wp.func_native(
    "return a * sin(b) + pow(b, 2.0f);",
    adj_snippet="adj_a += adj_ret * sin(b); adj_b += adj_ret * (a * cos(b) + 2.0f * b);",
)
def wave(a: float, b: float) -> float: ...


@wp.func_native("body.x[1] += 1.0f; return body.mass * length(body.x);")
def weigh(body: Body) -> float: ...


@wp.func_native("atomic_add(sums, k % 3, 1.0f); return sums.shape[0];")
def count(sums: wp.array(dtype=float), k: int) -> wp.int64: ...


@wp.kernel
def waves(a: wp.array(dtype=float), b: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wave(a[i], b[i])


@wp.kernel
def weights(bodies: wp.array(dtype=Body), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = weigh(bodies[i])


@wp.kernel
def counts(sums: wp.array(dtype=float), sizes: wp.array(dtype=wp.int64)):
    i = wp.tid()
    sizes[i] = count(sums, i)


def test_numbers_and_their_gradients():
    x = np.linspace(0.1, 2.0, 1001).astype(np.float32)
    a, b = wp.array(2.0 * x, dtype=float, requires_grad=True), wp.array(x, dtype=float, requires_grad=True)
    out = wp.zeros(1001, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(waves, 1001, [a, b], [out])
    np.testing.assert_allclose(out.numpy(), 2.0 * x * np.sin(x) + x * x, rtol=1e-5)
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), 2.0 * x * np.cos(x) + 2.0 * x, rtol=1e-5, atol=1e-6)


def test_structs():
    one = Body()
    one.x, one.mass = wp.vec3(3.0, 3.0, 0.0), 2.0
    bodies, out = wp.array([one] * 5, dtype=Body), wp.zeros(5, dtype=float)
    wp.launch(weights, 5, [bodies, out])
    assert out.numpy().tolist() == [10.0] * 5


def _clangs() -> list[str]:
    """Every clang of the machine that may compile native functions: they differ in what they make, for GPUs above all."""
    found: dict[str, str] = {}
    for name in (*(f"clang-{version}" for version in range(14, 20)), "clang"):
        path = shutil.which(name)
        if path is not None:
            found.setdefault(os.path.realpath(path), name)
    return list(found.values())


@pytest.fixture(params=_clangs())
def clang(request: pytest.FixtureRequest) -> Iterator[str]:
    wp.config.native_compiler, wp.config.cache_kernels = request.param, False  # the clang is not part of a kernel's key
    yield request.param
    wp.config.native_compiler, wp.config.cache_kernels = None, True


NUMBERS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
NUMBERS += [wp.float16, wp.bfloat16, wp.float32, wp.float64]


@pytest.mark.parametrize("dtype", [*NUMBERS, wp.vec3, wp.mat22d, wp.quat, wp.transformd, wp.vec2h, wp.vec3ub])
def test_atomics_of_every_type(clang: str, dtype: Any) -> None:
    add = _adding(dtype)

    @wp.kernel
    def k(a: wp.array2d(dtype=dtype), one: dtype, before: wp.array(dtype=dtype)):
        i = wp.tid()
        before[i] = add(a, one, i)

    size = wp.types.type_size(dtype)
    one = dtype(*[1] * size) if size > 1 else dtype(1)
    n = 120
    a, before = wp.zeros((3, 3), dtype=dtype), wp.zeros(n, dtype=dtype)
    wp.launch(k, n, [a, one, before])
    expected = np.array([[n, 0, 0], [20, 20, 20], [20, 20, 20]])
    assert np.array_equal(_numbers(a).reshape(3, 3, size), np.repeat(expected[..., None], size, -1))
    # Each value was seen once in each component, for every one of them is exact.
    seen = np.sort(_numbers(before).reshape(n, size), 0)
    assert np.array_equal(seen, np.repeat(np.arange(n)[:, None], size, -1))


def _numbers(a: wp.array) -> np.ndarray:
    values = a.numpy()
    if a.dtype is wp.bfloat16 and values.dtype == np.uint16:  # bits, for NumPy alone has no such type
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


def _adding(dtype: Any) -> Any:
    @wp.func_native("atomic_add(a, 1 + k % 2, k % 3, one); return atomic_add(&a(0, 0), one);")
    def add(a: wp.array2d(dtype=dtype), one: dtype, k: int) -> dtype: ...

    return add


@wp.func_native("return __atomic_fetch_add(&a[0], 1, __ATOMIC_SEQ_CST) + (__atomic_thread_fence(__ATOMIC_SEQ_CST), 0);")
def next_of(a: wp.array(dtype=int)) -> int: ...


@wp.func_native("int seen = __atomic_load_n(&a[1], __ATOMIC_ACQUIRE);"
                "while (!__atomic_compare_exchange_n(&a[1], &seen, seen + 2, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));")
def add_two(a: wp.array(dtype=int)): ...


def test_atomics_of_the_language(clang: str) -> None:
    @wp.kernel
    def k(a: wp.array(dtype=int), before: wp.array(dtype=int)):
        before[wp.tid()] = next_of(a)
        add_two(a)

    a, before = wp.zeros(2, dtype=int), wp.zeros(1000, dtype=int)
    wp.launch(k, 1000, [a, before])
    assert a.list() == [1000, 2000] and np.array_equal(np.sort(before.numpy()), np.arange(1000))


def test_adjoints_without_a_gradient_take_no_atomics(clang: str) -> None:
    @wp.func_native("return x * a[0];", adj_snippet="atomic_add(adj_a, 0, adj_ret * x); adj_x += adj_ret * a[0];")
    def times(a: wp.array(dtype=float), x: float) -> float: ...

    @wp.kernel
    def k(a: wp.array(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = times(a, x[wp.tid()])

    for wanted in (True, False):
        a = wp.array([3.0], dtype=float, requires_grad=wanted)
        x, y = wp.full(8, 2.0, requires_grad=True), wp.zeros(8, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(k, 8, [a, x], [y])
        y.grad.fill_(1.0)
        tape.backward()
        assert x.grad.list() == [3.0] * 8 and (not wanted or a.grad.list() == [16.0])


def test_arrays_and_atomics():
    sums, sizes = wp.zeros(3, dtype=float), wp.zeros(300, dtype=wp.int64)
    wp.launch(counts, 300, [sums, sizes])
    assert sums.numpy().tolist() == [100.0] * 3 and np.all(sizes.numpy() == 3)
