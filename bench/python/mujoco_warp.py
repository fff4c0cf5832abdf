#!/usr/bin/env python3
"""MuJoCo Warp's humanoid on Weft, beside PyPI's warp-lang and MuJoCo's own engine.

    mujoco_warp.py [--peer PYTHON] [--peer-path FOLDER] [--worlds 1 32 256 2048] [--device cuda] [--graph]
                   [--rounds N] [--json FILE] [--suite [FILE …]]

This interpreter's environment has MuJoCo Warp on Weft (tools/compat/mujoco_environment.py makes one), PEER's has it on
warp-lang; --peer-path is a folder of packages for PEER, where MuJoCo Warp is not installed beside it. Both run the same
program (this file with --measure) in turns; of each figure the best counts.

Lines begin with the ratio. `first step`: how long the first step takes with an empty kernel cache and with a full one, and the
same from the start of the imports. `full speed`: how long behind the first step, from an empty cache, steps of 32 worlds go on to be
slower than they will be. `worlds`: steps of all worlds a second, step by step, or with --graph as a captured graph;
`of a core`: the same by the processor time that was used, which favours programs that use one thread. MuJoCo's own engine
runs one world on one thread. `own tests`, with --suite: all files of the engine's own tests, or those that are named, one after
another, a process each, from an empty cache and then from a full one; it takes minutes with Weft, an hour with warp-lang.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time

import others

FIRST_GOAL = {"cpu": 10.0, "cuda": 20.0}
WARM_STEPS, STEPS, WINDOW = 3, 40, 5  # of a round; a figure is the mean of a window
FULL_GOAL = 3.0  # seconds
FULL_WORLDS, FULL_SECONDS, NEAR = 32, 8.0, 1.25  # how long is looked at, and how near to its end a window must come
FULL_WINDOW = 0.05  # seconds: shorter ones tell of other processes' moments


def steps_goal(device: str, worlds: int, graph: bool) -> float | None:
    """How many times the peer's speed is wanted."""
    if device != "cpu":
        return 1.2 if graph else 3.0
    return 10.0 if worlds == 1 else 4.0 if worlds >= 256 else None


def make_room() -> None:
    """This file has the engine's name."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]


def humanoid(worlds: int, device: str):
    """The engine, and its humanoid in the pose of its first key frame in every world."""
    import pathlib

    make_room()
    import mujoco
    import mujoco_warp as engine
    import warp as wp

    wp.config.quiet = True
    path = pathlib.Path(engine.__file__).parent / "test_data" / "humanoid" / "humanoid.xml"
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    with wp.ScopedDevice(device):
        m, d = engine.put_model(model), engine.put_data(model, data, nworld=worlds, nconmax=24, njmax=64)
    return wp, engine, m, d, model, data


def measure_first(device: str) -> dict[str, float]:
    begin = time.perf_counter()
    wp, engine, m, d, _, _ = humanoid(1, device)
    with wp.ScopedDevice(device):
        wp.synchronize_device()
        start, used = time.perf_counter(), time.process_time()
        engine.step(m, d)
        wp.synchronize_device()
    end = time.perf_counter()
    return {"first step": end - start, "processor": time.process_time() - used, "from the imports": end - begin}


def measure_full(device: str) -> dict[str, float]:
    """How long after the first step a program runs at full speed, while it steps on and on."""
    wp, engine, m, d, _, _ = humanoid(FULL_WORLDS, device)
    with wp.ScopedDevice(device):
        engine.step(m, d)
        wp.synchronize_device()
        begin, windows = time.perf_counter(), []
        while time.perf_counter() - begin < FULL_SECONDS:
            start = now = time.perf_counter()
            steps = 0
            while now - start < FULL_WINDOW:
                for _ in range(WINDOW):
                    engine.step(m, d)
                wp.synchronize_device()
                steps, now = steps + WINDOW, time.perf_counter()
            windows.append((now - begin, (now - start) / steps))
    final = sorted(took for _, took in windows[-len(windows) // 4 :])
    enough = NEAR * final[len(final) // 2]
    # Three slow windows in a row are no accident of the machine's.
    slow = [all(took > enough for _, took in windows[k : k + 3]) for k in range(len(windows) - 2)]
    last = max((k for k, is_slow in enumerate(slow) if is_slow), default=-3)
    return {"full speed": windows[last + 2][0] if last >= 0 else 0.0}


def measure_steps(worlds: int, device: str, graph: bool) -> dict[str, float]:
    wp, engine, m, d, _, _ = humanoid(worlds, device)
    wp.config.first_versions = False  # full ones are what is measured
    walls, used = [], []
    with wp.ScopedDevice(device):
        for _ in range(WARM_STEPS):
            engine.step(m, d)
        if graph:
            with wp.ScopedCapture() as capture:
                engine.step(m, d)
        wp.synchronize_device()
        for _ in range(STEPS // WINDOW):
            start, processor = time.perf_counter(), time.process_time()
            for _ in range(WINDOW):
                if graph:
                    wp.capture_launch(capture.graph)
                else:
                    engine.step(m, d)
            wp.synchronize_device()
            walls.append(time.perf_counter() - start)
            used.append(time.process_time() - processor)
        assert (abs(d.qpos.numpy()) < 1e3).all()
    return {"wall": worlds * WINDOW / min(walls), "core": worlds * WINDOW / min(used)}


def measure_own(device: str) -> dict[str, float]:
    """MuJoCo's engine over the same steps, world by world."""
    import mujoco

    _, _, _, _, model, data = humanoid(1, device)
    best = float("inf")
    for _ in range(20):
        mujoco.mj_resetDataKeyframe(model, data, 0)
        start = time.perf_counter()
        mujoco.mj_step(model, data, nstep=WARM_STEPS + STEPS)
        best = min(best, time.perf_counter() - start)
    return {"wall": (WARM_STEPS + STEPS) / best}


