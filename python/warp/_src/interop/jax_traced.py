"""Kernels whose numbers JAX may trace: each becomes an array of one element, which the kernel reads when it begins.

The kernel's text is rewritten, parameter by parameter, before anything is compiled or differentiated; so numbers have
gradients like any element, and nothing waits for their values.
"""

from __future__ import annotations

import ast
import textwrap
import weakref
from typing import Any

from warp._src.arrays.array import array
from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.definitions import Kernel, kernel_from_text
from warp._src.kernels.source_text import source_of
from warp._src.values.types import class_of

__all__ = ["with_traced_numbers"]

_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def with_traced_numbers(kernel: Kernel) -> tuple[Kernel, frozenset[str]]:
    """The kernel with arrays of one element in place of numbers, and the names of those."""
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
    source, _, _ = source_of(kernel.func)
    tree = ast.parse(textwrap.dedent(source))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    function.decorator_list = []
    declared = annotations_of(kernel.func)
    namespace = dict(kernel.func.__globals__)
    namespace["__name__"] = f"{kernel.func.__module__}.traced"  # a module of its own: the kernel keeps its place
    for name, cell in zip(kernel.func.__code__.co_freevars, kernel.func.__closure__ or ()):
        namespace[name] = cell.cell_contents
    reads = []
    arguments = [*function.args.args, *function.args.kwonlyargs]
    for k, argument in enumerate(arguments):
        given = types.get(argument.arg)
        holder = f"_weft_type_{k}"
        namespace[holder] = given if given is not None else declared[argument.arg]
        argument.annotation = ast.Name(holder, ast.Load())
        if given is None:
            continue
        inside = f"{argument.arg}_given"
        reads.append(ast.parse(f"{argument.arg} = {inside}[0]").body[0])
        argument.arg = inside
    function.args.defaults, function.args.kw_defaults = [], [None] * len(function.args.kwonlyargs)
    first = 1 if ast.get_docstring(function) is not None else 0
    function.body[first:first] = reads
    text = ast.unparse(ast.fix_missing_locations(tree))
    made = kernel_from_text(text, function.name, namespace)
    made.options = dict(kernel.options)
    made.module.options.update(kernel.module.options.own)
    return made, frozenset(types)
