# Elements, views of lower rank, slices, negative indices, shape, local arrays, pointers.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.func
def total(row: wp.array(dtype=float)):
    s = 0.0
    for i in range(row.shape[0]):
        s += row[i]
    return s


@wp.kernel
def arrays(a: wp.array3d(dtype=float), out: wp.array(dtype=float), i: int, u: wp.uint32, k: wp.int64):
    out[0] = a[i, u, k]
    out[-1] = a[0, 1, 2]
    out[i] = a[i][2][-3]
    plane = a[i]
    row = plane[1]
    row[0] = 1.0
    out[1] = total(a[0, i]) + total(row[1:3]) + total(row[::2]) + total(row[i:])
    s = a[i, 1:, :-1]
    s[0, 0] = 2.0
    out[2] = float(len(a) + a.shape[1] + a.ndim + a.size + s.shape[1])
    n = 1
    for d in range(3):
        n *= a.shape[d]
    buffer = wp.zeros(shape=(2, 3), dtype=wp.vec3)
    buffer[1, i].x = 1.0
    out[3] = buffer[1][2][0]
    b = wp.array(ptr=out.ptr, shape=(2, i), dtype=float)
    b[0, 0] = float(n)
