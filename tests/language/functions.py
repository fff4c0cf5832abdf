# User operators, overloads, generics, defaults, functions as values, references.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel structop --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=STRUCTOP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel funcs --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=FUNCS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel callable --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=CALLABLE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel ref --dim 8 --print out \
# RUN: 'out=zeros(8)' 'tmp=zeros(8)' $m || exit; done | sort -u | check --prefix=REF
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel type_of --dim 8 --print out \
# RUN: 'out=zeros(8)' 'b=zeros(8)' $m || exit; done | sort -u | check --prefix=TYPE_OF
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel selfassign --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=SELFASSIGN
import warp as wp
from typing import Any, Callable
import math

@wp.struct
class V2:
    x: float
    y: float

@wp.func
def add(a: V2, b: V2):
    r = V2()
    r.x = a.x + b.x
    r.y = a.y + b.y
    return r

@wp.func
def mul(a: V2, s: float):
    return V2(a.x * s, a.y * s)

@wp.func
def neg(a: V2):
    return V2(x=-a.x, y=-a.y)


@wp.func
def sq(x: Any):
    return x * x

@wp.func
def ov(x: int):
    return 1.0
@wp.func
def ov(x: float):
    return 2.0
@wp.func
def ov(x: Any):
    return 3.0
@wp.func
def dflt(x: float, y: float = 2.0, z: int = 3):
    return x * 100.0 + y * 10.0 + float(z)

@wp.func
def apply(f: Callable, x: float):
    return f(x)


@wp.func
def bump(x: wp.ref[float], y: wp.ref[int]):
    x = x + 1.0
    y = y * 2
    return x


@wp.kernel
def structop(out: wp.array(dtype=float)):
    a = V2(1.0, 2.0)
    b = V2(3.0, 4.0)
    c = a + b
    out[0] = c.x
    out[1] = c.y
    d = b * 3.0
    out[2] = d.x
    out[3] = d.y
    e = -a
    out[4] = e.x
    out[5] = e.y
    a += b
    a.x += 1.0
    out[6] = a.x
# STRUCTOP: {{^}}out = [4, 6, 9, 12, -1, -2, 5, 0]{{$}}
# STRUCTOP-NOT: out


@wp.kernel
def funcs(out: wp.array(dtype=float)):
    out[0] = sq(3.0)
    out[1] = float(sq(4))
    out[2] = ov(1)
    out[3] = ov(1.0)
    out[4] = ov(wp.vec3())
    out[5] = dflt(1.0)
    out[6] = dflt(1.0, z=4, y=5.0)
    out[7] = dflt(1.0, 7.0)
# FUNCS: {{^}}out = [9, 16, 1, 2, 3, 123, 154, 173]{{$}}
# FUNCS-NOT: out


@wp.kernel
def callable(out: wp.array(dtype=float)):
    out[0] = apply(sq, 4.0)
    out[1] = apply(wp.sqrt, 4.0)
    f = sq
    out[2] = f(5.0)
# CALLABLE: {{^}}out = [16, 2, 25, 0, 0, 0, 0, 0]{{$}}
# CALLABLE-NOT: out


@wp.kernel
def ref(out: wp.array(dtype=float), tmp: wp.array(dtype=float)):
    x = float(1.0)
    n = int(1)
    out[0] = bump(x, n)
    out[1] = x
    for i in range(1):
        bump(x, n)
    out[2] = x
    out[3] = float(n)
    v = wp.vec2(7.0, 0.0)
    bump(v.x, n)
    out[4] = v[0]
    if wp.tid() == 0:
        bump(tmp[3], n)
        out[5] = tmp[3]
# REF: {{^}}out = [2, 2, 3, 4, 8, 1, 0, 0]{{$}}
# REF-NOT: out


@wp.kernel
def type_of(out: wp.array(dtype=float), b: wp.array(dtype=wp.float64)):
    x = wp.float64(2.0)
    y = type(x)(2.0)
    z = b.dtype(1.0)
    out[wp.tid()] = float(x * y * z)
# TYPE_OF: {{^}}out = [4, 4, 4, 4, 4, 4, 4, 4]{{$}}
# TYPE_OF-NOT: out


@wp.kernel
def selfassign(out: wp.array(dtype=float)):
    max = max(1.0, 3.0)
    out[wp.tid()] = max
# SELFASSIGN: {{^}}out = [3, 3, 3, 3, 3, 3, 3, 3]{{$}}
# SELFASSIGN-NOT: out
