"""Kernels that must not compile: the class of the exception, the words that programs match on, place and caret."""

import re
from typing import Any

import numpy as np
import pytest
from running import kernel_from, run_program

import warp as wp
from warp.codegen import (
    WarpCodegenAttributeError,
    WarpCodegenError,
    WarpCodegenKeyError,
    WarpCodegenTypeError,
)


def plain(x):
    return x


@wp.func
def recursive(n: int):
    return recursive(n - 1)


@wp.func
def asks_for_tid():
    return wp.tid()


@wp.func
def two_kinds_of_results(c: bool):
    if c:
        return 1.0
    return 1


@wp.func
def wrong_result(c: float) -> int:
    return c


@wp.func
def two_of_three(x: float) -> tuple[float, float]:
    return x, x, x


@wp.func
def doubled(x: float):
    return x * 2.0


@wp.struct
class Pair:
    a: float
    b: wp.vec3


a_list = [1.0]
a_dict = {}
an_array = wp.zeros(1, dtype=float)

NAMES = {
    "plain": plain,
    "recursive": recursive,
    "asks_for_tid": asks_for_tid,
    "two_kinds_of_results": two_kinds_of_results,
    "wrong_result": wrong_result,
    "two_of_three": two_of_three,
    "doubled": doubled,
    "Pair": Pair,
    "a_list": a_list,
    "a_dict": a_dict,
    "a_tuple": (1.0, 2.0),
    "numbers": np.zeros(2),
    "an_array": an_array,
    "np": np,
}

