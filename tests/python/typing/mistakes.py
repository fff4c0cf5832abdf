"""Mistakes that type checkers must find: each line with the mark, and no other."""

from __future__ import annotations

import warp as wp


@wp.func
def half(x: float) -> float:
    return 0.5 * x


@wp.kernel
def wrong(a: wp.array[float], b: wp.array2d[wp.vec3], n: int) -> None:
    i = wp.tid()
    a[i] = "text"  # mistake
    a[i] = b[0, i]  # mistake
    x: float = b[i]  # mistake
    v: wp.vec3 = wp.vec3(1.0, 2.0)  # mistake
    u = wp.vec2(1.0, 2.0)
    w = u + b[0, 0]  # mistake
    c = wp.cross(u, u)  # mistake
    y: wp.vec3 = wp.length(b[0, 0])  # mistake
    z = wp.sin("text")  # mistake
    wp.no_such_builtin(x)  # mistake
    h: wp.vec3 = half(1.0)  # mistake
    half("text")  # mistake
    wp.atomic_add(a, i, n, 1.0)  # mistake
    m = wp.mat22() * b[0, 0]  # mistake


wp.launch(wrong, dim="text", inputs=[])  # mistake
wp.zeros("text", dtype=float)  # mistake
wp.config.no_such_flag  # mistake
k: wp.Launch = wrong  # mistake
