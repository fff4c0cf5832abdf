"""`warp.build`: the kernel cache on disk."""

from __future__ import annotations

import os

from warp import _weft
from warp._src.session import config


def init_kernel_cache(path: str | os.PathLike | None = None) -> None:
    """Uses this folder for compiled kernels from now on and tells `config.kernel_cache_dir`; None is the default one."""
    config.kernel_cache_dir = None if path is None else os.path.realpath(path)
    folder = _weft.cache_folder()
    if folder:
        os.makedirs(folder, exist_ok=True)
        config.kernel_cache_dir = folder


def clear_kernel_cache() -> None:
    """Removes every compiled kernel from the cache; other files in its folder stay."""
    _weft.clear_cache()


def clear_lto_cache() -> None:
    """Nothing to clear: there is one cache, and clear_kernel_cache empties it."""


__all__ = ["clear_kernel_cache", "clear_lto_cache", "init_kernel_cache"]
