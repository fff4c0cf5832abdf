#!/usr/bin/env python3
"""Meshes: trees and queries beside PyPI's warp-lang and Embree, measured in turns.

    geometry.py [--peer PYTHON] [--device cuda] [--scene NAME] [--rays N] [--points N] [--rounds N] [--only NAMES]
                [--json FILE]

This interpreter imports Weft's `warp`, PEER's has warp-lang; both run the same program (this file with --measure). Embree
takes part where its headers and a C++ compiler are found (bench/hand/embree_rays.cpp: single rays, robust). Meshes of a
million faces, rays and points are those of scene.py. Boxes hold some hundred faces each.

Figures are millions a second, by the wall's clock and by a core's processor time, which counts in favour of programs that use
one thread; of many repetitions the best counts. Then first results of fresh processes with an empty and with a filled kernel
cache: of a plain kernel, and of kernels with a query.
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
import others

from scene import NAMES, Scene

HERE = os.path.dirname(os.path.abspath(__file__))
HELPER = os.path.join(HERE, "..", "hand", "embree_rays.cpp")
ROWS = ("build", "refit", "coherent", "incoherent", "closest box", "closest near", "aabb", "winding number")
GOALS = {"build": 2.0, "refit": 2.0, "closest box": 14.0, "closest near": 14.0}  # times warp-lang's, two cores
EMBREE_GOALS = {"coherent": 1.0, "incoherent": 1.0}  # times Embree's
FIRST = ("plain", "ray", "point", "sign")
FIRST_COLD_GOAL, FIRST_WARM_GOAL = 60e-3, 0.0  # seconds beyond the plain kernel's
FRESH = 7  # processes per figure
NAMED = {"weft": "Weft", "peer": "warp-lang", "embree": "Embree"}


class Timer:
    """Rates by the wall's clock and by processor time, each the best of many repetitions."""

    def __init__(self, finish, only: list[str]) -> None:
        self.finish, self.only = finish, only
        self.figures: dict[str, dict[str, float]] = {"wall": {}, "core": {}, "check": {}}

    def take(self, name: str, count: int, work, least: int = 3, seconds: float = 1.0) -> None:
        if self.only and name not in self.only:
            return
        work()
        self.finish()
        wall: list[float] = []
        core: list[float] = []
        while len(wall) < least or sum(wall) < seconds:
            begin, begin_core = time.perf_counter(), time.process_time()
            work()
            self.finish()
            wall.append(time.perf_counter() - begin)
            core.append(time.process_time() - begin_core)
        self.figures["wall"][name] = count / min(wall) / 1e6
        self.figures["core"][name] = count / max(min(core), 1e-9) / 1e6

    def check(self, name: str, array) -> None:
        if name in self.figures["wall"]:
            self.figures["check"][name] = float(np.asarray(array, dtype=np.float64).sum())


