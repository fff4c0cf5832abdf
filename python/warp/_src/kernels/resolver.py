"""What a kernel's free names mean: the object behind the compiler's Scope.

`lookup` answers from closure variables and globals, in that order, with the tuples that `src/bind/functions.cpp` lists;
Python's builtins the compiler knows itself. A compile asks each question once (`src/bind/compile_session.h`).
"""

from __future__ import annotations

import enum
import opcode
import sys
import types as _pytypes
import typing
import weakref

from warp import _weft
from warp._src.arrays.array import array
from warp._src.kernels.annotations import annotations_of
from warp._src.values import types as wt
from warp._src.values.builtins import BuiltinFunction

_MISSING = object()


def _is_warp_module(value: object) -> bool:
    """Whether kernels find the language's own names in it: `warp`, and the paths that stand for it (module_paths.py)."""
    if not isinstance(value, _pytypes.ModuleType):
        return False
    return value.__name__ == "warp" or getattr(type(value), "_wp_stands_for_warp_", False)


_named_types: dict[type, tuple] = {}
"""Answers for scalars, vectors and the like, which programs name again and again."""


def describe(value: object) -> tuple | None:
    """The compiler's view of a Python object, or None when the compiler should look itself."""
    if type(value) is array:
        known = value.__dict__.get("_answer")  # of an annotation that was described before
        if known is not None:
            return known
    elif isinstance(value, type):
        known = _named_types.get(value)
        if known is not None:
            return known
    elif _is_warp_module(value):
        return ("warp",)
    elif type(value) is _pytypes.FunctionType and not value.__dict__:  # decorators of kernels, mostly
        return _unusable(value, f"the Python function '{value.__name__}'")
    own = getattr(type(value), "_wp_answer_", None)  # functions and kernels, which are built on this module
    if own is not None:
        answer = own(value)
        return (*answer, ObjectResolver(value)) if answer[0] == "functions" else answer
    if isinstance(value, BuiltinFunction):
        return ("builtin", value.key)
    name = getattr(value, "_wp_builtin_", None)
    if isinstance(name, str):
        return ("builtin", name)
    of = getattr(value, "_wp_grad_of_", None)
    if of is not None and not isinstance(value, type):
        return ("derivative", describe(of))
    if value is True or value is False:
        return ("bool", value)
    if isinstance(value, enum.Enum):
        known = describe(value.value)
        size = _ENTRIES.get(known[0]) if known else None
        return (*known[:size], EnumMemberResolver(value)) if known and size else known
    if isinstance(value, wt.ScalarBase):  # a Python number, too
        return ("typed", value._wp_type_, wt.value_bytes(value))
    if isinstance(value, int):
        return ("int", int(value))
    if isinstance(value, float):
        return ("float", float(value))
    if isinstance(value, str):
        return ("str", value)
    if value is typing.Any:
        return ("generic", "Any")
    if value in (wt.Scalar, wt.Float, wt.Int) if isinstance(value, type) else False:
        return ("generic", value.__name__)
    if value is typing.Callable:
        return ("generic", "Callable")
    kind_of_tile = getattr(type(value), "_wp_tile_", None)  # of wp.tile[…], whose module is loaded late
    if kind_of_tile == "tile":
        element = None if value.dtype is typing.Any else describe(value.dtype)
        return ("generic_tile", element, tuple(0 if n is typing.Any else int(n) for n in value.shape))
    if kind_of_tile == "stack":  # a function is compiled for each stack that it is called with
        return ("generic", "Any")
    annotation = array_annotation(value)
    if annotation is not None:
        return annotation
    if typing.get_origin(value) is tuple:  # a tuple inside a tuple of results
        given = typing.get_args(value)
        any_length = len(given) == 2 and given[1] is Ellipsis
        inner = [describe(one) for one in (given[:1] if any_length else given)]
        if all(answer is not None and answer[0] in _TYPE_ANSWERS for answer in inner):
            return ("tuple_of" if any_length else "tuple_type", *inner)
    if isinstance(value, type):
        handle = wt.type_handle_or_none(value)
        if handle is not None:
            if handle.kind != "struct":  # classes of structs come and go with the program's own
                _named_types[value] = ("type", handle)
            return ("type", handle)
        name = value.__dict__.get("_wp_constructor_")  # in annotations: Vector[float, Literal[3]]
        if name is not None:
            return ("builtin", name)
        pattern = value.__dict__.get("_wp_pattern_")  # a vector or matrix with something left open
        return ("scope", ClassResolver(value)) if pattern is None else pattern
    handle = getattr(value, "_wp_type_", None)
    if handle is not None and handle.kind != "array":
        return ("typed", handle, wt.value_bytes(value))
    if isinstance(value, _pytypes.ModuleType):
        return ("scope", ModuleResolver(value))
    if wt.is_numpy_scalar(value):
        return ("typed", wt.type_handle(type(value)), value.tobytes())
    if isinstance(value, _pytypes.FunctionType):
        return _unusable(value, f"the Python function '{value.__name__}'")
    name = type(value).__name__
    return _unusable(value, f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}")


