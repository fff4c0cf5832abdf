"""Builtins that C++ of native functions calls by their names under wp::, compared with the same calls in kernels."""

import numpy as np
import pytest
import warp as wp
from warp import _weft
from warp._src.kernels import custom_functions
from warp._src.session import gpu_options

pytestmark = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@pytest.fixture(autouse=True)
def _libdevice(_on_device):
    if wp.get_device().is_cuda and not gpu_options.find_libdevice():
        pytest.skip("there is no libdevice")


CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float32)
FACES = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]


def cube() -> wp.Mesh:
    return wp.Mesh(points=wp.array(CUBE, dtype=wp.vec3), indices=wp.array(FACES, dtype=int))


def points(n: int) -> np.ndarray:
    return np.random.default_rng(7).uniform(-0.5, 1.5, (n, 3)).astype(np.float32)


@wp.func_native("""
auto query = parity ? wp::mesh_query_point_sign_parity(mesh, p, radius) : wp::mesh_query_point_sign_normal(mesh, p, radius);
if (!query.result) return wp::vec4(0.0f, 0.0f, 0.0f, -1.0f);
return wp::vec4(query.sign, query.u, query.v, float(query.face));
""")
def nearest_in_cpp(mesh: wp.uint64, p: wp.vec3, radius: float, parity: bool) -> wp.vec4: ...


@wp.kernel
def nearest(mesh: wp.uint64, ps: wp.array(dtype=wp.vec3), parity: bool, cpp: wp.array(dtype=wp.vec4), own: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    cpp[i] = nearest_in_cpp(mesh, ps[i], 0.3, parity)
    q = wp.mesh_query_point_sign_normal(mesh, ps[i], 0.3)
    if parity:
        q = wp.mesh_query_point_sign_parity(mesh, ps[i], 0.3)
    own[i] = wp.vec4(0.0, 0.0, 0.0, -1.0)
    if q.result:
        own[i] = wp.vec4(q.sign, q.u, q.v, float(q.face))


@pytest.mark.parametrize("parity", [False, True])
def test_queries_of_meshes(parity):
    n, mesh = 64, cube()
    ps, cpp, own = wp.array(points(n), dtype=wp.vec3), wp.zeros(n, dtype=wp.vec4), wp.zeros(n, dtype=wp.vec4)
    wp.launch(nearest, dim=n, inputs=[mesh.id, ps, parity, cpp, own])
    assert np.array_equal(cpp.numpy(), own.numpy())
    assert set(np.sign(own.numpy()[:, 0])) == {-1.0, 0.0, 1.0}


@wp.func_native("""
float t = 0.0f, u = 0.0f, v = 0.0f, sign = 0.0f;
wp::vec3 n;
int face = -1;
if (!wp::mesh_query_ray(mesh, p, wp::vec3(0.0f, 0.0f, 1.0f), 10.0f, t, u, v, sign, n, face)) return -1.0f;
return t;
""")
def ray_in_cpp(mesh: wp.uint64, p: wp.vec3) -> float: ...


@wp.func_native("""
int count = 0, face = 0;
auto query = wp::mesh_query_aabb(mesh, p - wp::vec3(0.4f), p + wp::vec3(0.4f));
while (wp::mesh_query_aabb_next(query, face)) count += face + 1;
return count;
""")
def faces_in_cpp(mesh: wp.uint64, p: wp.vec3) -> int: ...


@wp.kernel
def walks(mesh: wp.uint64, ps: wp.array(dtype=wp.vec3), rays: wp.array2d(dtype=float), faces: wp.array2d(dtype=int)):
    i = wp.tid()
    rays[i, 0] = ray_in_cpp(mesh, ps[i])
    hit = wp.mesh_query_ray(mesh, ps[i], wp.vec3(0.0, 0.0, 1.0), 10.0)
    rays[i, 1] = wp.where(hit.result, hit.t, -1.0)
    faces[i, 0] = faces_in_cpp(mesh, ps[i])
    count = int(0)
    for face in wp.mesh_query_aabb(mesh, ps[i] - wp.vec3(0.4), ps[i] + wp.vec3(0.4)):
        count += face + 1
    faces[i, 1] = count


def test_results_by_reference_and_loops_over_queries():
    n, mesh = 64, cube()
    ps, rays, faces = wp.array(points(n), dtype=wp.vec3), wp.zeros((n, 2), dtype=float), wp.zeros((n, 2), dtype=int)
    wp.launch(walks, dim=n, inputs=[mesh.id, ps, rays, faces])
    assert np.array_equal(rays.numpy()[:, 0], rays.numpy()[:, 1])
    assert np.array_equal(faces.numpy()[:, 0], faces.numpy()[:, 1])
    assert faces.numpy().max() > 0 and rays.numpy().max() > 0


@wp.func_native("""
int count = 0, at = 0;
auto query = wp::hash_grid_query(grid, p, 0.5f);
while (wp::hash_grid_query_next(query, at)) ++count;
return count;
""")
def neighbours_in_cpp(grid: wp.uint64, p: wp.vec3) -> int: ...


@wp.kernel
def neighbours(grid: wp.uint64, ps: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = neighbours_in_cpp(grid, ps[i])
    count = int(0)
    for _at in wp.hash_grid_query(grid, ps[i], 0.5):
        count += 1
    out[i, 1] = count


def test_hash_grids():
    ps, out = wp.array(points(100), dtype=wp.vec3), wp.zeros((100, 2), dtype=int)
    grid = wp.HashGrid(8, 8, 8)
    grid.build(ps, 0.5)
    wp.launch(neighbours, dim=100, inputs=[grid.id, ps, out])
    assert np.array_equal(out.numpy()[:, 0], out.numpy()[:, 1]) and out.numpy().min() > 0


@wp.func_native("""
const wp::transform t(p, wp::quat_from_axis_angle(wp::vec3(0.0f, 0.0f, 1.0f), 0.5f));
return wp::transform_point(wp::transform_inverse(t), p) + wp::transform_get_translation(t);
""")
def moved_in_cpp(p: wp.vec3) -> wp.vec3: ...


@wp.func_native("return double(wp::intersect_tri_tri(wp::vec3d(0.0, 0.0, 0.0), a, b, wp::vec3d(0.2, 0.2, -1.0), a, b));")
def meet_in_cpp(a: wp.vec3d, b: wp.vec3d) -> wp.float64: ...


@wp.func_native("""
wp::mat33 u, v;
wp::vec3 s;
wp::svd3(m, u, s, v);
return s;
""")
def singular_in_cpp(m: wp.mat33) -> wp.vec3: ...


@wp.kernel
def small_ones(ps: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=wp.vec3)):
    i = wp.tid()
    p = ps[i]
    t = wp.transform(p, wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), 0.5))
    out[i, 0] = moved_in_cpp(p)
    out[i, 1] = wp.transform_point(wp.transform_inverse(t), p) + wp.transform_get_translation(t)
    m = wp.outer(p, p) + wp.diag(p)
    out[i, 2] = singular_in_cpp(m)
    u, s, v = wp.svd3(m)
    out[i, 3] = s
    a, b = wp.vec3d(wp.float64(1.0), wp.float64(0.0), wp.float64(p[0])), wp.vec3d(wp.float64(0.0), wp.float64(1.0), wp.float64(0.0))
    out[i, 4] = wp.vec3(float(meet_in_cpp(a, b)))
    o, c = wp.vec3d(), wp.vec3d(wp.float64(0.2), wp.float64(0.2), wp.float64(-1.0))
    out[i, 5] = wp.vec3(float(wp.intersect_tri_tri(o, a, b, c, a, b)))


