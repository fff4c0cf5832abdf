"""wp.ref[T]: parameters whose new value the caller's variable, component, field or array element has afterwards."""

import numpy as np
import pytest
import warp as wp
from warp._src.kernels import custom_functions

needs_clang = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@wp.struct
class Ball:
    place: wp.vec3
    bounces: int


@wp.func
def push(x: wp.ref[float], by: float):
    x += by


@wp.func
def swap(a: wp.ref[float], b: wp.ref[float]):
    a, b = b, a


@wp.func
def twice(x: wp.ref[float], by: float):
    push(x, by)
    push(x, by)


Moved = wp.ref[Ball]  # an annotation by a name of its own


@wp.func
def bounce(ball: Moved) -> int:
    ball.place[1] = -ball.place[1]
    ball.bounces += 1
    return ball.bounces


@wp.kernel
def push_places(values: wp.array(dtype=float), points: wp.array(dtype=wp.vec3), balls: wp.array(dtype=Ball)):
    i = wp.tid()
    own = float(1.0)
    twice(own, 2.0)
    push(values[i], own)
    push(points[i].y, 10.0)
    push(balls[i].place[2], 0.5)
    count = bounce(balls[i])
    push(values[i], float(count))


def test_what_can_be_assigned_to_is_updated():
    values, points = wp.zeros(3, dtype=float), wp.zeros(3, dtype=wp.vec3)
    balls = wp.array([Ball(), Ball(), Ball()], dtype=Ball)
    for _ in range(2):
        wp.launch(push_places, dim=3, inputs=[values, points, balls])
    assert values.numpy().tolist() == [5.0 + 1.0 + 5.0 + 2.0] * 3
    assert points.numpy()[:, 1].tolist() == [20.0] * 3
    assert balls.numpy()["place"][:, 2].tolist() == [1.0] * 3
    assert balls.numpy()["bounces"].tolist() == [2] * 3


def test_two_references_change_places():
    @wp.kernel
    def swap_pairs(x: wp.array(dtype=float)):
        i = wp.tid()
        swap(x[2 * i], x[2 * i + 1])

    x = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)
    wp.launch(swap_pairs, dim=2, inputs=[x])
    assert x.numpy().tolist() == [2.0, 1.0, 4.0, 3.0]


def test_types_are_checked_as_for_other_parameters():
    @wp.kernel
    def wrong(x: wp.array(dtype=wp.float64)):
        push(x[0], 1.0)

    with pytest.raises(RuntimeError, match="Couldn't find a function 'push'"):
        wp.launch(wrong, dim=1, inputs=[wp.zeros(1, dtype=wp.float64)])


def test_values_that_nothing_keeps_are_refused():
    @wp.kernel
    def literal(x: wp.array(dtype=float)):
        push(x[0] + 1.0, 1.0)

    with pytest.raises(wp.codegen.WarpCodegenError, match="needs a variable here"):
        wp.launch(literal, dim=1, inputs=[wp.zeros(1)])


def test_generic_parameters():
    @wp.func
    def add(x: wp.ref[wp.Float], by: wp.Float):
        x = x + by

    @wp.kernel
    def both(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64)):
        add(x[0], 1.0)
        add(y[0], wp.float64(2.0))

    x, y = wp.zeros(1), wp.zeros(1, dtype=wp.float64)
    wp.launch(both, dim=1, inputs=[x, y])
    assert (x.numpy()[0], y.numpy()[0]) == (1.0, 2.0)


def test_gradients_go_through():
    @wp.func
    def square(x: wp.ref[float]):
        x = x * x

    @wp.kernel
    def fourth(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        v = x[i]
        square(v)
        square(v)
        y[i] = v

    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(fourth, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2)})
    assert x.grad.numpy().tolist() == [4.0, 32.0]


def test_arrays_are_references_already():
    @wp.func
    def first(x: wp.ref[wp.array(dtype=float)]) -> float:
        x[0] = x[0] + 1.0
        return x[0]

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = first(x)

    x, y = wp.zeros(1), wp.zeros(1)
    wp.launch(use, dim=1, inputs=[x, y])
    assert (x.numpy()[0], y.numpy()[0]) == (1.0, 1.0)


@needs_clang
def test_native_functions_see_a_reference():
    snippet = "x = x + by; by = by * 2.0f; return x;"

    @wp.func_native(snippet)
    def native_push(x: wp.ref[float], by: float) -> float: ...

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        by = float(i) + 1.0
        y[i] = native_push(x[i], by) + 100.0 * by

    x, y = wp.zeros(2), wp.zeros(2)
    wp.launch(use, dim=2, inputs=[x, y])
    assert x.numpy().tolist() == [1.0, 2.0]
    assert y.numpy().tolist() == [101.0, 202.0]


def gradient_of(kernel, x, y, seed):
    """The gradient with respect to x, and what y and x are, after one launch over all elements of y."""
    with wp.Tape() as tape:
        wp.launch(kernel, dim=y.shape, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.array(seed, dtype=float)})
    return x.grad.numpy().tolist()