_ENTRIES = {"int": 2, "float": 2, "bool": 2, "str": 2, "typed": 3, "other": 3}
"""Answers that a resolver for attributes may follow, and how many entries they have before it."""


def _attributes_of(answer: tuple | None) -> _MemberResolver | None:
    """The resolver that an answer has for attributes."""
    if not answer:
        return None
    if answer[0] == "scope":
        return answer[1]
    size = 2 if answer[0] == "functions" else _ENTRIES.get(answer[0], len(answer))
    return answer[size] if len(answer) > size else None


def _unusable(value: object, what: str) -> tuple:
    """The answer for an object that kernels can't use as a value; the functions and types it has they can."""
    kind = type(value)
    if kind is _pytypes.FunctionType:
        holds_nothing = not value.__dict__  # of the program's own
    else:
        holds_nothing = kind is array or isinstance(value, (list, tuple, dict, set, frozenset, wt.np.ndarray))
    return ("other", what, repr(kind), None if holds_nothing else ObjectResolver(value))


def describe_member_of_warp(name: str) -> tuple | None:
    """What `wp.name` is in kernels if it is no name of the language: a module below `warp`, an enum, a number."""
    found = None if name.startswith("_") else getattr(sys.modules["warp"], name, None)
    if not isinstance(found, (_pytypes.ModuleType, type, enum.Enum, int, float)):  # kernel, func: decorators are text, too
        return None
    answer = describe(found)
    return None if answer is None or answer[0] in ("warp", "builtin") else answer


_TYPE_ANSWERS = ("type", "generic", "generic_array", "generic_tile", "generic_vector", "generic_matrix", "tuple_type", "tuple_of")
_PARAMETER_ANSWERS = frozenset((*_TYPE_ANSWERS, "ref"))


def known_annotations(func: typing.Callable) -> dict[str, typing.Any]:
    """What the annotations of a function that are objects already (not text) mean to the compiler: types of parameters by
    name, and of what it returns in a list. Their text may have names that only the function around it knew."""
    known: dict[str, typing.Any] = {}
    for name, annotation in func.__annotations__.items():
        if isinstance(annotation, str):
            if "(" in annotation and name != "return":
                made = annotations_of(func)[name]  # bsr_matrix_t(float), say: a call that makes a struct
                if isinstance(made, type) and hasattr(made, "_wp_fields_"):
                    known[name] = describe(made)
            continue
        if name != "return":
            answer = describe(annotation)
            if answer is not None and answer[0] in _PARAMETER_ANSWERS:
                known[name] = answer
            continue
        answers = [describe(one) for one in _listed(annotation)]
        if all(answer is not None and answer[0] in _PARAMETER_ANSWERS for answer in answers):
            known[name] = answers
    return known


def _listed(returned: object) -> tuple:
    """The types of the values that a function returns."""
    if returned is None:
        return ()
    if typing.get_origin(returned) is tuple:
        return typing.get_args(returned)
    return returned if isinstance(returned, tuple) else (returned,)


