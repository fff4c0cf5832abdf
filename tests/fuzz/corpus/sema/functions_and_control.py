import warp as wp
from typing import Any, Callable
import math

@wp.struct
class V2:
    x: float
    y: float

@wp.func
def add(a: V2, b: V2):
    r = V2()
    r.x = a.x + b.x
    r.y = a.y + b.y
    return r

@wp.func
def mul(a: V2, s: float):
    return V2(a.x * s, a.y * s)

@wp.func
def neg(a: V2):
    return V2(x=-a.x, y=-a.y)

@wp.kernel
def k_structop(out: wp.array(dtype=float)):  # = 4, 6, 9, 12, -1, -2, 5, 0
    a = V2(1.0, 2.0)
    b = V2(3.0, 4.0)
    c = a + b
    out[0] = c.x
    out[1] = c.y
    d = b * 3.0
    out[2] = d.x
    out[3] = d.y
    e = -a
    out[4] = e.x
    out[5] = e.y
    a += b
    a.x += 1.0
    out[6] = a.x

@wp.func
def sq(x: Any):
    return x * x

@wp.func
def ov(x: int):
    return 1.0
@wp.func
def ov(x: float):
    return 2.0
@wp.func
def ov(x: Any):
    return 3.0
@wp.func
def dflt(x: float, y: float = 2.0, z: int = 3):
    return x * 100.0 + y * 10.0 + float(z)

@wp.func
def apply(f: Callable, x: float):
    return f(x)

@wp.kernel
def k_funcs(out: wp.array(dtype=float)):  # = 9, 16, 1, 2, 3, 123, 154, 173
    out[0] = sq(3.0)
    out[1] = float(sq(4))
    out[2] = ov(1)
    out[3] = ov(1.0)
    out[4] = ov(wp.vec3())
    out[5] = dflt(1.0)
    out[6] = dflt(1.0, z=4, y=5.0)
    out[7] = dflt(1.0, 7.0)

@wp.kernel
def k_callable(out: wp.array(dtype=float)):  # = 16, 2, 25, 0, 0, 0, 0, 0
    out[0] = apply(sq, 4.0)
    out[1] = apply(wp.sqrt, 4.0)
    f = sq
    out[2] = f(5.0)

@wp.func
def bump(x: wp.ref[float], y: wp.ref[int]):
    x = x + 1.0
    y = y * 2
    return x

@wp.kernel
def k_ref(out: wp.array(dtype=float), tmp: wp.array(dtype=float)):  # = 2, 2, 3, 4, 8, 1, 0, 0
    x = float(1.0)
    n = int(1)
    out[0] = bump(x, n)
    out[1] = x
    for i in range(1):
        bump(x, n)
    out[2] = x
    out[3] = float(n)
    v = wp.vec2(7.0, 0.0)
    bump(v.x, n)
    out[4] = v[0]
    if wp.tid() == 0:
        bump(tmp[3], n)
        out[5] = tmp[3]

