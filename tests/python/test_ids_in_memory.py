"""Debug mode and objects: ids that come out of memory, faces that have moved since the last refit, winding numbers unasked for."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import warp as wp

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)


@pytest.fixture
def debug() -> Iterator[None]:
    before = wp.config.mode
    wp.config.mode = "debug"
    yield
    wp.config.mode = before


def tetrahedron(device: object = None) -> wp.Mesh:
    return wp.Mesh(wp.array(POINTS, dtype=wp.vec3, device=device), wp.array(FACES, dtype=int, device=device))


@wp.struct
class Part:
    scale: float
    mesh: wp.uint64


@wp.kernel
def cast(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(ids[i], wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0)
    out[i] = wp.where(hit.result, hit.t, -1.0)


@wp.kernel
def cast_parts(parts: wp.array(dtype=Part), out: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(parts[i].mesh, wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0)
    out[i] = wp.where(hit.result, hit.t * parts[i].scale, -1.0)


@wp.kernel
def count(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    n = float(0.0)
    for k in wp.bvh_query_aabb(ids[i], wp.vec3(-9.0), wp.vec3(9.0)):
        n += 1.0
    out[i] = n


@wp.kernel
def near(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    n = float(0.0)
    for k in wp.hash_grid_query(ids[i], wp.vec3(0.0), 9.0):
        n += 1.0
    out[i] = n


def run(kernel: wp.Kernel, ids: list[int]) -> np.ndarray:
    out = wp.full(len(ids), -7.0, dtype=float)
    wp.launch(kernel, len(ids), [wp.array(np.array(ids, dtype=np.uint64), dtype=wp.uint64)], [out])
    wp.synchronize()
    return out.numpy()


def test_good_ids(debug: None) -> None:
    mesh, other = tetrahedron(), tetrahedron()
    tree = wp.Bvh(mesh.points, mesh.points)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(mesh.points, 1.0)
    np.testing.assert_array_equal(run(cast, [mesh.id, 0, other.id]), [1, -1, 1])
    np.testing.assert_array_equal(run(count, [tree.id, 0, mesh.id + 320]), [4, 0, 4])
    np.testing.assert_array_equal(run(near, [0, grid.id]), [0, 4])


@pytest.mark.parametrize("number", [1, 12345, 2**63 + 7])
def test_numbers_that_are_no_ids(debug: None, number: int) -> None:
    mesh = tetrahedron()
    line = cast.func.__code__.co_firstlineno + 3
    text = rf"kernel 'cast', .*test_ids_in_memory\.py:{line}:.*thread \(2,\): {number} is not the id of a Mesh"
    with pytest.raises(RuntimeError, match=text):
        run(cast, [mesh.id, mesh.id, number, mesh.id])


def test_ids_inside_of_slots(debug: None) -> None:
    mesh = tetrahedron()
    for number in (mesh.id + 8, mesh.id + 320, mesh.id + 512 * 100):
        with pytest.raises(RuntimeError, match=f"{number} is not the id of a Mesh"):
            run(cast, [number])


def test_other_kinds(debug: None) -> None:
    mesh = tetrahedron()
    tree = wp.Bvh(mesh.points, mesh.points)
    grid = wp.HashGrid(4, 4, 4)
    grid.build(mesh.points, 1.0)
    for kernel, kind, ids in ((cast, "Mesh", (tree, grid)), (count, "Bvh", (mesh, grid)), (near, "HashGrid", (mesh, tree))):
        for one in ids:
            with pytest.raises(RuntimeError, match=f"{one.id} is not the id of a {kind}"):
                run(kernel, [one.id])


def test_the_dead(debug: None) -> None:
    number = tetrahedron().id
    gc.collect()
    with pytest.raises(RuntimeError, match=f"{number} is not the id of a Mesh that lives"):
        run(cast, [number])


def test_structs_in_arrays(debug: None) -> None:
    mesh = tetrahedron()
    part = Part()
    part.scale, part.mesh = 2.0, mesh.id
    parts = wp.array([part], dtype=Part)
    out = wp.zeros(1, dtype=float)
    wp.launch(cast_parts, 1, [parts], [out])
    assert out.numpy()[0] == 2
    number = mesh.id
    del mesh
    gc.collect()
    with pytest.raises(RuntimeError, match=f"{number} is not the id of a Mesh that lives"):
        wp.launch(cast_parts, 1, [parts], [out])
        wp.synchronize()


def test_other_devices(debug: None, device: wp.Device) -> None:
    if device.is_cpu:
        pytest.skip("needs a GPU")
    here, there = tetrahedron("cpu"), tetrahedron(device)
    with pytest.raises(RuntimeError, match=f"{here.id} is not the id of a Mesh"):
        run(cast, [here.id])
    with wp.ScopedDevice("cpu"), pytest.raises(RuntimeError, match=f"{there.id} is not the id of a Mesh"):
        run(cast, [there.id])


def test_the_empty_object_is_used(debug: None) -> None:
    mesh = tetrahedron()
    out = wp.full(2, -7.0, dtype=float)
    with pytest.raises(RuntimeError, match="is not the id"):
        wp.launch(cast, 2, [wp.array([99, mesh.id], dtype=wp.uint64)], [out])
        wp.synchronize()
    assert out.numpy()[0] in (-1.0, -7.0)  # nothing was hit; or the launch had ended by then


def test_many_objects(debug: None) -> None:
    """More than one slab of slots."""
    meshes = [tetrahedron() for _ in range(300)]
    ids = [m.id for m in meshes]
    assert (run(cast, ids) == 1).all()
    del meshes[7]
    gc.collect()
    with pytest.raises(RuntimeError, match=f"{ids[7]} is not the id"):
        run(cast, ids)


@wp.kernel
def ask(mesh: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    if i == 0:
        out[i] = wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.2, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0).t
    elif i == 1:
        out[i] = wp.mesh_query_point(mesh, wp.vec3(0.2, 0.2, -1.0), 100.0).u
    else:
        out[i] = wp.mesh_query_furthest_point_no_sign(mesh, wp.vec3(0.2, 0.2, -1.0), 0.0).u


def test_faces_that_have_moved(debug: None) -> None:
    mesh = tetrahedron()
    out = wp.zeros(3, dtype=float)
    wp.launch(ask, 3, [mesh.id], [out])
    wp.synchronize()
    mesh.points.assign(POINTS + np.float32(1e-3))
    for dim in (1, 2, 3):
        with pytest.raises(RuntimeError, match=r"kernel 'ask', .*test_ids_in_memory.*has moved since the mesh was built: call refit"):
            wp.launch(ask, dim, [mesh.id], [out])
            wp.synchronize()
    mesh.refit()
    wp.launch(ask, 3, [mesh.id], [out])
    wp.synchronize()
    mesh.points.assign(np.full_like(POINTS, np.nan))
    with pytest.raises(RuntimeError, match="has moved"):
        wp.launch(ask, 1, [mesh.id], [out])
        wp.synchronize()


@pytest.mark.parametrize("count", [1, 5, 64, 1000])
def test_faces_that_have_not_moved(debug: None, count: int) -> None:
    """Every face is found in its own leaf, however many there are."""

    @wp.kernel
    def ask_each(mesh: wp.uint64, centres: wp.array(dtype=wp.vec3), out: wp.array(dtype=int)):
        i = wp.tid()
        out[i] = wp.mesh_query_point_no_sign(mesh, centres[i], 100.0).face

    points = np.random.default_rng(count).normal(size=(count * 3, 3)).astype(np.float32)
    faces = np.arange(count * 3, dtype=np.int32)
    for constructor in (None, "sah", "median", "lbvh"):
        mesh = wp.Mesh(wp.array(points, dtype=wp.vec3), wp.array(faces, dtype=int), bvh_constructor=constructor)
        out = wp.zeros(count, dtype=int)
        centres = points.reshape(-1, 3, 3).mean(1)
        wp.launch(ask_each, count, [mesh.id, wp.array(centres, dtype=wp.vec3)], [out])
        wp.synchronize()
        assert (out.numpy() >= 0).all()


@wp.kernel
def wind(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[wp.tid()] = wp.mesh_query_point_sign_winding_number(mesh, wp.vec3(0.1, 0.1, 0.1), 100.0).sign


def test_a_warning_for_winding_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """Once for each mesh that was not made for them, however often it is asked."""
    out = wp.zeros(1, dtype=float)
    meshes = [tetrahedron(), tetrahedron()]
    made_for_it = wp.Mesh(meshes[0].points, meshes[0].indices, support_winding_number=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for mesh in [made_for_it, *meshes, *meshes]:
            wp.launch(wind, 1, [mesh.id], [out])
            assert out.numpy()[0] == -1
    text = capsys.readouterr()
    said = "\n".join(str(w.message) for w in caught) + text.out + text.err
    for mesh in meshes:
        assert said.count(f"asks the Mesh with id {mesh.id} for winding numbers") == 1
    assert str(made_for_it.id) not in said


@wp.kernel
def look_up(slab: wp.array(dtype=wp.uint64)):
    table = wp._fixed(wp._objects(), wp.uint64)
    if wp._objects() != wp.uint64(0):
        slab[0] = table[0]
        for k in range(int(table[0])):
            slab[k + 1] = table[1 + 17 * k]


def test_a_mesh_lives_in_a_slab_of_the_table(device: wp.Device, debug: None) -> None:
    mesh = tetrahedron(device)
    slabs = wp.zeros(500, dtype=wp.uint64, device=device)
    wp.launch(look_up, dim=1, inputs=[slabs], device=device)
    count, *addresses = slabs.numpy().tolist()
    assert 1 <= count < 500
    assert any(0 <= mesh.id - address < 65536 and (mesh.id - address) % 512 == 0 for address in addresses[:count])


@wp.kernel
def sample(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.volume_sample_f(ids[i], wp.vec3(1.0, 2.0, 3.0), wp.Volume.LINEAR)


def test_volumes_out_of_memory(debug) -> None:
    volume, mesh = wp.Volume.allocate((0, 0, 0), (7, 7, 7), 1.0, bg_value=2.5), tetrahedron()
    out = wp.zeros(2, dtype=float)
    wp.launch(sample, 2, [wp.array([volume.id, 0], dtype=wp.uint64)], [out])
    assert out.numpy().tolist() == [2.5, 0.0]
    for wrong in (mesh.id, volume.id + 8, 12345):
        with pytest.raises(RuntimeError, match=f"{wrong} is not the id of a Volume"):
            wp.launch(sample, 2, [wp.array([volume.id, wrong], dtype=wp.uint64)], [out])
            wp.synchronize()
