# Errors inside functions that kernels call: once each, at their own place.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
from typing import Any

import warp as wp


@wp.func
def deep(x: Any):
    return x + undefined


@wp.func
def middle(x: float):
    return deep(x) * 2.0


@wp.func
def recursive(x: float):
    return recursive(x - 1.0)


@wp.func
def ping(x: float):
    return pong(x)


@wp.func
def pong(x: float):
    return ping(x)


@wp.func
def thread(x: float):
    return float(wp.tid()) + x


@wp.kernel
def first(out: wp.array(dtype=float)):
    out[0] = middle(1.0)
    out[1] = middle(2.0)
    out[2] = deep(wp.float64(1.0))


@wp.kernel
def second(out: wp.array(dtype=float)):
    out[0] = recursive(1.0)
    out[1] = ping(1.0)
    out[2] = thread(1.0)
    i, j, k, l, m = wp.tid()
    n = wp.tid(1)

# CHECK:{{^}}functions.py:10:16: error: Referencing undefined symbol: undefined [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        return x + undefined{{$}}
# CHECK-NEXT:{{^}}                   ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}functions.py:20:12: error: 'recursive' calls itself, directly or through others [recursion]{{$}}
# CHECK-NEXT:{{^}}        return recursive(x - 1.0){{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: recursion is not supported in kernels; use a loop{{$}}
# CHECK-NEXT:{{^}}functions.py:30:12: error: 'ping' calls itself, directly or through others [recursion]{{$}}
# CHECK-NEXT:{{^}}        return ping(x){{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: recursion is not supported in kernels; use a loop{{$}}
# CHECK-NEXT:{{^}}functions.py:35:18: error: tid() can only be called in a kernel, not in a function [tid_in_function]{{$}}
# CHECK-NEXT:{{^}}        return float(wp.tid()) + x{{$}}
# CHECK-NEXT:{{^}}                     ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: pass the index to the function as an argument{{$}}
# CHECK-NEXT:{{^}}functions.py:50:21: error: tid() gives at most 4 indices [bad_call]{{$}}
# CHECK-NEXT:{{^}}        i, j, k, l, m = wp.tid(){{$}}
# CHECK-NEXT:{{^}}                        ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}functions.py:51:9: error: tid() takes no arguments [bad_call]{{$}}
# CHECK-NEXT:{{^}}        n = wp.tid(1){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
