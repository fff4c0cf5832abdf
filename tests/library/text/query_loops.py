# Loops over queries carry them; a query in a variable goes on there, one that is only a value gets a hidden variable.
# GOLDEN: %weftc_probe %s --emit=ir => %b.ir
import warp as wp


@wp.kernel
def in_a_variable(out: wp.array(dtype=int)):
    q = wp.probe_range(0, 10)
    for i in q:
        if i == 3:
            break
    for j in q:
        wp.atomic_add(out, 0, j)


@wp.kernel
def a_value(out: wp.array(dtype=int)):
    for i in wp.probe_range(0, 10, 2):
        out[i] = i
    else:
        out[1] = 1


@wp.kernel
def by_hand(out: wp.array(dtype=int)):
    q = wp.probe_range(0, 10)
    i = int(0)
    while wp.probe_range_next(q, i):
        out[i] = q.last
