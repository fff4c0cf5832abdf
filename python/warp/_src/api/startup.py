"""Start-up and self-description: `wp.init` and its banner, the report of `python -m warp`, `wp.print_diagnostics`."""

from __future__ import annotations

import functools
import sys
from typing import Any

from warp import _weft
from warp._src.devices.device import CPU, get_cuda_devices, get_device, get_devices, selection, synchronize_device
from warp._src.session import config, gpu_options, logger, settings

class Runtime:
    """`warp.context.runtime`: the running package, as programs that reach into it know it."""

    is_cuda_enabled = True
    """Whether code can be made for CUDA devices."""

    @functools.cached_property
    def core(self) -> Any:
        """Functions by the names that they have in a native library."""
        from warp._src.api.native_core import Core

        return Core()

    @property
    def tape(self) -> Any:
        """The tape that records now, or None."""
        return _weft.recording_tape()

    @property
    def cpu_device(self) -> Any:
        """The CPU."""
        return CPU

    @property
    def cuda_devices(self) -> list:
        """The CUDA devices."""
        return get_cuda_devices()

    @property
    def default_device(self) -> Any:
        """The current device."""
        return get_device()

    def get_device(self, ident: Any = None) -> Any:
        """The device of that name; None is the current one."""
        return get_device(ident)

    def verify_cuda_device(self, device: Any = None) -> None:
        """With `wp.config.verify_cuda`, waits for a CUDA device and raises what went wrong there."""
        chosen = get_device(device)
        if config.verify_cuda and chosen.is_cuda:
            synchronize_device(chosen)


runtime: Runtime | None = None
"""None until `wp.init`, or until something needs the devices."""


def init() -> None:
    """Starts the runtime and, unless `wp.config.quiet`, says what it found. Calling it again does nothing. Programs that
    don't call it get the same when they first need a device."""
    global runtime
    if runtime is not None:
        return
    runtime = Runtime()
    folder = _weft.cache_folder()
    if folder and config.kernel_cache_dir is None:
        vars(config)["kernel_cache_dir"] = folder  # to be read; it is in use already
    if not logger.is_said(logger.LOG_INFO):
        return
    triple, cpu, lanes = _weft.host_target()
    lines = [
        f"Warp {config.version} initialized (Weft {_weft.version()}):",
        f"   {_cuda_text()}",
        "   Devices:",
        f'     "{CPU.alias}"      : "{cpu}" ({triple}, {_weft.thread_count()} threads, {lanes} lanes)',
        *(
            f'     "{d.alias}"   : "{d.name}" ({d.total_memory >> 20} MiB, sm_{d.arch}, mempool '
            f"{'enabled' if d.is_mempool_enabled else 'not enabled'})"
            for d in get_cuda_devices()
        ),
        "   Kernel cache:",
        f"     {_weft.cache_folder() or 'none'}",
    ]
    logger.log_info("\n".join(lines))


def _cuda_text() -> str:
    """What is to be said of CUDA."""
    if not get_cuda_devices():
        return f"CUDA devices not available: {selection.problem}"
    version = f"{selection.version // 1000}.{selection.version % 1000 // 10}"
    return f"CUDA driver {version}, opened at run time; no toolkit used"


def _ptx_compiler_text() -> str:
    """What turns PTX into machine code."""
    version, used = _weft.cuda_ptx_compiler()
    if not version:
        return "the CUDA driver's"
    name = f"nvPTXCompiler {version // 1000}.{version % 1000 // 10}"
    if used or not get_cuda_devices():
        return f"{name}, linked in"
    return f"the CUDA driver's ({name} is linked in, but newer than the driver)"


def _first_versions_text() -> str:
    """Whether large kernels begin with a version that compiles quickly, and how many run by one now."""
    if not config.first_versions:
        return "off (wp.config.first_versions)"
    counts = _weft.build_counts()
    waiting = _weft.count_first_versions()
    return f"on, {counts['first']} made, {counts['full']} replaced by the full version, {waiting} waiting"


def _late_launches_text() -> str:
    """Whether launches on GPUs wait for their code in a queue, and for how many kernels some did."""
    if not config.late_launches:
        return "off (wp.config.late_launches)"
    return f"on, {_weft.count_late_launches()} kernels compiled beside the program"


def is_initialized() -> bool:
    """Whether the runtime was started, by `wp.init` or by the first use of a device."""
    return runtime is not None


def diagnostics() -> dict[str, Any]:
    """What a bug report needs, by name."""
    import platform

    import numpy

    from warp._src.kernels import custom_functions

    triple, cpu, lanes = _weft.host_target()
    return {
        "weft": _weft.version(),
        "build": _weft.build_id(),
        "warp_python": config.version,
        "python": sys.version.replace("\n", " "),
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "cpu": cpu,
        "target": triple,
        "lanes": lanes,
        "threads": _weft.thread_count(),
        "memory": CPU.total_memory,
        "kernel_cache": _weft.cache_folder() or "none",
        "first_versions": _first_versions_text(),
        "late_launches": _late_launches_text(),
        "native_compiler": custom_functions.find_clang() or "none (wp.func_native needs clang)",
        "cuda_enabled": bool(get_cuda_devices()),
        "cuda": _cuda_text(),
        "ptx_compiler": _ptx_compiler_text(),
        "elementary_functions": gpu_options.elementary_functions(),
        "devices": [d.alias for d in get_devices()],
        "changed_settings": _changed_settings(),
    }


def _changed_settings() -> dict[str, Any]:
    """Flags of `wp.config` that are not as they start."""
    defaults: dict[str, Any] = {}
    with open(config.__file__, encoding="utf-8") as file:
        exec(compile(file.read(), config.__file__, "exec"), defaults)  # noqa: S102 - our own file
    now = vars(config)
    public = (name for name in getattr(config, "__annotations__", {}) if not name.startswith("_") and name != "NOTED")
    changed = {name: now[name] for name in public if now[name] != defaults[name]}
    if changed.get("kernel_cache_dir") == settings.default_cache_folder():
        del changed["kernel_cache_dir"]  # init said so, not the program
    return changed


def report() -> str:
    """What a bug report needs, as text."""
    found = diagnostics()
    width = max(map(len, found))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in found.items())


def print_diagnostics() -> dict[str, Any]:
    """Prints what a bug report needs and returns it as a dictionary."""
    print(report())
    return diagnostics()


__all__ = ["init", "is_initialized", "print_diagnostics"]
