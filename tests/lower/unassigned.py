# A name that one path leaves unassigned is zero there; names nobody reads are not carried.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.kernel
def unassigned(out: wp.array(dtype=float), n: int):
    if n > 3:
        a = 1.0
        unread = 2.0
    out[0] = a
    for i in range(n):
        b = float(i)
        if i == 2:
            c = b
    out[1] = b + c
