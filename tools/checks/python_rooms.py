"""What may import what in the Python package: the part of check_layers.py for python/warp.

`python/warp/_src` is divided into rooms, folders in one order; a module imports from its own room and from those before
it, whether at its top or inside of a function. Imports inside of functions need a reason, which the table below gives.
Modules never import each other in a circle. The files directly in python/warp lie above all rooms and only show names.
(Names of `warp` that are loaded when asked for stand in a table of their own, in api/names.py, which lies above all others.)
"""

import ast
import dataclasses

# In their order: each imports from itself and from those to its left. docs/design/python.md says what they hold.
ROOMS = (
    "session", "values", "devices", "arrays", "kernels", "graphs", "gradients", "algorithms", "sparse", "optim",
    "geometry", "interop", "api",
)  # fmt: skip

_GPU = "start-up: only programs that use a GPU need it"
_RARE = "start-up: few programs need it"
_FORWARD = "start-up: only programs in forward mode need it"

# Imports of our own modules inside of functions: where, what, and why not at the top.
LATE = {
    ("session.settings", "session.memory_report"): _RARE,
    ("values.struct", "values.struct_ctypes"): _RARE,
    ("devices.device", "devices.cuda_device"): "start-up: only machines with a GPU need it; its class derives from Device",
    ("arrays.array", "arrays.array_factories"): "methods that give new arrays; the factories are built on the class",
    ("arrays.array", "arrays.indexed_array"): "a[indices] gives one; its class is built on array",
    ("arrays.array", "arrays.cuda_interface"): _GPU,
    ("arrays.array_exchange", "arrays.cuda_interface"): _GPU,
    ("kernels.definitions", "kernels.python_calls"): "start-up: few programs call functions of kernels from Python",
    ("kernels.definitions", "kernels.compile_ahead"): "start-up: only cold programs of several kernels need it",
    ("kernels.launching", "kernels.adjoint_launch"): _RARE,
    ("gradients.tape", "gradients.tape_graph"): _RARE,
    ("gradients.autograd", "gradients.autograd_plot"): "optional: draws with matplotlib",
    ("algorithms.array_algorithms", "algorithms.device_algorithms"): _GPU,
    ("algorithms.array_algorithms", "gradients.forward_rules"): _FORWARD,
    ("algorithms.matmul", "algorithms.device_kernels"): _GPU,
    ("algorithms.matmul", "algorithms.device_matmul"): _GPU,
    ("algorithms.matmul", "gradients.forward_rules"): _FORWARD,
    ("api.native_core", "algorithms.array_algorithms"): _RARE,
    ("api.startup", "api.native_core"): _RARE,
    ("api.startup", "kernels.custom_functions"): _RARE,
    ("interop.jax_kernel", "interop.jax_primitives"): "optional: needs JAX, of which it makes primitives",
    ("interop.jax_callable", "interop.jax_primitives"): "optional: needs JAX, of which it makes primitives",
}

_PACKAGE, _INSIDE, _EXTENSION = "warp", "warp._src", "_weft"


@dataclasses.dataclass
class Import:
    """One module of the package that a file imports: `room.module`, or `warp…` for what lies above all rooms."""

    target: str
    line: int
    late: bool  # inside of a function
    typing_only: bool  # under `if TYPE_CHECKING:`


def name_of(path):
    """The module's name: `arrays.array` for a file in a room, `warp.autograd` for one above."""
    inner = path.with_suffix("").parts[2:]  # without python/warp
    if inner[-1] == "__init__":
        inner = inner[:-1]
    return ".".join(inner[1:]) if inner[:1] == ("_src",) else ".".join((_PACKAGE, *inner))


def rank(module):
    """Where a module stands in the order: its room's place; behind all of them for what lies directly in warp."""
    room = module.split(".")[0]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


