# Winding numbers of points: the solid angle of all faces over that of a sphere, 1 inside of a closed mesh and 0 outside,
# something between where there are holes. Children that are far away count as a whole, by their moments up to second order
# (Barill et al., Fast Winding Numbers for Soups and Clouds, 2018); the rest face by face. An approximation: the one
# query whose answer may hang on the tree.


def _solid_angle(a: vec3, b: vec3, c: vec3):
    # Half of it, from corners as seen from the point (van Oosterom and Strackee, 1983). Faces that count for nothing have
    # corners that are no numbers in leaves: they are not asked.
    la = length(a)
    lb = length(b)
    lc = length(c)
    return atan2(dot(a, cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)


def _far_angle(x, y, z, square, m, n):
    # ∫ n·r / |r|³ over a child: m has its moments, from row n on. r = (x, y, z) leads from the point to its centre.
    one = type(x)(1.0)
    share = _over(one, square)
    inverse = _times(_root(share), share)  # 1 / |r|³
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


def _second(x, y, z, m, n):
    # rᵀ M r of the symmetric matrix with the pairs xx yy zz xy xz yz in rows from n on.
    square = _three_times(_times(x, x), _times(y, y), _times(z, z), m[n], m[n + uint32(1)], m[n + uint32(2)])
    mixed = _three_times(
        _times(x, y), _times(x, z), _times(y, z), m[n + uint32(3)], m[n + uint32(4)], m[n + uint32(5)]
    )
    return square + mixed + mixed


def _far_children(moments, n: uint32, p: vec3, accuracy: float):
    # Bits of the children of a node that are far enough to count as a whole, and what they add.
    x = moments[n] - type(moments[n])(p[0])
    y = moments[n + uint32(1)] - type(x)(p[1])
    z = moments[n + uint32(2)] - type(x)(p[2])
    square = _three_times(x, y, z, x, y, z)
    reach = moments[n + uint32(3)] * accuracy
    far = _less_bits(_times(reach, reach), square)
    angle = _far_angle(x, y, z, square, moments, n)
    return far, _choose_bits(far, angle, type(x)(0.0))


def _winding_number(tree: uint64, p: vec3, accuracy: float):
    if _on_gpu():
        return _winding_narrow(tree, p, accuracy)
    return _winding_wide(tree, p, accuracy)


@lanewise
def _winding_wide(tree: uint64, p: vec3, accuracy: float):
    head = _fixed(tree, _TreeHead)
    words = _fixed(head[0].nodes, type(vector(length=8, dtype=uint32)))
    moments = _fixed(head[0].moments, type(vector(length=8, dtype=float32)))
    blocks = _fixed(head[0].leaves, vec4)
    numbers = _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))
    whole = type(moments[0])(0.0)
    near = float32(0.0)
    stack = empty(shape=(448,), dtype=uint32)
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        if (word & _LEAF) == uint32(0):
            row = word * uint32(8)
            used = (uint32(1) << words[row + uint32(7)][1]) - uint32(1)
            far, angle = _far_children(moments, word * uint32(34), p, accuracy)
            whole += _choose_bits(used, angle, type(angle)(0.0))
            mask = used & ~far
            while mask != uint32(0):
                j = _trailing_zeros(mask)
                mask = mask & (mask - uint32(1))
                stack[top] = words[row + uint32(6)][j]
                top += uint32(1)
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(10)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(10)
            while at != end:
                for k in range(4):
                    if numbers[at + uint32(9)][k] >= 0:
                        x0 = vec3(blocks[at][k], blocks[at + uint32(1)][k], blocks[at + uint32(2)][k])
                        x1 = vec3(blocks[at + uint32(3)][k], blocks[at + uint32(4)][k], blocks[at + uint32(5)][k])
                        x2 = vec3(blocks[at + uint32(6)][k], blocks[at + uint32(7)][k], blocks[at + uint32(8)][k])
                        if not isnan(x0[0]):
                            near += _solid_angle(x0 - p, x1 - p, x2 - p)
                at += uint32(10)
        if top == uint32(0):
            going = False
        else:
            top -= uint32(1)
            word = stack[top]
    sum = 2.0 * near
    for k in range(8):
        sum += whole[k]
    return sum * 0.07957747  # over 4 pi


@lanewise
def _winding_narrow(tree: uint64, p: vec3, accuracy: float):
    head = _fixed(tree, _TreeHead)
    words = _fixed(head[0].nodes, type(vector(length=4, dtype=uint32)))
    moments = _fixed(head[0].moments, vec2)
    corners = _fixed(head[0].leaves, vec4)
    sum = float32(0.0)
    stack = empty(shape=(64,), dtype=uint32)
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        if (word & _LEAF) == uint32(0):
            children = words[word * uint32(4) + uint32(3)]
            far, angle = _far_children(moments, word * uint32(34), p, accuracy)
            for k in range(2):
                if children[k] != uint32(0):
                    if ((far >> uint32(k)) & uint32(1)) != uint32(0):
                        sum += angle[k]
                    else:
                        stack[top] = children[k]
                        top += uint32(1)
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(3)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(3)
            while at != end:
                c0 = corners[at]
                c1 = corners[at + uint32(1)]
                c2 = corners[at + uint32(2)]
                x0 = vec3(c0[0], c0[1], c0[2])
                x1 = vec3(c1[0], c1[1], c1[2])
                x2 = vec3(c2[0], c2[1], c2[2])
                if not isnan(x0[0]):
                    sum += 2.0 * _solid_angle(x0 - p, x1 - p, x2 - p)
                at += uint32(3)
        if top == uint32(0):
            going = False
        else:
            top -= uint32(1)
            word = stack[top]
    return sum * 0.07957747


def mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold):
    query = mesh_query_point_no_sign(id, point, max_dist)
    sign = 0.0
    if query.result:
        tree = _handle("mesh", id, "winding") + _MESH_TREE
        if (_fixed(tree, _TreeHead)[0].flags & _TREE_WITH_MOMENTS) != uint32(0):
            sign = where(_winding_number(tree, point, accuracy) > threshold, -1.0, 1.0)
        else:
            sign = where(_inside_by_rays(tree, point), -1.0, 1.0)
    query.sign = sign
    return query
