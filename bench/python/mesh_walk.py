"""Rays and nearest points of meshes on a GPU: the library's walks beside the same walks by hand, in one run.

    python bench/python/mesh_walk.py [--scene NAME] [--queries N] [--constructor NAME] [--json FILE]

The other side is bench/cuda/mesh_walk.cu, compiled by nvcc -O3 here and now; it walks the very tree that the mesh has. The
scene is one of scene.py. Both write the number of a face; what they find is compared (nvcc fuses products by itself, so
a few may differ). A ratio is ours over theirs in queries per second.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

import numpy as np
import warp as wp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import nvcc_pairs  # noqa: E402
from pair import Pair  # noqa: E402
from scene import NAMES, Scene  # noqa: E402

TREE = wp.constant(wp.uint64(320 + 16))  # where a mesh's descriptor has the addresses of its tree's nodes and leaves


@wp.kernel
def parts(mesh: wp.uint64, out: wp.array(dtype=wp.uint64)):
    head = wp.array(ptr=mesh + TREE, shape=(2,), dtype=wp.uint64)
    out[0] = head[0]
    out[1] = head[1]


@wp.kernel
def rays(
    mesh: wp.uint64, starts: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3), faces: wp.array(dtype=int)
):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, starts[i], directions[i], 1.0e6)
    face = int(-1)
    if query.result:
        face = query.face
    faces[i] = face


@wp.kernel
def closest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), faces: wp.array(dtype=int)):
    i = wp.tid()
    query = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e6)
    face = int(-1)
    if query.result:
        face = query.face
    faces[i] = face


def edge_scale(points: np.ndarray, corners: np.ndarray) -> float:
    x = points[corners]
    edge = np.linalg.norm(x - np.roll(x, -1, axis=1), axis=-1).mean()
    return float(2.0 ** (-2 * np.floor(np.log2(edge))))


def at(address: int, rows: int) -> wp.array:
    return wp.array(ptr=address, shape=(rows,), dtype=wp.vec4, device="cuda")


def measure(args: argparse.Namespace, folder: str) -> list[dict]:
    nvcc_pairs.SOURCES = ("mesh_walk",)
    code = nvcc_pairs.compile_pairs(folder)
    scene = Scene(args.scene)
    x, indices = wp.array(scene.points, dtype=wp.vec3), wp.array(scene.corners.reshape(-1), dtype=wp.int32)
    mesh = wp.Mesh(points=x, indices=indices, bvh_constructor=args.constructor)
    addresses = wp.zeros(2, dtype=wp.uint64)
    wp.launch(parts, dim=1, inputs=[mesh.id, addresses])
    nodes, leaves = (at(int(a), 4) for a in addresses.numpy())
    faces = wp.zeros(args.queries, dtype=int)
    found = []

    def compare(name: str, kernel: wp.Kernel, by_hand: str, given: list, more: list) -> None:
        count = given[0].size
        out = faces[:count]
        pair = Pair(
            kernel, count, [mesh.id, *given], [out], "mesh_walk", by_hand, [nodes, leaves, *given, *more, out], strays=1e-2
        )
        ours, theirs = nvcc_pairs.compare(pair, nvcc_pairs.Cuda(), code)
        found.append({"queries": name, "ours": count / ours / 1e6, "hand": count / theirs / 1e6})

    for name, pair in scene.rays(args.queries).items():
        compare(name, rays, "rays_mesh", [wp.array(a, dtype=wp.vec3) for a in pair], [])
    scale = edge_scale(scene.points, scene.corners)
    for name, where in scene.places(args.queries).items():
        compare("closest " + name, closest, "closest_mesh", [wp.array(where, dtype=wp.vec3)], [scale])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", choices=NAMES, default=NAMES[0])
    parser.add_argument("--queries", type=int, default=1 << 22)
    parser.add_argument("--constructor")
    parser.add_argument("--json")
    args = parser.parse_args()
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    with tempfile.TemporaryDirectory() as folder, wp.ScopedDevice("cuda"):
        found = measure(args, folder)
    for one in found:
        print(
            f"{one['queries']:14} {one['ours']:8.1f} M/s, by hand {one['hand']:8.1f} M/s, ratio {one['ours'] / one['hand']:.2f}"
        )
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
