"""Objects with `__cuda_array_interface__`, as CuPy, Numba and Paddle show them: on the fake driver, and on a GPU."""

from __future__ import annotations

import os

import pytest
import warp as wp
from test_fake_driver import FAKE
from test_foreign_arrays import run

FORMS = """
import numpy as np
c = wp.zeros((6, 4), device="cuda:0")
f = {"shape": (6, 4), "typestr": "<f4", "data": (c.ptr, False), "version": 3}

class Any_:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {**f, **changes}

whole = wp.array(Any_(), copy=False)
assert whole.shape == (6, 4) and whole.ptr == c.ptr and whole.strides == (16, 4)
assert wp.array(Any_(strides=(16, 4)), copy=False).is_contiguous
assert wp.array(Any_(strides=None), copy=False).is_contiguous
assert wp.array(Any_(shape=(np.int64(6), np.int32(4))), copy=False).shape == (6, 4)
assert wp.array(Any_(shape=(3, 4), strides=(32, 4)), dtype=wp.vec4, copy=False).strides == (32,)
assert wp.array(Any_(shape=(0, 4), data=(0, False)), copy=False).shape == (0, 4)
assert wp.array(Any_(typestr="<i4"), copy=False).dtype is wp.int32
assert wp.array(Any_(typestr="<V2", shape=(6, 8)), dtype=wp.bfloat16, copy=False).dtype is wp.bfloat16
assert wp.array(Any_(data=(c.ptr, True)), copy=False).ptr == c.ptr
for bad in [dict(shape=(-1, 4)), dict(shape=5), dict(typestr=3), dict(data=(1 << 70, False)), dict(data=5), dict(strides=(4,)),
            dict(mask=1), dict(stream=0), dict(stream="x"), dict(shape=(1 << 62, 1 << 62)), dict(data=(64, False)),
            dict(shape=(3, 2), strides=(1 << 62, 4)), dict(data=("x", False)), dict(typestr="<c8"), dict(shape=(1,) * 9)]:
    try:
        wp.array(Any_(**bad), copy=False)
    except RuntimeError:
        pass
    else:
        raise AssertionError(bad)
for missing in ("shape", "typestr"):
    wrong = Any_()
    del wrong.__cuda_array_interface__[missing]
    try:
        wp.array(wrong, copy=False)
    except RuntimeError as error:
        assert missing in str(error)
    else:
        raise AssertionError(missing)
try:
    wp.launch(add, 4, [a, Any_(shape=(4,), data=(c.ptr, True))], device="cuda:0")
except RuntimeError as error:
    assert "argument 'y': the kernel writes to it, but the memory of this Any_ is read-only" in str(error), error
else:
    raise AssertionError("read-only")
wp.launch(add, 4, [Any_(shape=(4,), data=(c.ptr, True)), b], device="cuda:0")
"""

DLPACK = """
c = wp.zeros((6, 4), device="cuda:0")
assert c.__dlpack_device__() == (2, 0)
for kwargs in [{}, {"stream": 1}, {"stream": -1}, {"stream": 2}, {"max_version": (1, 3)}, {"dl_device": (2, 0)}, {"copy": True}]:
    d = wp.from_dlpack(c.__dlpack__(**kwargs))
    assert (d.ptr == c.ptr) == (not kwargs.get("copy")) and d.shape == (6, 4) and d.device == "cuda:0"
for wrong, error in [({"stream": 0}, ValueError), ({"dl_device": (10, 0)}, BufferError), ({"dl_device": (1, 0), "copy": False}, BufferError)]:
    try:
        c.__dlpack__(**wrong)
    except error:
        pass
    else:
        raise AssertionError(wrong)
assert wp.from_dlpack(c.__dlpack__(dl_device=(1, 0))).device == "cpu"
assert wp.from_dlpack(c).ptr == c.ptr
pinned = wp.zeros(4, device="cpu", pinned=True)
assert pinned.__dlpack_device__() == (3, 0) and wp.from_dlpack(pinned).pinned and wp.from_dlpack(pinned).ptr == pinned.ptr
"""

PROGRAMS = {"forms": FORMS, "dlpack": DLPACK}


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_the_fake_driver(name, tmp_path):
    if not os.path.exists(os.path.join(FAKE, "libcuda.so.1")):
        pytest.skip("the fake driver was not built (target fake_cuda)")
    path = os.pathsep.join(filter(None, [FAKE, os.environ.get("LD_LIBRARY_PATH")]))
    run(PROGRAMS[name], str(tmp_path), {**os.environ, "LD_LIBRARY_PATH": path, "CUDA_VISIBLE_DEVICES": ""})


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_gpu(name, tmp_path, gpu_environment):
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    run(PROGRAMS[name], str(tmp_path), gpu_environment)
