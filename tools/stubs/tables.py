"""The parts of templates that come from tables: scalar and named types, type variables, atomics, and array factories."""

from __future__ import annotations

from typing import Any

import rows

RANKS = ("_One", "_Two", "_Three", "_Four")


def scalar_classes(module: Any) -> str:
    """The classes of the scalar types that are none of Python's."""
    out = []
    for name, cls in module.SCALARS.items():
        if name not in ("bool", "int32", "float32"):
            base = "float_base" if issubclass(cls, module.float_base) else "int_base"
            out.append(f"class {name}({base}):\n    {rows.docstring(cls.__doc__)}\n")
    return "\n".join(out)


def stub_scalar(name: str) -> str:
    """A scalar type by the name that stubs give it."""
    return {"bool": "_b.bool", "int32": "_b.int", "float32": "_b.float"}.get(name, name)


def named_types(module: Any) -> str:
    """The named vectors, matrices, quaternions and transforms."""
    out = []
    for name in module.__all__:
        handle = getattr(getattr(module, name), "_wp_type_", None)
        if handle is None or handle.kind == "scalar":
            continue
        scalar = stub_scalar(handle.scalar)
        kind = {
            "vec": f"Vector[{scalar}, Literal[{handle.rows}]]",
            "mat": f"Matrix[{scalar}, Literal[{handle.rows}], Literal[{handle.cols}]]",
            "quat": f"Quaternion[{scalar}]",
            "transform": f"Transformation[{scalar}]",
        }[handle.kind]
        out.append(f"{name}: TypeAlias = {kind}\n")
    return "".join(out)


def type_variables(module: Any) -> str:
    """The variables of builtin rows: any number, any integer, any float."""
    ints = ["_b.int", *(cls.__name__ for cls in module.int_types if cls.__name__ != "int32")]
    floats = ["_b.float", *(cls.__name__ for cls in module.float_types if cls.__name__ != "float32")]
    out = []
    for letter, choices in (("S", ints + floats), ("I", ints), ("F", floats)):
        for number in ("", "2", "3"):
            out.append(f'_{letter}{number} = TypeVar("_{letter}{number}", {", ".join(choices)})\n')
    for name, choices in (("Number", ints + floats), ("Int", ints), ("Float", floats)):
        out.append(f"_Any{name}: TypeAlias = {' | '.join(choices)}\n")
    return "".join(out)


def factories() -> str:
    """zeros, empty, ones and full: the shape says how many dimensions there are, the dtype what the elements are."""
    options = (
        "device: Any = None, requires_grad: _b.bool = False, pinned: _b.bool = False, retain_grad: _b.bool = False"
    )
    shapes = ["_b.int"] + [f"tuple[{', '.join(['_b.int'] * n)}]" for n in (1, 2, 3, 4)]
    ranks = ["_One", *RANKS]
    out = []
    for name in ("zeros", "empty", "ones"):
        for element, dtype in (("_b.float", ""), ("_E", "dtype: type[_E], ")):
            for shape, rank in zip([*shapes, "Sequence[_b.int]"], [*ranks, "Any"]):
                out.append(
                    f"@_overload\ndef {name}(shape: {shape}, {dtype}{options if dtype else '*, ' + options}) -> array[{element}, {rank}]: ...\n"
                )
        out.append(f"@_overload\ndef {name}(*, n: _b.int, dtype: type[_E] = ..., {options}) -> array[_E, _One]: ...\n")
        out.append(
            f"@_overload\ndef {name}(*, length: _b.int, dtype: type[_E] = ..., {options}) -> array[_E, _One]: ...\n"
        )
    for value, dtype in (("_E", "dtype: None = None"), ("Any", "dtype: type[_E]")):
        for shape, rank in zip([*shapes, "Sequence[_b.int]"], [*ranks, "Any"]):
            star = "" if "None" in dtype else "*, "
            out.append(
                f"@_overload\ndef full(shape: {shape}, value: {value}, {star if value == 'Any' else ''}{dtype}, {options}) -> array[_E, {rank}]: ...\n"
            )
    return "".join(out)


def atomics() -> str:
    """Atomic builtins take as many indices as the array has dimensions."""
    from warp import _weft

    out = []
    for name in _weft.builtin_names():
        if not name.startswith("atomic_"):
            continue
        doc = _weft.builtin_rows(name)[0][1]
        compare = "compare: _T, " if name == "atomic_cas" else ""
        for count, rank in enumerate(RANKS, 1):
            indices = "".join(f"{letter}: SupportsIndex, " for letter in "ijkl"[:count])
            head = f"@_overload\ndef {name}(arr: array[_T, {rank}], {indices}{compare}value: _T) -> _T:"
            out.append(f"{head}\n    {rows.docstring(doc)}\n")
    return "".join(out)