def test_rotations_matrices_and_several_results():
    ps, out = wp.array(points(16), dtype=wp.vec3), wp.zeros((16, 6), dtype=wp.vec3)
    wp.launch(small_ones, dim=16, inputs=[ps, out])
    got = out.numpy()
    for k in (0, 2, 4):
        assert np.array_equal(got[:, k], got[:, k + 1])


@wp.func_native("return x * wp::mesh_eval_position(mesh, 0, 0.5f, 0.5f)[0];", adj_snippet="adj_x += adj_ret * wp::mesh_eval_position(mesh, 0, 0.5f, 0.5f)[1];")
def scaled(mesh: wp.uint64, x: float) -> float: ...


@wp.kernel
def scales(mesh: wp.uint64, x: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = scaled(mesh, x[0])


def test_gradients_call_them_too():
    mesh = wp.Mesh(points=wp.array([[2, 3, 0], [2, 5, 0], [0, 0, 1]], dtype=wp.vec3), indices=wp.array([0, 1, 2], dtype=int))
    x, out = wp.array([3.0], dtype=float, requires_grad=True), wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scales, dim=1, inputs=[mesh.id, x, out])
    tape.backward(grads={out: wp.ones(1, dtype=float)})
    assert out.numpy()[0] == 6.0 and x.grad.numpy()[0] == 4.0


def test_what_it_calls_from_functions_of_its_own():
    @wp.func_native("auto twice = [&](float t) { return wp::smoothstep(0.0f, 1.0f, t) * 2.0f; }; return twice(x) + twice(0.5f);")
    def curve(x: float) -> float: ...

    @wp.kernel(module="unique")
    def curves(out: wp.array(dtype=float)):
        out[0] = curve(0.25)
        out[1] = wp.smoothstep(0.0, 1.0, 0.25) * 2.0 + wp.smoothstep(0.0, 1.0, 0.5) * 2.0

    out = wp.zeros(2, dtype=float)
    wp.launch(curves, dim=1, inputs=[out])
    assert out.numpy()[0] == out.numpy()[1]


def test_a_name_that_no_builtin_has_is_clangs_error():
    @wp.func_native("return wp::no_such_query(x);")
    def wrong(x: float) -> float: ...

    @wp.kernel(module="unique")
    def calls(out: wp.array(dtype=float)):
        out[0] = wrong(1.0)

    with pytest.raises(Exception, match="no_such_query"):
        wp.launch(calls, dim=1, inputs=[wp.zeros(1, dtype=float)])


def test_an_id_of_no_mesh_is_told_in_debug_mode():
    @wp.kernel(module="unique")
    def asks(mesh: wp.uint64, out: wp.array(dtype=wp.vec4)):
        out[0] = nearest_in_cpp(mesh, wp.vec3(), 1.0, False)

    wp.set_module_options({"mode": "debug"}, module=asks.module)
    with pytest.raises(Exception, match="mesh"):
        wp.launch(asks, dim=1, inputs=[wp.uint64(12345), wp.zeros(1, dtype=wp.vec4)])
        wp.synchronize()


NAMES = sorted(name for name in _weft.builtin_names() if not name.startswith("_"))


@pytest.mark.parametrize("part", range(8))
def test_every_builtin_can_be_declared(part):
    """No name is the prelude's as well, and each overload has a form in C++. Names in comments count as calls."""
    names = NAMES[part::8]
    snippet = "".join(f"// {name}(\n" for name in names) + "return x + 1.0f;"

    @wp.func_native(snippet)
    def declares(x: float) -> float: ...

    @wp.kernel(module="unique")
    def calls(out: wp.array(dtype=float)):
        out[0] = declares(out[0])

    out = wp.zeros(1, dtype=float, device="cpu")
    wp.launch(calls, dim=1, inputs=[out], device="cpu")
    assert out.numpy()[0] == 1.0
