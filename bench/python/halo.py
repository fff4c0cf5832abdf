"""Weak scaling of a stencil over processes of MPI (examples/python/halo_exchange.py): the same rows for each process, more and
more processes. Prints points per second, and the share of the ideal.

    python bench/python/halo.py [--most 16] [--rows 512] [--threads 1] [--device cpu]
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = """
import os
import sys
from mpi4py import MPI
cores = sorted(os.sched_getaffinity(0))
mine = [cores[(MPI.COMM_WORLD.rank * {threads} + k) % len(cores)] for k in range({threads})]
os.sched_setaffinity(0, mine)  # launches take the cores that the process may use, with all lanes
sys.path.insert(0, {folder!r})
import numpy as np
import warp as wp
from halo_exchange import simulate
wp.config.quiet = True
wp.config.first_versions = False  # full ones are what is measured
comm = MPI.COMM_WORLD if MPI.COMM_WORLD.size > 1 else None
device = {device!r}
if device == "cuda":
    device = wp.get_cuda_devices()[MPI.COMM_WORLD.rank % wp.get_cuda_device_count()]
start = np.zeros(({rows} + 2, {columns}), dtype=np.float32)
start[5:9] = 1.0
best = min(simulate(start, {steps}, comm, device, {staged})[1] for _ in range(3))
slowest = MPI.COMM_WORLD.allreduce(best, op=MPI.MAX)
if MPI.COMM_WORLD.rank == 0:
    print("seconds", slowest)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=os.cpu_count() or 1, help="processes at most")
    parser.add_argument("--rows", type=int, default=512, help="of each process")
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1, help="cores of each process")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    options = vars(args) | {"folder": str(ROOT / "examples" / "python"), "staged": args.device == "cuda"}
    program = EXAMPLE.format(**options)
    base = ["mpirun", "--oversubscribe", "--bind-to", "none"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
    paths = filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"  # containers forbid it
    count, alone = 1, 0.0
    print("processes  ms a step  million points/s  of the ideal")
    while count <= args.most:
        command = [*base, "-np", str(count), sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        found = re.search(r"seconds (\S+)", done.stdout)
        if not found:
            sys.exit(done.stdout + done.stderr)
        step = float(found[1]) / (args.steps - 1)
        alone = alone or step
        rate = count * args.rows * args.columns / step / 1e6
        print(f"{count:9d}  {1e3 * step:9.3f}  {rate:16.0f}  {alone / step:11.0%}", flush=True)
        count *= 2


if __name__ == "__main__":
    main()