def array_annotation(value: object) -> tuple | None:
    """wp.array(dtype=…, ndim=…) or wp.indexedarray(…) used as an annotation or a name for one."""
    if isinstance(value, type):  # the class itself, in the text of an annotation
        named = "indexedarray" if hasattr(value, "_wp_indexed_") else value.__dict__.get("_wp_named_", "")
        named = f"{value._wp_fabric_}array" if hasattr(value, "_wp_fabric_") else named
        name = "array" if value is array else named
        return ("builtin", name) if name else None
    if hasattr(value, "_wp_fabric_"):
        return None if value._valid else _fabric_annotation(value)
    indexed = getattr(value, "_wp_indexed_", False)
    if value.data is not None if indexed else not isinstance(value, array) or value._valid:
        return None
    dtype = value.dtype
    element = describe(dtype) if dtype is not None else None
    if value.ndim is typing.Any:
        return ("generic_array", element, 0, *(("indexed",) if indexed else ()))
    if element is not None and element[0] == "type":
        make = _weft.type_indexed_array if indexed else _weft.type_array
        answer = ("type", make(element[1], value.ndim))
        if not indexed:
            value.__dict__["_answer"] = answer  # kernels share annotations, and ask for them again and again
        return answer
    return ("generic_array", element, value.ndim, *(("indexed",) if indexed else ()))


def _fabric_annotation(value: Any) -> tuple:
    sort = value._wp_fabric_
    element = describe(value.dtype)
    if value.ndim is typing.Any:
        return ("generic_array", element, 0, sort)
    if element is not None and element[0] == "type":
        return ("type", _weft.type_fabric_array(element[1], value.ndim, sort == "indexedfabric"))
    return ("generic_array", element, value.ndim, sort)


class _MemberResolver:
    """Names inside a class or module."""

    def __init__(self, owner: object):
        self.owner = owner

    def lookup(self, name: str) -> tuple | None:
        try:
            return describe(getattr(self.owner, name))
        except AttributeError:
            return None

    def eval_static(self, text: str, local_values: dict) -> None:
        return None

    def __repr__(self) -> str:  # part of texts that are compared (FunctionResolver.meaning)
        return type(self).__name__


class EnumMemberResolver(_MemberResolver):
    """What kernels may ask of an enum member: Mode.FAST.value."""

    def lookup(self, name: str) -> tuple | None:
        return describe(self.owner.value) if name == "value" else None


class ObjectResolver(_MemberResolver):
    """Functions and types that an object has: self.act(x), ops.square(x), f.fallback(x). Its numbers belong to the program
    while it runs, not to the text of a kernel."""

    def lookup(self, name: str) -> tuple | None:
        answer = super().lookup(name)
        if answer is None or answer[0] not in ("int", "float", "bool", "str", "typed"):
            return answer
        if isinstance(getattr(self.owner, name), enum.Enum):
            return answer
        return ("other", f"'{name}' of an object", repr(type(self.owner)), None)


class ClassResolver(_MemberResolver):
    """Constants of a class: Config.N."""


class ModuleResolver(_MemberResolver):
    """Members of a Python module that is not warp: my_functions.square."""


_outer: weakref.WeakKeyDictionary[_pytypes.CodeType, list[tuple[str, ...]]] = weakref.WeakKeyDictionary()

_GLOBAL, _DEREF, _ATTRIBUTE, _METHOD, _WIDE = (
    opcode.opmap.get(name) for name in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD", "EXTENDED_ARG")
)
_CACHE = 0  # what an instruction remembers of earlier runs: units of 0 behind it (before Python 3.11 there are none)
_GLOBAL_FLAGS = 1 if sys.version_info >= (3, 11) else 0  # low bits of an operand that are not the number of a name
_ATTRIBUTE_FLAGS = 1 if sys.version_info >= (3, 12) else 0


def _outer_names(code: _pytypes.CodeType) -> list[tuple[str, ...]]:
    """The names that a piece of code takes from outside, each alone and with attributes that follow; closures of one text
    share their code. `dis` would say it, too, in ten times the time, and first launches wait for this."""
    names = _outer.get(code)
    if names is not None:
        return names
    if sys.version_info >= (3, 11):  # one numbering for all variables, where a parameter in a cell counts once
        cells = (*code.co_varnames, *(n for n in code.co_cellvars if n not in code.co_varnames), *code.co_freevars)
    else:
        cells = (*code.co_cellvars, *code.co_freevars)
    found: set[tuple[str, ...]] = set()
    path: tuple[str, ...] = ()
    wide, text = 0, code.co_code
    for operation, operand in zip(text[::2], text[1::2]):
        if operation == _CACHE:
            continue
        if operation == _WIDE:
            wide = (wide | operand) << 8
            continue
        if operation == _GLOBAL:
            path = (code.co_names[(wide | operand) >> _GLOBAL_FLAGS],)
            found.add(path)
        elif operation == _DEREF:
            path = (cells[wide | operand],)
            found.add(path)
        elif path:
            if operation == _ATTRIBUTE:
                path = (*path, code.co_names[(wide | operand) >> _ATTRIBUTE_FLAGS])
                found.add(path)
            elif operation == _METHOD:
                path = (*path, code.co_names[wide | operand])
                found.add(path)
            else:
                path = ()
        wide = 0
    names = _outer[code] = sorted(found)
    return names


