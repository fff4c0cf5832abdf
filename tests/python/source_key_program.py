"""Run by test_source_key.py in processes of their own: kernels of one text each whose names mean something else by
VARIANT. Prints, as JSON, each kernel's result and whether it was found by its source key."""

import json
import math
import sys
import types

import warp as wp
from warp import _weft

wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[1]
B = sys.argv[2] == "b"

NUMBER = 4 if B else 3
VECTOR = wp.vec3(1.0, 2.0, 9.0 if B else 3.0)
TEXT_ONLY = 1
other_module = types.ModuleType("other_module")
other_module.DEPTH = 7 if B else 5
other_module.inner = types.SimpleNamespace()


class Config:
    WIDTH = 20 if B else 10


if B:

    @wp.func
    def leaf(x: float):
        return x + 2.0

else:

    @wp.func
    def leaf(x: float):
        return x + 1.0


@wp.func
def middle(x: float):
    return leaf(x) * 2.0


if B:

    @wp.func
    def picked(x: int):
        return 5.0

    @wp.func
    def picked(x: float):  # noqa: F811 - an overload
        return 7.0

else:

    @wp.func
    def picked(x: int):
        return 5.0

    @wp.func
    def picked(x: float):  # noqa: F811
        return 6.0


if B:

    @wp.struct
    class Box:
        n: wp.int8

else:

    @wp.struct
    class Box:
        n: wp.int32


alias = math.floor if B else math.ceil
Number = wp.int8 if B else wp.int32
table = [1.0, 2.0, 5.0 if B else 4.0]


@wp.kernel
def constant(x: wp.array(dtype=float)):
    x[0] = float(NUMBER)


@wp.kernel
def vector(x: wp.array(dtype=float)):
    x[0] = VECTOR[2]


@wp.kernel
def module_member(x: wp.array(dtype=float)):
    x[0] = float(other_module.DEPTH)


@wp.kernel
def class_member(x: wp.array(dtype=float)):
    x[0] = float(Config.WIDTH)


@wp.kernel
def function(x: wp.array(dtype=float)):
    x[0] = leaf(1.0)


@wp.kernel
def function_behind(x: wp.array(dtype=float)):
    x[0] = middle(1.0)


@wp.kernel
def overload(x: wp.array(dtype=float)):
    x[0] = picked(1.0) + 10.0 * picked(1)


@wp.kernel
def structure(x: wp.array(dtype=float)):
    b = Box()
    b.n = type(b.n)(300)
    x[0] = float(b.n)


@wp.kernel
def type_name(x: wp.array(dtype=float)):
    x[0] = float(Number(300))


@wp.kernel
def static(x: wp.array(dtype=float)):
    x[0] = wp.static(float(sum(table)))


@wp.kernel
def static_of_loop(x: wp.array(dtype=float)):
    for i in range(3):
        x[0] = x[0] + wp.static(table[i])


def make(amount):
    @wp.kernel
    def closure(x: wp.array(dtype=float)):
        x[0] = x[0] + amount

    return closure


closure = make(2.5 if B else 1.5)
results = {}


def run(name, kernel, dim=1):
    x = wp.zeros(2, dtype=float)
    before = _weft.build_counts()
    wp.launch(kernel, dim=dim, inputs=[x])
    after = _weft.build_counts()
    results[name] = (float(x.numpy()[0]), after["by_source"] - before["by_source"])


for kernel in (constant, vector, module_member, class_member, function, function_behind, overload, structure):
    run(kernel.key, kernel)
run("type_name", type_name)
run("static", static)
run("static_of_loop", static_of_loop)
run("closure", closure)

LATE = 1.0


@wp.kernel
def late(x: wp.array(dtype=float)):
    x[0] = LATE


# A form that is built when a name has come to mean something else must not be stored under the earlier meaning.
if sys.argv[3] == "first":
    run("late", late)
    LATE = 2.0
    run("late_changed", late, dim=(1, 1))
else:
    run("late_other_form", late, dim=(1, 1))
print(json.dumps(results))
