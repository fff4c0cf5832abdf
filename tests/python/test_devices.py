"""Arrays and launches that work alike on every device: making, copying, filling, views, launches of all sorts."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import warp as wp

SCALARS = [wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64]
SCALARS += [wp.float16, wp.float32, wp.float64, wp.bool]


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def coordinates(out: wp.array(dtype=wp.vec4i, ndim=4)):
    i, j, k, m = wp.tid()
    out[i, j, k, m] = wp.vec4i(i, j, k, m)


@wp.kernel
def count_threads(total: wp.array(dtype=int)):
    wp.atomic_add(total, 0, 1)


@wp.struct
class Particle:
    x: wp.vec3
    mass: float
    values: wp.array(dtype=float)


@wp.kernel
def move(p: Particle, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = p.x * p.mass + wp.vec3(p.values[i], 0.0, 0.0)


@wp.kernel
def scale_any(x: wp.array(dtype=wp.Any), s: wp.Any):
    i = wp.tid()
    x[i] = x[i] * s


def test_the_first_kernel(device: wp.Device) -> None:
    x = wp.array(np.arange(1000, dtype=np.float32), device=device)
    y = wp.ones(1000, dtype=float, device=device)
    assert x.device is device and y.device is device
    wp.launch(saxpy, dim=1000, inputs=[2.0, x, y], device=device)
    np.testing.assert_array_equal(y.numpy(), 2 * np.arange(1000, dtype=np.float32) + 1)


def test_the_current_device_is_used(device: wp.Device) -> None:
    x = wp.zeros(10)
    assert x.device is device and wp.get_device() is device
    wp.launch(saxpy, dim=10, inputs=[1.0, wp.full(10, 3.0), x])
    assert x.list() == [3.0] * 10


@pytest.mark.parametrize("dtype", SCALARS)
def test_fills_of_every_scalar(device: wp.Device, dtype: type) -> None:
    a = wp.zeros((5, 7), dtype=dtype)
    a.fill_(3)
    assert (a.numpy() == np.array(3).astype(a.numpy().dtype)).all()
    a[1:4, ::2].fill_(1)
    expected = np.full((5, 7), 3).astype(a.numpy().dtype)
    expected[1:4, ::2] = 1
    np.testing.assert_array_equal(a.numpy(), expected)
    a.zero_()
    assert not a.numpy().any()


COMPOSITES = [wp.vec2, wp.vec3, wp.vec4, wp.mat22, wp.mat33, wp.mat44, wp.quat, wp.transform, wp.vec3d]


@pytest.mark.parametrize("dtype", COMPOSITES)
def test_fills_of_composites(device: wp.Device, dtype: type) -> None:
    size = wp.zeros(1, dtype=dtype).numpy().size
    value = np.arange(1, size + 1, dtype=np.float64)
    a = wp.zeros((4, 6), dtype=dtype)
    shape = a.numpy().shape[2:]
    a[:, 1::2].fill_(dtype(*value.tolist()))
    assert not a.numpy()[:, ::2].any()
    assert (a.numpy()[:, 1::2] == value.reshape(shape)).all()
    b = wp.full((3,), dtype(*value.tolist()), dtype=dtype)
    assert (b.numpy() == value.reshape(shape)).all()


def test_copies_between_all_layouts(device: wp.Device) -> None:
    values = np.arange(4 * 6 * 5, dtype=np.float64).reshape(4, 6, 5)
    a = wp.array(values, dtype=wp.float64)
    np.testing.assert_array_equal(a.numpy(), values)
    np.testing.assert_array_equal(a.transpose().numpy(), values.transpose())
    np.testing.assert_array_equal(a[1:3, ::-2, 4:0:-3].numpy(), values[1:3, ::-2, 4:0:-3])
    b = wp.zeros((4, 6, 5), dtype=wp.float64)
    wp.copy(b[::2, :, 1:], a[1::2, :, :4])
    expected = np.zeros_like(values)
    expected[::2, :, 1:] = values[1::2, :, :4]
    np.testing.assert_array_equal(b.numpy(), expected)
    np.testing.assert_array_equal(wp.clone(a[:, 2]).numpy(), values[:, 2])
    a.assign(values * 2)
    np.testing.assert_array_equal(a.numpy(), values * 2)
    wp.copy(a.flatten(), b.flatten(), dest_offset=3, src_offset=10, count=50)
    expected = (values * 2).reshape(-1)
    expected[3:53] = b.numpy().reshape(-1)[10:60]
    np.testing.assert_array_equal(a.numpy().reshape(-1), expected)


def test_copies_between_devices(device: wp.Device) -> None:
    values = np.random.default_rng(1).random((30, 20)).astype(np.float32)
    host = wp.array(values, device="cpu")
    there = host.to(device)
    assert there.device is device
    back = there.to("cpu")
    np.testing.assert_array_equal(back.numpy(), values)
    wp.copy(host[::3, ::2], there[1::3, 1::2])
    values[::3, ::2] = values[1::3, 1::2]
    np.testing.assert_array_equal(host.numpy(), values)
    there.transpose().assign(host.transpose())
    np.testing.assert_array_equal(there.numpy(), values)


def test_elements_and_slices_from_python(device: wp.Device) -> None:
    a = wp.array(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert a[1, 2] == 6.0
    a[1, 2] = 60.0
    a[0] = 5.0
    a[2, 1:3] = [7.0, 8.0]
    np.testing.assert_array_equal(a.numpy(), [[5, 5, 5, 5], [4, 5, 60, 7], [8, 7, 8, 11]])
    v = wp.zeros(3, dtype=wp.vec3)
    v[1] = wp.vec3(1.0, 2.0, 3.0)
    assert v[1] == wp.vec3(1.0, 2.0, 3.0) and v.list()[2] == wp.vec3(0.0, 0.0, 0.0)
    assert "1." in repr(v) and "vec3" in repr(v)


def test_four_dimensions_and_odd_extents(device: wp.Device) -> None:
    out = wp.zeros((3, 5, 7, 11), dtype=wp.vec4i)
    wp.launch(coordinates, dim=out.shape, inputs=[out])
    expected = np.stack(np.meshgrid(*map(np.arange, out.shape), indexing="ij"), axis=-1)
    np.testing.assert_array_equal(out.numpy(), expected)


GRIDS = [{}, {"block_dim": 32}, {"block_dim": 1024}, {"max_blocks": 3}, {"max_blocks": 1, "block_dim": 1}]


@pytest.mark.parametrize("options", GRIDS)
def test_every_thread_runs_once(device: wp.Device, options: dict) -> None:
    total = wp.zeros(1, dtype=int)
    wp.launch(count_threads, dim=10007, inputs=[total], **options)
    assert total.list() == [10007]


def test_launches_over_nothing(device: wp.Device) -> None:
    total = wp.zeros(1, dtype=int)
    wp.launch(count_threads, dim=0, inputs=[total])
    wp.launch(count_threads, dim=(4, 0), inputs=[total])
    assert total.list() == [0] and wp.zeros(0).numpy().shape == (0,)


def test_structs_with_arrays(device: wp.Device) -> None:
    p = Particle()
    p.x, p.mass, p.values = wp.vec3(1.0, 2.0, 3.0), 2.0, wp.array([10.0, 20.0], dtype=float)
    out = wp.zeros(2, dtype=wp.vec3)
    wp.launch(move, dim=2, inputs=[p], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), [[12, 4, 6], [22, 4, 6]])


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64, wp.int32, wp.int64])
def test_generic_kernels(device: wp.Device, dtype: type) -> None:
    x = wp.array(np.arange(5), dtype=dtype)
    wp.launch(scale_any, dim=5, inputs=[x, dtype(3)])
    np.testing.assert_array_equal(x.numpy(), (np.arange(5) * 3).astype(x.numpy().dtype))


def test_recorded_launches(device: wp.Device) -> None:
    x, y = wp.ones(8), wp.zeros(8)
    launch = wp.launch(saxpy, dim=8, inputs=[2.0, x, y], record_cmd=True)
    assert launch.device is device
    launch.launch()
    launch.set_param_by_name("a", 10.0)
    launch.launch()
    launch.set_param_at_index(2, other := wp.zeros(8))
    launch.set_dim(4)
    launch.launch()
    assert y.list() == [12.0] * 8 and other.list() == [10.0] * 4 + [0.0] * 4


def test_gradients_of_a_launch(device: wp.Device) -> None:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    y.grad.fill_(1.0)
    wp.launch(saxpy, dim=3, inputs=[4.0, x, y], adjoint=True)
    assert x.grad.list() == [4.0] * 3 and x.grad.device is device


def test_large_elements(device: wp.Device) -> None:
    big = wp.types.matrix(shape=(16, 17), dtype=wp.float64)
    value = np.arange(16 * 17, dtype=np.float64).reshape(16, 17)
    a = wp.full(5, big(*value.reshape(-1).tolist()), dtype=big)
    assert (a.numpy() == value).all()


def test_arrays_of_another_device_are_refused(device: wp.Device) -> None:
    if not wp.is_cuda_available():
        pytest.skip("there is no second device")
    other = wp.zeros(4, dtype=int, device="cpu" if device.is_cuda else "cuda")
    with pytest.raises(RuntimeError, match=f"the launch runs on {device}, but the array is on {other.device}"):
        wp.launch(count_threads, dim=1, inputs=[other], device=device)


def test_maps_and_operators(device: wp.Device) -> None:
    a, b = wp.array([1.0, 2.0, 3.0], dtype=float), wp.full(3, 2.0)
    c = a * b + 1.0
    assert c.device is device and c.list() == [3.0, 5.0, 7.0]
    assert wp.map(wp.sqrt, wp.full(2, 9.0)).list() == [3.0, 3.0]


def test_utilities(device: wp.Device) -> None:
    a = wp.array(np.array([3, 1, 2, 0, 0, 0], dtype=np.int32))
    b = wp.array(np.arange(6, dtype=np.int32))
    wp.utils.radix_sort_pairs(a, b, 3)
    assert a.list()[:3] == [1, 2, 3] and b.list()[:3] == [1, 2, 0]
    out = wp.zeros(3, dtype=int)
    wp.utils.array_scan(wp.full(3, 2, dtype=int), out)
    assert out.list() == [2, 4, 6] and out.device is device
    assert wp.utils.array_sum(wp.full(10, 0.5)) == 5.0


def test_programs_on_the_cpu_do_not_open_the_driver() -> None:
    program = """
import warp as wp
from warp import _weft
x = wp.zeros(4, device="cpu")
x.fill_(2.0)
wp.synchronize()
assert x.device == "cpu" and x.numpy().sum() == 8.0 and not _weft.cuda_is_open()
wp.get_devices()
assert _weft.cuda_is_open()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_names_of_devices_that_are_not_there() -> None:
    count = wp.get_cuda_device_count()
    with pytest.raises(ValueError, match=f"Invalid device identifier: cuda:{count}"):
        wp.get_device(f"cuda:{count}")
    for name in ("cuda:-1", "cuda:x", "gpu", "cuda:0:1", ""):
        with pytest.raises(ValueError, match="Invalid device identifier"):
            wp.get_device(name)
    if count == 0:
        with pytest.raises(RuntimeError, match="CUDA is not available: no device 'cuda'"):
            wp.zeros(3, device="cuda")
        assert not wp.is_cuda_available()
