# A kernel that overwrites what it has read: docs/life_of_a_gradient.md shows what its taped form writes down.
import warp as wp


@wp.kernel
def relax(x: wp.array(dtype=float), k: float):
    i = wp.tid()
    x[i] = x[i] + k * x[i] * x[i]
