"""Forward mode: Jacobians times vectors, Hessians times vectors, and what it follows besides launches."""

import numpy as np
import pytest

import warp as wp

f64 = wp.float64
STEP = 1e-6


def arr(values, device, dtype=f64, **kwargs):
    return wp.array(np.asarray(values, dtype=np.float64), dtype=dtype, device=device, **kwargs)


def slope(function, x, dx):
    """The derivative of a function of NumPy arrays by central differences."""
    return (function(x + STEP * dx) - function(x - STEP * dx)) / (2 * STEP)


@wp.kernel
def bent(x: wp.array(dtype=f64), k: f64, y: wp.array(dtype=f64)):
    i = wp.tid()
    v = x[i]
    for _ in range(i + 2):
        v = wp.sin(v) * k + x[i]
        if v > f64(1.5):
            v = v * v - k
    y[i] = v * x[(i + 1) % x.shape[0]]


X = np.linspace(0.1, 2.0, 7)
DX = np.cos(np.arange(7.0))


def run_bent(x, device, k=0.7):
    y = wp.zeros(len(x), dtype=f64, device=device)
    wp.launch(bent, dim=len(x), inputs=[arr(x, device), f64(k)], outputs=[y], device=device)
    return y.numpy()


def test_a_kernel_along_an_array(device):
    y = wp.zeros(7, dtype=f64, device=device)
    outputs, tangents = wp.jvp(
        bent, [arr(X, device), f64(0.7)], [arr(DX, device), None], dim=7, outputs=[y], device=device
    )
    np.testing.assert_array_equal(outputs[0].numpy(), run_bent(X, device))
    np.testing.assert_allclose(tangents[0].numpy(), slope(lambda x: run_bent(x, device), X, DX), rtol=1e-5, atol=1e-8)


def test_a_kernel_along_an_argument_by_value(device):
    y = wp.zeros(7, dtype=f64, device=device)
    _, tangents = wp.jvp(bent, [arr(X, device), f64(0.7)], [None, f64(2.0)], dim=7, outputs=[y], device=device)
    wanted = 2.0 * slope(lambda k: run_bent(X, device, k), 0.7, 1.0)
    np.testing.assert_allclose(tangents[0].numpy(), wanted, rtol=1e-5, atol=1e-8)


