"""Runs a program inside of this process as `python program.py` and `python -m module` do: the same `__main__`, arguments,
search path, traceback and exit code."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import types
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

_kept: list[types.ModuleType] = []  # the __main__ before: its names are not to be cleared


def run_file(arguments: list[str]) -> None:
    """A file, or a folder or archive with a `__main__.py`."""
    path = arguments[0]
    sys.argv[:] = arguments
    if os.path.isdir(path) or (spec := _inside(path)):
        spec = _inside(path)
        if spec is None:
            raise SystemExit(f"{sys.executable}: can't find '__main__' module in {os.path.abspath(path)!r}")
        _search_first(path)
        _run(_code_of(spec), spec.origin, spec, "")
        return
    whole = os.path.abspath(path)
    try:
        with io.open_code(whole) as file:
            text = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {whole!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    _search_first(os.path.dirname(os.path.realpath(path)))
    _run(text, whole, None, None)


def run_module(arguments: list[str]) -> None:
    """A module by its name, or the `__main__` of a package."""
    name = arguments[0]
    sys.argv[:] = ["-m", *arguments[1:]]
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")
        if spec is None:
            inside = f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed"
            raise SystemExit(f"{sys.executable}: {inside}")
    if spec is None:
        raise SystemExit(f"{sys.executable}: No module named {name}")
    code = _code_of(spec)
    if code is None:
        raise SystemExit(f"{sys.executable}: No code object available for {name}")
    sys.argv[0] = spec.origin or name
    _run(code, spec.origin, spec, spec.parent)


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        reason = f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})"
        raise SystemExit(f"{sys.executable}: {reason}") from None


def _inside(path: str) -> ModuleSpec | None:
    """The `__main__` of a folder or an archive."""
    return PathFinder.find_spec("__main__", [path])


def _code_of(spec: ModuleSpec) -> Any:
    return spec.loader.get_code(spec.name) if spec.loader is not None else None  # type: ignore[attr-defined]


def _search_first(folder: str) -> None:
    """Python begins with the folder of the program, where it began with the current one for us."""
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return
    sys.path[0] = folder


def _run(code: Any, path: str | None, spec: ModuleSpec | None, package: str | None) -> None:
    """Runs text or code as `__main__`."""
    main = types.ModuleType("__main__")
    loader = spec.loader if spec is not None else SourceFileLoader("__main__", path or "")
    vars(main).update(
        __builtins__=builtins, __file__=path, __spec__=spec, __loader__=loader, __package__=package, __cached__=None
    )
    _kept.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    try:
        if isinstance(code, bytes):
            code = compile(code, path or "<string>", "exec", dont_inherit=True)
        exec(code, vars(main))  # noqa: S102 - it is what was asked for
    except SystemExit:
        raise
    except BaseException:
        _hide_ourselves()
        raise


def _hide_ourselves() -> None:
    """The traceback that Python prints at the end begins with the program's own frames."""
    show = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        own = trace
        while own is not None and own.tb_frame.f_code is not _run.__code__:
            own = own.tb_next
        if own is not None:
            trace = own.tb_next
        show(kind, error.with_traceback(trace), trace)

    sys.excepthook = hook
