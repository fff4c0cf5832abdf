# Rigid transforms (position p, rotation q) and their 4x4 matrices, which act on columns.


def transform_get_translation(t):
    return t.p


def transform_get_rotation(t):
    return t.q


def transform_set_translation(t: ref, p):
    t = type(t)(p, t.q)


def transform_set_rotation(t: ref, q):
    t = type(t)(t.p, q)


def transform_set_translation_copy(t, p):
    return type(t)(p, t.q)


def transform_set_rotation_copy(t, q):
    return type(t)(t.p, q)


def transform_point(t, p):
    return t.p + quat_rotate(t.q, p)


def _transform_point_mat(m, p):
    return type(p)(
        m[0, 0] * p[0] + m[0, 1] * p[1] + m[0, 2] * p[2] + m[0, 3],
        m[1, 0] * p[0] + m[1, 1] * p[1] + m[1, 2] * p[2] + m[1, 3],
        m[2, 0] * p[0] + m[2, 1] * p[1] + m[2, 2] * p[2] + m[2, 3],
    )


def transform_vector(t, v):
    return quat_rotate(t.q, v)


def _transform_vector_mat(m, v):
    return type(v)(
        m[0, 0] * v[0] + m[0, 1] * v[1] + m[0, 2] * v[2],
        m[1, 0] * v[0] + m[1, 1] * v[1] + m[1, 2] * v[2],
        m[2, 0] * v[0] + m[2, 1] * v[1] + m[2, 2] * v[2],
    )


def transform_multiply(a, b):
    return type(a)(transform_point(a, b.p), a.q * b.q)


def transform_inverse(t):
    q = quat_inverse(t.q)
    return type(t)(-quat_rotate(q, t.p), q)


def transform_compose(position, rotation, scale):
    r = quat_to_matrix(rotation)
    zero = type(scale[0])(0)
    return matrix(
        r[0, 0] * scale[0], r[0, 1] * scale[1], r[0, 2] * scale[2], position[0],
        r[1, 0] * scale[0], r[1, 1] * scale[1], r[1, 2] * scale[2], position[1],
        r[2, 0] * scale[0], r[2, 1] * scale[1], r[2, 2] * scale[2], position[2],
        zero, zero, zero, type(zero)(1),
        shape=(4, 4),
    )


def transform_to_matrix(t):
    one = type(t[0])(1)
    return transform_compose(t.p, t.q, vector(one, one, one))


def transform_from_matrix(m):
    return transformation(vector(m[0, 3], m[1, 3], m[2, 3]), quat_from_matrix(m))


def _length_and_direction(v):
    d = dot(v, v)
    l = type(d)(0)
    u = type(v)()
    if d > 0:
        l = sqrt(d)
        u = v / l
    return l, u


def transform_decompose(m):
    sx, x = _length_and_direction(vector(m[0, 0], m[1, 0], m[2, 0]))
    sy, y = _length_and_direction(vector(m[0, 1], m[1, 1], m[2, 1]))
    sz, z = _length_and_direction(vector(m[0, 2], m[1, 2], m[2, 2]))
    rotation = quat_from_matrix(matrix_from_cols(x, y, z))
    return vector(m[0, 3], m[1, 3], m[2, 3]), rotation, vector(sx, sy, sz)
