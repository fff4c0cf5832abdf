"""Where the rooms are joined: functions of upper rooms that lower ones call, and those that C++ calls.

A room imports only what lies below it. What it calls of rooms above has a place there, declared with its type, that is
filled here, once, when the package is imported.
"""

from __future__ import annotations

import importlib
from typing import Any

from warp import _weft
from warp._src.api import startup
from warp._src.arrays import address_uses, array_interface, array_operators
from warp._src.arrays.array import array
from warp._src.devices.device import selection
from warp._src.session import config, logger
from warp._src.values import struct, types


_warned: set[str] = set()


def _warn(*texts: str) -> None:
    """Warnings of the compiler, of one kind and perhaps with lines of source text. Each place is heard of once; of those that
    one kernel brings, the first is said, all of them with config.verbose, none with config.quiet. What tapes warn of, which
    is no matter of style, is always said."""
    new = list(dict.fromkeys(text.rstrip("\n") for text in texts if text not in _warned))
    _warned.update(texts)
    if config.quiet:
        new = [text for text in new if ": warning: " not in text.partition("\n")[0]]
    if not new:
        return
    if len(new) > 1 and not config.verbose:
        more = f"{len(new) - 1} more of this kind in this kernel and its functions; wp.config.verbose = True shows all"
        new = [f"{new[0]}\n    note: {more}"]
    for text in new:
        logger.warn(text)


def _fill_late(room: Any, name: str, module: str) -> None:
    """Fills a place with the function of that name in a module which is loaded when it is first called: start-up does not pay
    for it."""

    def call(*arguments: Any) -> Any:
        found = getattr(importlib.import_module(module), name)
        setattr(room, name, found)
        return found(*arguments)

    setattr(room, name, call)


struct.array_class = array_interface.array_class = array
_fill_late(array_operators, "operate", "warp._src.algorithms.elementwise")
_fill_late(array_operators, "operate_unary", "warp._src.algorithms.elementwise")
_fill_late(array_operators, "product", "warp._src.algorithms.matmul")
selection.started = startup.init

_weft.set_hooks(array_interface.as_array, types.make_value, array_interface.type_of, _warn)
address_uses.constructor = array
_weft.set_address_hook(address_uses.stays_inside)
