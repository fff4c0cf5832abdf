"""Modules, kernels and functions: what the decorators make of a program's text."""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import re
import sys
import textwrap
import typing
import weakref

from warp import _weft
from warp._src.devices.device import get_device
from warp._src.kernels import compile_ahead
from warp._src.kernels.resolver import FunctionResolver, describe, known_annotations
from warp._src.kernels.source_text import source_of as _source_of
from warp._src.session import config, kernel_options, settings

_counter = itertools.count()


def _key_of(func: typing.Callable) -> str:
    return re.sub(r"[.<>]", "_", func.__qualname__)


def _check_function(func: typing.Callable, what: str) -> None:
    if not inspect.isfunction(func):
        raise TypeError(f"@wp.{what} decorates a function, not {type(func).__name__}")
    if func.__name__ == "<lambda>":
        raise RuntimeError(f"a lambda can't be a {what}; write a def")


def _native_function(func: typing.Callable, key: str, resolver: FunctionResolver, snippet: str = "") -> _weft.Function:
    """Parses a function's text. Annotations that are objects already (not text) are answered by the resolver."""
    annotations = known_annotations(func)
    unique = f"{key}#{next(_counter)}"
    native = (snippet,) if snippet else ()

    def make(source: str, file: str, first_line: int) -> _weft.Function:
        return _weft.make_function(source, file, first_line, func.__code__.co_name, resolver, unique, annotations, *native)

    text = _source_of(func)
    try:
        return make(*text)
    except Exception:
        exact = _source_of(func, exact=True)
        if exact == text:
            raise
    return make(*exact)


class Module:
    """The kernels, functions and structs of one Python module (or of one kernel, for module="unique")."""

    def __init__(self, name: str):
        self.name = name
        self.kernels: dict[str, Kernel] = {}
        self.functions: dict[str, Function] = {}
        self.structs: dict[str, type] = {}
        self.options: dict[str, object] = {}

    def load(self, device: object = None, block_dim: int | None = None) -> bool:
        """Compiles every kernel that needs no argument types."""
        place = get_device(device).ordinal
        for kernel in list(self.kernels.values()):
            if not kernel.is_generic:
                kernel.native().build([], 1, place)
        return True

    def unload(self) -> None:
        """Forgets compiled code; kernels compile again when launched."""
        for kernel in self.kernels.values():
            kernel.forget()

    def mark_modified(self) -> None:
        """Says that the module changed: its kernels compile again when launched."""
        self.unload()

    def hash_module(self) -> bytes:
        """A hash of the module's sources and options."""
        import hashlib

        digest = hashlib.sha256()
        for key, item in sorted({**self.functions, **self.kernels}.items()):
            digest.update(key.encode())
            digest.update(_source_of(item.func)[0].encode())
            for custom in (getattr(item, "grad_func", None), getattr(item, "replay_func", None)):
                if custom is not None:
                    digest.update(_source_of(custom.func)[0].encode())
        digest.update(repr(sorted(self.options.items())).encode())
        return digest.digest()

    def get_kernel_hash(self, kernel: Kernel) -> bytes:
        import hashlib

        return hashlib.sha256(_source_of(kernel.func)[0].encode()).digest()

    def __repr__(self) -> str:
        return f"<warp module {self.name}>"


_modules: dict[str, Module] = {}


def get_module(name: str) -> Module:
    """The module of that name, made on first use."""
    module = _modules.get(name)
    if module is None:
        module = _modules[name] = Module(name)
    return module


def _module_for(func: typing.Callable, module: object, key: str) -> tuple[Module, str]:
    if module == "unique":
        source = _source_of(func)[0]
        closure = repr(sorted((k, repr(v)) for k, v in FunctionResolver(func).closure().items()))
        import hashlib

        digest = hashlib.sha256((source + closure).encode()).hexdigest()[:8]
        return Module(f"{key}_{digest}"), key
    if isinstance(module, Module):
        return module, key
    if isinstance(module, str):
        return get_module(module), key
    return get_module(func.__module__ or "__main__"), key


