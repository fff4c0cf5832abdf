"""Kernels for every elementary function and type, written to a file since kernels are compiled from their source text."""

import importlib.util

import pytest

UNARY = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10", "cbrt", "erf",
         "erfc", "erfinv", "erfcinv", "sqrt"]
BINARY = ["atan2", "pow"]
TYPES = {"float16": "uint16", "bfloat16": "uint16", "float32": "uint32", "float64": "uint64"}

# Numbers travel as bits: NumPy has no bfloat16, and denormal numbers and NaN arrive as they are.
ONE = """
@wp.kernel
def {f}_{t}(x: wp.array(dtype=wp.{w}), out: wp.array(dtype=wp.{w})):
    i = wp.tid()
    out[i] = wp.cast(wp.{f}(wp.cast(x[i], wp.{t})), wp.{w})
"""
TWO = """
@wp.kernel
def {f}_{t}(x: wp.array(dtype=wp.{w}), y: wp.array(dtype=wp.{w}), out: wp.array(dtype=wp.{w})):
    i = wp.tid()
    out[i] = wp.cast(wp.{f}(wp.cast(x[i], wp.{t}), wp.cast(y[i], wp.{t})), wp.{w})
"""


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """A module with a kernel `<function>_<type>` each."""
    text = '"""Generated."""\nimport warp as wp\n'
    for kind, word in TYPES.items():
        for name in UNARY:
            text += ONE.format(f=name, t=kind, w=word)
        for name in BINARY:
            text += TWO.format(f=name, t=kind, w=word)
    path = tmp_path_factory.mktemp("math") / "math_kernels.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("math_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
