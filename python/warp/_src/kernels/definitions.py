"""Kernels and functions: what the decorators make of a program's text."""

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
from warp._src.kernels.annotations import annotations_of, enclosing_names
from warp._src.kernels.modules import Module, get_module
from warp._src.kernels.resolver import FunctionResolver, describe, known_annotations
from warp._src.kernels.source_text import keep_text, name_in_text
from warp._src.kernels.source_text import source_of as _source_of
from warp._src.session import config, kernel_options, settings

_counter = itertools.count()
_FEWEST_COMPILED_AHEAD = 3  # kernels of a module; with fewer, there is nothing behind the two that have to be compiled


def make_full_qualified_name(func: typing.Callable | str) -> str:
    """The key of a function: its qualified name with two underscores for each dot, without other signs."""
    key = (func if isinstance(func, str) else func.__qualname__).replace(".", "__")
    return key if key.isascii() and key.isidentifier() else re.sub(r"\W", "", key)


_key_of = make_full_qualified_name


def _check_function(func: typing.Callable, what: str) -> None:
    if not inspect.isfunction(func):
        raise TypeError(f"@wp.{what} decorates a function, not {type(func).__name__}")
    if func.__name__ == "<lambda>":
        raise RuntimeError(f"a lambda can't be a {what}; write a def")


def _native_function(
    func: typing.Callable,
    key: str,
    resolver: FunctionResolver,
    snippet: str = "",
    types: dict[str, tuple] | None = None,
) -> _weft.Function:
    """Parses a function's text. Annotations that are objects already (not text) are answered by the resolver; `types` stand
    for those of parameters."""
    annotations = {**known_annotations(func), **(types or {})}
    unique = f"{key}#{next(_counter)}"
    native = (snippet,) if snippet else ()

    def make(source: str, file: str, first_line: int) -> _weft.Function:
        return _weft.make_function(source, file, first_line, name_in_text(func), resolver, unique, annotations, *native)

    text = _source_of(func)
    try:
        return make(*text)
    except Exception:
        exact = _source_of(func, exact=True)
        if exact == text:
            raise
    return make(*exact)


def _module_for(func: typing.Callable, module: object, key: str, options: object = ()) -> tuple[Module, str]:
    if module == "unique":
        source = _source_of(func)[0]
        closure = repr(sorted((k, repr(v)) for k, v in FunctionResolver(func).closure().items()))
        import hashlib

        digest = hashlib.sha256((source + closure + repr(options)).encode()).hexdigest()[:8]
        return Module(f"{key}_{digest}"), key
    if isinstance(module, Module):
        return module, key
    if isinstance(module, str):
        return get_module(module), key
    return get_module(func.__module__ or "__main__"), key


_last_key: tuple[dict, tuple] = ({}, ())


def _key_of_options(options: dict[str, typing.Any]) -> tuple:
    """Options as a key; most kernels have one and the same dictionary."""
    global _last_key
    known = _last_key
    if known[0] is not options:
        known = _last_key = options, tuple(sorted(options.items()))
    return known[1]


