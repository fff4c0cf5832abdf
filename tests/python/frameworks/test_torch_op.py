"""Kernels and functions of launches as operators of PyTorch: eager, differentiated, compiled, mapped."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import warp as wp
from warp import _weft

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@wp.kernel
def rosenbrock(xy: wp.array(dtype=wp.vec2), z: wp.array(dtype=float)):
    i = wp.tid()
    v = xy[i]
    z[i] = (1.0 - v[0]) ** 2.0 + 100.0 * (v[1] - v[0] ** 2.0) ** 2.0


@wp.kernel
def scaled_sine(x: wp.array(dtype=wp.float64), s: wp.float64, y: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = s * wp.sin(x[i])
    c[i] = wp.cos(x[i]) * x[i]


@wp.kernel
def product(
    a: wp.array2d(dtype=wp.float64), b: wp.array2d(dtype=wp.float64), c: wp.array2d(dtype=wp.float64)
):
    i, j = wp.tid()
    s = wp.float64(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


@wp.kernel
def squared_in_place(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def round_down(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] = int(wp.floor(x[i]))


def where(device):
    return wp.device_to_torch(device)


@pytest.fixture
def sine():
    return wp.torch.op(scaled_sine, outputs=2)


@pytest.fixture
def matmul():
    return wp.torch.op(
        product, dim=lambda a, b: (a[0], b[1]), shapes=lambda a, b: (a[0], b[1])
    )


def expected(x, s):
    return s * torch.sin(x), torch.cos(x) * x


def test_plain_tensors(sine, device):
    x = torch.linspace(0, 1, 7, dtype=torch.float64, device=where(device))
    y, c = sine(x, 2.0)
    torch.testing.assert_close((y, c), expected(x, 2.0))
    z = wp.torch.op(rosenbrock)(torch.ones(5, 2, device=where(device)))
    assert z.shape == (5,) and (z == 0).all()


def test_gradients(sine, matmul, device):
    x = torch.linspace(0.1, 1, 7, dtype=torch.float64, device=where(device)).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: sine(t, 2.0), (x,))
    a = torch.rand(3, 4, dtype=torch.float64, device=where(device), requires_grad=True)
    b = torch.rand(4, 2, dtype=torch.float64, device=where(device), requires_grad=True)
    assert torch.autograd.gradcheck(matmul, (a, b))
    matmul(a, b).sum().backward()  # the gradient comes expanded
    torch.testing.assert_close(a.grad, b.sum(1).expand(3, 4).detach())
    c = torch.rand(4, 3, dtype=torch.float64, device=where(device), requires_grad=True)
    assert torch.autograd.gradcheck(lambda t, u: matmul(t.t(), u), (c, b))
    y, _ = sine(x, 2.0)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * first)


@wp.kernel
def every_other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]


@wp.kernel
def halves(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i % 2 == 0:
        y[i] = x[i]
    else:
        y[i] = 0.5 * x[i]


@wp.kernel
def grown(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i]


@pytest.mark.parametrize("kernel, fills, odd", [(every_other, False, 0.0), (halves, True, 0.5), (grown, False, 1.0)])
def test_what_is_not_written_is_zero(kernel, fills, odd, device):
    """Only results that a launch writes in full are not cleared first."""
    native = kernel.native()
    assert _weft.xla_filled(native, [handle for _, handle, _, _ in native.params()], 1) == [False, fills]
    call = wp.torch.op(kernel)
    x = torch.ones(1000, device=wp.device_to_torch(wp.get_device()))
    for _ in range(3):
        dirt = [torch.full_like(x, 7.0) for _ in range(20)]
        del dirt  # memory that torch gives out again
        assert call(x).tolist() == [1.0, odd] * 500
        assert call(x.clone().requires_grad_()).tolist() == [1.0, odd] * 500


def test_second_derivatives_are_refused(sine, device):
    x = torch.ones(3, dtype=torch.float64, device=where(device), requires_grad=True)
    (g,) = torch.autograd.grad(sine(x, 1.0)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of the kernel 'scaled_sine'"):
        g.sum().backward()
    with pytest.raises(RuntimeError, match="second derivatives of the kernel 'scaled_sine'"):
        torch.autograd.gradgradcheck(lambda t: sine(t, 1.0)[0], x)


def test_changes_in_place_are_noticed(sine, device):
    x = torch.ones(3, dtype=torch.float64, device=where(device), requires_grad=True)
    y, _ = sine(x, 1.0)
    with torch.no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_in_out_arguments(device):
    f = wp.torch.op(squared_in_place, outputs=1, in_out="x")
    x = torch.linspace(0.1, 1, 5, dtype=torch.float64, device=where(device)).requires_grad_()
    y = f(x, dim=5)
    assert y.data_ptr() != x.data_ptr()
    torch.testing.assert_close(y, x * x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_integers_have_no_gradient(device):
    f = wp.torch.op(round_down)
    x = torch.tensor([1.5, 2.5], device=where(device), requires_grad=True)
    n = f(x)
    assert n.dtype is torch.int32 and n.tolist() == [1, 2] and not n.requires_grad


def test_function_transforms(sine, matmul, device):
    x = torch.linspace(0.1, 1, 6, dtype=torch.float64, device=where(device))
    grad = torch.func.grad(lambda t: sine(t, 3.0)[0].sum())(x)
    torch.testing.assert_close(grad, 3.0 * torch.cos(x))
    rows = x.reshape(3, 2)
    mapped = torch.func.vmap(lambda t: sine(t, 3.0)[0])(rows)
    torch.testing.assert_close(mapped, 3.0 * torch.sin(rows))
    a = torch.rand(5, 2, 3, dtype=torch.float64, device=where(device))
    b = torch.rand(3, 4, dtype=torch.float64, device=where(device))
    torch.testing.assert_close(torch.func.vmap(matmul, in_dims=(0, None))(a, b), a @ b)
    value, slope = torch.func.jvp(lambda t: sine(t, 3.0)[0], (x,), (torch.ones_like(x),))
    torch.testing.assert_close(slope, 3.0 * torch.cos(x))
    per_row = torch.func.vmap(torch.func.grad(lambda t: sine(t, 3.0)[0].sum()))(rows)
    torch.testing.assert_close(per_row, 3.0 * torch.cos(rows))
    jacobian = torch.func.jacfwd(lambda t: sine(t, 3.0)[0])(x)
    torch.testing.assert_close(jacobian, torch.diag(3.0 * torch.cos(x)))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(sine, backend, device):
    try:
        torch.utils._triton.has_triton()
    except Exception as error:  # torch.compile asks this of itself
        pytest.skip(f"torch.compile can't look at this machine's GPUs: {type(error).__name__}: {error}")
    def f(t):
        y, c = sine(t * 2.0, 2.0)
        return (y + c).sum()

    compiled = torch.compile(f, fullgraph=True, backend=backend, dynamic=True)
    for n in (5, 9, 13):
        x = torch.linspace(0.1, 1, n, dtype=torch.float64, device=where(device)).requires_grad_()
        y = x.detach().clone().requires_grad_()
        out, wanted = compiled(x), f(y)
        torch.testing.assert_close(out, wanted)
        out.backward()
        wanted.backward()
        torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.cpu_only
def test_the_library_operator_is_sound():
    f = wp.torch.op(scaled_sine, outputs=2, name="sound_sine")
    x = torch.rand(4, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.weft.sound_sine.default, (x, 2.0, [4], [4], [4]))
    assert f.name == "sound_sine"


@pytest.mark.cpu_only
def test_mistakes_have_names():
    with pytest.raises(ValueError, match="outputs=5"):
        wp.torch.op(rosenbrock, outputs=5)
    with pytest.raises(ValueError, match="in_out names 'q'"):
        wp.torch.op(rosenbrock, in_out="q")
    with pytest.raises(TypeError, match="takes a kernel"):
        wp.torch.op(3)
    f = wp.torch.op(rosenbrock)
    with pytest.raises(TypeError, match="takes 1 inputs .xy., got 2"):
        f(torch.ones(3, 2), 1)
    with pytest.raises(TypeError, match="'xy' is a ndarray"):
        f(np.ones((3, 2), np.float32))
    with pytest.raises(ValueError, match="no result is named"):
        f(torch.ones(3, 2), shapes={"w": 3})
    with pytest.raises(RuntimeError, match="vec2"):
        f(torch.ones(3, 3))


def test_usual_calls_and_others(device, torch_sees_gpus):
    """Calls go to C++ first (src/bind/torch_op.cpp) and come to __call__ where they are not usual: both give the same."""

    @wp.kernel
    def grow(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = s * x[i]

    call = wp.torch.op(grow)
    x = torch.arange(8.0, device=where(device))
    wanted = (3.0 * x).tolist()
    strided = torch.arange(16.0, device=where(device))[::2]
    for made in (
        call(x, 3.0),
        type(call).__call__(call, x, 3.0),
        call(x, 3.0, dim=8),
        call(*(x, 3.0), **{}),
        call(x, s=3.0),
        call(s=3.0, x=x),
        torch.compile(lambda t: call(t, s=3.0), fullgraph=True, backend="aot_eager")(x),
        call(torch.nn.Parameter(x), 3.0).detach(),
        call(strided, 1.5),
    ):
        assert made.tolist() == wanted
    leaf = x.clone().requires_grad_()
    call(leaf, 3.0).sum().backward()
    assert leaf.grad.tolist() == [3.0] * 8
    with torch.no_grad():
        assert not call(leaf, 3.0).requires_grad
    for arguments in ((x,), (x, 3.0, 1.0)):
        with pytest.raises(TypeError, match=r"takes 2 inputs \(x, s\), got"):
            call(*arguments)
    with pytest.raises(TypeError, match="'x' is a list, no tensor"):
        call([1.0], 3.0)
    for named in ({"scale": 3.0}, {"s": 3.0, "scale": 3.0}):
        with pytest.raises(TypeError, match=r"takes 2 inputs \(x, s\), none of them 'scale'"):
            call(x, **named)
    for arguments, named in (((x, 3.0), {"s": 3.0}), ((x,), {"x": x})):
        with pytest.raises(TypeError, match=r"takes 2 inputs \(x, s\), got"):
            call(*arguments, **named)
    assert callable(call) and call.__name__.endswith("grow")


def test_as_a_decorator(device):
    @wp.torch.op
    @wp.kernel(module="unique")
    def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = 3.0 * x[i]

    assert triple(torch.ones(4, device=where(device))).tolist() == [3.0] * 4


@wp.torch.op
@wp.kernel
def halved(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.5 * x[i]


@wp.kernel
def eighth(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 0.125 * x[i]


@wp.torch.function
def quartered(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.launch(halved.kernel, x.shape, [x], [y])
    wp.launch(halved.kernel, x.shape, [y], [y])


def test_operators_are_copied_and_pickled(device):
    """Modules of torch that have them are, for averages of models, other processes and files."""
    x = torch.full((2,), 8.0, device=where(device))
    for made, wanted in ((halved, 4.0), (quartered, 2.0)):
        assert copy.deepcopy({"f": made})["f"] is made and copy.copy(made) is made
        assert pickle.loads(pickle.dumps(made)) is made
        assert made(x).tolist() == [wanted] * 2 and made.__name__ in repr(made)
    again = pickle.loads(pickle.dumps(wp.torch.op(eighth, dim=2)))
    assert again(x).tolist() == [1.0] * 2 and again.kernel is eighth


@pytest.mark.parametrize("scalar", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_results(scalar, device, torch_sees_gpus):
    kind = getattr(wp, scalar)

    @wp.kernel(module="unique")
    def count_down(x: wp.array(dtype=float), y: wp.array(dtype=kind), v: wp.array(dtype=wp.types.vector(2, kind))):
        i = wp.tid()
        y[i] = kind(0) - kind(i)
        v[i][1] = y[i]

    def through(x: wp.array(dtype=float), y: wp.array(dtype=kind), v: wp.array(dtype=wp.types.vector(2, kind))):
        wp.launch(count_down, x.shape, [x], [y, v])

    f = wp.torch.op(count_down, outputs=2)
    x = torch.zeros(2, device=where(device))
    for call in (f, torch.compile(f, fullgraph=True, backend="aot_eager"), wp.torch.function(through, outputs=2)):
        y, v = call(x)
        assert y.dtype == v.dtype == getattr(torch, scalar)
        most = 2 ** int(scalar[4:]) - 1
        assert y.tolist() == [0, most] and v.tolist() == [[0, 0], [0, most]]


def test_nothing_is_left_behind(sine, device):
    x = torch.ones(3, dtype=torch.float64, device=where(device), requires_grad=True)
    y, c = sine(x, 1.0)
    gone = weakref.ref(y)
    (y + c).sum().backward()
    del y, c
    gc.collect()
    assert gone() is None


# ---- functions -------------------------------------------------------------------------------------------------------


@wp.kernel
def squares(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def times(x: wp.array(dtype=wp.float64), s: wp.float64, y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = s * x[i]


def scaled_fourth_power(x: wp.array(dtype=wp.float64), s: wp.float64, y: wp.array(dtype=wp.float64)):
    n = x.shape[0]
    a = wp.zeros(n, dtype=wp.float64, requires_grad=True)
    b = wp.zeros(n, dtype=wp.float64, requires_grad=True)
    wp.launch(squares, n, [x], [a])
    wp.launch(squares, n, [a], [b])
    wp.launch(times, n, [b, s], [y])


def test_functions_of_many_launches(device):
    f = wp.torch.function(scaled_fourth_power)
    x = torch.linspace(0.5, 1, 6, dtype=torch.float64, device=where(device))
    torch.testing.assert_close(f(x, 2.0), 2 * x**4)
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda t: f(t, 2.0), (x,))
    y = f(x, 2.0)
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    torch.testing.assert_close(first, 8 * x.detach() ** 3)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * first)
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


@pytest.mark.cpu_only
def test_mistakes_of_functions():
    def bare(x, y: wp.array(dtype=float)):
        pass

    with pytest.raises(TypeError, match="parameter 'x' of bare has no annotation"):
        wp.torch.function(bare)

    def returns(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        return x

    with pytest.raises(TypeError, match="returned a"):
        wp.torch.function(returns)(torch.ones(3))
