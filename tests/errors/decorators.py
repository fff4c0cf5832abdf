# Decorators that only Python knows, on what is ours.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import functools

import warp as wp


@functools.cache
@wp.func
def f(x: float):
    return x


@functools.cache
def plain(x):
    return x


@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = f(1.0)

# CHECK:{{^}}decorators.py:8:2: error: the decorator '@functools.cache' is not known without Python [bad_decorator]{{$}}
# CHECK-NEXT:{{^}}    @functools.cache{{$}}
# CHECK-NEXT:{{^}}     ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernel files know @wp.kernel, @wp.func and @wp.struct{{$}}
# CHECK-NOT:{{error|warning}}:
