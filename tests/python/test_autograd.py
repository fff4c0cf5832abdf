"""warp.autograd: Jacobians by tapes and by differences, gradient checks, plots."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import warp as wp
import warp.autograd
from warp.autograd import FunctionMetadata, gradcheck, gradcheck_tape, jacobian, jacobian_fd, jacobian_plot

F64 = wp.float64


@wp.kernel
def mix(a: wp.array(dtype=F64), b: wp.array(dtype=wp.vec2d), n: int, y: wp.array(dtype=wp.vec3d), z: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = wp.vec3d(a[i] * b[i][0], wp.sin(b[i][1]), a[i] * a[i])
    wp.atomic_add(z, 0, a[i] * F64(n))


def arguments(grad: bool = True) -> tuple[list, list]:
    a = wp.array([1.0, 2.0], dtype=F64, requires_grad=grad)
    b = wp.array([[0.5, 0.25], [-1.0, 3.0]], dtype=wp.vec2d, requires_grad=grad)
    y = wp.zeros(2, dtype=wp.vec3d, requires_grad=grad)
    z = wp.array([5.0], dtype=F64, requires_grad=grad)
    return [a, b, 3], [y, z]


def expected() -> dict[tuple[int, int], np.ndarray]:
    a, b = np.array([1.0, 2.0]), np.array([[0.5, 0.25], [-1.0, 3.0]])
    ya, yb = np.zeros((6, 2)), np.zeros((6, 4))
    for i in range(2):
        ya[3 * i : 3 * i + 3, i] = [b[i, 0], 0, 2 * a[i]]
        yb[3 * i, 2 * i] = a[i]
        yb[3 * i + 1, 2 * i + 1] = np.cos(b[i, 1])
    return {(0, 0): ya, (1, 0): yb, (0, 1): np.full((1, 2), 3.0), (1, 1): np.zeros((1, 4))}


def test_module_path() -> None:
    assert wp.autograd is warp.autograd
    assert wp.autograd.jacobian is jacobian


@pytest.mark.parametrize("how", [jacobian, jacobian_fd])
def test_jacobians_of_a_kernel(how) -> None:
    inputs, outputs = arguments()
    inputs[0].grad.fill_(7.0)
    before = [one.numpy().copy() for one in (*inputs[:2], *outputs)]
    found = how(mix, dim=2, inputs=inputs, outputs=outputs)
    assert found.keys() == expected().keys()
    for pair, matrix in expected().items():
        assert found[pair].dtype is wp.float64 and found[pair].ndim == 2
        np.testing.assert_allclose(found[pair].numpy(), matrix, atol=1e-7)
    for one, values in zip((*inputs[:2], *outputs), before):
        np.testing.assert_array_equal(one.numpy(), values)  # all as it was
    np.testing.assert_array_equal(inputs[0].grad.numpy(), 7.0)


@pytest.mark.parametrize("how", [jacobian, jacobian_fd])
def test_masks_and_limits(how) -> None:
    inputs, outputs = arguments()
    found = how(mix, 2, inputs, outputs, input_output_mask=[("a", "y"), (1, "z")])
    assert found.keys() == {(0, 0), (1, 1)}
    with pytest.raises(ValueError, match="no output named 'w'; there are y, z"):
        how(mix, 2, inputs, outputs, input_output_mask=[("a", "w")])
    name = "max_outputs_per_var" if how is jacobian else "max_inputs_per_var"
    found = how(mix, 2, inputs, outputs, **{name: 1})
    matrix = found[1, 0].numpy()
    done = matrix[:1] if how is jacobian else matrix[:, :1]
    np.testing.assert_allclose(done, expected()[1, 0][:1] if how is jacobian else expected()[1, 0][:, :1], atol=1e-7)
    assert np.isnan(matrix).sum() == matrix.size - done.size


def test_inputs_left_changed() -> None:
    inputs, outputs = arguments()
    jacobian(mix, 2, inputs, outputs, restore_inputs=False)
    np.testing.assert_allclose(outputs[1].numpy(), 5.0 + 9.0)


def test_outputs_without_gradients_get_them_for_a_while() -> None:
    inputs, _ = arguments()
    outputs = arguments(False)[1]
    found = jacobian(mix, 2, inputs, outputs)
    np.testing.assert_allclose(found[0, 0].numpy(), expected()[0, 0])
    assert not outputs[0].requires_grad


@pytest.mark.parametrize("how", [jacobian, jacobian_fd])
def test_kernels_in_place(how) -> None:
    @wp.kernel
    def cube(x: wp.array(dtype=F64)):
        i = wp.tid()
        x[i] = x[i] * x[i] * x[i]

    x = wp.array([1.0, 2.0, 3.0], dtype=F64, requires_grad=True)
    found = how(cube, 3, [x])
    np.testing.assert_allclose(found[0, 0].numpy(), np.diag([3.0, 12.0, 27.0]), atol=1e-6)
    np.testing.assert_array_equal(x.numpy(), [1, 2, 3])


@pytest.mark.parametrize("how", [jacobian, jacobian_fd])
def test_functions(how) -> None:
    def function(x: wp.array, m: wp.array) -> tuple:
        y = wp.map(wp.sin, x)
        z = m @ m
        return y * x, z

    x = wp.array([0.5, 1.5], dtype=F64, requires_grad=True)
    m = wp.array(np.array([[1.0, 2], [3, 4]]), dtype=F64, requires_grad=True)
    found = how(function, inputs=[x, m])
    values = x.numpy()
    np.testing.assert_allclose(found[0, 0].numpy(), np.diag(np.cos(values) * values + np.sin(values)), atol=1e-6)
    matrix, eye = m.numpy(), np.eye(2)
    np.testing.assert_allclose(found[1, 1].numpy(), np.kron(eye, matrix.T) + np.kron(matrix, eye), atol=1e-6)


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32])
def test_smaller_floats(dtype) -> None:
    x = wp.array([1.0, 2.0], dtype=dtype, requires_grad=True)
    y = wp.zeros(2, dtype=dtype, requires_grad=True)

    @wp.kernel
    def triple(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
        i = wp.tid()
        y[i] = x[i] + x[i] + x[i]

    found = jacobian(triple, 2, [x], [y])[0, 0]
    assert found.dtype is wp.float32
    np.testing.assert_array_equal(found.numpy(), 3 * np.eye(2))
    assert gradcheck(triple, 2, [x], [y], eps=0.125, show_summary=False)


def test_errors() -> None:
    inputs, outputs = arguments(False)
    with pytest.raises(ValueError, match="requires_grad=True"):
        jacobian(mix, 2, inputs, outputs)
    with pytest.raises(ValueError, match="there are no inputs"):
        jacobian(mix, 2, [], outputs)
    with pytest.raises(TypeError, match="a kernel or a function"):
        jacobian(5, 2, inputs, outputs)
    inputs, outputs = arguments()
    with pytest.raises(ValueError, match="returns its outputs"):
        jacobian(lambda *_: None, inputs=inputs, outputs=outputs)
    for mask in ([(0, 9)], [("nobody", 0)], [(-1, 0)]):
        with pytest.raises(ValueError, match="there is no (input|output)"):
            jacobian(mix, 2, inputs, outputs, input_output_mask=mask)
    with pytest.raises(ValueError, match="pairs of an input and an output"):
        jacobian(mix, 2, inputs, outputs, input_output_mask=[0, 1])
    with wp.Tape(), pytest.raises(RuntimeError, match="outside of a tape's block"):
        jacobian(mix, 2, inputs, outputs)
    for eps in (0.0, -1.0, float("nan"), "small"):
        with pytest.raises(ValueError, match="greater than 0"):
            jacobian_fd(mix, 2, inputs, outputs, eps=eps)


@wp.func
def wrong(x: F64):
    return x * x


@wp.func_grad(wrong)
def adj_wrong(x: F64, adj_ret: F64):
    wp.adjoint[x] += adj_ret  # should be 2·x


@wp.kernel
def wrong_kernel(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = wrong(x[i])


def test_gradcheck(capsys: pytest.CaptureFixture) -> None:
    inputs, outputs = arguments()
    assert gradcheck(mix, 2, inputs, outputs) is True
    said = capsys.readouterr().out
    assert "mix" in said and said.count("passed") == 4 and "a → y" in said
    x = wp.array([3.0, 4.0], dtype=F64, requires_grad=True)
    y = wp.zeros(2, dtype=F64, requires_grad=True)
    with pytest.raises(ValueError, match=r"wrong_kernel.*x → y: entry \(1, 1\) is 1 by tape, 8 by differences"):
        gradcheck(wrong_kernel, 2, [x], [y])
    assert gradcheck(wrong_kernel, 2, [x], [y], raise_exception=False, show_summary=False) is False
    assert gradcheck(wrong_kernel, 2, [x], [y], atol=100.0, show_summary=False) is True
    assert "FAILED" in capsys.readouterr().out
    assert gradcheck(mix, 2, inputs, outputs, max_inputs_per_var=1, max_outputs_per_var=1, show_summary=False)


def test_gradcheck_tape(capsys: pytest.CaptureFixture) -> None:
    inputs, outputs = arguments()
    x = wp.array([3.0, 4.0], dtype=F64, requires_grad=True)
    y = wp.zeros(2, dtype=F64, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(mix, 2, inputs, outputs)
        tape.record_func(lambda: None, [x])
        wp.launch(wrong_kernel, inputs=[x], outputs=[y])
        wp.launch(wrong_kernel, dim=2, inputs=[wp.array([1.0, 1.0], dtype=F64)], outputs=[y])
    before = y.numpy().copy()
    with pytest.raises(ValueError, match="wrong_kernel"):
        gradcheck_tape(tape)
    assert "gradients of mix" in capsys.readouterr().out
    with pytest.raises(ValueError, match="wrong_kernel"):
        gradcheck_tape(tape, reverse_launches=True)
    assert "gradients of mix" not in capsys.readouterr().out
    np.testing.assert_array_equal(y.numpy(), before)
    assert gradcheck_tape(tape, blacklist_kernels=["wrong_kernel"])
    assert gradcheck_tape(tape, whitelist_kernels=["mix"], show_summary=False)
    assert not gradcheck_tape(tape, raise_exception=False, skip_to_launch_index=1, show_summary=False)
    assert gradcheck_tape(tape, input_output_masks={"wrong_kernel": []}, show_summary=False)


def test_plots() -> None:
    inputs, outputs = arguments()
    found = jacobian(mix, 2, inputs, outputs)
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(ImportError, match="pip install matplotlib"):
            jacobian_plot(found)
        return
    import matplotlib

    matplotlib.use("Agg")
    meta = FunctionMetadata("mix", ["a", "b"], ["y", "z"])
    for options in ({}, {"log_scale": True}, {"scale_colors_per_submatrix": True}):
        figure = jacobian_plot(found, meta, show_plot=False, **options)
        assert len(figure.axes) >= 4


@wp.kernel(enable_backward=False)
def one_way(x: wp.array(dtype=F64), y: wp.array(dtype=F64)):
    i = wp.tid()
    y[i] = F64(3.0) * x[i]


def test_what_is_not_differentiated_has_no_jacobian() -> None:
    """Neither alone nor inside of a function; checks of whole tapes leave it out."""
    x = wp.array([1.0, 2.0], dtype=F64, requires_grad=True)
    y = wp.zeros(2, dtype=F64, requires_grad=True)

    def around(x: wp.array) -> wp.array:
        out = wp.zeros(2, dtype=F64, requires_grad=True)
        wp.launch(one_way, 2, [x], [out])
        return out

    with pytest.raises(ValueError, match="backward pass enabled to compute Jacobians; 'one_way' has"):
        jacobian(one_way, 2, [x], [y])
    with pytest.raises(ValueError, match="'one_way' has enable_backward=False"):
        jacobian(around, inputs=[x])
    assert jacobian_fd(one_way, 2, [x], [y])[0, 0].numpy()[0, 0] == pytest.approx(3.0)
    with wp.Tape() as tape:
        wp.launch(one_way, 2, [x], [y])
    assert gradcheck_tape(tape)
