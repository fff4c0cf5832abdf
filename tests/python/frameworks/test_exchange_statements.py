"""What is said of the exchange of memory and held elsewhere only in passing: names that are imported late, DLPack's helpers and
capsules, objects that give out copies, operators in exported programs."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import warp as wp

pytestmark = pytest.mark.cpu_only("memory of the host")


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i]


LATE = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "paddle", "jax", "jaxlib", "cupy", "numba"):
            asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
asked = []
sys.meta_path.insert(0, Missing())
import warp as wp
import warp.torch, warp.paddle, warp.jax, warp.dlpack, warp.jax_experimental
import warp.jax_experimental.ffi, warp.jax_experimental.custom_call
wp.config.quiet = True
a = wp.zeros(3, device="cpu")
assert not asked, asked
for package, call in (
    ("torch", lambda: wp.to_torch(a)), ("torch", lambda: wp.from_torch(a)), ("torch", lambda: wp.device_from_torch("cpu")),
    ("torch", lambda: wp.dtype_to_torch(wp.float32)), ("torch", lambda: wp.torch.op(print)),
    ("paddle", lambda: wp.to_paddle(a)), ("paddle", lambda: wp.from_paddle(a)), ("paddle", lambda: wp.dtype_to_paddle(float)),
    ("jax", lambda: wp.to_jax(a)), ("jax", lambda: wp.from_jax(a)), ("jax", lambda: wp.jax.get_jax_device()),
):
    try:
        call()
    except ModuleNotFoundError as error:
        assert package in str(error), (package, error)
    else:
        raise AssertionError(package)
print("done")
"""


def test_frameworks_are_imported_when_a_function_needs_them():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr


def test_names_at_the_top_level():
    tables = {
        wp.torch: "from_torch to_torch device_from_torch device_to_torch dtype_from_torch dtype_to_torch stream_from_torch "
        "stream_to_torch",
        wp.dlpack: "from_dlpack to_dlpack",
        wp.jax: "from_jax to_jax device_from_jax device_to_jax dtype_from_jax dtype_to_jax",
        wp.paddle: "from_paddle to_paddle device_from_paddle device_to_paddle dtype_from_paddle dtype_to_paddle "
        "stream_from_paddle",
    }
    for module, names in tables.items():
        for name in names.split():
            assert getattr(module, name) is getattr(wp, name), name


# ---- DLPack ------------------------------------------------------------------------------------------------------------


def test_helpers_of_dlpack():
    d = wp.dlpack
    codes = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
    for scalar in (wp.bool, wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float16,
                   wp.bfloat16, wp.float32, wp.float64):  # fmt: skip
        told = d.dtype_to_dlpack(scalar)
        assert told.type_code == codes[scalar.__name__.rstrip("0123456789")] and told.lanes == 1
        assert told.bits == 8 * wp.types.type_size_in_bytes(scalar) and d.dtype_from_dlpack(told) is scalar
        assert d.dtype_is_compatible(told, scalar)
    assert d.dtype_to_dlpack(wp.mat33).bits == 32
    assert d.dtype_is_compatible(d.dtype_to_dlpack(wp.int32), wp.uint32)
    assert not d.dtype_is_compatible(d.dtype_to_dlpack(wp.int32), wp.float32)
    told.bits = 24
    with pytest.raises(RuntimeError, match="24 bits"):
        d.dtype_from_dlpack(told)
    with pytest.raises(TypeError, match="DLPack has no type"):
        d.dtype_to_dlpack(str)
    place = d.device_to_dlpack("cpu")
    assert (place.device_type, place.device_id) == (1, 0) and d.device_from_dlpack(place) == wp.get_device("cpu")
    place.device_type = 10
    with pytest.raises(RuntimeError, match="type 10"):
        d.device_from_dlpack(place)
    assert list(d.shape_to_dlpack((2, 3))) == [2, 3] and list(d.strides_to_dlpack((12, 4), wp.float32)) == [3, 1]


def name_of(capsule) -> bytes:
    ask = ctypes.pythonapi.PyCapsule_GetName
    ask.restype, ask.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return ask(capsule)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


_tensors: list = []  # what a capsule points to, for as long as an array might


def capsule_of(values: np.ndarray, shape: tuple, code: int, bits: int, lanes: int = 1, name: bytes = b"dltensor"):
    made = Tensor(values.ctypes.data, 1, 0, len(shape), code, bits, lanes)
    made.shape = (ctypes.c_int64 * len(shape))(*shape)
    _tensors.append((made, values, name))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(made), name, None)


