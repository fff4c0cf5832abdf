"""What it costs to launch kernels on tensors of Paddle.

    python -m warp.examples.benchmarks.benchmark_interop_paddle [--device cpu] [--launches 100000]
"""

from __future__ import annotations

from typing import Any

import warp as wp
from warp.examples.benchmarks.interop_launches import run
from warp.paddle import device_to_paddle, from_paddle


def make(shape: tuple[int, ...], device: wp.Device) -> Any:
    """A tensor of ones."""
    import paddle

    return paddle.ones(list(shape), dtype="float32").to(device=device_to_paddle(device))


if __name__ == "__main__":
    run("paddle", make, from_paddle)
