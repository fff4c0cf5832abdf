"""Geometry and what it is given: duplicates, objects that go away, other processes, graphs in files, equal bytes, forward mode."""

from __future__ import annotations

import gc
import os
import pathlib

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import F, made

SOAK = bool(os.environ.get("WEFT_SOAK"))


@wp.kernel
def look(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=int)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.0, 0.0, 1.0), 100.0)
    near = wp.mesh_query_point(mesh, x[i], 100.0)
    n = int(0)
    for f in wp.mesh_query_aabb(mesh, wp.vec3(-9.0), wp.vec3(9.0)):
        n += 1
    out[i, 0] = wp.where(hit.result, hit.face, -1)
    out[i, 1] = wp.where(near.result, near.face, -1)
    out[i, 2] = n
    out[i, 3] = wp.mesh_query_ray_count_intersections(mesh, x[i], wp.vec3(0.0, 0.0, 1.0))


@pytest.mark.parametrize("constructor", [None, "sah", "median", "lbvh"])
def test_one_face_many_times(constructor: str | None) -> None:
    n = 1_000_000 if SOAK else 20_000
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], F)
    mesh = made(points, np.tile([[0, 1, 2]], (n, 1)), bvh_constructor=constructor)
    out = wp.zeros((2, 4), dtype=int)
    x = wp.array([[0.2, 0.2, -1], [5, 5, 5]], dtype=wp.vec3)
    for change in (mesh.refit, mesh.rebuild):
        wp.launch(look, 2, [mesh.id, x], [out])
        assert out.numpy().tolist() == [[0, 0, n, n], [-1, 0, n, 0]]
        change()


def test_faces_around_one_centre() -> None:
    """All centres equal, all sizes different."""
    sizes = np.linspace(1, 2, 500, dtype=F)
    corners = np.array([[-1, -1, 0], [1, -1, 0], [0, 2, 0]], F)
    points = (sizes[:, None, None] * corners).reshape(-1, 3)
    for constructor in (None, "sah", "median", "lbvh"):
        mesh = made(points, np.arange(1500).reshape(-1, 3), bvh_constructor=constructor)
        out = wp.zeros((1, 4), dtype=int)
        wp.launch(look, 1, [mesh.id, wp.array([[0, 0, -1.0]], dtype=wp.vec3)], [out])
        assert out.numpy().tolist() == [[0, 0, 500, 500]]


def test_dropped_while_kernels_are_queued() -> None:
    points, faces = reference.sphere(20)
    x = wp.array(np.zeros((20_000, 3)), dtype=wp.vec3)
    outs = []
    for _ in range(5):
        mesh = made(points, faces)
        out = wp.zeros((20_000, 4), dtype=int)
        wp.launch(look, 64, [mesh.id, x], [out])
        outs.append(out)
        del mesh
        gc.collect()
    made(points * F(100), faces)  # takes what was given back
    first = outs[0].numpy()[:64]
    assert (first[:, 0] >= 0).all() and (first[:, 2] == len(faces)).all()
    for out in outs:
        np.testing.assert_array_equal(out.numpy()[:64], first)


@pytest.mark.cpu_only("a process with a GPU is not forked")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_other_processes() -> None:
    points, faces = reference.cube()
    mesh = made(points, faces)
    out = wp.zeros((1, 4), dtype=int)
    x = wp.array([[0, 0, 0.0]], dtype=wp.vec3)
    wp.launch(look, 1, [mesh.id, x], [out])
    child = os.fork()
    if child == 0:
        try:
            out.zero_()
            mesh.refit()
            mesh.rebuild("median")
            wp.launch(look, 1, [mesh.id, x], [out])
            os._exit(0 if out.numpy()[0, 2] == 12 else 3)
        except BaseException:  # noqa: BLE001 - the parent asks for the status
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert out.numpy()[0, 2] == 12


