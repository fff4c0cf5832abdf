"""What programs ask of functions, kernels and modules beside calling and launching them: overloads, hashes, names.

They are added to the classes of `definitions.py`, which hold the state (classes of the extension take no second base).
"""

from __future__ import annotations

import inspect
from typing import Any, Mapping, NamedTuple, Sequence

from warp import _weft
from warp._src.arrays.array import array
from warp._src.kernels import definitions
from warp._src.kernels.annotations import annotations_of
from warp._src.kernels.resolver import describe
from warp._src.session.kernel_options import MODULE_OPTIONS
from warp._src.values import types as wt


def _annotations(func: Any) -> dict[str, Any]:
    """Parameter names and what they are annotated with; text that can't be evaluated stays text."""
    known = annotations_of(func)
    known.pop("return", None)
    return known


class Parameter:
    """A parameter of a kernel or function: its name and its type."""

    __slots__ = ("label", "type")

    def __init__(self, label: str, type: Any) -> None:
        self.label = label
        self.type = type

    def __repr__(self) -> str:
        return f"{self.label}: {_type_text(self.type)}"


class Parameters:
    """`kernel.adj`: what a kernel or function takes."""

    def __init__(self, annotations: Mapping[str, Any]) -> None:
        self.args = [Parameter(name, _PYTHON_TYPES.get(t, t) if isinstance(t, type) else t) for name, t in annotations.items()]
        """Names and types of the parameters, in order; types of arrays have `dtype` and `ndim`."""


_PYTHON_TYPES: dict[Any, Any] = {bool: wt.bool, int: wt.int32, float: wt.float32}


def _type_text(annotation: Any) -> str:
    return wt.type_repr(annotation) if annotation is not None else "Any"


class _FunctionQuestions:
    """Of `wp.Function`."""

    func: Any
    key: str
    others: list
    grad_func: Any
    replay_func: Any
    _chosen: dict[tuple, Callable]

    @property
    def input_types(self) -> dict[str, Any]:
        """Parameter names and their annotated types."""
        return _annotations(self.func)

    @property
    def adj(self) -> Parameters:
        """The parameters: `adj.args` has their names (`label`) and types (`type`)."""
        return Parameters(_annotations(self.func))

    @property
    def custom_grad_func(self) -> Any:
        """The function that @wp.func_grad gave."""
        return self.grad_func

    @property
    def custom_replay_func(self) -> Any:
        """The function that @wp.func_replay gave."""
        return self.replay_func

    def is_builtin(self) -> bool:
        """False: built-in functions are of another class."""
        return False

    def is_simple(self) -> bool:
        """Whether there is one function of this name."""
        return not self.others

    def mangle(self, *template_args: Any) -> str:
        """A name that tells this overload from others."""
        return "_".join([self.key, *(_type_text(t).replace(" ", "") for t in self.input_types.values())])

    def add_overload(self, f: Any) -> None:
        """Adds a function that calls of this name may choose."""
        same = [o for o in self.others if o.mangle() == f.mangle()]
        self.others = [o for o in self.others if o not in same] + [f]
        self._chosen = {}

    def get_overload(self, arg_types: Sequence[Any], kwarg_types: Mapping[str, Any] | None = None) -> Any:
        """The function that a call with arguments of these types would choose, or None."""
        for candidate in reversed([*self.others, self]):
            try:
                bound = inspect.signature(candidate.func).bind(*arg_types, **(kwarg_types or {}))
            except TypeError:
                continue
            wanted = candidate.input_types
            if all(wt.types_equal(wanted[name], given, True) for name, given in bound.arguments.items()):
                return candidate
        return None

    def get_builtin(self, *args: Any, **kwargs: Any) -> Any:
        """RuntimeError: only built-in functions have built-in overloads."""
        raise RuntimeError(f"'{self.key}' is a user function, it has no built-in overload")

    def output_handles(self) -> list | None:
        """The types that the function returns, or None if its parameters don't tell."""
        handles = [wt.type_handle_or_none(annotation) for annotation in self.input_types.values()]
        if any(handle is None for handle in handles):
            return None
        return _weft.result_types(self.native(), handles)  # type: ignore[attr-defined]

    def build(self, builder: Any = None, default_builder_options: Any = None) -> None:
        """Parses the function now instead of when a kernel needs it."""
        self.native()  # type: ignore[attr-defined]