def measure(args: argparse.Namespace) -> dict:
    import warp as wp

    wp.config.quiet = True
    wp.config.first_versions = False  # full ones are what is measured
    wp.init()

    @wp.kernel
    def cast(
        mesh: wp.uint64,
        starts: wp.array(dtype=wp.vec3),
        directions: wp.array(dtype=wp.vec3),
        faces: wp.array(dtype=int),
        t: wp.array(dtype=float),
    ):
        i = wp.tid()
        query = wp.mesh_query_ray(mesh, starts[i], directions[i], 1.0e6)
        face = int(-1)
        if query.result:
            face = query.face
        faces[i] = face
        t[i] = query.t

    @wp.kernel
    def closest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), distances: wp.array(dtype=float)):
        i = wp.tid()
        query = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e6)
        if query.result:
            distances[i] = wp.length(points[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))

    @wp.kernel
    def boxes(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), half: float, counts: wp.array(dtype=int)):
        i = wp.tid()
        reach = wp.vec3(half, half, half)
        query = wp.mesh_query_aabb(mesh, points[i] - reach, points[i] + reach)
        face = int(0)
        count = int(0)
        while wp.mesh_query_aabb_next(query, face):
            count += 1
        counts[i] = count

    @wp.kernel
    def winding(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), signs: wp.array(dtype=float)):
        i = wp.tid()
        query = wp.mesh_query_point_sign_winding_number(mesh, points[i], 1.0e6)
        signs[i] = query.sign

    scene = Scene(args.scene)
    points, corners = scene.points, scene.corners
    timer = Timer(wp.synchronize, args.only)
    with wp.ScopedDevice(args.device):
        x = wp.array(points, dtype=wp.vec3)
        indices = wp.array(corners.reshape(-1), dtype=wp.int32)
        mesh = wp.Mesh(points=x, indices=indices)
        timer.take("build", len(corners), lambda: wp.Mesh(points=x, indices=indices))
        timer.take("refit", len(corners), mesh.refit)
        for name, pair in scene.rays(args.rays).items():
            inputs = [mesh.id, *(wp.array(a, dtype=wp.vec3) for a in pair)]
            faces, t = wp.zeros(len(pair[0]), dtype=int), wp.zeros(len(pair[0]), dtype=float)
            timer.take(name, len(t), lambda: wp.launch(cast, dim=len(t), inputs=inputs, outputs=[faces, t]))
            timer.check(name, t.numpy())
        distances = wp.zeros(args.points, dtype=float)
        queries = {name: wp.array(where, dtype=wp.vec3) for name, where in scene.places(args.points).items()}
        for name, where in queries.items():
            name = "closest " + name
            timer.take(
                name, args.points, lambda: wp.launch(closest, args.points, inputs=[mesh.id, where], outputs=[distances])
            )
            timer.check(name, distances.numpy())
        counts = wp.zeros(args.points, dtype=int)
        inputs = [mesh.id, queries["near"], 0.01]
        timer.take("aabb", args.points, lambda: wp.launch(boxes, args.points, inputs=inputs, outputs=[counts]))
        timer.check("aabb", counts.numpy())
        if not args.only or "winding number" in args.only:
            solid = wp.Mesh(points=x, indices=indices, support_winding_number=True)
            inputs = [solid.id, queries["box"]]
            timer.take(
                "winding number", args.points, lambda: wp.launch(winding, args.points, inputs=inputs, outputs=[distances])
            )
            timer.check("winding number", distances.numpy())
    return timer.figures


