"""Forces of springs between points: reads through indices, a square root, additions where threads meet."""

import warp as wp


@wp.kernel
def spring_forces(
    x: wp.array(dtype=wp.vec3),
    ends: wp.array(dtype=wp.vec2i),
    rest: wp.array(dtype=float),
    k: float,
    f: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    e = ends[i]
    d = x[e[1]] - x[e[0]]
    length = wp.length(d)
    pull = (d / length) * (k * (length - rest[i]))
    wp.atomic_add(f, e[0], pull)
    wp.atomic_sub(f, e[1], pull)
