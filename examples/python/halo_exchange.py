"""Heat in a plate that is shared out to processes: each has some rows and swaps its outermost ones with its neighbours.

Arrays go to mpi4py as they are: on CPUs by the buffer protocol, on GPUs by the CUDA array interface, if the MPI library knows
about CUDA. While the rows travel, the rows that do not need them are computed.

    mpirun -np 4 python examples/python/halo_exchange.py [--quick] [--device cuda] [--staged] [--check]

Alone, or without mpi4py, it runs as one process. `--staged` goes through page-locked memory of the host, for an MPI library
that does not know GPUs; `--check` compares with the whole plate, computed by the first process.
"""

import argparse
import time

import numpy as np
import warp as wp

try:
    from mpi4py import MPI
except ImportError:
    MPI = None


@wp.kernel
def spread(now: wp.array2d(dtype=float), after: wp.array2d(dtype=float), first: int, rate: float):
    """One explicit step of the heat equation, from row `first` on. Outermost rows and columns keep their heat."""
    j, x = wp.tid()
    y = first + j
    if x > 0 and x < now.shape[1] - 1:
        flow = now[y, x - 1] + now[y, x + 1] + now[y - 1, x] + now[y + 1, x] - 4.0 * now[y, x]
        after[y, x] = now[y, x] + rate * flow
    else:
        after[y, x] = now[y, x]


class Swap:
    """The outermost rows of one array and those of its neighbours, ready to be sent and received again and again."""

    def __init__(self, plate: wp.array, comm, staged: bool):
        self.device, self.comm, self.ways = plate.device, comm, []
        rank, size = (comm.rank, comm.size) if comm else (0, 1)
        last = plate.shape[0] - 1
        for other, mine, theirs in ((rank - 1, plate[1], plate[0]), (rank + 1, plate[last - 1], plate[last])):
            if 0 <= other < size:
                host = [wp.zeros(mine.shape, device="cpu", pinned=True) for _ in range(2)] if staged else [mine, theirs]
                self.ways.append((other, mine, theirs, *host))
        self.staged = staged

    def begin(self) -> None:
        """Sends and asks for rows; returns at once."""
        if self.ways and self.device.is_cuda:
            for _, mine, _, out, _ in self.ways if self.staged else ():
                wp.copy(out, mine)
            wp.synchronize_stream(self.device)  # MPI knows nothing of streams: what it sends has to be there
        self.requests = [self.comm.Irecv(into, other) for other, _, _, _, into in self.ways]
        self.requests += [self.comm.Isend(out, other) for other, _, _, out, _ in self.ways]

    def end(self) -> None:
        """Waits until the neighbours' rows are there."""
        if self.ways:
            MPI.Request.Waitall(self.requests)
        for _, _, theirs, _, into in self.ways if self.staged else ():
            wp.copy(theirs, into)


def simulate(start: np.ndarray, steps: int, comm, device, staged: bool = False) -> tuple[wp.array, float]:
    """The plate's rows of this process, with one row of the neighbours (or of the edge) at either end, and the seconds
    that the steps took."""
    plates = [wp.array(start, dtype=float, device=device) for _ in range(2)]
    swaps = [Swap(plate, comm, staged and plates[0].device.is_cuda) for plate in plates]
    rows, columns = start.shape[0] - 2, start.shape[1]

    def step(number: int) -> None:
        now, after, swap = plates[number % 2], plates[1 - number % 2], swaps[number % 2]
        swap.begin()
        if rows > 2:
            wp.launch(spread, dim=(rows - 2, columns), inputs=[now, after, 2, 0.2])  # needs no neighbour
        swap.end()
        for first in {1, rows}:
            wp.launch(spread, dim=(1, columns), inputs=[now, after, first, 0.2])

    step(0)  # compiles
    wp.synchronize_device(device)
    if comm:
        comm.Barrier()
    began = time.perf_counter()
    for number in range(1, steps):
        step(number)
    wp.synchronize_device(device)
    return plates[steps % 2], time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small plate")
    parser.add_argument("--check", action="store_true", help="compare with one process that has all of it")
    parser.add_argument("--device", help="where to compute; GPUs are dealt out to the processes")
    parser.add_argument("--staged", action="store_true", help="send through memory of the host")
    args = parser.parse_args()
    wp.config.quiet = True
    comm = MPI.COMM_WORLD if MPI and MPI.COMM_WORLD.size > 1 else None
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    device = wp.get_device(args.device)
    if args.device == "cuda":
        device = wp.get_cuda_devices()[rank % wp.get_cuda_device_count()]
    rows, columns, steps = (16 * size, 48, 40) if args.quick else (1024 * size, 4096, 200)

    # Every process makes the whole start and takes its part: rows first … last - 1, and one more at either end.
    whole = np.zeros((rows + 2, columns), dtype=np.float32)
    whole[0] = 1.0
    whole[rows // 3 : rows // 2, columns // 3 : columns // 2] = 2.0
    first, last = (rows * part // size for part in (rank, rank + 1))
    plate, seconds = simulate(whole[first : last + 2], steps, comm, device, args.staged)

    heat = np.array([plate.numpy()[1:-1].sum(dtype=np.float64)])
    if comm:
        comm.Allreduce(MPI.IN_PLACE, heat)
    if rank == 0:
        rate = rows * columns * (steps - 1) / seconds
        print(f"{size} process(es), {rows} x {columns} points, {rate / 1e6:.0f} million points a second, heat {heat[0]:.3f}")
    if args.check:
        mine = np.ascontiguousarray(plate.numpy()[1:-1])
        parts = comm.gather(mine, root=0) if comm else [mine]
        if rank == 0:
            alone, _ = simulate(whole, steps, None, device)
            assert np.array_equal(np.concatenate(parts), alone.numpy()[1:-1]), "the parts do not agree with the whole"
            print("the parts agree with the whole")


if __name__ == "__main__":
    main()
