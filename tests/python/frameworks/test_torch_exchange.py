"""Tensors of PyTorch as arrays and arrays as tensors: memory, types, gradients, rule by rule."""

from __future__ import annotations

import ctypes
import gc
import inspect
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import warp as wp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i]


@wp.kernel
def scaled_by(x: wp.array(dtype=float), s: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s[i] * x[i]


@wp.kernel
def double_vec(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def sum_squares(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i, j = wp.tid()
    wp.atomic_add(out, 0, x[i, j] * x[i, j])


def where(device):
    return wp.device_to_torch(device)


SCALARS = [
    ("bool", wp.bool),
    ("int8", wp.int8),
    ("uint8", wp.uint8),
    ("int16", wp.int16),
    ("int32", wp.int32),
    ("int64", wp.int64),
    ("float16", wp.float16),
    ("bfloat16", wp.bfloat16),
    ("float32", wp.float32),
    ("float64", wp.float64),
]


@pytest.mark.parametrize("name, scalar", SCALARS)
def test_types_both_ways(name, scalar, device):
    dtype = getattr(torch, name)
    assert wp.dtype_from_torch(dtype) is scalar and wp.dtype_to_torch(scalar) is dtype
    assert wp.torch.dtype_is_compatible(dtype, scalar)
    t = torch.ones((2, 3), dtype=dtype, device=where(device))
    a = wp.from_torch(t)
    assert a.dtype is scalar and a.shape == (2, 3) and a.ptr == t.data_ptr() and a._tensor is t
    assert a.strides == tuple(s * t.element_size() for s in t.stride()) and a.device == device
    back = wp.to_torch(a)
    assert back.dtype is dtype and back.data_ptr() == t.data_ptr() and back.shape == t.shape


def test_unsigned_types_and_those_without():
    for unsigned, signed in ((wp.uint16, torch.int16), (wp.uint32, torch.int32), (wp.uint64, torch.int64)):
        assert wp.dtype_to_torch(unsigned) is signed
        a = wp.from_torch(torch.zeros(3, dtype=signed), dtype=unsigned)
        assert a.dtype is unsigned
    if hasattr(torch, "uint32"):
        assert wp.dtype_from_torch(torch.uint32) is wp.uint32
    assert wp.from_torch(torch.zeros(3, dtype=torch.bool), dtype=wp.uint8).dtype is wp.uint8
    assert not wp.torch.dtype_is_compatible(torch.float32, wp.float64)
    for bad in (torch.complex64, "float32", None):
        with pytest.raises(TypeError):
            wp.dtype_from_torch(bad)
    with pytest.raises(TypeError):
        wp.dtype_to_torch(str)


@pytest.mark.parametrize(
    "dtype, shape, seen",
    [
        (wp.vec3, (5, 3), (5,)),
        (wp.vec3, (3,), (1,)),
        (wp.mat22, (4, 2, 2), (4,)),
        (wp.quat, (2, 2, 4), (2, 2)),
        (wp.transform, (6, 7), (6,)),
        (float, (), (1,)),
        (wp.vec2, (0, 2), (0,)),
        (float, (2, 3, 4, 5), (2, 3, 4, 5)),
    ],
)
def test_shapes(dtype, shape, seen, device):
    t = torch.zeros(shape, device=where(device))
    a = wp.from_torch(t, dtype=dtype)
    assert a.shape == seen and (a.ptr or 0) == t.data_ptr()
    if len(shape) > 1:
        assert wp.to_torch(a).shape == t.shape


@pytest.mark.parametrize(
    "make, dtype, text",
    [
        (lambda: torch.zeros(5, 4), wp.vec3, "last dimensions must be"),
        (lambda: torch.zeros(3, 5).t(), wp.vec3, "one after the other"),
        (lambda: torch.zeros(5), wp.float64, "float32.*float64"),
        (lambda: torch.zeros(5, dtype=torch.int32), float, "int32.*float32"),
        (lambda: torch.zeros(1, 1, 1, 1, 1), None, "5 dimensions"),
        (lambda: torch.zeros(3, dtype=torch.complex64), None, "complex"),
        (lambda: torch.zeros(3, 3).to_sparse(), None, "to_dense"),
        (lambda: torch.zeros(3, device="meta"), None, "meta"),
        (lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8), None, "dequantize"),
        (lambda: torch.zeros(3, dtype=torch.complex64).conj().imag, None, "resolve_neg"),
    ],
)
@pytest.mark.cpu_only
def test_what_can_not_be_seen(make, dtype, text):
    with pytest.raises(RuntimeError, match=text):
        wp.from_torch(make(), dtype=dtype)


@pytest.mark.cpu_only
def test_fake_tensors_and_others():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(RuntimeError, match="fake tensor"):
        wp.from_torch(fake)
    for bad in (np.zeros(3, np.float32), [1.0], None):
        if not isinstance(bad, np.ndarray):
            with pytest.raises(TypeError, match="torch.Tensor"):
                wp.from_torch(bad)
    with pytest.raises(TypeError, match="wp.array"):
        wp.to_torch(np.zeros(3))

    @wp.struct
    class Pair:
        a: float
        b: float

    with pytest.raises(RuntimeError, match="structs"):
        wp.to_torch(wp.zeros(3, dtype=Pair, device="cpu"))


def test_parameters_subclasses_and_expanded_tensors(device):
    class Mine(torch.Tensor):
        pass

    p = torch.nn.Parameter(torch.ones(4, device=where(device)))
    assert wp.from_torch(p, requires_grad=False).ptr == p.data_ptr()
    m = torch.ones(4, device=where(device)).as_subclass(Mine)
    assert wp.from_torch(m).ptr == m.data_ptr()
    e = torch.ones(1, device=where(device)).expand(8)
    a = wp.from_torch(e)
    assert a.strides == (0,) and a.shape == (8,) and (a.numpy() == 1.0).all()


def test_launches_take_tensors(device):
    x, y = torch.arange(8.0, device=where(device)), torch.zeros(8, device=where(device))
    wp.launch(add, 8, [x, y], device=device)
    assert torch.equal(x, y)
    wp.launch(add, 4, [x[::2], y[1::2]], device=device)
    assert y.tolist() == [0, 1, 2, 5, 4, 9, 6, 13]
    v, w = torch.arange(12.0, device=where(device)).reshape(4, 3), torch.zeros(4, 3, device=where(device))
    wp.launch(double_vec, 4, [v], [w], device=device)
    assert torch.equal(w, 2 * v)
    wp.launch(add, 8, [x.requires_grad_(), torch.nn.Parameter(y)], device=device)
    with pytest.raises(RuntimeError, match="argument 'x'.*float64"):
        wp.launch(add, 8, [x.double(), y], device=device)


def test_launches_take_descriptors(device):
    x, y = torch.arange(8.0, device=where(device)), torch.zeros(8, device=where(device))
    cx, cy = wp.from_torch(x, return_ctype=True), wp.from_torch(y, return_ctype=True)
    assert isinstance(cx, wp.types.array_t) and isinstance(cx, ctypes.Structure)
    assert cx.data == x.data_ptr() and cx.grad == 0 and cx.ndim == 1 and cx.shape[0] == 8 and cx.strides[0] == 4
    wp.launch(add, 8, [cx, cy], device=device)
    assert torch.equal(x, y)
    v = wp.from_torch(torch.zeros(8, 3, device=where(device)), dtype=wp.vec3, return_ctype=True)
    with pytest.raises(RuntimeError, match="expected array.*float32.*vec3"):
        wp.launch(add, 8, [v, cy], device=device)
    launch = wp.launch(add, 8, [x, y], device=device, record_cmd=True)
    launch.set_param_at_index_from_ctype(1, wp.from_torch(x, return_ctype=True))
    launch.launch()
    assert x.tolist() == [2.0 * i for i in range(8)]
    with pytest.raises(TypeError):
        wp.launch(add, 8, [wp.types.array_t(), cy], device=device)
    g = torch.ones(4, requires_grad=True, device=where(device))
    cg = wp.from_torch(g, return_ctype=True)
    assert cg.grad == g.grad.data_ptr()
    kept = weakref.ref(x)
    del x, launch, cx
    gc.collect()
    assert kept() is None


@wp.kernel
def copy_mats(x: wp.array(dtype=wp.types.matrix((2, 3), float)), y: wp.array(dtype=wp.types.matrix((2, 3), float))):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def copy_quats(x: wp.array2d(dtype=wp.quat), y: wp.array2d(dtype=wp.quat)):
    i, j = wp.tid()
    y[i, j] = 2.0 * x[i, j]


@pytest.mark.parametrize("how", ["direct", "descriptor", "array"])
def test_launches_take_tensors_of_components(how, device):
    def seen(t, dtype):
        return t if how == "direct" else wp.from_torch(t, dtype=dtype, return_ctype=how == "descriptor")

    cases = (
        (double_vec, wp.vec3, (8,), (3,)),
        (copy_mats, wp.types.matrix((2, 3), float), (8,), (2, 3)),
        (copy_quats, wp.quat, (2, 4), (4,)),
    )
    for kernel, dtype, dims, inner in cases:
        x = torch.rand(*dims, *inner, device=where(device))
        y = torch.zeros_like(x)
        wp.launch(kernel, dims, [seen(x, dtype), seen(y, dtype)], device=device)
        assert torch.equal(y, 2 * x)
        apart = torch.zeros(2 * dims[0], *dims[1:], *inner, device=where(device))[::2]  # gaps between elements
        wp.launch(kernel, dims, [seen(x, dtype), seen(apart, dtype)], device=device)
        assert torch.equal(apart, 2 * x)
        if how == "direct":
            turned = torch.zeros(*dims, *inner[::-1], 2, device=where(device))[..., 0]  # gaps inside of them
            with pytest.raises(RuntimeError, match="argument 'y'"):
                wp.launch(kernel, dims, [x, turned.transpose(-1, -2) if len(inner) > 1 else turned], device=device)
            with pytest.raises(RuntimeError, match="argument 'x'"):
                wp.launch(kernel, dims, [x[..., :-1].contiguous(), y], device=device)
            with pytest.raises(RuntimeError, match="argument 'x'"):
                wp.launch(kernel, dims, [x.double(), y], device=device)


@pytest.mark.cpu_only
def test_descriptors_are_told_apart_though_their_memory_is_used_again():
    tensors = [torch.full((n + 1,), float(n)) for n in range(40)]
    for _ in range(3):
        made = [wp.from_torch(t, return_ctype=True) for t in tensors]
        assert [d.data for d in made] == [t.data_ptr() for t in tensors] and [d.shape[0] for d in made] == [*range(1, 41)]
        del made
    held = wp.from_torch(tensors[3], return_ctype=True)
    shape = held.shape  # lies in the descriptor's memory
    del held
    others = [wp.from_torch(t, return_ctype=True) for t in tensors[10:30]]
    assert shape[0] == 4 and others[0].shape[0] == 11
    one = wp.from_torch(tensors[0], return_ctype=True)
    one.shape = (ctypes.c_int64 * 4)(7, 0, 0, 0)  # ctypes may hold what it was given
    del one
    assert wp.from_torch(tensors[5], return_ctype=True).shape[0] == 6

    class Mine(wp.types.array_t):
        pass

    Mine().note = "a dictionary of its own"
    gone = torch.ones(3)
    kept = weakref.ref(gone)
    last = wp.from_torch(gone, return_ctype=True)
    del gone
    assert kept() is not None and last.data == kept().data_ptr()
    del last
    assert kept() is None


def test_the_array_keeps_the_tensor(device):
    t = torch.full((1000,), 3.0, device=where(device))
    a = wp.from_torch(t)
    gone = weakref.ref(t)
    del t
    gc.collect()
    assert gone() is not None and (a.numpy() == 3.0).all()
    del a
    gc.collect()
    assert gone() is None
    w = wp.full(1000, 4.0, device=device)
    t = wp.to_torch(w)
    del w
    gc.collect()
    assert (t == 4.0).all()


# ---- gradients -------------------------------------------------------------------------------------------------------


def test_gradients_of_leaves_are_shared(device):
    t = torch.ones(4, requires_grad=True, device=where(device))
    a = wp.from_torch(t)
    assert a.requires_grad and t.grad is not None and a.grad.ptr == t.grad.data_ptr()
    assert t.grad.stride() == t.stride() and (t.grad == 0).all()
    b = wp.from_torch(t)
    assert b.grad.ptr == a.grad.ptr
    assert wp.from_torch(torch.ones(4, device=where(device))).grad is None
    asked = torch.ones(4, device=where(device))
    assert wp.from_torch(asked, requires_grad=True).grad.ptr == asked.grad.data_ptr() and not asked.requires_grad
    plain = torch.ones(4, requires_grad=True, device=where(device))
    assert wp.from_torch(plain, requires_grad=False).grad is None and plain.grad is None
    columns = torch.ones(3, 4, device=where(device)).t().requires_grad_()
    c = wp.from_torch(columns)
    assert columns.grad.stride() == (1, 4) and c.grad.strides == c.strides


def test_gradients_of_other_strides_are_refused(device):
    t = torch.ones(3, 4, requires_grad=True, device=where(device))
    t.grad = torch.zeros(4, 3, device=where(device)).t()
    with pytest.raises(RuntimeError, match=r"the gradient does not match.*strides \(16, 4\).*strides \(4, 12\)"):
        wp.from_torch(t)
    assert wp.from_torch(t, requires_grad=False).grad is None


def test_tensors_that_are_no_leaves_have_private_gradients(device, recwarn):
    leaf = torch.ones(4, requires_grad=True, device=where(device))
    t = 2 * leaf
    a = wp.from_torch(t)
    assert a.requires_grad and a.grad is not None and not [w for w in recwarn if "leaf" in str(w.message)]
    kept = 2 * leaf
    kept.retain_grad()
    kept.sum().backward()
    assert wp.from_torch(kept).grad.ptr == kept.grad.data_ptr()


def test_adjoints_take_gradients_of_other_strides(device):
    """As torch gives those of sums, which have one element in memory; they are not written to."""
    x, y, dx = (torch.full((6,), v, device=where(device)) for v in (3.0, 0.0, 0.0))
    for given in (torch.ones(1, device=where(device)).expand(6), torch.ones(12, device=where(device))[::2]):
        dx.zero_()
        arrays = [wp.from_torch(t, requires_grad=False) for t in (x, y, dx, given)]
        wp.launch(square, 6, [arrays[0]], [arrays[1]], [arrays[2]], [arrays[3]], adjoint=True, device=device)
        assert dx.tolist() == [6.0] * 6 and given.tolist() == [1.0] * 6


def test_that_gradients_are_private_is_said_once(tmp_path):
    program = """
import torch, warp as wp
t = torch.ones(4, requires_grad=True)
with torch.no_grad():
    wp.from_torch(t, requires_grad=False)
    wp.from_torch(torch.ones(4))
    print("nothing so far", flush=True)
    wp.from_torch(t)
    wp.from_torch(t)
"""
    path = tmp_path / "said_once.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert said.count("grad mode is off") == 1 and "grad=tensor.grad" in said
    assert said.index("nothing so far") < said.index("grad mode is off")


def test_without_grad_mode_gradients_are_private(device):
    t = torch.ones(4, requires_grad=True, device=where(device))
    with torch.no_grad():
        a = wp.from_torch(t, requires_grad=True)
        assert t.grad is None and a.grad is not None
        t.grad = torch.full_like(t, 7.0)
        a = wp.from_torch(t)
        assert a.grad.ptr != t.grad.data_ptr() and (a.grad.numpy() == 0).all()
        shared = wp.from_torch(t, grad=t.grad)
        assert shared.grad.ptr == t.grad.data_ptr()


def test_given_gradients(device):
    t = torch.ones(4, device=where(device))
    g = wp.full(4, 5.0, device=device)
    a = wp.from_torch(t, grad=g)
    assert a.grad.ptr == g.ptr and a.requires_grad
    h = torch.zeros(4, device=where(device))
    assert wp.from_torch(t, grad=h).grad.ptr == h.data_ptr()
    with pytest.raises(RuntimeError, match="does not match"):
        wp.from_torch(t, grad=torch.zeros(5, device=where(device)))
    assert wp.from_torch(t, retain_grad=True, requires_grad=True).retain_grad


def test_to_torch_gives_gradients(device):
    a = wp.full(4, 3.0, requires_grad=True, device=device)
    t = wp.to_torch(a)
    assert t.requires_grad and t.is_leaf and t.grad.data_ptr() == a.grad.ptr
    assert not wp.to_torch(a, requires_grad=False).requires_grad
    plain = wp.zeros(4, device=device)
    assert not wp.to_torch(plain).requires_grad and wp.to_torch(plain, requires_grad=True).requires_grad
    with wp.Tape() as tape:
        y = wp.zeros(4, requires_grad=True, device=device)
        wp.launch(square, 4, [a], [y], device=device)
    tape.backward(grads={y: wp.ones(4, device=device)})
    assert t.grad.tolist() == [6.0] * 4


def test_assigned_gradients_of_other_strides_are_copied(device):
    a = wp.zeros((3, 4), requires_grad=True, device=device)
    expanded = torch.full((1, 1), 2.0, device=where(device)).expand(3, 4)
    a.grad = wp.from_torch(expanded)
    assert a.grad.strides == a.strides and (a.grad.numpy() == 2.0).all()
    a.grad.zero_()
    assert expanded[0, 0] == 2.0


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_optimizers_see_the_same_gradients_as_torch(optimizer, device):
    start = torch.tensor(np.random.default_rng(3).normal(size=(20, 2)), dtype=torch.float32, device=where(device))

    def run(step):
        xs = start.clone().requires_grad_()
        opt = getattr(torch.optim, optimizer)([xs], lr=0.1)
        for _ in range(10):
            step(xs)
            opt.step()
        return xs.detach()

    def by_warp(xs):
        a = wp.from_torch(xs)
        out = wp.zeros(1, requires_grad=True, device=device)
        with wp.Tape() as tape:
            wp.launch(sum_squares, (20, 2), [a], [out], device=device)
        tape.zero()
        tape.backward(out)

    def by_torch(xs):
        xs.grad = None
        (xs * xs).sum().backward()

    torch.testing.assert_close(run(by_warp), run(by_torch))


@wp.kernel
def square_once(lost: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = lost[i] * lost[i]


def test_a_tape_warns_of_tensors_that_want_gradients(device, capfd):
    x = torch.ones(4, requires_grad=True, device=where(device))
    y = wp.zeros(4, requires_grad=True, device=device)
    with wp.Tape():
        wp.launch(square_once, 4, [x], [y], device=device)
    text = capfd.readouterr().err
    assert "from_torch" in text or device.is_cuda  # said once for both devices


# ---- DLPack ----------------------------------------------------------------------------------------------------------


def test_dlpack_both_ways(device):
    t = torch.arange(12.0, device=where(device)).reshape(4, 3)
    a = wp.from_dlpack(t, dtype=wp.vec3)
    assert a.ptr == t.data_ptr() and a.shape == (4,) and a.dtype is wp.vec3
    b = wp.from_dlpack(torch.utils.dlpack.to_dlpack(t))
    assert b.ptr == t.data_ptr() and b.shape == (4, 3)
    back = torch.from_dlpack(a)
    assert back.data_ptr() == t.data_ptr() and back.shape == (4, 3)
    assert torch.utils.dlpack.from_dlpack(wp.to_dlpack(b)).data_ptr() == t.data_ptr()
    capsule = torch.utils.dlpack.to_dlpack(t)
    wp.from_dlpack(capsule)
    with pytest.raises(ValueError, match="used already"):
        wp.from_dlpack(capsule)
    transposed = wp.from_dlpack(t.t())
    assert transposed.shape == (3, 4) and transposed.strides == (4, 12)


def test_older_versions_of_torch(device):
    """Before 2.10 tensors have no exchange table, and are read through capsules."""

    class Old(torch.Tensor):
        __dlpack_c_exchange_api__ = None

    x = torch.arange(8.0, device=where(device)).as_subclass(Old)
    y = torch.zeros(8, device=where(device)).as_subclass(Old)
    wp.launch(add, 8, [x, y], device=device)
    assert y.tolist() == list(range(8))
    a = wp.from_torch(x)
    assert a.ptr == x.data_ptr() and a._tensor is x
    x.requires_grad_()
    assert wp.from_torch(x).grad.ptr == x.grad.data_ptr()
    wp.launch(add, 8, [x, y], device=device)


@pytest.mark.cpu_only
def test_conversions_do_not_leak():
    import resource

    t = torch.ones(16, requires_grad=True)
    a = wp.zeros(16, requires_grad=True, device="cpu")

    def turn(n):
        for _ in range(n):
            wp.from_torch(t)
            wp.from_torch(t, return_ctype=True)
            wp.to_torch(a)
            wp.from_dlpack(t.detach())
            wp.to_dlpack(a)
            torch.from_dlpack(wp.from_torch(t, requires_grad=False))

    turn(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    turn(20000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096


@pytest.mark.cpu_only
def test_threads():
    failures = []

    def work(k):
        try:
            for i in range(300):
                x, y = torch.full((64,), float(k)), torch.full((64,), float(i))
                wp.launch(add, 64, [x, wp.from_torch(y)], device="cpu")
                assert (y == k + i).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_tools_can_read_the_signature():
    assert list(inspect.signature(wp.from_torch).parameters) == [
        "t", "dtype", "requires_grad", "grad", "return_ctype", "retain_grad"
    ]  # fmt: skip


def test_capacity_reaches_to_the_end_of_the_storage(device):
    t = torch.zeros(4, 4, device=where(device))
    for view, capacity in ((t, 64), (t[:3, :3], 64), (t[1:], 48), (t[1:, 1:], 44), (t[::2], 64), (t.expand(2, 4, 4), 64)):
        assert wp.from_torch(view).capacity == capacity


def test_graphs_and_tapes_keep_tensors_that_go_straight_to_launches(device):
    n = 1 << 12
    y = torch.zeros(n, device=where(device))
    wp.launch(add, n, [torch.ones(n, device=where(device)), y])  # compiled before anything is captured
    three = torch.full((n,), 3.0, device=where(device))  # CUDA refuses torch's own stream while another one is captured
    with wp.ScopedCapture() as capture:
        wp.launch(add, n, [three, y])
    del three
    trash = [torch.full((n,), 7.0, device=where(device)) for _ in range(20)]
    wp.capture_launch(capture.graph)
    wp.synchronize()
    assert (y == 4.0).all() and len(trash) == 20
    x = wp.ones(n, dtype=float, requires_grad=True)
    out = wp.zeros(n, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scaled_by, n, [x, torch.full((n,), 2.5, device=where(device)), out])
    trash = [torch.full((n,), 7.0, device=where(device)) for _ in range(20)]
    tape.backward(grads={out: wp.ones(n, dtype=float)})
    assert (x.grad.numpy() == 2.5).all() and len(trash) == 20
