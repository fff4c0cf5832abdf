"""The interoperability document and the FAQ, as far as the CPU and NumPy go."""

import numpy as np
import pytest

import warp as wp

n = 1000


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


class Convertible:
    """Only `__array__`."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


class Interface:
    """Only `__array_interface__`."""

    def __init__(self, values):
        self.values = values
        self.__array_interface__ = values.__array_interface__


@pytest.mark.parametrize("wrap", [Convertible, Interface, memoryview])
def test_seed_137_external_arrays(wrap):
    """Objects with __array__, __array_interface__ or the buffer protocol are arguments; results land in them."""
    x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
    wp.launch(saxpy, dim=n, inputs=[wrap(x), wrap(y), 2.0], device="cpu")
    np.testing.assert_array_equal(y, 2.0 * np.arange(n) + 1.0)


def test_seed_138_numpy_arrays_straight_to_launch():
    """NumPy arrays as they are; results are written in place."""
    x = np.arange(n, dtype=np.float32)
    y = np.ones(n, dtype=np.float32)

    wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device="cpu")
    np.testing.assert_array_equal(y, np.arange(n) + 1.0)


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_seed_141_numpy_shares_memory():
    """array.numpy() does not copy on the CPU."""
    w = wp.zeros(3, dtype=float)
    w.numpy()[1] = 4.0
    assert w.list() == [0.0, 4.0, 0.0]


def test_seed_142_numpy_reads_arrays():
    """np.array(w) goes by __array_interface__."""
    w = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    a = np.array(w)
    assert str(a) == "[1. 2. 3.]" and a.dtype == np.float32


def test_seed_143_types_to_and_from_numpy():
    """dtype_to_numpy, dtype_from_numpy, from_numpy."""
    warp_type = wp.float32
    numpy_type = wp.dtype_to_numpy(warp_type)
    a = wp.zeros(n, dtype=warp_type)
    b = np.zeros(n, dtype=numpy_type)
    assert a.numpy().dtype == b.dtype
    names = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
    for name in names:
        assert wp.dtype_from_numpy(np.dtype(name)) is getattr(wp, name)
        assert np.dtype(wp.dtype_to_numpy(getattr(wp, name))) == np.dtype(name)
    assert np.dtype(wp.dtype_to_numpy(wp.bool)) == np.dtype(bool)
    assert wp.from_numpy(np.zeros((5, 3), dtype=np.float32)).dtype is wp.vec3
    with pytest.raises(TypeError):
        wp.dtype_from_numpy(np.dtype("complex64"))


@wp.kernel()
def loss(xs: wp.array(dtype=float, ndim=2), l: wp.array(dtype=float)):
    tid = wp.tid()
    wp.atomic_add(l, 0, xs[tid, 0] ** 2.0 + xs[tid, 1] ** 2.0)


def test_seed_147_148_150_151_the_loss_kernel():
    """@wp.kernel(), rank 2, powers, atomic_add; len(xs), xs.device, inputs and outputs; l.zero_()."""
    values = np.random.default_rng(4).standard_normal((100, 2))
    # initialize the optimization variables in Warp
    xs = wp.array(values, dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=wp.float32, requires_grad=True)
    assert len(xs) == 100 and xs.device == wp.get_device()
    for _ in range(3):
        l.zero_()
        wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    np.testing.assert_allclose(l.numpy()[0], (values**2).sum(), rtol=1e-5)


def test_seed_155_zeros_are_float_by_default():
    """zeros(n, requires_grad=True) without dtype."""
    z = wp.zeros(1500, requires_grad=True)
    assert z.dtype is wp.float32 and z.grad.dtype is wp.float32


def test_seed_156_grad_can_be_assigned():
    """z.grad = other array."""
    z = wp.zeros(4, requires_grad=True)
    given = wp.full(4, 2.0, dtype=float)
    z.grad = given
    assert z.grad.ptr == given.ptr and z.grad.list() == [2.0] * 4


@wp.func
def rosenbrock(x: float, y: float):
    return (1.0 - x) ** 2.0 + 100.0 * (y - x**2.0) ** 2.0


@wp.kernel
def eval_rosenbrock(
    xs: wp.array(dtype=wp.vec2),
    # outputs
    z: wp.array(dtype=float),
):
    i = wp.tid()
    x = xs[i]
    z[i] = rosenbrock(x[0], x[1])


def test_seed_158_components_as_arguments():
    """x[0], x[1] of a vec2 passed to a function."""
    xy = np.random.default_rng(42).normal(size=(1500, 2)).astype(np.float32)
    z = wp.zeros(1500, dtype=float)
    wp.launch(kernel=eval_rosenbrock, dim=1500, inputs=[wp.array(xy, dtype=wp.vec2)], outputs=[z])
    x, y = xy[:, 0].astype(float), xy[:, 1].astype(float)
    np.testing.assert_allclose(z.numpy(), (1 - x) ** 2 + 100 * (y - x**2) ** 2, rtol=2e-4, atol=1e-4)


@wp.kernel
def matmul_kernel(
    a: wp.array2d(dtype=float),  # NxK input
    b: wp.array2d(dtype=float),  # KxM input
    c: wp.array2d(dtype=float),  # NxM output
):
    # launch dims should be (N, M)
    i, j = wp.tid()
    N = a.shape[0]
    K = a.shape[1]
    M = b.shape[1]
    if i < N and j < M:
        s = wp.float32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_seed_170_shapes_and_dynamic_loops():
    """a.shape[0], s = wp.float32(0), s += …, for k in range(K)."""
    N, M, K = 3, 4, 2
    an, bn = np.full((N, K), 2, dtype=np.float32), np.arange(K * M, dtype=np.float32).reshape(K, M)
    c = wp.zeros((N, M), dtype=float)
    wp.launch(matmul_kernel, dim=(N, M), inputs=[an, bn, c])
    np.testing.assert_array_equal(c.numpy(), an @ bn)


@wp.kernel
def triple_kernel(input: wp.array(dtype=float), output: wp.array(dtype=float)):
    tid = wp.tid()
    output[tid] = 3.0 * input[tid]


@wp.kernel
def multiarg_kernel(
    # inputs
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    # outputs
    ab: wp.array(dtype=float),
    bc: wp.array(dtype=float),
):
    tid = wp.tid()
    ab[tid] = a[tid] + b[tid]
    bc[tid] = b[tid] + c[tid]


@wp.kernel
def sincos_kernel(angle: wp.array(dtype=float),
                  # outputs
                  sin_out: wp.array(dtype=float),
                  cos_out: wp.array(dtype=float)):
    tid = wp.tid()
    sin_out[tid] = wp.sin(angle[tid])
    cos_out[tid] = wp.cos(angle[tid])


@wp.kernel
def diagonal_kernel(output: wp.array(dtype=wp.mat33)):
    tid = wp.tid()
    output[tid] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)


@wp.kernel
def add_kernel(a: wp.array(dtype=int),
               b: wp.array(dtype=int),
               output: wp.array(dtype=int)):
    tid = wp.tid()
    output[tid] = a[tid] + b[tid]


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_kernels_of_the_jax_section():
    """Its kernels without JAX: the language part of statements that a later issue tests with it."""
    x = np.arange(64, dtype=np.float32)
    out, other = np.zeros(64, dtype=np.float32), np.zeros(64, dtype=np.float32)
    wp.launch(triple_kernel, dim=64, inputs=[x], outputs=[out])
    np.testing.assert_array_equal(out, 3 * x)
    wp.launch(multiarg_kernel, dim=64, inputs=[x, x + 1, x + 2], outputs=[out, other])
    np.testing.assert_array_equal(out, 2 * x + 1)
    np.testing.assert_array_equal(other, 2 * x + 3)
    wp.launch(sincos_kernel, dim=64, inputs=[x], outputs=[out, other])
    np.testing.assert_allclose(out, np.sin(x), atol=1e-6)
    np.testing.assert_allclose(other, np.cos(x), atol=1e-6)
    mats = np.zeros((4, 3, 3), dtype=np.float32)
    wp.launch(diagonal_kernel, dim=4, outputs=[mats])
    np.testing.assert_array_equal(mats, [np.diag([1, 2, 3])] * 4)
    ints = np.zeros(10, dtype=np.int32)
    wp.launch(add_kernel, dim=10, inputs=[np.arange(10, dtype=np.int32), np.ones(10, dtype=np.int32), ints])
    np.testing.assert_array_equal(ints, np.arange(10) + 1)


@wp.kernel
def scale_kernel(a: wp.array(dtype=float), s: float, output: wp.array(dtype=float)):
    tid = wp.tid()
    output[tid] = a[tid] * s


@wp.kernel
def scale_vec_kernel(a: wp.array(dtype=wp.vec2), s: float, output: wp.array(dtype=wp.vec2)):
    tid = wp.tid()
    output[tid] = a[tid] * s


def example_func(
    # inputs
    a: wp.array(dtype=float),
    b: wp.array(dtype=wp.vec2),
    s: float,
    # outputs
    c: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec2),
):
    # launch multiple kernels
    wp.launch(scale_kernel, dim=a.shape, inputs=[a, s], outputs=[c])
    wp.launch(scale_vec_kernel, dim=b.shape, inputs=[b, s], outputs=[d])


def test_seed_181_launch_over_a_shape():
    """dim=a.shape."""
    an = np.arange(10, dtype=np.float32)
    a, b = wp.array(an), wp.array(an.reshape(5, 2), dtype=wp.vec2)
    c, d = wp.zeros_like(a), wp.zeros_like(b)
    example_func(a, b, 2.0, c, d)
    np.testing.assert_array_equal(c.numpy(), 2 * an)
    np.testing.assert_array_equal(d.numpy(), 2 * an.reshape(5, 2))


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_seed_186_other_libraries_take_arrays_by_dlpack():
    """__dlpack__ and __dlpack_device__: NumPy's from_dlpack sees the same memory."""
    w = wp.array([1.0, 2.0, 3.0], dtype=float)
    seen = np.from_dlpack(w)
    w[0] = 7.0
    assert w.__dlpack_device__() == (1, 0) and seen.tolist() == [7.0, 2.0, 3.0]


