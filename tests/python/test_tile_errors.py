"""What is said of mistakes with tiles."""

import importlib.util
import os
import tempfile
import textwrap

import pytest

import warp as wp



@wp.kernel
def plain(x: wp.array(dtype=float)):
    x[0] = 1.0


def kernel_error(body, *, args="x: wp.array(dtype=float), n: int", error=Exception):
    text = "import warp as wp\n\n@wp.kernel\ndef k(" + args + "):\n" + textwrap.indent(textwrap.dedent(body), "    ")
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
