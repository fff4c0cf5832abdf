"""What geometry takes: bytes of trees, no growth over many changes, many open queries, builds that find no memory.

`make test` takes a sample; `make soak` (WEFT_SOAK) takes all of it.
"""

from __future__ import annotations

import gc
import os
import pathlib
import subprocess
import sys

import geometry_reference as reference
import numpy as np
import pytest
import warp as wp
from mesh_cases import made

SOAK = bool(os.environ.get("WEFT_SOAK"))


@pytest.mark.parametrize("rings", [160, *([500] if SOAK else [])])
def test_bytes_of_trees(device: wp.Device, rings: int) -> None:
    """Nodes and copies of corners: 66 bytes a face on a CPU (73 in Morton order), and no more than a twentieth above that. A GPU has 224 bytes a
    node, with tables for rays and points, and 48 a face: 123 of trees that it builds, whose leaves have three faces on
    average, 174 of those that it is sent, with leaves of two."""
    points, faces = reference.sphere(rings, 0.1)
    want = {None: 66, "lbvh": 73, "sah": 66} if device.is_cpu else {None: 123, "lbvh": 123, "sah": 174}
    for constructor, bytes_each in want.items():
        got = made(points, faces, bvh_constructor=constructor)._mesh.tree_bytes / len(faces)
        assert got <= bytes_each * 1.05, (constructor, got)


def test_bytes_of_large_rebuilds(device: wp.Device) -> None:
    """Beyond 2^17 faces a rebuild outside of graphs waits for the number of nodes; below, and in graphs, there is room for all
    that there could be."""
    points, faces = reference.sphere(182, 0.1)
    mesh = made(points, faces)
    before = mesh._mesh.tree_bytes
    mesh.rebuild()
    assert len(faces) > 1 << 17 and mesh._mesh.tree_bytes == before


@pytest.mark.parametrize("winding", [False, True])
def test_bytes_that_a_mesh_keeps(device: wp.Device, winding: bool) -> None:
    """All memory of the device that is taken for a mesh and its changes, and not given back, is that of its tree."""
    if device.is_cpu:
        pytest.skip("what the CPU's pool has in use nobody counts")
    points, faces = reference.sphere(30, 0.1)
    x, indices = wp.array(points, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int)
    for change in 4 * (wp.Mesh.refit, wp.Mesh.rebuild):  # what is taken once for all, and slots that stay free for long
        change(wp.Mesh(x, indices, support_winding_number=winding))
    gc.collect()
    wp.synchronize()
    before = wp.get_mempool_used_mem_current(device)
    mesh = wp.Mesh(x, indices, support_winding_number=winding)
    for change in (lambda: None, mesh.refit, mesh.rebuild, mesh.refit):
        change()
        wp.synchronize()
        kept = wp.get_mempool_used_mem_current(device) - before
        assert abs(kept - mesh._mesh.tree_bytes) <= 4096, (kept, mesh._mesh.tree_bytes)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_nothing_grows(device: wp.Device) -> None:
    rounds = 10_000 if SOAK else 300
    points, faces = reference.sphere(12)
    mesh = made(points, faces)
    corners = wp.array(points, dtype=wp.vec3)
    tree = wp.Bvh(corners, corners)
    grid = wp.HashGrid(16, 16, 16)
    other = wp.array(points[::-1].copy(), dtype=wp.vec3)
    both = [mesh.points, other]

    def change(k: int) -> None:
        mesh.refit()
        mesh.rebuild()
        mesh.points = both[k % 2]
        tree.refit()
        tree.rebuild()
        grid.build(corners, 0.1)
        wp.Mesh(corners, mesh.indices)  # comes and goes

    for k in range(50):
        change(k)
    wp.synchronize()
    bytes_before, used_before = mesh._mesh.tree_bytes, resident()
    on_device = wp.get_mempool_used_mem_current(device) if device.is_cuda else 0
    for k in range(rounds):
        change(k)
    wp.synchronize()
    assert mesh._mesh.tree_bytes == bytes_before
    assert resident() - used_before < 24e6
    if device.is_cuda:
        assert wp.get_mempool_used_mem_current(device) <= on_device + 4e6


