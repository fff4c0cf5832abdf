"""One call or use per row of the API table, by name: what `test_api_rows.py` runs. Rows of a kind that one rule covers
(named types, constants, flags, re-exported names) are handled there."""

from __future__ import annotations

from collections.abc import Callable

CALLS: dict[str, Callable[[], object]] = {}


def calls(*names: str) -> Callable:
    """Marks a function that uses these names; names are written without the leading "warp."."""

    def add(function: Callable) -> Callable:
        for name in names:
            assert f"warp.{name}" not in CALLS, f"{name} has two calls"
            CALLS[f"warp.{name}"] = function
        return function

    return add


def members(owner: str, *names: str) -> Callable:
    """The same for members of a class."""
    return calls(*(f"{owner}.{name}" for name in names))


from . import allocators, arrays, devices, geometry, gradients, graphs, jax, kernels, library, meshes, optim, paddle, profiling, sparse, textures, tiles, torch, utils, values  # noqa: E402,F401
