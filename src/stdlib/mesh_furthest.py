# The furthest point of a mesh, which is a corner. The furthest corner of a box is no nearer than those of faces in it, by
# the same operations, so that keys need no clamp.


def _corner_reach(x, y, z, p: vec3):
    dx = x - type(x)(p[0])
    dy = y - type(x)(p[1])
    dz = z - type(x)(p[2])
    return _three_times(dx, dy, dz, dx, dy, dz)


def _furthest_face(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3, scale: float, limit: float):
    # Bits of the faces with a corner at least as far as the limit, and how far.
    far = _greatest_of(_corner_reach(ax, ay, az, p), _corner_reach(bx, by, bz, p), _corner_reach(cx, cy, cz, p))
    hits = _less_equal_bits(type(far)(limit), far)
    if hits != uint32(0):
        area = _face_area_of(ax, ay, az, bx, by, bz, cx, cy, cz, scale)
        hits = hits & _less_equal_bits(type(far)(_FACE_FLATNESS), area)
    return hits, far


def _walk_furthest(mesh: uint64, p: vec3, min_dist: float):
    # The face with the furthest corner beyond min_dist, or -1.
    face = -1
    if _is_place(p) and not isnan(min_dist):
        limit = where(min_dist < 0.0, -1.0, min_dist * min_dist)
        if _on_gpu():
            face = _walk_furthest_narrow(mesh + _MESH_TREE, p, limit, _edge_scale(mesh))
        else:
            face = _walk_furthest_wide(mesh + _MESH_TREE, p, limit, _edge_scale(mesh))
    return face


@lanewise
def _walk_furthest_wide(tree: uint64, p: vec3, limit: float, scale: float):
    head = _fixed(tree, _TreeHead)
    planes = _fixed(head[0].nodes, type(vector(length=8, dtype=float32)))
    words = _fixed(head[0].nodes, type(vector(length=8, dtype=uint32)))
    blocks = _fixed(head[0].leaves, vec4)
    numbers = _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))
    best = limit
    face = -1
    stack = empty(shape=(448,), dtype=uint32)
    keys = empty(shape=(448,), dtype=float32)
    entries = empty(shape=(1,), dtype=type(vector(length=8, dtype=float32)))
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        if (word & _LEAF) == uint32(0):
            row = word * uint32(8)
            entry = _box_reach(
                planes[row],
                planes[row + uint32(1)],
                planes[row + uint32(2)],
                planes[row + uint32(3)],
                planes[row + uint32(4)],
                planes[row + uint32(5)],
                p,
            )
            mask = _less_equal_bits(type(entry)(best), entry)
            mask = mask & ((uint32(1) << words[row + uint32(7)][1]) - uint32(1))
            entries[0] = entry
            base = top
            while mask != uint32(0):
                j = _trailing_zeros(mask)
                mask = mask & (mask - uint32(1))
                key = entries[0][j]
                at = top
                top += uint32(1)
                while at > base and keys[at - uint32(1)] > key:
                    keys[at] = keys[at - uint32(1)]
                    stack[at] = stack[at - uint32(1)]
                    at -= uint32(1)
                keys[at] = key
                stack[at] = words[row + uint32(6)][j]
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(10)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(10)
            while at != end:
                hits, far = _furthest_face(
                    blocks[at],
                    blocks[at + uint32(1)],
                    blocks[at + uint32(2)],
                    blocks[at + uint32(3)],
                    blocks[at + uint32(4)],
                    blocks[at + uint32(5)],
                    blocks[at + uint32(6)],
                    blocks[at + uint32(7)],
                    blocks[at + uint32(8)],
                    p,
                    scale,
                    best,
                )
                while hits != uint32(0):
                    k = _trailing_zeros(hits)
                    hits = hits & (hits - uint32(1))
                    number = numbers[at + uint32(9)][k]
                    if far[k] > best or (far[k] == best and number < face):
                        best = far[k]
                        face = number
                at += uint32(10)
        pops = True
        while pops:
            if top == uint32(0):
                pops = False
                going = False
            else:
                top -= uint32(1)
                if keys[top] >= best:
                    word = stack[top]
                    pops = False
    return face


@lanewise
def _walk_furthest_narrow(tree: uint64, p: vec3, limit: float, scale: float):
    head = _fixed(tree, _TreeHead)
    planes = _fixed(head[0].nodes, vec4)
    words = _fixed(head[0].nodes, type(vector(length=4, dtype=uint32)))
    corners = _fixed(head[0].leaves, vec4)
    numbers = _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))
    best = limit
    face = -1
    stack = empty(shape=(64,), dtype=uint32)
    keys = empty(shape=(64,), dtype=float32)
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        pops = True
        if (word & _LEAF) == uint32(0):
            row = word * uint32(4)
            x = planes[row]
            y = planes[row + uint32(1)]
            z = planes[row + uint32(2)]
            children = words[row + uint32(3)]
            a = _box_reach(x[0], x[2], y[0], y[2], z[0], z[2], p)
            b = _box_reach(x[1], x[3], y[1], y[3], z[1], z[3], p)
            in_a = a >= best and children[0] != uint32(0)
            in_b = b >= best and children[1] != uint32(0)
            if in_a or in_b:
                pops = False
                b_first = in_b and (not in_a or b > a)
                word = where(b_first, children[1], children[0])
                if in_a and in_b:
                    stack[top] = where(b_first, children[0], children[1])
                    keys[top] = where(b_first, a, b)
                    top += uint32(1)
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(3)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(3)
            while at != end:
                c0 = corners[at]
                c1 = corners[at + uint32(1)]
                c2 = corners[at + uint32(2)]
                hits, far = _furthest_face(c0[0], c0[1], c0[2], c1[0], c1[1], c1[2], c2[0], c2[1], c2[2], p, scale, best)
                if hits != uint32(0):
                    number = numbers[at][3]
                    if far > best or (far == best and number < face):
                        best = far
                        face = number
                at += uint32(3)
        while pops:
            if top == uint32(0):
                pops = False
                going = False
            else:
                top -= uint32(1)
                if keys[top] >= best:
                    word = stack[top]
                    pops = False
    return face


def mesh_query_furthest_point_no_sign(id, point, min_dist):
    query = MeshQueryPoint()
    mesh = _handle("mesh", id)
    if mesh != uint64(0):
        face = _walk_furthest(mesh, point, min_dist)
        if face >= 0:
            x0, x1, x2 = _found_corners(mesh, face)
            a = _corner_reach(x0[0], x0[1], x0[2], point)
            b = _corner_reach(x1[0], x1[1], x1[2], point)
            c = _corner_reach(x2[0], x2[1], x2[2], point)
            first = a >= b and a >= c
            query.result = True
            query.face = face
            query.u = where(first, 1.0, 0.0)
            query.v = where(not first and b >= c, 1.0, 0.0)
    return query


def _mesh_query_furthest_point_no_sign_into(id, point, min_dist, face: ref, bary_u: ref, bary_v: ref):
    return _unsigned_point_into(mesh_query_furthest_point_no_sign(id, point, min_dist), face, bary_u, bary_v)
