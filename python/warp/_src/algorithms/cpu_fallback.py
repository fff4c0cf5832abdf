"""Functions that work on the CPU by Python code: for arrays on CUDA devices their elements go to the host and results come
back; while a graph is captured on the CPU the call becomes part of it."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from warp import _weft
from warp._src.arrays.array_interface import on_host

_F = TypeVar("_F", bound=Callable[..., Any])


def _record(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], results: list[Any], by: str) -> Any:
    """Makes a call part of the graph that is captured on the CPU. What it finds must go to arrays."""
    targets = [a for a in results if isinstance(a, _weft.Array)]
    if not targets:
        _weft.host_refuse(f"give the result of {by} to Python (give it an array for that)")
    _weft.host_record_call(functools.partial(function, *args, **kwargs), targets)
    return None if function.__annotations__.get("return") == "None" else targets[0]


def through_host(*written: str, by: str) -> Callable[[_F], _F]:
    """Lets a function of host arrays take arrays of CUDA devices: it gets copies, and those of the parameters named here
    are copied back, which tapes see as a write `by` it. New arrays that it returns go to the device of its first array."""

    def wrap(function: _F) -> _F:
        import inspect

        names = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def detour(*args: Any, **kwargs: Any) -> Any:
            named = {**dict(zip(names, args)), **kwargs}
            found = {n: a for n, a in named.items() if isinstance(a, _weft.Array) and a._valid and a._place >= 0}
            if not found:
                if _weft.host_capturing():
                    return _record(function, args, kwargs, [named[n] for n in written if n in named], by)
                return function(*args, **kwargs)
            mirrors = {id(a): on_host(a) for a in found.values()}
            for a in found.values():
                mirrors[id(a)]._dtype = a.dtype
            result = function(
                *(mirrors.get(id(a), a) for a in args), **{name: mirrors.get(id(a), a) for name, a in kwargs.items()}
            )
            for name, a in found.items():
                if name in written:
                    _weft.announce_write(a, by)
                    a._take_back(mirrors[id(a)])
                if result is mirrors[id(a)]:
                    result = a
            if isinstance(result, _weft.Array) and result._place < 0:
                return result.to(next(iter(found.values())).device)  # type: ignore[attr-defined]
            return result

        return detour  # type: ignore[return-value]

    return wrap
