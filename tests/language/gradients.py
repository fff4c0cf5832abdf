# Derivatives inside kernels, and gradient functions in kernel files.
# RUN: for m in --interpret --lanes=1 --lanes=16 --lanes=0; do %weftc run %s --no-cache --kernel slopes --dim 8 --print out \
# RUN: 'out=zeros(8)' $m || exit; done | sort -u | check --prefix=SLOPES
# RUN: %weftc %s --kernel custom --emit=adjoint | check --prefix=CUSTOM
# RUN: %weftc %s --kernel slopes --emit=ir | check --prefix=IR
import warp as wp


@wp.func
def f(x: float, n: int):
    s = x
    for k in range(n):
        s = s * x
    return s


@wp.kernel
def slopes(out: wp.array(dtype=float)):
    i = wp.tid()
    # Slopes of x, x², x³… at 2.
    d, dn = wp.grad(f)(2.0, i)
    out[i] = d + wp.grad(wp.sqrt)(0.25) - 1.0


# SLOPES: out = [1, 4, 12, 32, 80, 192, 448, 1024]
# SLOPES-NOT: {{.}}
# IR-NOT: derives
# IR: func @"grad.f"(


@wp.func
def g(x: float):
    return x * x


@wp.func
def g(x: float, y: float):
    return x * y


@wp.func_grad(g)
def adj_g(x: float, adj: float):
    wp.adjoint[x] += 7.0 * adj


@wp.func_replay(g)
def replay_g(x: float):
    return 5.0 * x


@wp.kernel
def custom(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    y = g(a[i])
    out[i] = y * g(2.0, 3.0)


# CUSTOM: kernel @custom(
# CUSTOM: gradient %out
# CUSTOM: mul {{.*}}6.0f32
# CUSTOM: 7.0f32
