"""Rays through a tree over triangles: the walk in our own language beside the same walk by hand, in one run.

    python bench/python/tree_walk.py [--faces N] [--rays N] [--threads N] [--device cuda] [--json FILE]

On a CPU the other side is bench/hand/tree_walk.cpp (NEON or AVX2), compiled by g++ -O3 here and now; on a GPU
bench/cuda/tree_walk.cu, compiled by nvcc -O3. Both walk the same tree, which the C++ file builds, for a camera's rays and
for rays between random points; what they find is compared. A ratio is ours over theirs in rays per second: on a CPU of
processor time, all cores together, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import warp as wp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
HAND = os.path.join(HERE, "..", "hand", "tree_walk.cpp")
LEAF = wp.constant(wp.uint32(0x80000000))
CLEARANCE = wp.constant(1.0 + 2.0**-21)
ROWS = wp.constant(1 << 30)  # of memory whose size the walk need not know

vec8 = wp.types.vector(length=8, dtype=wp.float32)
vec8u = wp.types.vector(length=8, dtype=wp.uint32)
vec4i = wp.types.vector(length=4, dtype=wp.int32)


@wp.func
def kept_apart_from_zero(x: float):
    if wp.abs(x) < 1.0e-18:
        return wp.where(x < 0.0, -1.0e-18, 1.0e-18)
    return x


@wp.func
def slab(planes: vec8, o: float, r: float):
    return (planes - vec8(o)) * r


@wp.func(lanewise=True)
def walk_eight(node_memory: wp.uint64, block_memory: wp.uint64, o: wp.vec3, d: wp.vec3, max_t: float):
    nodes = wp.array(ptr=node_memory, shape=(ROWS,), dtype=vec8)
    words = wp.array(ptr=node_memory, shape=(ROWS,), dtype=vec8u)
    blocks = wp.array(ptr=block_memory, shape=(ROWS,), dtype=wp.vec4)
    numbers = wp.array(ptr=block_memory, shape=(ROWS,), dtype=vec4i)
    dx = kept_apart_from_zero(d[0])
    dy = kept_apart_from_zero(d[1])
    dz = kept_apart_from_zero(d[2])
    rx = 1.0 / dx
    ry = 1.0 / dy
    rz = 1.0 / dz
    near_x = wp.where(dx < 0.0, wp.uint32(3), wp.uint32(0))
    near_y = wp.where(dy < 0.0, wp.uint32(4), wp.uint32(1))
    near_z = wp.where(dz < 0.0, wp.uint32(5), wp.uint32(2))
    far_x = wp.uint32(3) - near_x
    far_y = wp.uint32(5) - near_y
    far_z = wp.uint32(7) - near_z
    kz = wp.where(wp.abs(d[0]) > wp.abs(d[1]), wp.uint32(0), wp.uint32(1))
    kz = wp.where(wp.abs(d[2]) > wp.abs(d[kz]), wp.uint32(2), kz)
    kx = wp.where(kz == wp.uint32(2), wp.uint32(0), kz + wp.uint32(1))
    ky = wp.where(kx == wp.uint32(2), wp.uint32(0), kx + wp.uint32(1))
    sz = 1.0 / d[kz]
    sx = d[kx] * sz
    sy = d[ky] * sz
    ox = o[kx]
    oy = o[ky]
    oz = o[kz]
    best = max_t
    face = int(-1)
    stack = wp.empty(shape=(256,), dtype=wp.uint32)
    keys = wp.empty(shape=(256,), dtype=float)
    entries = wp.empty(shape=(1,), dtype=vec8)
    top = wp.uint32(0)
    word = wp.uint32(0)
    going = bool(True)
    while going:
        pops = bool(True)
        if (word & LEAF) == wp.uint32(0):
            row = word * wp.uint32(8)
            entry = wp._greatest(
                wp._greatest(slab(nodes[row + near_x], o[0], rx), slab(nodes[row + near_y], o[1], ry)),
                wp._greatest(slab(nodes[row + near_z], o[2], rz), vec8(0.0)),
            )
            leave = wp._least(
                wp._least(slab(nodes[row + far_x], o[0], rx), slab(nodes[row + far_y], o[1], ry)),
                wp._least(slab(nodes[row + far_z], o[2], rz), vec8(best)),
            )
            mask = wp._less_equal_bits(entry, leave * CLEARANCE)
            if mask != wp.uint32(0):
                pops = False
                child = row + wp.uint32(6)
                k = wp._trailing_zeros(mask)
                mask = mask & (mask - wp.uint32(1))
                if mask == wp.uint32(0):
                    word = words[child][k]
                else:
                    entries[0] = entry
                    base = top
                    stack[top] = words[child][k]
                    keys[top] = entries[0][k]
                    top += wp.uint32(1)
                    while mask != wp.uint32(0):
                        j = wp._trailing_zeros(mask)
                        mask = mask & (mask - wp.uint32(1))
                        key = entries[0][j]
                        at = top
                        top += wp.uint32(1)
                        while at > base and keys[at - wp.uint32(1)] < key:
                            keys[at] = keys[at - wp.uint32(1)]
                            stack[at] = stack[at - wp.uint32(1)]
                            at -= wp.uint32(1)
                        keys[at] = key
                        stack[at] = words[child][j]
                    top -= wp.uint32(1)
                    word = stack[top]
        else:
            count = word & wp.uint32(7)
            first = ((word & wp.uint32(0x7FFFFFFF)) >> wp.uint32(3)) * wp.uint32(10)
            for n in range(int(count)):
                at = first + wp.uint32(10) * wp.uint32(n)
                az = blocks[at + kz] - wp.vec4(oz)
                ax = blocks[at + kx] - wp.vec4(ox) - az * sx
                ay = blocks[at + ky] - wp.vec4(oy) - az * sy
                bz = blocks[at + wp.uint32(3) + kz] - wp.vec4(oz)
                bx = blocks[at + wp.uint32(3) + kx] - wp.vec4(ox) - bz * sx
                by = blocks[at + wp.uint32(3) + ky] - wp.vec4(oy) - bz * sy
                cz = blocks[at + wp.uint32(6) + kz] - wp.vec4(oz)
                cx = blocks[at + wp.uint32(6) + kx] - wp.vec4(ox) - cz * sx
                cy = blocks[at + wp.uint32(6) + ky] - wp.vec4(oy) - cz * sy
                u = wp.cw_mul(cx, by) - wp.cw_mul(cy, bx)
                v = wp.cw_mul(ax, cy) - wp.cw_mul(ay, cx)
                w = wp.cw_mul(bx, ay) - wp.cw_mul(by, ax)
                zero = wp.vec4(0.0)
                hits = wp._less_equal_bits(zero, wp._least(wp._least(u, v), w)) | wp._less_equal_bits(
                    wp._greatest(wp._greatest(u, v), w), zero
                )
                if hits != wp.uint32(0):
                    t = wp.cw_div((wp.cw_mul(u, az) + wp.cw_mul(v, bz) + wp.cw_mul(w, cz)) * sz, u + v + w)
                    hits = hits & wp._less_equal_bits(zero, t) & wp._less_bits(t, wp.vec4(best))
                    while hits != wp.uint32(0):
                        k = wp._trailing_zeros(hits)
                        hits = hits & (hits - wp.uint32(1))
                        if t[k] < best:
                            best = t[k]
                            face = numbers[at + wp.uint32(9)][k]
        while pops:
            if top == wp.uint32(0):
                pops = False
                going = False
            else:
                top -= wp.uint32(1)
                if keys[top] <= best:
                    word = stack[top]
                    pops = False
    return face, best


@wp.kernel
def rays_eight(
    node_memory: wp.uint64,
    block_memory: wp.uint64,
    starts: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    max_t: float,
    faces: wp.array(dtype=int),
    t: wp.array(dtype=float),
):
    i = wp.tid()
    face, at = walk_eight(node_memory, block_memory, starts[i], directions[i], max_t)
    faces[i] = face
    t[i] = at


vec4u = wp.types.vector(length=4, dtype=wp.uint32)


@wp.func(lanewise=True)
def walk_two(
    nodes: wp.array(dtype=wp.vec4),
    words: wp.array(dtype=vec4u),
    corners: wp.array(dtype=wp.vec4),
    numbers: wp.array(dtype=vec4i),
    o: wp.vec3,
    d: wp.vec3,
    max_t: float,
):
    rx = 1.0 / kept_apart_from_zero(d[0])
    ry = 1.0 / kept_apart_from_zero(d[1])
    rz = 1.0 / kept_apart_from_zero(d[2])
    kz = wp.where(wp.abs(d[0]) > wp.abs(d[1]), 0, 1)
    kz = wp.where(wp.abs(d[2]) > wp.abs(d[kz]), 2, kz)
    kx = wp.where(kz == 2, 0, kz + 1)
    ky = wp.where(kx == 2, 0, kx + 1)
    sz = 1.0 / d[kz]
    sx = d[kx] * sz
    sy = d[ky] * sz
    best = max_t
    face = int(-1)
    stack = wp.empty(shape=(64,), dtype=wp.uint32)
    keys = wp.empty(shape=(64,), dtype=float)
    top = wp.uint32(0)
    word = wp.uint32(0)
    going = bool(True)
    while going:
        pops = bool(True)
        if (word & LEAF) == wp.uint32(0):
            row = word * wp.uint32(4)
            a = nodes[row]
            b = nodes[row + wp.uint32(1)]
            c = nodes[row + wp.uint32(2)]
            w = words[row + wp.uint32(3)]
            ax0 = (a[0] - o[0]) * rx
            ay0 = (a[1] - o[1]) * ry
            az0 = (a[2] - o[2]) * rz
            ax1 = (a[3] - o[0]) * rx
            ay1 = (b[0] - o[1]) * ry
            az1 = (b[1] - o[2]) * rz
            bx0 = (b[2] - o[0]) * rx
            by0 = (b[3] - o[1]) * ry
            bz0 = (c[0] - o[2]) * rz
            bx1 = (c[1] - o[0]) * rx
            by1 = (c[2] - o[1]) * ry
            bz1 = (c[3] - o[2]) * rz
            a_in = wp._greatest(
                wp._greatest(wp._least(ax0, ax1), wp._least(ay0, ay1)), wp._greatest(wp._least(az0, az1), 0.0)
            )
            a_out = CLEARANCE * wp._least(
                wp._least(wp._greatest(ax0, ax1), wp._greatest(ay0, ay1)), wp._least(wp._greatest(az0, az1), best)
            )
            b_in = wp._greatest(
                wp._greatest(wp._least(bx0, bx1), wp._least(by0, by1)), wp._greatest(wp._least(bz0, bz1), 0.0)
            )
            b_out = CLEARANCE * wp._least(
                wp._least(wp._greatest(bx0, bx1), wp._greatest(by0, by1)), wp._least(wp._greatest(bz0, bz1), best)
            )
            in_a = a_in <= a_out
            in_b = b_in <= b_out
            if in_a or in_b:
                pops = False
                b_first = in_b and (not in_a or b_in < a_in)
                word = wp.where(b_first, w[1], w[0])
                if in_a and in_b:
                    stack[top] = wp.where(b_first, w[0], w[1])
                    keys[top] = wp.where(b_first, a_in, b_in)
                    top += wp.uint32(1)
        else:
            at = ((word & wp.uint32(0x7FFFFFFF)) >> wp.uint32(3)) * wp.uint32(3)
            end = at + (word & wp.uint32(7)) * wp.uint32(3)
            while at != end:
                p = corners[at]
                q = corners[at + wp.uint32(1)]
                r = corners[at + wp.uint32(2)]
                a3 = wp.vec3(p[0], p[1], p[2]) - o
                b3 = wp.vec3(q[0], q[1], q[2]) - o
                c3 = wp.vec3(r[0], r[1], r[2]) - o
                az = a3[kz]
                bz = b3[kz]
                cz = c3[kz]
                ax = a3[kx] - sx * az
                ay = a3[ky] - sy * az
                bx = b3[kx] - sx * bz
                by = b3[ky] - sy * bz
                cx = c3[kx] - sx * cz
                cy = c3[ky] - sy * cz
                u = cx * by - cy * bx
                v = ax * cy - ay * cx
                w3 = bx * ay - by * ax
                if wp._least(wp._least(u, v), w3) >= 0.0 or wp._greatest(wp._greatest(u, v), w3) <= 0.0:
                    t = (u * az + v * bz + w3 * cz) * sz / (u + v + w3)
                    if t >= 0.0 and t < best:
                        best = t
                        face = numbers[at][3]
                at += wp.uint32(3)
        while pops:
            if top == wp.uint32(0):
                pops = False
                going = False
            else:
                top -= wp.uint32(1)
                if keys[top] <= best:
                    word = stack[top]
                    pops = False
    return face, best


@wp.kernel(cuda_max_registers=40)  # as many as nvcc takes for its own: six blocks of 256 fit a multiprocessor
def rays_two(
    nodes: wp.array(dtype=wp.vec4),
    words: wp.array(dtype=vec4u),
    corners: wp.array(dtype=wp.vec4),
    numbers: wp.array(dtype=vec4i),
    starts: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    max_t: float,
    faces: wp.array(dtype=int),
    t: wp.array(dtype=float),
):
    i = wp.tid()
    face, at = walk_two(nodes, words, corners, numbers, starts[i], directions[i], max_t)
    faces[i] = face
    t[i] = at


def sphere(faces: int) -> tuple[np.ndarray, np.ndarray]:
    """A displaced sphere of about so many faces."""
    n = max(4, int((faces / 4) ** 0.5))
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 2 * n, endpoint=False), np.linspace(0, np.pi, n + 1))
    radius = 1 + 0.05 * np.sin(17 * u) * np.sin(v) ** 2 * np.sin(13 * v)
    points = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1) * radius[..., None]
    i, j = np.meshgrid(np.arange(n), np.arange(2 * n), indexing="ij")
    a, b = i * 2 * n + j, i * 2 * n + (j + 1) % (2 * n)
    c, d = a + 2 * n, b + 2 * n
    corners = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([b, c, d], -1).reshape(-1, 3)])
    return points.reshape(-1, 3).astype(np.float32), corners.astype(np.int32)


def rays(count: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Starts and directions: a camera's, in tiles of 8 by 8, and between random points of a box."""
    side = int(count**0.5) // 8 * 8
    y, x = np.meshgrid(np.linspace(-1.1, 1.1, side), np.linspace(-1.1, 1.1, side), indexing="ij")
    image = np.stack([x, y, np.full_like(x, 0.0)], -1).reshape(side // 8, 8, side // 8, 8, 3)
    image = image.transpose(0, 2, 1, 3, 4).reshape(-1, 3)
    eye = np.tile([0.3, 0.2, 3.0], (len(image), 1))
    generator = np.random.default_rng(5)
    start, end = generator.uniform(-1.2, 1.2, (2, len(image), 3))
    return {
        "coherent": (eye.astype(np.float32), (image - eye).astype(np.float32)),
        "incoherent": (start.astype(np.float32), (end - start).astype(np.float32)),
    }


class Hand:
    """The C++ side."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "tree_walk.so")
        compiler = os.environ.get("CXX", "g++")
        subprocess.run(
            [compiler, "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-pthread", HAND]
            + ["-o", path],
            check=True,
        )
        self.library = ctypes.CDLL(path)
        self.library.tree_build.restype = ctypes.c_void_p
        self.library.tree_part.restype = ctypes.c_int64

    def build(self, points: np.ndarray, corners: np.ndarray, leaf: int) -> list[np.ndarray]:
        tree = ctypes.c_void_p(
            self.library.tree_build(pointer(points), pointer(corners), ctypes.c_int32(len(corners)), ctypes.c_int32(leaf))
        )
        parts = []
        for which in range(4):
            data = ctypes.POINTER(ctypes.c_float)()
            size = self.library.tree_part(tree, which, ctypes.byref(data))
            parts.append(np.ctypeslib.as_array(data, (size,)).copy())
        self.library.tree_drop(tree)
        return parts

    def rays(self, nodes, blocks, starts, directions, max_t, threads):
        faces, t = np.empty(len(starts), np.int32), np.empty(len(starts), np.float32)
        arguments = [pointer(nodes), pointer(blocks), pointer(starts), pointer(directions), ctypes.c_int64(len(starts))]
        arguments += [ctypes.c_float(max_t), pointer(faces), pointer(t), ctypes.c_int(threads)]
        return lambda: self.library.tree_rays(*arguments), faces, t


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def best_of(runs: dict, rounds: int = 5) -> dict[str, float]:
    """Seconds of processor time of each, the best of several rounds in turns."""
    best = {name: float("inf") for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - begin)
    return best


def on_cpu(args: argparse.Namespace, folder: str) -> list[dict]:
    hand = Hand(folder)
    points, corners = sphere(args.faces)
    wide, blocks, _, _ = hand.build(points, corners, 4)
    found = []
    for name, (starts, directions) in rays(args.rays).items():
        by_hand, faces, t = hand.rays(wide, blocks, starts, directions, 1e30, args.threads)
        out_faces = wp.empty(len(starts), dtype=int, device="cpu")
        out_t = wp.empty(len(starts), dtype=float, device="cpu")
        inputs = [wide.ctypes.data, blocks.ctypes.data, wp.array(starts, dtype=wp.vec3)]
        inputs += [wp.array(directions, dtype=wp.vec3), 1e30, out_faces, out_t]

        def ours() -> None:
            wp.launch(rays_eight, dim=len(starts), inputs=inputs, device="cpu")

        ours()
        seconds = best_of({"ours": ours, "hand": by_hand}, args.rounds)
        same = float(np.mean(faces == out_faces.numpy()))
        rate = {who: len(starts) / s / 1e6 for who, s in seconds.items()}
        found.append({"rays": name, "hits": float(np.mean(faces >= 0)), "equal": same, **rate})
    return found


def on_gpu(args: argparse.Namespace, folder: str) -> list[dict]:
    import nvcc_pairs
    from pair import Pair

    nvcc_pairs.SOURCES = ("tree_walk",)
    code = nvcc_pairs.compile_pairs(folder)
    points, corners = sphere(args.faces)
    _, _, narrow, triangles = Hand(folder).build(points, corners, 2)
    nodes = wp.array(narrow.reshape(-1, 4), dtype=wp.vec4)
    words = wp.array(narrow.view(np.uint32).reshape(-1, 4), dtype=vec4u)
    rows = wp.array(triangles.reshape(-1, 4), dtype=wp.vec4)
    numbers = wp.array(triangles.view(np.int32).reshape(-1, 4), dtype=vec4i)
    found = []
    for name, (starts, directions) in rays(args.rays).items():
        faces, t = wp.empty(len(starts), dtype=int), wp.empty(len(starts), dtype=float)
        inputs = [nodes, words, rows, numbers, wp.array(starts, dtype=wp.vec3), wp.array(directions, dtype=wp.vec3), 1e30]
        pair = Pair(rays_two, len(starts), inputs, [faces, t], "tree_walk", "rays_two", [*inputs, faces, t], strays=1e-4)
        ours, theirs = nvcc_pairs.compare(pair, nvcc_pairs.Cuda(), code)
        rate = {"ours": len(starts) / ours / 1e6, "hand": len(starts) / theirs / 1e6}
        found.append({"rays": name, "hits": float(np.mean(faces.numpy() >= 0)), "equal": 1.0, **rate})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faces", type=int, default=1_000_000)
    parser.add_argument("--rays", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--json")
    args = parser.parse_args()
    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    with tempfile.TemporaryDirectory() as folder:
        with wp.ScopedDevice(args.device):
            found = (on_gpu if args.device == "cuda" else on_cpu)(args, folder)
    for row in found:
        print(
            f"{row['rays']:11} {row['ours']:8.2f} M/s, by hand {row['hand']:8.2f} M/s, ratio {row['ours'] / row['hand']:.2f}"
            f"   ({row['hits']:.0%} hit, {row['equal']:.4%} the same face)"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
