"""Of Warp's package for finite elements, `warp.fem.linalg` alone: linear algebra of small matrices in kernels."""

from typing import NoReturn

from warp.fem import linalg as linalg


def __getattr__(name: str) -> NoReturn:
    """Says of what is missing that nothing else is here."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"module 'warp.fem' has no attribute '{name}': of warp.fem, only warp.fem.linalg is here")
