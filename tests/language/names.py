# Members of types and scalars, names of builtins behind other modules, targets of loops that change their type, sizes in
# wp.static, elements of slices as arguments.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel members --dim 2 --print out \
# RUN: 'a=iota(2,3)' 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MEMBERS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel foreign --dim 4 --print out \
# RUN: 'x=iota(4)' 'out=zeros(4)' $m || exit; done | sort -u | check --prefix=FOREIGN
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel targets --dim 6 --print out \
# RUN: 'x=iota(6)' 'n=2' 'out=zeros(6)' $m || exit; done | sort -u | check --prefix=TARGETS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel both_ways --dim 4 --print out \
# RUN: 'n=3' 'out=zeros(4)' $m || exit; done | sort -u | check --prefix=BOTH
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel trips --dim 3 --print out \
# RUN: 'out=zeros(3)' $m || exit; done | sort -u | check --prefix=TRIPS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel spread --dim 1 --print out \
# RUN: 'a=iota(8)' 'out=zeros(3)' $m || exit; done | sort -u | check --prefix=SPREAD
import math

import numpy as np
import warp as wp


@wp.kernel
def members(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    v = a[i]
    s = out[i]
    T = type(v)
    out[i * 4] = a.dtype.dtype(3) + s.dtype(i)
    out[i * 4 + 1] = T.dtype(v.length) + (v[0] + v[1]).dtype(10)
    total = float(0.0)
    for k in range(v.length):
        total += v[k] * float(wp.static(len(v)))
    out[i * 4 + 2] = total
    out[i * 4 + 3] = wp.identity(n=a.dtype.length, dtype=float)[2, 2] + float(a.shape[0].dtype(7))


# MEMBERS: {{^}}out = [3, 13, 9, 8, 4, 13, 36, 8]{{$}}


@wp.kernel
def foreign(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i]
    out[i] = math.sqrt(y * y) + np.abs(-y) + math.floor(y + 0.5) + np.cross(wp.vec3(y, 0.0, 0.0), wp.vec3(0.0, 1.0, 0.0))[2]


# FOREIGN: {{^}}out = [0, 4, 8, 12]{{$}}


@wp.kernel
def targets(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    if x[i] > 2.5:
        k = wp.ceil(x[i] + 0.5)
        s += k
    for k in range(n):
        if k > 1:
            break
        s += float(k) * 100.0
    out[i] = s + float(k) * 1000.0


# TARGETS: {{^}}out = [1100, 1100, 1100, 1104, 1105, 1106]{{$}}


@wp.kernel
def both_ways(n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    k = float(i) + 0.5
    s = k
    if i % 2 == 0:
        for k in range(n):
            s += float(k)
    else:
        s += k * 10.0
        for k in range(n + 2):
            s += 1.0
    out[i] = s + float(k) * 100.0


# BOTH: {{^}}out = [203.5, 421.5, 205.5, 443.5]{{$}}


@wp.kernel
def trips(out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(3):
        k = float(wp.static(j)) * 0.5
        s += k
        for k in range(2):
            s += float(k)
    out[i] = s


# TRIPS: {{^}}out = [4.5, 4.5, 4.5]{{$}}


@wp.func
def joined(a: float, b: float, c: float):
    return a * 100.0 + b * 10.0 + c


@wp.kernel
def spread(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = joined(*a[1:4])
    out[1] = joined(9.0, *a[2:6:2])
    out[2] = joined(*wp.vec3(3.0, 2.0, 1.0))


# SPREAD: {{^}}out = [123, 924, 321]{{$}}
