"""Every row of the API table that is not for later exists, is used, and is documented.

`data/api_rows.csv` lists the names with kind, tier and group; groups "later:…" belong to parts that are still to come
and are not counted. `api_calls` holds a call per name; rows of a kind that one rule covers are used here. The table
itself is printed by `tools/checks/api_rows.py`.
"""

from __future__ import annotations

import inspect
import math
import pickle
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import warp as wp

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "checks"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import api_rows  # noqa: E402
from api_calls import CALLS  # noqa: E402

ROWS = api_rows.load()
DUE = [row for row in ROWS if not row.later]


def _use_type(cls: type) -> None:
    """A named scalar or composite type: made, compared, kept, shown, and used in a kernel."""
    zero = cls()
    assert zero == cls() and pickle.loads(pickle.dumps(cls)) is cls
    if not issubclass(cls, tuple(wp.types.vector_types)):
        assert cls(1).value == 1 and cls(1) != zero
        assert wp.zeros(2, dtype=cls).numpy().shape == (2,)
        return
    numbers = [k % 3 for k in range(cls._length_)]
    value = cls(*numbers)
    assert pickle.loads(pickle.dumps(value)) == value and eval(repr(value).replace("(", "(", 1), _names()) == value
    assert np.asarray(value).reshape(-1).tolist() == numbers and cls(value) == value
    held = wp.array([value], dtype=cls)
    assert held.numpy().reshape(-1).tolist() == numbers and held.list()[0] == value


def _names() -> dict[str, object]:
    """What the text of a value may contain: vec3f, mat22d, float16…"""
    return {**{name: getattr(wp, name) for name in dir(wp) if isinstance(getattr(wp, name), type)}, **_makers()}


def _makers() -> dict[str, object]:
    return {
        "vector": lambda length, dtype: wp.types.vector(length, dtype),
        "matrix": lambda shape, dtype: wp.types.matrix(shape, dtype),
        "spatial_vectorf": wp.spatial_vectorf,
    }


def _use_flag(name: str) -> None:
    """A flag of wp.config: readable, and writable with its own value."""
    flag = name.rsplit(".", 1)[1]
    value = getattr(wp.config, flag)
    setattr(wp.config, flag, value)
    assert getattr(wp.config, flag) == value


def _use_option(name: str) -> None:
    """A module option: kernels compile with it and give the same results."""

    @wp.kernel(module=wp.Module("option"))
    def k(a: wp.array(dtype=int)):
        s = int(0)
        for i in range(3):
            s += i
        a[0] = s

    option = name.split()[-1]
    wp.set_module_options({option: wp.get_module_options(k.module)[option]}, k.module)
    a = wp.zeros(1, dtype=int)
    wp.launch(k, 1, [a])
    assert a.list() == [3]


def _use_reexport(row: api_rows.Row, found: object) -> None:
    """A name under an old module path: the object of the top level, where there is one."""
    last = row.name.rsplit(".", 1)[1]
    top = getattr(wp, last, None)
    if top is not None:
        assert found is top or found is getattr(wp.types, last)
    else:
        assert found is getattr(typing, last, found)


CONSTANTS = {"e": math.e, "pi": math.pi, "tau": math.tau, "inf": math.inf, "nan": math.nan, "half_pi": math.pi / 2}
CONSTANTS |= {"phi": (1 + math.sqrt(5)) / 2, "ln2": math.log(2), "ln10": math.log(10)}
CONSTANTS |= {"log2e": math.log2(math.e), "log10e": math.log10(math.e)}
LEVELS = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40}


@pytest.mark.parametrize("row", DUE, ids=lambda row: row.name)
def test_row(row: api_rows.Row, tmp_path: Path) -> None:
    found = api_rows.find(row)
    assert found is not api_rows.MISSING, f"{row.name} ({row.group}) does not exist"
    call = CALLS.get(row.name)
    if call is not None and call.__module__.endswith(".devices") and wp.get_device().is_cuda:
        pytest.skip("about the CPU; test_devices.py has what GPUs do")
    last = row.name.rsplit(".", 1)[-1]
    if call is not None:
        call(tmp_path) if inspect.signature(call).parameters else call()
    elif row.kind == "re-export":
        _use_reexport(row, found)
    elif row.group == "config" and row.kind in ("config", "config flag"):
        _use_flag(row.name)
    elif row.kind == "module option":
        _use_option(row.name)
    elif row.kind in ("enum", "enum member"):
        assert found in (list(found) if row.kind == "enum" else list(type(found))) or row.kind == "enum"
    elif row.kind == "module":
        assert inspect.ismodule(found)
    elif last.lower() in CONSTANTS:
        assert found == CONSTANTS[last.lower()] or (math.isnan(found) and last.lower() == "nan")
    elif last.startswith("LOG_"):
        assert found == LEVELS[last[4:]]
    elif row.kind == "exception":
        assert issubclass(found, Exception) and str(found("text")) == "text"
    elif row.name == "warp.codegen.StructInstance":
        assert isinstance(wp.struct(type("S", (), {"__annotations__": {"x": float}}))(), found)
    elif row.name == "warp.context.type_str":
        assert found(wp.vec3) == "vec3f"
    elif row.name == "warp.context.user_modules":
        assert found[__name__] is wp.get_module(__name__)
    elif isinstance(found, type) and (hasattr(found, "_wp_type_") or hasattr(found, "_type_")):
        _use_type(found)
    else:
        pytest.fail(f"{row.name} ({row.kind}) exists, but no call of it is written: add it to tests/python/api_calls")


@wp.kernel
def _own(a: wp.array(dtype=int)):
    a[0] = 1


def test_no_call_without_a_row() -> None:
    assert set(CALLS) <= {row.name for row in ROWS}


def test_rows_for_later_are_told_apart() -> None:
    assert {row.group for row in ROWS if row.later} <= {
        f"later:{part}"
        for part in (
            *("cuda", "internals"),
        )
    }


def test_the_script_prints_the_table() -> None:
    script = Path(api_rows.__file__)
    shown = subprocess.run(
        [sys.executable, str(script), "--missing"], capture_output=True, text=True, check=True
    ).stdout
    assert f"of {len(ROWS):4}" in shown and "later:internals" in shown


def _documented(found: object) -> bool:
    text = inspect.getdoc(found)
    return bool(text) and len(text.split()) >= 2


UNDOCUMENTED_KINDS = ("constant", "config", "config flag", "enum member", "attribute", "class attribute", "alias")
UNDOCUMENTED_KINDS += ("re-export", "module option", "annotation")


@pytest.mark.parametrize("row", [r for r in DUE if r.kind not in UNDOCUMENTED_KINDS], ids=lambda row: row.name)
def test_row_is_documented(row: api_rows.Row) -> None:
    """A sentence for every function, class, method and property; special methods mean what Python says."""
    last = row.name.rsplit(".", 1)[-1]
    if last.startswith("__"):
        pytest.skip("a special method")
    if row.kind == "property":
        owner = wp
        for part in row.name.split(".")[1:-1]:
            owner = getattr(owner, part)
        found = inspect.getattr_static(owner, last)
        if not isinstance(found, property) and not inspect.isdatadescriptor(found):
            return
    else:
        found = api_rows.find(row)
    assert _documented(found), f"{row.name} has no docstring"