@pytest.mark.parametrize("what", ["launch", "refit", "build"])
def test_graphs_for_files(tmp_path: pathlib.Path, what: str) -> None:
    points, faces = reference.cube()
    mesh, grid = made(points, faces), wp.HashGrid(4, 4, 4)
    grid.build(mesh.points, 1.0)
    out = wp.zeros((1, 4), dtype=int)
    x = wp.array([[0, 0, 0.0]], dtype=wp.vec3)
    wp.launch(look, 1, [mesh.id, x], [out])
    with wp.ScopedCapture(apic=True) as capture:
        if what == "launch":
            wp.launch(look, 1, [mesh.id, x], [out])
        elif what == "refit":
            mesh.refit()
        else:
            grid.build(mesh.points, 1.0)
    with pytest.raises(RuntimeError, match="id of a Mesh" if what == "launch" else "a Mesh|HashGrid|call of Python"):
        wp.capture_save(capture.graph, str(tmp_path / "graph"))


def parts_of(mesh: wp.Mesh) -> list[bytes]:
    """Bytes of the nodes and leaves that kernels read, of moments and of the table of groups if there are any."""
    device = mesh.device

    def read(address: int, size: int) -> bytes:
        return wp.array(ptr=int(address), dtype=wp.uint8, shape=size, device=device).numpy().tobytes()

    head = wp.array(ptr=mesh.id + 320, dtype=wp.uint64, shape=8, device=device).numpy()
    counts = head[6:8].view(np.uint32)
    node, entry, column = (256, 160, 1088) if device.is_cpu else (64, 48, 272)
    nodes = read(head[2], node * int(counts[1]))
    if not device.is_cpu:  # what lies behind the last node of a GPU's tree is nobody's
        nodes = nodes[: 64 * int(np.frombuffer(nodes, np.uint32)[15])]
    out = [nodes, read(head[3], entry * int(counts[3]))]
    if head[4]:
        out.append(read(head[4], len(nodes) // node * column))
    if head[5]:
        out.append(read(head[5], 8 + 8 * int(np.frombuffer(read(head[5], 4), np.int32)[0])))
    return out


@pytest.mark.parametrize("constructor", [None, "sah", "median", "lbvh"])
@pytest.mark.parametrize("groups", [0, 40])
def test_builds_give_the_same_bytes(constructor: str | None, groups: int) -> None:
    points, faces = reference.sphere(60 if SOAK else 30)
    more = {}
    if groups:
        numbers = np.random.default_rng(1).integers(0, groups, len(faces)).astype(np.int32)
        more = {"groups": wp.array(numbers, dtype=int), "support_winding_number": True}
    mesh = made(points, faces, bvh_constructor=constructor, **more)
    first = parts_of(mesh)
    assert len(first) == (4 if groups else 2) and all(first)
    for _ in range(20 if SOAK else 4):
        mesh.rebuild()
        assert parts_of(mesh) == first


@wp.kernel
def ray_t(mesh: wp.uint64, start: wp.array(dtype=wp.vec3), dir: wp.array(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, start[i], dir[i], 100.0)
    near = wp.mesh_query_point_no_sign(mesh, start[i], 100.0)
    out[i, 0] = hit.t
    out[i, 1] = hit.u
    out[i, 2] = wp.length(start[i] - wp.mesh_eval_position(mesh, near.face, near.u, near.v))
    out[i, 3] = near.v


def test_forward_mode() -> None:
    """Directions of starts and rays against what the tape finds."""
    points, faces = reference.sphere(5)
    mesh = made(points, faces)
    rng = np.random.default_rng(5)
    n = 20
    start, dir = (rng.uniform(-0.4, 0.4, (n, 3)).astype(F), rng.normal(size=(n, 3)).astype(F))
    along = [rng.normal(size=(n, 3)).astype(F) for _ in range(2)]
    s, d = (wp.array(a, dtype=wp.vec3, requires_grad=True) for a in (start, dir))
    out = wp.zeros((n, 4), dtype=float, requires_grad=True)
    with wp.ForwardMode({s: wp.array(along[0], dtype=wp.vec3), d: wp.array(along[1], dtype=wp.vec3)}) as forward:
        wp.launch(ray_t, n, [mesh.id, s, d], [out])
        got = forward.tangent(out).numpy()
    for column in range(4):
        out.zero_()
        with wp.Tape() as tape:
            wp.launch(ray_t, n, [mesh.id, s, d], [out])
        seed = np.zeros((n, 4), F)
        seed[:, column] = 1
        tape.backward(grads={out: wp.array(seed, dtype=float)})
        want = (s.grad.numpy() * along[0] + d.grad.numpy() * along[1]).sum(1)
        np.testing.assert_allclose(got[:, column], want, rtol=2e-3, atol=2e-3)
        tape.zero()
