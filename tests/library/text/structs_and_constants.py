# Structs of the library as values: they have their own name, whatever struct a program calls so; constants are folded in.
# GOLDEN: %weftc_probe %s --emit=ir => %b.ir
import warp as wp


@wp.struct
class ProbeHit:
    result: bool


@wp.func
def height(hit: wp.ProbeHit):
    return wp.probe_height(hit) + hit.normal[1]


@wp.kernel
def k(out: wp.array(dtype=float), own: ProbeHit):
    hit = wp.probe_hit(out[0], wp.vec3(1.0))
    wp.probe_mark(hit, 7)
    if own.result and hit.result:
        out[hit.face] = height(hit)
    empty = wp.ProbeHit()
    out[1] = empty.t + wp.probe_corner(2)[0]
