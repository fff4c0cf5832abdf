"""Tests of what stands around the benchmarks: full versions are measured, runs are compared with the run before."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "python"
COMPARE = BENCH / "against_before.py"

# Programs in which no kernel of the CPU is measured that could begin with a first version, and why.
NO_FIRST_VERSIONS = {
    "arrays.py": "no launches", "compare.py": "measure.py launches", "cub.py": "GPU", "fifty_kernels.py": "first launches are measured",
    "gpu.py": "GPU", "gpu_arrays.py": "GPU", "lane_kernels.py": "lanes.py launches", "launch_cost.py": "GPU", "nvcc_pairs.py": "GPU",
    "pair.py": "GPU", "pairs_grids.py": "GPU", "pairs_particles.py": "GPU", "pairs_values.py": "GPU", "springs.py": "others launch",
    "tile_first_launch.py": "GPU", "tile_kernels_gpu.py": "GPU", "tiles_gpu.py": "GPU",
}  # fmt: skip


class FirstVersions(unittest.TestCase):
    def test_figures_are_of_full_versions(self):
        for path in sorted(BENCH.glob("*.py")):
            text = path.read_text()
            if "import warp as wp" in text and path.name not in NO_FIRST_VERSIONS:
                said = "config.first_versions = False" in text or "finish_kernels()" in text
                self.assertTrue(said, f"{path.name}: set wp.config.first_versions = False, or wait by wp.finish_kernels()")


class Runs(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.now, self.before = (pathlib.Path(self.kept.name, name) for name in ("now", "before"))

    def write(self, folder, slower=1.0, build="dev"):
        (folder / "bench_results").mkdir(parents=True)
        benchmark = {"run_type": "iteration", "run_name": "launch/api_empty", "real_time": 80.0 * slower, "time_unit": "ns"}
        other = {**benchmark, "run_name": "saxpy/hand/threads:2"}
        for name, found in {
            "bench_peers.json": {"speeds": {"sum": {"Weft": 100.0 / slower, "Numba": 3.0}, "alone": {"Numba": 1.0}}, "failed": {}},
            "bench_lanes.json": {"noise": {"of best": 1.0, "lanes": 8, "chosen": 5.0 / slower, "1": 2.0}},
            "bench_arrays.json": {"here": {"wp.zeros(16)": 0.4 * slower}, "warp-lang": {"wp.zeros(16)": 4.0}},
            "bench_python.json": {"weft": {"launch": 1e-7 * slower, "options": 1e8, "version": "1.7.0"}, "peer": {}},
            "bench_scatter.json": {"large": {"1": 10.0, "2": 20.0 / slower}},
            "bench_beside.json": {"small": {"1": 5.0}, "in turn": {"both": 2.0 * slower, "matmul": 1.0}},
            "bench_mujoco.json": {"figures": {"first step, cold": {"weft": 2.0}, "32 worlds": {"weft": 100.0 / slower}}},
            "bench_gradients.json": {"weft": {"network": [3.0, 2.0 / slower]}},
            "bench_algorithms.json": {"weft": {"scan": 0.1 * slower}},
            "bench_marching_cubes.json": {"weft": {"sphere": 0.1 * slower, "sphere triangles": 7 * slower}},
            "bench_meshes.json": {"rates": {"weft": {"wall": {"rays": 9.0 / slower}}}, "first": {"weft": {"ray launch": 1.0 * slower}}},
            "bench_results/bench_launch.json": {"context": {}, "benchmarks": [benchmark, other]},
        }.items():
            (folder / name).write_text(json.dumps(found))
        self.run_tool("--note", folder, "--build", build)

    def run_tool(self, *arguments):
        command = [sys.executable, "-B", str(COMPARE), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_slower_figures_are_named(self):
        self.write(self.before)
        self.write(self.now, slower=1.5)
        shown = self.run_tool(self.now, self.before)
        slow = [line.split(": ", 1)[1] for line in shown.splitlines()[1:]]
        self.assertEqual(sorted(slow), sorted([
            "peers: sum", "lanes: noise, chosen lanes", "arrays: wp.zeros(16)", "python: launch", "scatter: large, 2 threads",
            "beside: in turn, both", "mujoco: 32 worlds", "gradients: network, backwards", "algorithms: scan",
            "marching_cubes: sphere", "meshes: rays", "meshes: ray launch", "C++: launch/api_empty",
        ]))  # fmt: skip
        self.assertTrue(shown.startswith("Against the run before: 13 of 19 figures"), shown)
        self.assertIn("0 of 19", self.run_tool(self.before, self.now))
        self.assertIn("0 of 19", self.run_tool(self.now, self.before, "--part", "0.6"))

    def test_other_runs_are_not_compared(self):
        self.write(self.now, slower=2.0)
        self.assertIn("no run before", self.run_tool(self.now, self.before))
        self.write(self.before, build="release")
        self.assertIn("another one: build 'release', now 'dev'", self.run_tool(self.now, self.before))

    def test_the_run_before_is_kept(self):
        """The script itself, with a program that measures nothing and no Python package."""
        build = pathlib.Path(self.kept.name, "build")
        (build / "bin").mkdir(parents=True)
        program = build / "bin" / "bench_launch"
        script = ROOT / "tools" / "testing" / "run_benchmarks.sh"
        for number, nanoseconds in enumerate((100, 150, 90)):
            found = {"run_type": "iteration", "run_name": "launch/api_empty", "real_time": nanoseconds, "time_unit": "ns"}
            program.write_text(f"#!/bin/sh\necho '{json.dumps({'context': {}, 'benchmarks': [found]})}' > \"${{1#*=}}\"\n")
            program.chmod(0o755)
            done = subprocess.run(["bash", str(script), str(build)], capture_output=True, text=True, timeout=120, env={
                "PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"})  # fmt: skip
            last = done.stdout.strip().splitlines()[-1]
            expected = ("no run before", "1.50 × as long: C++: launch/api_empty", "0 of 1 figures")[number]
            self.assertIn(expected, last, done.stdout + done.stderr)
        kept = json.loads((build / "bench_before" / "bench_results" / "bench_launch.json").read_text())
        self.assertEqual(kept["benchmarks"][0]["real_time"], 150)


if __name__ == "__main__":
    unittest.main()
