"""Tapes and ids that kernels find in memory: going back over an object that was changed since is an error, not a wrong gradient."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp

POINTS = np.array([[-1, -1, 0], [2, -1, 0.5], [-1, 2, 0.25], [2, 2, 1]], dtype=np.float32)
FACES = np.array([0, 1, 2, 2, 1, 3], dtype=np.int32)
START = np.array([[0.3, 0.1, -3.0]], dtype=np.float32)
CHANGES = ["refit", "rebuild", "points", "velocities", "delete"]


@wp.struct
class Body:
    weight: float
    mesh: wp.uint64


@wp.struct
class Scene:
    weight: float
    meshes: wp.array(dtype=wp.uint64)


@wp.func
def distance(mesh: wp.uint64, start: wp.vec3) -> float:
    hit = wp.mesh_query_ray(mesh, start, wp.vec3(0.0, 0.3, 1.0), 100.0)
    return hit.t * hit.t


@wp.kernel
def cast(meshes: wp.array(dtype=wp.uint64), starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, distance(meshes[0], starts[0]))


@wp.kernel
def cast_bodies(bodies: wp.array(dtype=Body), starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, bodies[1].weight * distance(bodies[1].mesh, starts[0]))


@wp.kernel
def cast_scene(scene: Scene, starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, scene.weight * distance(scene.meshes[1], starts[0]))


@wp.kernel
def cast_one_of(a: wp.uint64, b: wp.uint64, starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    chosen = a
    if starts[0][2] > 0.0:
        chosen = b
    wp.atomic_add(out, 0, distance(chosen, starts[0]))


@wp.kernel
def cast_by_argument(
    mesh: wp.uint64,
    numbers: wp.array(dtype=wp.uint64),
    starts: wp.array(dtype=wp.vec3),
    out: wp.array(dtype=float),
):
    wp.atomic_add(out, 0, distance(mesh, starts[0]) * (1.0 + float(numbers[0] % wp.uint64(2))))


def make_mesh(scale: float = 1.0) -> wp.Mesh:
    points = wp.array(POINTS * np.float32(scale), dtype=wp.vec3, requires_grad=True)
    return wp.Mesh(points, wp.array(FACES, dtype=int))


def ids_of(*meshes: wp.Mesh) -> wp.array:
    return wp.array([m.id for m in meshes], dtype=wp.uint64)


def change(mesh: wp.Mesh, way: str) -> None:
    if way == "refit":
        mesh.points.assign(POINTS * np.float32(3))
        mesh.refit()
    elif way == "rebuild":
        mesh.rebuild("median")
    elif way == "points":
        mesh.points = wp.array(POINTS * np.float32(3), dtype=wp.vec3, requires_grad=True)
    elif way == "velocities":
        mesh.velocities = wp.array(POINTS, dtype=wp.vec3, requires_grad=True)


def record(kernel: wp.Kernel, *inputs: object) -> tuple[wp.Tape, wp.array, wp.array]:
    starts = wp.array(START, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=1, inputs=[*inputs, starts], outputs=[out])
    return tape, starts, out


def gradient(kernel: wp.Kernel, *inputs: object) -> np.ndarray:
    tape, starts, out = record(kernel, *inputs)
    tape.backward(out)
    return starts.grad.numpy()


@pytest.mark.parametrize("way", CHANGES)
def test_a_change_is_an_error(way: str) -> None:
    mesh = make_mesh()
    ids = ids_of(mesh)
    number = mesh.id
    tape, starts, out = record(cast, ids)
    if way == "delete":
        del mesh
        gc.collect()
    else:
        change(mesh, way)
    with pytest.raises(RuntimeError, match=f"'cast' needs the Mesh with id {number} .*'meshes'.*as an argument"):
        tape.backward(out)
    assert not starts.grad.numpy().any()


@pytest.mark.parametrize("form", ["structs", "field", "argument", "view"])
def test_wherever_the_id_lies(form: str) -> None:
    still, mesh = make_mesh(), make_mesh()

    def arguments() -> tuple[object, ...]:
        if form == "structs":
            bodies = [Body(), Body()]
            for body, of in zip(bodies, (still, mesh)):
                body.weight = 2.0
                body.mesh = of.id
            return cast_bodies, wp.array(bodies, dtype=Body)
        if form == "field":
            scene = Scene()
            scene.weight = 2.0
            scene.meshes = ids_of(still, mesh)
            return cast_scene, scene
        if form == "view":
            return cast, ids_of(still, mesh)[1:]
        return cast_one_of, mesh.id, still.id

    expected = gradient(cast_by_argument, mesh.id, wp.zeros(1, dtype=wp.uint64)) * (1 if form in ("view", "argument") else 2)
    tape, starts, out = record(*arguments())
    tape.backward(out)
    np.testing.assert_allclose(starts.grad.numpy(), expected, rtol=1e-5)
    change(mesh, "refit")
    tape.zero()
    with pytest.raises(RuntimeError, match="Mesh"):
        tape.backward(out)


def test_changes_before_and_after_are_none() -> None:
    """A program that changes its mesh between one pass and the next."""
    mesh = make_mesh(3.0)
    ids = ids_of(mesh)
    numbers = wp.zeros(1, dtype=wp.uint64)
    for _ in range(3):
        mesh.points.assign(mesh.points.numpy() * np.float32(1.1))
        mesh.refit()
        found = gradient(cast, ids)
        assert found.any()
        np.testing.assert_allclose(found, gradient(cast_by_argument, mesh.id, numbers), rtol=1e-5)


def test_a_gradient_that_comes_later_is_no_change() -> None:
    mesh = wp.Mesh(wp.array(POINTS, dtype=wp.vec3), wp.array(FACES, dtype=int))
    tape, _, out = record(cast, ids_of(mesh))
    mesh.points.requires_grad = True
    tape.backward(out)


@pytest.mark.parametrize("way", CHANGES[:-1])
def test_objects_that_nothing_names(way: str) -> None:
    mesh, other = make_mesh(), make_mesh()
    tape, _, out = record(cast, ids_of(mesh))
    change(other, way)
    tape.backward(out)
    # The id is an argument, and what is read from the array is no id for the kernel.
    tape, starts, out = record(cast_by_argument, mesh.id, ids_of(other))
    change(other, way)
    tape.backward(out)
    np.testing.assert_allclose(starts.grad.numpy(), gradient(cast, ids_of(mesh)), rtol=1e-5)


def test_backward_passes_that_ask_no_object() -> None:
    @wp.kernel
    def look(
        meshes: wp.array(dtype=wp.uint64), x: wp.array(dtype=float), faces: wp.array(dtype=int), out: wp.array(dtype=float)
    ):
        faces[0] = wp.mesh_query_ray(meshes[0], wp.vec3(0.3, 0.1, -3.0), wp.vec3(0.0, 0.0, 1.0), 100.0).face
        out[0] = x[0] * x[0]

    mesh = make_mesh()
    x = wp.array([3.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(look, dim=1, inputs=[ids_of(mesh), x, wp.zeros(1, dtype=int)], outputs=[out])
    change(mesh, "points")
    tape.backward(out)
    assert x.grad.numpy()[0] == 6.0


def test_replay_takes_the_object_of_now() -> None:
    mesh = make_mesh()
    ids = ids_of(mesh)
    tape, starts, out = record(cast, ids)
    change(mesh, "points")
    tape.replay()
    tape.backward(out)
    np.testing.assert_allclose(starts.grad.numpy(), gradient(cast, ids), rtol=1e-5)


def test_grids() -> None:
    @wp.kernel
    def near(grids: wp.array(dtype=wp.uint64), points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        p = points[wp.tid()]
        for j in wp.hash_grid_query(grids[0], p, 2.0):
            wp.atomic_add(out, 0, wp.length_sq(p - points[j]))

    points = wp.array(POINTS, dtype=wp.vec3, requires_grad=True)
    grid, other = wp.HashGrid(8, 8, 8), wp.HashGrid(8, 8, 8)
    grid.build(points, 2.0)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(near, dim=len(POINTS), inputs=[wp.array([grid.id], dtype=wp.uint64), points], outputs=[out])
    other.build(points, 1.0)
    tape.backward(out)
    tape.zero()
    grid.build(wp.array(POINTS[:2], dtype=wp.vec3), 2.0)
    with pytest.raises(RuntimeError, match="'near' needs the HashGrid .* was built anew"):
        tape.backward(out)
