"""jax_kernel under JAX's transformations: derivatives against differences, batches against loops, and both together."""

from __future__ import annotations

import numpy as np
import pytest
from jax_support import jax, jnp

import warp as wp
from warp.jax_experimental.ffi import jax_kernel


@pytest.fixture(autouse=True)
def _with_doubles():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


d = wp.float64


@wp.func
def bend(x: d):
    return wp.sin(x) * x + wp.exp(d(0.1) * x)


@wp.kernel
def curve(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = bend(x[i])


@wp.kernel
def neighbours(x: wp.array(dtype=d), w: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    n = x.shape[0]
    s = d(0.0)
    for k in range(3):
        s += x[(i + k) % n] * w[k]
    if s > d(0.0):
        y[i] = s * s
    else:
        y[i] = -s


@wp.kernel
def total(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    wp.atomic_add(y, 0, x[wp.tid()] * x[wp.tid()])


@wp.kernel
def product(a: wp.array2d(dtype=d), b: wp.array2d(dtype=d), c: wp.array2d(dtype=d)):
    i, j = wp.tid()
    s = d(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def turn(x: wp.array(dtype=wp.vec3d), m: wp.array(dtype=wp.mat33d), y: wp.array(dtype=wp.vec3d), n: wp.array(dtype=d)):
    i = wp.tid()
    v = m[i] * x[i]
    y[i] = wp.cross(v, x[i])
    n[i] = wp.dot(v, v)


@wp.kernel
def step(v: wp.array(dtype=d), x: wp.array(dtype=d), e: wp.array(dtype=d)):
    i = wp.tid()
    x[i] = x[i] + d(0.1) * v[i] * x[i]
    e[i] = x[i] * v[i]


@wp.kernel
def relax(x: wp.array(dtype=d), steps: int, y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = x[i]
    for k in range(steps):
        y[i] = wp.sin(y[i]) * x[i] + y[i] * y[i] * d(0.1)


@wp.kernel
def backwards(x: wp.array(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = x[x.shape[0] - 1 - i] * d(2.0)


@wp.kernel
def lookup(table: wp.array(dtype=d), index: wp.array(dtype=int), y: wp.array(dtype=d)):
    i = wp.tid()
    y[i] = table[index[i]] * table[index[i]]


@wp.kernel
def rowsum(a: wp.array2d(dtype=d), y: wp.array(dtype=d)):
    i = wp.tid()
    for k in range(a.shape[1]):
        y[i] += a[i, k] * a[i, k]


rng = np.random.default_rng(3)


def numbers(*shape):
    return jnp.asarray(rng.uniform(0.2, 1.5, shape))


INDEX = jnp.asarray([3, 0, 3, 1, 2], dtype=jnp.int32)
f_curve = jax_kernel(curve)
f_neighbours = jax_kernel(neighbours)
f_total = jax_kernel(total, output_dims=1)
f_product = jax_kernel(product)
f_turn = jax_kernel(turn, num_outputs=2)
f_step = jax_kernel(step, num_outputs=2, in_out_argnames=["x"])
f_relax = jax_kernel(relax)
f_back = jax_kernel(backwards)
f_lookup = jax_kernel(lookup, launch_dims=5)
f_rowsum = jax_kernel(rowsum)

CASES = {
    "curve": (lambda x: f_curve(x), lambda: (numbers(6),)),
    "neighbours": (lambda x, w: f_neighbours(x, w), lambda: (numbers(6), numbers(3) - 0.8)),
    "atomic": (lambda x: f_total(x), lambda: (numbers(7),)),
    "product": (lambda a, b: f_product(a, b, launch_dims=(a.shape[0], b.shape[1])), lambda: (numbers(3, 2), numbers(2, 4))),
    "vectors": (lambda x, m: f_turn(x, m), lambda: (numbers(4, 3), numbers(4, 3, 3))),
    "in_out": (lambda v, x: f_step(v, x), lambda: (numbers(5), numbers(5))),
    "log": (lambda x: f_relax(x, 4), lambda: (numbers(5),)),
    "backwards": (lambda x: f_back(x), lambda: (numbers(6),)),
    "lookup": (lambda t: f_lookup(t, INDEX), lambda: (numbers(4),)),
    "rowsum": (lambda a: f_rowsum(a, launch_dims=a.shape[0]), lambda: (numbers(4, 3),)),
}  # fmt: skip
cases = pytest.mark.parametrize("name", CASES)


def flat(outs):
    return jnp.concatenate([o.reshape(-1) for o in outs])


def weighted(f):
    """A number made of all results, each with a weight of its own."""

    def g(*args):
        all_of_it = flat(f(*args))
        return jnp.sum(all_of_it * jnp.cos(jnp.arange(all_of_it.size)))

    return g


def differences(g, args, step=1e-6):
    out = []
    for k, a in enumerate(args):
        slope = np.zeros(a.shape)
        for at in np.ndindex(*a.shape):
            up = [b.at[at].add(step) if j == k else b for j, b in enumerate(args)]
            down = [b.at[at].add(-step) if j == k else b for j, b in enumerate(args)]
            slope[at] = (float(g(*up)) - float(g(*down))) / (2 * step)
        out.append(slope)
    return out


@cases
def test_reverse_mode_against_differences(name):
    f, make = CASES[name]
    args = make()
    g = jax.jit(weighted(f))
    wanted = differences(g, args)
    for grad in (jax.grad(weighted(f), range(len(args))), jax.jit(jax.grad(weighted(f), range(len(args))))):
        for one, two in zip(grad(*args), wanted):
            np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


@cases
def test_forward_mode_against_reverse_mode(name):
    f, make = CASES[name]
    args = make()
    directions = make()
    _, slope = jax.jvp(weighted(f), args, directions)
    grads = jax.grad(weighted(f), range(len(args)))(*args)
    np.testing.assert_allclose(slope, sum(float(jnp.vdot(a, b)) for a, b in zip(grads, directions)), rtol=1e-9)
    one = jax.jacfwd(lambda *a: flat(f(*a)))(*args)
    two = jax.jacrev(lambda *a: flat(f(*a)))(*args)
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    _, linear = jax.linearize(lambda *a: flat(f(*a)), *args)
    np.testing.assert_allclose(linear(*directions), jax.jvp(lambda *a: flat(f(*a)), args, directions)[1], rtol=1e-12)


@cases
@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "sequential", "sequential_unrolled"])
def test_batches_against_a_loop(name, method):
    f, make = CASES[name]
    samples = [make() for _ in range(3)]
    wanted = [jnp.stack(o) for o in zip(*[f(*s) for s in samples])]
    stacked = [jnp.stack(a) for a in zip(*samples)]
    made = with_method(name, method)
    for one, two in zip(jax.vmap(made)(*stacked), wanted):
        np.testing.assert_allclose(one, two, rtol=1e-12)
    if len(stacked) < 2:
        return
    # Each argument without a batch in turn.
    for k in range(len(stacked)):
        shared = [a[0] if j == k else a for j, a in enumerate(stacked)]
        axes = tuple(None if j == k else 0 for j in range(len(stacked)))
        loop = [f(*[a if j == k else a[s] for j, a in enumerate(shared)]) for s in range(3)]
        for one, two in zip(jax.vmap(made, in_axes=axes)(*shared), [jnp.stack(o) for o in zip(*loop)]):
            np.testing.assert_allclose(one, two, rtol=1e-12)


def with_method(name, method):
    """The case's function with another vmap_method for its call."""
    wrapped = {"curve": f_curve, "neighbours": f_neighbours, "atomic": f_total, "vectors": f_turn, "in_out": f_step,
               "backwards": f_back}  # fmt: skip
    if name in wrapped:
        return lambda *a: wrapped[name](*a, vmap_method=method)
    if name == "product":
        return lambda a, b: f_product(a, b, launch_dims=(a.shape[0], b.shape[1]), vmap_method=method)
    if name == "log":
        return lambda x: f_relax(x, 4, vmap_method=method)
    if name == "lookup":
        return lambda t: f_lookup(t, INDEX, vmap_method=method)
    return lambda a: f_rowsum(a, launch_dims=a.shape[0], vmap_method=method)


@cases
def test_gradients_of_batches_and_batches_of_gradients(name):
    f, make = CASES[name]
    samples = [make() for _ in range(3)]
    stacked = [jnp.stack(a) for a in zip(*samples)]
    every = range(len(stacked))
    wanted = [jnp.stack(g) for g in zip(*[jax.grad(weighted(f), every)(*s) for s in samples])]
    for one, two in zip(jax.jit(jax.vmap(jax.grad(weighted(f), every)))(*stacked), wanted):
        np.testing.assert_allclose(one, two, rtol=1e-10)
    summed = jax.jit(jax.grad(lambda *a: jnp.sum(jax.vmap(weighted(f))(*a)), every))
    for one, two in zip(summed(*stacked), wanted):
        np.testing.assert_allclose(one, two, rtol=1e-10)


def test_an_input_that_samples_share_gets_the_sum():
    x, w = jnp.stack([numbers(6) for _ in range(4)]), numbers(3)
    loss = lambda w: jnp.sum(jax.vmap(lambda a: f_neighbours(a, w)[0])(x))  # noqa: E731
    wanted = sum(jax.grad(lambda w, a=a: jnp.sum(f_neighbours(a, w)[0]))(w) for a in x)
    np.testing.assert_allclose(jax.grad(loss)(w), wanted, rtol=1e-12)
    each = jax.vmap(jax.grad(lambda w, a: jnp.sum(f_neighbours(a, w)[0])), in_axes=(None, 0))(w, x)
    assert each.shape == (4, 3)
    np.testing.assert_allclose(each.sum(0), wanted, rtol=1e-12)


def test_nested_batches_and_every_axis():
    a, b = numbers(2, 3, 4, 2), numbers(5, 2, 3)
    call = lambda x, y: f_product(x, y, launch_dims=(x.shape[0], y.shape[1]))[0]  # noqa: E731
    out = jax.vmap(jax.vmap(call, in_axes=(0, None)), in_axes=(0, None))(a, b[0])
    np.testing.assert_allclose(out, np.einsum("abij,jk->abik", a, b[0]), rtol=1e-12)
    out = jax.vmap(jax.vmap(call, in_axes=(None, 0)), in_axes=(0, None))(a[0], b)
    np.testing.assert_allclose(out, np.einsum("bij,cjk->bcik", a[0], b), rtol=1e-12)
    out = jax.vmap(call, in_axes=(2, None), out_axes=1)(jnp.moveaxis(a[0], 0, 2), b[0])
    np.testing.assert_allclose(out, np.einsum("bij,jk->ibk", a[0], b[0]), rtol=1e-12)


def test_scan_and_remat():
    x = numbers(6)

    def loop(x):
        return jax.lax.scan(lambda c, _: (f_curve(c)[0] * 0.3, jnp.sum(c)), x, None, length=4)

    def plain(x):
        sums = []
        for _ in range(4):
            sums.append(jnp.sum(x))
            x = f_curve(x)[0] * 0.3
        return x, jnp.stack(sums)

    np.testing.assert_allclose(loop(x)[1], plain(x)[1], rtol=1e-12)
    wanted = jax.grad(lambda x: plain(x)[0].sum())(x)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: loop(x)[0].sum()))(x), wanted, rtol=1e-10)
    again = jax.checkpoint(lambda x: plain(x)[0].sum())
    np.testing.assert_allclose(jax.jit(jax.grad(again))(x), wanted, rtol=1e-10)


@pytest.mark.parametrize("name", ["curve", "neighbours", "product", "vectors", "lookup", "in_out", "rowsum"])
def test_second_derivatives_over_reverse_mode(name):
    f, make = CASES[name]
    args = make()
    made = jax.hessian(weighted(f))(*args)
    np.testing.assert_allclose(jax.jacrev(jax.grad(weighted(f)))(*args), made, rtol=1e-9, atol=1e-12)
    slope = jax.grad(weighted(f))
    for at in np.ndindex(*args[0].shape):
        up, down = (slope(args[0].at[at].add(s), *args[1:]) for s in (1e-6, -1e-6))
        index = (slice(None),) * args[0].ndim + at
        np.testing.assert_allclose(made[index], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["curve", "neighbours", "product", "vectors", "lookup", "in_out", "rowsum", "atomic"])
def test_second_derivatives_over_forward_mode(name):
    f, make = CASES[name]
    args, directions, others = make(), make(), make()
    every = range(len(args))
    hessian = jax.jacfwd(jax.grad(weighted(f)))(*args)
    np.testing.assert_allclose(jax.jacrev(jax.jacfwd(weighted(f)))(*args), hessian, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(weighted(f)))(*args), hessian, rtol=1e-9, atol=1e-12)

    def slope(*at):  # in a direction; what is asked for below is its gradient, and its slope in another direction
        return jax.jvp(weighted(f), at, directions)[1]

    wanted = differences(jax.jit(slope), args)
    for grad in (jax.grad(slope, every), jax.jit(jax.grad(slope, every))):
        for one, two in zip(grad(*args), wanted):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)
    twice = jax.jvp(slope, args, others)[1]
    np.testing.assert_allclose(twice, sum(float(jnp.vdot(a, b)) for a, b in zip(wanted, others)), rtol=1e-5)


