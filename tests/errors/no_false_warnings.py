# A variable that every path on which the thread goes on assigns is assigned: the paths that left by a break don't count.
# RUN: %weftc %s --emit=ir 2>&1 | check
import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    # CHECK-NOT: warning
    # CHECK: kernel @k
    i = wp.tid()
    s = float(0.0)
    for j in range(i):
        if x[j] > 9.0:
            break
        n = x[j]
        if n > 5.0:
            if n > 6.0:
                break
        s += n
    y[i] = s
