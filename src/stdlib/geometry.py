# Triangles and edges, without data structures.


def closest_point_edge_edge(p1, q1, p2, q2, epsilon):
    # Ericson, Real-Time Collision Detection, 5.1.9.
    d1 = q1 - p1
    d2 = q2 - p2
    r = p1 - p2
    a = dot(d1, d1)
    e = dot(d2, d2)
    f = dot(d2, r)
    s = type(a)(0)
    t = type(a)(0)
    if a <= epsilon:
        if e > epsilon:
            t = clamp(f / e, 0.0, 1.0)
    else:
        c = dot(d1, r)
        if e <= epsilon:
            s = clamp(-c / a, 0.0, 1.0)
        else:
            # The square of the cross product is a * e - b * b without its cancellation, and so is what it divides. Edges
            # whose directions differ by no more than some roundings are parallel: of all nearest pairs, that of p1 is given.
            b = dot(d1, d2)
            across = cross(d1, d2)
            denominator = dot(across, across)
            rounding = 3 * (type(a)(4) / 3 - 1) - 1  # 2^-23 in float32, -2^-52 in float64
            if denominator > 16 * rounding * rounding * a * e:
                s = clamp(dot(across, cross(d2, r)) / denominator, 0.0, 1.0)
            t = (b * s + f) / e
            if t < 0:
                t = type(a)(0)
                s = clamp(-c / a, 0.0, 1.0)
            elif t > 1:
                t = type(a)(1)
                s = clamp((b - c) / a, 0.0, 1.0)
    apart = r + d1 * s - d2 * t
    square = dot(apart, apart)
    distance = type(a)(0)
    if square > 0:
        distance = sqrt(square)
    return type(p1)(s, t, distance)


def _edge_edge_2d(ax, ay, v0, u0, u1, i, j):
    # Whether the edge from v0 along (ax, ay) meets the edge from u0 to u1, in the plane of the axes i and j.
    bx = u0[i] - u1[i]
    by = u0[j] - u1[j]
    cx = v0[i] - u0[i]
    cy = v0[j] - u0[j]
    f = ay * bx - ax * by
    d = by * cx - bx * cy
    e = ax * cy - ay * cx
    if f > 0:
        return d >= 0 and d <= f and e >= 0 and e <= f
    return f < 0 and d <= 0 and d >= f and e <= 0 and e >= f


def _edge_triangle_2d(v0, v1, u0, u1, u2, i, j):
    ax = v1[i] - v0[i]
    ay = v1[j] - v0[j]
    return (
        _edge_edge_2d(ax, ay, v0, u0, u1, i, j)
        or _edge_edge_2d(ax, ay, v0, u1, u2, i, j)
        or _edge_edge_2d(ax, ay, v0, u2, u0, i, j)
    )


def _side_2d(p, a, b, i, j):
    return (b[j] - a[j]) * (p[i] - a[i]) - (b[i] - a[i]) * (p[j] - a[j])


def _point_in_triangle_2d(p, a, b, c, i, j):
    d0 = _side_2d(p, a, b, i, j)
    d1 = _side_2d(p, b, c, i, j)
    d2 = _side_2d(p, c, a, i, j)
    return d0 * d1 > 0 and d0 * d2 > 0


def _coplanar_triangles(n, v0, v1, v2, u0, u1, u2):
    x = abs(n[0])
    y = abs(n[1])
    z = abs(n[2])
    i = 0
    j = 1
    if x > y:
        if x > z:
            i = 1
            j = 2
    elif y >= z:
        j = 2
    return (
        _edge_triangle_2d(v0, v1, u0, u1, u2, i, j)
        or _edge_triangle_2d(v1, v2, u0, u1, u2, i, j)
        or _edge_triangle_2d(v2, v0, u0, u1, u2, i, j)
        or _point_in_triangle_2d(v0, u0, u1, u2, i, j)
        or _point_in_triangle_2d(u0, v0, v1, v2, i, j)
    )


def _plane_distance(n, d, p):
    x = dot(n, p) + d
    return where(abs(x) < 0.000001, type(x)(0), x)


def _interval_from(v0, v1, v2, d0, d1, d2):
    return v0, (v1 - v0) * d0, (v2 - v0) * d0, d0 - d1, d0 - d2


def _interval(v0, v1, v2, d0, d1, d2):
    # Where a triangle crosses the line of both planes, without division: from the corner that lies alone on its side.
    if d0 * d1 > 0:
        return _interval_from(v2, v0, v1, d2, d0, d1)
    if d0 * d2 > 0:
        return _interval_from(v1, v0, v2, d1, d0, d2)
    if d1 * d2 > 0 or d0 != 0:
        return _interval_from(v0, v1, v2, d0, d1, d2)
    if d1 != 0:
        return _interval_from(v1, v0, v2, d1, d0, d2)
    return _interval_from(v2, v0, v1, d2, d0, d1)


def _on_one_side(d0, d1, d2):
    return d0 * d1 > 0 and d0 * d2 > 0


def _planes_cross(v0, v1, v2, dv0, dv1, dv2, u0, u1, u2, du0, du1, du2, line):
    # Both triangles meet the line of their planes: do they meet there? Its longest coordinate tells.
    k = 0
    largest = abs(line[0])
    if abs(line[1]) > largest:
        k = 1
        largest = abs(line[1])
    if abs(line[2]) > largest:
        k = 2
    a, b, c, x0, x1 = _interval(v0[k], v1[k], v2[k], dv0, dv1, dv2)
    d, e, f, y0, y1 = _interval(u0[k], u1[k], u2[k], du0, du1, du2)
    xx = x0 * x1
    yy = y0 * y1
    base = a * xx * yy
    s0 = base + b * x1 * yy
    s1 = base + c * x0 * yy
    base = d * xx * yy
    t0 = base + e * xx * y1
    t1 = base + f * xx * y0
    return not (max(s0, s1) < min(t0, t1) or max(t0, t1) < min(s0, s1))


def intersect_tri_tri(v0, v1, v2, u0, u1, u2):
    # Möller, A Fast Triangle-Triangle Intersection Test, 1997, in the form without divisions.
    n1 = cross(v1 - v0, v2 - v0)
    c1 = -dot(n1, v0)
    du0 = _plane_distance(n1, c1, u0)
    du1 = _plane_distance(n1, c1, u1)
    du2 = _plane_distance(n1, c1, u2)
    met = False
    if not _on_one_side(du0, du1, du2):
        n2 = cross(u1 - u0, u2 - u0)
        c2 = -dot(n2, u0)
        dv0 = _plane_distance(n2, c2, v0)
        dv1 = _plane_distance(n2, c2, v1)
        dv2 = _plane_distance(n2, c2, v2)
        if not _on_one_side(dv0, dv1, dv2):
            if (dv0 == 0 and dv1 == 0 and dv2 == 0) or (du0 == 0 and du1 == 0 and du2 == 0):
                met = _coplanar_triangles(n1, v0, v1, v2, u0, u1, u2)
            else:
                met = _planes_cross(v0, v1, v2, dv0, dv1, dv2, u0, u1, u2, du0, du1, du2, cross(n1, n2))
    return int(met)
