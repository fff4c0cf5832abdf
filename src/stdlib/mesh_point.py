# Closest and furthest points of meshes. A face's key is its squared distance, raised to that of its own box where it is
# less: then no node around it can be further away, rounding included. A walk returns the face; weights of its corners are
# computed afterwards from the mesh's own points and differentiate, corner by corner, edge by edge, inside as a plane does.


class MeshQueryPoint:
    """What a query for the nearest point of a mesh found."""

    result: bool
    sign: float
    face: int
    u: float
    v: float


def _edge_distance(px, py, pz, ex, ey, ez, length):
    # Squared distance of an edge e, of a squared length, from its first corner's place p, seen from the point.
    back = _over(_three_times(px, py, pz, ex, ey, ez), length)
    s = _greatest(_least(back, type(back)(0.0)), type(back)(-1.0))
    x = _fma(-ex, s, px)
    y = _fma(-ey, s, py)
    z = _fma(-ez, s, pz)
    return _three_times(x, y, z, x, y, z)


def _face_distance(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3, scale: float):
    # The squared distance of faces: of three edges, or of the plane where the point's foot lies inside; and how much of an
    # area they have, as _face_area. scale is about 1 / edge² of the mesh.
    px = type(ax)(p[0])
    py = type(ax)(p[1])
    pz = type(ax)(p[2])
    ax0 = ax - px
    ay0 = ay - py
    az0 = az - pz
    bx0 = bx - px
    by0 = by - py
    bz0 = bz - pz
    ux = bx - ax
    uy = by - ay
    uz = bz - az
    vx = cx - ax
    vy = cy - ay
    vz = cz - az
    wx = cx - bx
    wy = cy - by
    wz = cz - bz
    uu = _three_times(ux, uy, uz, ux, uy, uz)
    vv = _three_times(vx, vy, vz, vx, vy, vz)
    ww = _three_times(wx, wy, wz, wx, wy, wz)
    edges = _least(
        _least(_edge_distance(ax0, ay0, az0, ux, uy, uz, uu), _edge_distance(ax0, ay0, az0, vx, vy, vz, vv)),
        _edge_distance(bx0, by0, bz0, wx, wy, wz, ww),
    )
    nx = _turned_area(uy, uz, vy, vz) * scale
    ny = _turned_area(uz, ux, vz, vx) * scale
    nz = _turned_area(ux, uy, vx, vy) * scale
    square = _three_times(nx, ny, nz, nx, ny, nz)
    # Weights of b and c, times square: n·(v × a0) and n·(a0 × u), with both factors turned around.
    b = _three_times(
        _turned_area(vy, vz, ay0, az0) * scale, _turned_area(vz, vx, az0, ax0) * scale, _turned_area(vx, vy, ax0, ay0) * scale, nx, ny, nz
    )
    c = _three_times(
        _turned_area(ay0, az0, uy, uz) * scale, _turned_area(az0, ax0, uz, ux) * scale, _turned_area(ax0, ay0, ux, uy) * scale, nx, ny, nz
    )
    zero = type(ax)(0.0)
    inside = _less_equal_bits(zero, _least(_least(b, c), square - b - c)) & _less_bits(zero, square)
    height = _three_times(ax0, ay0, az0, nx, ny, nz)
    plane = _over(_times(height, height), square)
    sides = (uu + vv + ww) * scale
    return _choose_bits(inside, plane, edges), _over(square, _times(sides, sides))


def _face_area(ax, ay, az, bx, by, bz, cx, cy, cz, scale: float):
    # How much of an area faces have: the square of twice it over the squares of their edges.
    ux = bx - ax
    uy = by - ay
    uz = bz - az
    vx = cx - ax
    vy = cy - ay
    vz = cz - az
    wx = cx - bx
    wy = cy - by
    wz = cz - bz
    nx = _area(uy, uz, vy, vz) * scale
    ny = _area(uz, ux, vz, vx) * scale
    nz = _area(ux, uy, vx, vy) * scale
    square = _three_times(nx, ny, nz, nx, ny, nz)
    sides = _three_times(ux, uy, uz, ux, uy, uz) + _three_times(vx, vy, vz, vx, vy, vz)
    sides = (sides + _three_times(wx, wy, wz, wx, wy, wz)) * scale
    return _over(square, _times(sides, sides))


