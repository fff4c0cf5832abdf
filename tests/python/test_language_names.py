"""What names mean in kernels: members of enums, objects, functions, modules and types, and functions of other modules."""

from __future__ import annotations

import enum
import math
import sys
import types
from math import sin
from typing import Any

import numpy as np
import pytest

import warp as wp


class Shape(enum.Enum):
    SPHERE = 3
    SCALE = 2.5
    LABEL = "box"
    DOWN = wp.vec3(0.0, -1.0, 0.0)
    SOLID = True


class Mode(enum.IntEnum):
    SLOW = 1
    FAST = 7


class Flags(enum.IntFlag):
    A = 1
    B = 2
    C = 4


class PlainFlags(enum.Flag):
    X = 8
    Y = 16


shapes = types.ModuleType("shapes")
shapes.Shape = Shape
shapes.inner = types.ModuleType("shapes.inner")
shapes.inner.Mode = Mode


@wp.kernel
def enum_values(out: wp.array(dtype=float), mode: int):
    out[0] = float(Shape.SPHERE.value)
    out[1] = Shape.SCALE.value
    out[2] = float(Mode.FAST)
    out[3] = float(Mode.FAST.value + Mode.SLOW)
    out[4] = float(shapes.Shape.SPHERE.value + shapes.inner.Mode.FAST.value)
    out[5] = float((Flags.A | Flags.C) & (Flags.C | Flags.B))
    out[6] = float(PlainFlags.X.value | PlainFlags.Y.value)
    out[7] = Shape.DOWN.value[1]
    if Shape.SOLID.value and mode == Mode.FAST.value:
        out[8] = 1.0
    m = Mode.SLOW
    out[9] = float(m.value)
    if (mode & Flags.B) != 0:
        out[10] = 1.0


def test_enum_members(device: wp.Device) -> None:
    out = wp.zeros(11, dtype=float)
    wp.launch(enum_values, dim=1, inputs=[out, Mode.FAST])
    assert out.numpy().tolist() == [3.0, 2.5, 7.0, 8.0, 10.0, 4.0, 24.0, -1.0, 1.0, 1.0, 1.0]


@pytest.mark.cpu_only
def test_of_enum_members_only_the_value_is_known() -> None:
    @wp.kernel(module="unique")
    def asks(out: wp.array(dtype=float)):
        out[0] = float(Mode.FAST.nothing)

    with pytest.raises(AttributeError, match="`nothing` is not an attribute of"):
        wp.launch(asks, dim=1, inputs=[wp.zeros(1)])


def test_an_enum_that_changes_its_value_makes_another_kernel(device: wp.Device) -> None:
    def kernel_for(chosen: Any) -> wp.Kernel:
        @wp.kernel(module="unique")
        def write(out: wp.array(dtype=int)):
            out[0] = chosen.value * 10 + chosen.value

        return write

    found = []
    for chosen in (Mode.SLOW, Mode.FAST, Shape.SPHERE):
        out = wp.zeros(1, dtype=int)
        wp.launch(kernel_for(chosen), dim=1, inputs=[out])
        found.append(int(out.numpy()[0]))
    assert found == [11, 77, 33]


