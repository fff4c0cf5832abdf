"""`print` in backward passes: each value again, and a line with its adjoint."""

from __future__ import annotations

import pytest
import warp as wp


@pytest.fixture(params=[0, 1], ids=["lanes", "one lane"], autouse=True)
def lanes(request):
    wp.config.cpu_lanes = request.param
    yield
    wp.config.cpu_lanes = 0


def backward_text(capfd, kernel, inputs, count=1, dim=1):
    """What the backward pass of a kernel prints, for an output whose gradient is one."""
    out = wp.zeros(count, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=dim, inputs=[*inputs, out])
    wp.synchronize()
    capfd.readouterr()
    tape.backward(grads={out: wp.ones(count)})
    wp.synchronize()
    return capfd.readouterr().out


@wp.struct
class Pair:
    a: float
    b: wp.vec2


@wp.kernel
def one_of_each(
    x: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    m: wp.array(dtype=wp.mat33),
    t: wp.array(dtype=wp.transform),
    pair: Pair,
    out: wp.array(dtype=float),
):
    i = wp.tid()
    a = x[i] * 2.0
    print(a)
    b = v[i] * 2.0
    print(b)
    c = m[i] * 2.0
    print(c)
    d = t[i]
    print(d)
    print(i)
    print(a < 3.0)
    print("100%")
    print(pair)
    print(x)
    out[i] = a + b[0] + 2.0 * b[1] + 3.0 * c[1, 2] + wp.transform_get_translation(d)[1]


