"""Settings of code for GPUs: what is kept of it, for which architecture, with which elementary functions.

Reads `wp.config.cuda_output`, `ptx_target_arch`, `lineinfo` and `cuda_libdevice` and the options of modules and kernels
of the same names.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from warp import _weft
from warp._src.session import config

_OLDEST_ARCH = 70


def check_output(value: object) -> object:
    """Of `wp.config.cuda_output`."""
    if value not in (None, "ptx", "cubin"):
        raise ValueError(f"wp.config.cuda_output is 'ptx', 'cubin' or None, not {value!r}")
    return value


def check_arch(value: object) -> object:
    """Of `wp.config.ptx_target_arch`."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < _OLDEST_ARCH):
        oldest = f"{_OLDEST_ARCH} (for sm_{_OLDEST_ARCH})"
        raise ValueError(f"wp.config.ptx_target_arch is {oldest} or more, or None, not {value!r}")
    return value


def check_libdevice(value: object) -> object:
    """Of `wp.config.cuda_libdevice`: it is looked for at once, so that the program hears of it where it asks."""
    if value is None or value is False:
        return False
    if not isinstance(value, (bool, str, os.PathLike)):
        raise TypeError(f"wp.config.cuda_libdevice is True, False or a path, not {value!r}")
    given = "" if value is True else os.fspath(value)
    if not find_libdevice(given):
        raise FileNotFoundError(
            f"there is no libdevice.10.bc at {given!r}"
            if given
            else "no libdevice was found: install a CUDA toolkit or the package nvidia-cuda-nvcc, set WEFT_LIBDEVICE "
            "to libdevice.10.bc, or give wp.config.cuda_libdevice its path"
        )
    return True if value is True else given


def find_libdevice(given: str = "") -> str:
    """The path of libdevice.10.bc: at a file or folder, or wherever there is one; empty if there is none."""
    packages = [folder for folder in sys.path if os.path.isdir(os.path.join(folder, "nvidia"))]
    return _weft.find_libdevice(given, packages)


def compile_options(pick: Callable[[str], Any]) -> dict[str, object]:
    """What the compiler is told, as far as it is not what it does anyway."""
    found: dict[str, object] = {}
    if pick("lineinfo"):
        found["line_info"] = True
    if check_output(pick("cuda_output")) == "ptx":
        found["keep_ptx"] = True
        if config.ptx_target_arch is not None:
            found["ptx_arch"] = int(config.ptx_target_arch)
    asked = pick("cuda_libdevice")
    if asked:
        asked = check_libdevice(asked)
        found["libdevice"] = find_libdevice("" if asked is True else asked)
    return found


def elementary_functions() -> str:
    """Which elementary functions GPU code uses, and which there would be."""
    there = find_libdevice()
    if config.cuda_libdevice:
        used = there if config.cuda_libdevice is True else find_libdevice(config.cuda_libdevice)
        return f"libdevice on GPUs ({used}); Weft's own on the CPU"
    return f"Weft's own on every device (libdevice, unused: {there or 'not found'})"


__all__ = ["check_arch", "check_libdevice", "check_output", "compile_options", "elementary_functions", "find_libdevice"]
