# Components, rows and slices of vectors, matrices, quaternions and transforms, read and written.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.kernel
def read(v: wp.vec4, m: wp.mat33, q: wp.quat, t: wp.transform, i: int, out: wp.array(dtype=float)):
    out[0] = v.x + v[1] + v[-1] + v[i]
    out[1] = m[0, 1] + m[i, 2] + m[1][i] + m[-1, -1]
    out[2] = q.w + q[i]
    out[3] = t.p.y + t.q[3] + t[i] + t.p[i]
    w = v[1:3]
    r = v[::-2]
    c = m[:, 1]
    e = m[:, i]
    b = m[0:2, 1:]
    k = m[i, 0:2]
    out[4] = w[0] + r[0] + c[0] + e[0] + b[1, 1] + k[1]


@wp.kernel
def write(i: int, vs: wp.array(dtype=wp.vec3), ms: wp.array(dtype=wp.mat22)):
    v = wp.vec3()
    v.x = 1.0
    v[i] = 2.0
    v[1:] = wp.vec2(3.0, 4.0)
    v.y *= 2.0
    m = wp.mat22()
    m[0] = wp.vec2(1.0, 2.0)
    m[1, i] = 3.0
    m[i][0] += 4.0
    m[:, 1] = wp.vec2(5.0, 6.0)
    t = wp.transform_identity()
    t.p = v
    t.p.z = 7.0
    t.q[3] = 0.5
    for k in range(3):
        t.p[k] = float(k)
    vs[0] = t.p
    vs[i].y = 8.0
    vs[i][0] = 9.0
    vs[1][0:2] = wp.vec2(1.0, 1.0)
    ms[i] = m
    ms[i][1] = wp.vec2()
    ms[i][0, 1] = 1.0
