# Tuples: several results, unpacking, swaps, constant indices, loops over them by unrolling.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.func
def both(x: float) -> tuple[float, int]:
    return x * 2.0, int(x)


@wp.kernel
def tuples(out: wp.array(dtype=float), img: wp.array2d(dtype=float)):
    i, j = wp.tid()
    a, b = both(1.0)
    a, c = float(b), a
    t = (a, b, wp.vec3(1.0))
    s = t[0] + t[-1][2]
    pair = both(2.0)
    s += pair[0]
    x = y = float(pair[1])
    h, w = img.shape
    vx, vy, vz = t[2]
    for k in range(2):
        s += float(img.shape[k])
    out[i + j * w + h] = s + c + x + y + vx + vy + vz
