"""What MuJoCo Warp needs of `warp` that this package does not have yet: names alone, for mujoco_warp_tests.py.

Runs before its tests. Textures can be named in annotations; making one, and launching a kernel in tiles, raises
NeedsLater, by which the tests that need them are told from those that fail. Kernels that use them don't compile, and say
which name is missing. A name that the package has is left alone.

With MUJOCO_KERNELS=FILE every kernel that exists when the process ends is compiled, and the file gets a line of JSON
for each: {"kernel": …, "problem": "" or the compiler's first message, null for those whose types a launch decides}.
"""

import atexit
import json
import os
import typing
import weakref

import warp as wp


class NeedsLater(Exception):
    """The program needs something that is not part of the package yet."""


def _missing(what: str) -> typing.Callable:
    def make(*_args, **_kwargs):
        raise NeedsLater(f"needs {what}")

    return make


def _texture() -> type:
    @wp.struct
    class Texture2D:
        width: int
        height: int

    Texture2D.__init__ = _missing("textures")
    return Texture2D


class _Tile:
    """`wp.tile[float, N, 1]` in annotations; kernels that call wp.tile(…) find that there is none."""

    def __getitem__(self, _parameters):
        return typing.Any


def _launch_tiled(kernel=None, dim=(), *_args, **_kwargs):
    extents = dim if isinstance(dim, (tuple, list)) else (dim,)
    if 0 not in extents:  # of zero size nothing is launched
        raise NeedsLater("needs tiles")


_SUPPLIED = {
    "Texture2D": _texture,
    "TextureFilterMode": lambda: type("TextureFilterMode", (), {"LINEAR": 1, "CLOSEST": 0}),
    "tile": _Tile,
    "launch_tiled": lambda: _launch_tiled,
}

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


for _name, _make in _SUPPLIED.items():
    if not hasattr(wp, _name):
        setattr(wp, _name, _make())
if "MUJOCO_KERNELS" in os.environ:
    _remember_kernels()
    atexit.register(_compile_all, os.environ["MUJOCO_KERNELS"])
