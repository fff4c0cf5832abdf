"""Modules, kernels, functions and launching: what the decorators make and what `wp.launch` runs."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import linecache
import re
import textwrap
import typing

from warp import _weft
from warp._src import config, settings
from warp._src.device import get_device
from warp._src.resolver import FunctionResolver, describe

_counter = itertools.count()


def _source_of(func: typing.Callable) -> tuple[str, str, int]:
    """Text, file and first line of a Python function; from linecache for code that was exec'ed or typed in."""
    code = func.__code__
    given = getattr(func, "_wp_source_", None)
    if given is not None:
        return given, code.co_filename, 1
    try:
        linecache.checkcache(code.co_filename)
        lines, first = inspect.getsourcelines(func)
    except (OSError, TypeError) as error:
        raise RuntimeError(
            f"the source text of '{func.__qualname__}' can't be found (defined in {code.co_filename}); define it in a "
            "file or notebook cell, or register the text with linecache"
        ) from error
    return "".join(lines), code.co_filename, max(first, 1)


def _key_of(func: typing.Callable) -> str:
    return re.sub(r"[.<>]", "_", func.__qualname__)


def _check_function(func: typing.Callable, what: str) -> None:
    if not inspect.isfunction(func):
        raise TypeError(f"@wp.{what} decorates a function, not {type(func).__name__}")
    if func.__name__ == "<lambda>":
        raise RuntimeError(f"a lambda can't be a {what}; write a def")


def _native_function(func: typing.Callable, key: str) -> _weft.Function:
    """Parses a function's text. Annotations that are objects already (not text) are answered by the resolver."""
    source, file, first_line = _source_of(func)
    annotations = {}
    for name, annotation in func.__annotations__.items():
        if name != "return" and not isinstance(annotation, str):
            answer = describe(annotation)
            if answer is not None and answer[0] in ("type", "generic", "generic_array"):
                annotations[name] = answer
    unique = f"{key}#{next(_counter)}"
    return _weft.make_function(source, file, first_line, func.__name__, FunctionResolver(func), unique, annotations)


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
        get_device(device)
        for kernel in list(self.kernels.values()):
            if not kernel.is_generic:
                kernel.native().build([])
        return True

    def unload(self) -> None:
        """Forgets compiled code; kernels compile again when launched."""
        for kernel in self.kernels.values():
            kernel.forget()

    def mark_modified(self) -> None:
        self.unload()

    def hash_module(self) -> bytes:
        """A hash of the module's sources and options."""
        digest = hashlib.sha256()
        for key, item in sorted({**self.functions, **self.kernels}.items()):
            digest.update(key.encode())
            digest.update(_source_of(item.func)[0].encode())
        digest.update(repr(sorted(self.options.items())).encode())
        return digest.digest()

    def get_kernel_hash(self, kernel: Kernel) -> bytes:
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
        digest = hashlib.sha256((source + closure).encode()).hexdigest()[:8]
        return Module(f"{key}_{digest}"), key
    if isinstance(module, Module):
        return module, key
    if isinstance(module, str):
        return get_module(module), key
    return get_module(func.__module__), key


class Function:
    """A `@wp.func`: callable in kernels, and in Python, where its body runs as it stands."""

    def __init__(self, func: typing.Callable, key: str, module: Module, others: typing.Sequence[Function] = ()):
        self.func = func
        self.key = key
        self.module = module
        self.others = list(others)
        self.grad_func = None
        self.replay_func = None
        self._native: _weft.Function | None = None
        functools.update_wrapper(self, func)

    @property
    def overloads(self) -> list[Function]:
        """All functions of this name, newest last."""
        return [*self.others, self]

    def native(self) -> _weft.Function:
        if self._native is None:
            self._native = _native_function(self.func, self.key)
        return self._native

    def native_overloads(self) -> list[_weft.Function]:
        return [f.native() for f in self.overloads]

    def __call__(self, *args: object, **kwargs: object) -> object:
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

    def __repr__(self) -> str:
        return f"<warp function {self.key}>"