class FunctionResolver:
    """Names of one Python function: closure first, then globals."""

    def __init__(self, func: typing.Callable):
        self.func = func
        # wp.static sees names as they were where the function was declared: loops declare many of one text.
        self._declared = self._values(func.__code__) if "static" in func.__code__.co_names else {}

    def namespace(self) -> dict[str, object]:
        """Everything the function can see."""
        names = dict(self.func.__globals__)
        names.update(self.closure())
        return names

    def closure(self) -> dict[str, object]:
        cells = self.func.__closure__
        out: dict[str, object] = {}
        if cells is None:
            return out
        for name, cell in zip(self.func.__code__.co_freevars, cells):
            try:
                out[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        return out

    def _values(self, code: _pytypes.CodeType) -> dict[str, object]:
        """What the names of a piece of code mean now, and of those within it (comprehensions)."""
        known = self.func.__globals__
        out = {name: known[name] for name in code.co_names if name in known}
        for inner in code.co_consts:
            if isinstance(inner, _pytypes.CodeType):
                out.update(self._values(inner))
        out.update(self.closure())
        return out

    def lookup(self, name: str) -> tuple | None:
        code = self.func.__code__
        if name in code.co_freevars:
            try:
                return describe(self.func.__closure__[code.co_freevars.index(name)].cell_contents)
            except ValueError:  # not assigned yet
                pass
        value = self.func.__globals__.get(name, _MISSING)
        return None if value is _MISSING else describe(value)

    def meaning(self, known: set[FunctionResolver] | None = None) -> tuple[bool, str]:
        """What the constants, types and functions are that the code names, as text; and whether that may well change:
        variables of an enclosing function and numbers are often those of a loop."""
        code, around, closed = self.func.__code__, self.func.__globals__, self.closure()
        free = code.co_freevars
        # Most kernels name nothing but `wp`, and what the language says of its own names stays.
        for name in code.co_names:
            if name in around and not _is_warp_module(around[name]):
                break
        else:
            if not free or all(_is_warp_module(closed.get(name)) for name in free):
                return False, ""
        known = set() if known is None else known
        known.add(self)
        variable, texts = False, []
        for path in _outer_names(code):
            name = path[0]
            value = closed[name] if name in closed else around.get(name)
            if _is_warp_module(value):
                continue
            try:
                first = answer = self.lookup(name)
                for attribute in path[1:]:
                    inside = _attributes_of(answer)
                    if inside is None:
                        answer = None
                        break
                    answer, value = inside.lookup(attribute), getattr(value, attribute, None)
            except Exception:  # a launch that needs it says so
                continue
            if answer and answer[0] == "other" and isinstance(value, int):  # a bound, maybe: range(self.count)
                variable = True
                texts.append(f"{'.'.join(path)}={int(value)}")
                continue
            if not answer or answer[0] not in ("int", "float", "bool", "str", "typed", "type", "functions"):
                continue
            if len(path) > 1:  # objects belong to the program while it runs; modules, classes and enums stay as they are
                variable |= first[0] == "other"
            else:
                variable |= name in free or answer[0] in ("int", "float", "bool", "typed")
            name = ".".join(path)
            if answer[0] != "functions":
                texts.append(f"{name}={answer}")
                continue
            for one in (value, *value.others):
                inner = one._resolver
                changes, text = (False, "") if inner in known else inner.meaning(known)
                variable |= changes
                texts.append(f"{name}={id(one)}({text})")
        return variable, "; ".join(texts)

    def eval_static(self, text: str, local_values: dict) -> tuple | None:
        names = self.namespace()
        names.update(self._declared)
        names.update(local_values)
        answer = describe(eval(text, names))  # noqa: S307 - wp.static is the user's own expression
        return answer
