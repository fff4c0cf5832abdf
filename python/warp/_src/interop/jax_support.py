"""JAX, when a program has it: which version serves, and the handlers that XLA is told of once."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any

from warp import _weft
from warp._src.devices.device import CPU, ScopedDevice, get_device, selection
from warp._src.devices.streams import ScopedStream, Stream

__all__ = ["export_checks", "import_jax", "register_handlers"]

_OLDEST = (0, 5, 0)


@functools.lru_cache(maxsize=None)
def import_jax() -> Any:
    """The package `jax`. ModuleNotFoundError says what to install, RuntimeError which version is too old."""
    try:
        import jax
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise ModuleNotFoundError("JAX is not installed; `pip install jax` does it", name=error.name) from None
    version = tuple(int(part) for part in jax.__version__.split(".")[:3] if part.isdigit())
    if version < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        raise RuntimeError(f"JAX {jax.__version__} is too old for kernels in its programs; {needed} or newer is needed")
    return jax


_registering = threading.Lock()
_registered = False


def register_handlers() -> None:
    """Tells JAX of the code that runs kernels in its programs. `wp.jax_kernel` does so by itself; a process that only runs
    programs that were exported elsewhere (with `portable=True`) calls it first."""
    global _registered
    if _registered:
        return
    ffi = ffi_module()
    with _registering:  # JAX keeps those of platforms that are not there yet
        for name, platform, capsule in () if _registered else _weft.xla_handlers():
            ffi.register_ffi_target(name, capsule, platform=platform, api_version=1)
        _registered = True


def export_checks() -> list[Any]:
    """What `jax.export.export(…, disabled_checks=…)` must be told so that programs with kernels can be exported. A program
    that is deserialised finds a kernel where a `wp.jax_kernel` of it lives, or in itself (`portable=True`)."""
    import_jax()
    import jax.export

    names = {name for name, _, _ in _weft.xla_handlers()}
    return [jax.export.DisabledSafetyCheck.custom_call(name) for name in sorted(names)]


def ffi_module() -> Any:
    import_jax()
    import jax.ffi

    return jax.ffi


def scope_of_call(place: int, stream: int) -> Any:
    """Where a call runs becomes current for it."""
    if place >= 0:
        return ScopedStream(Stream(get_device(f"cuda:{place}"), cuda_stream=stream), sync_enter=False)
    return contextlib.nullcontext() if selection.now() is CPU else ScopedDevice(CPU)