class Kernel:
    """A `@wp.kernel`. Launch it with `wp.launch`."""

    def __init__(self, func: typing.Callable, key: str | None = None, module: Module | None = None, options: dict | None = None):
        self.func = func
        self.key = key or _key_of(func)
        self.module = module or get_module(func.__module__)
        self.options = dict(options or {})
        self._function: _weft.Function | None = None
        self._natives: dict[tuple, _weft.Kernel] = {}
        self._current: _weft.Kernel | None = None
        self._epoch = -1
        functools.update_wrapper(self, func)
        missing = [p for p in inspect.signature(func).parameters if p not in func.__annotations__]
        if missing:
            raise settings.codegen_error(
                f'Error while parsing function "{self.key}": the argument {missing[0]!r} has no type annotation; write '
                f"e.g. {missing[0]}: float"
            )

    def native(self) -> _weft.Kernel:
        """The compiled kernel for the settings of now."""
        if self._epoch == settings.epoch:
            return self._current
        if self._function is None:
            self._function = _native_function(self.func, self.key)
        options = settings.compile_options({**self.module.options, **self.options})
        key = tuple(sorted(options.items()))
        kernel = self._natives.get(key)
        if kernel is None:
            kernel = self._natives[key] = _weft.Kernel(self._function, options)
        self._current, self._epoch = kernel, settings.epoch
        return kernel

    def forget(self) -> None:
        self._natives.clear()
        self._function = None
        self._epoch = -1

    @property
    def is_generic(self) -> bool:
        """True if some parameter's type is only known at launch."""
        return any(p[1] is None for p in self.native().params())

    @property
    def params(self) -> list[str]:
        return list(inspect.signature(self.func).parameters)

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"kernel '{self.key}' can't be called; run it with wp.launch({self.key}, dim=…, inputs=[…])")

    def __repr__(self) -> str:
        return f"<warp kernel {self.key}>"


def func(f: typing.Callable | None = None, *, name: str | None = None, module: object = None) -> typing.Any:
    """Makes a function callable from kernels."""

    def wrap(f: typing.Callable) -> Function:
        _check_function(f, "func")
        key = name or _key_of(f)
        target, key = _module_for(f, module, key)
        others: list[Function] = []
        earlier = target.functions.get(key)
        if earlier is not None and "<locals>" not in f.__qualname__:
            same = list(f.__annotations__.values())
            others = [o for o in earlier.overloads if list(o.func.__annotations__.values()) != same]
        made = Function(f, key, target, others)
        target.functions[key] = made
        return made

    return wrap if f is None else wrap(f)


def kernel(
    f: typing.Callable | None = None, *, enable_backward: bool | None = None, module: object = None, **options: object
) -> typing.Any:
    """Makes a function a kernel."""

    def wrap(f: typing.Callable) -> Kernel:
        _check_function(f, "kernel")
        key = _key_of(f)
        target, key = _module_for(f, module, key)
        given = dict(options)
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


class Launch:
    """A launch with its arguments packed once; change some, then `launch()` again."""

    def __init__(self, kernel: Kernel, recorded: _weft.RecordedLaunch):
        self.kernel = kernel
        self._recorded = recorded

    @property
    def dim(self) -> tuple[int, ...]:
        return self._recorded.dim

    def set_dim(self, dim: object) -> None:
        self._recorded.set_dim(dim)

    def set_param_at_index(self, index: int, value: object, adjoint: bool = False) -> None:
        if not 0 <= index < len(self.kernel.params):
            raise IndexError(f"kernel '{self.kernel.key}' has no parameter {index}")
        self._recorded.set_param(index, value)

    def set_param_by_name(self, name: str, value: object, adjoint: bool = False) -> None:
        if name not in self.kernel.params:
            raise ValueError(f"kernel '{self.kernel.key}' has no parameter '{name}'")
        self._recorded.set_param(self.kernel.params.index(name), value)

    def set_params(self, values: typing.Sequence[object]) -> None:
        for index, value in enumerate(values):
            self.set_param_at_index(index, value)

    def launch(self, stream: object = None) -> None:
        self._recorded.launch()


