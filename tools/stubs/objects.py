"""Python functions, classes and values as stubs, from their signatures, annotations and source text."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import re
import textwrap
import types
import typing
from typing import Any, Callable

from rows import docstring

Resolver = Callable[[object], "str | None"]
"""The name that a stub gives a class of the package; None if it has none."""

BARE = {
    "_b.dict": "_b.dict[Any, Any]",
    "_b.list": "_b.list[Any]",
    "_b.tuple": "_b.tuple[Any, ...]",
    "_b.type": "_b.type[Any]",
    "_b.set": "_b.set[Any]",
    "Callable": "Callable[..., Any]",
    "array": "array[Any, Any]",
    "Function": "Function[..., Any]",
}
PARAMETERS = {"dim": "_b.int | _t.Sequence[_b.int] | None"}
"""What parameters of these names take where their annotation says nothing."""
RESULTS = {"from_jax": "array[Any, Any]"}
"""What functions of C++ give that always give the same."""
_OPERATORS = "add sub mul truediv matmul"
METHODS = {
    f"__{name}__"
    for name in "init call enter exit len getitem setitem iter eq hash bool int float index array neg".split()  # noqa: SIM905
} | {f"__{kind}{name}__" for name in _OPERATORS.split() for kind in ("", "r", "i")}


class Annotations(ast.NodeTransformer):
    """Rewrites the names of an annotation to those of the stub; what a stub can't name becomes Any."""

    def __init__(self, scope: dict[str, Any], resolve: Resolver) -> None:
        self.scope = scope
        self.resolve = resolve

    def text(self, annotation: Any) -> str:
        """The stub's text of an annotation, given as text or as an object."""
        if annotation is inspect.Parameter.empty:
            return "Any"
        if annotation is None or annotation is type(None):
            return "None"
        if not isinstance(annotation, str):
            annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        return self.of_node(ast.parse(annotation, mode="eval").body)

    def of_node(self, node: ast.expr) -> str:
        return ast.unparse(self.visit(node))

    def value_of(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name):
            return self.scope.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            return getattr(self.value_of(node.value), node.attr, None)
        return None

    def signature(self, text: str) -> str:
        """Parameters in brackets, their types as stubs write them."""
        (node,) = ast.parse(f"def f{text}: ...").body
        assert isinstance(node, ast.FunctionDef)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.annotation is not None:
                argument.annotation = self.visit(argument.annotation)
        return ast.unparse(node).split("\n")[0].removeprefix("def f").removesuffix(":")

    def named(self, node: ast.AST) -> ast.expr:
        value = self.value_of(node)
        known = self.resolve(value)
        if known is not None:
            name = known
        elif isinstance(value, type) and value.__module__ == "builtins":
            name = f"_b.{value.__name__}"
        elif value in (Any, Callable, typing.Callable):
            name = "Any" if value is Any else "Callable"
        elif getattr(value, "__module__", "") in ("typing", "collections.abc") and hasattr(
            typing, ast.unparse(node).split(".")[-1]
        ):
            name = "_t." + ast.unparse(node).split(".")[-1]
        elif getattr(value, "__module__", "") == "numpy" and getattr(value, "__name__", "") == "ndarray":
            name = "npt.NDArray[Any]"
        else:
            name = "Any"
        return ast.parse(name, mode="eval").body

    def bare(self, node: ast.expr) -> ast.expr:
        """A name by itself: generic classes get their parameters."""
        made = self.named(node)
        text = ast.unparse(made)
        return ast.parse(BARE[text], mode="eval").body if text in BARE else made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.bare(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.bare(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):  # a forward reference
            return ast.parse(self.text(node.value), mode="eval").body
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        head = self.named(node.value)
        if ast.unparse(head).endswith("Any") or "[" in ast.unparse(head):
            return head
        return ast.Subscript(head, self.visit(node.slice), ast.Load())

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        parts = [ast.unparse(self.visit(part)) for part in (node.left, node.right)]
        return ast.parse("Any" if "Any" in parts else " | ".join(parts), mode="eval").body


def is_function(value: Any) -> bool:
    """Whether a value is a function, of Python or of the extension."""
    return inspect.isfunction(value) or inspect.isbuiltin(value)


def alias(value: Any, resolve: Resolver) -> str:
    """The stub's text of a type alias: a union of classes that stubs can name, else Any."""
    names = []
    for part in typing.get_args(value):
        plain = part.__name__ if isinstance(part, type) and part.__module__ == "builtins" else None
        name = "None" if part is type(None) else resolve(part) or (f"_b.{plain}" if plain else None)
        names.append(BARE.get(name or "Any", name or "Any"))
    return " | ".join(names) if names and "Any" not in names else "Any"


def function(name: str, value: Any, resolve: Resolver, decorator: str = "") -> str:
    """The stub of a function or method."""
    if inspect.isbuiltin(value):  # its signature is the template's business, unless it has types
        written = value.__text_signature__ or ""
        typed = "(*args: Any, **kwargs: Any)"
        if ": " in written:
            typed = Annotations({"Any": Any}, resolve).signature(written)
        elif (value.__module__ or "").startswith("warp._src.interop"):  # types by defaults
            given = inspect.signature(value).parameters.values()
            kinds = [f"{p.name}: {'_b.bool' if isinstance(p.default, bool) else 'Any'}" for p in given]
            shown = [k if p.default is p.empty else f"{k}={p.default!r}" for k, p in zip(kinds, given)]
            typed = f"({', '.join(shown)})"
        result = RESULTS.get(name, "Any")
        return f"def {name}{typed} -> {result}:\n    {docstring(inspect.cleandoc(value.__doc__ or name))}\n"
    annotations = Annotations(getattr(value, "__globals__", {}), resolve)
    signature = inspect.signature(value)
    params: list[str] = []
    marked = False
    for parameter in signature.parameters.values():
        text = parameter.name
        if parameter.kind is parameter.VAR_POSITIONAL:
            text, marked = "*" + text, True
        elif parameter.kind is parameter.VAR_KEYWORD:
            text = "**" + text
        elif parameter.kind is parameter.KEYWORD_ONLY and not marked:
            params.append("*")
            marked = True
        if not (parameter.name in ("self", "cls") and not params):
            kind = annotations.text(parameter.annotation)
            if kind in ("Any", "_b.object"):
                kind = PARAMETERS.get(parameter.name, kind)
            if parameter.default is None and "None" not in kind and kind != "Any":
                kind += " | None"
            text += f": {kind}"
        if parameter.default is not parameter.empty:
            # Members of enums are numbers whose text is no expression.
            plain = isinstance(parameter.default, (int, float, str, bool, type(None))) and not isinstance(
                parameter.default, enum.Enum
            )
            text += f" = {parameter.default!r}" if plain and len(repr(parameter.default)) < 30 else " = ..."
        params.append(text)
    result = "None" if name == "__init__" else annotations.text(signature.return_annotation)
    head = f"{decorator}def {name}({', '.join(params)}) -> {result}:"
    doc = inspect.cleandoc(value.__doc__) if value.__doc__ else ""
    return f"{head}\n    {docstring(doc)}\n" if doc else f"{head} ...\n"


def struct(name: str, value: Any, resolve: Resolver) -> str:
    """The stub of a struct of the library: its public fields. Scalars are read as plain numbers."""
    lines = [docstring(inspect.cleandoc(value.__doc__ or name), "")]
    for label, field in value.vars.items():
        handle = field.handle
        if handle.kind == "scalar":
            word = handle.scalar.lstrip("b") if handle.scalar.startswith("bfloat") else handle.scalar
            kind = "_b." + ("bool" if word == "bool" else "float" if word.startswith("float") else "int")
        else:
            kind = "Any" if handle.kind == "array" else resolve(field.zero().__class__) or "Any"
        lines.append(f"{label}: {kind}")
    return f"class {name}:\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def class_(name: str, value: type, resolve: Resolver) -> str:
    """The stub of a class: bases that stubs can name, attributes, properties and public methods."""
    if issubclass(value, enum.Enum):
        return _enum(name, value)
    if issubclass(value, tuple) and hasattr(value, "_fields"):
        return _named_tuple(name, value, resolve)
    protocol = getattr(value, "_is_protocol", False)
    bases = [base for base in value.__bases__ if base is not object]
    named = [resolve(base) or (base.__name__ if base.__module__ == "builtins" else None) for base in bases]
    named = [base if "." in base or resolve(bases[i]) else f"_b.{base}" for i, base in enumerate(named) if base]
    if protocol:
        named = ["_t.Protocol"]
    body: list[str] = []
    doc = inspect.cleandoc(value.__doc__) if value.__doc__ else ""
    if doc:
        body.append(docstring(doc, "") + "\n")
    attributes = {} if issubclass(value, BaseException) else _instance_attributes(value, resolve)
    scope = vars(inspect.getmodule(value) or builtins)
    for member, annotation in inspect.get_annotations(value).items():
        if not member.startswith("_"):
            attributes[member] = Annotations(scope, resolve).text(annotation)
    for member, item in vars(value).items():
        if (member.startswith("_") and member not in METHODS) or (protocol and member == "__init__"):
            continue
        if isinstance(item, property):
            attributes.pop(member, None)
            body.append(_property(member, item, resolve))
        elif isinstance(item, (classmethod, staticmethod)):
            body.append(function(member, item.__func__, resolve, f"@_b.{type(item).__name__}\n"))
        elif inspect.isfunction(item):
            body.append(function(member, item, resolve))
        elif inspect.isclass(item) and item.__qualname__ == f"{value.__qualname__}.{member}":
            body.append(class_(member, item, resolve))
        elif not callable(item) and not member.startswith("_"):
            attributes.setdefault(member, value_type(item))
    for member, item in _native_members(value, resolve).items():
        if isinstance(item, property):
            body.append(_native_function(member, item.fget, resolve, "@_b.property\n"))
        else:
            body.append(_native_function(member, item, resolve))
    fields = "".join(f"{member}: {kind}\n" for member, kind in attributes.items())
    at = 1 if doc else 0
    text = "".join([*body[:at], fields, *body[at:]]) or "...\n"
    for member, item in vars(value).items():  # a method named like a type hides it: Volume.array
        if inspect.isfunction(item) and f"-> {member}[" in text:
            text = re.sub(rf"(?<![\w.]){member}\[", f"_w.{member}[", text)
    return f"class {name}{'(' + ', '.join(named) + ')' if named else ''}:\n" + textwrap.indent(text, "    ")


def _native_members(value: type, resolve: Resolver) -> dict[str, Any]:
    """What a class has from a base in the extension, which stubs do not name."""
    found: dict[str, Any] = {}
    for base in value.__mro__[1:]:
        if base.__module__ == "warp._weft" and resolve(base) is None:
            # Those that a class of the package names itself are in the stub of that class.
            taken = {k for c in value.__mro__ for k, v in vars(c).items() if c is not base and v is vars(base).get(k)}
            named = {*taken, *vars(value)}
            found |= {k: v for k, v in vars(base).items() if not k.startswith("_") and k not in named}
    return dict(sorted(found.items()))


def _native_function(name: str, value: Any, resolve: Resolver, decorator: str = "") -> str:
    """The stub of a function of the extension, from the signature that the binding gives it."""
    if hasattr(value, "__nb_signature__"):
        signature, doc = value.__nb_signature__[0][:2]
    else:  # a method of C: nanobind knows nothing of it, and it returns nothing
        parameters = value.__text_signature__.replace("$self, /", "self").replace("$self", "self")
        signature, doc = f"def {name}{parameters.replace('=None', ': object | None = ...')} -> None", value.__doc__
    signature = re.sub(r"\\\d+", "...", re.sub(r"^def \w*\(", f"def {name}(", signature))
    (node,) = ast.parse(signature + ": ...").body
    assert isinstance(node, ast.FunctionDef)
    annotations = Annotations({}, resolve)
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.annotation is not None:
            argument.annotation = ast.parse(annotations.of_node(argument.annotation), mode="eval").body
    if node.returns is not None:
        node.returns = ast.parse(annotations.of_node(node.returns), mode="eval").body
    head = decorator + ast.unparse(node).rsplit(":", 1)[0].rstrip()
    return f"{head}:\n    {docstring(doc)}\n" if doc else f"{head}: ...\n"


def _named_tuple(name: str, value: type, resolve: Resolver) -> str:
    annotations = Annotations(vars(inspect.getmodule(value) or builtins), resolve)
    lines = [docstring(inspect.cleandoc(value.__doc__), "")] if value.__doc__ else []
    for field, kind in inspect.get_annotations(value).items():
        lines.append(f"{field}: {annotations.text(getattr(kind, '__forward_arg__', kind))}")
    return f"class {name}(_t.NamedTuple):\n" + textwrap.indent("\n".join(lines) + "\n", "    ")


def _enum(name: str, value: type[enum.Enum]) -> str:
    base = "IntEnum" if issubclass(value, enum.IntEnum) else "Enum"
    lines = [docstring(inspect.cleandoc(value.__doc__), "")] if value.__doc__ else []
    lines += [f"{member.name} = {member.value!r}" for member in value]
    return f"class {name}(_enum.{base}):\n" + textwrap.indent("\n".join(lines) + "\n", "    ")


def _property(name: str, item: property, resolve: Resolver) -> str:
    getter = function(name, item.fget, resolve, "@_b.property\n")
    if item.fset is None:
        return getter
    return getter + f"@{name}.setter\ndef {name}(self, value: Any, /) -> None: ...\n"


def _instance_attributes(value: type, resolve: Resolver) -> dict[str, str]:
    """What __init__ assigns to self, with the types it says or takes from its parameters."""
    init = vars(value).get("__init__")
    if not inspect.isfunction(init):
        return {}
    annotations = Annotations(init.__globals__, resolve)
    given = {p.name: p.annotation for p in inspect.signature(init).parameters.values()}
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(init)))):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if not (
                isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
            ):
                continue
            if target.attr.startswith("_") or target.attr in found:
                continue
            if isinstance(node, ast.AnnAssign):
                found[target.attr] = annotations.of_node(node.annotation)
            elif isinstance(node.value, ast.Name) and node.value.id in given:
                found[target.attr] = annotations.text(given[node.value.id])
            elif isinstance(node.value, ast.BoolOp) and getattr(node.value.values[0], "id", None) in given:
                kind = annotations.text(given[node.value.values[0].id])  # `key or default`
                found[target.attr] = kind.replace(" | None", "")
            elif isinstance(node.value, ast.Constant):
                found[target.attr] = value_type(node.value.value)
            else:
                found[target.attr] = "Any"
    return found


def value_type(value: Any) -> str:
    """The stub's type of a plain value."""
    if type(value) in (bool, int, float, str, bytes):
        return f"_b.{type(value).__name__}"
    if isinstance(value, types.ModuleType) or value is None:
        return "Any"
    if isinstance(value, (tuple, list, dict, set, frozenset)):
        name = f"_b.{type(value).__name__}"
        return BARE.get(name, f"{name}[Any]")
    return "Any"
