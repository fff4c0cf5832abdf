# Views, slices, local arrays, shapes and tuples in loops, swaps, comparison of vectors, NaN tests on vectors.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel views --dim 8 --print out \
# RUN: 'a=zeros(8,8)' 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=VIEWS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel shapeloop --dim 8 --print out \
# RUN: 'a=zeros(8,8,8)' 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=SHAPELOOP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel tupleloop --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=TUPLELOOP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel local --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=LOCAL
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel swap --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=SWAP
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel isnan --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=ISNAN
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel carrytuple --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=CARRYTUPLE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel ne --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=NE
import warp as wp


@wp.kernel
def views(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    row = a[i]
    row[2] = float(i)
    a[i][3] = float(i) * 2.0
    s = row[2:4]
    s[0] += 1.0
    out[i] = a[i, 2] + a[i, -5] + float(len(row)) + float(s.shape[0]) + float(a.shape[1])
# VIEWS: {{^}}out = [19, 22, 25, 28, 31, 34, 37, 40]{{$}}
# VIEWS-NOT: out


@wp.kernel
def shapeloop(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):
    p = int(1)
    for k in range(3):
        p *= a.shape[k]
    out[wp.tid()] = float(p)
# SHAPELOOP: {{^}}out = [512, 512, 512, 512, 512, 512, 512, 512]{{$}}
# SHAPELOOP-NOT: out


@wp.kernel
def tupleloop(out: wp.array(dtype=float)):
    t = (1.0, 2.0, 3.0)
    s = float(0.0)
    for k in range(3):
        s += t[k]
    out[wp.tid()] = s
# TUPLELOOP: {{^}}out = [6, 6, 6, 6, 6, 6, 6, 6]{{$}}
# TUPLELOOP-NOT: out


@wp.kernel
def local(out: wp.array(dtype=float)):
    i = wp.tid()
    buf = wp.zeros(shape=4, dtype=float)
    for k in range(4):
        buf[k] = float(k + i)
    out[i] = buf[3]
# LOCAL: {{^}}out = [3, 4, 5, 6, 7, 8, 9, 10]{{$}}
# LOCAL-NOT: out


@wp.kernel
def swap(out: wp.array(dtype=float)):
    a = 1.0
    b = 2.0
    a, b = b, a
    out[0] = a
    out[1] = b
    (c, d), e = (3.0, 4.0), 5.0
    out[2] = e
# SWAP: {{^}}out = [2, 1, 5, 0, 0, 0, 0, 0]{{$}}
# SWAP-NOT: out


@wp.kernel
def isnan(out: wp.array(dtype=float)):
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
# ISNAN: {{^}}out = [1, 1, 0, 1, 3, -1, 0, 0]{{$}}
# ISNAN-NOT: out


@wp.kernel
def carrytuple(out: wp.array(dtype=float)):
    t = (1.0, 2.0)
    for i in range(3):
        t = (t[1], t[0] + 1.0)
    out[wp.tid()] = t[0] + t[1]  - 0.0
# CARRYTUPLE: {{^}}out = [6, 6, 6, 6, 6, 6, 6, 6]{{$}}
# CARRYTUPLE-NOT: out


@wp.kernel
def ne(out: wp.array(dtype=float)):
    if wp.vec3(1.0, 2.0, 3.0) == wp.vec3(1.0, 2.0, 3.0):
        out[0] = 1.0
    if wp.mat22() != wp.mat22(1.0, 0.0, 0.0, 0.0):
        out[1] = 1.0
    if "a" == "a":
        out[2] = 1.0
# NE: {{^}}out = [1, 1, 1, 0, 0, 0, 0, 0]{{$}}
# NE-NOT: out
