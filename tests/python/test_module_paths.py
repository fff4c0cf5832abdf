"""Module paths that published programs import: every form of import finds them, and they hold what `warp` holds."""

import importlib
import pickle
import subprocess
import sys

import pytest

import warp as wp

STATEMENTS = [
    "import warp.types, warp.context, warp.config, warp.build, warp.utils, warp.constants, warp.codegen, warp.builtins",
    "import warp.autograd as ad; ad.gradcheck",
    "from warp.context import Device, Kernel, Module, launch, synchronize, get_device, init, user_modules, type_str",
    "from warp.types import Any, Int, Float, Scalar, Vector, Matrix, array, vec3, type_length, type_is_vector, float32",
    "from warp.utils import array_scan, radix_sort_pairs, ScopedTimer, transform_expand, warn, create_warp_function",
    "from warp.build import clear_kernel_cache, init_kernel_cache",
    "from warp.codegen import Struct, StructInstance, WarpCodegenError",
    "from warp.constants import PI, pi, INF",
    "from warp.config import verbose, version",
    "from warp.builtins import builtin_functions, sin",
    "import warp._src.context",
    "import warp._src.types as types; types.type_length",
    "from warp._src import builtins, build, codegen, config, constants, context, logger, tape, types, utils",
    "from warp._src.context import Device, Function, Kernel, Launch, Module, get_device, get_module, launch, synchronize",
    "from warp._src.types import Any, Int, Float, Scalar, Vector, Matrix, array, vec3, mat33, type_length, is_array",
    "from warp._src.types import type_size_in_bytes, types_equal, warp_type_to_np_dtype, vector, matrix, struct",
    "from warp._src.utils import array_scan, array_sum, ScopedTimer, warn",
    "from warp._src.builtins import BuiltinFunction, python_function",
    "from warp._src.codegen import Struct, StructInstance",
    "from warp._src.build import clear_kernel_cache",
    "from warp._src.config import mode, version",
    "from warp._src.constants import PI",
    "from warp._src.tape import Tape",
    "from warp._src.autograd import gradcheck, jacobian",
    "import warp._src.autograd; warp._src.autograd.gradcheck_tape",
    "from warp._src.logger import get_logger",
    "from warp._src.array import array",
    "from warp._src.device import get_device",
    "from warp._src.struct import StructInstance",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statement(statement):
    exec(statement, {})


@pytest.mark.parametrize("name", ["context", "types", "autograd", "codegen"])
def test_a_path_may_be_a_programs_first_import(name):
    program = f"from warp._src import {name} as found; import warp._src.{name}; assert warp._src.{name} is found"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_paths_hold_the_same_objects():
    import warp._src.context as context
    import warp._src.types as types

    assert context is wp.context and types is wp.types
    assert wp._src.config is wp.config is sys.modules["warp.config"]
    assert context.Kernel is wp.Kernel and types.vec3 is wp.vec3 and types.array is wp.array
    assert wp._src.autograd.gradcheck is wp.autograd.gradcheck
    assert wp._src.tape.Tape is wp.Tape and wp._src.build.clear_kernel_cache is wp.clear_kernel_cache


def test_names_that_are_loaded_late():
    """The table of names says what their modules say, and start-up loads none of them."""
    from warp._src.api import names

    for module, listed in names._LATE.items():
        found = importlib.import_module(module)
        assert sorted(listed) == sorted(n for n in getattr(found, "__all__", listed) if n in wp.__all__)
        assert all(getattr(wp, name) is getattr(found, name) for name in listed)
    assert wp.context.capture_save is wp.capture_save and wp.utils.array_scan is wp._src.api.utils.array_scan
    assert "array_scan" in dir(wp.utils) and "jvp" in dir(wp)
    late = {*names._LATE, "warp._src.api.utils"}
    program = f"import sys, warp; assert not {late!r} & sys.modules.keys()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_folders_of_a_user(monkeypatch):
    import warp._src.thirdparty.appdirs as appdirs
    from warp._src.thirdparty.appdirs import user_cache_dir

    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert user_cache_dir(appname="tool", appauthor="somebody", version="1.2") == "/somewhere/tool/1.2"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/users/somebody")
    assert appdirs.user_cache_dir("tool") == "/users/somebody/.cache/tool"
    assert appdirs.user_data_dir() == "/users/somebody/.local/share"


def test_unknown_names_and_paths_are_errors():
    for path in ("warp._src.context", "warp._src.types", "warp._src.autograd"):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            importlib.import_module(path).nonsense
    with pytest.raises(ImportError):
        importlib.import_module("warp._src.nonsense")


def test_pickles_from_before_the_rooms():
    """They name functions of the package where these lay then."""
    assert pickle.loads(b"cwarp._src.device\nget_device\n(Vcpu\ntR.") is wp.get_device("cpu")
    assert pickle.loads(b"cwarp._src.builtins\npython_function\n(Vsin\ntR.") is wp.sin
    assert pickle.loads(b"cwarp._src.composite\n_class_of_parts\n(Vvec\nVfloat32\nI3\nI1\ntR.") is wp.vec3
    assert pickle.loads(b"cwarp._src.array\n_restore_annotation\n(cbuiltins\nfloat\nI2\ntR.").ndim == 2


def test_pickles_of_today():
    for value in (wp.get_device("cpu"), wp.sin, wp.vec3, wp.float16(2.0), wp.mat22(1.0, 2.0, 3.0, 4.0)):
        assert pickle.loads(pickle.dumps(value)) == value


def test_handles_are_numbers_of_64_bits():
    @wp.struct
    class Body:
        shape: wp.handle

    @wp.kernel
    def read(body: Body, other: wp.handle, out: wp.array(dtype=wp.uint64)):
        out[0] = body.shape + other

    body, out = Body(), wp.zeros(1, dtype=wp.uint64)
    body.shape = 2**40
    wp.launch(read, dim=1, inputs=[body, 2**41, out])
    assert int(out.numpy()[0]) == 2**40 + 2**41
