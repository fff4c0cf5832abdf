# break, continue and return in every nesting: flags, and guards around what follows.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.func
def find(a: wp.array(dtype=float), limit: float) -> int:
    for i in range(len(a)):
        if a[i] > limit:
            return i
    return -1


@wp.func
def find_pair(a: wp.array(dtype=float), limit: float):
    for i in range(len(a)):
        if a[i] < 0.0:
            continue
        for j in range(i):
            if a[j] > limit:
                break
            if a[i] + a[j] > limit:
                return i, j
    return -1, -1


@wp.kernel
def early(a: wp.array(dtype=float), out: wp.array(dtype=int)):
    t = wp.tid()
    if t >= a.shape[0]:
        return
    i, j = find_pair(a, 1.0)
    out[t] = find(a, 0.5) + i + j
