"""A kernel as an operator of PyTorch, trained through: a mass-spring rope finds the stiffness that was used to make its data.

    python -m warp.examples.interop.example_torch_op [--steps 60] [--compile]

`wp.torch.op` makes an operator of the kernel: PyTorch calls it, differentiates it, and compiles it into its own graphs.
"""

from __future__ import annotations

import argparse

import torch

import warp as wp

POINTS = 32


@wp.kernel
def spring_forces(
    positions: wp.array(dtype=wp.vec2),
    stiffness: wp.array(dtype=float),
    forces: wp.array(dtype=wp.vec2),
):
    i = wp.tid()
    force = wp.vec2(0.0, 0.0)
    if i > 0:
        d = positions[i - 1] - positions[i]
        force += stiffness[i - 1] * (wp.length(d) - 0.9) * wp.normalize(d)
    if i + 1 < positions.shape[0]:
        d = positions[i + 1] - positions[i]
        force += stiffness[i] * (wp.length(d) - 0.9) * wp.normalize(d)
    forces[i] = force


def main() -> float:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--compile", action="store_true", help="let torch.compile take the step")
    options = parser.parse_args()
    forces = wp.torch.op(spring_forces)
    device = wp.device_to_torch(wp.get_device())
    torch.manual_seed(1)
    positions = torch.stack([torch.arange(POINTS), 0.3 * torch.randn(POINTS)], dim=1).float().to(device)
    truth = 1.0 + torch.rand(POINTS - 1, device=device)
    wanted = forces(positions, truth)
    stiffness = torch.ones(POINTS - 1, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([stiffness], lr=0.05)

    def loss_of(current: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(forces(positions, current), wanted)

    step = torch.compile(loss_of, fullgraph=True) if options.compile else loss_of
    for number in range(options.steps):
        optimizer.zero_grad()
        loss = step(stiffness)
        loss.backward()
        optimizer.step()
        if number % 20 == 0:
            print(f"step {number:3d}  loss {loss.item():.6f}")
    error = (stiffness - truth).abs().max().item()
    print(f"largest error of a stiffness: {error:.4f}")
    return error


if __name__ == "__main__":
    main()
