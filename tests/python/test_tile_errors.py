"""What is said of mistakes with tiles."""

import importlib.util
import os
import tempfile
import textwrap
from typing import Any

import numpy as np
import pytest

import warp as wp


@wp.kernel
def plain(x: wp.array(dtype=float)):
    x[0] = 1.0


def kernel_error(body, *, args="x: wp.array(dtype=float), n: int", error=Exception, head=""):
    text = f"import warp as wp\n{head}\n@wp.kernel\ndef k(" + args + "):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mistake.py")
        with open(path, "w") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location("mistake", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with pytest.raises(error) as caught:
            wp.launch_tiled(module.k, dim=1, inputs=[wp.zeros(8, dtype=float), 3], block_dim=32)
    return str(caught.value)


@pytest.mark.parametrize(
    "body, words",
    [
        ("t = wp.tile_zeros(n)", "compile time constant"),
        ("t = wp.tile_zeros((4, 0))", "zero-length"),
        ("t = wp.tile_zeros((2, 2, 2, 2, 2))", "1 to 4 dimensions"),
        ("t = wp.tile_zeros((300, 300))", "at most 65536"),
        ("t = wp.tile_arange(3.5, dtype=int)", "does not fit int32"),
        ("t = wp.tile_load(x, shape=(2, 2))", "dimensions"),
        ("wp.tile_store(x, wp.tile_zeros(4, dtype=int))", "same dtype"),
        ("t = wp.tile_zeros(4) + wp.tile_zeros(5)", "(4,) and (5,)"),
        ("t = wp.tile_zeros(4, dtype=wp.vec3) * wp.vec3(1.0)", "at least one operand must be a scalar type"),
        ("t = wp.tile_zeros(4) < wp.tile_zeros(4)", "tile_map"),
        ("if wp.tile_zeros(4):\n    x[0] = 1.0", "condition"),
        ("t = wp.tile_zeros(4, storage='global')", '"register", "shared"'),
        ("t = wp.tile_zeros(4)\nx[0] = t[4]", "out of bounds"),
        ("t = wp.tile_zeros(4)\nu = t[2:2]", "empty tile"),
        ("t = wp.tile_view(wp.tile_zeros(4), offset=(2,), shape=(3,))", "out of bounds"),
        ("t = wp.tile_reshape(wp.tile_transpose(wp.tile_zeros((4, 3))), (12,))", "contiguous"),
        ("t = wp.tile_reshape(wp.tile_zeros((4, 3)), (5, 2))", "12 elements"),
        ("t = wp.tile_broadcast(wp.tile_zeros(4), shape=(3, 4))\nt += wp.tile_zeros((3, 4))", "broadcast"),
        ("t = wp.untile(wp.tile_zeros(4))", "block_dim"),
        ("t = wp.tile_zeros(67, dtype=wp.vec2)\nwp.tile_fft(t)", "67"),
        ("wp.tile_sort(wp.tile_zeros(4, dtype=wp.float16), wp.tile_zeros(4))", "32 or 64 bits"),
        ("t = wp.tile_matmul(wp.tile_zeros((2, 3)), wp.tile_zeros((2, 3)))", "don't fit"),
        ("t = wp.tile_map(wp.normalize, wp.tile_zeros(4))", "normalize"),
        ("t = wp.tile_sum(wp.tile_zeros((2, 3)), axis=2)", "out of bounds"),
        ("t = wp.tile_view(wp.tile_zeros(4), offset=(slice(0, n),))", "compile-time"),
        ("t = wp.tile_view(wp.tile_zeros(4), offset=(slice(0, 2),), shape=(2,))", "'shape' together with a slice"),
        ("t = wp.tile_view(wp.tile_zeros(4), offset=(slice(2, 2),))", "empty tile"),
        ("t = wp.tile_view(wp.tile_zeros(4), offset=(0, slice(0, 2)))", "2 dimensions"),
        ("t = wp.tile_matmul(wp.tile_zeros((2, 3)), wp.tile_zeros((3, 2)), precision='half')", '"default", "tf32"'),
        ("t = wp.tile_broadcast(wp.tile_zeros(4), shape=(3, 4))\nt[0, 0] = 1.0", "broadcast of a tile can't be written to"),
        ("t = wp.tile_broadcast(wp.tile_zeros(4), shape=(3, 4))\nt[n, 0] += 1.0", "broadcast of a tile can't be written to"),
        ("t = wp.tile_zeros(m=2, n=2)", "shape=(m, n)"),
        ("t = wp.tile_zeros((2, 2)) @ wp.tile_zeros((2, 2))", "wp.tile_matmul(a, b)"),
        ("if wp.tile_sum(wp.tile_zeros(4)):\n    x[0] = 1.0", "[0]"),
        ("x[0] = 1.0 + wp.tile_sum(wp.tile_zeros(4))", "[0]"),
        ("x[0] = wp.tile_sum(wp.tile_zeros(4))", "[0]"),
        ("x[0] = float(wp.tile_sum(wp.tile_zeros(4)))", "[0]"),
        ("x[0] = wp.sqrt(wp.tile_sum(wp.tile_zeros(4)))", "[0]"),
        ("t = wp.sin(wp.tile_zeros(4))", "wp.tile_map(wp.sin, …)"),
        ("t = wp.tile_zeros(4)\nt[0] = wp.vec3(1.0)", "can't store vec3f"),
    ],
)
def test_mistakes(body, words):
    assert words in kernel_error(body)


@pytest.mark.parametrize(
    "body, words",
    [
        ("t = wp.tile_zeros(4, dtype=wp.vec3) / wp.tile_zeros(4, dtype=wp.vec3)", "scalar"),
        ("t = wp.tile_zeros((2, 2), dtype=wp.vec2)\nu = wp.tile_matmul(t, t)", "complex"),
        ("t = wp.tile_zeros((2, 2), dtype=wp.float16)\nu = wp.tile_matmul(t, t, precision='tf32')", "float32"),
        ("s = wp.tile_stack(capacity=4, dtype=int)\nwp.tile_stack_push(s, 1.0, True)", "does not match"),
    ],
)
def test_operands_that_tiles_do_not_take(body, words):
    assert words in kernel_error(body, error=TypeError)


@pytest.mark.parametrize("ending", ["wp.tile_store(x, t)", "x[0] = t[0]", "t += t"])
@pytest.mark.parametrize("other", ["t = wp.tile_zeros(5)", "t = wp.tile_zeros(4)\n    t = wp.tile_zeros(5)"])
def test_a_name_with_two_shapes_is_not_used_behind_the_branches(other, ending):
    told = kernel_error(f"if n > 2:\n    t = wp.tile_zeros(4)\nelse:\n    {other}\n{ending}")
    assert "'t' is tile(float32, 4) on one way to here and tile(float32, 5) on another" in told


def test_a_name_with_two_shapes_in_branches_of_its_own():
    @wp.kernel
    def k(n: int, y: wp.array(dtype=float)):
        if n > 2:
            t = wp.tile_ones(4, dtype=float)
            y[0] = wp.tile_sum(t)[0]
        else:
            t = wp.tile_ones(5, dtype=float)
            y[0] = wp.tile_sum(t)[0]
        if n > 2:
            t = wp.tile_ones(7, dtype=float)
        else:
            t = wp.tile_ones(7, dtype=float) * 2.0
        y[1] = wp.tile_sum(t)[0]

    y = wp.zeros(2, dtype=float)
    for n, want in ((1, [5, 14]), (3, [4, 7])):
        wp.launch_tiled(k, dim=1, inputs=[n, y], block_dim=32)
        assert list(y.numpy()) == want


def test_mistakes_of_launches():
    with pytest.raises(RuntimeError, match="keyword.*'dim'"):
        wp.launch_tiled(plain, inputs=[], block_dim=4)
    with pytest.raises(RuntimeError, match="keyword.*'block_dim'"):
        wp.launch_tiled(plain, dim=1, inputs=[])
    with pytest.raises(RuntimeError, match="1 to 3"):
        wp.launch_tiled(plain, dim=(1, 1, 1, 1), inputs=[], block_dim=4)
    with pytest.raises(ValueError, match="shape"):
        wp.tile[float, 0]


@pytest.fixture
def debug():
    before = wp.config.mode
    wp.config.mode = "debug"
    yield
    wp.config.mode = before


def test_debug_mode_reports_what_is_outside(debug):
    @wp.kernel
    def element(x: wp.array(dtype=float), n: int):
        t = wp.tile_zeros(4, dtype=float)
        x[0] = t[n]

    @wp.kernel
    def window(x: wp.array(dtype=float), n: int):
        t = wp.tile_zeros(4, dtype=float)
        wp.tile_store(x, wp.tile_view(t, offset=(n,), shape=(2,)))

    @wp.kernel
    def promise(x: wp.array(dtype=float), n: int):
        wp.tile_store(x, wp.tile_zeros(4, dtype=float), offset=n, bounds_check=False)

    x = wp.zeros(8, dtype=float)
    for kernel, good, bad in ((element, 3, 4), (window, 2, 3), (promise, 4, 5)):
        wp.launch_tiled(kernel, dim=1, inputs=[x, good], block_dim=32)
        with pytest.raises(Exception, match=f"index {bad} is out of bounds"):
            wp.launch_tiled(kernel, dim=1, inputs=[x, bad], block_dim=32)
            wp.synchronize()  # of a GPU: there mistakes are found later


def test_debug_mode_reports_what_is_not_aligned(debug):
    @wp.kernel
    def load(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=4, offset=n, aligned=True)
        y[0] = wp.tile_sum(t)[0]

    @wp.kernel
    def store(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        wp.tile_store(x, wp.tile_ones(4, dtype=float), offset=n, aligned=True)

    x, y = wp.zeros(16, dtype=float), wp.zeros(1, dtype=float)
    for kernel, builtin in ((load, "tile_load"), (store, "tile_store")):
        for good in (0, 4, 12, 16):
            wp.launch_tiled(kernel, dim=1, inputs=[x, good, y], block_dim=32)
        name = f"test_tile_errors.py:[0-9]+:[0-9]+.* aligned=True does not hold for this {builtin}\\(\\): its first element "
        for bad, bytes_behind in ((1, 4), (2, 8), (15, 12), (-1, 12)):
            with pytest.raises(Exception, match=name + f"lies {bytes_behind} bytes behind a multiple of 16"):
                wp.launch_tiled(kernel, dim=1, inputs=[x, bad, y], block_dim=32)
                wp.synchronize()


def test_debug_mode_reports_rows_that_are_not_aligned(debug):
    @wp.kernel
    def load(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(2, 4), aligned=True)
        y[0] = wp.tile_sum(t)[0]

    @wp.kernel
    def row(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=(1, 4), aligned=True)
        y[0] = wp.tile_sum(t)[0]

    @wp.kernel
    def slices(x: wp.array3d(dtype=wp.float64), y: wp.array(dtype=float)):
        wp.tile_store(x, wp.tile_ones((2, 2, 2), dtype=wp.float64), aligned=True)

    y = wp.zeros(1, dtype=float)
    apart = "aligned=True does not hold for this tile_.*: rows along axis {} lie {} bytes apart, which is no multiple of 16"
    wp.launch_tiled(load, dim=1, inputs=[wp.zeros((4, 8), dtype=float), y], block_dim=32)
    wp.launch_tiled(row, dim=1, inputs=[wp.zeros((4, 5), dtype=float), y], block_dim=32)
    with pytest.raises(Exception, match=apart.format(0, 20)):
        wp.launch_tiled(load, dim=1, inputs=[wp.zeros((4, 5), dtype=float), y], block_dim=32)
        wp.synchronize()
    wp.launch_tiled(slices, dim=1, inputs=[wp.zeros((4, 2, 2), dtype=wp.float64), y], block_dim=32)
    for shape, axis, bytes_between in (((4, 2, 3), 1, 24), ((4, 3, 3), 0, 72)):
        with pytest.raises(Exception, match=apart.format(axis, bytes_between) if axis else "no multiple of 16"):
            wp.launch_tiled(slices, dim=1, inputs=[wp.zeros(shape, dtype=wp.float64), y], block_dim=32)
            wp.synchronize()


def test_promises_of_alignment_do_no_harm():
    @wp.kernel
    def copy(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(3, 5), offset=(1, 1), aligned=True)
        wp.tile_store(y, t, offset=(0, 1), aligned=True)

    numbers = np.arange(35, dtype=np.float32).reshape(5, 7)
    x, y = wp.array(numbers, dtype=float, requires_grad=True), wp.zeros((4, 7), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(copy, dim=1, inputs=[x, y], block_dim=32)
    assert np.array_equal(y.numpy()[:3, 1:6], numbers[1:4, 1:6])
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().sum() == 15


def test_gradients_of_aligned_parts_in_debug_mode(debug):
    @wp.kernel
    def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        t = wp.tile_load(x, shape=(2, 4), aligned=True)
        wp.tile_store(y, t * t, aligned=True)

    x = wp.array(np.arange(8.0).reshape(2, 4), dtype=float, requires_grad=True)
    y = wp.zeros((2, 4), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(k, dim=1, inputs=[x, y], block_dim=32)
    tape.backward(grads={y: wp.ones_like(y)})
    assert np.array_equal(x.grad.numpy(), 2 * x.numpy())


def test_a_factor_that_there_is_not_raises_where_numbers_are_verified(debug):
    @wp.kernel(module="unique")
    def factor(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
        wp.tile_store(b, wp.tile_cholesky(wp.tile_load(a, shape=(4, 4))))

    good, bad = np.eye(4, dtype=np.float32), -np.eye(4, dtype=np.float32)
    out = wp.zeros((4, 4), dtype=float)
    wp.launch_tiled(factor, dim=1, inputs=[wp.array(bad, dtype=float), out], block_dim=32)
    assert np.isnan(out.numpy()[0, 0])
    wp.config.verify_fp = True
    try:
        wp.launch_tiled(factor, dim=1, inputs=[wp.array(good, dtype=float), out], block_dim=32)
        assert np.array_equal(out.numpy(), good)
        with pytest.raises(Exception, match="kernel 'factor', .* is not finite"):
            wp.launch_tiled(factor, dim=1, inputs=[wp.array(bad, dtype=float), out], block_dim=32)
            wp.synchronize()
    finally:
        wp.config.verify_fp = False


SMALL = wp.tile[float, 4]


def test_tiles_stay_in_kernels():
    with pytest.raises(TypeError, match="field 't' of struct S .*tiles live in kernels only; hold an array, .*wp.tile_load"):

        @wp.struct
        class S:
            t: wp.tile[float, 4]

    for make in (lambda: wp.zeros(3, dtype=SMALL), lambda: wp.array([1.0], dtype=wp.tile(dtype=float, shape=(4,)))):
        with pytest.raises(TypeError, match="tiles live in kernels only: make an array of their elements"):
            make()

    def by_brackets(t: wp.tile[float, 4], y: wp.array(dtype=float)):
        y[0] = t[0]

    def by_call(t: wp.tile(dtype=float, shape=(4,)), y: wp.array(dtype=float)):
        y[0] = t[0]

    def in_array(t: wp.array(dtype=wp.tile[float, 4]), y: wp.array(dtype=float)):
        y[0] = 1.0

    x = wp.zeros(4, dtype=float)
    for function in (by_brackets, by_call, in_array):
        with pytest.raises(TypeError, match="argument 't' is annotated as .*tile.*kernels take arrays; .*wp.tile_load"):
            wp.launch_tiled(wp.Kernel(function), dim=1, inputs=[x, x], block_dim=32)

    @wp.kernel
    def captured(y: wp.array(dtype=float)):
        y[0] = SMALL[0]

    with pytest.raises(Exception, match="the type tile.* can't be used as a value in kernels(.|\n)*wp.tile_zeros"):
        wp.launch_tiled(captured, dim=1, inputs=[x], block_dim=32)


@pytest.mark.parametrize("name", ["tile_zeros", "tile_load", "tile_map", "tile_sum", "tile_matmul", "tile_fft", "untile"])
def test_builtins_of_tiles_are_called_in_kernels(name):
    for arguments, named in (((4,), {}), ((), {"shape": 4, "dtype": float}), ((wp.zeros(4),), {}), (([1.0, 2.0],), {})):
        with pytest.raises(RuntimeError, match=f"wp.{name}\\(\\) can be called only in kernels.*wp.launch_tiled"):
            getattr(wp, name)(*arguments, **named)


def test_a_tile_of_a_value_is_made_in_kernels():
    for value in (1.0, 3, wp.vec3(1.0), np.float32(2.0)):
        with pytest.raises(TypeError, match="only in kernels"):
            wp.tile(value)


@wp.func_native("return t[0];")
def first_of(t: Any) -> float: ...


@wp.func_native("return n;")
def second_of(n: int, part: wp.tile(dtype=float, shape=(4,))) -> int: ...


@pytest.mark.parametrize("call, name", [("first_of(t)", "t"), ("second_of(1, t)", "part"), ("first_of(t[1:3])", "t")])
def test_native_functions_take_no_tiles(call, name):
    told = kernel_error(f"t = wp.tile_zeros(4)\nx[0] = float({call})", head="from test_tile_errors import first_of, second_of")
    assert f"can't take a tile as '{name}': tiles can't be parameters of native functions yet" in told
    assert "read elements in the kernel, t[i], and pass numbers" in told and "pass the array" in told


@pytest.mark.cpu_only("GPUs have shared memory")
def test_more_tiles_than_a_thread_has_memory_for():
    told = kernel_error("""
        a = wp.tile_zeros((256, 256), dtype=wp.float64)
        b = wp.tile_zeros((256, 256), dtype=wp.mat22d)
        for i in range(n):
            c = wp.tile_zeros((256, 256), dtype=wp.mat33d)
            x[0] += float(b[i, 0][0, 0] + c[0, i][0, 0] + a[0, i])
            a[i, i] = wp.float64(1.0)
    """)
    assert "kernel 'k' takes 7340032 bytes (7168 KB) of memory for its tiles; on the CPU a block has 4194304 bytes" in told
    assert "use smaller tiles or fewer of them" in told
    at = [told.index(f"{n} bytes are made here, for 65536 elements of {t}") for n, t in LARGE]
    assert at == sorted(at) and "mistake.py:9" in told


LARGE = [(4718592, "mat33d"), (2097152, "mat22d"), (524288, "float64")]


def test_blocks_beyond_the_limit():
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        wp.tile_store(x, wp.tile_zeros(4, dtype=float))

    x = wp.zeros(4, dtype=float)
    wp.config.enable_cpu_blocks = True
    try:
        for block in (1025, 4096, 2**31 - 1):
            with pytest.raises(ValueError, match=f"1024.*{block}"):
                wp.launch_tiled(k, dim=1, inputs=[x], block_dim=block)
    finally:
        wp.config.enable_cpu_blocks = False


def test_gradients_in_debug_mode(debug):
    @wp.kernel
    def k(x: wp.array(dtype=float), n: int, y: wp.array(dtype=float)):
        t = wp.tile_load(x, shape=4)
        t[n] = t[n] * t[n]
        y[0] = wp.tile_sum(t)[0]

    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(k, dim=1, inputs=[x, 2], outputs=[y], block_dim=32)
    tape.backward(y)
    assert list(x.grad.numpy()) == [1.0, 1.0, 6.0, 1.0]
