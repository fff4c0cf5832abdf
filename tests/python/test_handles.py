"""Ids of objects as arguments of kernels: what launches look up, what they refuse, and how long objects live."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import warp as wp


def tetrahedron(device: str | None = None, requires_grad: bool = False) -> wp.Mesh:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    indices = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=np.int32)
    return wp.Mesh(
        wp.array(points, dtype=wp.vec3, device=device, requires_grad=requires_grad),
        wp.array(indices, dtype=int, device=device),
    )


def boxes(device: str | None = None) -> wp.Bvh:
    lowers = np.arange(15, dtype=np.float32).reshape(5, 3)
    return wp.Bvh(wp.array(lowers, dtype=wp.vec3, device=device), wp.array(lowers + 1, dtype=wp.vec3, device=device))


@wp.struct
class Scene:
    scale: float
    mesh: wp.uint64


@wp.func
def kind_of(mesh: wp.uint64):
    address = wp._handle("mesh", mesh)
    if address == wp.uint64(0):
        return wp.uint32(0)
    return wp._fixed(address, wp.uint32)[0]


@wp.kernel
def read_kind(mesh: wp.uint64, out: wp.array(dtype=wp.uint32)):
    out[0] = kind_of(mesh)


@wp.kernel
def read_scene(scene: Scene, out: wp.array(dtype=wp.uint32)):
    out[0] = kind_of(scene.mesh)


@wp.kernel
def read_tree(bvh: wp.uint64, out: wp.array(dtype=wp.uint32)):
    address = wp._handle("bvh", bvh)
    out[0] = wp._fixed(address, wp.uint32)[0]


@wp.kernel
def where_am_i(out: wp.array(dtype=int)):
    out[0] = wp.where(wp._on_gpu(), 1, 0)


def test_an_id_leads_to_the_descriptor() -> None:
    mesh = tetrahedron()
    out = wp.zeros(1, dtype=wp.uint32)
    wp.launch(read_kind, dim=1, inputs=[mesh.id], outputs=[out])
    assert out.numpy()[0] == 1


def test_the_object_itself_may_be_passed() -> None:
    mesh, tree = tetrahedron(), boxes()
    out = wp.zeros(1, dtype=wp.uint32)
    wp.launch(read_kind, dim=1, inputs=[mesh], outputs=[out])
    assert out.numpy()[0] == 1
    wp.launch(read_tree, dim=1, inputs=[tree], outputs=[out])
    assert out.numpy()[0] == 2


def test_no_object() -> None:
    out = wp.full(1, 7, dtype=wp.uint32)
    wp.launch(read_kind, dim=1, inputs=[0], outputs=[out])
    assert out.numpy()[0] == 0


def test_ids_in_structs() -> None:
    scene = Scene()
    scene.mesh = tetrahedron().id  # dropped at once
    out = wp.zeros(1, dtype=wp.uint32)
    gc.collect()
    with pytest.raises(RuntimeError, match=r"argument 'scene\.mesh'.*deleted"):
        wp.launch(read_scene, dim=1, inputs=[scene], outputs=[out])
    mesh = tetrahedron()
    scene.mesh = mesh.id
    wp.launch(read_scene, dim=1, inputs=[scene], outputs=[out])
    assert out.numpy()[0] == 1


def test_another_kind() -> None:
    out = wp.zeros(1, dtype=wp.uint32)
    tree, mesh = boxes(), tetrahedron()
    with pytest.raises(RuntimeError, match="argument 'mesh'.*id of a Bvh, not of a Mesh"):
        wp.launch(read_kind, dim=1, inputs=[tree.id], outputs=[out])
    with pytest.raises(RuntimeError, match="argument 'bvh'.*id of a Mesh, not of a Bvh"):
        wp.launch(read_tree, dim=1, inputs=[mesh.id], outputs=[out])


@pytest.mark.parametrize("number", [1, 12345, 2**63, 2**64 - 1])
def test_a_number_that_is_no_id(number: int) -> None:
    out = wp.zeros(1, dtype=wp.uint32)
    with pytest.raises(RuntimeError, match=f"{number} is the id of no Mesh"):
        wp.launch(read_kind, dim=1, inputs=[number], outputs=[out])


def test_a_deleted_object() -> None:
    mesh = tetrahedron()
    number = mesh.id
    del mesh
    gc.collect()
    out = wp.zeros(1, dtype=wp.uint32)
    with pytest.raises(RuntimeError, match="deleted"):
        wp.launch(read_kind, dim=1, inputs=[number], outputs=[out])


def test_ids_are_not_reused_at_once() -> None:
    seen = set()
    for _ in range(50):
        mesh = tetrahedron()
        assert mesh.id not in seen
        seen.add(mesh.id)


def test_another_device(device: wp.Device) -> None:
    if device.is_cpu:
        pytest.skip("needs a GPU")
    mesh = tetrahedron(device="cpu")
    out = wp.zeros(1, dtype=wp.uint32, device=device)
    with pytest.raises(RuntimeError, match="lies on cpu, the launch is on cuda"):
        wp.launch(read_kind, dim=1, inputs=[mesh.id], outputs=[out], device=device)


def test_a_mesh_has_a_tree_with_an_id_of_its_own() -> None:
    mesh = tetrahedron()
    out = wp.zeros(1, dtype=wp.uint32)
    wp.launch(read_tree, dim=1, inputs=[mesh.id + 320], outputs=[out])
    assert out.numpy()[0] == 2


def test_recorded_launches_look_up_each_time() -> None:
    mesh = tetrahedron()
    out = wp.zeros(1, dtype=wp.uint32)
    recorded = wp.launch(read_kind, dim=1, inputs=[mesh.id], outputs=[out], record_cmd=True)
    recorded.launch()
    assert out.numpy()[0] == 1
    del mesh
    gc.collect()
    with pytest.raises(RuntimeError, match="deleted"):
        recorded.launch()


def test_graphs_keep_objects() -> None:
    out = wp.zeros(1, dtype=wp.uint32)
    mesh = tetrahedron()
    wp.launch(read_kind, dim=1, inputs=[mesh.id], outputs=[out])  # built before the capture
    with wp.ScopedCapture() as capture:
        wp.launch(read_kind, dim=1, inputs=[mesh.id], outputs=[out])
    del mesh
    gc.collect()
    out.zero_()
    wp.capture_launch(capture.graph)
    assert out.numpy()[0] == 1


def test_which_code_is_taken(device: wp.Device) -> None:
    out = wp.full(1, -1, dtype=int)
    wp.launch(where_am_i, dim=1, outputs=[out])
    assert out.numpy()[0] == (0 if device.is_cpu else 1)


@wp.kernel
def hand_over(values: wp.array(dtype=int), flags: wp.array(dtype=int), out: wp.array(dtype=int)):
    """The second thread of a pair to arrive reads what the first has written."""
    i = wp.tid()
    values[i] = i + 1
    wp._fence()
    if wp.atomic_add(flags, i / 2, 1) == 1:
        wp._fence()
        out[i / 2] = values[i ^ 1] + values[i]


def test_fences() -> None:
    n = 4096
    values, flags, out = wp.zeros(n, dtype=int), wp.zeros(n // 2, dtype=int), wp.zeros(n // 2, dtype=int)
    wp.launch(hand_over, dim=n, inputs=[values, flags, out])
    np.testing.assert_array_equal(out.numpy(), np.arange(n // 2) * 4 + 3)


@wp.kernel
def side_by_side(
    a: wp.array(dtype=float), warps: wp.array(dtype=wp.uint32), votes: wp.array(dtype=wp.uint32), sums: wp.array(dtype=float)
):
    """Sums over the threads that are here together; every fifth one is not."""
    i = wp.tid()
    if i % 5 != 0:
        warp = wp._warp()
        warps[i] = warp
        votes[i] = wp._vote(warp, a[i] > 0.5)
        total = float(0.0)
        rest = wp.uint32(warp)
        while rest != wp.uint32(0):
            total += wp._shuffle(warp, a[i], wp._trailing_zeros(rest))
            rest = rest & (rest - wp.uint32(1))
        sums[i] = total
        if (warp >> wp._lane()) % wp.uint32(2) != wp.uint32(1):
            sums[i] = -1.0


def test_threads_side_by_side(device: wp.Device) -> None:
    n = 1000
    values = (np.random.default_rng(1).integers(0, 64, n) / 64).astype(np.float32)
    a, sums = wp.array(values), wp.zeros(n, dtype=float)
    warps, votes = wp.zeros(n, dtype=wp.uint32), wp.zeros(n, dtype=wp.uint32)
    wp.launch(side_by_side, dim=n, inputs=[a, warps, votes, sums])
    first = np.arange(n) // 32 * 32 if device.is_cuda else np.arange(n)
    for i in range(n):
        if i % 5 == 0:
            continue
        lanes = [k for k in range(32) if warps.numpy()[i] >> k & 1]
        here = values[first[i] + np.array(lanes)]
        assert i - first[i] in lanes
        assert sums.numpy()[i] == here.sum()
        assert votes.numpy()[i] == sum(1 << k for k, value in zip(lanes, here) if value > 0.5)
        if device.is_cuda:
            assert len(lanes) <= 26


def test_words_for_the_library_alone() -> None:
    @wp.kernel
    def bad_kind(mesh: wp.uint64):
        wp._handle("house", mesh)

    @wp.kernel
    def bad_type(mesh: wp.int32):
        wp._handle("mesh", mesh)

    with pytest.raises(Exception, match="kind of object"):
        wp.launch(bad_kind, dim=1, inputs=[0])
    with pytest.raises(Exception, match="is uint64, not int32"):
        wp.launch(bad_type, dim=1, inputs=[0])
