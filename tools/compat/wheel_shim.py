"""What the wheel's test files take for granted and this package does not have, so that one such name at the top of a
file does not stop its other tests. Runs before them (wheel_tests.py); what the package has is left alone.

- Modules that are not here yet are empty: a name with a capital that is asked of one is a struct of one number, any
  other one can be handed around and nothing else.
- The type of vectors without components can be named, not used.
- Internals that a file imports at its top can be imported, whole modules of them, too; using one raises UsesInternals.
- Two conversions of bfloat16 with NumPy, internals by which the tests write down what they expect.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

MISSING = ("warp.sim", "warp.fem", "warp.render")


class Unlike(Exception):
    """A test needs what is different here on purpose (docs/differences.md)."""


class UsesInternals(Exception):
    """A test needs a part of the other implementation."""


class NeedsLater(Exception):
    """A test needs something that is not part of the package yet."""


class Absent:
    """Stands for what is not there: it can be handed around and nothing else."""

    def __init__(self, error, name):
        self.__dict__.update(error=error, name=name)

    def refuse(self, *_args, **_kwargs):
        raise self.__dict__["error"](self.__dict__["name"])

    __call__ = __getattr__ = __setattr__ = __getitem__ = __iter__ = __enter__ = __eq__ = __mro_entries__ = refuse
    __hash__ = object.__hash__


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes after all other finders."""

    def find_spec(self, fullname, path=None, target=None):
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MISSING else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        def stand_in(name):
            if name.startswith("_"):
                raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
            if name == "integrand":  # a decorator at the top of a file, whose other tests need none of it
                return lambda _function: Absent(NeedsLater, f"{module.__name__}.{name}")
            if not name[0].isupper():
                return Absent(NeedsLater, f"{module.__name__}.{name}")
            import warp as wp

            value = wp.struct(type(name, (), {"__annotations__": {"stand_in": int}, "__module__": module.__name__}))
            setattr(module, name, value)
            return value

        module.__getattr__ = stand_in


def empty_vectors(types):
    """wp.types.vector(0, float), which some files have at their top."""
    make = types.vector

    def vector(length=None, *args, **kwargs):
        if type(length) is int and length == 0:
            return Absent(Unlike, "a vector without components")
        return make(length, *args, **kwargs)

    types.vector = vector


def bfloat16_bits(types):
    """Both conversions, to nearest even."""
    import numpy as np

    def to_bits(values):
        numbers = np.asarray(values, dtype=np.float32)
        bits = numbers.view(np.uint32)
        rounded = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
        return np.where(np.isnan(numbers), ((bits >> 16) | 0x40).astype(np.uint16), rounded)

    def from_bits(bits):
        return (np.asarray(bits, dtype=np.uint16).astype(np.uint32) << 16).view(np.float32)

    for name, function in (("_np_float32_to_bfloat16_bits", to_bits), ("_np_bfloat16_bits_to_float32", from_bits)):
        if not hasattr(types, name):
            setattr(types, name, function)


def vendor_libraries(context):
    """Tests ask whether a library of GPU algebra was built in, to choose what they compare."""
    core = getattr(getattr(context, "runtime", None), "core", None)
    if core is not None and not hasattr(core, "wp_is_mathdx_enabled"):
        type(core).wp_is_mathdx_enabled = staticmethod(lambda: False)


def captured_allocations(context):
    """The helpers of the tests ask on which devices memory may be allocated while work is captured."""
    if not hasattr(context, "_is_graph_capture_allocation_supported"):
        context._is_graph_capture_allocation_supported = lambda device: device.is_cpu or device.is_mempool_supported


def internals(module_name):
    """Sets what the tested file imports from internal modules and the package does not have."""
    spec = importlib.util.find_spec(module_name)
    text = pathlib.Path(spec.origin).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("warp._src"):
            continue
        try:
            module = importlib.import_module(node.module)
        except ModuleNotFoundError:
            module = sys.modules[node.module] = types.ModuleType(node.module)
        for alias in node.names:
            if not hasattr(module, alias.name):
                setattr(module, alias.name, Absent(UsesInternals, f"{node.module}.{alias.name}"))


def examples(module_name):
    """The folders of the wheel's example programs, whose meshes some tests read."""
    file = pathlib.Path(importlib.util.find_spec(module_name).origin)
    folder = next(f for f in file.parents if f.name == "tests").parent / "examples"
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("warp.examples", None))
    module.get_source_directory = lambda: str(folder)
    module.get_asset_directory = lambda: str(folder / "assets")
    sys.modules.setdefault("warp.examples", module)
    return module


def supply():
    import warp as wp

    sys.meta_path.append(EmptyModules())
    if hasattr(wp, "array"):
        empty_vectors(sys.modules["warp.types"])
        bfloat16_bits(sys.modules["warp._src.types"])
        wp.init()
        context = importlib.import_module("warp._src.context")
        vendor_libraries(context)
        captured_allocations(context)
    if not hasattr(wp, "examples"):
        wp.examples = examples(tested_module)  # noqa: F821 - recorder.py sets it
    internals(tested_module)  # noqa: F821 - recorder.py sets it


supply()
