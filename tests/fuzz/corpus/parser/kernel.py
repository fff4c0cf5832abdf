import warp as wp

@wp.struct
class Particle:
    x: wp.vec3
    mass: float

@wp.func
def clampf(x: float, lo: float = 0.0, *, hi: 'float' = 1.0) -> float:
    """Limits x."""
    return lo if x < lo else (hi if x > hi else x)

@wp.kernel
def step(p: wp.array(dtype=Particle), out: wp.array2d(dtype=float), n: int):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(0, n, 2):
        if k == 3 and not i != j or ~k & 1:
            continue
        elif k > 10:
            break
        else:
            s += p[k].mass ** 2.0 - -s // 3.0
    while s >= 1.0:
        s *= 0.5
    out[i, j] = clampf(s, hi=2.0); out[i][j] += p[i].x[0]
    assert 0 <= i < n, "range"
    v = p[i].x[0:2]; w: wp.vec2 = v @ v
