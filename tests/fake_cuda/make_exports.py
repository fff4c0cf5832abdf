"""Writes the fake driver's entry points: a C function for each row of driver_functions.def that calls the table's.

    make_exports.py DRIVER_FUNCTIONS OUTPUT
"""

from __future__ import annotations

import re
import sys


def names(parameters: str) -> list[str]:
    """The names of a parameter list."""
    return [found[-1] for one in parameters.split(",") if (found := re.findall(r"\w+", one))]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*|^#[^\n]*", "", file.read(), flags=re.MULTILINE)
    rows = re.findall(r"WEFT_CU(?:_NEWER)?\((\w+),\s*(\w+),\s*\(([^)]*)\)\)", text)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for name, symbol, parameters in rows:
            flat = " ".join(parameters.split())
            file.write(f"ENTRY({name}, {symbol}, ({flat}), ({', '.join(names(flat))}))\n")


if __name__ == "__main__":
    main()