class _Reader(ast.NodeVisitor):
    """Collects a file's imports of the package."""

    def __init__(self, known):
        self.known, self.found, self.problems = known, [], []
        self.depth, self.typing = 0, False

    def _function(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_If(self, node):
        before, self.typing = self.typing, self.typing or "TYPE_CHECKING" in ast.dump(node.test)
        for child in node.body:
            self.visit(child)
        self.typing = before
        for child in node.orelse:
            self.visit(child)

    def _add(self, full, line):
        """An import of `full`, a dotted name that is a module or a name in one."""
        if full == f"{_PACKAGE}.{_EXTENSION}" or full.startswith(f"{_PACKAGE}.{_EXTENSION}.") or full == _INSIDE:
            return
        if full.startswith(f"{_INSIDE}."):
            parts = full.split(".")[2:]
            if parts[0] not in ROOMS:
                self.problems.append((line, f"there is no room {parts[0]} in {_INSIDE}; name the room and the module"))
                return
            if len(parts) < 2:
                return  # the room itself: no module of it
            target = ".".join(parts[:2])
        else:
            target = full if full in self.known else _PACKAGE
        self.found.append(Import(target, line, self.depth > 0, self.typing))

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.split(".")[0] == _PACKAGE:
                self._add(alias.name, node.lineno)

    def visit_ImportFrom(self, node):
        if node.level:
            self.problems.append((node.lineno, "write imports from warp on, not relative ones"))
        elif node.module and node.module.split(".")[0] == _PACKAGE:
            for alias in node.names:
                self._add(node.module if alias.name == "*" else f"{node.module}.{alias.name}", node.lineno)

    def visit_Call(self, node):
        """import_module("warp…") is an import, too."""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
            name = node.args[0].value
            if isinstance(name, str) and name.split(".")[0] == _PACKAGE:
                self._add(name, node.lineno)
        self.generic_visit(node)


def read(path, text, known):
    """The imports of the package in a file, and what is wrong with their form as (line, text)."""
    reader = _Reader(known)
    reader.visit(ast.parse(text, str(path)))
    return reader.found, reader.problems


def import_finding(module, one, late_table):
    """Why a module may not import this, or None."""
    if rank(module) == len(ROOMS):
        return None
    room, up = module.split(".")[0], rank(one.target) > rank(module)
    listed = (module, one.target) in late_table
    above = rank(one.target) == len(ROOMS)  # nothing of a room may need what shows the rooms to programs
    if up and not (above and one.late and listed):
        allowed = ", ".join(ROOMS[: rank(module) + 1])
        return f"{room} may not import {one.target}, which lies above it; it may import from: {allowed}"
    if one.late and not listed:
        return f"import {one.target} at the top of the file, or give a reason in tools/checks/python_rooms.py"
    return None


def circles(imports):
    """A circle of imports at the top of files, as a list of modules; None if there is none."""
    done, path = set(), []

    def search(module):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        path.append(module)
        for one in imports.get(module, ()):
            if not one.late and not one.typing_only and one.target != module:
                circle = search(one.target)
                if circle:
                    return circle
        path.pop()
        done.add(module)
        return None

    return next((circle for circle in map(search, sorted(imports)) if circle), None)


def check(files, late_table=None):
    """All findings for python/warp; `files` maps paths (relative to the project) to texts."""
    late_table = LATE if late_table is None else late_table
    findings, imports, paths = [], {}, {}
    for path in files:
        inner = path.parts[2:]
        if inner[0] == "_src" and inner != ("_src", "__init__.py"):
            if len(inner) < 3 or inner[1] not in ROOMS:
                findings.append(f"{path}:1: modules of {_INSIDE} lie in one of its rooms: {', '.join(ROOMS)}")
                continue
        paths[name_of(path)] = path
    for module, path in paths.items():
        imports[module], problems = read(path, files[path], paths)
        findings += [f"{path}:{line}: {text}" for line, text in problems]
        for one in imports[module]:
            finding = import_finding(module, one, late_table)
            if finding:
                findings.append(f"{path}:{one.line}: {finding}")
    circle = circles(imports)
    if circle:
        findings.append(f"{paths[circle[0]]}:1: modules import each other in a circle: {' → '.join(circle)}")
    used = {(module, one.target) for module, found in imports.items() for one in found if one.late}
    if imports:
        for module, target in late_table:
            if (module, target) not in used:
                findings.append(f"tools/checks/python_rooms.py:1: {module} does not import {target} late any more")
    return findings
