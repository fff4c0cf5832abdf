"""Kernels made of other kernels by rewriting their text: parameters under other types, and statements that come first.

What is made is an ordinary kernel, with options of the one that it comes from: it is compiled, differentiated and kept as
others are.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.definitions import Kernel, kernel_from_text
from warp._src.kernels.source_text import source_of

__all__ = ["KernelText"]


class KernelText:
    """The text of a kernel, to be changed."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        source, _, _ = source_of(kernel.func)
        self.tree = ast.parse(textwrap.dedent(source))
        self.function = next(node for node in self.tree.body if isinstance(node, ast.FunctionDef))
        self.function.decorator_list = []
        self.namespace: dict[str, Any] = dict(kernel.func.__globals__)
        for name, cell in zip(kernel.func.__code__.co_freevars, kernel.func.__closure__ or ()):
            self.namespace[name] = cell.cell_contents
        self._declared = annotations_of(kernel.func)
        self._first: list[ast.stmt] = []

    def parameters(self) -> list[ast.arg]:
        return [*self.function.args.args, *self.function.args.kwonlyargs]

    def begin_with(self, text: str) -> None:
        """Adds a statement before the kernel's own."""
        self._first.append(ast.parse(text).body[0])

    def make(self, types: dict[str, Any], suffix: str, renamed: str) -> Kernel:
        """The kernel with parameters of other types, by the names that they had; these are called `name` + `renamed` now.
        `suffix` names the module that it is in: the kernel that it comes from keeps its place."""
        namespace = self.namespace
        namespace["__name__"] = f"{self.kernel.func.__module__}.{suffix}"
        for k, argument in enumerate(self.parameters()):
            given = types.get(argument.arg)
            holder = f"_weft_type_{k}"
            namespace[holder] = given if given is not None else self._declared[argument.arg]
            argument.annotation = ast.Name(holder, ast.Load())
            if given is not None:
                argument.arg += renamed
        function = self.function
        function.args.defaults, function.args.kw_defaults = [], [None] * len(function.args.kwonlyargs)
        at = 1 if ast.get_docstring(function) is not None else 0
        function.body[at:at] = self._first
        text = ast.unparse(ast.fix_missing_locations(self.tree))
        made = kernel_from_text(text, function.name, namespace)
        made.options = dict(self.kernel.options)
        made.module.options.update(self.kernel.module.options.own)
        return made
