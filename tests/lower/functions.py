# Overloads, generics, defaults, keywords, references, functions as values, spread arguments.
# GOLDEN: %weftc %s --emit=ir => %b.ir
from typing import Any, Callable

import warp as wp


@wp.func
def square(x: Any):
    return x * x


@wp.func
def pick(x: int):
    return 1.0


@wp.func
def pick(x: Any):
    return 2.0


@wp.func
def affine(x: float, scale: float = 2.0, offset: int = 3):
    return x * scale + float(offset)


@wp.func
def bump(x: wp.ref[float], by: float):
    x += by


@wp.func
def apply(f: Callable, x: float):
    return f(x)


@wp.kernel
def calls(out: wp.array(dtype=float), v: wp.vec2, d: wp.float64):
    out[0] = square(3.0)
    out[1] = float(square(d))
    out[2] = float(square(2)) + square(4.0)
    out[3] = pick(1) + pick(v)
    out[4] = affine(1.0) + affine(1.0, offset=4) + affine(offset=1, x=2.0)
    x = 1.0
    bump(x, 2.0)
    bump(out[5], x)
    bump(v.x, 1.0)
    out[6] = apply(square, 2.0) + apply(wp.sqrt, x)
    f = wp.sin
    out[7] = f(x) + wp.length(wp.vec3(*v, 1.0))
