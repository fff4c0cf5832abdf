"""Modules as programs handle them: options, compiling ahead, into the cache or into a folder to ship."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Sequence

from warp import _weft
from warp._src.devices.device import Device, get_device
from warp._src.kernels.modules import Module, _modules, build_jobs, get_module, run_all
from warp._src.session import config, logger, settings
from warp._src.values.struct import Struct


def _caller() -> str:
    """The name of the module that called the function that calls this."""
    return sys._getframe(2).f_globals.get("__name__", "__main__")


def _name_of(module: Any) -> str:
    if isinstance(module, Module):
        return module.name
    if inspect.ismodule(module):
        return module.__name__
    if isinstance(module, str):
        return module
    raise TypeError(f"Argument must be a module, got {type(module)}")


def _devices(device: Any) -> list[Device]:
    return [get_device(one) for one in (device if isinstance(device, (list, tuple)) else (device,))]


def _load(modules: Sequence[Module], max_workers: int | None, devices: list[Device], block_dim: int | None = None) -> None:
    start = time.perf_counter()
    jobs = build_jobs(modules, [device.ordinal for device in devices])
    workers = config.load_module_max_workers if max_workers is None else max_workers
    run_all(jobs, min(len(jobs), workers if workers and workers > 0 else os.cpu_count() or 1))
    finish_kernels()
    for module in modules:
        for device in devices:
            module.note_loaded(device, block_dim)
    if not logger.is_said(logger.LOG_DEBUG):
        return
    taken = (time.perf_counter() - start) * 1000.0
    names = ", ".join(f"'{d.alias}'" for d in devices)
    for module in modules:
        logger.log_debug(
            f"Module {module.name} {module.hash_module().hex()[:7]} load on device {names} took {taken:.2f} ms"
        )


def force_load(
    device: Any = None,
    modules: Sequence[Module] | None = None,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compiles the kernels of these modules now, in parallel; of all modules if none are named."""
    chosen = _devices(device)
    _load(list(modules) if modules is not None else list(_modules.values()), max_workers, chosen, block_dim)


def finish_kernels() -> None:
    """Waits until every kernel that was launched has its full version: large ones begin with one that compiles quickly (see
    wp.config.first_versions). For measurements; programs need not wait."""
    _weft.finish_full_versions()


def load_module(
    module: Any = None,
    device: Any = None,
    recursive: bool = False,
    block_dim: int | None = None,
    max_workers: int | None = None,
) -> None:
    """Compiles a module's kernels now.

    Args:
        module: a Python module, its name, a wp.Module, or None for the caller's.
        device: where it will run; one or several.
        recursive: modules inside the package, too.
        block_dim: of CUDA kernels.
        max_workers: threads that compile; config.load_module_max_workers if not given.
    """
    name = _caller() if module is None else _name_of(module)
    chosen = _devices(device)
    known = list(_modules.values())
    found = [m for m in known if m.name == name or (recursive and m.name.startswith(name + "."))]
    if isinstance(module, Module) and module not in found:
        found.append(module)
    filled = any(m.kernel_count or m.functions or m.structs for m in found)
    if not filled and name.partition(".")[0] != "warp" and not _has_structs(name):
        raise RuntimeError(
            f"Module '{name}' does not contain any Warp kernels, functions, or structs, or has not been imported yet."
        )
    _load(found, max_workers, chosen, block_dim)


def _has_structs(name: str) -> bool:
    """Whether a Python module has a name for a struct: structs belong to no module of ours."""
    return any(isinstance(value, Struct) for value in list(vars(sys.modules.get(name, sys)).values()))


def _target(module: Any, caller: str) -> Module:
    if isinstance(module, Module):
        return module
    return get_module(caller if module is None else _name_of(module))


def set_module_options(options: dict[str, Any], module: Any = None) -> None:
    """Options for the kernels of the caller's module, or another: enable_backward, max_unroll, mode, fast_math, fuse_fp,
    optimization_level… Kernels compiled afterwards follow them."""
    if not isinstance(options, dict):
        raise TypeError(f"options are a dictionary, got {type(options).__name__}")
    if options.get("mode") not in (None, "release", "debug"):
        raise ValueError(f"the option mode is 'release' or 'debug', not {options['mode']!r}")
    _target(module, _caller()).options.update(options)
    settings.bump()


def get_module_options(module: Any = None) -> dict[str, Any]:
    """The options of the caller's module, or another, with those of wp.config where the module sets none."""
    return _target(module, _caller()).resolve_options(config)  # type: ignore[attr-defined]


def compile_aot_module(
    module: Any,
    device: Any = None,
    arch: Any = None,
    module_dir: str | os.PathLike | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> list[Path]:
    """Compiles a module's kernels into a folder, which can be shipped and used as `config.kernel_cache_dir`; gives the files
    with their code, one or more for a kernel.

    Args:
        module: a wp.Module, a Python module or its name.
        device: where it will run.
        arch, use_ptx, strip_hash: of CUDA binaries.
        module_dir: the folder; the kernel cache if not given.
    """
    target = _target(module, "")
    folder = Path(os.path.realpath(_weft.cache_folder() if module_dir is None else module_dir))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".aot-", dir=folder) as fresh:  # whatever is in it is this module's
        with _kernel_cache_in(fresh):
            target.unload()
            _load([target], None, _devices(device))
            finish_kernels()
        made = sorted(path for path in Path(fresh).iterdir() if path.suffix != ".lock")
        return [path for path in (each.replace(folder / each.name) for each in made) if path.suffix == ".obj"]


def load_aot_module(
    module: Any,
    device: Any = None,
    arch: Any = None,
    module_dir: str | os.PathLike | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> None:
    """Loads a module's kernels from the folder that `compile_aot_module` filled; what is missing there is compiled.

    Args:
        module: a wp.Module, a Python module or its name.
        device: where it will run.
        arch, use_ptx, strip_hash: of CUDA binaries.
        module_dir: the folder; the kernel cache if not given. FileNotFoundError if there is none.
    """
    if module_dir is not None and not os.path.isdir(module_dir):
        raise FileNotFoundError(f"there is no folder {os.fspath(module_dir)!r}; wp.compile_aot_module fills one")
    with _kernel_cache_in(module_dir):
        _load([_target(module, "")], None, _devices(device))


@contextlib.contextmanager
def _kernel_cache_in(folder: str | os.PathLike | None) -> Iterator[None]:
    before = _weft.cache_folder()
    if folder is not None:
        _weft.set_cache_folder(os.path.realpath(folder))
    try:
        yield
    finally:
        if folder is not None:
            _weft.set_cache_folder(before)


def get_cpu_kernel_cache_key(*, cpu_compiler_flags: str | None = None) -> str:
    """Tells machines apart whose compiled kernels can't be exchanged."""
    import hashlib

    triple, cpu, lanes = _weft.host_target()
    digest = hashlib.sha256(
        f"{triple} {cpu} {lanes} {_weft.build_id()} {cpu_compiler_flags or ''}".encode()
    ).hexdigest()
    return f"{_weft.version()}-{triple}-{cpu}-{digest[:8]}"


__all__ = ["compile_aot_module", "finish_kernels", "force_load", "get_cpu_kernel_cache_key", "get_module_options"]
__all__ += ["load_aot_module", "load_module", "set_module_options"]
