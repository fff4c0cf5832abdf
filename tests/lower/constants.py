# Constants, static expressions, literals of every kind, unrolling for wp.static.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import math

import warp as wp

N = 4
HALF = 1 / 2
LIMIT = wp.constant(wp.float64(2.5))
AXIS = wp.vec3(0.0, 1.0, 0.0)
MASK = wp.uint64(2**64 - 1)


class Kind:
    A = 1
    B = A + 1


@wp.kernel
def constants(out: wp.array(dtype=float), i: int, l: wp.array(dtype=wp.uint64), kind: int = Kind.B):
    out[0] = HALF + float(N) + AXIS.y
    out[1] = float(LIMIT) + wp.static(N * 0.25) + wp.static(math.pi) + wp.pi
    l[0] = MASK
    l[1] = wp.uint64(0xFF_FF) + wp.uint64(0b101) + wp.uint64(1 << 40)
    if i == Kind.A or i == kind:
        out[2] = 1e-3 + 1.5e5
    for k in range(3):
        out[3] += wp.static(1.0 / (k + 1))
    x: float = 1
    y: "wp.float64" = 1
    z: wp.int8
    z = wp.int8(200)
    out[4] = x + float(y) + float(z) + float(7 // -2 + 7 % -2 + -7 / 2)
    w = type(x)(2) + out.dtype(3)
    out[5] = w