@wp.kernel
def open_many(
    mesh: wp.uint64, tree: wp.uint64, centres: wp.array(dtype=wp.vec3), reach: float, out: wp.array2d(dtype=int)
):
    """Three queries open at once in every thread, advanced in turns, and one inside of another."""
    i = wp.tid()
    low, high = centres[i] - wp.vec3(reach), centres[i] + wp.vec3(reach)
    a = wp.mesh_query_aabb(mesh, low, high)
    b = wp.bvh_query_aabb(tree, low, high)
    c = wp.mesh_query_sphere(mesh, centres[i], reach)
    face = int(0)
    box = int(0)
    other = int(0)
    going = int(1)
    while going == 1:
        going = 0
        if wp.mesh_query_aabb_next(a, face):
            out[i, 0] += face + 1
            going = 1
        if wp.bvh_query_next(b, box):
            out[i, 1] += box + 1
            going = 1
        if wp.mesh_query_next(c, other):
            out[i, 2] += 1
            going = 1
    for f in wp.mesh_query_aabb(mesh, low, high):
        for g in wp.mesh_query_sphere(mesh, centres[i], reach):
            out[i, 3] += 1


def test_many_open_queries() -> None:
    n = 100_000 if SOAK else 4_000
    points, faces = reference.sphere(10)
    mesh = made(points, faces)
    corners = points[faces]
    low, high = corners.min(1), corners.max(1)
    tree = wp.Bvh(wp.array(low, dtype=wp.vec3), wp.array(high, dtype=wp.vec3))
    centres = np.random.default_rng(1).uniform(-1.2, 1.2, (n, 3)).astype(np.float32)
    out = wp.zeros((n, 4), dtype=int)
    reach = np.float32(0.15)
    wp.launch(open_many, n, [mesh.id, tree.id, wp.array(centres, dtype=wp.vec3), reach], [out])
    got = out.numpy()
    for first in range(0, n, 2000):
        c = centres[first : first + 2000, None]
        meets = ((low[None] <= c + reach) & (c - reach <= high[None])).all(2)
        total = (meets * (np.arange(len(faces)) + 1)).sum(1)
        part = got[first : first + 2000]
        np.testing.assert_array_equal(part[:, 0], total)
        np.testing.assert_array_equal(part[:, 1], total)
        np.testing.assert_array_equal(part[:, 3], part[:, 2] * meets.sum(1))


NO_MEMORY = """
import resource
import numpy as np, warp as wp
wp.config.quiet = True
@wp.kernel
def cast(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.mesh_query_ray(mesh, wp.vec3(0.3, 0.3, -1.0), wp.vec3(0.0, 0.0, 1.0), 100.0).t
n = 400
x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
points = wp.array(np.stack([x, y, 0 * x], -1).reshape(-1, 3), dtype=wp.vec3, device="cpu")
k = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
faces = np.concatenate([np.stack([k, k + 1, k + n], 1), np.stack([k + 1, k + n + 1, k + n], 1)]).astype(np.int32)
mesh = wp.Mesh(points, wp.array(faces.ravel(), dtype=int, device="cpu"))
out = wp.zeros(1, dtype=float, device="cpu")
wp.launch(cast, 1, [mesh.id], [out], device="cpu")
assert abs(out.numpy()[0] - 1.0) < 1e-5
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), limits[1]))
refused = 0
kept = []
for constructor in ("sah", "median", "lbvh", None):
    try:
        mesh.rebuild(constructor)
        kept.append(constructor)
    except MemoryError as error:
        refused += 1
resource.setrlimit(resource.RLIMIT_AS, limits)
out.zero_()
wp.launch(cast, 1, [mesh.id], [out], device="cpu")
assert abs(out.numpy()[0] - 1.0) < 1e-5
mesh.rebuild()
wp.launch(cast, 1, [mesh.id], [out], device="cpu")
assert abs(out.numpy()[0] - 1.0) < 1e-5
print("refused", refused)
"""


@pytest.mark.cpu_only("GPUs: test_fake_driver, keep")
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_no_memory_for_a_build(tmp_path: pathlib.Path) -> None:
    """The tree of before stays."""
    program = tmp_path / "no_memory.py"
    program.write_text(NO_MEMORY)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "refused" in done.stdout and "refused 0" not in done.stdout