@wp.kernel
def scalar_types(x: wp.array(dtype=wp.float64), n: wp.int16, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    m = x[i]
    out[i] = m.dtype(0.1) + x[i].dtype(n) + (m * m).dtype(1.0)
    k = n.dtype(300) + n
    out[i] += m.dtype(k)


def test_the_type_of_a_scalar(device: wp.Device) -> None:
    x, out = wp.array([2.0, 3.0], dtype=wp.float64), wp.zeros(2, dtype=wp.float64)
    wp.launch(scalar_types, dim=2, inputs=[x, 5], outputs=[out])
    assert out.numpy().tolist() == [311.1, 311.1]


@wp.func
def same_type(x: Any):
    return x.dtype(2.0) * x


@wp.kernel
def generic_scalar_types(a: wp.array(dtype=Any), v: wp.array(dtype=Any)):
    i = wp.tid()
    a[i] = same_type(a[i])
    v[i] = v.dtype(v.dtype.dtype(7)) + type(v[i]).dtype(1) * v[i]


@pytest.mark.parametrize("scalar, vector", [(wp.float32, wp.vec3), (wp.float64, wp.vec2d), (wp.float16, wp.vec4h)])
def test_types_of_generic_arguments(device: wp.Device, scalar: Any, vector: Any) -> None:
    a, v = wp.ones(3, dtype=scalar), wp.ones(3, dtype=vector)
    wp.launch(generic_scalar_types, dim=3, inputs=[a, v])
    assert a.numpy().tolist() == [2.0] * 3 and (v.numpy() == 8.0).all()


@wp.func
def square(x: float):
    return x * x


@wp.func
def slope(x: float):
    return 2.0 * x


square.derivative = slope
square.name_of_it = "square"


class Operations:
    """Anything that holds functions and types."""

    def __init__(self, act: Any, weight: float = 3.0):
        self.act = act
        self.weight = weight
        self.inner = types.SimpleNamespace(act=slope, Shape=Shape)

    def kernel(self) -> wp.Kernel:
        @wp.kernel(module="unique")
        def run(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = self.act(x[i]) + 10.0 * self.inner.act(x[i]) + float(self.inner.Shape.SPHERE.value)

        return run


@wp.kernel
def function_of_a_function(x: wp.array(dtype=float)):
    x[0] = square.derivative(x[0])


def test_functions_of_objects(device: wp.Device) -> None:
    x, y = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(Operations(square).kernel(), dim=3, inputs=[x], outputs=[y])
    assert y.numpy().tolist() == [24.0, 47.0, 72.0]
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert x.grad.numpy().tolist() == [22.0, 24.0, 26.0]
    wp.launch(Operations(slope).kernel(), dim=3, inputs=[x], outputs=[y])  # the same text, another function
    assert y.numpy().tolist() == [25.0, 47.0, 69.0]
    value = wp.array([5.0], dtype=float)
    wp.launch(function_of_a_function, dim=1, inputs=[value])
    assert value.numpy()[0] == 10.0


def test_gradients_are_those_of_the_function_that_ran(device: wp.Device) -> None:
    operations = Operations(square)
    kernel = operations.kernel()
    x, y = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[x], outputs=[y])
    operations.act = slope  # the object is the program's own; what was recorded stays
    tape.backward(grads={y: wp.ones(1, dtype=float)})
    assert x.grad.numpy()[0] == 26.0


@pytest.mark.cpu_only
@pytest.mark.parametrize("expression", ["ops.weight", "ops.missing", "ops", "square.name_of_it", "ops.inner"])
def test_values_of_objects_are_not_read(expression: str) -> None:
    source = f"@wp.kernel\ndef read(x: wp.array(dtype=float)):\n    x[0] = float({expression})\n"
    kernel = wp._src.kernels.definitions.kernel_from_text(
        source, "read", {"wp": wp, "ops": Operations(square), "square": square}
    )
    with pytest.raises(TypeError, match="Invalid external reference type: <class '.*'>"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1)])


def make_space(factor: float) -> Any:
    """An object with a struct and functions on it, as libraries of finite elements have."""

    @wp.struct
    class Data:
        value: float

    @wp.func
    def use(d: Any):
        return d.value * factor

    return types.SimpleNamespace(Data=Data, use=use)


def kernel_of_space(space: Any) -> wp.Kernel:
    @wp.func
    def twice(d: space.Data):
        return 2.0 * space.use(d)

    @wp.kernel(module="unique")
    def run(d: space.Data, out: wp.array(dtype=float)):
        out[0] = twice(d) + space.use(d)

    return run


def test_annotations_as_text_that_name_objects(device: wp.Device) -> None:
    for factor in (2.0, 5.0):
        space = make_space(factor)
        data, out = space.Data(), wp.zeros(1, dtype=float)
        data.value = 4.0
        wp.launch(kernel_of_space(space), dim=1, inputs=[data, out])
        assert out.numpy()[0] == 12.0 * factor


def lerp(a: float, b: float, t: float) -> float:
    """A Python function that has the name of a builtin."""
    raise AssertionError("kernels don't call Python functions")