def test_a_gradient_of_its_own():
    """The adjoint of a reference begins with that of the value left there; the function leaves that of the value before."""

    @wp.func
    def change(x: wp.ref[float], by: float) -> float:
        x = by * x
        return x + 1.0

    @wp.func_grad(change)
    def adjoint_of_change(x: wp.ref[float], by: float, adj_ret: float):
        wp.adjoint[by] += 10.0 * x * (wp.adjoint[x] + adj_ret)  # ten times: it is this one that runs
        wp.adjoint[x] = by * (wp.adjoint[x] + adj_ret)

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        v = x[i]
        r = change(v, x[i])
        y[i] = r + 2.0 * v

    x = wp.array([3.0, 5.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    gradient = gradient_of(use, x, y, [1.0, 2.0])
    assert y.numpy().tolist() == [28.0, 76.0]
    # r + 2 v = 3 x by + 1: 3 by for x and, times ten, 3 x for by
    assert gradient == [3.0 * 3.0 * 11.0, 2.0 * 3.0 * 5.0 * 11.0]


def test_a_reference_that_a_gradient_leaves_alone():
    @wp.func
    def look(x: wp.ref[float], out: wp.ref[float]):
        out = x * x

    @wp.func_grad(look)
    def adjoint_of_look(x: wp.ref[float], out: wp.ref[float]):
        wp.adjoint[x] += 2.0 * x * wp.adjoint[out]
        wp.adjoint[out] = 0.0

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        v = x[i]
        s = 100.0 * v
        for _ in range(2):
            look(v, s)
        y[i] = s + v

    x = wp.array([3.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    assert gradient_of(use, x, y, [1.0]) == [7.0]


@wp.struct
class Pair:
    a: float
    n: int
    v: wp.vec2


@needs_clang
def test_native_gradients_of_references():
    """Of variables, components, fields and elements; of elements that a slice of an array has."""

    @wp.func_native("out = 2.0f * x;", "adj_x += 2.0f * adj_out; adj_out = 0.0f;")
    def store_double(x: float, out: wp.ref[float]): ...

    @wp.func_native("s.a = s.a * x; return s.v[1];", "adj_x += s.a * adj_s.a; adj_s.a *= x; adj_s.v[1] += adj_ret;")
    def scale(s: wp.ref[Pair], x: float) -> float: ...

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        v = wp.vec3(0.0)
        kept = 7.0 * x[i]
        store_double(x[i], kept)
        store_double(kept, v[1])
        store_double(v[1], y[i])

    x = wp.array([3.0, 4.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    assert gradient_of(use, x, y, [1.0, 3.0]) == [8.0, 24.0]
    assert y.numpy().tolist() == [24.0, 32.0]

    @wp.kernel
    def use_struct(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        s = Pair()
        s.a = x[0]
        s.v = wp.vec2(0.0, x[0] * x[0])
        second = scale(s, x[0])
        y[0] = s.a + second

    x = wp.array([3.0], dtype=float, requires_grad=True)
    y = wp.zeros(1, dtype=float, requires_grad=True)
    assert gradient_of(use_struct, x, y, [1.0]) == [12.0]
    assert y.numpy().tolist() == [18.0]

    @wp.kernel
    def use_row(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
        i, j = wp.tid()
        row = y[i]
        store_double(x[i, j], row[j])

    x2 = wp.array([[1.0, 2.0]], dtype=float, requires_grad=True)
    y2 = wp.zeros((1, 2), dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(use_row, dim=(1, 2), inputs=[x2], outputs=[y2])
    tape.backward(grads={y2: wp.array([[1.0, 5.0]], dtype=float)})
    assert x2.grad.numpy().tolist() == [[2.0, 10.0]]


def test_a_mistake_in_a_gradient_is_not_a_gradient_of_zero():
    @wp.func
    def double(x: float):
        return 2.0 * x

    @wp.func_grad(double)
    def adjoint_of_double(x: float, adj_ret: float):
        wp.adjoint[x] += nonsense(adj_ret)  # noqa: F821

    @wp.kernel
    def use(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = double(x[0])

    x, y = wp.ones(1, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(use, dim=1, inputs=[x], outputs=[y])
    assert y.numpy()[0] == 2.0
    with pytest.raises(RuntimeError, match="nonsense"):
        tape.backward(grads={y: wp.ones(1)})


def test_annotations_as_objects():
    assert wp.ref[wp.int32].dtype is wp.int32
    assert wp.ref[float] == wp.ref[wp.float32] and hash(wp.ref[float]) == hash(wp.ref[wp.float32])
    assert wp.ref[float] != wp.ref[int]
    assert repr(wp.ref[wp.vec3]) == "wp.ref[vec3f]"


@wp.struct
class Halves:
    real: wp.float16
    number: wp.int16


@wp.struct
class Padded:
    small: wp.uint8
    point: wp.vec2


def test_bits_of_structs():
    @wp.kernel
    def bits(out: wp.array(dtype=wp.uint32), back: wp.array(dtype=Halves), wide: wp.array(dtype=wp.vec3ui)):
        halves = Halves(wp.float16(2.0), wp.int16(123))
        out[0] = wp.cast(halves, wp.uint32)
        back[0] = wp.cast(out[0], Halves)
        wide[0] = wp.cast(Padded(wp.uint8(7), wp.vec2(1.0, 2.0)), wp.vec3ui)

    out, back, wide = wp.zeros(1, dtype=wp.uint32), wp.zeros(1, dtype=Halves), wp.zeros(1, dtype=wp.vec3ui)
    wp.launch(bits, dim=1, inputs=[out, back, wide])
    assert out.numpy()[0] == 0x007B4000
    assert (back.numpy()["real"][0], back.numpy()["number"][0]) == (2.0, 123)
    assert wide.numpy()[0].tolist() == [7, *np.array([1.0, 2.0], dtype=np.float32).view(np.uint32).tolist()]


def test_structs_of_another_size_are_refused():
    @wp.kernel
    def wrong(out: wp.array(dtype=wp.uint32)):
        out[0] = wp.cast(Padded(), wp.uint32)

    with pytest.raises(RuntimeError, match="can't reinterpret Padded as uint32"):
        wp.launch(wrong, dim=1, inputs=[wp.zeros(1, dtype=wp.uint32)])
