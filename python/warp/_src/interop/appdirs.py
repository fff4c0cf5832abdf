"""`warp._src.thirdparty.appdirs`, by which programs find the folders of a user: those of the XDG Base Directory Specification."""

from __future__ import annotations

import os


def _folder(variable: str, usual: str, appname: str | None, version: str | None) -> str:
    base = os.environ.get(variable) or os.path.expanduser(usual)
    parts = [part for part in (appname, version if appname else None) if part]
    return os.path.join(base, *parts)


def user_cache_dir(
    appname: str | None = None, appauthor: object = None, version: str | None = None, opinion: bool = True
) -> str:
    """Where a program keeps what it can make again."""
    return _folder("XDG_CACHE_HOME", "~/.cache", appname, version)


def user_data_dir(
    appname: str | None = None, appauthor: object = None, version: str | None = None, roaming: bool = False
) -> str:
    """Where a program keeps its data."""
    return _folder("XDG_DATA_HOME", "~/.local/share", appname, version)


def user_config_dir(
    appname: str | None = None, appauthor: object = None, version: str | None = None, roaming: bool = False
) -> str:
    """Where a program keeps its settings."""
    return _folder("XDG_CONFIG_HOME", "~/.config", appname, version)


__all__ = ["user_cache_dir", "user_config_dir", "user_data_dir"]
