"""The oldest runtime document, statement by statement: settings, kernels, arrays, copies, types."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import warp as wp


@wp.kernel
def simple_kernel(a: wp.array(dtype=wp.vec3),
                  b: wp.array(dtype=wp.vec3),
                  c: wp.array(dtype=float)):

    # get thread index
    tid = wp.tid()

    # load two vec3s
    x = a[tid]
    y = b[tid]

    # compute the dot product between vectors
    r = wp.dot(x, y)

    # write result back to memory
    c[tid] = r


@wp.kernel
def count_up(x: wp.array(dtype=int)):
    x[wp.tid()] = wp.tid() + 1


def run_python(text: str) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_seed_001_debug_mode_is_set_before_init():
    """config.mode = "debug" before init: kernels check themselves."""
    out = run_python(
        """
import linecache, textwrap
import warp as wp
wp.config.mode = "debug"
wp.config.verify_cuda = True
wp.init()
text = textwrap.dedent('''
    @wp.kernel
    def beyond(x: wp.array(dtype=float)):
        x[wp.tid() + 4] = 1.0
''')
k = wp.context.kernel_from_text(text, "beyond", {"wp": wp})
try:
    wp.launch(k, dim=1, inputs=[wp.zeros(4, dtype=float)])
except RuntimeError as e:
    print("caught", "out of bounds" in str(e))
"""
    )
    assert "caught True" in out


def test_seed_002_verify_cuda_can_be_set():
    """config.verify_cuda checks after each launch on a GPU; on the CPU it changes nothing."""
    wp.config.verify_cuda = True
    try:
        x = wp.zeros(3, dtype=int)
        wp.launch(count_up, dim=3, inputs=[x])
        assert x.list() == [1, 2, 3]
    finally:
        wp.config.verify_cuda = False


def test_seed_003_init_takes_options_that_were_set_before():
    """init starts the runtime with the options of that moment; calling it again is harmless."""
    out = run_python("import warp as wp\nwp.config.quiet = True\nwp.init()\nwp.init()\nprint(wp.is_cpu_available())")
    assert out == "True\n"


def test_seed_004_kernels_run_any_number_of_threads():
    """@wp.kernel makes a kernel of a function; any number of threads runs it."""
    assert isinstance(simple_kernel, wp.Kernel)
    for n in (0, 1, 7, 64, 1000, 100_003):
        x = wp.zeros(n, dtype=int)
        wp.launch(count_up, dim=n, inputs=[x])
        assert np.array_equal(x.numpy(), np.arange(1, n + 1))


def test_seed_005_006_007_008_the_first_kernel():
    """Annotations with wp.array, thread index, element load and store, dot of vec3."""
    rng = np.random.default_rng(1)
    an, bn = rng.random((1024, 3), dtype=np.float32), rng.random((1024, 3), dtype=np.float32)
    a = wp.array(an, dtype=wp.vec3)
    b = wp.array(bn, dtype=wp.vec3)
    c = wp.zeros(1024, dtype=float)
    wp.launch(simple_kernel, dim=1024, inputs=[a, b, c], device=wp.get_device())
    np.testing.assert_allclose(c.numpy(), (an * bn).sum(axis=1), rtol=1e-5)


def test_seed_009_launch_on_a_device():
    """launch runs on the named device; a device that isn't there is an exception."""
    x = wp.zeros(2, dtype=int)
    wp.launch(count_up, dim=2, inputs=[x], device=wp.get_device())
    assert x.list() == [1, 2]
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            wp.launch(count_up, dim=2, inputs=[x], device="cuda")
    with pytest.raises(ValueError, match="Invalid device identifier"):
        wp.launch(count_up, dim=2, inputs=[x], device="gpu7")


def test_seed_010_011_the_old_keyword_n():
    """empty and zeros take their length as n=."""
    assert wp.empty(n=1024, dtype=wp.vec3, device="cpu").shape == (1024,)
    z = wp.zeros(n=1024, dtype=float, device="cpu")
    assert z.shape == (1024,) and not z.numpy().any()
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            wp.zeros(n=1024, dtype=float, device="cuda")


def test_seed_012_arrays_from_numpy_copy_and_convert():
    """A float64 source becomes float32; the array owns its data."""
    r = np.random.rand(1024)
    a = wp.array(r, dtype=float, device="cpu")
    assert a.dtype is wp.float32
    np.testing.assert_array_equal(a.numpy(), r.astype(np.float32))
    r[:] = 0.0
    assert a.numpy().any()


