# Indexed arrays: a[indices] in kernels, parameters of functions, views of lower rank, slices, atomics, negative indices,
# shapes; and integers behind slices.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel gather --dim 6 --print out \
# RUN: 'a=iota(8)' 'rows=[7,0,3,-1,2,2]' 'out=zeros(6)' $m || exit; done | sort -u | check --prefix=GATHER
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel scatter --dim 8 --print a \
# RUN: 'a=zeros(4)' 'rows=[3,1,3,1,0,0,0,-1]' $m || exit; done | sort -u | check --prefix=SCATTER
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel planes --dim 3 --print out \
# RUN: 'a=iota(4,5)' 'rows=[3,0,1]' 'cols=[4,1]' 'out=zeros(3)' $m || exit; done | sort -u | check --prefix=PLANES
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel parameter --dim 4 --print out \
# RUN: 'a=iota(8)' 'out=zeros(4)' $m || exit; done | sort -u | check --prefix=PARAMETER
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel parts --dim 3 --print p \
# RUN: 'p=zeros(3)' 'rows=[2,0,1]' $m || exit; done | sort -u | check --prefix=PARTS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel behind_slices --dim 4 \
# RUN: --print out 'a=iota(4,5,6)' 'out=zeros(4)' $m || exit; done | sort -u | check --prefix=BEHIND
# RUN: not %weftc run %s --no-cache --debug --kernel gather --dim 2 'a=iota(8)' 'rows=[7,9]' 'out=zeros(2)' 2>&1 \
# RUN: | check --prefix=OUTSIDE
# RUN: not %weftc run %s --no-cache --debug --kernel gather --dim 3 'a=iota(8)' 'rows=[7,1]' 'out=zeros(3)' 2>&1 \
# RUN: | check --prefix=SHORT
# RUN: %weftc %s --kernel parameter --emit=ptx --target sm_80 | check --prefix=PTX
# PTX: ld.global.{{[us]}}32
import warp as wp


@wp.kernel
def gather(a: wp.array(dtype=float), rows: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    picked = a[rows]
    out[i] = picked[i]
# GATHER: {{^}}out = [7, 0, 3, 7, 2, 2]{{$}}
# GATHER-NOT: out
# OUTSIDE: index 9 is out of bounds
# SHORT: index 2 is out of bounds


@wp.func
def count(x: wp.indexedarray(dtype=float), i: int):
    x[i] += 1.0
    wp.atomic_add(x, i, 0.5)
    return x[i]


@wp.kernel
def scatter(a: wp.array(dtype=float), rows: wp.array(dtype=int)):
    count(a[rows], wp.tid())
# SCATTER: {{^}}a = [4.5, 3, 0, 4.5]{{$}}
# SCATTER-NOT: a =


@wp.func
def total(x: wp.indexedarray1d(dtype=float)):
    s = float(0.0)
    for k in range(x.shape[0]):
        s += x[k]
    return s


@wp.func
def total(x: wp.indexedarray2d(dtype=float)):
    s = float(0.0)
    for k in range(len(x)):
        s += total(x[k])
    return s


@wp.kernel
def planes(a: wp.array2d(dtype=float), rows: wp.array(dtype=int), cols: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    x = a[rows, cols]  # [[19, 16], [4, 1], [9, 6]]
    shape = x.shape
    if i == 0:
        out[i] = total(x) + 1000.0 * float(shape[0]) + 100.0 * float(shape[1]) + float(x.size)
    elif i == 1:
        out[i] = total(x[1:]) + total(x[-1]) + total(x[:, 1]) + total(x[::2, 0])
    else:
        y = a[rows]
        z = a[1:3, cols]
        out[i] = y[1, -1] + total(y[2, 1:3]) + total(z) + float(y.shape[1])
        # 4 + (6 + 7) + (9 + 6 + 14 + 11) + 5
# PLANES: {{^}}out = [3261, 86, 62]{{$}}
# PLANES-NOT: out


@wp.kernel
def parameter(a: wp.indexedarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    if a:
        a[i] = a[i] * 2.0
        out[i] = a[i] + a[-1] + float(a.shape[0]) + total(a[6:])
# PARAMETER: {{^}}out = [28, 30, 32, 34]{{$}}
# PARAMETER-NOT: out


@wp.struct
class Particle:
    x: wp.vec3
    mass: float


@wp.kernel
def parts(p: wp.array(dtype=wp.vec3), rows: wp.array(dtype=int)):
    i = wp.tid()
    q = p[rows]
    q[i][1] = float(i) + 1.0
    q[i].z -= 2.0
# PARTS: {{^}}p = [(0 2 -2), (0 3 -2), (0 1 -2)]{{$}}
# PARTS-NOT: p =


@wp.kernel
def behind_slices(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    column = a[1:3, i]  # shape (2, 6)
    corner = a[:, -1, i]  # shape (4,)
    cube = a[i, 1:, 2]  # shape (4,)
    deep = a[::2, :, i]  # shape (2, 5)
    column[0, 0] = -1.0
    n = column.shape[0] * 1000 + corner.shape[0] * 100 + cube.shape[0] * 10 + deep.shape[1]
    out[i] = float(n) + a[1, i, 0] + column[1, 5] + corner[3] + cube[-1] + deep[1, 4]
# BEHIND: {{^}}out = [2733, 2771, 2809, 2847]{{$}}
# BEHIND-NOT: out
