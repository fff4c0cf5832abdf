"""What the package says: levels, the logger that programs may replace, notes that come once.

`config.log_level`, `config.quiet` and `config.verbose` decide what is said at all.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Protocol, runtime_checkable

from warp._src.session import config

LOG_DEBUG = 10
LOG_INFO = 20
LOG_WARNING = 30
LOG_ERROR = 40


@runtime_checkable
class Logger(Protocol):
    """What `wp.set_logger` takes: an object with these four methods."""

    def debug(self, message: str) -> None:
        """A detail, said with config.verbose."""

    def info(self, message: str) -> None:
        """Something worth knowing."""

    def warning(self, message: str, category: Any = None, stacklevel: int = 1) -> None:
        """Something that may be wrong; `stacklevel` is what `warnings.warn` takes when it is called from here."""

    def error(self, message: str) -> None:
        """Something that is wrong."""


class PrintingLogger:
    """The usual logger: details and news to stdout, warnings and errors to stderr."""

    def debug(self, message: str) -> None:
        """Prints a detail."""
        print(message)

    def info(self, message: str) -> None:
        """Prints news."""
        print(message)

    def warning(self, message: str, category: Any = None, stacklevel: int = 1) -> None:
        """Prints a warning, unless a filter of Python's `warnings` ignores it; with config.verbose_warnings, where it arose."""
        kind = getattr(category, "__name__", None) or "UserWarning"
        frame = _caller(max(stacklevel, 2))
        if _is_ignored(message, category or UserWarning, frame):
            return
        where = f" ({frame.f_code.co_filename}:{frame.f_lineno})" if config.verbose_warnings else ""
        told = ": warning: " in message.partition("\n")[0]  # the compiler's own say what they are, behind the place
        sys.stderr.write(f"{message}{where}\n" if told else f"Warp {kind}: {message}{where}\n")

    def error(self, message: str) -> None:
        """Prints an error."""
        sys.stderr.write(f"Warp Error: {message}\n")


def _caller(level: int) -> Any:
    """The frame that many calls up, or the outermost one."""
    frame: Any = sys._getframe(1)
    while level > 1 and frame.f_back is not None:
        frame, level = frame.f_back, level - 1
    return frame


def _is_ignored(message: str, category: Any, frame: Any) -> bool:
    """Whether the first filter of `warnings` that fits ignores it. Python's own way would also say each text once only."""
    module = frame.f_globals.get("__name__") or "<unknown>"

    def fits(pattern: Any, text: str) -> bool:
        return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)

    for action, text, kind, name, line in warnings.filters:
        if issubclass(category, kind) and fits(text, message) and fits(name, module) and line in (0, frame.f_lineno):
            return action == "ignore"
    return False


_logger: Logger = PrintingLogger()
_said: set[str] = set()


def get_logger() -> Logger:
    """The logger in use."""
    return _logger


def set_logger(logger: Logger | None) -> None:
    """Uses this logger for everything the package says; None is the usual one."""
    global _logger
    if logger is not None and not isinstance(logger, Logger):
        raise TypeError(
            "logger must implement the Logger protocol (debug(message), info(message), warning(message, category, "
            f"stacklevel), error(message)), got {type(logger)}"
        )
    _logger = logger if logger is not None else PrintingLogger()


class ScopedLogger:
    """`with wp.ScopedLogger(logger):` uses a logger and restores the one before."""

    def __init__(self, logger: Logger | None):
        self.logger = logger
        self._saved: list[Logger] = []

    def __enter__(self) -> ScopedLogger:
        self._saved.append(get_logger())
        set_logger(self.logger)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        set_logger(self._saved.pop())


class ScopedLogLevel:
    """`with wp.ScopedLogLevel(wp.LOG_ERROR):` sets config.log_level and restores it."""

    def __init__(self, log_level: int):
        self.log_level = log_level
        self._saved: list[int] = []

    def __enter__(self) -> ScopedLogLevel:
        self._saved.append(config.log_level)
        config.log_level = self.log_level
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        config.log_level = self._saved.pop()


def is_said(level: int) -> bool:
    """Whether messages of this level come out."""
    if level < LOG_INFO and config.verbose:
        return True
    return level >= config.log_level and (level >= LOG_WARNING or not config.quiet)


def log_debug(message: str) -> None:
    """Says a detail."""
    if is_said(LOG_DEBUG):
        _logger.debug(message)


def log_info(message: str) -> None:
    """Says what is worth knowing."""
    if is_said(LOG_INFO):
        _logger.info(message)


def log_warning(message: str, category: Any = None, stacklevel: int = 1) -> None:
    """Says what may be wrong."""
    if is_said(LOG_WARNING):
        _logger.warning(message, category, stacklevel + 2)


def log_error(message: str) -> None:
    """Says what is wrong, whatever the level."""
    _logger.error(message)


def note_once(message: str) -> None:
    """Says something the first time it is asked to."""
    if message not in _said and is_said(LOG_INFO):
        _said.add(message)
        _logger.info(message)


def warn(message: str, category: Any = None, stacklevel: int = 1) -> None:
    """Warns once per message; deprecations go through Python's `warnings`, so that its filters apply."""
    if message in _said:
        return
    _said.add(message)
    if category is not None and issubclass(category, DeprecationWarning):
        warnings.warn(message, category, stacklevel + 1)
    else:
        log_warning(message, category, stacklevel + 1)


__all__ = ["LOG_DEBUG", "LOG_ERROR", "LOG_INFO", "LOG_WARNING", "Logger", "ScopedLogLevel", "ScopedLogger"]
__all__ += ["get_logger", "set_logger"]


def tell_launch(key: str, dim: object, inputs: Any, outputs: Any, device: object, adjoint: bool) -> None:
    """A launch as `config.print_launches` shows it, whatever the level: arrays by shape and type, other values as they are."""

    def brief(value: Any) -> str:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if not isinstance(shape, tuple) or dtype is None or len(shape) == 0:
            return repr(value)
        return f"{type(value).__name__}(shape={tuple(shape)}, dtype={getattr(dtype, '__name__', dtype)})"

    read, written = (", ".join(map(brief, values or ())) for values in (inputs, outputs))
    kind = "adjoint kernel" if adjoint else "kernel"
    _logger.info(f"{kind}: {key} dim: {dim} inputs: [{read}] outputs: [{written}] device: {device}")
