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
    leaves = _fixed(mesh + _MESH_TREE, _TreeHead)[0].leaves
    number = -1
    still = False
    while not still and _tree_next(query, number, inf):
        if number == face:
            still = _entry_has(leaves, (query.place >> uint32(2)) - uint32(1), face, x0, x1, x2)
    return still


@lanewise
def _entry_has(leaves: uint64, entry: uint32, face: int, x0: vec3, x1: vec3, x2: vec3):
    # Whether an entry of a leaf holds a face with these corners.
    found = False
    if _on_gpu():
        rows = _fixed(leaves, vec4)
        a = rows[entry * uint32(3)]
        b = rows[entry * uint32(3) + uint32(1)]
        c = rows[entry * uint32(3) + uint32(2)]
        found = True
        for d in range(3):
            found = found and a[d] == x0[d] and b[d] == x1[d] and c[d] == x2[d]
    else:
        blocks = _fixed(leaves, vec4)
        numbers = _fixed(leaves, type(vector(length=4, dtype=int32)))
        at = entry * uint32(10)
        for k in range(4):
            if numbers[at + uint32(9)][k] == face:
                found = True
                for d in range(3):
                    row = at + uint32(d)
                    found = found and blocks[row][k] == x0[d] and blocks[row + uint32(3)][k] == x1[d]
                    found = found and blocks[row + uint32(6)][k] == x2[d]
    return found


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


def mesh_query_aabb_next(query: ref, index: ref):
    walk = query._query
    more = _tree_next(walk, index, inf)
    query._query = walk
    return more
