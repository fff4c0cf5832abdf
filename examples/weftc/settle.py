# A kernel with a dynamic loop that ends early: docs/life_of_a_kernel.md follows it through the compiler.
import warp as wp


@wp.kernel
def settle(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    s = x[i]
    for k in range(n[i]):
        s = s * wp.sin(s)
        if s < 0.01:
            break
    y[i] = s
