"""Exceptions of the compiler, each a subclass of the Python exception that fits."""

from __future__ import annotations

from warp import _weft


class WarpCodegenError(RuntimeError):
    """A construct that kernels can't use, or a call that fits no function."""


class WarpCodegenTypeError(TypeError):
    """A variable or result that changes its type."""


class WarpCodegenValueError(ValueError):
    """A compile-time value that a construct can't take."""


class WarpCodegenKeyError(KeyError):
    """An unknown name."""

    def __str__(self) -> str:  # KeyError would show the repr of a many-line text
        return str(self.args[0]) if self.args else ""


class WarpCodegenAttributeError(AttributeError):
    """An unknown attribute or component."""


class WarpDeterminismError(RuntimeError):
    """A launch that can't be as deterministic as `config.deterministic` asks."""


# Tracebacks and pickles name them where programs find them.
for _class in list(vars().values()):
    if isinstance(_class, type) and issubclass(_class, Exception) and _class.__name__.startswith("WarpCodegen"):
        _class.__module__ = "warp.codegen"

_weft.set_error_classes(
    {
        "syntax": WarpCodegenError,
        "codegen": WarpCodegenError,
        "type": WarpCodegenTypeError,
        "name": WarpCodegenKeyError,
        "attribute": WarpCodegenAttributeError,
        "operand": WarpCodegenError,
        "value": WarpCodegenValueError,
    }
)

__all__ = [name for name in list(globals()) if name.startswith("Warp")]