# body, class, words of the message, line and column of the place (line 3 is the body's first line)
CASES = [
    # constructs
    ("y = [1.0]", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("y = {1: 2}", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("y = {1, 2}", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("y = [k for k in range(3)]", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("y = lambda a: a", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("try:\n    x[0] = 1.0\nfinally:\n    x[0] = 2.0", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("raise ValueError()", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("with x:\n    pass", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("y = 1.0\ndel y", WarpCodegenError, "not supported in kernels", (4, 5)),
    ("global q", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("import math", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("y = (z := 1.0)", WarpCodegenError, "not supported in kernels", (3, 10)),
    ('y = f"{x}"', WarpCodegenError, "not supported in kernels", (3, 9)),
    ("yield 1.0", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("class A:\n    pass", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("def g():\n    pass", WarpCodegenError, "not supported in kernels", (3, 5)),
    ("y = 1 in x", WarpCodegenError, "not supported in kernels", (3, 9)),
    ("for k in (1, 2):\n    pass", WarpCodegenError, "", (3, 14)),
    # calls
    ("y = wp.dot(1.0, 2.0)", WarpCodegenError, "Couldn't find a function 'dot'", (3, 9)),
    ("y = 2\nz = y ** y", WarpCodegenError, "Couldn't find a function 'pow'", (4, 9)),
    ("y = wp.sin(1)", WarpCodegenError, "Couldn't find a function 'sin'", (3, 9)),
    ("y = doubled(1)", WarpCodegenError, "Couldn't find a function 'doubled'", (3, 9)),
    ("y = doubled()", WarpCodegenError, "Couldn't find a function 'doubled'", (3, 9)),
    ("y = doubled(1.0, z=2.0)", WarpCodegenError, "Couldn't find a function 'doubled'", (3, 9)),
    ("y = plain(1.0)", WarpCodegenError, "annotated with @wp.func", (3, 9)),
    ("y = np.hypot(1.0, 2.0)", WarpCodegenError, "can't be called in kernels", (3, 9)),
    # what kernels can't read
    ("y = a_list[0]", TypeError, "Invalid external reference type: <class 'list'>", (3, 9)),
    ("y = a_dict['a']", TypeError, "Invalid external reference type: <class 'dict'>", (3, 9)),
    ("y = a_tuple[0]", TypeError, "Invalid external reference type: <class 'tuple'>", (3, 9)),
    ("y = an_array[0]", TypeError, "Invalid external reference type: <class 'warp", (3, 9)),
    ("y = numbers[0]", TypeError, "Invalid external reference type: <class 'numpy.ndarray'>", (3, 9)),
    ("y = len(a_list)", TypeError, "Invalid external reference type: <class 'list'>", (3, 13)),
    ("for k in a_tuple:\n    x[0] = k", TypeError, "Invalid external reference type: <class 'tuple'>", (3, 14)),
    ("y = 1.0 + a_list", TypeError, "Invalid external reference type: <class 'list'>", (3, 15)),
    ("if a_list:\n    x[0] = 1.0", TypeError, "Invalid external reference type: <class 'list'>", (3, 8)),
    ("y = an_array.shape[0]", TypeError, "Invalid external reference type: <class 'warp", (3, 9)),
    ("y = plain", TypeError, "Invalid external reference type: <class 'function'>", (3, 9)),
    # constructors
    ("y = wp.vec3(1.0, 2.0)", WarpCodegenError, "3 components", (3, 9)),
    ("y = Pair(1.0, wp.vec3(), 2.0)", WarpCodegenError, "2 fields", (3, 30)),
    ("y = Pair(c=1.0)", WarpCodegenError, "'c'", (3, 16)),
    ("a, b = wp.vec3()", WarpCodegenError, "2 names", (3, 12)),
    ("x[0.5] = 1.0", WarpCodegenError, "index must be an integer", (3, 7)),
    ("x[0, 1] = 1.0", WarpCodegenError, "too many indices", (3, 10)),
    ("y = wp.vec3()[3]", WarpCodegenError, "", (3, 19)),
    # types
    ("y = 1.0\ny = 2", WarpCodegenTypeError, "assigning to existing symbol", (4, 5)),
    ("y = wp.vec3()\ny = wp.vec2()", WarpCodegenTypeError, "assigning to existing symbol", (4, 5)),
    ("y = None", WarpCodegenTypeError, "None", (3, None)),
    ("return 1.0", WarpCodegenTypeError, "return", (3, 5)),
    ("y = 1 < 2.0 < 3", WarpCodegenTypeError, "", (3, None)),
    # names
    ("y = nothing", WarpCodegenKeyError, "Referencing undefined symbol: nothing", (3, 9)),
    ("nothing[0] = 1.0", WarpCodegenKeyError, "Referencing undefined symbol: nothing", (3, 5)),
    ("y = nothing(1.0)", WarpCodegenKeyError, "Referencing undefined symbol: nothing", (3, 9)),
    # attributes
    ("y = wp.vec3().xy", WarpCodegenAttributeError, "xy", (3, 9)),
    ("y = wp.vec2().z", WarpCodegenAttributeError, "`z` is not an attribute of", (3, 9)),
    ("y = x.strides", WarpCodegenAttributeError, "strides", (3, 9)),
    ("y = wp.nothing(1.0)", WarpCodegenAttributeError, "`nothing` is not an attribute of 'wp'", (3, 9)),
    ("y = Pair().c", WarpCodegenAttributeError, "`c` is not an attribute of", (3, 9)),
    # operands
    ("y = 1.0 + 2", RuntimeError, "Input types must be the same", (3, 9)),
    ("y = float(0.0) + int(4)", RuntimeError, "Input types must be the same, got ['float32', 'int32']", (3, 9)),
    ("y = wp.min(2, 1.0)", RuntimeError, "Input types must be the same, got ['int32', 'float32']", (3, 9)),
    ("y = wp.uint32(1) + 1", RuntimeError, "Input types must be the same", (3, 9)),
    ("y = wp.float64(1.0) * 2.0", RuntimeError, "Input types must be the same", (3, 9)),
    ("y = 1 << wp.int64(2)", RuntimeError, "Input types must be the same", (3, 9)),
    ("x[0] = 1", RuntimeError, "int32", (3, 12)),
    ("x[0] = wp.vec3()", RuntimeError, "vec3", (3, 12)),
    ("x[0] += 1", RuntimeError, "int32", (3, None)),
    ("y = wp.vec3() < wp.vec3()", RuntimeError, "ordered", (3, 9)),
    ("y = wp.vec3() * wp.vec3()", RuntimeError, "", (3, 9)),
    ("y = wp.quat() * wp.vec3()", RuntimeError, "", (3, 9)),
    ("y = True + True", RuntimeError, "", (3, 9)),
    # static
    ("y = wp.static(1 / 0)", WarpCodegenError, "Error evaluating static expression: division by zero", (3, 19)),
    (
        "y = wp.static(nothing_at_all)",
        WarpCodegenError,
        "Error evaluating static expression: name 'nothing_at_all' is not defined. Make sure all variables used in the "
        "static expression are constant.",
        (3, 19),
    ),
    ("k = wp.tid()\ny = wp.static(k)", WarpCodegenError, "Error evaluating static expression: name 'k'", (4, 19)),
    ("for k in range(0, 3, 0):\n    x[k] = 1.0", ValueError, "", (3, None)),
]


@pytest.mark.parametrize("body, error, words, place", CASES, ids=[c[0].split("\n")[-1] for c in CASES])
def test_kernels_that_do_not_compile(body, error, words, place):
    kernel = kernel_from(body, **NAMES)
    with pytest.raises(error) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])
    text = str(caught.value)
    assert words in text
    line, column = place
    found = re.search(r"<kernel bad \d+>:(\d+):(\d+): error", text)
    assert found and int(found[1]) == line, text
    if column is not None:
        assert int(found[2]) == column, text
        # The caret stands under the column that the message names.
        lines = text.split("\n")
        at = next(i for i, part in enumerate(lines) if "error:" in part)
        assert lines[at + 2].index("^") == lines[at + 1].index(lines[at + 1].strip()) + column - 5, text


@pytest.mark.parametrize(
    "call, error, words",
    [
        ("recursive(1)", WarpCodegenError, "recursion"),
        ("asks_for_tid()", WarpCodegenError, "tid()"),
        ("two_kinds_of_results(True)", WarpCodegenTypeError, "return"),
        ("wrong_result(1.0)", WarpCodegenError, "return"),
        ("two_of_three(1.0)", WarpCodegenError, "return"),
    ],
)
def test_functions_that_do_not_compile(call, error, words):
    """The place is that of the function, in its own file."""
    kernel = kernel_from(f"y = {call}", **NAMES)
    with pytest.raises(error, match=re.escape(words)) as caught:
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])
    assert "test_compile_errors.py:" in str(caught.value) and "^" in str(caught.value)


def test_errors_name_the_function():
    kernel = kernel_from("y = 1.0 + 2")
    with pytest.raises(RuntimeError, match=r'Error while parsing function "bad" at <kernel bad \d+>:3:'):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_the_error_stays_and_the_kernel_can_be_mended():
    """A failed kernel fails again in the same way; others of the module are not harmed."""
    kernel = kernel_from("y = 1.0 + 2")
    texts = set()
    for _ in range(3):
        with pytest.raises(RuntimeError) as caught:
            wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])
        texts.add(str(caught.value))
    assert len(texts) == 1
    x = wp.zeros(1, dtype=float)
    wp.launch(kernel_from("x[0] = 1.0 + 2.0"), dim=1, inputs=[x])
    assert x[0] == 3.0


def test_annotations_are_needed():
    with pytest.raises(WarpCodegenError, match="'y'"):
        kernel_from("x[0] = y", params="x: wp.array(dtype=float), y")


@pytest.mark.parametrize(
    "annotation", ["list", "str", "object", "dict[str, int]", "3", "'nonsense'", "wp.array(dtype=str)"]
)
def test_annotations_must_be_types(annotation):
    with pytest.raises((RuntimeError, TypeError, KeyError, ValueError)):
        kernel = kernel_from("pass", params=f"y: {annotation}")
        wp.launch(kernel, dim=1, inputs=[1])


def test_star_parameters_are_refused():
    for params in ("*args: float", "**kwargs: float"):
        with pytest.raises(RuntimeError):
            wp.launch(kernel_from("pass", params=params), dim=1, inputs=[1.0])


def test_lambdas_and_other_objects_are_no_kernels():
    with pytest.raises(RuntimeError):
        wp.kernel(lambda x: None)
    for thing in (3, "text", print, type("C", (), {})):
        with pytest.raises(TypeError):
            wp.kernel(thing)
        with pytest.raises(TypeError):
            wp.func(thing)
    with pytest.raises(TypeError):
        wp.struct(3)
    with pytest.raises(TypeError):
        wp.constant([1, 2])


def test_generic_kernels_need_types():
    @wp.kernel
    def generic(x: wp.array(dtype=Any), v: Any):
        x[0] = x[0] + v

    with pytest.raises(RuntimeError):
        wp.launch(generic, dim=1, inputs=[wp.zeros(1, dtype=float), object()])
    with pytest.raises(RuntimeError):
        wp.launch(generic, dim=1, inputs=[None, 1.0])
    with pytest.raises(RuntimeError):  # float + int in the instance
        wp.launch(generic, dim=1, inputs=[wp.zeros(1, dtype=float), 1])
    with pytest.raises(RuntimeError):
        wp.overload(generic, [wp.array(dtype=float)])
    with pytest.raises(TypeError, match="cannot be generic"):
        wp.overload(generic, [wp.array(dtype=float), Any])


def test_builtins_in_python():
    with pytest.raises(RuntimeError, match="Couldn't find a function"):
        wp.sin(1)
    with pytest.raises(RuntimeError, match="Couldn't find a function"):
        wp.dot(wp.vec3(), wp.vec2())
    for value in ("text", (1.0, "b", 3.0), [], np.ones(3, dtype=complex)):
        with pytest.raises(TypeError):
            wp.length(value)
    with pytest.raises(AttributeError):
        wp.no_such_function(1.0)


def test_values_in_python():
    for count in (2, 4):
        with pytest.raises(ValueError):
            wp.vec3(*range(count))
    with pytest.raises(ValueError):
        wp.mat22(1.0, 2.0, 3.0)
    v = wp.vec3(1.0, 2.0, 3.0)
    for index in (3, -4, 10**30):
        with pytest.raises(IndexError):
            v[index]
        with pytest.raises(IndexError):
            v[index] = 1.0
    with pytest.raises(AttributeError):
        v.xy
    with pytest.raises((TypeError, RuntimeError)):
        v * wp.vec3()
    with pytest.raises((TypeError, ValueError)):
        wp.vec3("a", "b", "c")


def test_very_deep_and_very_long_kernels_end(tmp_path):
    """A limit of the compiler is an exception, never a crash or an endless run."""
    done = run_program(
        tmp_path,
        """
        import warp as wp
        wp.config.quiet = True
        wp.config.cache_kernels = False
        x = wp.zeros(1, dtype=float)
        def attempt(body):
            text = "@wp.kernel\\ndef k(x: wp.array(dtype=float)):\\n" + body
            try:
                wp.launch(wp.context.kernel_from_text(text, "k", {"wp": wp}), dim=1, inputs=[x])
                return "fine"
            except (RuntimeError, SyntaxError, RecursionError, MemoryError) as e:
                return type(e).__name__
        for n in (50, 5000):
            print(attempt("    x[0] = " + "(" * n + "1.0" + ")" * n + "\\n"))
            print(attempt("    x[0] = " + " + ".join(["1.0"] * n) + "\\n"))
            print(attempt("    x[0] = " + "-" * n + "1.0\\n"))
        depth = 90
        ifs = "".join("    " * (k + 1) + "if x[0] < 1.0:\\n" for k in range(depth))
        print(attempt(ifs + "    " * (depth + 1) + "x[0] = 2.0\\n"))
        print(attempt("".join(f"    a{k} = x[0] + {k}.0\\n" for k in range(2000)) + "    x[0] = a1999\\n"))
        """,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split()
    assert len(lines) == 8 and lines[:3] == ["fine"] * 3, lines
