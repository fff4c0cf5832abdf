"""Compiles every kernel of MuJoCo Warp on the way out, for mujoco_warp_tests.py; runs before its tests.

With MUJOCO_KERNELS=FILE every kernel that exists when the process ends is compiled, and the file gets a line of JSON
for each: {"kernel": …, "problem": "" or the compiler's first message, null for those whose types a launch decides}.
"""

import atexit
import json
import os
import weakref

import warp as wp


_kernels: list = []


def _remember_kernels() -> None:
    made = wp.Kernel.__init__

    def remember(self, *args, **kwargs):
        made(self, *args, **kwargs)
        _kernels.append(weakref.ref(self))

    wp.Kernel.__init__ = remember


def _problem(kernel) -> str | None:
    """What hinders a kernel from being compiled."""
    try:
        native = kernel.native()
        if kernel.is_generic:
            return None
        native.build([], 1, wp.get_device("cpu").ordinal)
    except Exception as error:  # noqa: BLE001 - whatever it is gets counted
        lines = [line.partition(" error: ")[2] for line in str(error).splitlines() if " error: " in line]
        return f"{type(error).__name__}: {(lines or [str(error)])[0]}"
    return ""


def _compile_all(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        for kernel in filter(None, [known() for known in _kernels]):
            name = f"{kernel.module.name}:{kernel.key}"
            file.write(json.dumps({"kernel": name, "problem": _problem(kernel)}) + "\n")
            file.flush()


if "MUJOCO_KERNELS" in os.environ:
    _remember_kernels()
    atexit.register(_compile_all, os.environ["MUJOCO_KERNELS"])
