"""Every row of the builtin table whose arguments are values, called from Python: the same bits as in a kernel."""

from __future__ import annotations

import functools
import itertools
import math
import random
import re
from typing import Any

import numpy as np
import pytest

import warp as wp
from warp import _weft
from warp._src.values import builtins
from warp._src.kernels.definitions import kernel_from_text
from warp._src.values import types as wt

SCALARS = {
    "S": (wp.float32, wp.int32, wp.float64, wp.uint8),
    "F": (wp.float32, wp.float64, wp.float16),
    "I": (wp.int32, wp.uint64, wp.int8),
    "T": (wp.float32, wp.int64),
    "B": (wp.float32, wp.int32, wp.bool),
}
FIXED = {"bool": wp.bool, "int": wp.int32, "float": wp.float32, "uint32": wp.uint32, "int64": wp.int64}
FIXED |= {"uint64": wp.uint64, "float64": wp.float64}
EXTENTS = {"N": 3, "R": 2, "C": 3, "K": 2}


def _params(signature: str) -> list[tuple[str, str]]:
    """Names and type words of 'lerp(a: F, b: F, t: F) -> F'."""
    inner = signature[signature.index("(") + 1 : signature.rindex(") ->")] if ") ->" in signature else ""
    words = re.findall(r"(\w+)\s*:\s*([\w.]+(?:\[[^\]]*\])?)\s*(=[^,]*)?", inner)
    return [(name, word) for name, word, default in words if not default]


def _element(word: str) -> str:
    """The scalar word of a type word: F of vec[3,F]."""
    return word[word.index("[") + 1 : -1].split(",")[-1] if "[" in word else word


def _kinds(params: list[tuple[str, str]]) -> list[str]:
    """The scalar variables of a row: S, F, S2…"""
    return sorted({e for _, word in params if (e := _element(word)).rstrip("0123456789") in SCALARS and e not in FIXED})


def _class(word: str, chosen: dict[str, type]) -> type | None:
    scalar = FIXED.get(_element(word)) or chosen.get(_element(word))
    if scalar is None:
        return None
    if "[" not in word:
        return scalar
    kind, extents = word[: word.index("[")], word[word.index("[") + 1 : -1].split(",")[:-1]
    sizes = [int(e) if e.isdigit() else EXTENTS.get(e, 2) for e in extents]
    if kind == "vec":
        return wt.vector(sizes[0], scalar)
    if kind == "mat":
        return wt.matrix((sizes[0], sizes[1]), scalar)
    return {"quat": wt.quaternion, "transform": wt.transformation}[kind](scalar)


def _bounds(sample: str, index: int) -> tuple[float, float]:
    """The range that a row's sample names for a parameter; shapes such as unit_quat are filled from a small one."""
    parts = re.findall(r"\[[^\]]*\]|[\w]+", sample)
    part = parts[min(index, len(parts) - 1)] if parts else ""
    if part.startswith("["):
        low, high = part[1:-1].split(",")
        return float(low), float(high)
    return -1.0, 1.0


def _value(cls: type, low: float, high: float, rng: random.Random) -> Any:
    scalar = cls._wp_scalar_type_ if hasattr(cls, "_wp_scalar_type_") else cls
    unsigned = scalar.__name__.startswith("uint")

    def number() -> Any:
        if scalar is wp.bool:
            return rng.random() < 0.5
        if "float" in scalar.__name__:
            return rng.uniform(low, high)
        return rng.randint(max(math.ceil(low), 0 if unsigned else -100), max(min(math.floor(high), 100), 0))

    if hasattr(cls, "_length_"):
        value = cls(*(number() for _ in range(cls._length_)))
        return value
    made = cls(number())
    return made.value if cls in (wp.float32, wp.int32, wp.bool) else made


def _rows() -> list[tuple[str, str, str]]:
    rows = []
    for name in sorted(_weft.builtin_names()):
        if name.startswith("_"):
            continue
        for signature, _, sample in _weft.builtin_rows(name):
            values = not any(word in signature for word in ("array[", "ref[", "str"))
            if values and not sample.startswith("none"):
                rows.append((name, signature, sample))
    return rows


@functools.lru_cache(maxsize=None)
def _kernel(name: str, classes: tuple[type, ...], results: tuple[type, ...], plain: bool) -> wp.Kernel:
    """A kernel that calls the builtin and stores what it returns."""
    params = [f"a{i}: A{i}" for i in range(len(classes))] + [f"o{i}: wp.array(dtype=R{i})" for i in range(len(results))]
    call = f"wp.{name}({', '.join(f'a{i}' for i in range(len(classes)))})"
    if plain:
        body = f"    o0[0] = {call}"
    else:
        names = ", ".join(f"r{i}" for i in range(len(results)))
        body = f"    {names} = {call}\n" + "\n".join(f"    o{i}[0] = r{i}" for i in range(len(results)))
    source = f"@wp.kernel\ndef k({', '.join(params)}):\n{body}\n"
    space = {"wp": wp, **{f"A{i}": c for i, c in enumerate(classes)}, **{f"R{i}": c for i, c in enumerate(results)}}
    return kernel_from_text(source, "k", space)


def _same_bytes(a: bytes, b: bytes, cls: type) -> bool:
    """Equal bits; any NaN equals any NaN."""
    if a == b:
        return True
    x, y = (np.frombuffer(t, dtype=wt.dtype_to_numpy(getattr(cls, "_wp_scalar_type_", cls))) for t in (a, b))
    return bool(((x == y) | ((x != x) & (y != y))).all())


@pytest.mark.parametrize(("name", "signature", "sample"), _rows(), ids=[row[1].split(" ->")[0] for row in _rows()])
def test_python_and_kernel_agree(name: str, signature: str, sample: str) -> None:
    params = _params(signature)
    rng = random.Random(signature)
    kinds = _kinds(params)
    called = 0
    for combination in itertools.product(*(SCALARS[kind.rstrip("0123456789")] for kind in kinds)):
        classes = [_class(word, dict(zip(kinds, combination))) for _, word in params]
        if None in classes:
            pytest.skip(f"a type of {signature} is not known to this test")
        if any(c is wp.bool for c in combination) and "B" not in kinds:
            continue
        args = [_value(c, *_bounds(sample, i), rng) for i, c in enumerate(classes)]
        here = builtins.python_function(name)(*args)  # wp.copy is another function in Python
        values = here if isinstance(here, tuple) else (here,)
        results = tuple(wt.class_of(wt.type_handle(type(v))) for v in values)
        outs = [wp.zeros(1, dtype=c) for c in results]
        kernel = _kernel(name, tuple(classes), results, not isinstance(here, tuple))
        wp.launch(kernel, 1, [*args, *outs])
        for value, out, cls in zip(values, outs, results):
            want = out.numpy().tobytes()
            assert _same_bytes(wt.value_bytes(value), want, cls), (signature, args, value, out.list())
        called += 1
    assert called


def test_every_builtin_is_a_documented_function() -> None:
    for name in builtins.names():
        function = getattr(wp, name)
        if name in ("vector", "matrix", "quaternion", "transformation") or isinstance(function, type):
            continue
        assert callable(function) and function.__doc__ and len(function.__doc__.split()) > 1, name