class _KernelQuestions:
    """Of `wp.Kernel`."""

    func: Any
    key: str
    module: Any
    options: dict
    params: list[str]
    overloads: dict
    _annotations: dict | None

    @property
    def adj(self) -> Parameters:
        """The parameters: `adj.args` has their names (`label`) and types (`type`)."""
        return Parameters(self._annotations or _annotations(self.func))

    @property
    def arg_indices(self) -> dict[str, int]:
        """Parameter names and their positions."""
        return {name: index for index, name in enumerate(self.params)}

    def infer_argument_types(self, args: Sequence[Any]) -> list[Any]:
        """The types of a kernel's parameters for these arguments; annotated ones are as annotated."""
        names = self.params
        if len(args) != len(names):
            raise RuntimeError(f"kernel '{self.key}' takes {len(names)} arguments, got {len(args)}")
        annotations = self._annotations or _annotations(self.func)
        found = []
        for name, arg in zip(names, args):
            known = describe(annotations[name])
            if known is not None and known[0] == "type":
                found.append(annotations[name])
            elif isinstance(arg, _weft.Array):
                found.append(array(dtype=arg.dtype, ndim=arg.ndim))
            else:
                handle = wt.type_handle_or_none(type(arg))
                if handle is None and isinstance(arg, (int, float)):  # a member of an IntEnum
                    handle = wt.type_handle(int if isinstance(arg, int) else float)
                found.append(wt.class_of(handle or wt.type_handle(type(arg))))
        return found

    def add_overload(self, arg_types: Any) -> Any:
        """The instance of a generic kernel for these types, made if there is none yet."""
        return definitions.overload(self, arg_types)

    def get_overload(self, arg_types: Any) -> Any:
        """The instance for these types, or None if there is none yet."""
        given = arg_types.values() if isinstance(arg_types, Mapping) else arg_types
        return self.overloads.get(definitions._overload_key([wt.type_handle(t) for t in given]))

    @property
    def hash(self) -> bytes:
        """A hash of what the kernel is compiled from."""
        return self.module.get_kernel_hash(self)

    def get_mangled_name(self, *, kernel_hash: bytes | None = None) -> str:
        """The key and the beginning of the hash."""
        return f"{self.key}_{(kernel_hash or self.hash).hex()[:8]}"


class KernelHooks(NamedTuple):
    """The compiled forms of a kernel."""

    forward: Any
    backward: Any = None


class _ModuleQuestions:
    """Of `wp.Module`."""

    name: str
    options: Any
    kernels: Any
    functions: dict
    structs: dict

    def resolve_options(self, config: Any, block_dim: int | None = None) -> dict[str, Any]:
        """All options in force: the module's own, and those of a configuration."""
        found = {name: getattr(config, name, None) for name in MODULE_OPTIONS}
        found.update({name: value for name, value in self.options.items() if name not in found})
        if block_dim is not None:
            found["block_dim"] = block_dim
        found.update({name: value for name, value in self.options.own.items() if value is not None})
        return found

    def get_module_hash(self, block_dim: int | None = None) -> bytes:
        """A hash of the module's sources and options."""
        return self.hash_module()  # type: ignore[attr-defined]

    def get_module_identifier(self, block_dim: int | None = None) -> str:
        """The module's name and the beginning of its hash."""
        return f"wp_{self.name.replace('.', '_')}_{self.get_module_hash().hex()[:7]}"

    def get_kernel_hooks(self, kernel: Any, device: Any = None) -> KernelHooks:
        """The compiled forms of a kernel."""
        return KernelHooks(kernel.native())

    def register_function(self, function: Any) -> None:
        """Makes a function part of the module."""
        self.functions[function.key] = function

    def register_struct(self, struct: Any) -> None:
        """Makes a struct part of the module."""
        self.structs[struct.key] = struct


for _target, _questions in (
    (definitions.Function, _FunctionQuestions),
    (definitions.Kernel, _KernelQuestions),
    (definitions.Module, _ModuleQuestions),
):
    for _name, _member in vars(_questions).items():
        if not _name.startswith("__") and _name not in vars(_target):
            setattr(_target, _name, _member)
