"""Functions with bodies or gradients of their own: @wp.func_native, @wp.func_grad, @wp.func_replay; wp.grad.

A native function's C++ text is compiled by a clang of the machine when a kernel that calls it is built; here it is only
kept. Gradient and replay functions are registered with the function they belong to and used by backward passes.
"""

from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Sequence

from warp import _weft
from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.definitions import Function, _check_function, _key_of, _module_for
from warp._src.kernels.resolver import array_annotation
from warp._src.session import settings
from warp._src.values import types as wt
from warp._src.values.builtins import BuiltinFunction


def find_clang() -> str | None:
    """The clang that compiles native functions: config.native_compiler, WEFT_CLANG, or one on the PATH; None without."""
    return _weft.find_clang() or None


def _text(snippet: Any, what: str) -> str:
    if not isinstance(snippet, str):
        raise TypeError(f"{what} of @wp.func_native is C++ text, got {type(snippet).__name__}")
    return snippet


def func_native(snippet: str, adj_snippet: str | None = None, replay_snippet: str | None = None) -> Callable:
    """Gives a function a C++ body: `@wp.func_native("return x * x;") def square(x: float) -> float: ...`

    The snippet sees the parameters by name: numbers, wp::vec_t, wp::mat_t, wp::quat_t, wp::transform_t, structs, and
    arrays with data, shape, strides and `a[i]`. It is compiled by clang when a kernel that calls it is built.

    Args:
        snippet: the body.
        adj_snippet: the body of its adjoint, for backward passes.
        replay_snippet: what runs instead when a backward pass replays the forward one.
    """
    _text(snippet, "the snippet")
    for text in (adj_snippet, replay_snippet):
        if text is not None:
            _text(text, "a snippet")

    def wrap(f: Callable) -> Function:
        _check_function(f, "func_native")
        _complete_annotations(f)
        module, key = _module_for(f, None, _key_of(f))
        made = Function(f, key, module)
        made.native_snippet = snippet
        made.adj_native_snippet = adj_snippet
        made.replay_snippet = replay_snippet
        module.functions[key] = made
        return made

    return wrap


def _complete_annotations(f: Callable) -> None:
    missing = [name for name in inspect.signature(f).parameters if name not in f.__annotations__]
    if missing:
        raise settings.codegen_error(
            f"Incomplete argument annotations on function {f.__name__}: write e.g. {missing[0]}: float"
        )


def _inputs(f: Callable) -> list[tuple[str, Any]]:
    return [(name, annotation) for name, annotation in annotations_of(f).items() if name != "return"]


def _same(a: Any, b: Any) -> bool:
    a, b = (getattr(one, "value_type", one) for one in (a, b))  # wp.ref[T]: the type of the value counts
    if a is b or wt.types_equal(a, b):
        return True
    first = array_annotation(a)  # indexed arrays have no handle of their own
    return first is not None and first == array_annotation(b)


def _describe(params: list[tuple[str, Any]]) -> str:
    return "\n".join(f"{name}: {wt.type_repr(annotation)}" for name, annotation in params)


def _describe_adjoints(forward: Function) -> str:
    """Lines for the adjoints that a gradient function of it takes; none where its outputs are not known yet."""
    outputs = forward.output_handles() or []
    names = ["adj_ret"] if len(outputs) == 1 else [f"adj_ret_{k}" for k in range(len(outputs))]
    return "".join(f"\n{name}: {output.name}" for name, output in zip(names, outputs))


def _forward(forward_fn: Any, what: str) -> Function:
    if not isinstance(forward_fn, Function):
        raise TypeError(f"@wp.{what} takes a function made by @wp.func, got {forward_fn!r}")
    return forward_fn


def func_grad(forward_fn: Function) -> Callable:
    """Gives a `wp.func` a gradient of its own.

    The decorated function takes the inputs of `forward_fn`, then one adjoint per output, and adds to
    `wp.adjoint[input]`. RuntimeError if no overload of `forward_fn` has these inputs and outputs.
    """
    forward = _forward(forward_fn, "func_grad")

    def wrap(f: Callable) -> Callable:
        _check_function(f, "func_grad")
        _complete_annotations(f)
        given = _inputs(f)
        for candidate in reversed(forward.overloads):
            wanted = _inputs(candidate.func)
            if len(given) < len(wanted) or any(not _same(g[1], w[1]) for g, w in zip(given, wanted)):
                continue
            adjoints = [annotation for _, annotation in given[len(wanted) :]]
            if not _fits_outputs(candidate, adjoints):
                continue
            candidate.customize(grad_func=Function(f, f"{candidate.key}_grad", candidate.module))
            return f
        raise RuntimeError(
            f"No function overload found for gradient function {f.__qualname__} for function {forward.key}; it takes\n"
            f"{_describe(given)}\nand must take the inputs of '{forward.key}', then one adjoint per output:\n"
            + "\nor\n".join(_describe(_inputs(one.func)) + _describe_adjoints(one) for one in forward.overloads)
        )

    return wrap


