"""Kernels over a batch: one launch for all samples of a `jax.vmap`, in place of one for each.

The kernel's text is rewritten. Its grid has the samples in front; an array with a batch has one dimension more, and its first
statement takes the sample's part of it, so that everything behind sees the sample's own shapes and indices. Where that can't
be said of a kernel (it asks for fewer indices than the grid has, works with its block, or has all four dimensions already)
there is no such form, and the samples run one after another.
"""

from __future__ import annotations

import ast
import builtins
import sys
import threading
import weakref
from typing import Any, Sequence

from warp import _weft
from warp._src.arrays.array import array
from warp._src.interop.kernel_rewriting import KernelText
from warp._src.kernels.definitions import Function, Kernel
from warp._src.values.types import class_of

__all__ = ["batched_kernel"]

_MOST_DIMENSIONS = 4
_OF_BLOCKS = ("tile", "block_dim", "syncthreads", "grid_", "cluster", "warp_", "coop")
_made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_making = threading.Lock()


def batched_kernel(kernel: Kernel, types: Sequence[_weft.Type], batched: tuple[bool, ...], rank: int) -> Kernel | None:
    """The kernel over a batch, where `batched` says which parameters have one; None if there is no such form.

    Args:
        kernel: what runs for each sample.
        types: of its parameters, all known.
        batched: for each, whether it is an array with the batch in front.
        rank: of the grid of one sample.
    """
    key = (tuple(t.name for t in types), batched, rank)
    with _making:  # two kernels of one text would be two definitions of one name
        known = _made.setdefault(kernel, {})
        if key not in known:
            known[key] = _rewritten(kernel, types, batched, rank)
        return known[key]


def _rewritten(kernel: Kernel, types: Sequence[_weft.Type], batched: tuple[bool, ...], rank: int) -> Kernel | None:
    ranks = [t.rank for t, b in zip(types, batched) if b]
    if rank >= _MOST_DIMENSIONS or any(r >= _MOST_DIMENSIONS for r in ranks):
        return None
    try:
        text = KernelText(kernel)
    except (RuntimeError, SyntaxError, StopIteration, ValueError):
        return None  # no text, or names that are not there yet
    threads = [f"_weft_thread_{d}" for d in range(rank)]
    if not _Threads(text.namespace, threads).settle(text.function):
        return None
    text.namespace["_weft_tid"] = _tid()
    text.begin_with(f"_weft_sample, {', '.join(threads)} = _weft_tid()")
    given: dict[str, Any] = {}
    for argument, t, has_batch in zip(text.parameters(), types, batched):
        if t.kind == "array":
            given[argument.arg] = array(dtype=class_of(t.element), ndim=t.rank + has_batch)
            part = "[_weft_sample]" if has_batch else ""
            text.begin_with(f"{argument.arg} = {argument.arg}_all{part}")
    return text.make(given, "batched", "_all")


def _tid() -> Any:
    return sys.modules["warp"].tid


class _Threads(ast.NodeTransformer):
    """Replaces what a kernel asks of its thread by variables."""

    def __init__(self, namespace: dict[str, Any], threads: list[str]):
        self._namespace, self._names = namespace, threads
        self._possible = True

    def settle(self, function: ast.FunctionDef) -> bool:
        """Does so in a kernel's body; False if there is something that can't be told."""
        function.body = [self.visit(statement) for statement in function.body]
        return self._possible

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if self._is_tid(node.value):
            count = len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 1
            self._possible &= count == len(self._names) and len(node.targets) == 1
            node.value = self._threads()
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        if self._is_tid(node):
            self._possible &= len(self._names) == 1
            return self._threads()
        self._possible &= _is_apart(node, self._namespace, set())
        return self.generic_visit(node)

    def _is_tid(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and _value(node.func, self._namespace) is _tid()

    def _threads(self) -> ast.expr:
        names: list[ast.expr] = [ast.Name(name, ast.Load()) for name in self._names]
        return names[0] if len(names) == 1 else ast.Tuple(names, ast.Load())


def _value(node: ast.AST, namespace: dict[str, Any]) -> Any:
    """What a name, or a name of a module, stands for; None if that is not known."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, namespace), node.attr, None)
    return None


def _is_apart(call: ast.Call, namespace: dict[str, Any], seen: set[int]) -> bool:
    """Whether what is called has nothing to do with the thread's block, as far as can be told."""
    called = _value(call.func, namespace)
    if isinstance(called, Function):
        return all(_function_is_apart(one, seen) for one in called.overloads)
    if called is None:  # a method of a value, or a function of Python's
        return isinstance(call.func, ast.Attribute) or hasattr(builtins, getattr(call.func, "id", ""))
    name = getattr(called, "key", None) or getattr(called, "__name__", "")
    return isinstance(called, type) or not name.startswith(("tid", *_OF_BLOCKS))


def _function_is_apart(function: Function, seen: set[int]) -> bool:
    if id(function) in seen:
        return True
    seen.add(id(function))
    if function.native_snippet is not None:
        return False  # another language, in which anything may be asked
    try:
        text = KernelText(function)  # type: ignore[arg-type]
    except (RuntimeError, SyntaxError, StopIteration, ValueError):
        return False
    calls = [node for node in ast.walk(text.function) if isinstance(node, ast.Call)]
    return all(_is_apart(node, text.namespace, seen) for node in calls)
