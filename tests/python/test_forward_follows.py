"""What forward mode follows besides plain kernels: atomics in any order of threads, and what runs between kernels.

Tangents must be those of differences, agree with reverse mode to rounding, and lead on to second derivatives.
"""

import numpy as np
import pytest

import warp as wp

f64 = wp.float64
STEP = 1e-5
N = 24
RANDOM = np.random.default_rng(4)
X, DX = RANDOM.uniform(0.3, 1.7, size=N), RANDOM.normal(size=N)
WEIGHTS = RANDOM.normal(size=4 * N)
FUNCTIONS, KERNELS = [], []


def arr(values, device, dtype=f64, **kwargs):
    return wp.array(np.asarray(values, dtype=np.float64), dtype=dtype, device=device, **kwargs)


def zeros(n, x, **kwargs):
    return wp.zeros(n, dtype=f64, device=x.device, requires_grad=True, **kwargs)


def slope(function, x=X, dx=DX):
    """The derivative of a function of NumPy arrays by differences of two steps."""
    narrow, wide = ((function(x + h * dx) - function(x - h * dx)) / (2 * h) for h in (STEP / 2, STEP))
    return (4 * narrow - wide) / 3


@wp.kernel
def bend(x: wp.array(dtype=f64), y: wp.array(dtype=f64)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * x[i] + f64(0.1) * x[(i + 1) % x.shape[0]]


@wp.kernel
def weigh(y: wp.array(dtype=f64), w: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_add(out, 0, (y[i] + f64(0.3) * y[i] * y[i]) * w[i])


def bent(x):
    y = zeros(x.size, x)
    wp.launch(bend, dim=x.size, inputs=[x], outputs=[y], device=x.device)
    return y


def loss_of(function):
    def loss(x):
        y = function(x)
        assert y.requires_grad
        out = zeros(1, x)
        wp.launch(weigh, dim=y.size, inputs=[y, arr(WEIGHTS[: y.size], x.device)], outputs=[out], device=x.device)
        return out

    return loss


def gradient(loss, x, device):
    one = arr(x, device, requires_grad=True)
    with wp.Tape() as tape:
        value = loss(one)
    tape.backward(value)
    return one.grad.numpy()


def check(function, device, second=True):
    """Tangents against differences and gradients, and Hessians times vectors against differences of gradients."""
    loss = loss_of(function)
    results, tangents = wp.jvp(function, [arr(X, device)], [arr(DX, device)])
    wanted = slope(lambda x: function(arr(x, device)).numpy())
    np.testing.assert_allclose(tangents.numpy(), wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(results.numpy(), function(arr(X, device)).numpy())
    if not second:
        return
    _, along = wp.jvp(loss, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(along.numpy()[0], gradient(loss, X, device) @ DX, rtol=1e-10, atol=1e-11)
    _, (product,) = wp.hvp(loss, [arr(X, device)], [arr(DX, device)])
    np.testing.assert_allclose(product.numpy(), slope(lambda x: gradient(loss, x, device)), rtol=1e-6, atol=1e-6)


# ---- between kernels -------------------------------------------------------------------------------------------------


def follow(function):
    FUNCTIONS.append(function)
    return function


@follow
def broadcast_rows(x):
    rows = zeros((3, x.size), x)
    rows[:] = bent(x)
    rows[1:] = rows[0]
    return rows.flatten()


@follow
def broadcast_columns(x):
    part = zeros((x.size, 3), x)
    part[:, 1:] = bent(x).reshape((x.size, 1))
    return part.flatten()


@follow
def sum_of_all(x):
    out = zeros(1, x)
    wp.utils.array_sum(bent(x), out=out)
    return out


@follow
def sum_of_some(x):
    out = zeros(1, x)
    wp.utils.array_sum(bent(x), out=out, value_count=5)
    return out


@follow
def sums_of_rows(x):
    out = zeros((6, 1), x)
    wp.utils.array_sum(bent(x).reshape((6, 4)), out=out, axis=1)
    return out.flatten()


@follow
def sum_of_vectors(x):
    out = wp.zeros(1, dtype=wp.vec3d, device=x.device, requires_grad=True)
    wp.utils.array_sum(bent(x).reshape((8, 3)).view(wp.vec3d), out=out)
    return out.view(f64).flatten()


@follow
def inner_product(x):
    y = bent(x)
    out = zeros(1, x)
    wp.utils.array_inner(y, x, out=out)
    return out


@follow
def norm(x):
    y = bent(x)
    out = zeros(1, x)
    wp.utils.array_inner(y, y, out=out)
    return out


@follow
def inner_products_of_rows(x):
    y = bent(x)
    out = zeros((1, 4), x)
    wp.utils.array_inner(y.reshape((6, 4)), x.reshape((6, 4)), out=out, axis=0)
    return out.flatten()


@follow
def inner_product_with_a_constant(x):
    out = zeros(1, x)
    wp.utils.array_inner(arr(WEIGHTS[:N], x.device), bent(x), out=out)
    return out


@follow
def inner_product_over_a_factor(x):
    y = bent(x)
    wp.utils.array_inner(y, x, out=y[3:4])
    return y


@follow
def prefix_sums(x):
    out = zeros(N, x)
    wp.utils.array_scan(bent(x), out, inclusive=True)
    return out


@follow
def prefix_sums_before(x):
    y = bent(x)
    wp.utils.array_scan(y, y, inclusive=False)
    return y


@follow
def product(x):
    y = bent(x)
    return (y.reshape((4, 6)) @ x.reshape((6, 4))).flatten()


@follow
def product_with_everything(x):
    y = bent(x)
    c, d = bent(y).reshape((4, 6))[:, :4], zeros((4, 4), x)
    wp.matmul(y.reshape((4, 6)), x.reshape((6, 4)), c, d, alpha=0.7, beta=-1.3)
    return wp.clone(d).flatten()


@follow
def product_plus_what_moves(x):
    a, b = arr(WEIGHTS[:24], x.device).reshape((4, 6)), arr(WEIGHTS[24:48], x.device).reshape((6, 4))
    c, d = bent(x).reshape((6, 4))[:4], zeros((4, 4), x)
    wp.matmul(a, b, wp.clone(c), d, beta=2.0)
    return d.flatten()


@follow
def product_in_place(x):
    y = bent(x)
    a = y[:16].reshape((4, 4))
    wp.matmul(a, x[:16].reshape((4, 4)), a, a, beta=0.5)
    return y


@follow
def batch_of_products(x):
    y, d = bent(x), zeros((2, 3, 3), x)
    wp.batched_matmul(y.reshape((2, 3, 4)), x.reshape((2, 4, 3)), d=d)
    return d.flatten()


@follow
def sorted_values(x):
    y = wp.zeros(2 * N, dtype=f64, device=x.device, requires_grad=True)
    wp.copy(y, bent(x), count=N)
    keys = wp.array(np.resize([5, 3, 9, 3, 1], 2 * N).astype(np.int32), dtype=int, device=x.device)
    wp.utils.radix_sort_pairs(keys, y, N)
    return y[:N]  # behind it there is scratch


@follow
def sorted_keys(x):
    keys = wp.zeros(2 * N, dtype=f64, device=x.device, requires_grad=True)
    values = wp.zeros(2 * N, dtype=wp.vec2d, device=x.device, requires_grad=True)
    wp.copy(keys, bent(x), count=N)
    wp.copy(values, bent(x).reshape((N // 2, 2)).view(wp.vec2d), count=N // 2)
    wp.utils.radix_sort_pairs(keys, values, N)
    return keys[:N] + values.view(f64).flatten()[:N]


@follow
def sorted_segments(x):
    y = wp.zeros(2 * N, dtype=f64, device=x.device, requires_grad=True)
    wp.copy(y, bent(x), count=N)
    keys = wp.array(np.resize([5, 3, 9, 3, 1], 2 * N).astype(np.int32), dtype=int, device=x.device)
    wp.utils.segmented_sort_pairs(keys, y, N, wp.array([0, 7, 8, 20], dtype=int, device=x.device))
    return y[:N]


@follow
def converted(x):
    out = zeros(N, x)
    wp.utils.array_cast(bent(x), out, count=9)
    return out


@follow
def converted_to_vectors(x):
    out = wp.zeros(8, dtype=wp.vec3d, device=x.device, requires_grad=True)
    wp.utils.array_cast(bent(x), out)
    return out.view(f64).flatten()


@follow
def overwritten_by_constants(x):
    y = bent(x)
    wp.utils.array_scan(arr(WEIGHTS[:4], x.device), y[2:6])
    wp.utils.array_sum(arr(WEIGHTS[:4], x.device), out=y[9:10])
    wp.utils.array_cast(wp.array([1, 2], dtype=int, device=x.device), y[12:14])
    y[20] = 3.0
    return y


@follow
def gathered(x):
    index = wp.array([5, 0, 3, 3], dtype=int, device=x.device)
    return wp.indexedarray(bent(x), index).contiguous()


@follow
def scattered(x):
    y, z = bent(x), bent(x)
    index = wp.array([5, 0, 3, 11], dtype=int, device=x.device)
    wp.copy(wp.indexedarray(y, index), x[4:8])
    wp.indexedarray(y, wp.array([7, 8], dtype=int, device=x.device)).fill_(2.0)
    return y + z


@follow
def copied_part_by_part(x):
    y = zeros((4, 6), x)
    z = bent(x).reshape((4, 6))
    wp.copy(y[:, ::2], z[:, 3:])
    y[1:3, 1].assign(z[0:2, 0])
    return wp.clone(y.transpose()).flatten()


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_between_kernels(function, device):
    if function is sorted_keys and wp.get_device(device).is_cuda:
        pytest.skip("keys of float64 are sorted on the CPU")
    check(function, device)


def test_numbers_that_python_gets_are_refused(device):
    x = arr(X, device)
    with wp.ForwardMode({x: arr(DX, device)}):
        with pytest.raises(RuntimeError, match="array_sum.*out="):
            wp.utils.array_sum(x)
        with pytest.raises(RuntimeError, match="array_inner.*out="):
            wp.utils.array_inner(x, x)
        rows = wp.utils.array_sum(x.reshape((6, 4)), axis=0)
    assert rows.shape == (1, 4)


def test_new_arrays_have_tangents(device):
    x = arr(X, device)
    with wp.ForwardMode({x: arr(DX, device)}) as forward:
        sums = wp.utils.array_sum(x.reshape((6, 4)), axis=0)
        products = wp.utils.array_inner(x.reshape((6, 4)), x.reshape((6, 4)), axis=1)
    np.testing.assert_allclose(forward.tangent(sums).numpy().ravel(), DX.reshape(6, 4).sum(axis=0))
    np.testing.assert_allclose(forward.tangent(products).numpy().ravel(), (2 * X * DX).reshape(6, 4).sum(axis=1))


# ---- atomics ---------------------------------------------------------------------------------------------------------


def kernel(ordered=False):
    def add(one):
        KERNELS.append((one, ordered))
        return one

    return add


@kernel()
@wp.kernel
def maximum(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_max(slot, i % 3, wp.sin(x[i]) * x[i])
    out[i] = x[i] * x[i]


@kernel()
@wp.kernel
def minimum_in_loops(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    v = x[i]
    for j in range(i % 5):
        v = wp.sin(v) + x[(i + j) % x.shape[0]]
        if j != 2:
            wp.atomic_min(slot, (i + j) % 4, v * x[i] - f64(2.0))
    out[i] = out[i] * v + v


@kernel(ordered=True)
@wp.kernel
def running_sum(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    before = wp.atomic_add(slot, i % 2, x[i] * x[i])
    out[i] = before * before + x[i]


@kernel(ordered=True)
@wp.kernel
def running_difference(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    out[i] = wp.atomic_sub(slot, 0, wp.sin(x[i])) * x[i]


@kernel(ordered=True)
@wp.kernel
def running_maximum(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    before = wp.atomic_max(slot, 1, x[i])
    out[i] = before * x[i]


@kernel(ordered=True)
@wp.kernel
def running_minimum(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    if wp.atomic_min(slot, 0, x[i] - f64(1.5)) > f64(0.0):
        out[i] = x[i] * slot[0]


@kernel(ordered=True)
@wp.kernel
def handed_on(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    before = wp.atomic_exch(slot, 0, wp.sin(x[i]))
    out[i] = before * x[i]


@kernel(ordered=True)
@wp.kernel
def taken_once(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    found = wp.atomic_cas(slot, i % 4, f64(0.0), x[i] * x[i])
    out[i] = found * x[i]


@kernel(ordered=True)
@wp.kernel
def extremes_and_sums(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_max(slot, 0, x[i])
    wp.atomic_add(slot, 0, x[i] * f64(0.1))
    wp.atomic_min(slot, 0, x[i] * f64(2.0))
    out[i] = x[i]


@kernel()
@wp.kernel
def own_elements(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    s = x[i]
    for j in range(i % 3):
        s = wp.sin(s) + wp.atomic_add(out, i, s * s)
        s = s * wp.atomic_max(out, i, s * f64(0.7))
        s = s + wp.atomic_exch(out, i, s * x[i])


@kernel()
@wp.kernel
def order_that_decides_nothing(x: wp.array(dtype=f64), slot: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    before = wp.atomic_add(slot, 0, x[i])
    if before > f64(-1.0):
        out[i] = x[i] * x[i]


def launched(one):
    def function(x):
        slot, out = zeros(5, x), zeros(N, x)
        wp.launch(one, dim=N, inputs=[bent(x), slot, out], device=x.device)
        both = zeros(N + 5, x)
        wp.copy(both, slot, count=5)
        wp.copy(both, out, dest_offset=5)
        return both

    return function


@pytest.mark.parametrize(("one", "ordered"), KERNELS, ids=lambda value: getattr(value, "key", ""))
def test_atomics(one, ordered, device):
    """Kernels that depend on the order of threads run in it, and back."""
    if not ordered:
        return check(launched(one), device)
    _, tangent = wp.jvp(launched(one), [arr(X, device)], [arr(DX, device)])
    _, (product,) = wp.hvp(loss_of(launched(one)), [arr(X, device)], [arr(DX, device)])
    wp.config.cpu_threads = 1
    try:
        check(launched(one), "cpu")
        _, serial = wp.jvp(launched(one), [arr(X, "cpu")], [arr(DX, "cpu")])
        _, (again,) = wp.hvp(loss_of(launched(one)), [arr(X, "cpu")], [arr(DX, "cpu")])
    finally:
        wp.config.cpu_threads = 0
    np.testing.assert_allclose(tangent.numpy(), serial.numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(product.numpy(), again.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("one", [maximum, running_sum], ids=lambda value: value.key)
def test_threads_that_are_kept_in_order_do_not_meet(one, device):
    _, (wanted,) = wp.hvp(loss_of(launched(one)), [arr(X, device)], [arr(DX, device)])
    wp.config.verify_autograd_array_access = True
    try:
        _, (product,) = wp.hvp(loss_of(launched(one)), [arr(X, device)], [arr(DX, device)])
    finally:
        wp.config.verify_autograd_array_access = False
    np.testing.assert_allclose(product.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)


@wp.kernel
def vector_extremes(x: wp.array(dtype=wp.vec3d), out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    wp.atomic_max(out, 0, wp.cw_mul(x[i], x[i]))
    wp.atomic_min(out, 1, x[i])


def test_vectors_have_a_winner_for_each_component(device):
    x, out = arr(X.reshape(8, 3), device, wp.vec3d), arr(np.full((2, 3), 0.5), device, wp.vec3d)
    with wp.ForwardMode({x: arr(DX.reshape(8, 3), device, wp.vec3d)}) as forward:
        wp.launch(vector_extremes, dim=8, inputs=[x, out], device=device)
    rows, columns = X.reshape(8, 3), np.arange(3)
    most, least = rows.argmax(axis=0), rows.argmin(axis=0)
    wanted = [(2 * rows * DX.reshape(8, 3))[most, columns], DX.reshape(8, 3)[least, columns] * (rows.min(axis=0) <= 0.5)]
    np.testing.assert_allclose(forward.tangent(out).numpy(), wanted)


@wp.kernel
def largest(x: wp.array(dtype=f64), out: wp.array(dtype=f64)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i])


def test_one_of_equal_ones_wins(device):
    """As in reverse mode: a thread wins over what was there, and exactly one of several."""
    x, out = arr([1.0, 3.0, 3.0, 2.0], device), arr([3.0], device)
    _, (tangent,) = wp.jvp(largest, [x], [arr([1.0, 10.0, 100.0, 1000.0], device)], dim=4, outputs=[out], device=device)
    assert tangent.numpy()[0] in (10.0, 100.0)
    above = arr([4.0], device)
    with wp.ForwardMode({x: arr([1.0] * 4, device), above: arr([7.0], device)}) as forward:
        wp.launch(largest, dim=4, inputs=[x, above], device=device)
    assert forward.tangent(above).numpy()[0] == 7.0


@wp.kernel
def peaks(x: wp.array(dtype=f64), out: wp.array(dtype=f64), taken: wp.array(dtype=f64)):
    i = wp.tid()
    taken[i] = taken[i] * x[i]
    wp.atomic_max(out, i % 7, wp.sin(taken[i] * f64(100.0)))


def test_many_threads(device):
    """More threads than run at a time, on arrays that are overwritten as they run and share their memory."""
    n = 20000
    x, y, dx = (RANDOM.uniform(0.5, 1.5, size=n) for _ in range(3))
    both = arr(np.stack([y, y], axis=1), device)
    a, out = arr(x, device), arr(np.full(14, -2.0), device)
    with wp.ForwardMode({a: arr(dx, device)}) as forward:
        wp.launch(peaks, dim=n, inputs=[a, out[::2], both[:, 1]], device=device)
    values, tangents = np.sin(100.0 * x * y), np.cos(100.0 * x * y) * 100.0 * y * dx
    for k in range(7):
        winner = k + 7 * values[k::7].argmax()
        np.testing.assert_allclose(out.numpy()[2 * k], values[winner], rtol=1e-12)
        np.testing.assert_allclose(forward.tangent(out).numpy()[2 * k], tangents[winner], rtol=1e-9)
        assert forward.tangent(out).numpy()[2 * k + 1] == 0.0
    np.testing.assert_allclose(forward.tangent(both).numpy(), np.stack([np.zeros(n), y * dx], axis=1))


# ---- arrays in structs in arrays -------------------------------------------------------------------------------------


@wp.struct
class Body:
    mass: f64
    points: wp.array(dtype=f64)


@wp.kernel
def move(bodies: wp.array(dtype=Body), out: wp.array(dtype=f64)):
    i = wp.tid()
    body = bodies[i]
    for k in range(body.points.shape[0]):
        body.points[k] = wp.sin(body.points[k]) * body.mass
        wp.atomic_add(out, i, body.points[k] * body.points[k])


def test_arrays_in_structs_in_arrays(device):
    points = [X[:5], X[5:8], X[8:8]]
    along = [DX[:5], DX[5:8], DX[8:8]]
    arrays = [arr(p, device) for p in points]
    bodies = wp.zeros(3, dtype=Body, device=device)
    for k, one in enumerate(arrays):
        body = Body()
        body.mass, body.points = f64(1.0 + k), one
        bodies[k] = body
    out = wp.zeros(3, dtype=f64, device=device)
    with wp.ForwardMode({one: arr(d, device) for one, d in zip(arrays, along) if one.size}) as forward:
        for _ in range(2):
            wp.launch(move, dim=3, inputs=[bodies, out], device=device)

    def energy(step, k):
        p, total = points[k] + step * along[k], 0.0
        for _ in range(2):
            p = np.sin(p) * (1.0 + k)
            total += np.sum(p * p)
        return total

    wanted = [slope(lambda s, k=k: energy(s, k), 0.0, 1.0) for k in range(3)]
    np.testing.assert_allclose(forward.tangent(out).numpy(), wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(out.numpy(), [energy(0.0, k) for k in range(3)])