def _fits_outputs(forward: Function, adjoints: list[Any]) -> bool:
    """Whether adjoints are as many as the function's outputs, and of their types."""
    outputs = forward.output_handles()
    if outputs is None:  # generic, or not to be told before it is called
        return True
    if len(outputs) != len(adjoints):
        return False
    handles = [wt.type_handle_or_none(annotation) for annotation in adjoints]
    return all(handle is None or handle == output for handle, output in zip(handles, outputs))


def func_replay(forward_fn: Function) -> Callable:
    """Gives a `wp.func` another body for the replay of the forward pass in a backward pass; the same parameters."""
    forward = _forward(forward_fn, "func_replay")

    def wrap(f: Callable) -> Callable:
        _check_function(f, "func_replay")
        _complete_annotations(f)
        given = _inputs(f)
        for candidate in reversed(forward.overloads):
            wanted = _inputs(candidate.func)
            if len(given) == len(wanted) and all(_same(g[1], w[1]) for g, w in zip(given, wanted)):
                candidate.customize(replay_func=Function(f, f"replay_{candidate.key}", candidate.module))
                return f
        raise RuntimeError(
            f"Could not find forward definition of function {forward.key} that matches custom replay definition with "
            f"arguments:\n{_describe(given)}"
        )

    return wrap


class ModuleBuildOptions:
    """Further folders and text for the compiler of native functions (`wp.func_native`)."""

    def __init__(
        self,
        *,
        extra_cuda_include_dirs: Sequence[str | os.PathLike[str]] | None = None,
        extra_cpu_include_dirs: Sequence[str | os.PathLike[str]] | None = None,
        extra_cuda_preamble: str = "",
        extra_cpu_preamble: str = "",
        extra_build_dependencies: Sequence[str | os.PathLike[str]] | None = None,
    ):
        self.extra_cuda_include_dirs = [os.fspath(p) for p in extra_cuda_include_dirs or ()]
        self.extra_cpu_include_dirs = [os.fspath(p) for p in extra_cpu_include_dirs or ()]
        self.extra_cuda_preamble = extra_cuda_preamble
        self.extra_cpu_preamble = extra_cpu_preamble
        self.extra_build_dependencies = [os.fspath(p) for p in extra_build_dependencies or ()]

    def merged(self, *others: ModuleBuildOptions) -> ModuleBuildOptions:
        """These options and those of others, in order."""
        every = (self, *others)
        return ModuleBuildOptions(
            extra_cuda_include_dirs=[p for o in every for p in o.extra_cuda_include_dirs],
            extra_cpu_include_dirs=[p for o in every for p in o.extra_cpu_include_dirs],
            extra_cuda_preamble="\n".join(o.extra_cuda_preamble for o in every if o.extra_cuda_preamble),
            extra_cpu_preamble="\n".join(o.extra_cpu_preamble for o in every if o.extra_cpu_preamble),
            extra_build_dependencies=[p for o in every for p in o.extra_build_dependencies],
        )

    def digest(self) -> str:
        """A hash of the options."""
        import hashlib

        return hashlib.sha256(repr(sorted(vars(self).items())).encode()).hexdigest()


class GradWrapper:
    """The derivative of a function, for kernels: what `wp.grad` gives."""

    def __init__(self, func: Callable) -> None:
        self.func = func
        self._wp_grad_of_ = func  # what the compiler asks for

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("derivatives made by wp.grad can only be called in kernels")

    def __repr__(self) -> str:
        return f"wp.grad({self.func!r})"


def grad(func: Callable) -> GradWrapper:
    """The derivative of a function, for use in kernels: `dx, dy = wp.grad(f)(x, y)`.

    Gives one derivative per parameter, of the sum of what the function returns: a value for one parameter, several values
    for several. Integers get zero; arrays are taken as constants.

    Args:
        func: a function made by `wp.func`, or a builtin.
    """
    if not isinstance(func, Function) and not isinstance(func, BuiltinFunction):
        raise TypeError(f"wp.grad takes a function made by @wp.func or a builtin, got {func!r}")
    return GradWrapper(func)


class _Adjoint:
    """`wp.adjoint[x]`: inside functions made by `@wp.func_grad`, the adjoint of their parameter x."""

    _wp_builtin_ = "adjoint"

    def __getitem__(self, key: object) -> object:
        raise RuntimeError("wp.adjoint[…] has a meaning only in functions made by @wp.func_grad")

    def __repr__(self) -> str:
        return "wp.adjoint"


adjoint = _Adjoint()
grad._wp_builtin_ = "grad"  # type: ignore[attr-defined]

__all__ = ["GradWrapper", "ModuleBuildOptions", "adjoint", "func_grad", "func_native", "func_replay", "grad"]
