import warp as wp


@wp.func
def first(a: wp.array(dtype=float), limit: float) -> int:
    for i in range(len(a)):
        if a[i] > limit:
            return i
        elif a[i] < -limit:
            continue
        j = int(0)
        while a[j] < a[i] and j < i:
            j += 1
            if j > 3:
                break
        else:
            limit += 1.0
    else:
        return -2
    return -1


@wp.kernel
def loops(a: wp.array(dtype=float), out: wp.array2d(dtype=float), n: int, step: int):
    i, j = wp.tid()
    s = float(0.0)
    for k in reversed(range(n, 0, step)):
        if k == j:
            break
        for m in range(4):
            if m == i:
                continue
            s += wp.static(m * 2.0) + a[k - m]
    t = (1.0, 2, wp.vec3(3.0))
    for k in range(3):
        s += float(out.shape[k % 2]) if k < 2 else 0.0
    while True:
        s -= 1.0
        if s < 0.0 or i < j <= n:
            return
        v = wp.vec3(s)
        v[1:3] = wp.vec2(1.0, 2.0)
        out[i, j] += v[k] * t[2][k]
    assert s > 0.0, "never"
