"""What C++ of native functions sees of meshes: arrays, the tree by halves of nodes, and the test of rays and triangles."""

import numpy as np
import pytest
import warp as wp
from warp._src.kernels import custom_functions
from warp._src.session import gpu_options

pytestmark = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@pytest.fixture(autouse=True)
def _libdevice(_on_device):
    if wp.get_device().is_cuda and not gpu_options.find_libdevice():
        pytest.skip("there is no libdevice")


def grid_mesh(n: int) -> wp.Mesh:
    """A bumpy sheet of 2 n² triangles."""
    side = np.linspace(0.0, 1.0, n + 1)
    x, y = np.meshgrid(side, side, indexing="ij")
    corners = np.stack([x, y, 0.1 * np.sin(7.0 * x) * np.cos(5.0 * y)], axis=-1).reshape(-1, 3).astype(np.float32)
    faces = []
    for i in range(n):
        for j in range(n):
            a, b, c, d = i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1
            faces += [a, b, c, a, c, d]
    return wp.Mesh(points=wp.array(corners, dtype=wp.vec3), indices=wp.array(faces, dtype=int))


@wp.func_native("""
const wp::Mesh mesh = wp::mesh_get(id);
int root = *mesh.bvh.root;
if (root < 0) return -2;
for (int level = 0; level < depth; ++level) {
    const auto lower = wp::bvh_load_node(mesh.bvh.node_lowers, root);
    if (lower.b) return (part & ((1 << (depth - level)) - 1)) == 0 ? root : -2;
    const auto upper = wp::bvh_load_node(mesh.bvh.node_uppers, root);
    root = (part >> (depth - 1 - level)) & 1 ? upper.i : lower.i;
}
return root;
""")
def part_of_tree(id: wp.uint64, part: int, depth: int) -> int: ...


@wp.kernel
def count_by_parts(id: wp.uint64, depth: int, seen: wp.array(dtype=int)):
    root = part_of_tree(id, wp.tid(), depth)
    if root != -2:
        face = int(0)
        query = wp.bvh_query_aabb(wp.mesh_get_bvh(id), wp.vec3(-9.0), wp.vec3(9.0), root)
        while wp.bvh_query_next(query, face):
            wp.atomic_add(seen, face, 1)


@pytest.mark.parametrize("depth", [0, 3])
def test_parts_of_a_tree_have_every_face_once(depth):
    mesh = grid_mesh(6)
    seen = wp.zeros(72, dtype=int)
    wp.launch(count_by_parts, dim=1 << depth, inputs=[mesh.id, depth, seen])
    assert np.array_equal(seen.numpy(), np.ones(72))


@wp.func_native("""
const wp::Mesh mesh = wp::mesh_get(id);
const auto low = wp::bvh_load_node(mesh.bvh.node_lowers, *mesh.bvh.root), high = wp::bvh_load_node(mesh.bvh.node_uppers, *mesh.bvh.root);
out[0] = wp::vec3(low.x, low.y, low.z);
out[1] = wp::vec3(high.x, high.y, high.z);
out[2] = mesh.points[mesh.indices[5]];
out[3] = wp::vec3(float(mesh.num_points), float(mesh.num_tris), float(mesh.points.shape[0]));
""")
def look(id: wp.uint64, out: wp.array(dtype=wp.vec3)): ...


@wp.kernel
def looks(id: wp.uint64, out: wp.array(dtype=wp.vec3)):
    look(id, out)


def test_arrays_and_boxes_of_a_mesh():
    mesh, out = grid_mesh(4), wp.zeros(4, dtype=wp.vec3)
    wp.launch(looks, dim=1, inputs=[mesh.id, out])
    corners, got = mesh.points.numpy(), out.numpy()
    assert np.array_equal(got[0], corners.min(axis=0)) and np.array_equal(got[1], corners.max(axis=0))
    assert np.array_equal(got[2], corners[mesh.indices.numpy()[5]])
    assert got[3].tolist() == [25.0, 32.0, 25.0]


@wp.func_native("""
float t, u, v, sign;
wp::vec3 n;
if (!wp::intersect_ray_tri_woop(p, dir, a, b, c, t, u, v, sign, &n)) return wp::vec4(-1.0f, 0.0f, 0.0f, 0.0f);
return wp::vec4(t, u, v, sign > 0.0f ? 1.0f : -1.0f);
""")
def hit_in_cpp(p: wp.vec3, dir: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3) -> wp.vec4: ...


@wp.kernel
def hits(id: wp.uint64, ps: wp.array(dtype=wp.vec3), dirs: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec4)):
    i = wp.tid()
    out[i, 0] = hit_in_cpp(ps[i], dirs[i], wp.mesh_get_point(id, 0), wp.mesh_get_point(id, 1), wp.mesh_get_point(id, 2))
    out[i, 1] = wp.vec4(-1.0, 0.0, 0.0, 0.0)
    q = wp.mesh_query_ray(id, ps[i], dirs[i], 100.0)
    if q.result:
        out[i, 1] = wp.vec4(q.t, q.u, q.v, wp.where(q.sign > 0.0, 1.0, -1.0))


def test_rays_and_triangles_as_queries_see_them():
    mesh = wp.Mesh(points=wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.2]], dtype=wp.vec3), indices=wp.array([0, 1, 2], dtype=int))
    random = np.random.default_rng(3)
    n = 300
    ps = random.uniform(-1.0, 2.0, (n, 3)).astype(np.float32)
    at = (random.uniform(0.0, 1.0, (n, 3)) * [1.0, 1.0, 0.2]).astype(np.float32)
    out = wp.zeros((n, 2), dtype=wp.vec4)
    wp.launch(hits, dim=n, inputs=[mesh.id, wp.array(ps, dtype=wp.vec3), wp.array(at - ps, dtype=wp.vec3), out])
    cpp, own = out.numpy()[:, 0], out.numpy()[:, 1]
    assert np.array_equal(cpp[:, 0] >= 0.0, own[:, 0] >= 0.0)
    assert np.allclose(cpp, own, atol=1e-5)
    assert 50 < (own[:, 0] >= 0.0).sum() < n and set(own[own[:, 0] >= 0.0][:, 3]) == {-1.0, 1.0}