def test_seed_013_copy_false_wraps_numpy_memory():
    """copy=False shares memory where the types agree, and converts where they don't."""
    r = np.random.rand(1024).astype(np.float32)
    a = wp.array(r, dtype=float, copy=False, device="cpu")
    r[3] = 77.0
    assert a[3] == 77.0
    wide = np.random.rand(1024)
    a = wp.array(wide, dtype=float, copy=False, device="cpu")
    np.testing.assert_array_equal(a.numpy(), wide.astype(np.float32))


def test_seed_015_vectors_need_their_dtype():
    """An (n, 3) source becomes n vec3 when dtype says so, a 2-d array of numbers otherwise."""
    r = np.random.rand(1024, 3)
    a = wp.array(r, dtype=wp.vec3)
    assert a.shape == (1024,) and a.dtype is wp.vec3
    assert wp.array(r).shape == (1024, 3)


def test_seed_016_shapes_that_do_not_fit():
    """Rows of four can't become vec3."""
    with pytest.raises(RuntimeError):
        wp.array(np.random.rand(10, 4), dtype=wp.vec3)


def test_seed_017_to_another_device():
    """array.to(device): the same array where it is there already."""
    host_array = wp.array([1.0, 2.0], dtype=float, device="cpu")
    assert host_array.to("cpu") is host_array
    if not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            host_array.to("cuda")


def test_seed_018_arrays_from_arrays():
    """wp.array(a, …) of another array copies it."""
    a = wp.array([1.0, 2.0, 3.0], dtype=float)
    b = wp.array(a, dtype=float, device="cpu")
    b[0] = 9.0
    assert a.list() == [1.0, 2.0, 3.0] and b.list() == [9.0, 2.0, 3.0]


def test_seed_019_020_empty_like_and_copy():
    """A destination of the same kind, filled by wp.copy."""
    src_array = wp.array(np.arange(12).reshape(3, 4), dtype=float, device="cpu")
    dest_array = wp.empty_like(src_array)
    assert dest_array.shape == (3, 4) and dest_array.dtype is wp.float32 and dest_array.ptr != src_array.ptr
    wp.copy(dest_array, src_array)
    np.testing.assert_array_equal(dest_array.numpy(), src_array.numpy())


def test_seed_021_the_documented_constructors():
    """zeros, zeros_like, empty, empty_like."""
    a = wp.zeros((2, 3), dtype=wp.vec2)
    assert not wp.zeros_like(wp.ones(5, dtype=int)).numpy().any()
    assert wp.empty(4, dtype=wp.float64).dtype is wp.float64
    assert wp.empty_like(a).shape == (2, 3)


def test_seed_024_launch_by_keywords_without_dim():
    """launch(kernel=, inputs=, device=): without dim the first array's shape is the grid."""
    x = wp.zeros(5, dtype=int)
    wp.launch(kernel=count_up, inputs=[x], device=wp.get_device())
    assert x.list() == [1, 2, 3, 4, 5]


@wp.kernel
def old_types(
    v3: wp.vec3, v4: wp.vec4, q: wp.quat, m2: wp.mat22, m3: wp.mat33, m4: wp.mat44, out: wp.array(dtype=float)
):
    out[0] = v3[2] + v4[3] + q[3] + m2[1, 1] + m3[2, 2] + m4[3, 3]


def test_seed_025_the_first_types():
    """vec3, vec4, quat, mat22, mat33, mat44 as values, parameters and element types."""
    out = wp.zeros(1, dtype=float)
    wp.launch(
        old_types,
        dim=1,
        inputs=[
            wp.vec3(1.0, 2.0, 3.0),
            wp.vec4(1.0, 2.0, 3.0, 4.0),
            wp.quat(0.0, 0.0, 0.0, 1.0),
            wp.mat22(1.0, 2.0, 3.0, 4.0),
            wp.mat33(*range(9)),
            wp.mat44(*range(16)),
            out,
        ],
    )
    assert out[0] == 3.0 + 4.0 + 1.0 + 4.0 + 8.0 + 15.0
    for t in (wp.vec3, wp.vec4, wp.quat, wp.mat22, wp.mat33, wp.mat44):
        assert wp.zeros(2, dtype=t).dtype is t


def test_seed_026_the_spatial_types():
    """spatial_transform is the old name of transform; spatial vectors have 6, spatial matrices 6 by 6 numbers."""
    assert wp.spatial_transform is wp.transform
    assert len(wp.spatial_vector()) == 6
    assert wp.spatial_matrix._shape_ == (6, 6)
    for t, shape in ((wp.spatial_transform, (2, 7)), (wp.spatial_vector, (2, 6)), (wp.spatial_matrix, (2, 6, 6))):
        assert wp.zeros(2, dtype=t).numpy().shape == shape
