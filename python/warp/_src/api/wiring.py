"""Where the rooms are joined: functions of upper rooms that lower ones call, and those that C++ calls.

A room imports only what lies below it. What it calls of rooms above has a place there, declared with its type, that is
filled here, once, when the package is imported.
"""

from __future__ import annotations

from warp import _weft
from warp._src.algorithms import elementwise, matmul
from warp._src.api import startup
from warp._src.arrays import array_interface, array_operators, listeners
from warp._src.arrays.array import array
from warp._src.devices.device import selection
from warp._src.gradients import tape_record
from warp._src.session import config, logger
from warp._src.values import struct, types


_warned: set[str] = set()


def _warn(*texts: str) -> None:
    """Warnings of the compiler, of one kind and perhaps with lines of source text. Each place is heard of once; of those that
    one kernel brings, the first is said, all of them with config.verbose."""
    new = list(dict.fromkeys(text.rstrip("\n") for text in texts if text not in _warned))
    _warned.update(texts)
    if not new or config.quiet:
        return
    if len(new) > 1 and not config.verbose:
        more = f"{len(new) - 1} more of this kind in this kernel and its functions; wp.config.verbose = True shows all"
        new = [f"{new[0]}\n    note: {more}"]
    for text in new:
        logger.warn(text)


struct.array_class = array_interface.array_class = array
array_operators.operate = elementwise.operate
array_operators.operate_unary = elementwise.operate_unary
array_operators.product = matmul.product
listeners.record_assignment = tape_record.record_assignment
listeners.record_gather = tape_record.record_gather
listeners.record_scatter = tape_record.record_scatter
selection.started = startup.init

_weft.set_hooks(array_interface.as_array, types.make_value, array_interface.type_of, _warn)
_weft.set_tape_hooks(tape_record.record_copy, tape_record.record_fill, tape_record.held_arrays)