def measure_suite(names: list[str]) -> dict[str, float]:
    """How long the engine's own tests take, and how many files of them fail."""
    import importlib.util
    import pathlib
    import subprocess

    make_room()
    folder = pathlib.Path(importlib.util.find_spec("mujoco_warp").submodule_search_locations[0], "_src")  # type: ignore[union-attr, index]
    found = sorted(path.stem for path in folder.glob("*_test.py") if "jax" not in path.stem)
    failed, start = 0, time.perf_counter()
    for name in names or found:
        command = [sys.executable, "-m", f"mujoco_warp._src.{name}"]
        failed += subprocess.run(command, capture_output=True, check=False, cwd=tempfile.gettempdir()).returncode != 0
    return {"own tests": time.perf_counter() - start, "files with failures": failed}


class Runner:
    """Runs the program on one of the packages."""

    def __init__(self, python: str, is_peer: bool, path: str | None, device: str, graph: bool) -> None:
        self.python, self.is_peer = python, is_peer
        self.variables = {"PYTHONPATH": path} if path else {}
        self.options = ["--device", device] + (["--graph"] if graph else [])

    def run(self, what: str, cache: str) -> dict[str, float]:
        command = (os.path.abspath(__file__), "--measure", what, *self.options)
        return others.run(self.python, *command, is_peer=self.is_peer, WARP_CACHE_PATH=cache, **self.variables)


def collect(
    runners: dict[str, Runner], worlds: list[int], rounds: int, guard: others.Peers
) -> dict[str, dict[str, float]]:
    """The best figures by row and package: seconds in rows of first steps, else world-steps a second."""
    best: dict[str, dict[str, float]] = {}

    def note(row: str, who: str, figure: float, choose) -> None:
        mine = best.setdefault(row, {})
        mine[who] = choose(mine[who], figure) if who in mine else figure

    def take(who: str, what: str, cache: str) -> dict[str, float]:
        runner = runners[who]
        return runner.run(what, cache) if who == "weft" else guard.take("warp-lang", lambda: runner.run(what, cache)) or {}

    with tempfile.TemporaryDirectory() as folder:
        warm = {who: os.path.join(folder, f"{who}0") for who in runners}
        for number in range(rounds):
            for who in runners:
                cold = os.path.join(folder, f"{who}{number}")
                if number == 0 and who == "weft":  # the peer's first step has all of its code
                    for seconds in take(who, "full", os.path.join(folder, f"{who}full")).values():
                        note("full speed after the first step", who, seconds, min)
                for state, cache in (("cold", cold), ("warm", cold)):
                    for name, seconds in take(who, "first", cache).items():
                        note(f"first step, {state}" + ("" if name == "first step" else f", {name}"), who, seconds, min)
        for number in range(rounds):
            for count in worlds:
                for who in runners:
                    for clock, rate in take(who, f"steps:{count}", warm[who]).items():
                        note(f"{count} worlds" + ("" if clock == "wall" else ", of a core"), who, rate, max)
        note("MuJoCo's own engine, a thread", "weft", runners["weft"].run("own", warm["weft"])["wall"], max)
    return best