def measure_embree(args: argparse.Namespace) -> dict:
    library = ctypes.CDLL(args.embree)
    library.embree_build.restype = ctypes.c_void_p
    threads = ctypes.c_int(len(os.sched_getaffinity(0)))
    mesh = Scene(args.scene)
    corners = mesh.corners
    points = np.append(mesh.points.reshape(-1), np.zeros(4, np.float32))  # it reads 16 bytes at the last point, too

    def pointer(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def build() -> ctypes.c_void_p:
        return ctypes.c_void_p(
            library.embree_build(
                pointer(points),
                ctypes.c_int64(len(points) // 3),
                pointer(corners),
                ctypes.c_int64(len(corners)),
                threads,
            )
        )

    timer = Timer(lambda: None, args.only)
    timer.take("build", len(corners), lambda: library.embree_drop(build()))
    scene = build()
    for name, (starts, directions) in mesh.rays(args.rays).items():
        faces, t = np.empty(len(starts), np.int32), np.empty(len(starts), np.float32)
        inputs = [scene, pointer(starts), pointer(directions), ctypes.c_int64(len(t)), pointer(faces), pointer(t), threads]
        timer.take(name, len(t), lambda: library.embree_rays(*inputs))
        timer.check(name, t)
    return timer.figures


def measure_first(kind: str, device: str) -> dict[str, float]:
    """Seconds of the first launch of a kernel with such a query, with the settings that programs have."""
    import warp as wp

    wp.config.quiet = True
    wp.init()
    if kind == "plain":

        @wp.kernel
        def first(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
            i = wp.tid()
            out[i] = wp.length(x[i])

    elif kind == "ray":

        @wp.kernel
        def first(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
            i = wp.tid()
            query = wp.mesh_query_ray(mesh, x[i], wp.vec3(0.1, 0.2, 1.0), 1.0e6)
            out[i] = query.t

    elif kind == "point":

        @wp.kernel
        def first(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
            i = wp.tid()
            query = wp.mesh_query_point_no_sign(mesh, x[i], 1.0e6)
            out[i] = wp.length(x[i] - wp.mesh_eval_position(mesh, query.face, query.u, query.v))

    else:

        @wp.kernel
        def first(mesh: wp.uint64, x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
            i = wp.tid()
            query = wp.mesh_query_point(mesh, x[i], 1.0e6)
            out[i] = query.sign

    with wp.ScopedDevice(device):
        corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
        x = wp.array(corners, dtype=wp.vec3)
        mesh = wp.Mesh(points=x, indices=wp.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype=wp.int32))
        out = wp.zeros(4, dtype=float)
        wp.synchronize()
        begin = time.perf_counter()
        wp.launch(first, dim=4, inputs=[mesh.id, x], outputs=[out])
        out.numpy()
        return {"launch": time.perf_counter() - begin}


def run(python: str, is_peer: bool, *args: str, **variables: str) -> dict:
    begin = time.perf_counter()
    found = others.run(python, os.path.abspath(__file__), *args, is_peer=is_peer, **variables)
    return {**found, "process": time.perf_counter() - begin}


def build_helper(folder: str) -> str | None:
    """The library of Embree's side; None, with a word, where it can't be built."""
    path = os.path.join(folder, "embree_rays.so")
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-pthread", HELPER]
    for version in ("4", "3"):
        try:
            done = subprocess.run([*command, "-o", path, f"-lembree{version}"], capture_output=True, check=False)
        except OSError:
            break
        if done.returncode == 0:
            return path
    print("no comparison with Embree: its headers, its library or a C++ compiler are not installed")
    return None


def first_results(python: str, is_peer: bool, args: argparse.Namespace, best: dict[str, float]) -> None:
    """Cold and warm, of each kind in turns: seconds of the launch, and of the process from start to end."""
    for kind in FIRST:
        with tempfile.TemporaryDirectory() as folder:
            for state in ("cold", "warm"):
                found = run(python, is_peer, "--first", kind, "--device", args.device, WARP_CACHE_PATH=folder)
                for what, value in found.items():
                    key = f"{kind} {state} {what}"
                    best[key] = min(best.get(key, np.inf), value)


def show_rates(found: dict[str, dict], device: str) -> None:
    clocks = ("wall", "core") if device == "cpu" else ("wall",)
    for clock in clocks:
        print(f"\nmillions a second, {'wall' if clock == 'wall' else 'a core of processor time'}")
        print(f"{'':>16} {'Weft':>9} {'warp-lang':>9} {'times':>6} {'goal':>5} {'Embree':>9} {'times':>6} {'goal':>5}")
        for row in ROWS:
            if row not in found["weft"][clock]:
                continue
            ours, line = found["weft"][clock][row], ""
            for who, goals in (("peer", GOALS), ("embree", EMBREE_GOALS)):
                other = found.get(who, {}).get(clock, {}).get(row)
                goal = goals.get(row) if clock == "wall" else None
                line += f" {other:9.2f} {ours / other:6.2f}" if other else f" {'-':>9} {'-':>6}"
                line += f" {goal or '-':>5}"
            print(f"{row:>16} {ours:9.2f}{line}")
    for who in ("peer", "embree"):
        for row, sum_ in found.get(who, {}).get("check", {}).items():
            apart = abs(found["weft"]["check"][row] / sum_ - 1)
            if apart > 1e-4:
                print(f"{row}: sums of results are {apart:.1e} apart from {who}'s")


def show_first(first: dict[str, dict[str, float]]) -> None:
    print("\nfirst results in a fresh process, ms: the launch (the process)")
    print(f"{'':>16} {'Weft cold':>15} {'Weft warm':>15} {'warp-lang cold':>15} {'warp-lang warm':>15}")
    for kind in FIRST:
        cells = ""
        for who in ("weft", "peer"):
            for state in ("cold", "warm"):
                times = [first.get(who, {}).get(f"{kind} {state} {what}") for what in ("launch", "process")]
                cells += f" {f'{times[0] * 1e3:.1f} ({times[1] * 1e3:.0f})' if times[0] else '-':>15}"
        print(f"{kind:>16}{cells}")
    ours = first["weft"]
    for state, goal in (("cold", FIRST_COLD_GOAL), ("warm", FIRST_WARM_GOAL)):
        for kind in FIRST[1:]:
            beyond = ours[f"{kind} {state} launch"] - ours[f"plain {state} launch"]
            print(f"{kind}, {state}: {beyond * 1e3:+.1f} ms beside the plain kernel (goal: at most {goal * 1e3:+.0f})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter that has warp-lang")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scene", choices=NAMES, default=NAMES[0])
    parser.add_argument("--rays", type=int, help="how many; 1 M, on a GPU 4 M")
    parser.add_argument("--points", type=int, help="how many; 128 K, on a GPU 4 M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="rows, by commas; also: first")
    parser.add_argument("--json")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--embree", help="with --measure: this library instead of `warp`")
    parser.add_argument("--first", choices=FIRST)
    args = parser.parse_args()
    on_cpu = args.device == "cpu"
    args.rays = args.rays or (1 << 20 if on_cpu else 1 << 22)
    args.points = args.points or (1 << 17 if on_cpu else 1 << 22)
    if args.first or args.measure:
        work = measure_embree if args.embree else measure
        print(json.dumps(measure_first(args.first, args.device) if args.first else work(args)))
        return 0

    load = os.getloadavg()[0]
    pythons = {"weft": sys.executable, **({"peer": args.peer} if args.peer else {})}
    options = ["--measure", "--device", args.device, "--scene", args.scene]
    options += ["--rays", str(args.rays), "--points", str(args.points)]
    options += ["--only", ",".join(args.only)] if args.only else []
    guard = others.Peers()
    found: dict[str, dict] = {}
    first: dict[str, dict[str, float]] = {who: {} for who in pythons}
    with tempfile.TemporaryDirectory() as folder:
        helper = build_helper(folder) if on_cpu else None
        for _ in range(args.rounds if not args.only or set(args.only) & set(ROWS) else 0):
            runs = [(who, python, options) for who, python in pythons.items()]
            if helper:
                runs.append(("embree", sys.executable, [*options, "--embree", helper]))
            for who, python, command in runs:
                rates_of = guard.take(NAMED[who], lambda p=python, w=who, c=command: run(p, w == "peer", *c))
                if rates_of is None and who == "weft":
                    raise SystemExit(1)
                for clock, rates in (rates_of or {}).items():
                    if clock != "process":
                        best = found.setdefault(who, {}).setdefault(clock, {})
                        for row, rate in rates.items():
                            best[row] = max(best.get(row, -np.inf), rate)
    if not args.only or "first" in args.only:
        for _ in range(min(FRESH, 2 * args.rounds)):
            for who, python in pythons.items():
                if who == "weft":
                    first_results(python, False, args, first[who])
                elif len(first[who]) < len(FIRST):  # the peer takes seconds for each: once is enough
                    guard.take(NAMED[who], lambda p=python, w=who: first_results(p, True, args, first[w]))
    print(f"{os.cpu_count()} cores, load {load:.1f} at the start, {args.rounds} rounds in turns")
    if found:
        show_rates(found, args.device)
    if first["weft"]:
        show_first(first)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rates": found, "first": first, "failed": guard.failed}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