def _dim_of_first_array(args: typing.Iterable[object]) -> tuple[int, ...]:
    for arg in args:
        if isinstance(arg, _weft.Array):
            return arg.shape
        shape = getattr(arg, "shape", None)
        if isinstance(shape, tuple):
            return shape
    raise ValueError("wp.launch needs dim=: there is no array argument to take it from")


def launch(
    kernel: Kernel,
    dim: object = None,
    inputs: typing.Sequence[object] = (),
    outputs: typing.Sequence[object] = (),
    adj_inputs: typing.Sequence[object] = (),
    adj_outputs: typing.Sequence[object] = (),
    device: object = None,
    stream: object = None,
    adjoint: bool = False,
    record_tape: bool = True,
    record_cmd: bool = False,
    max_blocks: int = 0,
    block_dim: int | None = None,
) -> Launch | None:
    """Runs a kernel over a grid of 1 to 4 dimensions; on the CPU it is done when this returns."""
    if not isinstance(kernel, Kernel):
        raise RuntimeError(f"wp.launch runs kernels (functions decorated with @wp.kernel), not {kernel!r}")
    if device is not None:
        get_device(device)
    if adjoint:
        raise NotImplementedError("adjoint launches are not part of this version yet")
    native = kernel._current if kernel._epoch == settings.epoch else kernel.native()
    if dim is None:
        dim = _dim_of_first_array([*inputs, *outputs])
    if record_cmd:
        return Launch(kernel, native.record(dim, inputs, outputs, settings.serial()))
    if config.print_launches:
        print(f"kernel: {kernel.key} dim {dim} inputs {len(inputs)} outputs {len(outputs)}")
    native.launch(dim, inputs, outputs, config.cpu_threads == 1, config.cpu_threads)
    return None


def force_load(device: object = None, modules: typing.Sequence[Module] | None = None, block_dim: int | None = None) -> None:
    """Compiles the kernels of these modules (all, if none are named) now."""
    for module in modules if modules is not None else list(_modules.values()):
        module.load(device)


def load_module(module: object = None, device: object = None, recursive: bool = False, block_dim: int | None = None) -> None:
    """Compiles a module's kernels now; `module` is a Python module, its name, or None for the caller's."""
    if module is None:
        module = inspect.currentframe().f_back.f_globals["__name__"]
    name = module.__name__ if inspect.ismodule(module) else module.name if isinstance(module, Module) else str(module)
    for other in list(_modules.values()):
        if other.name == name or (recursive and other.name.startswith(name + ".")):
            other.load(device)


def set_module_options(options: dict[str, object], module: object = None) -> None:
    """Options for the kernels of a module: enable_backward, max_unroll, mode, fast_math, fuse_fp…"""
    if module is None:
        module = inspect.currentframe().f_back.f_globals["__name__"]
    target = get_module(module.__name__ if inspect.ismodule(module) else str(module))
    target.options.update(options)
    settings.bump()


def get_module_options(module: object = None) -> dict[str, object]:
    """The options of a module."""
    if module is None:
        module = inspect.currentframe().f_back.f_globals["__name__"]
    return get_module(module.__name__ if inspect.ismodule(module) else str(module)).options


def static(expr: object) -> object:
    """In kernels: an expression evaluated when the kernel is compiled. In Python: its argument."""
    return expr


def kernel_from_text(source: str, name: str, namespace: dict[str, object]) -> Kernel:
    """A kernel from source text, its names looked up in `namespace`."""
    namespace = dict(namespace)
    file = f"<kernel {name} {next(_counter)}>"
    source = textwrap.dedent(source)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), namespace)  # noqa: S102 - the caller's own code
    made = namespace[name]
    return made if isinstance(made, Kernel) else kernel(made)