def test_the_gradient_of_a_slope_in_its_direction_is_the_gradient():
    f, make = CASES["neighbours"]
    args, directions = make(), make()
    slope = lambda d: jax.jvp(weighted(f), args, d)[1]  # noqa: E731
    for one, two in zip(jax.grad(slope)(directions), jax.grad(weighted(f), (0, 1))(*args)):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_second_derivatives_of_batches():
    x, d = numbers(3, 6), numbers(3, 6)
    one = lambda x, d: jax.grad(lambda x: jax.jvp(weighted(f_curve), (x,), (d,))[1])(x)  # noqa: E731
    wanted = jnp.stack([one(a, b) for a, b in zip(x, d)])
    np.testing.assert_allclose(jax.jit(jax.vmap(one))(x, d), wanted, rtol=1e-10)


def test_third_derivatives_name_the_kernel():
    third = jax.jacfwd(jax.jacfwd(jax.jacfwd(lambda x: f_curve(x)[0].sum())))
    with pytest.raises(NotImplementedError, match="third derivatives of kernel 'curve'"):
        third(numbers(3))


def test_without_backward():
    f = jax_kernel(curve, enable_backward=False)
    x = numbers(3)
    np.testing.assert_allclose(f(x)[0], f_curve(x)[0])
    with pytest.raises(RuntimeError, match="enable_backward=False"):
        jax.grad(lambda x: f(x)[0].sum())(x)


def test_the_seeds_of_a_program_stay_as_they_are():
    x = numbers(4)
    _, pull = jax.vjp(lambda x: f_curve(x)[0], x)
    seed = jnp.ones(4)
    one, two = pull(seed)[0], pull(seed)[0]
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(seed, np.ones(4))


def test_integer_inputs_and_outputs_have_no_derivative():
    assert jax.grad(lambda t: f_lookup(t, INDEX)[0].sum())(numbers(4)).shape == (4,)
    slopes = jax.grad(lambda t, i: f_lookup(t, i)[0].sum(), argnums=(0, 1), allow_int=True)(numbers(4), INDEX)
    assert slopes[1].dtype == jax.dtypes.float0