@wp.kernel
def other_modules(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i]
    out[i] = math.sqrt(y) + np.abs(-y) + sin(y) + math.floor(y + 0.75) + lerp(y, y + 2.0, 0.5) + math.pi
    out[i] += np.cross(wp.vec3(y, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))[2]


def test_functions_of_other_modules_mean_builtins(device: wp.Device) -> None:
    x, out = wp.array([1.0, 4.0, 6.25], dtype=float), wp.zeros(3, dtype=float)
    wp.launch(other_modules, dim=3, inputs=[x], outputs=[out])
    y = x.numpy()
    wanted = np.sqrt(y) + y + np.sin(y) + np.floor(y + 0.75) + (y + 1.0) + math.pi + y
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-6)


@pytest.mark.cpu_only
def test_functions_that_no_builtin_has_stay_an_error() -> None:
    @wp.kernel(module="unique")
    def asks(x: wp.array(dtype=float)):
        x[0] = math.hypot(x[0], 2.0)

    with pytest.raises(RuntimeError, match="can't be called in kernels"):
        wp.launch(asks, dim=1, inputs=[wp.zeros(1)])


@pytest.fixture
def module_below_warp() -> Any:
    made = types.ModuleType("warp.pretended")
    made.inner = types.ModuleType("warp.pretended.inner")
    made.JOINT_FREE = 4
    made.square = square
    made.inner.N = 3
    sys.modules["warp.pretended"], wp.pretended = made, made
    yield made
    del sys.modules["warp.pretended"], wp.pretended


def test_modules_below_warp(device: wp.Device, module_below_warp: Any) -> None:
    import warp.pretended as other

    @wp.kernel(module="unique")
    def read(out: wp.array(dtype=float)):
        out[0] = float(wp.pretended.JOINT_FREE) + wp.pretended.square(3.0)
        out[1] = other.square(float(other.inner.N)) + float(wp.pretended.inner.N)
        out[2] = wp.types.float32(wp.sqrt(4.0)) + wp.context.float32(1.0)

    out = wp.zeros(3, dtype=float)
    wp.launch(read, dim=1, inputs=[out])
    assert out.numpy().tolist() == [13.0, 12.0, 3.0]
    module_below_warp.JOINT_FREE = 5  # a constant like any other: kernels that are made from now on see it
    read.forget()
    wp.launch(read, dim=1, inputs=[out])
    assert out.numpy()[0] == 14.0


@pytest.mark.cpu_only
def test_names_that_warp_does_not_have() -> None:
    @wp.kernel(module="unique")
    def asks(x: wp.array(dtype=float)):
        x[0] = wp.squareroot(x[0])

    with pytest.raises(AttributeError, match="`squareroot` is not an attribute of 'wp'"):
        wp.launch(asks, dim=1, inputs=[wp.zeros(1)])


@wp.kernel
def members_of_types(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    v = a[0]
    m = wp.identity(n=v.length, dtype=type(v).dtype)
    for k in range(v.length):
        out[0] = out[0] + m[k, k]
    out[1] = float(a.dtype.length + type(m).length) + type(a).dtype(5.0)[2]


def test_members_of_types(device: wp.Device) -> None:
    out = wp.zeros(2, dtype=float)
    wp.launch(members_of_types, dim=1, inputs=[wp.zeros(1, dtype=wp.vec3), out])
    assert out.numpy().tolist() == [3.0, 17.0]


@pytest.mark.cpu_only
@pytest.mark.parametrize("expression", ["v.shape", "type(v).shape", "a.dtype.shape", "a.nothing", "x.nothing", "N.foo"])
def test_attributes_that_are_not_there(expression: str) -> None:
    source = (
        "@wp.kernel\ndef read(a: wp.array(dtype=wp.vec3), x: float):\n"
        f"    v = a[0]\n    y = float({expression})\n    a[0] = wp.vec3(y)\n"
    )
    kernel = wp._src.kernels.definitions.kernel_from_text(source, "read", {"wp": wp, "N": 3})
    name = expression.rpartition(".")[2]
    with pytest.raises(AttributeError, match=f"`{name}` is not an attribute of"):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=wp.vec3), 1.0])