class Function:
    """A `@wp.func`: callable in kernels, and in Python, where its body runs as it stands."""

    def __init__(self, func: typing.Callable, key: str, module: Module, others: typing.Sequence[Function] = ()):
        self.func = func
        self.key = key
        self.module = module
        self.others = list(others)
        self.grad_func: Function | None = None  # these five: custom_functions.py
        self.replay_func: Function | None = None
        self.native_snippet: str | None = None
        self.adj_native_snippet: str | None = None
        self.replay_snippet: str | None = None
        self._native: _weft.Function | None = None
        self._resolver = FunctionResolver(func)
        functools.update_wrapper(self, func)

    @property
    def overloads(self) -> list[Function]:
        """All functions of this name, newest last."""
        return [*self.others, self]

    def native(self) -> _weft.Function:
        if self._native is None:
            made = _native_function(self.func, self.key, self._resolver, self.native_snippet or "")
            self._native = made  # first: a gradient may refer to the function itself
            if self.grad_func or self.replay_func or self.adj_native_snippet or self.replay_snippet:
                made.set_custom(
                    self.grad_func.native() if self.grad_func else None,
                    self.replay_func.native() if self.replay_func else None,
                    self.adj_native_snippet or "",
                    self.replay_snippet or "",
                )
        return self._native

    def customize(self, grad_func: Function | None = None, replay_func: Function | None = None) -> None:
        """Gives the function a gradient or replay of its own; kernels that call it look again."""
        self.grad_func = grad_func or self.grad_func
        self.replay_func = replay_func or self.replay_func
        self._native = None
        settings.bump()

    def _wp_answer_(self) -> tuple:
        """What the compiler is told of a name that means this function."""
        return ("functions", self.native_overloads())

    def native_overloads(self) -> list[_weft.Function]:
        return [f.native() for f in self.overloads]

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self.native_snippet is not None:
            raise RuntimeError(f"the native function '{self.key}' can only be called in kernels")
        for candidate in reversed(self.overloads):
            try:
                bound = inspect.signature(candidate.func).bind(*args, **kwargs)
            except TypeError:
                continue
            if candidate._accepts(bound.arguments):
                return candidate.func(*args, **kwargs)
        if not self.others:
            inspect.signature(self.func).bind(*args, **kwargs)  # raises with Python's own words
        names = ", ".join(type(a).__name__ for a in args)
        raise RuntimeError(f"Couldn't find a function '{self.key}' compatible with the arguments ({names})")

    def _accepts(self, arguments: dict[str, object]) -> bool:
        for name, value in arguments.items():
            annotation = self.func.__annotations__.get(name)
            if isinstance(annotation, str) or annotation is None:
                continue
            known = describe(annotation)
            if known is None or known[0] != "type":
                continue
            kind, scalar = known[1].kind, known[1].scalar
            if kind == "scalar" and isinstance(value, (int, float)):
                if isinstance(value, float) and not scalar.startswith("float") and not scalar.startswith("bfloat"):
                    return False
                continue
            given = getattr(value, "_wp_type_", None)
            if given is not None and given != known[1]:
                return False
        return True

    def __reduce__(self) -> str:
        return self.func.__qualname__  # pickled by name, as Python's functions are

    def __repr__(self) -> str:
        return f"<warp function {self.key}>"


class Kernel(_weft.KernelHandle):
    """A `@wp.kernel`. Launch it with `wp.launch`."""

    def __init__(
        self,
        func: typing.Callable,
        key: str | None = None,
        module: Module | None = None,
        options: dict | None = None,
    ):
        super().__init__()
        self.func = func
        self.key = key or _key_of(func)
        self.module = module or get_module(func.__module__ or "__main__")
        self.options = dict(options or {})
        self._function: _weft.Function | None = None
        self._resolver = FunctionResolver(func)  # lives as long as any compiled form may ask it
        self._natives: dict[tuple, _weft.Kernel] = {}
        self._current: _weft.Kernel | None = None
        self._tangent: Kernel | None = None
        functools.update_wrapper(self, func)
        code = func.__code__
        self._params = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        missing = [p for p in self._params if p not in func.__annotations__]
        if missing:
            raise settings.codegen_error(
                f'Error while parsing function "{self.key}": the argument {missing[0]!r} has no type annotation; write '
                f"e.g. {missing[0]}: float"
            )

    def native(self) -> _weft.Kernel:
        """The compiled kernel for the settings of now."""
        current = self._current
        return current if current is not None and self._epoch == settings.epoch else self._refresh()

    def _refresh(self) -> _weft.Kernel:
        """Chooses the compiled kernel for the settings of now; `wp.launch` asks for it when they have changed."""
        if self._current is None:
            compile_ahead.wanted(self)
        epoch = settings.epoch
        kernel = self._current = self.prepare()
        self._use(kernel, epoch, self._backward())
        return kernel

    def prepare(self) -> _weft.Kernel:
        """The kernel for the settings of now, parsed; its forms are compiled when they are launched."""
        function = self._function  # another thread may forget it meanwhile
        if function is None:
            function = self._function = _native_function(self.func, self.key, self._resolver)
        options = self._compile_options()
        key = tuple(sorted(options.items()))
        kernel = self._natives.get(key)
        if kernel is None or not kernel.unchanged():
            given = "" if self.key == _key_of(self.func) else self.key  # @wp.kernel(name=…)
            kernel = self._natives[key] = _weft.Kernel(function, options, name=given)
        return kernel

    def _compile_options(self) -> dict[str, typing.Any]:
        return settings.compile_options({**self.module.options, **self.options})

    @property
    def tangent(self) -> Kernel:
        """The kernel with its derivative in a direction: behind its own parameters there is a tangent for each."""
        if self._tangent is None:
            self.native()
            made = _TangentKernel(self.func, self.key, self.module, self.options)
            made._function, made._resolver = self._function, self._resolver  # the text may be gone by now
            self._tangent = made
        return self._tangent

    def _backward(self) -> bool:
        """Whether tapes differentiate it."""
        own = self.options.get("enable_backward", self.module.options.get("enable_backward"))
        return bool(config.enable_backward if own is None else own)

    def forget(self) -> None:
        """Drops all compiled forms; the next launch compiles again."""
        self._natives.clear()
        self._function = self._current = self._tangent = None
        self._use(None)

    def _wp_answer_(self) -> tuple:
        """What the compiler is told of a name that means this kernel."""
        return ("other", f"the kernel '{self.key}'")

    @property
    def is_generic(self) -> bool:
        """True if some parameter's type is only known at launch."""
        return any(p[1] is None for p in self.native().params())

    @property
    def params(self) -> list[str]:
        """Names of the parameters, in order."""
        return self._params

    def __call__(self, *args: object, **kwargs: object) -> None:
        cure = f"run it with wp.launch({self.key}, dim=…, inputs=[…])"
        raise NotImplementedError(f"kernel '{self.key}' can't be called; {cure}")

    def __reduce__(self) -> str:
        return self.func.__qualname__  # pickled by name, as Python's functions are

    def __repr__(self) -> str:
        return f"<warp kernel {self.key}>"