def test_capsules_are_taken_once_and_renamed():
    a = wp.array(np.arange(6, dtype=np.float32), device="cpu")
    for capsule, fresh, used in (
        (wp.to_dlpack(a), b"dltensor", b"used_dltensor"),
        (a.__dlpack__(max_version=(1, 3)), b"dltensor_versioned", b"used_dltensor_versioned"),
    ):
        assert name_of(capsule) == fresh
        assert wp.from_dlpack(capsule).ptr == a.ptr and name_of(capsule) == used
        with pytest.raises(ValueError, match="used"):
            wp.from_dlpack(capsule)
    assert a.__dlpack__(max_version=(0, 8)) and name_of(a.__dlpack__(max_version=(0, 8))) == b"dltensor"


def test_lanes_bools_and_nonsense():
    values = np.arange(12, dtype=np.float32)
    capsule = capsule_of(values, (3,), 2, 32, lanes=4)
    four = wp.from_dlpack(capsule)  # one more dimension
    assert four.shape == (3, 4) and four.ptr == values.ctypes.data
    capsule = capsule_of(values, (3,), 2, 32, lanes=4)
    assert wp.from_dlpack(capsule, dtype=wp.vec4).shape == (3,)
    truths = np.array([1, 0, 1], np.uint8)
    capsule = capsule_of(truths, (3,), 6, 8)
    assert wp.from_dlpack(capsule).dtype is wp.bool
    for shape, code, bits, lanes in (((-1,), 2, 32, 1), ((1 << 62, 4), 2, 32, 1), ((3,), 2, 24, 1), ((3,), 5, 64, 1), ((3,), 2, 32, 0)):
        capsule = capsule_of(values, shape, code, bits, lanes)
        with pytest.raises(RuntimeError):
            wp.from_dlpack(capsule)
        assert name_of(capsule) == b"dltensor"  # what is refused stays its owner's


def test_read_only_memory_keeps_its_mark(capfd):
    frozen = np.arange(4, dtype=np.float32)
    frozen.flags.writeable = False
    a = wp.array(frozen, copy=False, device="cpu")
    assert a.ptr == frozen.ctypes.data
    assert wp.from_dlpack(a.__dlpack__()).ptr == a.ptr  # a consumer before version 1 can't be told; the program is, once
    assert capfd.readouterr().err.count("read-only") == 1
    a.__dlpack__()
    assert "read-only" not in capfd.readouterr().err
    assert wp.from_dlpack(a.__dlpack__(max_version=(1, 0))).ptr == a.ptr


def test_memory_of_jax_goes_back_to_jax():
    """JAX asks for capsules before version 1, in which its own memory can't be called read-only."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.arange(16, dtype=jax.numpy.float32)
    a = wp.from_jax(x)
    back = jax.dlpack.from_dlpack(a)
    assert back.unsafe_buffer_pointer() == a.ptr and back.tolist() == x.tolist()


# ---- Objects that give out copies ------------------------------------------------------------------------------------


class GivesCopies:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values.copy()


def test_objects_that_give_out_copies():
    source, y = GivesCopies(np.ones(4, np.float32)), wp.zeros(4, device="cpu")
    wp.launch(add, dim=4, inputs=[source, y], device="cpu")
    assert y.numpy().tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match="argument 'y'.*GivesCopies gives out copies"):
        wp.launch(add, dim=4, inputs=[y, GivesCopies(np.ones(4, np.float32))], device="cpu")


# ---- PyTorch -----------------------------------------------------------------------------------------------------------


def test_operators_in_exported_programs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    @wp.kernel
    def squared(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    f = wp.torch.op(squared)

    class Model(torch.nn.Module):
        def forward(self, x):
            return f(x + 1.0) * 2.0

    x = torch.arange(5.0)
    exported = torch.export.export(Model(), (x,))
    assert f"weft.{f.name}" in str(exported.graph)
    torch.testing.assert_close(exported.module()(x), 2.0 * (x + 1.0) ** 2)


def test_the_example_of_operators():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    command = [sys.executable, "-m", "warp.examples.interop.example_torch_op"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and done.stdout.strip(), textwrap.shorten(done.stdout + done.stderr, 3000)
