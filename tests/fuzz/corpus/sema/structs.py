from typing import Any

import warp as wp

vec5 = wp.types.vector(length=5, dtype=wp.float64)
mat23 = wp.types.matrix(shape=(2, 3), dtype=wp.float16)


@wp.struct
class Inner:
    t: wp.transform
    rows: wp.array2d(dtype=wp.vec3)


@wp.struct
class Outer:
    inner: Inner
    m: mat23
    state: wp.uint32
    flag: bool


@wp.func
def draw(o: Outer, s: wp.ref[wp.uint32], f: Any = 1.0):
    return wp.randf(s) * f, o.flag


@wp.kernel
def parts(os: wp.array(dtype=Outer), q: wp.quat, w: vec5, out: wp.array(dtype=Any), x: "wp.float32" = 2):
    i = wp.tid()
    o = os[i]
    o.inner.t.p = wp.quat_rotate(q, o.inner.rows[i, -1])
    o.inner.t.q[3] = x
    o.m[:, 1] = wp.vec2h(wp.float16(1.0), wp.float16(2.0))
    o.m[0] *= wp.float16(2)
    y, b = draw(o, o.state)
    os[i] = o
    os[i].inner.t.p.x += y
    wp.atomic_add(out, i, out.dtype(w[4] if b else w[-1]))
    if o.inner.rows is not None and not b:
        print(o)
        wp.printf("%d %g\n", i, y)
    u, v = int(~i), wp.vec3(*o.inner.t.p)
    local = wp.zeros(shape=(2, 3), dtype=wp.vec3)
    local[u % 2][0:2][1] = v