@wp.kernel
def squares(y: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    out[0] += y[i] * y[i]


def loss(x):
    y = wp.zeros(x.shape[0], dtype=f64, device=x.device, requires_grad=True)
    out = wp.zeros(1, dtype=f64, device=x.device, requires_grad=True)
    wp.launch(bent, dim=x.shape[0], inputs=[x, f64(0.7)], outputs=[y], device=x.device)
    wp.launch(squares, dim=x.shape[0], inputs=[y], outputs=[out], device=x.device)
    return out


def gradient(function, x, device):
    one = arr(x, device, requires_grad=True)
    tape = wp.Tape()
    with tape:
        value = function(one)
    tape.backward(value)
    return one.grad.numpy()


def test_a_function_agrees_with_reverse_mode(device):
    value, tangent = wp.jvp(loss, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(tangent.numpy()[0], gradient(loss, X, device) @ DX, rtol=1e-12)
    assert value.numpy()[0] == pytest.approx(np.sum(run_bent(X, device) ** 2))


def test_hessian_times_vector(device):
    value, (product,) = wp.hvp(loss, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(
        product.numpy(), slope(lambda x: gradient(loss, x, device), X, DX), rtol=1e-6, atol=1e-6
    )
    assert value.numpy()[0] == pytest.approx(np.sum(run_bent(X, device) ** 2))


@wp.func
def sine_squared(x: f64):
    s = wp.sin(x)
    return s * s


@wp.kernel
def slopes(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    y[i] = wp.grad(sine_squared)(x[i])


def test_second_derivatives_where_first_ones_vanish(device):
    """An adjoint or a direction that is zero has a derivative all the same."""
    x = arr([0.0, np.pi / 2, 1.0], device, requires_grad=True)
    y = wp.zeros(3, dtype=f64, device=device, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(slopes, dim=3, inputs=[x], outputs=[y], device=device)
    y.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(2 * x.numpy()), atol=1e-12)

    still = arr([0.0, 0.0, 0.0], device)
    tape = wp.Tape()
    with wp.ForwardMode({x: still}) as forward, tape:
        wp.launch(slopes, dim=3, inputs=[x], outputs=[y], device=device)
    direction = forward.tangent(x)
    tape.backward(grads={forward.tangent(y): wp.ones(3, dtype=f64, device=device)})
    np.testing.assert_allclose(direction.grad.numpy(), 2 * np.cos(2 * x.numpy()), atol=1e-12)


@wp.kernel
def angles(height: wp.array(dtype=f64), width: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    y[i] = wp.atan2(height[i], width[i])


def test_what_stands_still_moves_no_angle(device):
    """However far away it is: 0 · inf is nothing here, as in reverse."""
    height, width = [1.0, np.inf, 3.0, -np.inf], [np.inf, 2.0, 4.0, 5.0]
    along = {"height": [0.0, 1.0, 2.0, 3.0], "width": [1.0, 0.0, 0.0, 0.0]}
    y = wp.zeros(4, dtype=f64, device=device)
    _, (tangent,) = wp.jvp(
        angles,
        [arr(height, device), arr(width, device)],
        [arr(along["height"], device), arr(along["width"], device)],
        dim=4,
        outputs=[y],
        device=device,
    )
    np.testing.assert_allclose(tangent.numpy(), [0.0, 0.0, 2.0 * 4.0 / 25.0, 0.0], atol=1e-15)


@wp.func
def rooted(x: f64, y: f64):
    return wp.sqrt(x) * y


@wp.func_grad(rooted)
def adj_rooted(x: f64, y: f64, adj_ret: f64):
    wp.adjoint[x] += adj_ret * y / (f64(2.0) * wp.sqrt(x))
    wp.adjoint[y] += adj_ret * wp.sqrt(x)


@wp.kernel
def roots(x: wp.array(dtype=f64), y: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    out[i] = rooted(x[i], y[i])


def test_slopes_that_programs_give_count_for_what_moves(device):
    out = wp.zeros(2, dtype=f64, device=device)
    along = [arr([0.0, 0.5], device), arr([2.0, 3.0], device)]
    given = [arr([0.0, 4.0], device), arr([1.0, 8.0], device)]
    _, (tangent,) = wp.jvp(roots, given, along, dim=2, outputs=[out], device=device)
    np.testing.assert_allclose(tangent.numpy(), [0.0, 0.5 * 8.0 / 4.0 + 2.0 * 3.0])


def test_hessian_is_symmetric_and_whole(device):
    rows = np.array([wp.hvp(loss, [arr(X, device)], [arr(e, device)])[1][0].numpy() for e in np.eye(7)])
    np.testing.assert_allclose(rows, rows.T, rtol=1e-11, atol=1e-11)


@wp.kernel
def relax(x: wp.array(dtype=f64), sweeps: int):
    i = wp.tid()
    if i == 0:
        for _ in range(sweeps):
            for k in range(1, x.shape[0] - 1):
                x[k] = wp.sin(x[k - 1] + x[k + 1]) * x[k]


def relaxed(x):
    y = wp.clone(x, requires_grad=True)
    out = wp.zeros(1, dtype=f64, device=x.device, requires_grad=True)
    wp.launch(relax, dim=1, inputs=[y, 3], device=x.device)
    wp.launch(squares, dim=x.shape[0], inputs=[y], outputs=[out], device=x.device)
    return out


def test_second_derivatives_through_in_place_work(device):
    """What the tangent overwrites goes to the tape's log as well."""
    _, tangent = wp.jvp(relaxed, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(tangent.numpy()[0], gradient(relaxed, X, device) @ DX, rtol=1e-11)
    _, (product,) = wp.hvp(relaxed, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(
        product.numpy(), slope(lambda x: gradient(relaxed, x, device), X, DX), rtol=1e-6, atol=1e-7
    )


@wp.struct
class Body:
    mass: f64
    position: wp.array(dtype=wp.vec3d)
    tags: wp.array(dtype=int)


@wp.kernel
def pull(bodies: Body, scale: wp.vec3d, energy: wp.array(dtype=f64)):
    i = wp.tid()
    p = bodies.position[i]
    q = wp.cw_mul(p, scale)
    bodies.position[i] = p + wp.normalize(q) * bodies.mass
    energy[i] = wp.length(q) * f64(bodies.tags[i])


def test_structs_with_arrays(device):
    points = np.random.default_rng(1).normal(size=(4, 3)) + 2.0
    along = np.random.default_rng(2).normal(size=(4, 3))

    def run(p):
        b = Body()
        b.mass = f64(0.5)
        b.position = arr(p, device, wp.vec3d)
        b.tags = wp.array([1, 2, 3, 4], dtype=int, device=device)
        energy = wp.zeros(4, dtype=f64, device=device)
        return b, energy

    def values(p):
        b, energy = run(p)
        wp.launch(pull, dim=4, inputs=[b, wp.vec3d(1.0, 2.0, 3.0), energy], device=device)
        return np.concatenate([b.position.numpy().ravel(), energy.numpy()])

    b, energy = run(points)
    with wp.ForwardMode({b.position: arr(along, device, wp.vec3d)}) as forward:
        wp.launch(pull, dim=4, inputs=[b, wp.vec3d(1.0, 2.0, 3.0), energy], device=device)
    got = np.concatenate([forward.tangent(b.position).numpy().ravel(), forward.tangent(energy).numpy()])
    np.testing.assert_allclose(got, slope(values, points, along), rtol=1e-7, atol=1e-8)


@wp.kernel
def double(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    y[i] = f64(2.0) * x[i] * x[i]


def test_views_find_the_tangents_of_their_arrays(device):
    x, y = arr(X, device), wp.zeros(14, dtype=f64, device=device)
    with wp.ForwardMode({x: arr(DX, device)}) as forward:
        wp.launch(double, dim=3, inputs=[x[1:7:2], y[4:7]], device=device)
        wp.launch(double, dim=7, inputs=[x[::-1], y[7:]], device=device)
    wanted = np.zeros(14)
    wanted[4:7] = (4 * X * DX)[1:7:2]
    wanted[7:] = (4 * X * DX)[::-1]
    np.testing.assert_allclose(forward.tangent(y).numpy(), wanted)
    np.testing.assert_allclose(forward.tangent(y[5:8]).numpy(), wanted[5:8])


def test_indexed_arrays(device):
    x, y = arr(X, device), wp.zeros(3, dtype=f64, device=device)
    picked = wp.indexedarray(x, wp.array([5, 0, 3], dtype=int, device=device))

    @wp.kernel
    def gather(a: wp.indexedarray(dtype=f64), out: wp.array(dtype=f64)):
        i = wp.tid()
        out[i] = a[i] * a[i]

    with wp.ForwardMode({x: arr(DX, device)}) as forward:
        wp.launch(gather, dim=3, inputs=[picked, y], device=device)
    np.testing.assert_allclose(forward.tangent(y).numpy(), (2 * X * DX)[[5, 0, 3]])


def test_copies_fills_and_assignments(device):
    x = arr(X, device)
    a, b, c, d = (wp.zeros(7, dtype=f64, device=device) for _ in range(4))
    single = wp.zeros(7, dtype=wp.float32, device=device)
    with wp.ForwardMode({x: arr(DX, device)}) as forward:
        wp.copy(a, x)
        wp.copy(b, x, dest_offset=2, src_offset=0, count=3)
        c.assign(x)
        single.assign(x)
        e = wp.clone(x)
        wp.copy(d, x)
        d.fill_(1.0)
        d[2:4].assign(x[0:2])
        x.zero_()
    np.testing.assert_array_equal(forward.tangent(a).numpy(), DX)
    np.testing.assert_array_equal(forward.tangent(b).numpy(), [0, 0, *DX[:3], 0, 0])
    np.testing.assert_array_equal(forward.tangent(c).numpy(), DX)
    np.testing.assert_array_equal(forward.tangent(single).numpy(), DX.astype(np.float32))
    np.testing.assert_array_equal(forward.tangent(e).numpy(), DX)
    np.testing.assert_array_equal(forward.tangent(d).numpy(), [0, 0, *DX[:2], 0, 0, 0])
    np.testing.assert_array_equal(forward.tangent(x).numpy(), np.zeros(7))


def test_recorded_launches_and_generic_kernels(device):
    @wp.kernel
    def cube(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
        i = wp.tid()
        y[i] = x[i] * x[i] * x[i]

    x, y = arr(X, device), wp.zeros(7, dtype=f64, device=device)
    recorded = wp.launch(cube, dim=7, inputs=[x, y], device=device, record_cmd=True)
    with wp.ForwardMode({x: arr(DX, device)}) as forward:
        recorded.launch()
    np.testing.assert_allclose(forward.tangent(y).numpy(), 3 * X * X * DX)


def test_custom_gradients_are_used(device):
    @wp.func
    def odd(a: f64, b: f64):
        return a * b

    @wp.func_grad(odd)
    def odd_gradient(a: f64, b: f64, out: f64):
        wp.adjoint[a] += f64(10.0) * out
        wp.adjoint[b] += f64(100.0) * out

    @wp.kernel
    def use(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
        i = wp.tid()
        y[i] = odd(x[i], x[i])

    x, y = arr(X, device), wp.zeros(7, dtype=f64, device=device)
    _, (tangent,) = wp.jvp(use, [x], [arr(DX, device)], dim=7, outputs=[y], device=device)
    np.testing.assert_allclose(tangent.numpy(), 110.0 * DX)


@wp.kernel
def parts(m: wp.array(dtype=wp.mat33d), q: wp.array(dtype=wp.quatd), out: wp.array(dtype=f64)):
    i = wp.tid()
    inverse = wp.inverse(m[i])
    u = wp.mat33d()
    s = wp.vec3d()
    v = wp.mat33d()
    wp.svd3(m[i], u, s, v)
    turned = wp.quat_rotate(wp.normalize(q[i]), wp.vec3d(s[0], wp.trace(inverse), wp.determinant(m[i])))
    values = wp.vector(turned[0], turned[1], turned[2], s[1] * s[2])
    for k in range(4):
        out[4 * i + k] = wp.tanh(values[k]) + wp.atan2(values[k], f64(2.0))


def test_matrices_quaternions_and_decompositions(device):
    rng = np.random.default_rng(3)
    m, q = rng.normal(size=(3, 3, 3)) + 2 * np.eye(3), rng.normal(size=(3, 4))
    dm, dq = rng.normal(size=m.shape), rng.normal(size=q.shape)

    def values(step):
        out = wp.zeros(12, dtype=f64, device=device)
        inputs = [arr(m + step * dm, device, wp.mat33d), arr(q + step * dq, device, wp.quatd)]
        wp.launch(parts, dim=3, inputs=inputs, outputs=[out], device=device)
        return out.numpy()

    out = wp.zeros(12, dtype=f64, device=device)
    inputs = [arr(m, device, wp.mat33d), arr(q, device, wp.quatd)]
    along = [arr(dm, device, wp.mat33d), arr(dq, device, wp.quatd)]
    _, (tangent,) = wp.jvp(parts, inputs, along, dim=3, outputs=[out], device=device)
    np.testing.assert_allclose(tangent.numpy(), slope(values, 0.0, 1.0), rtol=1e-5, atol=1e-6)


def test_rosenbrock_by_newton(device):
    """Newton's method with Hessians made of Hessian-vector products."""

    @wp.kernel
    def valley(x: wp.array(dtype=f64), out: wp.array(dtype=f64)):
        i = wp.tid()
        a = f64(1.0) - x[i]
        b = x[i + 1] - x[i] * x[i]
        wp.atomic_add(out, 0, a * a + f64(100.0) * b * b)

    def rosenbrock(x):
        out = wp.zeros(1, dtype=f64, device=x.device, requires_grad=True)
        wp.launch(valley, dim=x.shape[0] - 1, inputs=[x], outputs=[out], device=x.device)
        return out

    x = np.array([0.3, 0.6, 0.2, 0.4])
    for _ in range(30):
        g = gradient(rosenbrock, x, device)
        hessian = np.array([wp.hvp(rosenbrock, [arr(x, device)], [arr(e, device)])[1][0].numpy() for e in np.eye(4)])
        shift = max(0.0, 1e-3 - np.linalg.eigvalsh(hessian).min())
        step = np.linalg.solve(hessian + shift * np.eye(4), g)
        before = rosenbrock(arr(x, device)).numpy()[0]
        while rosenbrock(arr(x - step, device)).numpy()[0] > before:
            step = 0.5 * step
        x = x - step
    np.testing.assert_allclose(x, 1.0, atol=1e-8)


def test_what_is_not_followed_raises(device):
    x, y = arr(X, device), wp.zeros(7, dtype=f64, device=device)

    with wp.ForwardMode({x: arr(DX, device)}):
        with pytest.raises(RuntimeError, match="active already"):
            with wp.ForwardMode():
                pass
        with pytest.raises(RuntimeError, match="adjoint"):
            wp.launch(double, dim=7, inputs=[x, y], device=device, adjoint=True, adj_inputs=[None], adj_outputs=[None])
        with pytest.raises(RuntimeError, match="backward"):
            wp.Tape().backward()


def test_bad_directions(device):
    x = arr(X, device)
    with pytest.raises(TypeError, match="same shape"):
        wp.ForwardMode({x: arr(DX[:3], device)})
    with pytest.raises(TypeError, match="same shape"):
        wp.ForwardMode({x: wp.zeros(7, dtype=wp.float32, device=device)})
    with pytest.raises(TypeError, match="array of floats"):
        wp.ForwardMode({wp.zeros(3, dtype=int, device=device): wp.zeros(3, dtype=int, device=device)})
    with pytest.raises(ValueError, match="tangents"):
        wp.jvp(loss, [x], [])
    with pytest.raises(TypeError, match="one element"):
        wp.hvp(lambda a: a, [x], [arr(DX, device)])


def test_nothing_moves_nothing_changes(device):
    x, y = arr(X, device), wp.zeros(7, dtype=f64, device=device)
    with wp.ForwardMode() as forward:
        wp.launch(double, dim=7, inputs=[x, y], device=device)
    np.testing.assert_array_equal(y.numpy(), 2 * X * X)
    np.testing.assert_array_equal(forward.tangent(y).numpy(), np.zeros(7))