# Faces of less have normals that mean nothing, and are left out: length of the normal below a millionth of the squared edges.
_FACE_FLATNESS = 1.0e-12


def _face_box_distance(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3):
    return _box_distance(
        _least_of(ax, bx, cx),
        _least_of(ay, by, cy),
        _least_of(az, bz, cz),
        _greatest_of(ax, bx, cx),
        _greatest_of(ay, by, cy),
        _greatest_of(az, bz, cz),
        p,
    )


def _point_face(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3, scale: float, limit: float):
    # Bits of the faces whose key is at most the limit, and their keys. Most are too far by their boxes already.
    box = _face_box_distance(ax, ay, az, bx, by, bz, cx, cy, cz, p)
    hits = _less_equal_bits(box, type(box)(limit))
    key = box
    if hits != uint32(0):
        apart = _face_distance_of(ax, ay, az, bx, by, bz, cx, cy, cz, p, scale)
        # What is not a number is a difference that overflowed: all that is known is the box.
        key = _choose_bits(_less_bits(box, apart), apart, box)
        hits = _less_equal_bits(key, type(key)(limit))
        # Few are nearer than the best so far: only they are asked whether they have an area.
        if hits != uint32(0):
            area = _face_area_of(ax, ay, az, bx, by, bz, cx, cy, cz, scale)
            hits = hits & _less_equal_bits(type(key)(_FACE_FLATNESS), area)
    return hits, key


class _PointScales:
    # For meshes of huge faces, of the coordinates and of what they were before; for all, of products of two differences.
    there: float
    back: float
    square: float


def _point_scales(scale: float):
    # Of a mesh (_edge_scale). All are powers of two: where they are 1, they change nothing.
    huge = scale < _HUGE_FACES
    return _PointScales(
        there=where(huge, scale, 1.0), back=where(huge, _inverse_power(scale), 1.0), square=where(huge, 1.0, scale * scale)
    )


def _point_faces(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3, scales: _PointScales, limit: float):
    # As _point_face, of the faces of a block. Branches take longer here than what they leave out, but for the first.
    box = _face_box_distance(ax, ay, az, bx, by, bz, cx, cy, cz, p)
    hits = _less_equal_bits(box, type(box)(limit))
    key = box
    if hits != uint32(0):
        k = scales.there
        apart, area = _face_distance(
            ax * k, ay * k, az * k, bx * k, by * k, bz * k, cx * k, cy * k, cz * k, p * k, scales.square
        )
        apart = apart * scales.back * scales.back
        key = _choose_bits(_less_bits(box, apart), apart, box)
        hits = _less_equal_bits(key, type(key)(limit)) & _less_equal_bits(type(key)(_FACE_FLATNESS), area)
    return hits, key


def _scaled_if_huge(ax, ay, az, bx, by, bz, cx, cy, cz, scale: float):
    # Corners, and the scale of products of two differences between them.
    if scale < _HUGE_FACES:
        k = scale
        return ax * k, ay * k, az * k, bx * k, by * k, bz * k, cx * k, cy * k, cz * k, 1.0
    return ax, ay, az, bx, by, bz, cx, cy, cz, scale * scale


def _face_distance_of(ax, ay, az, bx, by, bz, cx, cy, cz, p: vec3, scale: float):
    # _face_distance by the scale of a mesh (_edge_scale).
    ax, ay, az, bx, by, bz, cx, cy, cz, square = _scaled_if_huge(ax, ay, az, bx, by, bz, cx, cy, cz, scale)
    q = p
    if scale < _HUGE_FACES:
        q = p * scale
    apart, area = _face_distance(ax, ay, az, bx, by, bz, cx, cy, cz, q, square)
    if scale < _HUGE_FACES:
        back = _inverse_power(scale)
        apart = apart * back * back
    return apart


def _face_area_of(ax, ay, az, bx, by, bz, cx, cy, cz, scale: float):
    # _face_area by the scale of a mesh.
    ax, ay, az, bx, by, bz, cx, cy, cz, square = _scaled_if_huge(ax, ay, az, bx, by, bz, cx, cy, cz, scale)
    return _face_area(ax, ay, az, bx, by, bz, cx, cy, cz, square)


# Scales of meshes whose coordinates are scaled, not only products of them, which would overflow: edges beyond 2^40.
_HUGE_FACES = 1.0e-12


def _edge_scale(mesh: uint64):
    # About 1 / edge of a mesh, as a power of two: products of four lengths stay within what floats hold.
    edge = _fixed(mesh, _MeshHead)[0].mean_edge
    sound = where(edge > 0.0, clamp(edge, 1.0e-18, 1.0e36), float32(1.0))
    exponent = cast(sound, uint32) >> uint32(23)  # 127 more than it is
    return cast((uint32(254) - exponent) << uint32(23), float32)


def _inverse_power(scale: float):
    # Of a power of two, exact as 1 / scale is; divisions are what assemblers of GPUs take longest for.
    return cast((uint32(254) << uint32(23)) - cast(scale, uint32), float32)


_NO_FACE = 0x7FFFFFFF


def _walk_point(mesh: uint64, p: vec3, max_dist: float):
    # The nearest face within max_dist, or -1.
    limit = max_dist * max_dist
    # Squares that overflow count only if nothing is too far.
    face = where(max_dist == inf, _NO_FACE, -1)
    if _is_place(p) and max_dist >= 0.0:
        if _on_gpu():
            face = _walk_point_narrow(mesh + _MESH_TREE, p, limit, face, _edge_scale(mesh))
        else:
            if _root_word(mesh + _MESH_TREE, -1) != _NODE_NONE:
                face = _walk_point_wide(mesh + _MESH_TREE, p, limit, face, _edge_scale(mesh))
    return where(face == _NO_FACE, -1, face)


# How many lanes of a warp may still be at nodes when the others do their leaves.
_POINTS_AT_NODES = uint32(8)


@lanewise
def _walk_point_narrow(tree: uint64, point: vec3, limit: float, nobody: int, scale: float):
    # A few points take ten times as long as most, and a warp would wait for them: lanes that are done take subtrees off the
    # stacks of those that still walk, and give back what they find. The order in which faces are met does not matter.
    head = _fixed(tree, _TreeHead)
    has_pairs = head[0].pairs != uint64(0)
    warp = _warp_at(tree)
    lane = _lane()
    # What this lane works at: a point that may be another's, and the best that is known of it.
    x = point[0]
    y = point[1]
    z = point[2]
    owner = lane
    best = limit
    face = nobody
    news = False
    # And its own point's.
    own_best = limit
    own_face = nobody
    stack = empty(shape=(64,), dtype=uint64)  # words, and above them the squared distances of their boxes
    top = uint32(0)
    word = where(has_pairs, _root_word(tree, -1), _NODE_NONE)
    busy = _vote(warp, word != _NODE_NONE)
    while busy != uint32(0):
        idle = warp & ~busy
        if idle != uint32(0):
            givers = _vote(warp, top != uint32(0))
            if givers != uint32(0):
                own_best, own_face = _gathered(warp, lane, owner, best, face, own_best, own_face, news and word == _NODE_NONE)
                news = news and word != _NODE_NONE
                if owner == lane and (best < own_best or (best == own_best and face < own_face)):
                    own_best = best
                    own_face = face
                # What the owner knows by now.
                known = _shuffle(warp, own_best, owner)
                known_face = _shuffle(warp, own_face, owner)
                if known < best or (known == best and known_face < face):
                    best = known
                    face = known_face
                    news = False
                below = (uint32(1) << lane) - uint32(1)
                both = min(_bit_count(givers), _bit_count(idle))
                rank = _bit_count(where(word == _NODE_NONE, idle, givers) & below)
                takes = word == _NODE_NONE and rank < both
                given = _NODE_NONE
                if top != uint32(0) and rank < both:
                    top -= uint32(1)
                    given = uint32(stack[top])
                source = lane
                if takes:
                    while rank != uint32(0):
                        givers = givers & (givers - uint32(1))
                        rank -= uint32(1)
                    source = _trailing_zeros(givers)
                given = _shuffle(warp, given, source)
                x = _shuffle(warp, x, source)
                y = _shuffle(warp, y, source)
                z = _shuffle(warp, z, source)
                best = _shuffle(warp, best, source)
                face = _shuffle(warp, face, source)
                owner = _shuffle(warp, owner, source)
                if takes:
                    word = given
        at_nodes = uint32(32)
        p = vec3(x, y, z)
        # The tree's head and the grid's are read again in each round: kept, they would take registers, which are scarce. No
        # compiler knows that this is zero.
        again = uint64(busy & ~warp)
        table = _fixed(tree + again, _TreeHead)[0].pairs
        offset = _fixed(table, vec4)[0]
        step = _fixed(table, vec4)[1][0]
        pairs = _fixed(table + uint64(32), type(vector(length=4, dtype=uint32)))
        place = vec3(
            _grid_place(x, offset[3], offset[0], step),
            _grid_place(y, offset[3], offset[1], step),
            _grid_place(z, offset[3], offset[2], step),
        )
        reach = _grid_reach(best)
        while at_nodes > _POINTS_AT_NODES:
            if (word & _LEAF) == uint32(0):
                row = uint64(word) * uint64(2)
                r = pairs[row]
                s = pairs[row + uint64(1)]
                a = _grid_distance(r[0], r[1], r[2], place, step)
                b = _grid_distance(r[3], s[0], s[1], place, step)
                in_a = a <= reach
                in_b = b <= reach
                b_first = in_b and (not in_a or b < a)
                word = where(b_first, s[3], s[2])
                if in_a and in_b:
                    stack[top] = _stacked(where(b_first, s[2], s[3]), where(b_first, a, b))
                    top += uint32(1)
                if not in_a and not in_b:
                    word = _NODE_NONE
                    while word == _NODE_NONE and top != uint32(0):
                        top -= uint32(1)
                        word = _unstacked(stack[top], reach)
            at_nodes = _bit_count(_vote(warp, (word & _LEAF) == uint32(0)))
        if (word & _LEAF) != uint32(0) and word != _NODE_NONE:
            corners = _fixed(_fixed(tree + again, _TreeHead)[0].leaves, vec4)
            at = (word & uint32(0x0FFFFFFF)) * uint32(3)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(3)
            while at != end:
                c0 = corners[at]
                c1 = corners[at + uint32(1)]
                c2 = corners[at + uint32(2)]
                hits, apart = _point_face(c0[0], c0[1], c0[2], c1[0], c1[1], c1[2], c2[0], c2[1], c2[2], p, scale, best)
                if hits != uint32(0):
                    # The other fourth words are zero. Asked for, they come along in the same loads.
                    number = int(cast(c0[3], uint32) | cast(c1[3], uint32) | cast(c2[3], uint32))
                    if apart < best or (apart == best and number < face):
                        best = apart
                        face = number
                        news = True
                at += uint32(3)
            reach = _grid_reach(best)
            word = _NODE_NONE
            while word == _NODE_NONE and top != uint32(0):
                top -= uint32(1)
                word = _unstacked(stack[top], reach)
        busy = _vote(warp, word != _NODE_NONE)
    own_best, own_face = _gathered(warp, lane, owner, best, face, own_best, own_face, news)
    return own_face


def _gathered(warp: uint32, lane: uint32, owner: uint32, best: float, face: int, own_best: float, own_face: int, has: bool):
    # Who has something for another lane, or for itself, says it; each keeps the best that is meant for it.
    waiting = _vote(warp, has)
    while waiting != uint32(0):
        speaker = _trailing_zeros(waiting)
        waiting = waiting & (waiting - uint32(1))
        to = _shuffle(warp, owner, speaker)
        square = _shuffle(warp, best, speaker)
        number = _shuffle(warp, face, speaker)
        if to == lane and (square < own_best or (square == own_best and number < own_face)):
            own_best = square
            own_face = number
    return own_best, own_face


# The weights of the nearest point: Ericson's regions, with areas from cross products, which lose less far from a face.


def _closest_weights(p: vec3, x0: vec3, x1: vec3, x2: vec3, scale: float):
    # Coordinates by 1 / edge, so that neither squares nor products of them overflow where the mesh is large.
    size = where(scale < _HUGE_FACES, scale, 1.0)
    scale = where(scale < _HUGE_FACES, 1.0, scale * scale)
    x0 = x0 * size
    x1 = x1 * size
    x2 = x2 * size
    u = x1 - x0
    v = x2 - x0
    ap = p * size - x0
    bp = p * size - x1
    cp = p * size - x2
    d1 = _dot3(u, ap)
    d2 = _dot3(v, ap)
    d3 = _dot3(u, bp)
    d4 = _dot3(v, bp)
    d5 = _dot3(u, cp)
    d6 = _dot3(v, cp)
    n = _cross3(u, v) * scale
    b = _dot3(_cross3(ap, v), n)
    c = _dot3(_cross3(u, ap), n)
    a = _dot3(n, n) * _inverse_power(scale) - b - c
    at_a = d1 <= 0.0 and d2 <= 0.0
    at_b = d3 >= 0.0 and d4 <= d3
    at_c = d6 >= 0.0 and d5 <= d6
    wa = max(a, 0.0)
    wb = max(b, 0.0)
    wc = max(c, 0.0)
    if at_a or at_b or at_c:
        wa = where(at_a, 1.0, 0.0)
        wb = where(at_b and not at_a, 1.0, 0.0)
        wc = where(at_c and not at_a and not at_b, 1.0, 0.0)
    elif c <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        wa = -d3
        wb = d1
        wc = 0.0
    elif b <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        wa = -d6
        wb = 0.0
        wc = d2
    elif a <= 0.0 and d4 >= d3 and d5 >= d6:
        wa = 0.0
        wb = d5 - d6
        wc = d4 - d3
    all = wa + wb + wc
    if all > 0.0 and all < inf:
        return wa / all, wb / all
    return float32(1.0), float32(0.0)


def _dot3(a, b):
    return _three_times(a[0], a[1], a[2], b[0], b[1], b[2])


def _cross3(a, b):
    return vec3(_area(a[1], a[2], b[1], b[2]), _area(a[2], a[0], b[2], b[0]), _area(a[0], a[1], b[0], b[1]))


@lanewise_values
def _found_weights(mesh: uint64, face: int, p: vec3):
    x0, x1, x2 = _found_corners(mesh, face)
    u, v = _closest_weights(p, x0, x1, x2, _edge_scale(mesh))
    return u, v


def mesh_query_point_no_sign(id, point, max_dist):
    mesh = _handle("mesh", id)
    face = -1
    if mesh != uint64(0):
        face = _walk_point(mesh, point, max_dist)
    u = 0.0
    v = 0.0
    if face >= 0:
        u, v = _found_weights(mesh, face, point)
    return MeshQueryPoint(result=face >= 0, sign=0.0, face=max(face, 0), u=u, v=v)


def _unsigned_point_into(query: MeshQueryPoint, face: ref, bary_u: ref, bary_v: ref):
    if query.result:
        face = query.face
        bary_u = query.u
        bary_v = query.v
    return query.result


def _mesh_query_point_no_sign_into(id, point, max_dist, face: ref, bary_u: ref, bary_v: ref):
    return _unsigned_point_into(mesh_query_point_no_sign(id, point, max_dist), face, bary_u, bary_v)
