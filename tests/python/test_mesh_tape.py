"""Tapes and meshes: going back finds the mesh, its points and their gradients as they were when the launch ran."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import warp as wp

POINTS = np.array([[-1, -1, 0], [2, -1, 0.5], [-1, 2, 0.25], [2, 2, 1]], dtype=np.float32)
FACES = np.array([0, 1, 2, 2, 1, 3], dtype=np.int32)
STARTS = np.array([[0, 0, -2], [0.3, 0.1, -3], [1.2, 1.1, -1], [0.1, 0.7, -2]], dtype=np.float32)


@wp.kernel
def cast(mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, starts[i], wp.vec3(0.0, 0.0, 1.0), 100.0)
    if hit.result:
        wp.atomic_add(out, 0, float(i + 1) * hit.t)


@wp.kernel
def lift(points: wp.array(dtype=wp.vec3), by: wp.array(dtype=float), step: int):
    i = wp.tid()
    p = points[i]
    points[i] = wp.vec3(p[0], p[1], p[2] + by[step] * (1.0 + p[0]))


def height(points: np.ndarray, start: np.ndarray) -> float:
    """How far above a start the surface is, by the plane of the face under it, in float64."""
    for a, b, c in FACES.reshape(-1, 3):
        p, q, r = points[a].astype(np.float64), points[b].astype(np.float64), points[c].astype(np.float64)
        w = np.linalg.solve(np.array([[q[0] - p[0], r[0] - p[0]], [q[1] - p[1], r[1] - p[1]]]), start[:2] - p[:2])
        if (w >= 0).all() and w.sum() <= 1:
            return p[2] + w[0] * (q[2] - p[2]) + w[1] * (r[2] - p[2]) - start[2]
    return 0.0


def loss(points: np.ndarray) -> float:
    return sum((k + 1) * height(points, s.astype(np.float64)) for k, s in enumerate(STARTS))


def expected_gradient(points: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    out = np.zeros(points.shape)
    for index in np.ndindex(*points.shape):
        up, down = points.astype(np.float64), points.astype(np.float64)
        up[index] += eps
        down[index] -= eps
        out[index] = (loss(up) - loss(down)) / (2 * eps)
    return out


def make_mesh(**options: object) -> wp.Mesh:
    return wp.Mesh(wp.array(POINTS, dtype=wp.vec3, requires_grad=True), wp.array(FACES, dtype=int), **options)


def record(mesh: wp.Mesh) -> tuple[wp.Tape, wp.array, wp.array]:
    starts = wp.array(STARTS, dtype=wp.vec3)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cast, dim=len(STARTS), inputs=[mesh.id, starts], outputs=[out])
    return tape, starts, out


def test_points_get_a_gradient() -> None:
    mesh = make_mesh()
    tape, _, out = record(mesh)
    np.testing.assert_allclose(out.numpy()[0], loss(POINTS), rtol=1e-5)
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)
    assert any(a is mesh.points for a in tape.gradients)
    tape.zero()
    assert not mesh.points.grad.numpy().any()
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)


def test_a_gradient_that_comes_later() -> None:
    mesh = wp.Mesh(wp.array(POINTS, dtype=wp.vec3), wp.array(FACES, dtype=int))
    mesh.points.requires_grad = True
    tape, _, out = record(mesh)
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("change", ["refit", "rebuild", "assign"])
def test_a_change_between_forward_and_backward(change: str) -> None:
    mesh = make_mesh()
    points = mesh.points
    tape, _, out = record(mesh)
    if change == "assign":
        mesh.points = wp.array(POINTS[::-1].copy(), dtype=wp.vec3, requires_grad=True)
    elif change == "refit":
        mesh.refit()
    else:
        mesh.rebuild("median")
    tape.backward(out)
    np.testing.assert_allclose(points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)
    if change == "assign":
        assert not mesh.points.grad.numpy().any()


def test_steps_that_move_the_points_in_place() -> None:
    """Each step moves the vertices and asks the mesh: going back finds the vertices of each step."""
    steps = 4
    values = np.array([0.1, -0.2, 0.3, 0.05], dtype=np.float32)

    def total(by: np.ndarray) -> float:
        points, out = POINTS.astype(np.float64), 0.0
        for value in by:
            points = points.copy()
            points[:, 2] += value * (1.0 + points[:, 0])
            out += loss(points)
        return out

    mesh = make_mesh()
    starts = wp.array(STARTS, dtype=wp.vec3)
    by = wp.array(values, dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        for step in range(steps):
            wp.launch(lift, dim=len(POINTS), inputs=[mesh.points, by, step])
            mesh.refit()
            wp.launch(cast, dim=len(STARTS), inputs=[mesh.id, starts], outputs=[out])
    np.testing.assert_allclose(out.numpy()[0], total(values), rtol=1e-4)
    tape.backward(out)
    eps = 1e-4
    expected = [
        (total(values + eps * np.eye(steps)[k]) - total(values - eps * np.eye(steps)[k])) / (2 * eps)
        for k in range(steps)
    ]
    np.testing.assert_allclose(by.grad.numpy(), expected, rtol=1e-3)


@pytest.mark.parametrize("way", ["assign", "kernel"])
def test_points_overwritten_behind_the_tape(way: str) -> None:
    """Vertices are inputs like other arrays: the gradient is that at their new values, as if the launch were recorded now."""
    mesh = make_mesh()
    tape, _, out = record(mesh)
    if way == "assign":
        mesh.points.assign(POINTS + np.float32(0.25) * np.float32([0, 0, 1]))
    else:
        wp.launch(lift, dim=len(POINTS), inputs=[mesh.points, wp.array([0.5], dtype=float), 0])
    new = mesh.points.numpy().copy()
    assert not np.array_equal(new, POINTS)
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(new), rtol=1e-3, atol=1e-3)


def test_points_overwritten_and_refitted_behind_the_tape() -> None:
    """The tree of then over the vertices of now would be neither: an error, which names who wrote."""
    mesh = make_mesh()
    tape, _, out = record(mesh)
    mesh.points.assign(POINTS + np.float32(0.25))
    mesh.refit()
    with pytest.raises(RuntimeError, match="cast"):
        tape.backward(out)


def test_queries_write_nothing_down() -> None:
    """Where no write of the launch reaches the vertices, going back reads them again instead of having them written down."""
    mesh = make_mesh()
    tape, _, _ = record(mesh)
    assert tape.log_bytes == 0
    # As an argument that is only read they may be there as well.

    @wp.kernel
    def pull(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        q = wp.mesh_query_point_no_sign(mesh, wp.vec3(0.1, 0.2, 3.0), 100.0)
        wp.atomic_add(out, 0, wp.length(points[i] - wp.mesh_eval_position(mesh, q.face, q.u, q.v)))

    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(pull, dim=len(POINTS), inputs=[mesh.id, mesh.points], outputs=[out])
    assert tape.log_bytes == 0
    tape.backward(out)
    assert np.isfinite(mesh.points.grad.numpy()).all() and mesh.points.grad.numpy().any()


def test_vertices_overwritten_on_the_tape_are_kept_once() -> None:
    """A later launch on the tape moves the vertices: the values of before are copied, and a mesh of them stands in."""
    mesh = make_mesh()
    starts = wp.array(STARTS, dtype=wp.vec3)
    other = wp.array(POINTS + np.float32(0.5), dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cast, dim=len(STARTS), inputs=[mesh.id, starts], outputs=[out])
        wp.copy(mesh.points, other)
    assert tape.log_bytes == 0 and tape.kept_bytes == POINTS.nbytes
    assert not np.array_equal(mesh.points.numpy(), POINTS)
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)
    assert not other.grad.numpy().any()


def test_a_launch_that_moves_the_vertices_it_asks_for() -> None:
    """Each thread asks for its own vertex and moves it: what the query read is gone when the launch is over."""

    @wp.kernel
    def move(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        p = wp.mesh_get_point(mesh, i)
        wp.atomic_add(out, 0, wp.dot(p, p) * float(i + 1))
        points[i] = p * 2.0

    corners = np.array([[0, 0, 1], [1, 0, 2], [0, 1, 3]], np.float32)
    for apart in (False, True):
        points = wp.array(corners, dtype=wp.vec3, requires_grad=True)
        mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int))
        target = wp.zeros(3, dtype=wp.vec3, requires_grad=True) if apart else points
        out = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(move, dim=3, inputs=[mesh.id, target], outputs=[out])
        assert (tape.log_bytes == 0) == apart
        np.testing.assert_array_equal(target.numpy(), corners * 2)
        tape.backward(out)
        weight = np.arange(1, 4, dtype=np.float32)[:, None]
        np.testing.assert_allclose(points.grad.numpy(), 2 * weight * corners, rtol=1e-6)


def test_ids_out_of_memory_are_written_down() -> None:
    """Whose arrays those are no launch can know: what going back needs of them is written down."""

    @wp.kernel
    def cast_all(meshes: wp.array(dtype=wp.uint64), starts: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        hit = wp.mesh_query_ray(meshes[0], starts[i], wp.vec3(0.0, 0.0, 1.0), 100.0)
        if hit.result:
            wp.atomic_add(out, 0, float(i + 1) * hit.t)

    mesh = make_mesh()
    starts = wp.array(STARTS, dtype=wp.vec3, requires_grad=True)
    out = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(
            cast_all, dim=len(STARTS), inputs=[wp.array([mesh.id], dtype=wp.uint64), starts], outputs=[out]
        )
    assert tape.log_bytes > 0
    tape.backward(out)
    np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)


def test_velocities() -> None:
    @wp.kernel
    def speed(mesh: wp.uint64, out: wp.array(dtype=float)):
        v = wp.mesh_eval_velocity(mesh, 0, 0.25, 0.5)
        out[0] = v[0] + 2.0 * v[1] + 3.0 * v[2]

    mesh = make_mesh()
    out = wp.zeros(1, dtype=float, requires_grad=True)
    wp.launch(speed, dim=1, inputs=[mesh.id], outputs=[out])
    assert out.numpy()[0] == 0.0
    mesh.velocities = wp.array(POINTS, dtype=wp.vec3, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(speed, dim=1, inputs=[mesh.id], outputs=[out])
    tape.backward(out)
    expected = np.outer([0.25, 0.5, 0.25], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(mesh.velocities.grad.numpy()[:3], expected, rtol=1e-6)


@pytest.mark.cpu_only("launches on a GPU wait for nobody")
def test_gradients_that_change_while_another_thread_asks_the_mesh() -> None:
    """Nobody waits for anybody: a long launch and adjoints with fresh gradients on one mesh."""

    @wp.kernel
    def ask_long(mesh: wp.uint64, out: wp.array(dtype=float)):
        total = float(0.0)
        for k in range(2000):
            hit = wp.mesh_query_ray(mesh, wp.vec3(0.0, 0.1, -2.0 - float(k)), wp.vec3(0.0, 0.0, 1.0), 1.0e6)
            total += hit.t
        out[wp.tid()] = total

    mesh = make_mesh()
    out = wp.zeros(512, dtype=float)
    wp.launch(ask_long, dim=1, inputs=[mesh.id], outputs=[out])
    thread = threading.Thread(target=lambda: wp.launch(ask_long, dim=512, inputs=[mesh.id], outputs=[out]))
    thread.start()
    for _ in range(5):
        mesh.points.requires_grad = False
        mesh.points.requires_grad = True
        tape, _, loss = record(mesh)
        tape.backward(loss)
        np.testing.assert_allclose(mesh.points.grad.numpy(), expected_gradient(POINTS), rtol=1e-3, atol=1e-3)
    thread.join(timeout=60)
    assert not thread.is_alive()