def collect_suite(runners: dict[str, Runner], names: list[str], guard: others.Peers) -> dict[str, dict[str, float]]:
    """Seconds by state of the cache and package, and how many files fail."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "warm"):
            for who, runner in runners.items():
                what, cache = ":".join(("suite", *names)), os.path.join(folder, who)
                run = lambda: runner.run(what, cache)  # noqa: B023, E731 - called at once
                taken = run() if who == "weft" else guard.take("warp-lang", run) or {}
                for name, figure in taken.items():
                    found.setdefault(f"{name}, {state}", {})[who] = figure
    return found


def show(row: str, figures: dict[str, float], goal: float | None) -> str:
    """The ratio, then the figures."""
    seconds = row.startswith(("first", "full", "own"))
    if row.startswith("files"):
        return f"{'':34}{row:38}{'   '.join(f'{who} {figure:.0f}' for who, figure in figures.items())}"
    ratio = ""
    if row.startswith("full"):
        ratio = f"(goal {FULL_GOAL:g} s: {'met' if figures['weft'] <= FULL_GOAL else 'MISSED'})"
    elif "peer" in figures:
        times = figures["peer"] / figures["weft"] if seconds else figures["weft"] / figures["peer"]
        verdict = "" if goal is None else f"(goal {goal:g}: {'met' if times >= goal else 'MISSED'})"
        ratio = f"{times:8.2f} times {verdict:18}"
    shown = (f"{who} {figure:9.3f} s" if seconds else f"{who} {figure:10,.0f}/s" for who, figure in figures.items())
    return f"{ratio:34}{row:38}{'   '.join(shown)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="an interpreter with warp-lang")
    parser.add_argument("--peer-path", help="its PYTHONPATH: a folder with MuJoCo Warp and without `warp`")
    parser.add_argument("--worlds", type=int, nargs="+", default=[1, 32, 256, 2048])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--graph", action="store_true", help="step by a captured graph")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", help="where to write the figures")
    parser.add_argument("--suite", nargs="*", metavar="FILE", help="time the engine's own tests as well, or some of their files")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, _, worlds = options.measure.partition(":")
        if what == "first":
            found = measure_first(options.device)
        elif what == "full":
            found = measure_full(options.device)
        elif what == "own":
            found = measure_own(options.device)
        elif what == "suite":
            found = measure_suite([name for name in worlds.split(":") if name])
        else:
            found = measure_steps(int(worlds), options.device, options.graph)
        print(json.dumps(found))
        return
    runners = {"weft": Runner(sys.executable, False, None, options.device, options.graph)}
    if options.peer:
        runners["peer"] = Runner(options.peer, True, options.peer_path, options.device, options.graph)
    load = os.getloadavg()[0]
    guard = others.Peers()
    best = collect(runners, options.worlds, options.rounds, guard)
    if options.suite is not None:
        best |= collect_suite(runners, options.suite, guard)
    print(f"humanoid on {options.device}, {os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    kind = options.device.partition(":")[0]
    for row, figures in best.items():
        goal = None
        if row in ("first step, cold", "first step, cold, from the imports"):
            goal = FIRST_GOAL[kind]
        elif row.endswith("worlds"):
            goal = steps_goal(kind, int(row.split()[0]), options.graph)
        print(show(row, figures, goal))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            figures = {"device": options.device, "graph": options.graph, "load": load, "figures": best}
            json.dump({**figures, "failed": guard.failed}, file, indent=1)


if __name__ == "__main__":
    main()
