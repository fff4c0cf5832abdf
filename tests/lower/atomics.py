# Atomics: += and -= on elements and their parts, the functions; the other operators read and write.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.struct
class S:
    x: float
    v: wp.vec3


@wp.kernel
def atomics(a: wp.array(dtype=float), b: wp.array2d(dtype=int), s: wp.array(dtype=S), i: int):
    a[i] += 1.0
    a[-1] -= 2.0
    a[i] *= 3.0
    a[i] /= 4.0
    b[i, 0] |= 1
    b[i, 0] &= 2
    b[i, 0] ^= 3
    b[i, 0] <<= 4
    s[i].x += 1.0
    s[i].v.y -= 2.0
    s[i].v += wp.vec3(1.0, 2.0, 3.0)
    old = wp.atomic_add(a, i, 1.0)
    old = wp.atomic_sub(a, i, old)
    old = wp.atomic_min(a, i, old)
    old = wp.atomic_max(a, value=old, i=i)
    was = wp.atomic_cas(b, i, 1, 5, 6)
    was = wp.atomic_exch(b, i, 1, was)
