# Counted loops: constant, dynamic, stepped, reversed, empty; the loop variable afterwards; else.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.kernel
def loops(out: wp.array(dtype=float), n: int, step: int, big: wp.int64):
    s = 0.0
    for i in range(10):
        s += float(i)
    for i in range(n):
        s += 1.0
    for i in range(1, n, 2):
        s += 1.0
    for i in range(n, 0, -1):
        s += 1.0
    for i in reversed(range(n)):
        s += float(i)
    for i in range(0, n, step):
        s += 1.0
    for j in range(big):
        s += 1.0
    for k in range(3, 3):
        s += 100.0
    else:
        s += 0.5
    out[0] = s


@wp.kernel
def else_after_break(out: wp.array(dtype=float), n: int):
    for i in range(n):
        if out[i] > 0.0:
            break
    else:
        out[0] = 1.0
