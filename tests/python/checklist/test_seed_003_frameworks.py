"""The interoperability document as far as PyTorch, CuPy, Numba and DLPack go. Each part has files of its own in ../frameworks."""

from __future__ import annotations

import numpy as np
import pytest

import warp as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

n = 64


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def loss(xs: wp.array(dtype=float, ndim=2), l: wp.array(dtype=float)):
    tid = wp.tid()
    wp.atomic_add(l, 0, xs[tid, 0] ** 2.0 + xs[tid, 1] ** 2.0)


@wp.kernel
def lengths(xs: wp.array(dtype=wp.vec2), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.length(xs[i])


def where():
    return wp.device_to_torch(wp.get_device())


def test_seed_140_tensors_straight_to_launch():
    """PyTorch supports both CPU and GPU tensors and both kinds can be passed to Warp kernels."""
    x = torch.arange(n, dtype=torch.float32, device=where())
    y = torch.ones(n, dtype=torch.float32, device=where())
    wp.launch(saxpy, dim=n, inputs=[x, y, 1.0], device=wp.get_device())
    assert y.tolist() == [i + 1.0 for i in range(n)]


def test_seed_144_tensors_share_memory_and_gradients():
    """to_torch and from_torch do not copy; gradients are converted, too."""
    w = wp.array([1.0, 2.0, 3.0], dtype=float)
    t = wp.to_torch(w)
    t[1] = 5.0
    assert w.list() == [1.0, 5.0, 3.0] and wp.from_torch(t).ptr == w.ptr
    leaf = torch.ones(3, device=where(), requires_grad=True)
    a = wp.from_torch(leaf)
    assert a.requires_grad and a.grad.ptr == leaf.grad.data_ptr()


def test_seed_145_devices_and_types():
    assert wp.device_from_torch(torch.device("cpu")) == "cpu" and wp.device_to_torch("cpu") == "cpu"
    assert wp.dtype_from_torch(torch.float64) is wp.float64 and wp.dtype_to_torch(wp.int32) is torch.int32


def test_seed_149_an_optimizer_sees_our_gradients():
    xs = torch.randn(100, 2, requires_grad=True, device=where())
    l = torch.zeros(1, requires_grad=True, device=where())
    opt = torch.optim.Adam([xs], lr=0.1)
    wp_xs, wp_l = wp.from_torch(xs), wp.from_torch(l)
    tape = wp.Tape()
    with tape:
        wp.launch(loss, dim=len(xs), inputs=[wp_xs], outputs=[wp_l], device=wp_xs.device)
    for _ in range(100):
        tape.zero()
        tape.backward(loss=wp_l)
        opt.step()
    wp_l.zero_()
    wp.launch(loss, dim=len(xs), inputs=[wp_xs], outputs=[wp_l], device=wp_xs.device)
    assert l.item() < 1.0


def test_seed_152_to_torch_as_a_parameter():
    xs = wp.array(np.random.default_rng(1).normal(size=(100, 2)), dtype=wp.float32, requires_grad=True)
    l = wp.zeros(1, dtype=wp.float32, requires_grad=True)
    opt = torch.optim.Adam([wp.to_torch(xs)], lr=0.1)
    tape = wp.Tape()
    with tape:
        wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    for _ in range(100):
        tape.zero()
        tape.backward(loss=l)
        opt.step()
    l.zero_()
    wp.launch(loss, dim=len(xs), inputs=[xs], outputs=[l], device=xs.device)
    assert l.numpy()[0] < 1.0


def test_seed_154_vectors_with_gradients():
    xy = torch.ones(5, 2, device=where())
    a = wp.from_torch(xy, dtype=wp.vec2, requires_grad=True)
    assert a.shape == (5,) and a.dtype is wp.vec2 and a.grad.shape == (5,)


def test_seed_157_the_current_device_by_name():
    assert wp.device_to_torch(wp.get_device()) == str(torch.zeros(1, device=where()).device)


def test_seed_159_custom_operators_compiled():
    """Operators are opaque to torch.compile; ../frameworks runs the documented program."""
    try:
        torch.utils._triton.has_triton()
    except Exception as error:  # torch.compile asks this of itself
        pytest.skip(f"torch.compile can't look at this machine's GPUs: {type(error).__name__}: {error}")
    f = wp.torch.op(lengths)
    x = torch.rand(5, 2, device=where()) + 0.5
    compiled = torch.compile(lambda t: f(t) * 2.0, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), 2.0 * x.norm(dim=1))


def test_seed_160_without_gradients():
    z = torch.ones(3, requires_grad=True, device=where())
    assert not wp.from_torch(z, requires_grad=False).requires_grad and z.grad is None


def test_seed_161_descriptors():
    for count in range(1, 10):
        x_t = torch.arange(count, dtype=torch.float32, device=where())
        y_t = torch.ones(count, dtype=torch.float32, device=where())
        x_ctype, y_ctype = wp.from_torch(x_t, return_ctype=True), wp.from_torch(y_t, return_ctype=True)
        wp.launch(saxpy, dim=count, inputs=[x_ctype, y_ctype, 1.0])
        assert y_t[-1] == float(count)


def test_seed_162_tensors_passed_directly_carry_no_gradients():
    x = torch.ones(n, device=where(), requires_grad=True)
    y = wp.zeros(n, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(saxpy, dim=n, inputs=[x, y, 1.0])
    tape.backward(grads={y: wp.ones(n)})
    assert x.grad is None


@pytest.mark.cpu_only("the same program on each device")
def test_seed_163_the_benchmark(capsys, monkeypatch):
    """python -m warp.examples.benchmarks.benchmark_interop_torch."""
    from warp.examples.benchmarks import benchmark_interop_torch

    monkeypatch.setattr("sys.argv", ["benchmark", "--launches", "10", "--device", "cpu"])
    benchmark_interop_torch.main()
    lines = capsys.readouterr().out.splitlines()
    wanted = ["from_torch(...)", "from_torch(..., return_ctype=True)", "direct from torch"]
    shown = [line.split(" ms  ")[1] for line in lines if " ms  " in line]
    assert shown == wanted * 4


def test_seed_185_from_dlpack():
    t = torch.arange(6.0, device=where())
    a = wp.from_dlpack(t)
    assert a.ptr == t.data_ptr() and torch.from_dlpack(a).data_ptr() == t.data_ptr()


def test_seed_187_capsules():
    t = torch.arange(6.0, device=where())
    a = wp.from_dlpack(torch.utils.dlpack.to_dlpack(t))
    assert a.ptr == t.data_ptr()
    assert torch.utils.dlpack.from_dlpack(wp.to_dlpack(a)).data_ptr() == t.data_ptr()


def test_seed_146_streams():
    """stream_from_torch and stream_to_torch: the same queue, under another name."""
    if not torch.cuda.is_available() or not wp.is_cuda_available():
        with pytest.raises(RuntimeError):
            wp.stream_from_torch("cpu")
        return
    stream = torch.cuda.Stream()
    made = wp.stream_from_torch(stream)
    assert made.cuda_stream == stream.cuda_stream and wp.stream_to_torch(made).cuda_stream == stream.cuda_stream
