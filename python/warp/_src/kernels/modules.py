"""Modules: the kernels, functions and structs of one Python module, or of one kernel, and their options.

A module knows kernels that were made in functions weakly: one that the program has dropped is no part of it any more, whatever
was wrong with it. Those at module level stay, the last one of each name, whoever holds the Python module; so does the kernel
of a module of its own.
"""

from __future__ import annotations

import typing
import weakref
from collections.abc import Callable, Iterable

from warp import _weft
from warp._src.devices.device import get_device
from warp._src.kernels.source_text import source_of
from warp._src.session import config, settings
from warp._src.session.kernel_options import ModuleOptions

if typing.TYPE_CHECKING:
    from warp._src.devices.device import Device
    from warp._src.kernels.definitions import Function, Kernel

_FIRST_LOOK = 256


class ModuleExec:
    """A module's code on a device, for blocks of a number of threads."""

    def __init__(self, module: Module, device: Device, block_dim: int):
        self.module_name = module.name
        self.device = device
        self.block_dim = block_dim

    def __repr__(self) -> str:
        return f"<code of warp module {self.module_name} on {self.device}, blocks of {self.block_dim}>"


class Module:
    """The kernels, functions and structs of one Python module (or of one kernel, for module="unique")."""

    def __init__(self, name: str, loader: object = None):
        self.name = name
        self.loader = loader
        self.functions: dict[str, Function] = {}
        self.structs: dict[str, type] = {}
        self.options = ModuleOptions()
        self.execs: dict[tuple[object, int], ModuleExec] = {}  # by context and threads of a block: what was asked for
        self._kept: dict[str, Kernel] = {}
        self._declared: list[weakref.ref[Kernel]] = []
        self._most = _FIRST_LOOK  # kernels before the list is looked through for dead ones
        self._compiled: int | None = None  # by this process, when a kernel of the module was last launched for the first time
        self._cold = False

    @property
    def live_kernels(self) -> list[Kernel]:
        """The kernels that somebody still refers to, as they were declared: several may have one key."""
        return [kernel for kernel in (ref() for ref in self._declared) if kernel is not None]

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The same by key: of several the last one."""
        return {kernel.key: kernel for kernel in self.live_kernels}

    @property
    def kernel_count(self) -> int:
        """About how many kernels there are; it changes when one is declared."""
        return len(self._declared)

    def _note_first_launch(self) -> bool:
        """Notes that a kernel is launched for the first time. Whether something was compiled since the one before, or earlier
        between two of them."""
        compiled = _weft.compiled_count()
        self._cold = self._cold or (self._compiled is not None and compiled > self._compiled)
        self._compiled = compiled
        return self._cold

    def register_kernel(self, kernel: Kernel, keep: bool = False) -> None:
        """Makes a kernel part of the module; `keep` has it stay although it was made in a function."""
        if len(self._declared) >= self._most:
            self._declared = [ref for ref in self._declared if ref() is not None]
            self._most = max(2 * len(self._declared), _FIRST_LOOK)
        self._declared.append(weakref.ref(kernel))
        if keep or ("<locals>" not in kernel.func.__qualname__ and _modules.get(self.name) is self):
            self._kept[kernel.key] = kernel

    def find_kernel(self, func: typing.Callable) -> Kernel | None:
        """The kernel that was made of a Python function, or the one of its name; None if there is none."""
        alive = self.live_kernels
        found = [k for k in alive if k.func is func] or [k for k in alive if k.func.__qualname__ == func.__qualname__]
        return found[-1] if found else None

    def load(self, device: object = None, block_dim: int | None = None) -> ModuleExec:
        """Compiles every kernel that needs no argument types. Errors come at the end, all of them. Gives the same object for
        the same device and `block_dim`, which is by default the module's option."""
        place = get_device(device)
        run_all(build_jobs([self], [place.ordinal]))
        return self.note_loaded(place, block_dim)

    def note_loaded(self, device: Device, block_dim: int | None = None) -> ModuleExec:
        """What stands for the module's code on a device, in `execs`, for blocks of that many threads."""
        threads = int(self.options["block_dim"]) if block_dim is None else block_dim
        return self.execs.setdefault((device.context, threads), ModuleExec(self, device, threads))

    def unload(self) -> None:
        """Forgets compiled code; kernels compile again when launched."""
        self.execs.clear()
        for kernel in self.live_kernels:
            for one in (kernel, *kernel.overloads.values()):
                one.forget()

    def mark_modified(self) -> None:
        """Says that the module changed: its kernels compile again when launched."""
        self.unload()

    def hash_module(self) -> bytes:
        """A hash of what the module's kernels and functions mean: their texts, the constants, closures, wp.static values,
        functions and struct layouts that they name, and the options in force."""
        import hashlib

        digest = hashlib.sha256()
        items = [*self.functions.values(), *self.live_kernels]
        for entry in sorted((item.key.encode(), _meaning(item)) for item in items):
            digest.update(b"".join(entry))
        in_force = {**self.resolve_options(config), **settings.compile_options(self.options.own)}  # type: ignore[attr-defined]
        digest.update(repr(sorted(in_force.items())).encode())
        return digest.digest()

    def get_kernel_hash(self, kernel: Kernel) -> bytes:
        """A hash of what one kernel means."""
        return _meaning(kernel)

    def __repr__(self) -> str:
        return f"<warp module {self.name}>"


def _meaning(item: Kernel | Function) -> bytes:
    """A hash of a text, its options and what the names in it stand for; of the text alone if it can't be parsed."""
    import hashlib

    try:
        digest = hashlib.sha256(repr(sorted(getattr(item, "options", {}).items())).encode())
        for one in getattr(item, "others", ()):
            digest.update(one.parsed().fingerprint())
        digest.update(item.parsed().fingerprint())
        return digest.digest()
    except Exception:  # noqa: BLE001 - a launch says what is wrong
        return hashlib.sha256(source_of(item.func)[0].encode()).digest()


def _build(kernel: Kernel, place: int) -> None:
    if not kernel.is_generic:
        kernel.native().build([], 1, place)


def build_jobs(modules: Iterable[Module], places: Iterable[int]) -> list[Callable[[], None]]:
    """What has to be compiled: one job per device and kernel whose types are known."""
    places = list(places)
    jobs: list[Callable[[], None]] = []
    for module in modules:
        for kernel in module.live_kernels:
            for one in (kernel, *kernel.overloads.values()):
                jobs += [lambda one=one, place=place: _build(one, place) for place in places]  # type: ignore[misc]
    return jobs


def run_all(jobs: list[Callable[[], None]], workers: int = 1) -> None:
    """Runs all jobs; what failed is raised at the end: one error as it is, several as one with all their words."""
    errors: list[Exception] = []

    def attempt(job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:  # noqa: BLE001 - raised below
            errors.append(error)

    if workers <= 1:
        while jobs:
            attempt(jobs.pop(0))
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(attempt, jobs))
        jobs.clear()  # who keeps an error keeps no kernel
    if errors:
        first = errors[0].with_traceback(None)
        texts = list(dict.fromkeys(str(error) for error in errors))
        errors.clear()
        raise first if len(texts) == 1 else type(first)("\n\n".join(texts))


_modules: dict[str, Module] = {}


def get_module(name: str) -> Module:
    """The module of that name, made on first use."""
    module = _modules.get(name)
    if module is None:
        module = _modules[name] = Module(name)
    return module
