# Winding numbers of points: the solid angle of all faces over that of a sphere, 1 inside of a closed mesh and 0 outside,
# something between where there are holes. Children that are far away count as a whole, by their moments up to second order
# (Barill et al., Fast Winding Numbers for Soups and Clouds, 2018); the rest face by face. An approximation: the one
# query whose answer may hang on the tree.


def _solid_angle(a: vec3, b: vec3, c: vec3):
    # Half of it, from corners as seen from the point (van Oosterom and Strackee, 1983).
    la = length(a)
    lb = length(b)
    lc = length(c)
    return atan2(dot(a, cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)


def _far_angle(x, y, z, square, m, n):
    # ∫ n·r / |r|³ over a child: m has its moments, from row n on. r = (x, y, z) leads from the point to its centre.
    one = type(x)(1.0)
    share = _over(one, square)
    inverse = _times(_root_of(share), share)  # 1 / |r|³
    fifth = _times(inverse, share)
    seventh = _times(fifth, share)
    flat = _three_times(x, y, z, m[n + uint32(4)], m[n + uint32(5)], m[n + uint32(6)])
    trace = m[n + uint32(7)] + m[n + uint32(11)] + m[n + uint32(15)]
    ix = _three_times(x, y, z, m[n + uint32(7)], m[n + uint32(8)], m[n + uint32(9)])
    iy = _three_times(x, y, z, m[n + uint32(10)], m[n + uint32(11)], m[n + uint32(12)])
    iz = _three_times(x, y, z, m[n + uint32(13)], m[n + uint32(14)], m[n + uint32(15)])
    along = _three_times(x, y, z, ix, iy, iz)
    # Second moments, for each component of the normal xx yy zz xy xz yz.
    qx = _second(x, y, z, m, n + uint32(16))
    qy = _second(x, y, z, m, n + uint32(22))
    qz = _second(x, y, z, m, n + uint32(28))
    cube = _three_times(x, y, z, qx, qy, qz)
    # Σ over the pairs that share the normal's own axis, and over the others.
    ox = m[n + uint32(16)] + m[n + uint32(25)] + m[n + uint32(32)]
    oy = m[n + uint32(19)] + m[n + uint32(23)] + m[n + uint32(33)]
    oz = m[n + uint32(20)] + m[n + uint32(27)] + m[n + uint32(30)]
    tx = m[n + uint32(16)] + m[n + uint32(17)] + m[n + uint32(18)]
    ty = m[n + uint32(22)] + m[n + uint32(23)] + m[n + uint32(24)]
    tz = m[n + uint32(28)] + m[n + uint32(29)] + m[n + uint32(30)]
    pairs = _three_times(x, y, z, ox + ox + tx, oy + oy + ty, oz + oz + tz)
    sum = _times(flat + trace, inverse)
    sum = _fma(-3.0 * along - 1.5 * pairs, fifth, sum)
    return _fma(7.5 * cube, seventh, sum)


def _root_of(x: float):
    return sqrt(x)


def _second(x, y, z, m, n):
    # rᵀ M r of the symmetric matrix with the pairs xx yy zz xy xz yz in rows from n on.
    square = _three_times(_times(x, x), _times(y, y), _times(z, z), m[n], m[n + uint32(1)], m[n + uint32(2)])
    mixed = _three_times(
        _times(x, y), _times(x, z), _times(y, z), m[n + uint32(3)], m[n + uint32(4)], m[n + uint32(5)]
    )
    return square + mixed + mixed


def _winding_number(tree: uint64, p: vec3, accuracy: float):
    if _on_gpu():
        return _winding_narrow(tree, p, accuracy)
    return _winding_wide(tree, p, accuracy)