def test_values_and_adjoints(device, capfd):
    x = wp.array([1.5], dtype=float, requires_grad=True)
    v = wp.array([[1, 2, 3]], dtype=wp.vec3, requires_grad=True)
    m = wp.array([[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], dtype=wp.mat33, requires_grad=True)
    t = wp.array([wp.transform_identity()], dtype=wp.transform, requires_grad=True)
    text = backward_text(capfd, one_of_each, [x, v, m, t, Pair()])
    none = "adj: <type without print implementation>"
    assert text == (
        f"array(dtype=float32, shape=(1,))\n{none}\nPair(a=0, b=0 0)\n{none}\n"
        "100%\nadj: 100%\n"
        "False\nadj: False\n"
        "0\nadj: 0\n"
        "(0 0 0) (0 0 0 1)\nadj: (0 1 0) (0 0 0 0)\n"
        "2 4 6 \n8 10 12 \n14 16 18 \nadj: 0 0 0\n     0 0 3\n     0 0 0\n"
        "2 4 6 \nadj: 1 2 0\n"
        "3\nadj: 1\n"
    )


@wp.func
def square(y: float):
    z = y * y
    print(z)
    return z


@wp.kernel
def control(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i]
    for _ in range(n):
        a = a * 2.0
        print(a)
    if a > 3.0:
        a = a * 3.0
        print("three times", a)
    out[i] = square(a)


def test_in_loops_branches_and_functions(device, capfd):
    x = wp.array([0.5], dtype=float, requires_grad=True)
    text = backward_text(capfd, control, [x, 3])
    assert text == (
        "144\nadj: 1\nthree times 12\nadj: three times 24\n4\nadj: 72\n2\nadj: 144\n1\nadj: 288\n"
    )
    assert x.grad.numpy()[0] == 576.0


@wp.kernel
def overwriting(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    a = x[i] * x[i]
    x[i] = a
    print(x[i])
    out[i] = 3.0 * x[i]


def test_threads_keep_their_lines_together(device, capfd):
    x = wp.array([0.0, 1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True)
    text = backward_text(capfd, overwriting, [x], 5, 5)
    lines = text.splitlines()
    assert sorted(zip(lines[::2], lines[1::2])) == sorted((str(k * k), "adj: 3") for k in range(5))
    assert x.grad.numpy().tolist() == [0.0, 6.0, 12.0, 18.0, 24.0]


@wp.kernel
def adding(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0
    print(x[i])
    out[i] = 2.0 * x[i]


def test_a_print_never_stops_a_backward_pass(device, capfd):
    # Without a tape nobody knows what x held: it is not printed again, and gradients are what they would be anyway.
    x, x_grad, out_grad = wp.ones(2), wp.zeros(2), wp.ones(2)
    arrays = {"inputs": [x, wp.zeros(2)], "adj_inputs": [x_grad, out_grad]}
    wp.launch(adding, dim=2, adjoint=True, **arrays)
    wp.synchronize()
    assert capfd.readouterr().out == ""
    assert x_grad.numpy().tolist() == [2.0, 2.0]


@wp.kernel
def shown_only(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    print(x[i] * 0.5)
    if x[i] > 0.0:
        print(i)


def test_what_has_no_gradient_is_printed_too(device, capfd):
    x = wp.array([3.0], dtype=float, requires_grad=True)
    assert backward_text(capfd, shown_only, [x]) == "0\nadj: 0\n1.5\nadj: 0\n"


@wp.kernel
def of_numbers(s: float, v: wp.vec2, n: int, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    print(s)
    if n > 1:
        print(v)
    print(n)
    out[i] = s * x[i] + v[1]


def test_numbers_of_the_launch_have_adjoints(device, capfd):
    x = wp.array([3.0], dtype=float, requires_grad=True)
    text = backward_text(capfd, of_numbers, [0.5, wp.vec2(1.0, 2.0), 2, x])
    assert text == "2\nadj: 0\n1 2 \nadj: 0 1\n0.5\nadj: 3\n"


@pytest.mark.parametrize("recorded", [False, True])
def test_adjoints_of_numbers_begin_with_what_a_launch_gives(device, capfd, recorded):
    x, x_grad, out_grad = wp.array([3.0], dtype=float), wp.zeros(1), wp.ones(1)
    given = {
        "inputs": [0.5, wp.vec2(1.0, 2.0), 2, x],
        "outputs": [wp.zeros(1)],
        "adj_inputs": [40.0, wp.vec2(7.0, 8.0), 9, x_grad],
        "adj_outputs": [out_grad],
        "adjoint": True,
    }
    if recorded:
        command = wp.launch(of_numbers, dim=1, record_cmd=True, **given)
        command.launch()
    else:
        wp.launch(of_numbers, dim=1, **given)
    wp.synchronize()
    assert capfd.readouterr().out == "2\nadj: 9\n1 2 \nadj: 7 9\n0.5\nadj: 43\n"
    assert x_grad.numpy().tolist() == [0.5]
    if recorded:
        command.set_param_at_index(0, 1.0, adjoint=True)
        command.launch()
        wp.synchronize()
        assert capfd.readouterr().out.endswith("0.5\nadj: 4\n")


@wp.kernel
def only_shown(a: wp.float64, m: wp.mat22, q: wp.quat):
    print(a)
    print(m)
    print(q)


def test_seeds_of_what_is_only_printed(device, capfd):
    values = [2.0, wp.mat22(1.0, 2.0, 3.0, 4.0), wp.quat(0.0, 0.0, 0.0, 1.0)]
    seeds = [42.0, wp.mat22(5.0, 6.0, 7.0, 8.0), wp.quat(1.0, 2.0, 3.0, 4.0)]
    wp.launch(only_shown, dim=1, inputs=values, adj_inputs=seeds, adjoint=True)
    wp.synchronize()
    text = "0 0 0 1 \nadj: 1 2 3 4\n1 2 \n3 4 \nadj: 5 6\n     7 8\n2\nadj: 42\n"
    assert capfd.readouterr().out == text
    wp.launch(only_shown, dim=1, inputs=values, adj_inputs=[None, 0.0], adjoint=True)
    wp.synchronize()
    assert capfd.readouterr().out.endswith("2\nadj: 0\n")


def test_a_seed_of_the_wrong_type_is_named(device):
    values = [2.0, wp.mat22(), wp.quat()]
    with pytest.raises((RuntimeError, TypeError), match="m_seed"):
        wp.launch(only_shown, dim=1, inputs=values, adj_inputs=[None, "much"], adjoint=True)
