"""wp.Mesh and wp.Bvh in Python: what they take, what they refuse, attributes, changes, lifetimes."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import warp as wp

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)


def points_of(values: np.ndarray = POINTS, **options: object) -> wp.array:
    return wp.array(values, dtype=wp.vec3, **options)


def faces_of(values: np.ndarray = FACES) -> wp.array:
    return wp.array(values, dtype=int)


def test_attributes(device: wp.Device) -> None:
    points, indices, velocities = points_of(), faces_of(), points_of()
    mesh = wp.Mesh(points, indices, velocities)
    assert isinstance(mesh.id, int) and mesh.id > 0
    assert mesh.points is points and mesh.indices is indices and mesh.velocities is velocities
    assert mesh.device == device
    assert mesh.support_winding_number is False and mesh.groups is None
    assert wp.Mesh(points, indices, support_winding_number=True).support_winding_number is True
    lowers, uppers = points_of(), points_of(POINTS + 1)
    tree = wp.Bvh(lowers, uppers)
    assert isinstance(tree.id, int) and tree.id > 0 and tree.id != mesh.id
    assert tree.lowers is lowers and tree.uppers is uppers and tree.device == device and tree.groups is None


@pytest.mark.parametrize("constructor", [None, "sah", "median", "lbvh", "cubql", *wp.BvhConstructor])
def test_constructors(constructor: object) -> None:
    wp.Mesh(points_of(), faces_of(), bvh_constructor=constructor, bvh_leaf_size=4, support_winding_number=True)
    tree = wp.Bvh(points_of(), points_of(POINTS + 1), constructor=constructor, leaf_size=2)
    tree.rebuild(constructor)
    with pytest.raises(ValueError, match="octree"):
        wp.Bvh(points_of(), points_of(POINTS + 1), constructor="octree")
    with pytest.raises(ValueError, match="octree"):
        wp.Mesh(points_of(), faces_of(), bvh_constructor="octree")


@pytest.mark.parametrize("size", [0, -1])
def test_leaf_size(size: int) -> None:
    with pytest.raises(ValueError, match="leaf_size"):
        wp.Bvh(points_of(), points_of(POINTS + 1), leaf_size=size)
    with pytest.raises(ValueError, match="leaf_size"):
        wp.Mesh(points_of(), faces_of(), bvh_leaf_size=size)


def test_arrays_that_do_not_fit() -> None:
    points, faces = points_of(), faces_of()
    flat = wp.array(POINTS.ravel(), dtype=float)
    with pytest.raises(RuntimeError, match=r"Mesh points should be a contiguous array of type wp\.vec3"):
        wp.Mesh(flat, faces)
    with pytest.raises(RuntimeError, match="Mesh points"):
        wp.Mesh(wp.array(POINTS, dtype=wp.vec3d), faces)
    with pytest.raises(RuntimeError, match="Mesh points"):
        wp.Mesh(points[::2], faces)
    with pytest.raises(RuntimeError, match=r"Mesh indices should be a contiguous array of type wp\.int32"):
        wp.Mesh(points, wp.array(FACES, dtype=wp.int64))
    with pytest.raises(RuntimeError, match="Mesh indices"):
        wp.Mesh(points, wp.array(FACES.reshape(-1, 3), dtype=int))
    with pytest.raises(RuntimeError, match="Mesh velocities"):
        wp.Mesh(points, faces, flat)
    with pytest.raises(RuntimeError, match="velocities has 3 elements for 4 points"):
        wp.Mesh(points, faces, points_of(POINTS[:3]))
    with pytest.raises(RuntimeError, match="Bvh lowers"):
        wp.Bvh(flat, flat)
    with pytest.raises(RuntimeError, match="same number of lower and upper bounds"):
        wp.Bvh(points, points_of(POINTS[:3]))
    with pytest.raises(RuntimeError, match="groups has 1 elements for 4"):
        wp.Bvh(points, points, groups=wp.zeros(1, dtype=int))
    with pytest.raises(RuntimeError, match="groups has 1 elements for 4"):
        wp.Mesh(points, faces, groups=wp.zeros(1, dtype=int))


@pytest.mark.parametrize("count", [1, 2, 4, 11])
def test_indices_come_in_threes(count: int) -> None:
    with pytest.raises(RuntimeError, match="multiple of 3"):
        wp.Mesh(points_of(), faces_of(FACES[:count]))


@pytest.mark.parametrize("bad", [-1, 4, 2**31 - 1, -(2**31)])
def test_an_index_outside_of_the_points(bad: int) -> None:
    faces = FACES.copy()
    faces[7] = bad
    with pytest.raises(RuntimeError, match=r"face 2 .*outside of the 4 points"):
        wp.Mesh(points_of(), faces_of(faces))


def test_nothing_at_all() -> None:
    mesh = wp.Mesh(wp.empty(0, dtype=wp.vec3), wp.empty(0, dtype=int), support_winding_number=True)
    mesh.refit()
    mesh.rebuild()
    tree = wp.Bvh(wp.empty(0, dtype=wp.vec3), wp.empty(0, dtype=wp.vec3))
    tree.refit()
    tree.rebuild("median")


def test_numbers_that_are_none() -> None:
    points = np.vstack([POINTS, [[np.nan, 0, 0], [np.inf, 0, 0], [3e38, -3e38, 0]]]).astype(np.float32)
    faces = np.array([*FACES, 0, 1, 4, 1, 2, 5, 0, 1, 6, 4, 5, 6, 0, 0, 0], dtype=np.int32)
    mesh = wp.Mesh(points_of(points), faces_of(faces), support_winding_number=True)
    mesh.refit()
    mesh.rebuild("lbvh")
    wp.Bvh(points_of(points), points_of(points[::-1].copy())).refit()


def test_assigning_points() -> None:
    mesh = wp.Mesh(points_of(), faces_of())
    other = points_of(POINTS + 1)
    number = mesh.id
    mesh.points = other
    assert mesh.points is other and mesh.id == number
    with pytest.raises(RuntimeError, match="same shape"):
        mesh.points = points_of(POINTS[:3])
    with pytest.raises(RuntimeError, match="Mesh points"):
        mesh.points = wp.zeros(4, dtype=float)
    assert mesh.points is other
    mesh.velocities = other
    assert mesh.velocities is other
    mesh.velocities = None
    assert mesh.velocities is None
    with pytest.raises(RuntimeError, match="same shape"):
        mesh.velocities = points_of(POINTS[:3])


def test_memory_does_not_grow() -> None:
    generator = np.random.default_rng(5)
    mesh = wp.Mesh(points_of(generator.random((300, 3)).astype(np.float32)), faces_of(np.arange(300, dtype=np.int32)))
    mesh.rebuild()  # waits for nobody, if the mesh is small: room for as many nodes as there could be
    before = mesh._mesh.tree_bytes
    for _ in range(20):
        mesh.refit()
        mesh.rebuild()
    assert mesh._mesh.tree_bytes == before


@pytest.mark.cpu_only("launches on a GPU are in the order of streams")
def test_changes_wait_for_launches() -> None:
    """Launches, refits and drops from several threads: nobody reads a tree that is being changed."""

    @wp.kernel
    def look(mesh: wp.uint64, out: wp.array(dtype=wp.uint32)):
        out[wp.tid()] = wp._fixed(wp._handle("mesh", mesh), wp.uint32)[0]

    generator = np.random.default_rng(6)
    mesh = wp.Mesh(points_of(generator.random((3000, 3)).astype(np.float32)), faces_of(np.arange(3000, dtype=np.int32)))
    outs = [wp.zeros(64, dtype=wp.uint32) for _ in range(3)]
    errors: list[BaseException] = []

    def work(step: int) -> None:
        try:
            for _ in range(30):
                if step < 3:
                    wp.launch(look, dim=64, inputs=[mesh.id], outputs=[outs[step]])
                elif step == 3:
                    mesh.refit()
                else:
                    wp.Mesh(points_of(), faces_of())
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(step,)) for step in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all((out.numpy() == 1).all() for out in outs)


def test_refits_in_graphs() -> None:
    @wp.kernel
    def lift(points: wp.array(dtype=wp.vec3)):
        points[wp.tid()] = points[wp.tid()] + wp.vec3(0.0, 0.0, 1.0)

    @wp.kernel
    def look(mesh: wp.uint64, tree: wp.uint64, far: wp.array(dtype=float), step: wp.array(dtype=int)):
        k = wp.atomic_add(step, 0, 1)
        far[k] = wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0).t
        for box in wp.bvh_query_aabb(tree, wp.vec3(-9.0, -9.0, 3.5), wp.vec3(9.0, 9.0, 9.0)):
            wp.atomic_add(far, 8 + k, 1.0)

    lowers = points_of()
    mesh, tree = wp.Mesh(points_of(), faces_of()), wp.Bvh(lowers, lowers)
    far, step = wp.zeros(16, dtype=float), wp.zeros(1, dtype=int)
    wp.load_module(device=far.device)
    mesh.refit(), mesh.rebuild(), tree.refit(), tree.rebuild()
    with wp.ScopedCapture() as capture:
        for renew in (mesh.refit, mesh.rebuild):
            wp.launch(lift, dim=4, inputs=[mesh.points])
            wp.launch(lift, dim=4, inputs=[lowers])
            renew()
            (tree.refit if renew == mesh.refit else tree.rebuild)()
            wp.launch(look, dim=1, inputs=[mesh.id, tree.id, far, step])
    del mesh, tree
    gc.collect()
    for _ in range(2):
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(far.numpy()[:4], [2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(far.numpy()[8:12], [0.0, 0.0, 1.0, 4.0])


def test_groups_and_winding_numbers_in_graphs() -> None:
    """Refitted and built anew by the graph, by the groups that there are when it runs."""

    @wp.kernel
    def lift(points: wp.array(dtype=wp.vec3), groups: wp.array(dtype=int)):
        i = wp.tid()
        points[i] = points[i] + wp.vec3(0.0, 0.0, 1.0)
        groups[i] = groups[i] + 10

    @wp.kernel
    def look(mesh: wp.uint64, tree: wp.uint64, groups: wp.array(dtype=int), height: float, out: wp.array2d(dtype=float)):
        i = wp.tid()
        inside = wp.vec3(0.1, 0.1, height + 0.1)
        out[i, 0] = wp.mesh_query_point_sign_winding_number(mesh, inside, 100.0).sign
        root = wp.mesh_get_group_root(mesh, groups[i])
        out[i, 1] = -1.0
        if root >= 0:
            hit = wp.mesh_query_ray(mesh, wp.vec3(-5.0, -4.8, height + 0.1), wp.vec3(1.0, 1.0, 0.0), 100.0, root)
            out[i, 1] = float(hit.face)
        for k in wp.bvh_query_sphere(tree, inside, 100.0, wp.bvh_get_group_root(tree, groups[i])):
            out[i, 2] += float(k + 1)

    group = np.array([3, -7, 3, 5], dtype=np.int32)
    groups, lowers = wp.array(group, dtype=int), points_of()
    mesh = wp.Mesh(points_of(), faces_of(), support_winding_number=True, groups=groups)
    tree = wp.Bvh(lowers, lowers, groups=groups)
    before, out = wp.array(group, dtype=int), wp.zeros((2, 4, 3), dtype=float)
    wp.load_module(device=out.device)
    mesh.refit(), mesh.rebuild(), tree.refit(), tree.rebuild()
    with wp.ScopedCapture() as capture:
        wp.launch(lift, dim=4, inputs=[mesh.points, groups])
        mesh.refit(), tree.refit()
        # A refit keeps the groups of the build.
        wp.launch(look, dim=4, inputs=[mesh.id, tree.id, before, 1.0], outputs=[out[0]])
        mesh.rebuild(), tree.rebuild()
        wp.launch(look, dim=4, inputs=[mesh.id, tree.id, groups, 1.0], outputs=[out[1]])
    wp.capture_launch(capture.graph)
    # The ray meets the faces of x = 0 (2) and of the slope (3).
    want = [[-1, 2, 4], [-1, 0, 2], [-1, 2, 4], [-1, 3, 4]]
    np.testing.assert_array_equal(out.numpy(), [want, want])


@pytest.mark.parametrize("constructor", ["sah", "median"])
def test_what_the_host_builds_is_no_part_of_a_gpus_graph(device: wp.Device, constructor: str) -> None:
    if device.is_cpu:
        pytest.skip("about GPUs")
    mesh = wp.Mesh(points_of(), faces_of(), bvh_constructor=constructor)
    wp.capture_begin()
    try:
        with pytest.raises(RuntimeError, match="built by the host"):
            mesh.refit()
    finally:
        wp.capture_end()


def test_a_mesh_is_not_made_in_a_gpus_graph(device: wp.Device) -> None:
    if device.is_cpu:
        pytest.skip("about GPUs")
    points, faces = points_of(), faces_of()
    wp.capture_begin()
    try:
        with pytest.raises(RuntimeError, match="make it before the capture"):
            wp.Mesh(points, faces)
    finally:
        wp.capture_end()
    wp.Mesh(points, faces)


def test_indices_that_are_changed_behind_the_mesh() -> None:
    """A program that breaks its own mesh gets nonsense, in debug mode an error, but no crash."""

    @wp.kernel
    def cast(mesh: wp.uint64, out: wp.array(dtype=float)):
        hit = wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0)
        near = wp.mesh_query_point_no_sign(mesh, wp.vec3(0.2, 0.2, -1.0), 100.0)
        out[0] = hit.t + wp.length(wp.mesh_eval_position(mesh, near.face, near.u, near.v))

    mesh = wp.Mesh(points_of(), faces_of())
    mesh.indices.assign(np.full(12, 2**30, dtype=np.int32))
    out = wp.zeros(1, dtype=float)
    wp.launch(cast, dim=1, inputs=[mesh.id], outputs=[out])
    out.numpy()


def test_attributes_that_can_be_assigned() -> None:
    mesh, tree = wp.Mesh(points_of(), faces_of()), wp.Bvh(points_of(), points_of(POINTS + 1))
    with pytest.raises(AttributeError):
        mesh.indices = faces_of()
    other = points_of(POINTS - 1)
    tree.lowers = other
    assert tree.lowers is other
    tree.uppers = other
    assert tree.uppers is other
    tree.refit()
    with pytest.raises(RuntimeError, match="one element for each of the 4 boxes"):
        tree.lowers = points_of(POINTS[:3])
    with pytest.raises(RuntimeError, match="Bvh uppers"):
        tree.uppers = wp.zeros(4, dtype=float)
