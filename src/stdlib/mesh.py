# Meshes: their descriptors, their points and faces, and iterators over faces.


class _MeshHead:
    kind: uint32
    generation: uint32
    flags: uint32
    reserved: uint32
    mean_edge: float
    reserved1: uint32
    reserved2: uint32
    reserved3: uint32
    points: array(dtype=vec3)
    velocities: array(dtype=vec3)
    indices: array(dtype=int)


class _MeshArrays:
    """The arrays of a mesh."""

    points: array(dtype=vec3)
    velocities: array(dtype=vec3)
    indices: array(dtype=int)


class MeshQueryAABB:
    """The faces of a mesh whose boxes meet a box or a sphere."""

    __next__ = mesh_query_aabb_next
    _query: _TreeQuery


def mesh_get(id):
    arrays = _MeshArrays()
    mesh = _handle("mesh", id)
    if mesh != uint64(0):
        head = _fixed(mesh, _MeshHead)
        arrays.points = head[0].points
        arrays.velocities = head[0].velocities
        arrays.indices = head[0].indices
    return arrays


def mesh_get_bvh(id):
    mesh = _handle("mesh", id)
    return where(mesh == uint64(0), mesh, mesh + _MESH_TREE)


def mesh_get_group_root(id, group):
    mesh = _handle("mesh", id)
    if mesh == uint64(0):
        return -1
    return _group_root(mesh + _MESH_TREE, group)


def _mesh_index(mesh: uint64, i: int):
    # -1 out of range, which debug mode reports.
    count = 0
    if mesh != uint64(0):
        count = len(_fixed(mesh, _MeshHead)[0].indices)
    assert i >= 0 and i < count, "a mesh's index is out of range"
    if i >= 0 and i < count:
        return _fixed(mesh, _MeshHead)[0].indices[uint32(i)]
    return -1


def _mesh_point(mesh: uint64, i: int):
    count = 0
    if mesh != uint64(0):
        count = len(_fixed(mesh, _MeshHead)[0].points)
    assert i >= 0 and i < count, "the number of a mesh's point is out of range"
    if i >= 0 and i < count:
        return _fixed(mesh, _MeshHead)[0].points[uint32(i)]
    return vec3()


def _mesh_velocity(mesh: uint64, i: int):
    # Zero where a mesh has no velocities.
    count = 0
    points = 0
    if mesh != uint64(0):
        count = len(_fixed(mesh, _MeshHead)[0].velocities)
        points = len(_fixed(mesh, _MeshHead)[0].points)
    assert i >= 0 and i < points, "the number of a mesh's point is out of range"
    if i >= 0 and i < count:
        return _fixed(mesh, _MeshHead)[0].velocities[uint32(i)]
    return vec3()


def mesh_get_index(id, index):
    return _mesh_index(_handle("mesh", id), index)


def mesh_get_point(id, index):
    return _mesh_point(_handle("mesh", id), _mesh_index(_handle("mesh", id), index))


def mesh_get_velocity(id, index):
    return _mesh_velocity(_handle("mesh", id), _mesh_index(_handle("mesh", id), index))


def _corner_index(mesh: uint64, at: uint32):
    # Of a face that there is. Right when the mesh was built; a program that has written to its indices since must still
    # not lead a kernel out of its points.
    head = _fixed(mesh, _MeshHead)
    i = uint32(head[0].indices[at])
    count = uint32(len(head[0].points))
    assert i < count, "a mesh's index was changed since it was built, to a point that is not there"
    return min(i, count - uint32(1))


_MESH_POINTS = uint64(32)  # where a mesh's descriptor has the addresses of its points and indices
_MESH_INDICES = uint64(208)


# For walks, which prefetch what the face is made of that they have found: indices, then points.


def _indices_ahead(tree: uint64):
    return _fixed(_fixed(tree - _MESH_TREE + _MESH_INDICES, uint64)[0], uint32)


def _points_ahead(tree: uint64):
    # Three words each.
    return _fixed(_fixed(tree - _MESH_TREE + _MESH_POINTS, uint64)[0], uint32)


def _face_corners(mesh: uint64, face: int):
    points = _fixed(mesh, _MeshHead)[0].points
    first = uint32(face) * uint32(3)
    i = _corner_index(mesh, first)
    j = _corner_index(mesh, first + uint32(1))
    k = _corner_index(mesh, first + uint32(2))
    return points[i], points[j], points[k]


def _found_corners(mesh: uint64, face: int):
    # Of a face that a walk found, which sees faces where they were when the tree was last brought up to date.
    x0, x1, x2 = _face_corners(mesh, face)
    assert _face_is_still(mesh, face, x0, x1, x2), "the face that was found has moved since the mesh was built: call refit()"
    return x0, x1, x2


def _face_is_still(mesh: uint64, face: int, x0: vec3, x1: vec3, x2: vec3):
    # Debug mode: whether the tree has the face where it is now. Found by the box of the face, which is then that of before.
    low = min(min(x0, x1), x2)
    high = max(max(x0, x1), x2)
    query = _tree_query_aabb(mesh + _MESH_TREE, low, high, -1)
    number = -1
    still = False
    while not still and _tree_next(query, number, inf):
        if number == face:
            y0, y1, y2 = _leaf_corners(mesh + _MESH_TREE, (query.place >> uint32(2)) - uint32(1), face)
            still = x0 == y0 and x1 == y1 and x2 == y2
    return still