class Function(_weft.FunctionCalls):
    """A `@wp.func`: callable in kernels, and in Python, where its body runs as it stands."""

    _call_form: typing.Any = None  # python_calls.CallForm, once it was called from Python
    _chosen: dict[tuple, typing.Callable] = {}  # what calls by position meant, by the classes of their values

    def __init__(self, func: typing.Callable, key: str, module: Module, others: typing.Sequence[Function] = ()):
        super().__init__()
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
        keep_text(func)

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

    def parsed(self) -> _weft.Function:
        """The function's text, parsed."""
        return self.native()

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

    def _call_rarely(self, *args: object, **kwargs: object) -> object:
        """Calls of which `_chosen` knows nothing; the others are made in C++ (src/bind/function_calls.cpp)."""
        if self.native_snippet is not None:
            raise RuntimeError(f"the native function '{self.key}' can only be called in kernels")
        from warp._src.kernels.python_calls import choose

        return choose(self, args, kwargs)(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.func.__qualname__  # pickled by name, as Python's functions are

    def __repr__(self) -> str:
        return f"<warp function {self.key}>"


class Kernel(_weft.KernelHandle):
    """A `@wp.kernel`. Launch it with `wp.launch`."""

    overloads: typing.Mapping[str, Kernel] = {}
    """Instances of a generic kernel that `wp.overload` made, by their types."""
    generic_parent: Kernel | None = None
    """The generic kernel of which it is an instance."""
    _types: dict[str, tuple] | None = None  # of an overload: those of its parameters, for the compiler
    _annotations: dict[str, typing.Any] | None = None  # and as they were given

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
        self._doubled: dict[str, Kernel] = {}
        functools.update_wrapper(self, func)
        keep_text(func)
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
            self._begin_neighbours()
        epoch = settings.epoch
        kernel = self._current = self.prepare()
        self._use(kernel, epoch, self._backward(), "enable_backward" not in self.options)
        return kernel

    def _begin_neighbours(self) -> None:
        """Has the kernels behind this one compiled by idle cores, where those of its module have to be."""
        if config.compile_ahead and self.module.kernel_count >= _FEWEST_COMPILED_AHEAD and self.module._note_first_launch():
            from warp._src.kernels import compile_ahead

            compile_ahead.wanted(self)

    def prepare(self) -> _weft.Kernel:
        """The kernel for the settings of now, parsed; its forms are compiled when they are launched."""
        function = self.parsed()
        options = self._compile_options()
        key = _key_of_options(options)
        kernel = self._natives.get(key)
        if kernel is None or not kernel.unchanged():
            given = "" if self.key == _key_of(self.func) else self.key  # @wp.kernel(name=…)
            kernel = self._natives[key] = _weft.Kernel(function, options, name=given)
        return kernel

    def parsed(self) -> _weft.Function:
        """The kernel's text, parsed."""
        function = self._function  # another thread may forget it meanwhile
        if function is None:
            function = self._function = _native_function(self.func, self.key, self._resolver, types=self._types)
        return function

    def _compile_options(self) -> dict[str, typing.Any]:
        return settings.compile_options({**self.module.options.own, **self.options})

    @property
    def tangent(self) -> Kernel:
        """The kernel with its derivative in a direction: behind its own parameters there is a tangent for each."""
        return self._with_doubled_params("tangent")

    @property
    def _seeded(self) -> Kernel:
        """The kernel with an adjoint that is told, behind its own parameters, with what the adjoint of each begins."""
        return self._with_doubled_params("seeds")

    def _with_doubled_params(self, option: str) -> Kernel:
        made = self._doubled.get(option)
        if made is None:
            self.native()
            made = _DoubledKernel(self.func, self.key, self.module, self.options)
            made._function, made._resolver, made._types = self._function, self._resolver, self._types
            made._option, made._outer = option, self
            self._doubled[option] = made
        return made

    def _backward(self) -> bool:
        """Whether tapes differentiate it."""
        own = self.options.get("enable_backward", self.module.options.own.get("enable_backward"))
        return bool(config.enable_backward if own is None else own)

    def forget(self) -> None:
        """Drops all compiled forms; the next launch compiles again."""
        self._natives.clear()
        self._doubled.clear()
        self._function = self._current = None
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


class _DoubledKernel(Kernel):
    """See Kernel.tangent and Kernel._seeded."""

    _option: str
    _outer: Kernel

    def _compile_options(self) -> dict[str, typing.Any]:
        outer = self._outer._compile_options()
        return {**outer, self._option: outer.get("tangent", 0) + 1 if self._option == "tangent" else True}


def _declared_before(f: typing.Callable, key: str, module: Module) -> Function | None:
    """The function of this name that a new one joins: of the same module or, inside of a function, of the same call of it."""
    if "<locals>" not in f.__qualname__:
        return module.functions.get(key)
    earlier = enclosing_names(f, depth=2).get(f.__name__)
    return earlier if isinstance(earlier, Function) and earlier.key == key else None


def func(
    f: typing.Callable | None = None,
    *,
    name: str | None = None,
    module: object = None,
    lanewise: bool = False,
    inline: bool | None = None,
) -> typing.Any:
    """Makes a function callable from kernels.

    `lanewise=True`, which the compiler reads from the text, has it run for one thread at a time on CPUs, too, where
    threads would each go another way (walks over trees); results are the same. `inline` is a hint that the compiler does
    not need.
    """

    if inline is not None and not isinstance(inline, bool):
        raise TypeError(f"inline must be a bool or None, not {inline!r}")

    def wrap(f: typing.Callable) -> Function:
        _check_function(f, "func")
        key = name or _key_of(f)
        target, key = _module_for(f, module, key)
        others: list[Function] = []
        earlier = _declared_before(f, key, target)
        if earlier is not None:
            same = _signature_text(f)
            others = [o for o in earlier.overloads if _signature_text(o.func) != same]
            settings.bump()  # kernels that call it look again
        made = Function(f, key, target, others)
        target.functions[key] = made
        return made

    return wrap if f is None else wrap(f)


def _signature_text(f: typing.Callable) -> list[object]:
    """What tells overloads apart: their parameters' types, or the text that stands for them."""
    found: list[object] = []
    for name, annotation in annotations_of(f).items():
        if name != "return":
            found.append(annotation if annotation is None or isinstance(annotation, str) else describe(annotation))
    return found


def kernel(
    f: typing.Callable | None = None,
    *,
    name: str | None = None,
    enable_backward: bool | None = None,
    module: object = None,
    **options: object,
) -> typing.Any:
    """Makes a function a kernel.

    `module="unique"` gives it a module of its own, with `module_options` as its options. Further keywords are options of the
    kernel: launch_bounds, cuda_max_registers, cluster_dim, grid_stride, and those of modules.
    """
    given, of_module = kernel_options.checked(options) if options else ({}, {})

    def wrap(f: typing.Callable) -> Kernel:
        _check_function(f, "kernel")
        target, key = _module_for(f, module, name or _key_of(f), (enable_backward, given, of_module))
        own = dict(given)
        if module == "unique":
            target.options.update(of_module)
        else:
            own = {**of_module, **own}
        if enable_backward is not None:
            own["enable_backward"] = enable_backward
        made = Kernel(f, key, target, own)
        target.register_kernel(made, keep=module == "unique")
        return made

    return wrap if f is None else wrap(f)


def _overload_key(types: typing.Sequence[_weft.Type]) -> str:
    """What an instance of a generic kernel is known by: the types of its parameters."""
    return "_".join(t.name for t in types)


def _type_given(given: object) -> tuple | None:
    """The type that `wp.overload` is given: an annotation, or an array of that type."""
    if isinstance(given, _weft.Array) and given._valid:
        return ("type", _weft.type_array(given._element, given.ndim))
    return describe(given)


def overload(kernel: Kernel | typing.Callable, arg_types: object = None) -> typing.Any:
    """Makes an instance of a generic kernel for these types: a kernel of its own, which compiles when it is launched or its
    module is loaded. `arg_types` is a list, or a dictionary by the parameters' names, in which those that the kernel itself
    says may be left out. As a decorator of a function with the kernel's name, `@wp.overload def k(x: …): ...`, it adds
    the instance and gives the generic kernel back."""
    if not isinstance(kernel, Kernel):
        _check_function(kernel, "overload")
        names = enclosing_names(kernel)
        generic = names.get(kernel.__name__)
        if not isinstance(generic, Kernel):
            generic = get_module(kernel.__module__).kernels.get(_key_of(kernel))
        if generic is None:
            raise RuntimeError(f"there is no generic kernel '{kernel.__name__}' to overload")
        given = annotations_of(kernel, names)
        given.pop("return", None)
        overload(generic, given)
        return generic
    own = annotations_of(kernel.func)
    if all((describe(own[name]) or ("",))[0] == "type" for name in kernel.params):
        raise RuntimeError(f"Only generic kernels can be overloaded. Kernel {kernel.key} is not generic")
    if isinstance(arg_types, typing.Mapping):
        unknown = [name for name in arg_types if name not in kernel.params]
        if unknown:
            raise RuntimeError(f"Invalid argument name '{unknown[0]}' in overload of kernel {kernel.key}")
        types = {name: arg_types.get(name, own[name]) for name in kernel.params}
    else:
        types = dict(zip(kernel.params, arg_types or ()))  # type: ignore[call-overload]
        count = len(arg_types or ())  # type: ignore[arg-type]
        if count != len(kernel.params):
            takes = f"it takes {len(kernel.params)} argument types, got {count}"
            raise RuntimeError(f"Invalid number of arguments for kernel {kernel.key}: {takes}")
    answers = {name: _type_given(annotation) for name, annotation in types.items()}
    for name, answer in answers.items():
        if answer is None or answer[0] != "type":
            raise TypeError(f"Kernel {kernel.key} argument '{name}' cannot be generic, got {types[name]!r}")
    key = _overload_key([answer[1] for answer in answers.values()])  # type: ignore[index]
    made = kernel.overloads.get(key)
    if made is None:
        made = Kernel(kernel.func, kernel.key, kernel.module, kernel.options)
        made._types, made.generic_parent, made._resolver = answers, kernel, kernel._resolver
        made._annotations = types
        kernel.overloads = {**kernel.overloads, key: made}
    return made


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
