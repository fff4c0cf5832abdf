"""Kernels whose numbers JAX may trace: each becomes an array of one element, which the kernel reads when it begins.

The kernel's text is rewritten, parameter by parameter, before anything is compiled or differentiated; so numbers have
gradients like any element, and nothing waits for their values.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from warp._src.arrays.array import array
from warp._src.interop.kernel_rewriting import KernelText
from warp._src.kernels.definitions import Kernel
from warp._src.values.types import class_of

__all__ = ["with_traced_numbers"]

_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_making = threading.Lock()


def with_traced_numbers(kernel: Kernel) -> tuple[Kernel, frozenset[str]]:
    """The kernel with arrays of one element in place of numbers, and the names of those."""
    with _making:  # two kernels of one text would be two definitions of one name
        known = _made.get(kernel)
        if known is None:
            known = _made[kernel] = _rewritten(kernel)
    return known


def _rewritten(kernel: Kernel) -> tuple[Kernel, frozenset[str]]:
    types: dict[str, Any] = {}
    for name, handle, _, _ in kernel.native().params():
        if handle is None:
            raise TypeError(f"kernel '{kernel.key}': traced_scalars needs types that are known, '{name}' is generic")
        if handle.kind in ("scalar", "vec", "mat", "quat", "transform"):
            types[name] = array(dtype=class_of(handle))
    if not types:
        return kernel, frozenset()
    text = KernelText(kernel)
    for argument in text.parameters():
        if argument.arg in types:
            text.begin_with(f"{argument.arg} = {argument.arg}_given[0]")
    return text.make(types, "traced", "_given"), frozenset(types)
