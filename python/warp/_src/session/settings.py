"""Settings in force: turns `warp.config` and module options into compile options, and notices changes.

`epoch` counts changes; a kernel remembers the epoch for which it chose its compiled form, so that an unchanged
configuration costs a launch one comparison.
"""

from __future__ import annotations

import atexit
import operator
import sys
import types as _pytypes
from _thread import allocate_lock

from warp import _weft
from warp._src.session import config, gpu_options, kernel_options, logger
from warp._src.session.errors import WarpCodegenError

atexit.register(_weft.end_full_versions)  # before anything that LLVM's threads use is gone

_weft.set_late_launches(config.late_launches)

epoch = 0
_followed = 0  # how many forward modes are active
_counting = allocate_lock()


def bump(followed: int = 0) -> None:
    """Says that some setting changed; tells C++ what launches read."""
    global epoch, _followed
    with _counting:  # two changes at once are two numbers
        _followed += followed
        epoch += 1
        plain = not (config.print_launches or config.verify_cuda or _followed)
        _weft.set_launch_settings(epoch, config.cpu_threads, plain=plain, cpu_blocks=bool(config.enable_cpu_blocks))


def follow(by: int) -> None:
    """Says that a forward mode became active (1), or ended (-1): launches go through Python meanwhile."""
    bump(by)


class _ConfigModule(_pytypes.ModuleType):
    """`warp.config` with assignments noticed."""

    def __setattr__(self, name: str, value: object) -> None:
        before = getattr(self, name, _UNKNOWN)
        checked = _CHECKS.get(name)
        if checked is not None:
            value = checked(value)
        super().__setattr__(name, value)
        if name == "cpu_threads":
            _weft.set_thread_limit(value)
        elif name == "kernel_cache_dir":
            _use_cache_folder(value)
        elif name == "verbose":
            _weft.set_build_hook(_tell_build if value else None)
        elif name == "native_compiler":
            _weft.set_native_compiler(str(value or ""))
        elif name == "first_versions":
            _weft.set_first_versions(bool(value))
        elif name == "overlapped_launches":
            _weft.set_overlapped_launches(bool(value))
        elif name == "parallel_graphs":
            _weft.set_parallel_graphs(bool(value))
        elif name == "late_launches":
            _weft.set_late_launches(bool(value))
        elif name == "track_memory":
            from warp._src.session import memory_report

            memory_report.track_memory(bool(value))
        elif name == "record_kernels":
            _weft.record_kernels(bool(value))
        elif before is _UNKNOWN:
            _unknown_flag(name)
        elif name in self.NOTED and value != before:
            logger.note_once(f"wp.config.{name} has no effect here: {self.NOTED[name]}")
        bump()


_UNKNOWN = object()
_default_cache_folder: str | None = None  # asked for only when it is changed: the environment may be set after import


def default_cache_folder() -> str:
    """Where kernels are cached unless a program chooses a folder."""
    return _weft.cache_folder() if _default_cache_folder is None else _default_cache_folder


def _use_cache_folder(folder: object) -> None:
    global _default_cache_folder
    _default_cache_folder = default_cache_folder()
    _weft.set_cache_folder(_default_cache_folder if folder is None else str(folder))


def _tell_build(kernel: str, how: str, seconds: float) -> None:
    logger.log_debug(f"Kernel {kernel} load on device 'cpu' took {seconds * 1000.0:.2f} ms  ({how})")


def _mode(value: object) -> object:
    if value not in ("release", "debug", ""):  # an empty one is what command lines give to say nothing: release
        raise ValueError(f"wp.config.mode is 'release' or 'debug', not {value!r}")
    return value


def _count(value: object) -> int:
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"a number of threads or lanes is 0 (chosen) or positive, not {number}")
    return number


def _level(value: object) -> object:
    if value is not None and (not isinstance(value, int) or not 0 <= value <= 3):
        raise ValueError(f"wp.config.optimization_level is 0 to 3 or None, not {value!r}")
    return value


_CHECKS = {
    "mode": _mode,
    "cpu_threads": _count,
    "cpu_lanes": _count,
    "optimization_level": _level,
    "cuda_output": gpu_options.check_output,
    "ptx_target_arch": gpu_options.check_arch,
    "cuda_libdevice": gpu_options.check_libdevice,
}


def _unknown_flag(name: str) -> None:
    import difflib

    if name.startswith("_"):
        return
    near = difflib.get_close_matches(name, [n for n in vars(config) if not n.startswith("_") and n != name], 1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    logger.warn(f"wp.config has no flag '{name}'{meant}", stacklevel=4)


config.__class__ = _ConfigModule
sys.modules.setdefault("warp.config", config)


def serial() -> bool:
    """Threads in increasing order on one core."""
    return config.cpu_threads == 1


_plain: tuple[int, dict[str, object]] = (-1, {})
"""What the compiler is told of kernels without options of their own, and for which epoch."""


def compile_options(module_options: dict[str, object]) -> dict[str, object]:
    """What the compiler is told, from configuration and a module's or kernel's own options. The result is not to be changed."""
    global _plain
    if module_options:
        return _compile_options(module_options)
    now, known = epoch, _plain
    if known[0] != now:
        known = _plain = now, _compile_options(module_options)
    return known[1]


def _compile_options(module_options: dict[str, object]) -> dict[str, object]:

    def pick(name: str) -> object:
        value = module_options.get(name)
        return getattr(config, name) if value is None else value

    return {
        "debug": pick("mode") == "debug",
        "verify_fp": bool(config.verify_fp),
        "verify_tiles": bool(config.verify_tiles),
        "fuse_fp": bool(pick("fuse_fp")),
        "fast_math": bool(pick("fast_math")),
        "max_unroll": int(pick("max_unroll")),
        "deterministic": bool(pick("deterministic")),
        # Serial mode keeps threads in strict order: no lanes, unless asked for.
        "lanes": int(config.cpu_lanes) or (1 if serial() else 0),
        "cache": bool(config.cache_kernels),
        "opt_level": _opt_level(pick("optimization_level")),
        **gpu_options.compile_options(pick),
        **(kernel_options.bounds(module_options) if module_options else {}),
    }


def _opt_level(value: object) -> int:
    return 2 if value is None else int(value)  # type: ignore[call-overload]


def codegen_error(text: str) -> Exception:
    """An exception of the class that documented programs catch."""
    return WarpCodegenError(text)
