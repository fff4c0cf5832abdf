#!/usr/bin/env python3
"""Prints which rows of a table of API names exist in the package and which do not.

    PYTHONPATH=python python tools/checks/api_rows.py [rows] [--missing] [--strict]

The table has the columns name, kind, tier and group between commas or tabs; further ones are ignored. Groups that begin
with "later:" belong to parts that are still to come. `--missing` lists missing rows only, `--strict` fails if a row of
another group is missing. The tests use `load` and `find`, too.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROWS = Path(__file__).resolve().parents[2] / "tests" / "python" / "data" / "api_rows.csv"
MISSING = object()


class Row(NamedTuple):
    """A name of the API."""

    name: str
    kind: str
    tier: str
    group: str

    @property
    def later(self) -> bool:
        """Whether it belongs to a part that is still to come."""
        return self.group.startswith("later:")


def load(path: Path = ROWS) -> list[Row]:
    """The rows of a table."""
    lines = path.read_text(encoding="utf-8").splitlines()
    mark = "\t" if "\t" in lines[0] else ","
    columns = lines[0].split(mark)
    rows = []
    for line in lines[1:]:
        values = dict(zip(columns, line.split(mark)))
        rows.append(Row(values["name"], values.get("kind", ""), values.get("tier", ""), values.get("group", "")))
    return rows


def _samples(wp: Any) -> dict[str, Any]:
    """Objects whose attributes are not to be seen on their class."""
    return {
        "warp.ScopedTimer": lambda: wp.ScopedTimer("sample", print=False),
        "warp.array": lambda: wp.zeros(1),
        "warp.Device": wp.get_device,
        "warp.Tape": wp.Tape,
        "warp.Mesh": lambda: wp.Mesh(wp.zeros(3, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int)),
        "warp.Bvh": lambda: wp.Bvh(wp.zeros(1, dtype=wp.vec3), wp.ones(1, dtype=wp.vec3)),
    }


def find(row: Row) -> Any:
    """The object of a row, or MISSING."""
    import warp as wp

    if row.kind == "module option":
        return wp.get_module_options(wp.Module("sample")).get(row.name.split()[-1], MISSING)
    if row.kind == "annotation":  # wp.array[T]
        try:
            return wp.array[wp.float32]
        except TypeError:
            return MISSING
    if row.kind == "script":
        return importlib.util.find_spec(row.name.split()[-1]) or MISSING
    owner, _, last = row.name.rpartition(".")
    found: Any = wp
    for part in row.name.split(".")[1:-1]:
        found = getattr(found, part, MISSING)
    if row.kind == "attribute" and owner in _samples(wp):
        found = _samples(wp)[owner]()
    if found is MISSING or row.name == "warp":
        return found
    if row.kind == "module":
        if inspect.ismodule(getattr(found, last, None)):  # also one that a module only names
            return getattr(found, last)
        try:
            return importlib.import_module(row.name)
        except ImportError:
            return MISSING
    try:
        return getattr(found, last, MISSING)
    except RuntimeError:  # a property that CUDA devices have
        return getattr(type(found), last)


def main() -> int:
    """Prints the table's state."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=Path, default=ROWS)
    parser.add_argument("--missing", action="store_true", help="list missing rows only")
    parser.add_argument("--strict", action="store_true", help="fail if a row that is not for later is missing")
    options = parser.parse_args()
    found: collections.Counter = collections.Counter()
    total: collections.Counter = collections.Counter()
    failed = 0
    for row in load(options.rows):
        exists = find(row) is not MISSING
        total[row.group] += 1
        found[row.group] += exists
        failed += not exists and not row.later
        if not (exists and options.missing):
            print(f"{'yes' if exists else 'NO ':3}  {row.tier:5} {row.group:18} {row.name}")
    print()
    for group in sorted(total):
        print(f"{group:18} {found[group]:4} of {total[group]:4}")
    print(f"{'all':18} {sum(found.values()):4} of {sum(total.values()):4}")
    return 1 if options.strict and failed else 0


if __name__ == "__main__":
    sys.exit(main())
