"""Arrays straight to mpi4py: point to point, collectives, and the example of a plate shared out to processes."""

from __future__ import annotations

import os

import pytest
import warp as wp

from process_support import EXAMPLES, mpirun


@pytest.mark.cpu_only("processes of their own")
def test_halo_exchange_over_four_ranks():
    out = mpirun(4, EXAMPLES / "halo_exchange.py", "--quick", "--check", "--device", "cpu")
    assert "4 process(es), 64 x 48 points" in out and "the parts agree with the whole" in out


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.cpu_only("processes of their own")
def test_halo_exchange_of_other_counts(processes):
    out = mpirun(processes, EXAMPLES / "halo_exchange.py", "--quick", "--check", "--device", "cpu")
    assert "the parts agree with the whole" in out


@pytest.mark.parametrize("staged", [True])
def test_halo_exchange_of_gpus(staged, gpu_environment):
    if not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    visible = gpu_environment.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(len(wp.get_cuda_devices())))))
    out = mpirun(
        2, EXAMPLES / "halo_exchange.py", "--quick", "--check", "--device", "cuda", "--staged", CUDA_VISIBLE_DEVICES=visible
    )
    assert "the parts agree with the whole" in out


PROGRAM = """
import numpy as np
import warp as wp
from mpi4py import MPI

wp.config.quiet = True
wp.set_device("cpu")
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

# Every kind of number, there and back in a ring.
for dtype in (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64, wp.float32, wp.float64):
    mine, got = wp.full(7, rank + 1, dtype=dtype), wp.zeros(7, dtype=dtype)
    comm.Sendrecv(mine, (rank + 1) % size, recvbuf=got, source=(rank - 1) % size)
    assert (got.numpy() == (rank - 1) % size + 1).all(), (dtype, got)

# Vectors, and views whose elements lie side by side.
points = wp.full(5, wp.vec3(float(rank)), dtype=wp.vec3)
comm.Allreduce(MPI.IN_PLACE, points)
assert (points.numpy() == sum(range(size))).all()
table = wp.zeros((size, 4))
table[rank].fill_(float(rank + 1))
comm.Allgather(MPI.IN_PLACE, table)
assert (table.numpy() == np.arange(1, size + 1)[:, None]).all()
comm.Bcast(table[0] if rank == 0 else table[1], root=0)
assert (table.numpy()[1] == (1 if rank else 2)).all()

# What does not lie side by side is refused by name, not sent wrongly.
try:
    comm.Send(table[:, 1], dest=(rank + 1) % size)
except (BufferError, ValueError) as problem:
    assert "contiguous" in str(problem) or "side by side" in str(problem), problem
else:
    raise AssertionError("sent strided memory")

# A gradient is an array as well: the sum over all ranks.
@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i] * x[i])

x = wp.full(3, float(rank + 1), requires_grad=True)
y = wp.zeros(1, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(square, dim=3, inputs=[x], outputs=[y])
tape.backward(y)
comm.Allreduce(MPI.IN_PLACE, x.grad)
assert (x.grad.numpy() == 2.0 * sum(range(1, size + 1))).all()
print(f"rank {rank} done", flush=True)
"""


@pytest.mark.cpu_only("processes of their own")
def test_arrays_as_messages(tmp_path):
    program = tmp_path / "messages.py"
    program.write_text(PROGRAM)
    out = mpirun(3, program)
    assert all(f"rank {rank} done" in out for rank in range(3)), out


def test_the_example_runs_alone(tmp_path):
    """Without MPI, too: `make examples` runs it so."""
    import subprocess
    import sys

    from process_support import ROOT

    done = subprocess.run(
        [sys.executable, EXAMPLES / "halo_exchange.py", "--quick", "--check", "--device", "cpu"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "1 process(es)" in done.stdout, done.stdout + done.stderr
