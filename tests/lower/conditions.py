# Short circuit, ternaries, chained comparisons, merged variables, dead branches.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp

DEBUG = False


@wp.kernel
def conditions(a: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i < n and a[i] > 0.0 or i == 7:
        out[i] = 1.0
    x = a[i] if i < n else 0.0
    if 0 <= i < n < 100:
        x = 2.0
    elif not i:
        x = 3.0
        y = 1.0
    else:
        x += 1.0
    out[i] = x
    if a:
        out[i] = -out[i]
    if DEBUG:
        out[i] = undefined_names_are_not_looked_at
    b = n > 3
    b = b == True
    if b:
        out[0] = 0.0


@wp.kernel
def compares(i: int, l: wp.int64, u: wp.uint32, f: float, d: wp.float64, v: wp.vec3, b: wp.uint8):
    x0 = i < l
    x1 = i < f
    x2 = u > -1
    x3 = d == 0.1
    x4 = v != v
    x5 = b < 300
    x6 = i == u
