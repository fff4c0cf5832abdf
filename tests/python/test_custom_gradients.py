"""Gradients that programs write themselves: @wp.func_grad, @wp.func_replay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp


@pytest.fixture(params=[0, 1, 4, 16])
def lanes(request: pytest.FixtureRequest):
    wp.config.cpu_lanes = request.param
    yield request.param
    wp.config.cpu_lanes = 0


def floats(values: object, dtype: Any = wp.float32) -> wp.array:
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True)


def backward(kernel: wp.Kernel, n: int, inputs: list, outputs: list, seed: float = 1.0) -> None:
    """Runs the kernel, then its adjoint from outputs whose gradient is `seed`."""
    wp.launch(kernel, dim=n, inputs=inputs, outputs=outputs)
    for out in outputs:
        out.grad.fill_(seed)
    none = [None] * len(inputs)
    wp.launch(kernel, n, inputs, outputs, adj_inputs=none, adj_outputs=[None] * len(outputs), adjoint=True)


@wp.func
def scaled(x: float, y: float):
    return x * y


@wp.func_grad(scaled)
def adj_scaled(x: float, y: float, adj_ret: float):
    wp.adjoint[x] += 100.0 * y * adj_ret
    wp.adjoint[y] += 10.0 * x * adj_ret


@wp.kernel
def call_scaled(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = 2.0 * scaled(x[i], y[i]) + x[i]


def test_the_gradient_is_what_the_program_says(lanes: int) -> None:
    n = 37
    x, y, out = floats(np.arange(n)), floats(np.arange(n) + 0.5), floats(np.zeros(n))
    backward(call_scaled, n, [x, y], [out])
    np.testing.assert_allclose(out.numpy(), 2 * x.numpy() * y.numpy() + x.numpy(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 200 * y.numpy() + 1, rtol=1e-6)
    np.testing.assert_allclose(y.grad.numpy(), 20 * x.numpy(), rtol=1e-6)


# A straight-through estimator: the body has no slope at all.
@wp.func
def snap(x: float):
    return wp.round(x)


@wp.func_grad(snap)
def adj_snap(x: float, adj_ret: float):
    if wp.abs(x) < 2.0:
        wp.adjoint[x] = adj_ret


@wp.kernel
def snapping(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(i % 3 + 1):
        s += snap(x[i]) * float(j + 1)
    out[i] = s


def test_functions_without_slope_and_loops(lanes: int) -> None:
    n = 20
    x, out = floats(np.linspace(-3, 3, n)), floats(np.zeros(n))
    backward(snapping, n, [x], [out], seed=0.5)
    weight = np.array([1, 3, 6])[np.arange(n) % 3]
    np.testing.assert_allclose(x.grad.numpy(), np.where(np.abs(x.numpy()) < 2, 0.5 * weight, 0), rtol=1e-6)


@wp.func
def add_at(a: wp.array(dtype=float), b: wp.array(dtype=float), i: int, value: float):
    if b:
        wp.atomic_add(a, i, value)
    return a[i]


@wp.func
def gathered(a: wp.array(dtype=float), i: int, n: int):
    s = float(0.0)
    for k in range(n):
        s += a[i + k]
    return s


@wp.func_grad(gathered)
def adj_gathered(a: wp.array(dtype=float), i: int, n: int, adj_ret: float):
    for k in range(n):
        wp.adjoint[a][i + k] += float(k + 1) * adj_ret
    add_at(wp.adjoint[a], a, i, adj_ret)


@wp.kernel
def gathering(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = gathered(a, i, 3) * 2.0


def test_gradients_of_arrays(lanes: int) -> None:
    n = 18
    a, out = floats(np.arange(n + 2)), floats(np.zeros(n))
    backward(gathering, n, [a], [out])
    wanted = np.zeros(n + 2)
    for i in range(n):
        wanted[i : i + 3] += 2 * np.array([2, 2, 3])
    np.testing.assert_allclose(a.grad.numpy(), wanted, rtol=1e-6)
    plain = wp.array(np.arange(n + 2), dtype=float)  # has no gradient: nothing is written anywhere
    backward(gathering, n, [plain], [out])


@wp.func
def polar(x: float, y: float):
    return wp.sqrt(x * x + y * y), wp.atan2(y, x), 7


@wp.func_grad(polar)
def adj_polar(x: float, y: float, adj_r: float, adj_angle: float, adj_seven: int):
    r, angle, seven = polar(x, y)  # a gradient may call its own function
    wp.adjoint[x] += adj_r * x / r - adj_angle * y / (r * r)
    wp.adjoint[y] += adj_r * y / r + adj_angle * x / (r * r)


@wp.kernel
def use_polar(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    r, angle, seven = polar(x[i], y[i])
    out[i] = 3.0 * r + 5.0 * angle + float(seven)


def test_several_results(lanes: int) -> None:
    n = 9
    x, y, out = floats(np.arange(n) + 1), floats(np.arange(n) - 3.5), floats(np.zeros(n))
    backward(use_polar, n, [x, y], [out])
    a, b = x.numpy(), y.numpy()
    r = np.hypot(a, b)
    np.testing.assert_allclose(x.grad.numpy(), 3 * a / r - 5 * b / r**2, rtol=1e-5)
    np.testing.assert_allclose(y.grad.numpy(), 3 * b / r + 5 * a / r**2, rtol=1e-5)


# Overloads: one of three has a gradient of its own; one is generic.
@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def twice(x: wp.vec3):  # noqa: F811
    return 2.0 * x


@wp.func
def twice(x: float, y: float):  # noqa: F811
    return 2.0 * x * y


@wp.func_grad(twice)
def adj_twice(x: wp.vec3, adj_ret: wp.vec3):
    wp.adjoint[x] += 100.0 * adj_ret
    wp.adjoint[x][1] += 1.0
    wp.adjoint[x.z] += 2.0


@wp.kernel
def call_twice(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    w = twice(v[i])
    out[i] = twice(x[i]) + w[0] + w[1] + w[2] + twice(x[i], 3.0)


def test_one_overload_of_several(lanes: int) -> None:
    n = 6
    x, v, out = floats(np.arange(n)), floats(np.ones((n, 3)), wp.vec3), floats(np.zeros(n))
    backward(call_twice, n, [x, v], [out])
    np.testing.assert_allclose(x.grad.numpy(), np.full(n, 8.0))
    np.testing.assert_allclose(v.grad.numpy(), np.tile([100.0, 101.0, 102.0], (n, 1)))


@wp.func
def cubed(x: Any):
    return x * x * x


@wp.func_grad(cubed)
def adj_cubed(x: Any, adj_ret: Any):
    wp.adjoint[x] += type(x)(7) * adj_ret


@wp.kernel
def call_cubed(x: wp.array(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    out[i] = cubed(x[i])


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.float16])
def test_generic_functions(dtype: Any) -> None:
    x, out = floats(np.arange(5), dtype), floats(np.zeros(5), dtype)
    backward(call_cubed, 5, [x], [out])
    np.testing.assert_allclose(x.grad.numpy(), np.full(5, 7.0))


@wp.struct
class Spring:
    stiffness: float
    rest: float
    count: int
    anchors: wp.array(dtype=float)


@wp.func
def pull(s: Spring, x: float, i: int):
    return s.stiffness * (x - s.rest) * s.anchors[i]


@wp.func_grad(pull)
def adj_pull(s: Spring, x: float, i: int, adj_ret: float):
    wp.adjoint[s].stiffness += 2.0 * adj_ret
    wp.adjoint[s.rest] += 3.0 * adj_ret
    wp.adjoint[s].anchors[i] += 5.0 * adj_ret
    wp.adjoint[s.anchors][i] += 1.0 * adj_ret
    wp.adjoint[x] += s.stiffness * adj_ret


@wp.kernel
def pulling(anchors: wp.array(dtype=float), k: wp.array(dtype=float), x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = Spring()
    s.stiffness = k[i]
    s.rest = 10.0 * k[i]
    s.anchors = anchors
    out[i] = pull(s, x[i], i)


def test_structs(lanes: int) -> None:
    n = 7
    anchors, k, x, out = floats(np.ones(n)), floats(np.arange(n)), floats(np.ones(n)), floats(np.zeros(n))
    backward(pulling, n, [anchors, k, x], [out])
    np.testing.assert_allclose(anchors.grad.numpy(), np.full(n, 6.0))
    np.testing.assert_allclose(k.grad.numpy(), np.full(n, 32.0))
    np.testing.assert_allclose(x.grad.numpy(), k.numpy())


@wp.func
def applied(f: Any, x: float):
    return f(x)


@wp.func_grad(applied)
def adj_applied(f: Any, x: float, adj_ret: float):
    wp.adjoint[x] += f(x) * adj_ret


@wp.kernel
def applying(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = applied(wp.exp, x[i]) + applied(snap, x[i])


def test_function_arguments() -> None:
    x, out = floats([0.25, 1.75]), floats(np.zeros(2))
    backward(applying, 2, [x], [out])
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.25, 1.75]) + [0, 2], rtol=1e-6)


def test_a_changed_gradient_is_noticed() -> None:
    @wp.func
    def f(x: float):
        return x * x

    @wp.kernel(module="unique")
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        out[0] = f(x[0])

    seen = []
    x, out = floats([3.0]), floats([0.0])
    for factor in (None, 5.0, 11.0):
        if factor is not None:

            @wp.func_grad(f)
            def adj_f(x: float, adj_ret: float):
                wp.adjoint[x] += wp.static(factor) * adj_ret

        x.grad.zero_()
        backward(k, 1, [x], [out])
        seen.append(float(x.grad.numpy()[0]))
    assert seen == [6.0, 5.0, 11.0]


# The slot that a thread took can't be taken again: the replay reads what the forward pass wrote down.
@wp.func
def next_slot(counter: wp.array(dtype=int), taken: wp.array(dtype=int), i: int):
    slot = wp.atomic_add(counter, 0, 1)
    taken[i] = slot
    return slot


@wp.func_replay(next_slot)
def replay_next_slot(counter: wp.array(dtype=int), taken: wp.array(dtype=int), i: int):
    return taken[i]


@wp.kernel
def compact(x: wp.array(dtype=float), counter: wp.array(dtype=int), taken: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        out[next_slot(counter, taken, i)] = x[i] * x[i]


def test_replay_functions(lanes: int) -> None:
    n = 33
    values = np.sin(np.arange(n) * 1.3).astype(np.float32)
    x, out = floats(values), floats(np.zeros(n))
    counter, taken = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    wp.launch(compact, n, [x, counter, taken], [out])
    count, before = int(counter.numpy()[0]), taken.numpy()
    assert count == (values > 0).sum()
    out.grad.assign(np.arange(n))
    wp.launch(compact, n, [x, counter, taken], [out], adj_inputs=[None] * 3, adj_outputs=[None], adjoint=True)
    assert counter.numpy()[0] == count and (taken.numpy() == before).all()
    np.testing.assert_allclose(x.grad.numpy(), np.where(values > 0, 2 * values * before, 0), rtol=1e-6)


@wp.func
def shifted(x: float):
    return x + 1.0


@wp.func_replay(shifted)
def replay_shifted(x: float):
    return x + 1000.0


@wp.kernel
def call_shifted(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    y = shifted(x[0])
    out[0] = y * y


def test_the_replay_calls_the_replay_function() -> None:
    x, out = floats([2.0]), floats([0.0])
    backward(call_shifted, 1, [x], [out])
    assert out.numpy()[0] == 9.0 and x.grad.numpy()[0] == 2004.0


def test_signatures_are_checked() -> None:
    for wrong in (
        lambda: wp.func_grad(scaled)(too_few),
        lambda: wp.func_grad(scaled)(wrong_type),
        lambda: wp.func_grad(scaled)(wrong_adjoint),
    ):
        with pytest.raises(RuntimeError, match="No function overload found for gradient function") as error:
            wrong()
        says = str(error.value).split("must take")[1].splitlines()[1:]
        assert [line.split(":")[0] for line in says] == ["x", "y", "adj_ret"] and says[2] == "adj_ret: float32", says
    with pytest.raises(RuntimeError, match="must take") as error:
        wp.func_grad(polar)(too_few)
    assert str(error.value).splitlines()[-3:] == ["adj_ret_0: float32", "adj_ret_1: float32", "adj_ret_2: int32"]
    with pytest.raises(RuntimeError, match="must take") as error:
        wp.func_grad(twice)(too_few)
    assert str(error.value).count("\nor\n") == 2, "each overload"
    with pytest.raises(RuntimeError, match="Could not find forward definition"):
        wp.func_replay(scaled)(too_few)


def too_few(x: float): ...
def wrong_type(x: float, y: int, adj_ret: float): ...
def wrong_adjoint(x: float, y: float, adj_ret: wp.vec3): ...


@wp.func
def half(x: Any):
    return x * type(x)(0.5)


@wp.func_grad(half)
def adj_half(x: Any, adj_ret: float):
    wp.adjoint[x] += adj_ret


@wp.kernel
def call_half(x: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64)):
    out[0] = half(x[0])


@wp.func
def third(x: float):
    return x / 3.0


@wp.func_grad(third)
def adj_third(x: float, adj_ret: float):
    y = x * adj_ret
    wp.adjoint[y] += adj_ret


@wp.kernel
def call_third(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = third(x[0])


@wp.kernel
def adjoint_outside(x: wp.array(dtype=float)):
    wp.adjoint[x][0] = 1.0


def test_mistakes_in_gradient_functions() -> None:
    x, out = floats([1.0], wp.float64), floats([0.0], wp.float64)
    with pytest.raises(RuntimeError, match=r"'adj_ret' takes float32, but the function's result is float64"):
        backward(call_half, 1, [x], [out])
    x, out = floats([1.0]), floats([0.0])
    with pytest.raises(RuntimeError, match=r"only parameters of the function have an adjoint here"):
        backward(call_third, 1, [x], [out])
    with pytest.raises(RuntimeError, match=r"wp.adjoint\[…\] has a meaning only in gradient functions"):
        wp.launch(adjoint_outside, 1, [x])
    with pytest.raises(RuntimeError, match="only in functions made by @wp.func_grad"):
        wp.adjoint[x]


@wp.func
def picked(a: wp.indexedarray(dtype=float), i: int):
    return a[i]


@wp.func_grad(picked)
def adj_picked(a: wp.indexedarray(dtype=float), i: int, adj_ret: float):
    wp.adjoint[a][i] += 3.0 * adj_ret


@wp.kernel
def picking(a: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = picked(a, i)


@wp.func
def corner(a: wp.array2d(dtype=float), i: int, j: int):
    return a[i, j]


@wp.func_grad(corner)
def adj_corner(a: wp.array2d(dtype=float), i: int, j: int, adj_ret: float):
    row = wp.adjoint[a][i]
    row[j] += adj_ret * 2.0
    wp.adjoint[a][i, j] += adj_ret
    wp.adjoint[a[i, j]] += adj_ret


@wp.kernel
def cornering(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    while s < 2.0 * corner(a, i, 0):
        s += corner(a, i, 1)
    out[i] = s


def test_views_indexed_arrays_and_tests_of_loops(lanes: int) -> None:
    data, out = floats(np.arange(6)), floats(np.zeros(3))
    backward(picking, 3, [wp.indexedarray(data, [wp.array([5, 1, 1], dtype=int)])], [out])
    np.testing.assert_allclose(data.grad.numpy(), [0, 6, 0, 0, 0, 3])
    a, out = floats(np.ones((5, 2))), floats(np.zeros(5))
    backward(cornering, 5, [a], [out])
    np.testing.assert_allclose(a.grad.numpy(), np.tile([0.0, 8.0], (5, 1)))


@wp.func
def leaving(x: float, n: int):
    return x


@wp.func_grad(leaving)
def adj_leaving(x: float, n: int, adj_ret: float):
    if n == 0:
        return
    k = int(0)
    while k < n:
        if k == 3:
            wp.adjoint[x] += 100.0 * adj_ret
            return
        wp.adjoint[x] += adj_ret
        k += 1
    wp.adjoint[x] *= 2.0


@wp.kernel
def call_leaving(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = leaving(x[i], i)


def test_gradient_functions_may_leave_early(lanes: int) -> None:
    x, out = floats(np.arange(6)), floats(np.zeros(6))
    backward(call_leaving, 6, [x], [out])
    np.testing.assert_allclose(x.grad.numpy(), [0, 2, 4, 6, 103, 103])


@wp.func
def unread(a: wp.array(dtype=float), i: int, x: float):
    return x


@wp.func_grad(unread)
def adj_unread(a: wp.array(dtype=float), i: int, x: float, adj_ret: float):
    for k in range(4):
        wp.adjoint[a][(i + k) % 64] += adj_ret


@wp.kernel
def call_unread(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = unread(a, i, a[i])


def test_threads_meet_in_what_only_the_gradient_touches(lanes: int) -> None:
    n = 64
    a, out = floats(np.zeros(n)), floats(np.zeros(n))
    for _ in range(20):
        backward(call_unread, n, [a], [out])
    np.testing.assert_allclose(a.grad.numpy(), np.full(n, 80.0))


def test_replay_functions_and_tapes(lanes: int) -> None:
    n = 33
    values = np.sin(np.arange(n) * 1.3).astype(np.float32)
    x, out = floats(values), floats(np.zeros(n))
    counter, taken = wp.zeros(1, dtype=int), wp.zeros(n, dtype=int)
    with wp.Tape() as tape:
        wp.launch(compact, n, [x, counter, taken], [out])
    out.grad.assign(np.arange(n))
    tape.backward()
    assert tape.log_bytes == 0  # nothing to write down: the replay reads it
    np.testing.assert_allclose(x.grad.numpy(), np.where(values > 0, 2 * values * taken.numpy(), 0), rtol=1e-5)


@wp.func
def weighed(x: float, w: wp.array(dtype=float), i: int):
    return x


@wp.func_grad(weighed)
def adj_weighed(x: float, w: wp.array(dtype=float), i: int, adj_ret: float):
    wp.adjoint[x] += w[i] * adj_ret
    wp.adjoint[w][i] += 2.0 * adj_ret


@wp.kernel
def weighing(x: wp.array(dtype=float), w: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = weighed(x[i], w, i)


@wp.func
def squared_in_place(a: wp.array(dtype=float), i: int):
    a[i] = a[i] * a[i]


@wp.func_grad(squared_in_place)
def adj_squared_in_place(a: wp.array(dtype=float), i: int):
    wp.adjoint[a][i] = wp.adjoint[a][i] * 3.0


@wp.kernel
def squaring(a: wp.array(dtype=float)):
    squared_in_place(a, wp.tid())


def test_tapes_keep_what_only_gradient_functions_read() -> None:
    x, w, out = floats(np.ones(4)), floats(np.arange(4)), floats(np.zeros(4))
    with wp.Tape() as tape:
        wp.launch(weighing, 4, [x, w], [out])
        w.fill_(100.0)
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.arange(4))
    np.testing.assert_allclose(w.grad.numpy(), np.full(4, 2.0))
    a = floats(np.full(4, 2.0))
    with wp.Tape() as tape:
        wp.launch(squaring, 4, [a])
        wp.launch(squaring, 4, [a])
    a.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(a.grad.numpy(), np.full(4, 9.0))