class _TangentKernel(Kernel):
    """See Kernel.tangent."""

    def _compile_options(self) -> dict[str, typing.Any]:
        return {**super()._compile_options(), "tangent": True}


def func(
    f: typing.Callable | None = None, *, name: str | None = None, module: object = None, lanewise: bool = False
) -> typing.Any:
    """Makes a function callable from kernels.

    `lanewise=True`, which the compiler reads from the text, has it run for one thread at a time on CPUs, too, where
    threads would each go another way (walks over trees); results are the same.
    """

    def wrap(f: typing.Callable) -> Function:
        _check_function(f, "func")
        key = name or _key_of(f)
        target, key = _module_for(f, module, key)
        others: list[Function] = []
        earlier = target.functions.get(key)
        if earlier is not None and "<locals>" not in f.__qualname__:
            same = list(f.__annotations__.values())
            others = [o for o in earlier.overloads if list(o.func.__annotations__.values()) != same]
            settings.bump()  # kernels that call it look again
        made = Function(f, key, target, others)
        target.functions[key] = made
        return made

    return wrap if f is None else wrap(f)


def kernel(
    f: typing.Callable | None = None,
    *,
    name: str | None = None,
    enable_backward: bool | None = None,
    module: object = None,
    **options: object,
) -> typing.Any:
    """Makes a function a kernel."""
    given = kernel_options.checked(options) if options else {}

    def wrap(f: typing.Callable) -> Kernel:
        _check_function(f, "kernel")
        target, key = _module_for(f, module, name or _key_of(f))
        if enable_backward is not None:
            given["enable_backward"] = enable_backward
        made = Kernel(f, key, target, given)
        target.kernels[key] = made
        return made

    return wrap if f is None else wrap(f)


def overload(kernel: Kernel | typing.Callable, arg_types: object = None) -> typing.Any:
    """Makes an instance of a generic kernel for these types ahead of its launch."""
    if not isinstance(kernel, Kernel):  # @wp.overload on a def … : ...
        target = get_module(kernel.__module__).kernels.get(_key_of(kernel))
        if target is None:
            raise RuntimeError(f"there is no generic kernel '{kernel.__name__}' to overload")
        return overload(target, dict(kernel.__annotations__))
    names = kernel.params
    if isinstance(arg_types, dict):
        given = [arg_types.get(n, kernel.func.__annotations__[n]) for n in names]
    else:
        given = list(arg_types or [])
    if len(given) != len(names):
        raise RuntimeError(f"kernel '{kernel.key}' takes {len(names)} argument types, got {len(given)}")
    handles = []
    for name, annotation in zip(names, given):
        known = describe(annotation)
        if known is None or known[0] != "type":
            raise RuntimeError(f"the type of argument '{name}' is not concrete: {annotation!r}")
        handles.append(known[1])
    kernel.native().build(handles)
    return kernel


def static(expr: object) -> object:
    """In kernels: an expression evaluated when the kernel is compiled. In Python: its argument."""
    return expr


def kernel_from_text(source: str, name: str, namespace: dict[str, object] | None = None) -> Kernel:
    """A kernel from source text, its names looked up in `namespace`; by itself that is `wp` and `Any`."""
    namespace = {"wp": sys.modules["warp"], "Any": typing.Any} if namespace is None else dict(namespace)
    file = f"<kernel {name} {next(_counter)}>"
    source = textwrap.dedent(source)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    try:
        exec(compile(source, file, "exec"), namespace)  # noqa: S102 - the caller's own code
        made = namespace[name]
        made = made if isinstance(made, Kernel) else kernel(made)
    except BaseException:
        linecache.cache.pop(file, None)
        raise
    weakref.finalize(made, linecache.cache.pop, file, None).atexit = False  # the text goes with its kernel
    return made
