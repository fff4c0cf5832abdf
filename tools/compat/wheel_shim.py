"""Empty modules for those of warp-lang that are not part of this package, so that test files that use them in one test
run their others. Runs before the wheel's tests (wheel_tests.py); a module that the package has is left alone.
"""

import importlib.abc
import importlib.machinery
import sys

MISSING = ("warp.sim", "warp.fem", "warp.sparse", "warp.optim", "warp.render")


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes after all other finders. Each name with a capital that is asked of a module is a struct of one number."""

    def find_spec(self, fullname, path=None, target=None):
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MISSING else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        def stand_in(name):
            if not name[0].isupper():
                raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
            import warp as wp

            value = wp.struct(type(name, (), {"__annotations__": {"stand_in": int}, "__module__": module.__name__}))
            setattr(module, name, value)
            return value

        module.__getattr__ = stand_in


sys.meta_path.append(EmptyModules())