@wp.kernel
def k_views(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    row[2] = float(i)
    a[i][3] = float(i) * 2.0
    s = row[2:4]
    s[0] += 1.0
    out[i] = a[i, 2] + a[i, -5] + float(len(row)) + float(s.shape[0]) + float(a.shape[1])

@wp.kernel
def k_shapeloop(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):  # = x
    p = int(1)
    for k in range(3):
        p *= a.shape[k]
    out[wp.tid()] = float(p)

@wp.kernel
def k_tupleloop(out: wp.array(dtype=float)):  # = 6, 6, 6, 6, 6, 6, 6, 6
    t = (1.0, 2.0, 3.0)
    s = float(0.0)
    for k in range(3):
        s += t[k]
    out[wp.tid()] = s

@wp.kernel
def k_local(out: wp.array(dtype=float)):  # = 3, 4, 5, 6, 7, 8, 9, 10
    i = wp.tid()
    buf = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        buf[k] = float(k + i)
    out[i] = buf[3]

@wp.kernel
def k_swap(out: wp.array(dtype=float)):  # = 2, 1, 5, 0, 0, 0, 0, 0
    a = 1.0
    b = 2.0
    a, b = b, a
    out[0] = a
    out[1] = b
    (c, d), e = (3.0, 4.0), 5.0
    out[2] = e

@wp.kernel
def k_tern(out: wp.array(dtype=float)):  # = 10, 10, 1, 1, 1, 1, 1, 0
    i = wp.tid()
    x = 10.0 if i < 2 else (1.0 if i < 7 else 0.0)
    out[i] = x

@wp.kernel
def k_short(a: wp.array(dtype=float), out: wp.array(dtype=float)):  # = x
    i = wp.tid()
    if i < 4 and a[i] == 0.0 or i == 7:
        out[i] = 1.0

@wp.kernel
def k_isnan(out: wp.array(dtype=float)):  # = 1, 1, 0, 1, 3, -1, 0, 0
    v = wp.vec3(wp.nan, 1.0, 2.0)
    if wp.isnan(v):
        out[0] = 1.0
    if not wp.isfinite(v):
        out[1] = 1.0
    if wp.isinf(v):
        out[2] = 1.0
    if wp.isinf(wp.vec2(wp.inf, 0.0)):
        out[3] = 1.0
    w = wp.abs(wp.vec2(-3.0, 2.0))
    out[4] = w.x
    s = wp.sign(wp.vec2(-3.0, 2.0))
    out[5] = s.x

@wp.kernel
def k_while(out: wp.array(dtype=float)):  # = 5, 5, 5, 5, 5, 5, 6, 7
    i = wp.tid()
    n = int(i)
    while n < 5:
        n += 1
    else:
        n += 0
    out[i] = float(n)

@wp.func
def early(x: int):
    for i in range(10):
        if i == x:
            return float(i)
        for j in range(3):
            if i * j > 5:
                return 50.0
    return 100.0

@wp.kernel
def k_early(out: wp.array(dtype=float)):  # = 0, 1, 2, 50, 50, 50, 50, 50
    i = wp.tid()
    out[i] = early(i)

@wp.kernel
def k_type(out: wp.array(dtype=float), b: wp.array(dtype=wp.float64)):  # = 4, 4, 4, 4, 4, 4, 4, 4
    x = wp.float64(2.0)
    y = type(x)(2.0)
    z = b.dtype(1.0)
    out[wp.tid()] = float(x * y * z)

@wp.kernel
def k_printf(out: wp.array(dtype=float)):
    if wp.tid() == 0:
        wp.printf("%d %f %s\n", 3, 2.5, 1)

@wp.kernel
def k_maybe(out: wp.array(dtype=float)):  # = x
    i = wp.tid()
    if i > 3:
        y = 2.0
    out[i] = y

@wp.kernel
def k_carrytuple(out: wp.array(dtype=float)):  # = 5, 5, 5, 5, 5, 5, 5, 5
    t = (1.0, 2.0)
    for i in range(3):
        t = (t[1], t[0] + 1.0)
    out[wp.tid()] = t[0] + t[1]  - 0.0

@wp.kernel
def k_math(out: wp.array(dtype=float)):
    out[0] = wp.static(math.sqrt(2.0))

@wp.kernel
def k_sliceint(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    s = a[1:3, 2]
    out[0] = s[0]

@wp.kernel
def k_selfassign(out: wp.array(dtype=float)):  # = 3, 3, 3, 3, 3, 3, 3, 3
    max = max(1.0, 3.0)
    out[wp.tid()] = max

@wp.kernel
def k_ne(out: wp.array(dtype=float)):  # = 1, 1, 1, 0, 0, 0, 0, 0
    if wp.vec3(1.0, 2.0, 3.0) == wp.vec3(1.0, 2.0, 3.0):
        out[0] = 1.0
    if wp.mat22() != wp.mat22(1.0, 0.0, 0.0, 0.0):
        out[1] = 1.0
    if "a" == "a":
        out[2] = 1.0
