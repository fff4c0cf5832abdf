# Structs: fields read and written at any depth, construction, copies, operators by user functions.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.struct
class Inner:
    v: wp.vec3
    data: wp.array(dtype=float)


@wp.struct
class Outer:
    inner: Inner
    n: int


@wp.struct
class Pair:
    a: int
    b: float


@wp.func
def add(a: Inner, b: Inner):
    return Inner(a.v + b.v, a.data)


@wp.kernel
def structs(o: Outer, items: wp.array(dtype=Outer), pair: Pair, i: int):
    p = o
    p.inner.v.x = 1.0
    p.n += 2
    p.inner.data[i] = float(p.n)
    items[i].inner.v = o.inner.v
    items[i].inner.data[0] = 1.0
    items[i] = p
    q = Outer()
    r = Outer(n=3, inner=Inner())
    r.inner = p.inner + q.inner
    items[r.n] = r
    if pair == Pair(1, 2.0):
        items[0].n = 1
