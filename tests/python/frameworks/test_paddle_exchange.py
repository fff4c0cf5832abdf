"""Paddle's tensors as arrays and back: memory, types, gradients, devices by stand-ins where Paddle has no CUDA build."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp

from process_support import needs

needs("paddle")
import paddle  # noqa: E402

pytestmark = pytest.mark.cpu_only("PyPI's Paddle is built for the CPU")

SCALARS = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def squares(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * x[i])


@pytest.mark.parametrize("name", SCALARS)
def test_types_both_ways(name):
    kind, scalar = getattr(paddle, name), getattr(wp, name)
    assert wp.dtype_from_paddle(kind) is scalar and wp.dtype_to_paddle(scalar) == kind
    assert wp.paddle.dtype_is_compatible(kind, scalar)
    tensor = paddle.ones([2, 3], dtype="float32").astype(kind)
    array = wp.from_paddle(tensor)
    assert array.dtype is scalar and array.shape == (2, 3) and array.ptr == tensor.data_ptr()
    back = wp.to_paddle(array)
    assert back.dtype == kind and back.shape == [2, 3] and back.data_ptr() == tensor.data_ptr()


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_unsigned_types_are_seen_as_signed(name):
    scalar, twin = getattr(wp, name), getattr(paddle, name[1:])
    assert wp.dtype_to_paddle(scalar) == twin
    array = wp.full(4, 7, dtype=scalar, device="cpu")
    tensor = wp.to_paddle(array)
    assert tensor.dtype == twin and tensor.numpy().tolist() == [7] * 4 and tensor.data_ptr() == array.ptr
    assert wp.from_paddle(tensor, dtype=scalar).dtype is scalar
    vectors = wp.to_paddle(wp.zeros(2, dtype=wp.types.vector(3, scalar), device="cpu"))
    assert vectors.shape == [2, 3] and vectors.dtype == twin


def test_types_without_a_partner():
    for wrong in (paddle.complex64, "float32", 3):
        with pytest.raises(TypeError):
            wp.dtype_from_paddle(wrong)

    @wp.struct
    class Pair:
        a: float

    with pytest.raises(TypeError):
        wp.dtype_to_paddle(Pair)
    assert not wp.paddle.dtype_is_compatible(paddle.float32, wp.float64)
    assert wp.paddle.dtype_is_compatible(paddle.bool, wp.uint8)
    assert not wp.paddle.dtype_is_compatible(paddle.int8, wp.bool)
    with pytest.raises(RuntimeError):
        wp.from_paddle(paddle.ones([2], dtype="complex64"))
    with pytest.raises(RuntimeError):
        wp.to_paddle(wp.zeros(2, dtype=Pair, device="cpu"))


@pytest.mark.parametrize(
    "dtype, shape, folded",
    [
        (wp.vec2, [5, 2], (5,)),
        (wp.vec3, [3], (1,)),
        (wp.mat22, [4, 3, 2, 2], (4, 3)),
        (wp.quat, [6, 4], (6,)),
        (wp.transform, [2, 7], (2,)),
    ],
)
def test_trailing_dimensions_fold(dtype, shape, folded):
    tensor = paddle.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
    array = wp.from_paddle(tensor, dtype=dtype)
    assert array.shape == folded and array.dtype is dtype
    np.testing.assert_array_equal(array.numpy().ravel(), tensor.numpy().ravel())


def test_shapes_that_do_not_fold():
    with pytest.raises(RuntimeError):
        wp.from_paddle(paddle.ones([5, 2]), dtype=wp.vec3)
    with pytest.raises(RuntimeError):
        wp.from_paddle(paddle.ones([1, 1, 1, 1, 2]))
    with pytest.raises(RuntimeError):
        wp.from_paddle(paddle.ones([2, 5]).t(), dtype=wp.vec2)
    assert wp.from_paddle(paddle.to_tensor(3.0)).shape == (1,)


def test_strides_stay():
    tensor = paddle.arange(12, dtype="float32").reshape([3, 4])
    turned = wp.from_paddle(tensor.t())
    assert turned.shape == (4, 3) and turned.strides == (4, 16) and turned.ptr == tensor.data_ptr()
    np.testing.assert_array_equal(turned.numpy(), tensor.numpy().T)
    back = wp.to_paddle(turned[1:, ::2])
    np.testing.assert_array_equal(back.numpy(), tensor.numpy().T[1:, ::2])


def test_memory_is_shared_and_kept():
    tensor = paddle.ones([8])
    array = wp.from_paddle(tensor)
    wp.launch(saxpy, dim=8, inputs=[array, array, 2.0], device="cpu")
    assert tensor.numpy().tolist() == [3.0] * 8
    del tensor
    gc.collect()
    others = [paddle.zeros([8]) for _ in range(10)]
    assert array.numpy().tolist() == [3.0] * 8 and len(others) == 10

    made = wp.to_paddle(wp.full(1000, 5.0, device="cpu"))
    gc.collect()
    others = [wp.zeros(1000, device="cpu") for _ in range(10)]
    assert set(made.numpy().tolist()) == {5.0} and len(others) == 10


def test_tensors_straight_to_launch():
    x, y = paddle.arange(6, dtype="float32"), paddle.ones([6])
    for _ in range(3):
        wp.launch(saxpy, dim=6, inputs=[x, y, 1.0], device="cpu")
    np.testing.assert_array_equal(y.numpy(), 3.0 * np.arange(6) + 1.0)


def test_descriptors():
    for n in range(1, 10):
        x, y = paddle.arange(n, dtype="float32"), paddle.ones([n])
        a, b = wp.from_paddle(x, return_ctype=True), wp.from_paddle(y, return_ctype=True)
        assert isinstance(a, wp.types.array_t)
        wp.launch(saxpy, dim=n, inputs=[a, b, 2.0], device="cpu")
        np.testing.assert_array_equal(y.numpy(), 2.0 * np.arange(n) + 1.0)
    with pytest.raises(TypeError):
        wp.copy(a, b)


def leaf(*values: float) -> paddle.Tensor:
    tensor = paddle.to_tensor(list(values), dtype="float32")
    tensor.stop_gradient = False
    return tensor


def backward(x: wp.array) -> None:
    out = wp.zeros(1, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        wp.launch(squares, dim=x.shape[0], inputs=[x], outputs=[out], device="cpu")
    tape.backward(out)


def test_gradients_are_the_tensors():
    x = leaf(1.0, 2.0, 3.0)
    array = wp.from_paddle(x)
    assert array.requires_grad and array.grad.ptr == x.grad.data_ptr()
    backward(array)
    assert x.grad.numpy().tolist() == [2.0, 4.0, 6.0]
    again = wp.from_paddle(x)  # the one that is there
    assert again.grad.ptr == x.grad.data_ptr()
    (x * x).sum().backward()  # Paddle adds to the same
    assert array.grad.numpy().tolist() == [4.0, 8.0, 12.0]


def test_gradients_on_request():
    x = leaf(1.0, 2.0)
    assert not wp.from_paddle(x, requires_grad=False).requires_grad and x.grad is None
    own = wp.zeros(2, device="cpu")
    array = wp.from_paddle(x, grad=own)
    backward(array)
    assert own.numpy().tolist() == [2.0, 4.0] and x.grad is None
    given = paddle.zeros([2])
    backward(wp.from_paddle(x, grad=given))
    assert given.numpy().tolist() == [2.0, 4.0]
    frozen = paddle.ones([2])
    asked = wp.from_paddle(frozen, requires_grad=True)
    backward(asked)
    assert asked.grad.numpy().tolist() == [2.0, 2.0] and frozen.grad.data_ptr() == asked.grad.ptr and frozen.stop_gradient
    with pytest.raises(RuntimeError, match="gradient"):
        wp.from_paddle(x, grad=wp.zeros(3, device="cpu"))
    with pytest.raises(TypeError, match="gradient"):
        wp.from_paddle(x, grad="much")


def test_gradients_stay_private_inside_of_layers_and_for_results():
    x = leaf(1.0, 2.0)
    result = x * 2.0
    assert wp.from_paddle(result).requires_grad and result.grad is None
    with paddle.no_grad():
        assert wp.from_paddle(x).requires_grad
    assert x.grad is None


class Squares(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = wp.from_paddle(x, requires_grad=True)
        ctx.out = wp.zeros(1, requires_grad=True, device="cpu")
        wp.launch(squares, dim=ctx.x.shape[0], inputs=[ctx.x], outputs=[ctx.out], device="cpu")
        return wp.to_paddle(ctx.out, requires_grad=False)

    @staticmethod
    def backward(ctx, grad):
        ctx.out.grad = wp.from_paddle(grad)
        wp.launch(
            squares,
            dim=ctx.x.shape[0],
            inputs=[ctx.x],
            outputs=[ctx.out],
            adj_inputs=[ctx.x.grad],
            adj_outputs=[ctx.out.grad],
            adjoint=True,
            device="cpu",
        )
        return wp.to_paddle(ctx.x.grad)


def test_a_layer_of_paddle():
    x = leaf(1.0, 2.0, 3.0)
    (3.0 * Squares.apply(x)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 12.0, 18.0])  # once, not twice


def test_arrays_with_gradients_as_parameters():
    array = wp.array([1.0, 2.0], dtype=float, requires_grad=True, device="cpu")
    tensor = wp.to_paddle(array)
    assert not tensor.stop_gradient and tensor.grad.data_ptr() == array.grad.ptr
    assert wp.to_paddle(array, requires_grad=False).stop_gradient
    (tensor * tensor).sum().backward()
    assert array.grad.numpy().tolist() == [2.0, 4.0]


def test_what_is_no_tensor():
    for wrong in (None, 3, "x", np.ones(3, np.float32)):
        with pytest.raises(TypeError, match="from_paddle"):
            wp.from_paddle(wrong)
    for wrong in (None, 3, np.ones(3)):
        with pytest.raises(TypeError, match="to_paddle"):
            wp.to_paddle(wrong)
    with pytest.raises(RuntimeError):
        wp.to_paddle(wp.array(dtype=float))
    sparse = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])
    with pytest.raises((RuntimeError, TypeError)):
        wp.from_paddle(sparse)


class Place:
    """As Paddle's, which a CPU build does not make for GPUs."""

    def __init__(self, kind: str, number: int = 0):
        self.kind, self.number = kind, number

    def is_cpu_place(self) -> bool:
        return self.kind == "cpu"

    def is_gpu_place(self) -> bool:
        return self.kind == "gpu"

    def is_cuda_pinned_place(self) -> bool:
        return self.kind == "pinned"

    def gpu_device_id(self) -> int:
        return self.number


