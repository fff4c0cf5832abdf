"""warp.optim: Adam and SGD against their formulas, every kind of floating point element, strides, memory, errors."""

import numpy as np
import pytest

import warp as wp
import warp.optim
from warp.optim import SGD, Adam

KINDS = [wp.float16, wp.float32, wp.float64, wp.vec2, wp.vec3d, wp.mat33, wp.quat, wp.transform, wp.types.matrix((2, 3), wp.float16)]


def adam(p, slopes, lr, betas, eps):
    m = v = np.zeros_like(p)
    for t, g in enumerate(slopes, 1):
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        p = p - lr * (m / (1 - betas[0] ** t)) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
    return p


def sgd(p, slopes, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    b = None
    for g in slopes:
        g = g + weight_decay * p
        if momentum:
            b = g if b is None else momentum * b + (1 - dampening) * g
            g = g + momentum * b if nesterov else b
        p = p - lr * g
    return p


def filled(dtype, seed, shape=(5,)):
    size = np.asarray(wp.zeros(shape, dtype=dtype).numpy()).shape
    numbers = np.random.default_rng(seed).normal(size=size)
    return wp.array(numbers, dtype=dtype), np.asarray(wp.array(numbers, dtype=dtype).numpy(), dtype=np.float64)


@pytest.mark.parametrize("dtype", KINDS, ids=lambda t: t.__name__)
def test_adam_follows_its_formula(dtype):
    param, start = filled(dtype, 0)
    slopes = [filled(dtype, seed) for seed in range(1, 5)]
    optimizer = Adam([param], lr=0.1, betas=(0.8, 0.95), eps=1e-6)
    for slope, _ in slopes:
        optimizer.step([slope])
    want = adam(start, [g for _, g in slopes], 0.1, (0.8, 0.95), 1e-6)
    tolerance = {"float16": 4e-3, "float64": 1e-12}.get(param._element.scalar, 2e-6)
    np.testing.assert_allclose(param.numpy(), want, rtol=tolerance, atol=tolerance)
    assert optimizer.t == 4


@pytest.mark.parametrize("dtype", KINDS, ids=lambda t: t.__name__)
@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}, {"momentum": 0.5, "nesterov": True}],
    ids=["plain", "momentum", "dampened", "nesterov"],
)
def test_sgd_follows_its_formula(dtype, options):
    param, start = filled(dtype, 0)
    slopes = [filled(dtype, seed) for seed in range(1, 5)]
    optimizer = SGD([param], lr=0.05, **options)
    for slope, _ in slopes:
        optimizer.step([slope])
    tolerance = {"float16": 4e-3, "float64": 1e-12}.get(param._element.scalar, 2e-6)
    np.testing.assert_allclose(param.numpy(), sgd(start, [g for _, g in slopes], 0.05, **options), rtol=tolerance, atol=tolerance)


def test_small_steps_of_half_numbers_are_remembered_in_float32():
    param = wp.array(np.ones(3), dtype=wp.float16)
    optimizer = Adam([param])
    assert optimizer.m[0].dtype is wp.float32 and optimizer.v[0].dtype is wp.float32
    slope = wp.array(np.full(3, 1e-4), dtype=wp.float16)  # its square is below the least number of float16
    for _ in range(10):
        optimizer.step([slope])
    assert (optimizer.v[0].numpy() > 0).all()
    np.testing.assert_allclose(param.numpy(), 0.99, atol=2e-3)


def test_views_and_several_dimensions():
    whole = wp.array(np.ones((4, 6)), dtype=float)
    slope = wp.array(np.arange(24).reshape(4, 6), dtype=float)
    SGD([whole[:, 1:3]], lr=1.0).step([slope[:, 1:3]])
    want = np.ones((4, 6))
    want[:, 1:3] -= np.arange(24).reshape(4, 6)[:, 1:3]
    np.testing.assert_array_equal(whole.numpy(), want)


def test_a_gradient_of_none_leaves_its_parameter():
    a, b = wp.ones(2, dtype=float), wp.ones(2, dtype=float)
    SGD([a, b], lr=0.5).step([None, wp.ones(2, dtype=float)])
    assert a.numpy().tolist() == [1, 1] and b.numpy().tolist() == [0.5, 0.5]


def test_what_is_remembered_stays_with_arrays_of_one_layout():
    optimizer = Adam([wp.ones(2, dtype=float), wp.ones(3, dtype=wp.vec3)])
    optimizer.step([wp.ones(2, dtype=float), wp.ones(3, dtype=wp.vec3)])
    kept, left = optimizer.m
    optimizer.set_params([wp.zeros(2, dtype=float), wp.zeros(4, dtype=wp.vec3)])
    assert optimizer.m[0] is kept and optimizer.m[1] is not left
    assert not optimizer.m[1].numpy().any() and optimizer.t == 1
    optimizer.reset_internal_state()
    assert optimizer.t == 0 and not optimizer.m[0].numpy().any() and not optimizer.v[0].numpy().any()
    optimizer.set_params(None)
    assert optimizer.params is None and optimizer.m == []


def test_a_least_square_is_found():
    @wp.kernel
    def loss_of(x: wp.array(dtype=wp.vec2), loss: wp.array(dtype=float)):
        i = wp.tid()
        d = x[i] - wp.vec2(1.0, -2.0)
        wp.atomic_add(loss, 0, wp.dot(d, d))

    x = wp.zeros(3, dtype=wp.vec2, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    optimizer = Adam([x], lr=0.1)
    for _ in range(300):
        with wp.Tape() as tape:
            loss.zero_()
            wp.launch(loss_of, dim=3, inputs=[x, loss])
        tape.backward(loss)
        optimizer.step([x.grad])
        tape.zero()
    np.testing.assert_allclose(x.numpy(), [[1, -2]] * 3, atol=1e-3)


def test_steps_are_no_part_of_a_tape():
    x = wp.ones(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        SGD([x], lr=0.1).step([wp.ones(2, dtype=float)])
    assert not tape.launches


def test_where_programs_import_them_from():
    from warp.optim.adam import Adam as there
    from warp.optim.sgd import SGD as here

    assert there is warp.optim.Adam is wp.optim.Adam and here is warp.optim.SGD
    one = wp.ones(1, dtype=float)
    assert Adam(one).params == [one]


@pytest.mark.parametrize("kind", [Adam, SGD])
def test_mistakes_are_named(kind):
    numbers = wp.zeros(2, dtype=float)
    with pytest.raises(RuntimeError, match="parameters must be set before calling step"):
        kind().step([])
    with pytest.raises(RuntimeError, match="Unsupported dtype.*parameter 1 has elements of int32"):
        kind([numbers, wp.zeros(2, dtype=int)])
    with pytest.raises(TypeError, match="parameter 0 is no array, but ndarray"):
        kind([np.zeros(2)])
    with pytest.raises(ValueError, match="1 parameters, but 2 gradients"):
        kind([numbers]).step([numbers, numbers])
    with pytest.raises(ValueError, match=r"must match parameter shape \(2,\), got \(3,\)"):
        kind([numbers]).step([wp.zeros(3, dtype=float)])
    with pytest.raises(TypeError, match="gradient dtype must match parameter dtype float32, got float64"):
        kind([numbers]).step([wp.zeros(2, dtype=wp.float64)])
    with pytest.raises(TypeError, match="gradient 0 is no array"):
        kind([numbers]).step([np.zeros(2)])
    assert numbers.numpy().tolist() == [0, 0]
