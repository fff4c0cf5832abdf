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
def k_const(out: wp.array(dtype=float)):  # = 3, 0.5, 1, 2, 5, 4, 2, 0
    out[0] = float(N)
    out[1] = HALF
    out[2] = V[0]
    out[3] = float(Color.GREEN)
    out[4] = Cfg.V[1]
    out[5] = Cfg.V.x
    out[6] = V.y

@wp.kernel
def k_rngloop(out: wp.array(dtype=float)):  # = 5, 5, 5, 5, 5, 5, 5, 5
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

@wp.kernel
def k_tidtuple(out: wp.array(dtype=float)):  # = 0, 1, 2, 3, 4, 5, 6, 7
    i, j = wp.tid(), 3
    out[i] = float(i)

@wp.kernel
def k_static(out: wp.array(dtype=float)):  # = 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5
    out[wp.tid()] = wp.static(N * 0.5)

@wp.kernel
def k_tp(out: wp.array(dtype=float)):  # = 9, 8, 7, 0, 0, 0, 1, 0
    t = wp.transform_identity()
    t.p = wp.vec3(9.0, 8.0, 7.0)
    if wp.tid() == 0:
        for i in range(7):
            out[i] = t[i]

@wp.kernel
def k_tpx(out: wp.array(dtype=float)):  # = 9, 5, 7, 0, 0, 0, 2, 0
    t = wp.transform_identity()
    t.p = wp.vec3(9.0, 8.0, 7.0)
    t.p[1] = 5.0
    t.q.w = 2.0
    if wp.tid() == 0:
        for i in range(7):
            out[i] = t[i]

@wp.kernel
def k_mij(out: wp.array(dtype=float)):  # = 1, 2, 7, 4, 0, 0, 0, 0
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    m[1][0] = 7.0
    out[0] = m[0][0]
    out[1] = m[0, 1]
    out[2] = m[1][0]
    out[3] = m[-1, -1]

@wp.kernel
def k_matslice(out: wp.array(dtype=float)):  # = 2, 5, 8, 1, 2, 4, 5, 0
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, shape=(3, 3))
    c = m[:, 1]
    for i in range(3):
        out[i] = c[i]
    b = m[0:2, 0:2]
    out[3] = b[0, 0]
    out[4] = b[0, 1]
    out[5] = b[1, 0]
    out[6] = b[1, 1]

@wp.kernel
def k_matslicew(out: wp.array(dtype=float)):  # = 1, 10, 3, 4, 20, 6, 7, 30
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, shape=(3, 3))
    m[:, 1] = wp.vec3(10.0, 20.0, 30.0)
    if wp.tid() == 0:
        for i in range(8):
            out[i] = m[i / 3, i % 3]

@wp.kernel
def k_star(out: wp.array(dtype=float)):  # = 1, 2, 0, 9, 8, 7, 0, 0
    v = wp.vec2(1.0, 2.0)
    u = wp.vec3(*v, 0.0)
    out[0] = u[0]
    out[1] = u[1]
    w = wp.vec3(9.0, 8.0, 7.0)
    x = wp.vec3(*w)
    out[3] = x.x
    out[4] = x.y
    out[5] = x.z

@wp.func
def two(x: float) -> tuple[float, float]:
    return x, x * 2.0

@wp.func
def two2(x: float) -> (float, float):
    return x, x * 2.0

@wp.kernel
def k_two(out: wp.array(dtype=float)):  # = 1, 2, 3, 6, 0, 0, 0, 0
    a, b = two(1.0)
    out[0] = a
    out[1] = b
    c, d = two2(3.0)
    out[2] = c
    out[3] = d

@wp.kernel
def k_lits(out: wp.array(dtype=float)):  # = 100000, 255, 8, 5, 1, 0, 0, 0
    out[0] = 1e5
    out[1] = float(0xFF)
    out[2] = float(0o10)
    out[3] = float(0b101)
    if wp.uint64(2**64-1) == BIG:
        out[4] = 1.0

@wp.kernel
def k_annot(out: wp.array(dtype=float)):  # = 2, 2, 2, 2, 2, 2, 2, 2
    x: float = 1
    y: "float" = 1.0
    z: wp.float64 = 0.5
    out[wp.tid()] = x + y

@wp.kernel
def k_chain(out: wp.array(dtype=float)):  # = 0, 2, 4, 6, 8, 10, 12, 14
    i = wp.tid()
    a = b = float(i)
    out[i] = a + b

@wp.kernel
def k_mixcmp(out: wp.array(dtype=float)):  # = 1, 1, 1, 0, 1, 0, 0, 0
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

@wp.kernel
def k_forelse(out: wp.array(dtype=float)):  # = 1, 1, 1, 0, 0, 0, 0, 0
    i = wp.tid()
    found = float(0.0)
    for j in range(10):
        if j * 2 == i + 4 + i:
            break
        if i >= 3:
            found = 0.0
            if j == 5:
                break
    else:
        found = 1.0
    if i < 3:
        found = 1.0
    out[i] = found

@wp.kernel
def k_nested(out: wp.array(dtype=float)):  # = 10, 9, 17, 24, 30, 35, 39, 42
    i = wp.tid()
    s = float(0.0)
    for a in range(5):
        if a == 3 and i == 0:
            break
        for b in range(5):
            if b > a:
                continue
            if a + b > i:
                break
            s += float(a + b)
        s += 0.0
    k = int(0)
    while True:
        k += 1
        if k > i:
            break
        if k % 2 == 0:
            continue
        s += 1.0
    out[i] = s

@wp.kernel
def k_rev(out: wp.array(dtype=float)):  # = 9, 7, 5, 3, 1, 0, 0, 0
    n = int(0)
    for j in reversed(range(1, 10, 2)):
        out[n] = float(j)
        n += 1

@wp.kernel
def k_negstep(out: wp.array(dtype=float)):  # = 10, 7, 4, 1, 0, 0, 0, 0
    n = int(0)
    for j in range(10, 0, -3):
        out[n] = float(j)
        n += 1

@wp.kernel
def k_dynstep(out: wp.array(dtype=float)):  # = 0, 45, 20, 18, 12, 5, 6, 7
    i = wp.tid()
    s = float(0.0)
    for j in range(0, 10, i):
        s += float(j)
    out[i] = s