def test_devices():
    assert wp.device_from_paddle(paddle.CPUPlace()) == "cpu"
    assert wp.device_from_paddle(paddle.ones([1]).place) == "cpu"
    assert wp.device_from_paddle("cpu") == wp.device_from_paddle(Place("pinned")) == "cpu"
    assert wp.device_to_paddle("cpu") == "cpu"
    with pytest.raises(TypeError):
        wp.device_from_paddle(3)
    for strange in ("xpu:0", "gpu:x", Place("xpu")):
        with pytest.raises(RuntimeError):
            wp.device_from_paddle(strange)
    if wp.is_cuda_available():
        assert wp.device_from_paddle("gpu") == wp.device_from_paddle(Place("gpu")) == "cuda:0"
        assert wp.device_to_paddle("cuda:0") == "gpu:0"
    else:
        with pytest.raises((RuntimeError, ValueError)):
            wp.device_from_paddle("gpu:0")
        with pytest.raises(RuntimeError):
            wp.stream_from_paddle("cpu")


def test_no_growth():
    tensor = leaf(*range(64))
    array = wp.ones(64, device="cpu")

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    def rounds(count: int) -> None:
        for _ in range(count):
            wp.from_paddle(tensor)
            wp.from_paddle(tensor, return_ctype=True)
            wp.to_paddle(array)

    rounds(2000)
    before = resident()
    rounds(10000)
    assert resident() - before < 2 << 20


def test_a_gpu_of_stand_ins(monkeypatch):
    """Streams and places of CUDA devices, with stand-ins for Paddle's."""
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    device = wp.get_device("cuda:0")
    own = wp.Stream(device)

    class Base:
        cuda_stream = own.cuda_stream

    class Current:
        stream_base, device = Base(), "gpu:0"

    monkeypatch.setattr(paddle.device, "current_stream", lambda name: Current())
    for given in (None, "gpu:0", device, Place("gpu"), Current()):
        assert wp.stream_from_paddle(given).cuda_stream == own.cuda_stream


def test_dlpack_of_tensors_on_the_host():
    """Paddle's host has a device type, but no number."""
    tensor = paddle.arange(6, dtype="float32").reshape([2, 3])
    array = wp.from_dlpack(tensor, dtype=wp.vec3)
    assert array.shape == (2,) and array.ptr == tensor.data_ptr()


def test_sparse_tensors_say_what_to_call():
    with pytest.raises(RuntimeError, match="it is sparse; pass .to_dense\\(\\)"):
        wp.from_paddle(paddle.eye(3).to_sparse_coo(2))
