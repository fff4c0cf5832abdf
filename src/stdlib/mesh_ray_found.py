# What rays find in meshes: t, u, v of the face that a walk gives, computed by the walk's own functions from the mesh's own
# points, so that they are the same to the bit and differentiate (_ray_triangle_gradient); and the queries themselves.

# Where on the ray a face is met that the walk found, and the weights of its first two corners.


def _ray_shears(dir: vec3):
    # Of _ray_of what corners need that are seen one by one, by the same steps.
    z = _longest_axis(dir)
    x = where(z == uint32(2), uint32(0), z + uint32(1))
    y = where(x == uint32(2), uint32(0), x + uint32(1))
    scale = 1.0 / dir[z]
    return _Ray(z=z, shear_x=-(dir[x] * scale), shear_y=-(dir[y] * scale), scale=scale)


def _ray_triangle(start: vec3, dir: vec3, x0: vec3, x1: vec3, x2: vec3):
    ray = _ray_shears(dir)
    ax, ay, az = _seen_by(ray, start, x0)
    bx, by, bz = _seen_by(ray, start, x1)
    cx, cy, cz = _seen_by(ray, start, x2)
    u, v, w = _ray_areas(ax, ay, bx, by, cx, cy)
    a, b, t = _ray_depth(u, v, w, az, bz, cz, ray.scale)
    plain = _Ray(start=start, rate=_ray_rates(dir))
    entry, met = _ray_own_box(plain, x0[0], x0[1], x0[2], x1[0], x1[1], x1[2], x2[0], x2[1], x2[2], inf)
    return where(t < entry, entry, t), a, b


def _ray_front(start: vec3, dir: vec3, x0: vec3, x1: vec3, x2: vec3):
    # 1 if the ray meets the face from where it is counter-clockwise, else -1.
    ray = _ray_shears(dir)
    ax, ay, az = _seen_by(ray, start, x0)
    bx, by, bz = _seen_by(ray, start, x1)
    cx, cy, cz = _seen_by(ray, start, x2)
    u, v, w = _ray_areas(ax, ay, bx, by, cx, cy)
    return where((u + v + w > 0.0) != (ray.scale < 0.0), 1.0, -1.0)


def _ray_triangle_gradient(start, dir, x0, x1, x2, adj_t, adj_u, adj_v):
    # With weights w and normal n: dt = n·(Σ wᵢ dxᵢ - dstart - t ddir) / (n·dir); what is left of the move lies in the
    # face's plane and moves u and v. Edges are scaled so that small faces have normals.
    if adj_t != 0.0 or adj_u != 0.0 or adj_v != 0.0:
        t, u, v = _ray_triangle(start, dir, x0, x1, x2)
        e0 = x0 - x2
        e1 = x1 - x2
        size = max(_longest_component(e0), _longest_component(e1))
        if size > 0.0:
            e0 = e0 / size
            e1 = e1 / size
            n = cross(e0, e1)
            nn = dot(n, n)
            steep = dot(n, dir)
            if nn > 0.0 and steep != 0.0:
                a = cross(e1, n) / (nn * size)
                b = cross(n, e0) / (nn * size)
                moved = n * ((adj_t + adj_u * dot(dir, a) + adj_v * dot(dir, b)) / steep) - a * adj_u - b * adj_v
                adjoint[start] += -moved
                adjoint[dir] += moved * -t
                adjoint[x0] += moved * u
                adjoint[x1] += moved * v
                adjoint[x2] += moved * (1.0 - u - v)


def _longest_component(x):
    return max(max(abs(x[0]), abs(x[1])), abs(x[2]))


# What a ray's query says of the face that the walk found. Faces of lanes lie anywhere, and code for many lanes is long: what is
# asked for less often runs lane by lane. (Where on the ray, too, would make images of cameras take a twentieth longer.)


def _found_on_ray(mesh: uint64, face: int, start: vec3, dir: vec3):
    x0, x1, x2 = _found_corners(mesh, face)
    t, u, v = _ray_triangle(start, dir, x0, x1, x2)
    return t, u, v


@lanewise_values
def _found_side(mesh: uint64, face: int, start: vec3, dir: vec3):
    x0, x1, x2 = _face_corners(mesh, face)
    return _ray_front(start, dir, x0, x1, x2)


@lanewise_values
def _found_normal(mesh: uint64, face: int):
    x0, x1, x2 = _face_corners(mesh, face)
    return _face_normal(x0, x1, x2)


def mesh_query_ray(id, start, dir, max_t, root):
    # Each field is a value of its own until the end: what a kernel does not ask for is then not computed.
    mesh = _handle("mesh", id)
    face = -1
    if mesh != uint64(0):
        face = _walk_ray(mesh + _MESH_TREE, start, dir, max_t, root, _NEAREST)
    t = 0.0
    u = 0.0
    v = 0.0
    sign = 0.0
    normal = vec3()
    if face >= 0:
        t, u, v = _found_on_ray(mesh, face, start, dir)
        sign = _found_side(mesh, face, start, dir)
        normal = _found_normal(mesh, face)
    return MeshQueryRay(result=face >= 0, sign=sign, face=max(face, 0), t=t, u=u, v=v, normal=normal)


def _mesh_query_ray_into(id, start, dir, max_t, t: ref, bary_u: ref, bary_v: ref, sign: ref, normal: ref, face: ref, root):
    query = mesh_query_ray(id, start, dir, max_t, root)
    if query.result:
        t = query.t
        bary_u = query.u
        bary_v = query.v
        sign = query.sign
        normal = query.normal
        face = query.face
    return query.result


def mesh_query_ray_anyhit(id, start, dir, max_t, root):
    mesh = _handle("mesh", id)
    if mesh == uint64(0):
        return False
    return _walk_ray(mesh + _MESH_TREE, start, dir, max_t, root, _ANY) >= 0


def mesh_query_ray_count_intersections(id, start, dir, root):
    mesh = _handle("mesh", id)
    if mesh == uint64(0):
        return 0
    return _walk_ray(mesh + _MESH_TREE, start, dir, inf, root, _COUNT)
