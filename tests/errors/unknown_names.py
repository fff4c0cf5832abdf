# Names that mean nothing, are assigned too late, or stand for what kernels can't use.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import numpy as np
import warp as wp

N = 3
NUMBERS = [1, 2]


def plain(x):
    return x


@wp.kernel
def other(out: wp.array(dtype=float)):
    out[0] = 1.0


@wp.kernel
def unknown(out: wp.array(dtype=float)):
    out[0] = missing
    out[1] = 1.0 + missing2 * 2.0
    out[2] = wp.nosuch(1.0)
    x = undefined_function(3)
    out[3] = x + 1.0
    out[4] = too_late
    too_late = 1.0
    never += 1.0
    out[5] = never


@wp.kernel
def foreign(out: wp.array(dtype=float)):
    out[0] = np.hypot(1.0, 2.0)
    out[1] = plain(1.0)
    out[2] = other
    other(out)
    out[3] = NUMBERS[0]
    out[4] = float(N)


@wp.kernel
def hidden_constant(out: wp.array(dtype=float)):
    for i in range(3):
        out[i] = float(N)
        N = i

# CHECK:{{^}}unknown_names.py:21:14: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[0] = missing{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:22:20: error: Referencing undefined symbol: missing2 [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[1] = 1.0 + missing2 * 2.0{{$}}
# CHECK-NEXT:{{^}}                       ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:23:14: error: `nosuch` is not an attribute of 'wp' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[2] = wp.nosuch(1.0){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Could not find function wp.nosuch{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:24:9: error: Referencing undefined symbol: undefined_function [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        x = undefined_function(3){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:26:14: error: 'too_late' is used before it is assigned [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[4] = too_late{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: give it a value before this line{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:28:5: error: 'never' is used before it is assigned [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        never += 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: give it a value first{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:34:14: error: 'hypot' of the module 'numpy' can't be called in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[0] = np.hypot(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: a function must be annotated with @wp.func{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:35:14: error: the Python function 'plain' can't be called in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[1] = plain(1.0){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: a function must be annotated with @wp.func{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:36:14: error: the kernel 'other' can't be used as a value in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[2] = other{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:37:5: error: the kernel 'other' can't be called in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        other(out){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: a function must be annotated with @wp.func{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:38:14: error: 'NUMBERS', whose value is not a compile-time constant, can't be used as a value in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[3] = NUMBERS[0]{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}unknown_names.py:45:24: error: 'N' is used before it is assigned [unknown_name]{{$}}
# CHECK-NEXT:{{^}}            out[i] = float(N){{$}}
# CHECK-NEXT:{{^}}                           ^{{$}}
# CHECK-NEXT:{{^}}    note: this function assigns the name, so the constant outside is hidden; use another name{{$}}
# CHECK-NOT:{{error|warning}}:
