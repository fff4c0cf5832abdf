# On which side of a mesh a point lies: by rays and what they meet first, by the parity of what they cross, or by the
# normals of the nearest faces. (By winding number: mesh_winding.py.) Signs are -1 inside, +1 outside.


@lanewise
def _inside_by_rays(tree: uint64, p: vec3):
    # Of three rays along the axes two meet a face from the back first.
    votes = 0
    for axis in range(3):
        if axis == 2 and votes != 1:
            continue
        dir = vec3(where(axis == 0, 1.0, 0.0), where(axis == 1, 1.0, 0.0), where(axis == 2, 1.0, 0.0))
        if _walk_ray(tree, p, dir, inf, -1, _SIDE) == 2:
            votes += 1
    return votes > 1


def mesh_query_point(id, point, max_dist):
    query = mesh_query_point_no_sign(id, point, max_dist)
    sign = 0.0
    if query.result:
        sign = where(_inside_by_rays(_handle("mesh", id) + _MESH_TREE, point), -1.0, 1.0)
    query.sign = sign
    return query


@lanewise
def _inside_by_parity(tree: uint64, p: vec3, samples: int, scale: float):
    # Of rays around (1, 1, 1) most cross an odd number of faces.
    votes = 0
    state = rand_init(0)
    for sample in range(samples):
        dir = vec3(1.0, 1.0, 1.0)
        if sample > 0:
            x = randf(state, -1.0, 1.0)
            y = randf(state, -1.0, 1.0)
            z = randf(state, -1.0, 1.0)
            dir += vec3(x, y, z) * scale
        if (_walk_ray(tree, p, dir, inf, -1, _COUNT) & 1) != 0:
            votes += 1
    return 2 * votes > samples


def mesh_query_point_sign_parity(id, point, max_dist, n_sample, perturbation_scale):
    query = mesh_query_point_no_sign(id, point, max_dist)
    sign = 0.0
    if query.result:
        tree = _handle("mesh", id) + _MESH_TREE
        sign = where(_inside_by_parity(tree, point, n_sample, perturbation_scale), -1.0, 1.0)
    query.sign = sign
    return query


# By normals. Each face that is about as near as the nearest gives a vote: the cosine of its normal and the way from its
# nearest point to the point, weighted by the angle that the face takes up around that point (a corner's own, half a
# turn at an edge, a whole one inside). Votes are summed as integers: in any order the same.
_VOTE = 1073741824.0


def _corner_angle(a: vec3, b: vec3, c: vec3):
    u = b - a
    v = c - a
    n = _cross3(u, v)
    return atan2(sqrt(_dot3(n, n)), _dot3(u, v))


def _face_vote(x0: vec3, x1: vec3, x2: vec3, p: vec3, scale: float, reach: float, epsilon: float):
    u, v = _closest_weights(p, x0, x1, x2, scale)
    w = 1.0 - u - v
    size = where(scale < _HUGE_FACES, scale, 1.0)
    weight = float32(6.2831853)
    if u > 1.0 - epsilon:
        weight = _corner_angle(x0 * size, x1 * size, x2 * size)
    elif v > 1.0 - epsilon:
        weight = _corner_angle(x1 * size, x2 * size, x0 * size)
    elif w > 1.0 - epsilon:
        weight = _corner_angle(x2 * size, x0 * size, x1 * size)
    elif u < epsilon or v < epsilon or w < epsilon:
        weight = float32(3.1415927)
    way = p - (x0 * u + x1 * v + x2 * w)
    cosine = where(reach > 0.0, _dot3(_face_normal(x0, x1, x2), way) / where(reach > 0.0, reach, 1.0), 0.0)
    return int64(clamp(cosine, -1.0, 1.0) * weight * _VOTE)


def _inside_by_normals(mesh: uint64, p: vec3, face: int, epsilon: float):
    head = _fixed(mesh, _MeshHead)
    scale = _edge_scale(mesh)
    x0, x1, x2 = _face_corners(mesh, face)
    key = _face_distance_of(x0[0], x0[1], x0[2], x1[0], x1[1], x1[2], x2[0], x2[1], x2[2], p, scale)
    box = _face_box_distance(x0[0], x0[1], x0[2], x1[0], x1[1], x1[2], x2[0], x2[1], x2[2], p)
    near = sqrt(max(key, box))
    reach = near + max(epsilon, 0.0) * head[0].mean_edge
    limit = max(reach * reach, max(key, box))
    if _on_gpu():
        return _normal_votes_narrow(mesh + _MESH_TREE, p, limit, scale, reach, epsilon) < int64(0)
    return _normal_votes_wide(mesh + _MESH_TREE, p, limit, scale, reach, epsilon) < int64(0)


@lanewise
def _normal_votes_wide(tree: uint64, p: vec3, limit: float, scale: float, reach: float, epsilon: float):
    head = _fixed(tree, _TreeHead)
    planes = _fixed(head[0].nodes, type(vector(length=8, dtype=float32)))
    words = _fixed(head[0].nodes, type(vector(length=8, dtype=uint32)))
    blocks = _fixed(head[0].leaves, vec4)
    scales = _point_scales(scale)
    votes = int64(0)
    stack = empty(shape=(448,), dtype=uint32)
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        if (word & _LEAF) == uint32(0):
            row = word * uint32(8)
            entry = _box_distance(
                planes[row],
                planes[row + uint32(1)],
                planes[row + uint32(2)],
                planes[row + uint32(3)],
                planes[row + uint32(4)],
                planes[row + uint32(5)],
                p,
            )
            mask = _less_equal_bits(entry, type(entry)(limit))
            mask = mask & ((uint32(1) << words[row + uint32(7)][1]) - uint32(1))
            while mask != uint32(0):
                j = _trailing_zeros(mask)
                mask = mask & (mask - uint32(1))
                stack[top] = words[row + uint32(6)][j]
                top += uint32(1)
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(10)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(10)
            while at != end:
                hits, squares = _point_faces(
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
                    scales,
                    limit,
                )
                while hits != uint32(0):
                    k = _trailing_zeros(hits)
                    hits = hits & (hits - uint32(1))
                    x0 = vec3(blocks[at][k], blocks[at + uint32(1)][k], blocks[at + uint32(2)][k])
                    x1 = vec3(blocks[at + uint32(3)][k], blocks[at + uint32(4)][k], blocks[at + uint32(5)][k])
                    x2 = vec3(blocks[at + uint32(6)][k], blocks[at + uint32(7)][k], blocks[at + uint32(8)][k])
                    votes += _face_vote(x0, x1, x2, p, scale, reach, epsilon)
                at += uint32(10)
        if top == uint32(0):
            going = False
        else:
            top -= uint32(1)
            word = stack[top]
    return votes


@lanewise
def _normal_votes_narrow(tree: uint64, p: vec3, limit: float, scale: float, reach: float, epsilon: float):
    head = _fixed(tree, _TreeHead)
    planes = _fixed(head[0].nodes, vec4)
    words = _fixed(head[0].nodes, type(vector(length=4, dtype=uint32)))
    corners = _fixed(head[0].leaves, vec4)
    votes = int64(0)
    stack = empty(shape=(64,), dtype=uint32)
    top = uint32(0)
    word = _root_word(tree, -1)
    going = word != _NODE_NONE
    while going:
        if (word & _LEAF) == uint32(0):
            row = word * uint32(4)
            x = planes[row]
            y = planes[row + uint32(1)]
            z = planes[row + uint32(2)]
            children = words[row + uint32(3)]
            if _box_distance(x[0], x[2], y[0], y[2], z[0], z[2], p) <= limit and children[0] != uint32(0):
                stack[top] = children[0]
                top += uint32(1)
            if _box_distance(x[1], x[3], y[1], y[3], z[1], z[3], p) <= limit and children[1] != uint32(0):
                stack[top] = children[1]
                top += uint32(1)
        else:
            at = (word & uint32(0x0FFFFFFF)) * uint32(3)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(3)
            while at != end:
                c0 = corners[at]
                c1 = corners[at + uint32(1)]
                c2 = corners[at + uint32(2)]
                hits, square = _point_face(c0[0], c0[1], c0[2], c1[0], c1[1], c1[2], c2[0], c2[1], c2[2], p, scale, limit)
                if hits != uint32(0):
                    x0 = vec3(c0[0], c0[1], c0[2])
                    x1 = vec3(c1[0], c1[1], c1[2])
                    x2 = vec3(c2[0], c2[1], c2[2])
                    votes += _face_vote(x0, x1, x2, p, scale, reach, epsilon)
                at += uint32(3)
        if top == uint32(0):
            going = False
        else:
            top -= uint32(1)
            word = stack[top]
    return votes


def mesh_query_point_sign_normal(id, point, max_dist, epsilon):
    query = mesh_query_point_no_sign(id, point, max_dist)
    sign = 0.0
    if query.result:
        sign = where(_inside_by_normals(_handle("mesh", id), point, query.face, epsilon), -1.0, 1.0)
    query.sign = sign
    return query


# Forms that write into variables.


def _signed_point_into(query: MeshQueryPoint, inside: ref, face: ref, bary_u: ref, bary_v: ref):
    if query.result:
        inside = query.sign
        face = query.face
        bary_u = query.u
        bary_v = query.v
    return query.result


def _mesh_query_point_into(id, point, max_dist, inside: ref, face: ref, bary_u: ref, bary_v: ref):
    return _signed_point_into(mesh_query_point(id, point, max_dist), inside, face, bary_u, bary_v)


def _mesh_query_point_sign_normal_into(
    id, point, max_dist, inside: ref, face: ref, bary_u: ref, bary_v: ref, epsilon
):
    return _signed_point_into(
        mesh_query_point_sign_normal(id, point, max_dist, epsilon), inside, face, bary_u, bary_v
    )


def _mesh_query_point_sign_parity_into(
    id, point, max_dist, inside: ref, face: ref, bary_u: ref, bary_v: ref, n_sample, perturbation_scale
):
    query = mesh_query_point_sign_parity(id, point, max_dist, n_sample, perturbation_scale)
    return _signed_point_into(query, inside, face, bary_u, bary_v)


def _mesh_query_point_sign_winding_number_into(
    id, point, max_dist, inside: ref, face: ref, bary_u: ref, bary_v: ref, accuracy, threshold
):
    query = mesh_query_point_sign_winding_number(id, point, max_dist, accuracy, threshold)
    return _signed_point_into(query, inside, face, bary_u, bary_v)
