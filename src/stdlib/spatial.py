# Spatial vectors (w, v): the angular part or torque in components 0 to 2, the linear part or force in 3 to 5.


def spatial_top(a):
    return vector(a[0], a[1], a[2])


def spatial_bottom(a):
    return vector(a[3], a[4], a[5])


def spatial_cross(a, b):
    wa = spatial_top(a)
    wb = spatial_top(b)
    return vector(cross(wa, wb), cross(spatial_bottom(a), wb) + cross(wa, spatial_bottom(b)))


def spatial_cross_dual(a, b):
    wa = spatial_top(a)
    vb = spatial_bottom(b)
    return vector(cross(wa, spatial_top(b)) + cross(spatial_bottom(a), vb), cross(wa, vb))


def spatial_adjoint(r, s):
    o = type(r[0, 0])(0)
    return matrix(
        r[0, 0], r[0, 1], r[0, 2], o, o, o,
        r[1, 0], r[1, 1], r[1, 2], o, o, o,
        r[2, 0], r[2, 1], r[2, 2], o, o, o,
        s[0, 0], s[0, 1], s[0, 2], r[0, 0], r[0, 1], r[0, 2],
        s[1, 0], s[1, 1], s[1, 2], r[1, 0], r[1, 1], r[1, 2],
        s[2, 0], s[2, 1], s[2, 2], r[2, 0], r[2, 1], r[2, 2],
        shape=(6, 6),
    )


def transform_twist(t, x):
    w = quat_rotate(t.q, spatial_top(x))
    return vector(w, quat_rotate(t.q, spatial_bottom(x)) + cross(t.p, w))


def transform_wrench(t, x):
    v = quat_rotate(t.q, spatial_bottom(x))
    return vector(quat_rotate(t.q, spatial_top(x)) + cross(t.p, v), v)


def velocity_at_point(qd, r):
    return spatial_bottom(qd) + cross(spatial_top(qd), r)


def spatial_jacobian(S, joint_parents, joint_qd_start, joint_start, joint_count, J_start, J_out):
    # Six rows for each joint; its columns are the motions of the joints from it up to the root.
    first = joint_qd_start[joint_start]
    width = joint_qd_start[joint_start + joint_count] - first
    for i in range(joint_count):
        j = joint_start + i
        while j != -1:
            for dof in range(joint_qd_start[j], joint_qd_start[j + 1]):
                motion = S[dof]
                for row in range(6):
                    J_out[J_start + (6 * i + row) * width + dof - first] = motion[row]
            j = joint_parents[j]


def spatial_mass(I_s, joint_start, joint_count, M_start, M):
    # The inertias along the diagonal of a square matrix.
    width = 6 * joint_count
    for i in range(joint_count):
        inertia = I_s[joint_start + i]
        for row in range(6):
            for col in range(6):
                M[M_start + (6 * i + row) * width + 6 * i + col] = inertia[row, col]
