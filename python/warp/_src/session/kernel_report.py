"""What was compiled and loaded, and what that took: `wp.kernel_report`, and the table of `python -m warp program.py`."""

from __future__ import annotations

import os
from typing import Any

from warp import _weft
from warp._src.session import config

STAGES = ("front_end", "passes", "emission", "llvm_passes", "code_generation", "assembler", "loading")
"""The stages of making code in their order, as rows name them."""
_HEADS = ("front", "passes", "emit", "LLVM", "codegen", "ptxas", "load")


def kernel_report() -> list[dict[str, Any]]:
    """What was compiled and loaded since `wp.config.record_kernels = True`, a dictionary for each build in the order in which
    they ended: name, place of its text ("file:line"), device, `version` ("first" or "full"), `after_first` (a full version that follows
    a first one), `source` ("compiled", "cache", or "process" for code that another
    kernel has as well), lanes (CPU) or block, registers and local bytes of a thread and shared bytes of a block (GPU), operations
    after optimisation, and milliseconds: front_end, passes, emission, llvm_passes, code_generation, assembler, loading, total. None: not known. A
    first version and the full one that follows it are two rows, and so are a kernel and its adjoint."""
    found = _weft.recorded_kernels()
    if not found and not config.record_kernels:
        raise RuntimeError("no kernels are recorded: set wp.config.record_kernels = True before they are launched")
    return [_row(one) for one in found]


def _row(one: dict[str, Any]) -> dict[str, Any]:
    row = {
        "name": one["kernel"],
        "place": one["place"] or None,
        "adjoint": one["adjoint"],
        "device": "cpu" if one["device"] < 0 else f"cuda:{one['device']}",
        "version": "first" if one["first"] else "full",
        **{name: one[name] for name in ("after_first", "source", "lanes", "block", "registers", "local_bytes", "shared_bytes", "operations")},
    }
    for stage in STAGES:
        row[stage] = one[stage] * 1000.0
    row["total"] = sum(row[stage] for stage in STAGES)
    return row


def left(rows: list[dict[str, Any]]) -> int:
    """How many kernels have no full version behind their first one."""
    begun = sum(row["version"] == "first" and row["source"] != "process" for row in rows)
    return max(begun - sum(row["after_first"] for row in rows), 0)


def by_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows whose builds took longest first."""
    return sorted(rows, key=lambda row: -row["total"])


def sums(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What all took together, by stage, and how many there are of which sort."""
    made = [row for row in rows if row["source"] == "compiled"]
    first = sum(row["version"] == "first" for row in made)
    counts = {
        "builds": len(rows),
        "first_versions": first,
        "full_versions": len(made) - first,
        "from_cache": sum(row["source"] == "cache" for row in rows),
    }
    return counts | {stage: sum(row[stage] for row in rows) for stage in (*STAGES, "total")}


def table(rows: list[dict[str, Any]], top: int = 20) -> str:
    """The rows as text, longest first, `top` of them (0: all), and the sums of all."""
    gpu = any(row["device"] != "cpu" for row in rows)
    cpu = not rows or any(row["device"] == "cpu" for row in rows)
    stages = [(stage, head) for stage, head in zip(STAGES, _HEADS) if gpu or stage != "assembler"]
    shape = [("lanes", "lanes")] if cpu else []
    shape += [("block", "block"), ("registers", "regs"), ("shared_bytes", "shared")] if gpu else []

    def times(row: dict[str, Any]) -> list[str]:
        return [f"{row[stage]:.1f}" for stage in (*(stage for stage, _ in stages), "total")]

    head = ["kernel", "where", "device", "version", *(title for _, title in shape), "ops", *(title for _, title in stages), "ms"]
    shown = by_time(rows)[: top or None]
    lines = [
        [
            row["name"] + (" (adjoint)" if row["adjoint"] else ""),
            os.path.basename(row["place"] or ""),
            row["device"],
            row["version"] + {"compiled": "", "cache": ", cached", "process": ", shared"}[row["source"]],
            *("" if row[name] is None else str(row[name]) for name, _ in shape),
            "" if row["operations"] is None else str(row["operations"]),
            *times(row),
        ]
        for row in shown
    ]
    total = sums(rows)
    blank = [""] * (4 + len(shape))
    lines.append([f"all {total['builds']}", *blank, *times(total)])
    widths = [max(len(line[k]) for line in (head, *lines)) for k in range(len(head))]
    out = []
    for line in (head, *lines):
        left = [cell.ljust(width) for cell, width in zip(line[:4], widths)]
        right = [cell.rjust(width) for cell, width in zip(line[4:], widths[4:])]
        out.append("  ".join(left + right).rstrip())
    if len(shown) < len(rows):
        out.insert(-1, f"… and {len(rows) - len(shown)} more")
    return "\n".join(out)


__all__ = ["kernel_report"]
