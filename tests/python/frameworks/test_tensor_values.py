"""Tensors where a kernel, a struct or an array takes a value: numbers, vectors, matrices."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from process_support import needs

pytestmark = pytest.mark.cpu_only("values are packed on the host, whatever device the kernel runs on")


@wp.kernel
def set_vectors(out: wp.array(dtype=wp.vec3), value: wp.vec3):
    out[wp.tid()] = value


@wp.kernel
def set_integers(out: wp.array(dtype=wp.vec3i), value: wp.vec3i):
    out[wp.tid()] = value


@wp.kernel
def set_matrices(out: wp.array(dtype=wp.mat22), value: wp.mat22):
    out[wp.tid()] = value


@wp.kernel
def set_quaternions(out: wp.array(dtype=wp.quat), value: wp.quat):
    out[wp.tid()] = value


@wp.kernel
def set_numbers(out: wp.array(dtype=float), a: float, n: int, yes: bool):
    if yes:
        out[wp.tid()] = a + float(n)


@wp.struct
class Values:
    number: float
    count: int
    vector: wp.vec3
    matrix: wp.mat22


def torch_tensor(values, kind="float32"):
    import torch

    return torch.tensor(values, dtype=getattr(torch, kind))


def jax_tensor(values, kind="float32"):
    import jax.numpy as jnp

    return jnp.array(values, dtype=kind)


def paddle_tensor(values, kind="float32"):
    import paddle

    return paddle.to_tensor(values, dtype=kind)


def numpy_tensor(values, kind="float32"):
    return np.array(values, dtype=kind)


@pytest.fixture(params=["numpy", "torch", "jax", "paddle"])
def tensor(request):
    if request.param != "numpy":
        needs(request.param)
    return globals()[f"{request.param}_tensor"]


def launched(kernel, dtype, *values):
    out = wp.zeros(1, dtype=dtype, device="cpu")
    wp.launch(kernel, dim=1, inputs=[out, *values], device="cpu")
    return out.numpy()[0].tolist()


def test_values_of_a_launch(tensor):
    for kind in ("float32", "float16", "int32"):
        assert launched(set_vectors, wp.vec3, tensor([1, 2, 3], kind)) == [1.0, 2.0, 3.0], kind
    assert launched(set_vectors, wp.vec3, tensor([[1, 2, 3]])) == [1.0, 2.0, 3.0]
    assert launched(set_vectors, wp.vec3, tensor([0, 1, 2, 3, 4, 5])[::2]) == [0.0, 2.0, 4.0]
    assert launched(set_integers, wp.vec3i, tensor([1, 2, 3], "int32")) == [1, 2, 3]
    assert launched(set_matrices, wp.mat22, tensor([[1, 2], [3, 4]])) == [[1.0, 2.0], [3.0, 4.0]]
    assert launched(set_matrices, wp.mat22, tensor([[1, 2], [3, 4]]).T) == [[1.0, 3.0], [2.0, 4.0]]
    assert launched(set_quaternions, wp.quat, tensor([0, 0, 0, 1])) == [0.0, 0.0, 0.0, 1.0]
    assert launched(set_numbers, float, tensor(1.5), tensor(2, "int32"), tensor(True, "bool")) == 3.5


def test_values_that_do_not_fit(tensor):
    for wrong in (tensor([1, 2]), tensor([1, 2, 3, 4]), tensor([])):
        with pytest.raises(ValueError, match="expected vec3f \\(3 numbers\\)"):
            launched(set_vectors, wp.vec3, wrong)
    with pytest.raises(ValueError, match="expected vec3i"):
        launched(set_integers, wp.vec3i, tensor([1.5, 2, 3]))
    with pytest.raises(RuntimeError, match="argument 'value': expected vec3f, got"):
        launched(set_vectors, wp.vec3, tensor(1.0))


def test_values_of_arrays(tensor):
    array = wp.full(2, tensor([1, 2, 3]), dtype=wp.vec3, device="cpu")
    np.testing.assert_array_equal(array.numpy(), [[1, 2, 3], [1, 2, 3]])
    array.fill_(tensor([3, 2, 1]))
    np.testing.assert_array_equal(array.numpy(), [[3, 2, 1], [3, 2, 1]])
    array.fill_(tensor(7.0))
    np.testing.assert_array_equal(array.numpy(), [[7, 7, 7], [7, 7, 7]])
    array[1] = tensor([1, 2, 3])
    np.testing.assert_array_equal(array.numpy(), [[7, 7, 7], [1, 2, 3]])
    np.testing.assert_array_equal(wp.full(2, tensor(2.5), dtype=float, device="cpu").numpy(), [2.5, 2.5])


def test_values_of_structs(tensor):
    values = Values()
    values.number, values.count = tensor(2.5), tensor(3, "int32")
    values.vector, values.matrix = tensor([1, 2, 3]), tensor([[1, 2], [3, 4]])
    assert values.number == 2.5 and values.count == 3
    assert values.vector == wp.vec3(1.0, 2.0, 3.0) and values.matrix == wp.mat22(1.0, 2.0, 3.0, 4.0)
    assert wp.vec3(tensor([1, 2, 3])) == wp.vec3(1.0, 2.0, 3.0) and wp.float64(tensor(2.5)).value == 2.5
    with pytest.raises(TypeError, match="Struct field 'count'"):
        values.count = tensor(2.5)
    with pytest.raises(TypeError, match="Struct field 'number'"):
        values.number = tensor([1.0])


def test_values_of_tensors_that_require_gradients():
    needs("torch")
    leaf = torch_tensor([1, 2, 3]).requires_grad_()
    assert launched(set_vectors, wp.vec3, leaf) == [1.0, 2.0, 3.0]
    assert launched(set_vectors, wp.vec3, leaf.detach().bfloat16()) == [1.0, 2.0, 3.0]
