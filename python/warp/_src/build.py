"""The kernel cache on disk."""

from __future__ import annotations

import os

from warp import _weft
from warp._src import config


def init_kernel_cache(path: str | None = None) -> None:
    """Uses this folder for compiled kernels from now on; None is the default one."""
    folder = os.path.realpath(path) if path is not None else _weft.cache_folder()
    config.kernel_cache_dir = folder


def clear_kernel_cache() -> None:
    """Removes every compiled kernel from the cache."""
    _weft.clear_cache()


def clear_lto_cache() -> None:
    """Nothing to clear: Weft keeps one cache."""