@lanewise
def _leaf_corners(tree: uint64, entry: uint32, face: int):
    # The corners of a face as an entry of a leaf has them.
    rows = _fixed(_fixed(tree, _TreeHead)[0].leaves, vec4)
    x0 = vec3()
    x1 = vec3()
    x2 = vec3()
    if _on_gpu():
        a = rows[entry * uint32(3)]
        b = rows[entry * uint32(3) + uint32(1)]
        c = rows[entry * uint32(3) + uint32(2)]
        x0 = vec3(a[0], a[1], a[2])
        x1 = vec3(b[0], b[1], b[2])
        x2 = vec3(c[0], c[1], c[2])
    else:
        at = entry * uint32(10)
        numbers = _fixed(_fixed(tree, _TreeHead)[0].leaves, type(vector(length=4, dtype=int32)))[at + uint32(9)]
        k = where(numbers[0] == face, 0, where(numbers[1] == face, 1, where(numbers[2] == face, 2, 3)))
        x0 = vec3(rows[at][k], rows[at + uint32(1)][k], rows[at + uint32(2)][k])
        x1 = vec3(rows[at + uint32(3)][k], rows[at + uint32(4)][k], rows[at + uint32(5)][k])
        x2 = vec3(rows[at + uint32(6)][k], rows[at + uint32(7)][k], rows[at + uint32(8)][k])
    return x0, x1, x2


def _has_face(mesh: uint64, face: int):
    count = 0
    if mesh != uint64(0):
        count = len(_fixed(mesh, _MeshHead)[0].indices) / 3
    assert face >= 0 and face < count, "the number of a mesh's face is out of range"
    return face >= 0 and face < count


def _face_normal(x0: vec3, x1: vec3, x2: vec3):
    # Of length 1, also for faces whose areas are next to nothing or too large for a float.
    a = x1 - x0
    b = x2 - x0
    n = cross(a, b)
    square = dot(n, n)
    if square < 1.0e-30 or not isfinite(square):
        size = max(_longest_component(a), _longest_component(b))
        if size > 0.0:
            n = cross(a / size, b / size)
    return normalize(n)


def mesh_eval_face_normal(id, face):
    mesh = _handle("mesh", id)
    if _has_face(mesh, face):
        x0, x1, x2 = _face_corners(mesh, face)
        return _face_normal(x0, x1, x2)
    return vec3()


def mesh_eval_position(id, face, bary_u, bary_v):
    mesh = _handle("mesh", id)
    if _has_face(mesh, face):
        x0, x1, x2 = _face_corners(mesh, face)
        return x0 * bary_u + x1 * bary_v + x2 * (1.0 - bary_u - bary_v)
    return vec3()


def mesh_eval_velocity(id, face, bary_u, bary_v):
    mesh = _handle("mesh", id)
    if _has_face(mesh, face) and len(_fixed(mesh, _MeshHead)[0].velocities) > 0:
        head = _fixed(mesh, _MeshHead)
        first = uint32(face) * uint32(3)
        v0 = head[0].velocities[_corner_index(mesh, first)]
        v1 = head[0].velocities[_corner_index(mesh, first + uint32(1))]
        v2 = head[0].velocities[_corner_index(mesh, first + uint32(2))]
        return v0 * bary_u + v1 * bary_v + v2 * (1.0 - bary_u - bary_v)
    return vec3()


def _mesh_tree(id: uint64):
    mesh = _handle("mesh", id)
    return where(mesh == uint64(0), mesh, mesh + _MESH_TREE)


def mesh_query_aabb(id, low, high):
    return MeshQueryAABB(_query=_tree_query_aabb(_mesh_tree(id), low, high, -1))


def mesh_query_sphere(id, center, radius):
    return MeshQueryAABB(_query=_tree_query_sphere(_mesh_tree(id), center, radius, -1))


@lanewise
def _face_in_sphere(tree: uint64, entry: uint32, face: int, center: vec3, radius: float):
    # Whether the face itself, not only its box, comes as near as the radius.
    x0, x1, x2 = _leaf_corners(tree, entry, face)
    u, v = _closest_weights(center, x0, x1, x2, _edge_scale(tree - _MESH_TREE))
    way = x0 * u + x1 * v + x2 * (1.0 - u - v) - center
    apart = _dot3(way, way)
    # Weights mean nothing where a face has no area; its edges are there all the same.
    apart = min(apart, min(_edge_apart(center, x0, x1), min(_edge_apart(center, x1, x2), _edge_apart(center, x2, x0))))
    return apart <= radius * radius


def _edge_apart(p: vec3, a: vec3, b: vec3):
    # The squared distance of a point from an edge, of no length perhaps.
    e = b - a
    square = _dot3(e, e)
    s = where(square > 0.0, clamp(_dot3(p - a, e) / where(square > 0.0, square, 1.0), 0.0, 1.0), 0.0)
    way = a + e * s - p
    return _dot3(way, way)


def mesh_query_aabb_next(query: ref, index: ref):
    walk = query._query
    number = -1
    more = False
    going = True
    while going:
        more = _tree_next(walk, number, inf)
        going = False
        if more and walk.shape == _MEETS_SPHERE:
            going = not _face_in_sphere(walk.tree, (walk.place >> uint32(2)) - uint32(1), number, walk.a, walk.radius)
    if more:
        index = number
    query._query = walk
    return more
