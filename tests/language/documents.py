# The kernels of the documents that describe the language, as they stand there.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel simple_kernel --dim 3 \
# RUN: 'a=iota(3)' 'b=ones(3)' 'c=zeros(3)' --print c $m || exit; done | sort -u | check --prefix=SIMPLE
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel loss --dim 4 \
# RUN: 'xs=ones(4,2)' 'l=zeros(1)' --print l $m || exit; done | sort -u | check --prefix=LOSS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel eval_rosenbrock --dim 2 \
# RUN: 'xs=[1,1,2,3]' 'z=zeros(2)' --print z $m || exit; done | sort -u | check --prefix=ROSENBROCK
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel matmul_kernel --dim 3,4 \
# RUN: 'a=iota(3,2)' 'b=iota(2,4)' 'c=zeros(3,4)' --print c $m || exit; done | sort -u | check --prefix=MATMUL
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel diagonal_kernel --dim 1 \
# RUN: 'output=zeros(1)' $m || exit; done | sort -u | check --prefix=DIAGONAL
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel basis --dim 1 \
# RUN: 'out=zeros(12)' $m || exit; done | sort -u | check --prefix=BASIS
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel collide --dim 4 \
# RUN: 'geometry=[0,2,1,0]' $m --serial || exit; done | sort -u | check --prefix=COLLIDE
import warp as wp

vec5d = wp.types.vector(length=5, dtype=wp.float64)
mat32h = wp.types.matrix(shape=(3, 2), dtype=wp.float16)
quatd = wp.types.quaternion(dtype=wp.float64)
transformd = wp.types.transformation(dtype=wp.float64)

TYPE_SPHERE = wp.constant(0)
TYPE_CUBE = wp.constant(1)
TYPE_CAPSULE = wp.constant(2)


@wp.kernel
def simple_kernel(a: wp.array(dtype=wp.vec3),
                  b: wp.array(dtype=wp.vec3),
                  c: wp.array(dtype=float)):

    # get thread index
    tid = wp.tid()

    # load two vec3s
    x = a[tid]
    y = b[tid]

    # compute the dot product between vectors
    r = wp.dot(x, y)

    # write result back to memory
    c[tid] = r
# SIMPLE: {{^}}c = [3, 12, 21]{{$}}
# SIMPLE-NOT: c =


@wp.kernel()
def loss(xs: wp.array(dtype=float, ndim=2), l: wp.array(dtype=float)):
    tid = wp.tid()
    wp.atomic_add(l, 0, xs[tid, 0] ** 2.0 + xs[tid, 1] ** 2.0)
# LOSS: {{^}}l = [8]{{$}}
# LOSS-NOT: l =


@wp.func
def rosenbrock(x: float, y: float):
    return (1.0 - x) ** 2.0 + 100.0 * (y - x**2.0) ** 2.0


@wp.kernel
def eval_rosenbrock(
    xs: wp.array(dtype=wp.vec2),
    # outputs
    z: wp.array(dtype=float),
):
    i = wp.tid()
    x = xs[i]
    z[i] = rosenbrock(x[0], x[1])
# ROSENBROCK: {{^}}z = [0, 101]{{$}}
# ROSENBROCK-NOT: z =


@wp.kernel
def matmul_kernel(
    a: wp.array2d(dtype=float),  # NxK input
    b: wp.array2d(dtype=float),  # KxM input
    c: wp.array2d(dtype=float),  # NxM output
):
    # launch dims should be (N, M)
    i, j = wp.tid()
    N = a.shape[0]
    K = a.shape[1]
    M = b.shape[1]
    if i < N and j < M:
        s = wp.float32(0)
        for k in range(K):
            s += a[i, k] * b[k, j]
        c[i, j] = s
# MATMUL: {{^}}c = [4, 5, 6, 7, 12, 17, 22, 27, 20, 29, 38, 47]{{$}}
# MATMUL-NOT: c =


N, M, K = 3, 4, 2


@wp.kernel
def diagonal_kernel(output: wp.array(dtype=wp.mat33)):
    tid = wp.tid()
    output[tid] = wp.mat33(1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0)
# DIAGONAL: {{^}}output = [(1 0 0 {{$}}
# DIAGONAL-NOT: output =


@wp.kernel
def basis(out: wp.array(dtype=float)):
    # basis vectors
    a = wp.vec3(1.0, 0.0, 0.0)
    b = wp.vec3(0.0, 1.0, 0.0)
    # take the cross product
    c = wp.cross(a, b)
    r = wp.dot(c, c)
    out[0] = r
    # a custom named vector type
    v = vec5d()
    v = vec5d(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0), wp.float64(4.0), wp.float64(5.0))
    out[1] = float(v[4])
    # anonymously typed instances
    w = wp.vector(dtype=wp.float64, length=5)
    w = wp.vector(wp.float64(1.0), length=5)
    w = wp.vector(wp.float64(1.0), wp.float64(2.0), wp.float64(3.0), wp.float64(4.0), wp.float64(5.0))
    out[2] = float(w[3])
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    minv = wp.inverse(m)
    u = minv * wp.vec2(0.5, 0.5)
    out[3] = u[0]
    h = mat32h(wp.float16(1.0), wp.float16(2.0), wp.float16(3.0), wp.float16(4.0), wp.float16(5.0), wp.float16(6.0))
    v2 = wp.vec2h(wp.float16(1.0), wp.float16(1.0))
    v3 = h * v2
    out[4] = float(v3[2])
    g = wp.matrix(wp.float16(1.0), wp.float16(2.0), wp.float16(1.0), wp.float16(2.0), wp.float16(1.0), wp.float16(2.0), shape=(3, 2))
    g = wp.matrix(wp.float16(0.0), shape=(3, 2))
    e = wp.identity(n=5, dtype=wp.float64)
    out[5] = float(e[4, 4]) + float(g[0, 0])
    q = wp.quat_from_axis_angle(wp.vec3(1.0, 0.0, 0.0), wp.radians(90.0))
    p = wp.quat_rotate(q, wp.vec3(0.0, 1.0, 0.0))
    out[6] = wp.round(p[2])
    qd = wp.quat_identity(dtype=wp.float64)
    qf = wp.quat_identity()
    qh = wp.quaternion(wp.float16(0.0), wp.float16(0.0), wp.float16(0.0), wp.float16(1.0))
    qh = wp.quaternion(wp.vector(wp.float16(0.0), wp.float16(0.0), wp.float16(0.0)), wp.float16(1.0))
    out[7] = float(qd[3]) + qf.w + float(qh.w)
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    p = wp.transform_point(t, wp.vec3(10.0, 0.5, 1.0))
    out[8] = p[0]
    p = wp.transform_vector(t, wp.vec3(10.0, 0.5, 1.0))
    out[9] = p[0]
    td = wp.transform_identity(dtype=wp.float64)
    out[10] = float(td[6])
    out[11] = 7.0 // 2.0 + float(-7 // 2)
# BASIS: {{^}}out = [1, 5, 4, -0.5, 11, 1, 1, 3, 11, 10, 1, -1]{{$}}
# BASIS-NOT: out =


@wp.kernel
def collide(geometry: wp.array(dtype=int)):

    t = geometry[wp.tid()]

    if (t == TYPE_SPHERE):
        print("sphere")
    if (t == TYPE_CUBE):
        print("cube")
    if (t == TYPE_CAPSULE):
        print("capsule")
# COLLIDE: capsule
# COLLIDE-NEXT: cube
# COLLIDE: sphere
