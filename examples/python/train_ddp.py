"""PyTorch's DistributedDataParallel trains a layer whose middle is a kernel: each process has its own part of the data, and
PyTorch adds the gradients up.

    torchrun --nproc-per-node 2 examples/python/train_ddp.py [--quick]
    python examples/python/train_ddp.py --quick                                   one process alone

On CPUs the processes talk by gloo, on GPUs by NCCL, where each has a GPU of its own.
"""

import argparse
import os
import time

import warp as wp

try:
    import torch
except ImportError:
    torch = None


@wp.kernel
def bumps(x: wp.array(dtype=float), centers: wp.array(dtype=float), heights: wp.array(dtype=float), y: wp.array(dtype=float)):
    """A sum of bell curves at points x."""
    i = wp.tid()
    total = float(0.0)
    for k in range(centers.shape[0]):
        d = x[i] - centers[k]
        total += heights[k] * wp.exp(-4.0 * d * d)
    y[i] = total


def make_layer():
    """The kernel as a function of PyTorch, and a module with its two rows of parameters."""

    class Bumps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, centers, heights):
            y = torch.empty_like(x)
            wp.launch(bumps, dim=x.shape[0], inputs=[x, centers, heights], outputs=[y])
            ctx.save_for_backward(x, centers, heights, y)
            return y

        @staticmethod
        def backward(ctx, slope):
            x, centers, heights, y = ctx.saved_tensors
            found = [torch.zeros_like(one) for one in (centers, heights)]
            given = [wp.from_torch(one, requires_grad=False) for one in (x, centers, heights, y)]
            wp.launch(
                bumps,
                dim=x.shape[0],
                inputs=given[:3],
                outputs=given[3:],
                adj_inputs=[None, *(wp.from_torch(one) for one in found)],
                adj_outputs=[wp.from_torch(slope.contiguous().clone())],  # an adjoint may use it up
                adjoint=True,
            )
            return None, *found

    class Layer(torch.nn.Module):
        def __init__(self, count: int):
            super().__init__()
            self.centers = torch.nn.Parameter(torch.linspace(-2.0, 2.0, count))
            self.heights = torch.nn.Parameter(torch.zeros(count))

        def forward(self, x):
            return Bumps.apply(x, self.centers, self.heights)

    return Layer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few points, few steps")
    args = parser.parse_args()
    if torch is None:
        print("this example needs PyTorch: pip install torch")
        return
    wp.config.quiet = True
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    on_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", size))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if on_gpus else torch.device("cpu")
    points, steps, count = (256, 80, 8) if args.quick else (1_000_000, 200, 64)

    torch.manual_seed(3)
    everything = torch.rand(points, generator=torch.Generator().manual_seed(1)) * 4.0 - 2.0
    x = everything[rank::size].to(device)  # this process's part
    wanted = torch.sin(2.0 * x)
    model = make_layer()(count).to(device)
    if size > 1:
        torch.distributed.init_process_group("nccl" if on_gpus else "gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    began = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), wanted)
        loss.backward()  # DistributedDataParallel averages the gradients of all processes on the way
        optimizer.step()
    seconds = time.perf_counter() - began

    total = loss.detach().clone()
    kept = torch.cat([one.detach().ravel() for one in model.parameters()])
    if size > 1:
        torch.distributed.all_reduce(total)
        others = [torch.empty_like(kept) for _ in range(size)]
        torch.distributed.all_gather(others, kept)
        assert all(torch.equal(kept, one) for one in others), "the processes went apart"
    if rank == 0:
        print(f"{size} process(es) on {device.type}, {1e3 * seconds / steps:.2f} ms a step, loss {total.item() / size:.5f}")
    if size > 1:
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
        time.sleep(0.5)  # Gloo's threads give tensors back meanwhile; at Python's end they end the process instead


if __name__ == "__main__":
    main()