def test_seed_190_context_init():
    """wp.context.init() is wp.init()."""
    wp.context.init()
    assert wp.is_cpu_available()


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = float(len([k for k in range(3)]))",
        "try:\n        x[0] = 1.0\n    except ValueError:\n        x[0] = 2.0",
        "raise ValueError('no')",
        "v = 1.0\n    v = wp.vec3()",
        "x[0] = eval('1.0')",
        "d = {1: 2.0}",
    ],
)
def test_seed_194_python_that_kernels_do_not_have(body):
    """Dynamic types, comprehensions, exceptions, containers: each a clear error with its place."""
    source = f"@wp.kernel\ndef bad(x: wp.array(dtype=float)):\n    {body}\n"
    kernel = wp.context.kernel_from_text(source, "bad", {"wp": wp})
    with pytest.raises((RuntimeError, TypeError, KeyError)) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert "^" in str(caught.value)


def test_seed_195_196_launches_are_ordered():
    """launch(kernel, dim, [arrays], device=…): what one launch writes the next one reads; numpy() sees it all."""
    dim = 64
    array_x, array_y, array_z = wp.full(dim, 1.0, dtype=float), wp.zeros(dim, dtype=float), wp.zeros(dim, dtype=float)
    # run some kernels
    wp.launch(triple_kernel, dim, [array_x, array_y], device=wp.get_device())
    wp.launch(triple_kernel, dim, [array_y, array_z], device=wp.get_device())
    # bring data back to host (and implicitly synchronize)
    x = array_z.numpy()
    assert (x == 9.0).all()
    wp.synchronize()


def test_seed_198_copies_then_synchronize():
    """copy, synchronize, numpy(): in this order all data is there."""
    source = [wp.full(5, float(k), dtype=float) for k in range(3)]
    cpu_arrays = [wp.empty_like(s) for s in source]
    for to, frm in zip(cpu_arrays, source):
        wp.copy(to, frm)
    # ensure that the copies have finished
    wp.synchronize()
    assert [a.numpy().tolist() for a in cpu_arrays] == [[float(k)] * 5 for k in range(3)]
