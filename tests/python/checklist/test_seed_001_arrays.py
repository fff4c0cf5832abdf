"""The runtime document: launches, arrays, views and products of arrays."""

import numpy as np
import pytest

import warp as wp


@wp.kernel
def complex_kernel(out: wp.array(dtype=int, ndim=3)):
    i, j, k = wp.tid()
    out[i, j, k] = i * 10000 + j * 10 + k


@wp.kernel
def trace(order: wp.array(dtype=int), counter: wp.array(dtype=int)):
    order[wp.atomic_add(counter, 0, 1)] = wp.tid()


@wp.kernel
def simple_kernel(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    tid = wp.tid()
    c[tid] = a[tid] + b[tid]


def test_seed_031_launch_with_a_positional_kernel():
    """launch(kernel, dim=…, inputs=[…], device=…)."""
    a, b, c = wp.full(1024, 1.5, dtype=float), wp.full(1024, 2.0, dtype=float), wp.zeros(1024, dtype=float)
    wp.launch(simple_kernel, dim=1024, inputs=[a, b, c], device=wp.get_device())
    assert (c.numpy() == 3.5).all()


def test_seed_032_033_grids_of_three_dimensions():
    """dim=(128, 128, 3) and i, j, k = wp.tid()."""
    out = wp.zeros((128, 128, 3), dtype=int)
    wp.launch(complex_kernel, dim=(128, 128, 3), inputs=[out])
    i, j, k = np.indices((128, 128, 3))
    np.testing.assert_array_equal(out.numpy(), i * 10000 + j * 10 + k)


@pytest.mark.cpu_only("about threads of the CPU")
def test_seed_034_serial_launches_where_asked_for():
    """CPU launches run on all cores; cpu_threads = 1 gives threads in increasing order, as the document has it."""
    order, counter = wp.zeros(5000, dtype=int), wp.zeros(1, dtype=int)
    wp.config.cpu_threads = 1
    try:
        wp.launch(trace, dim=5000, inputs=[order, counter])
    finally:
        wp.config.cpu_threads = 0
    assert order.list() == list(range(5000))
    order.zero_()
    counter.zero_()
    wp.launch(trace, dim=5000, inputs=[order, counter])
    assert sorted(order.list()) == list(range(5000))


def test_seed_035_inputs_live_on_the_device():
    """An array of another device is a runtime exception; so is an object that has no array there."""
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            wp.launch(simple_kernel, dim=1, inputs=[wp.zeros(1), wp.zeros(1), wp.zeros(1)], device="cuda")
        with pytest.raises(ValueError):
            wp.launch(simple_kernel, dim=1, inputs=[wp.zeros(1), wp.zeros(1), wp.zeros(1)], device="cuda:0")

    class OnGpu:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises(RuntimeError):
        wp.launch(simple_kernel, dim=1, inputs=[OnGpu(), wp.zeros(1), wp.zeros(1)], device="cpu")


def test_seed_036_shapes_as_one_number():
    """empty(shape=n), zeros(shape=n)."""
    assert wp.empty(shape=1024, dtype=wp.vec3, device="cpu").shape == (1024,)
    assert not wp.zeros(shape=1024, dtype=float, device="cpu").numpy().any()


def test_seed_037_numpy_by_copy_and_by_reference():
    """wp.array copies; copy=False shares."""
    r = np.random.rand(1024).astype(np.float32)
    copied = wp.array(r, dtype=float, device="cpu")
    shared = wp.array(r, dtype=float, copy=False, device="cpu")
    r[0] = -5.0
    assert copied[0] != -5.0 and shared[0] == -5.0 and shared.ptr == r.ctypes.data


def test_seed_038_dtype_of_many_dimensions():
    """(n, 3) data as vec3; a shape that doesn't fit is an error that names it."""
    r = np.random.rand(1024, 3)
    assert wp.array(r, dtype=wp.vec3, device="cpu").shape == (1024,)
    with pytest.raises(RuntimeError):
        wp.array(np.random.rand(1024, 2), dtype=wp.vec3, device="cpu")


def test_seed_039_040_to_and_copy():
    """host_array.to(device), wp.empty_like, wp.copy(dest, src)."""
    host_array = wp.array(np.arange(8.0), dtype=float, device="cpu")
    device_array = host_array.to("cpu")
    dest_array = wp.empty_like(host_array)
    wp.copy(dest_array, device_array)
    assert dest_array.list() == host_array.list()


def test_seed_041_arrays_of_two_dimensions():
    """zeros(shape=(1024, 16))."""
    a = wp.zeros(shape=(1024, 16), dtype=float, device="cpu")
    assert a.shape == (1024, 16) and a.ndim == 2 and a.size == 1024 * 16


@wp.func
def total(row: wp.array(dtype=float)):
    s = float(0.0)
    for k in range(row.shape[0]):
        s += row[k]
    return s


@wp.kernel
def rows(input: wp.array(dtype=float, ndim=2), out: wp.array(dtype=float)):
    i = wp.tid()
    # returns a float from the 2d array
    value = input[i, 0]
    # returns an 1d array slice representing a row of the 2d array
    row = input[i]
    out[i] = total(row) + 100.0 * value


@wp.kernel
def chained(array: wp.array3d(dtype=int), out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    s = array[i][j][k]
    out[i, j, k] = s


def test_seed_042_the_rank_belongs_to_the_signature():
    """A kernel that names ndim=2 takes arrays of two dimensions only."""
    with pytest.raises(RuntimeError):
        wp.launch(rows, dim=1, inputs=[wp.zeros(4, dtype=float), wp.zeros(1, dtype=float)])
    with pytest.raises(RuntimeError):
        wp.launch(simple_kernel, dim=1, inputs=[wp.zeros((1, 1)), wp.zeros(1), wp.zeros(1)])


def test_seed_043_helpers_for_ranks():
    """array1d … array4d equal array(…, ndim=k)."""
    for k, helper in enumerate((wp.array1d, wp.array2d, wp.array3d, wp.array4d), start=1):
        one, other = helper(dtype=float), wp.array(dtype=float, ndim=k)
        assert one.ndim == other.ndim == k and one.dtype is other.dtype


def test_seed_044_045_046_elements_rows_and_functions_on_rows():
    """input[i, j], row = input[i], array[i][j][k], a row passed to a function that takes an array."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = wp.zeros(3, dtype=float)
    wp.launch(rows, dim=3, inputs=[wp.array(values), out])
    np.testing.assert_array_equal(out.numpy(), values.sum(axis=1) + 100.0 * values[:, 0])
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    copied = wp.zeros((2, 3, 4), dtype=int)
    wp.launch(chained, dim=cube.shape, inputs=[wp.array(cube), copied])
    np.testing.assert_array_equal(copied.numpy(), cube)


def test_seed_047_four_dimensions_at_most():
    """Four dimensions besides those of the element type; a fifth is an error."""
    assert wp.zeros((1, 2, 3, 4), dtype=wp.mat33).numpy().shape == (1, 2, 3, 4, 3, 3)
    with pytest.raises((RuntimeError, ValueError)):
        wp.zeros((1, 1, 1, 1, 1), dtype=float)
    with pytest.raises((RuntimeError, ValueError)):
        wp.array(np.zeros((1, 1, 1, 1, 1), dtype=np.float32))


def test_seed_048_constructors_and_clone():
    """zeros, zeros_like, empty, empty_like, copy, clone, array."""
    a = wp.array([1.0, 2.0], dtype=float)
    b = wp.clone(a)
    b[0] = 5.0
    assert a.list() == [1.0, 2.0] and b.list() == [5.0, 2.0]
    assert wp.zeros_like(a).list() == [0.0, 0.0]
    c = wp.empty_like(a)
    wp.copy(c, a)
    assert c.list() == a.list()


def test_seed_049_matmul():
    """D = alpha A B + beta C."""
    rng = np.random.default_rng(2)
    an, bn, cn = (rng.random(s, dtype=np.float32) for s in ((4, 5), (5, 6), (4, 6)))
    A, B, C = wp.array2d(an, dtype=float), wp.array2d(bn, dtype=float), wp.array2d(cn, dtype=float)
    D = wp.zeros((4, 6), dtype=float)
    device = "cpu"
    wp.matmul(A, B, C, D, device=device)
    np.testing.assert_allclose(D.numpy(), an @ bn, rtol=1e-5)
    wp.matmul(A, B, C, D, alpha=2.0, beta=0.5, device=device)
    np.testing.assert_allclose(D.numpy(), 2.0 * (an @ bn) + 0.5 * cn, rtol=1e-5)


def test_seed_050_the_matrix_product_operator():
    """D = A @ B."""
    an, bn = np.random.rand(3, 2).astype(np.float32), np.random.rand(2, 4).astype(np.float32)
    A, B = wp.array(an, dtype=float), wp.array(bn, dtype=float)
    D = A @ B
    assert isinstance(D, wp.array)
    np.testing.assert_allclose(D.numpy(), an @ bn, rtol=1e-5)
