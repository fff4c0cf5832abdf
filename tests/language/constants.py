# Constants of a module, of classes, static expressions, literals, annotated and chained assignment.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel const --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=CONST
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel static --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=STATIC
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel lits --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=LITS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel annot --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=ANNOT
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel chain --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=CHAIN
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel mixcmp --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=MIXCMP
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


@wp.kernel
def const(out: wp.array(dtype=float)):
    out[0] = float(N)
    out[1] = HALF
    out[2] = V[0]
    out[3] = float(Color.GREEN)
    out[4] = Cfg.V[1]
    out[5] = Cfg.V.x
    out[6] = V.y
# CONST: {{^}}out = [3, 0.5, 1, 2, 5, 4, 2, 0]{{$}}
# CONST-NOT: out


@wp.kernel
def static(out: wp.array(dtype=float)):
    out[wp.tid()] = wp.static(N * 0.5)
# STATIC: {{^}}out = [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]{{$}}
# STATIC-NOT: out


@wp.kernel
def lits(out: wp.array(dtype=float)):
    out[0] = 1e5
    out[1] = float(0xFF)
    out[2] = float(0o10)
    out[3] = float(0b101)
    if wp.uint64(2**64-1) == BIG:
        out[4] = 1.0
# LITS: {{^}}out = [100000, 255, 8, 5, 1, 0, 0, 0]{{$}}
# LITS-NOT: out


@wp.kernel
def annot(out: wp.array(dtype=float)):
    x: float = 1
    y: "float" = 1.0
    z: wp.float64 = 0.5
    out[wp.tid()] = x + y
# ANNOT: {{^}}out = [2, 2, 2, 2, 2, 2, 2, 2]{{$}}
# ANNOT-NOT: out


@wp.kernel
def chain(out: wp.array(dtype=float)):
    i = wp.tid()
    a = b = float(i)
    out[i] = a + b
# CHAIN: {{^}}out = [0, 2, 4, 6, 8, 10, 12, 14]{{$}}
# CHAIN-NOT: out


@wp.kernel
def mixcmp(out: wp.array(dtype=float)):
    i = wp.tid()
    if wp.int64(3) > i - 100:
        out[0] = 1.0
    if 1 < 1.5:
        out[1] = 1.0
    if wp.uint8(200) > wp.int8(-1):
        out[2] = 1.0
    if wp.uint32(1) > -1:
        out[3] = 0.0
    if i > -0.5:
        out[4] = 1.0
# MIXCMP: {{^}}out = [1, 1, 1, 0, 1, 0, 0, 0]{{$}}
# MIXCMP-NOT: out
