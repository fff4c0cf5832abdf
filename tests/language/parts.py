# Components, rows, columns and slices; spread arguments; several results; state inside a struct.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel rngloop --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=RNGLOOP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel tidtuple --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TIDTUPLE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel tp --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel tpx --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TPX
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel mij --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MIJ
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel matslice --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MATSLICE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel matslicew --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MATSLICEW
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel star --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=STAR
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel two_results --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TWO_RESULTS
import warp as wp
from enum import IntEnum
N = 3
HALF = 1/2
PI2 = wp.pi / 2.0
V = wp.constant(wp.vec3(1.0, 2.0, 3.0))
BIG = wp.uint64(2**64-1)


class Color(IntEnum):
    RED = 1
    GREEN = RED + 1


class Cfg:
    V = wp.vec3(4.0, 5.0, 6.0)
    N = 4


@wp.struct


class S:
    a: int
    v: wp.vec3
    rng: wp.uint32


@wp.struct


class Outer:
    s: S
    m: wp.mat33
    t: wp.transform



@wp.func
def two(x: float) -> tuple[float, float]:
    return x, x * 2.0

@wp.func
def two2(x: float) -> (float, float):
    return x, x * 2.0


@wp.kernel
def rngloop(out: wp.array(dtype=float)):
    s = S()
    s.rng = wp.rand_init(42)
    first = s.rng
    n = int(0)
    for i in range(5):
        before = s.rng
        x = wp.randf(s.rng)
        if s.rng != before:
            n += 1
    if s.rng == first:
        n = 99
    out[wp.tid()] = float(n)
# RNGLOOP: {{^}}out = [5, 5, 5, 5, 5, 5, 5, 5]{{$}}
# RNGLOOP-NOT: out


@wp.kernel
def tidtuple(out: wp.array(dtype=float)):
    i, j = wp.tid(), 3
    out[i] = float(i)
# TIDTUPLE: {{^}}out = [0, 1, 2, 3, 4, 5, 6, 7]{{$}}
# TIDTUPLE-NOT: out


@wp.kernel
def tp(out: wp.array(dtype=float)):
    t = wp.transform_identity()
    t.p = wp.vec3(9.0, 8.0, 7.0)
    if wp.tid() == 0:
        for i in range(7):
            out[i] = t[i]
# TP: {{^}}out = [9, 8, 7, 0, 0, 0, 1, 0]{{$}}
# TP-NOT: out


@wp.kernel
def tpx(out: wp.array(dtype=float)):
    t = wp.transform_identity()
    t.p = wp.vec3(9.0, 8.0, 7.0)
    t.p[1] = 5.0
    t.q.w = 2.0
    if wp.tid() == 0:
        for i in range(7):
            out[i] = t[i]
# TPX: {{^}}out = [9, 5, 7, 0, 0, 0, 2, 0]{{$}}
# TPX-NOT: out


@wp.kernel
def mij(out: wp.array(dtype=float)):
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    m[1][0] = 7.0
    out[0] = m[0][0]
    out[1] = m[0, 1]
    out[2] = m[1][0]
    out[3] = m[-1, -1]
# MIJ: {{^}}out = [1, 2, 7, 4, 0, 0, 0, 0]{{$}}
# MIJ-NOT: out


@wp.kernel
def matslice(out: wp.array(dtype=float)):
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, shape=(3, 3))
    c = m[:, 1]
    for i in range(3):
        out[i] = c[i]
    b = m[0:2, 0:2]
    out[3] = b[0, 0]
    out[4] = b[0, 1]
    out[5] = b[1, 0]
    out[6] = b[1, 1]
# MATSLICE: {{^}}out = [2, 5, 8, 1, 2, 4, 5, 0]{{$}}
# MATSLICE-NOT: out


@wp.kernel
def matslicew(out: wp.array(dtype=float)):
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, shape=(3, 3))
    m[:, 1] = wp.vec3(10.0, 20.0, 30.0)
    if wp.tid() == 0:
        for i in range(8):
            out[i] = m[i / 3, i % 3]
# MATSLICEW: {{^}}out = [1, 10, 3, 4, 20, 6, 7, 30]{{$}}
# MATSLICEW-NOT: out


@wp.kernel
def star(out: wp.array(dtype=float)):
    v = wp.vec2(1.0, 2.0)
    u = wp.vec3(*v, 0.0)
    out[0] = u[0]
    out[1] = u[1]
    w = wp.vec3(9.0, 8.0, 7.0)
    x = wp.vec3(*w)
    out[3] = x.x
    out[4] = x.y
    out[5] = x.z
# STAR: {{^}}out = [1, 2, 0, 9, 8, 7, 0, 0]{{$}}
# STAR-NOT: out


@wp.kernel
def two_results(out: wp.array(dtype=float)):
    a, b = two(1.0)
    out[0] = a
    out[1] = b
    c, d = two2(3.0)
    out[2] = c
    out[3] = d
# TWO_RESULTS: {{^}}out = [1, 2, 3, 6, 0, 0, 0, 0]{{$}}
# TWO_RESULTS-NOT: out
