"""What kernels in programs of JAX cost, in microseconds: on small arrays, so that calls are what is measured.

    python -m warp.examples.benchmarks.benchmark_interop_jax
"""

from __future__ import annotations

import time
from typing import Any, Callable

import jax
import jax.numpy as jnp

import warp as wp

SIZE = 64
CHAIN = 100


@wp.kernel
def triple(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 3.0 * x[i]


def function(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.launch(triple, dim=x.shape, inputs=[x], outputs=[y])


def best(call: Callable[[], Any], number: int = 1000, repeats: int = 5) -> float:
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(number):
            call()
        found.append((time.perf_counter() - start) / number)
    return min(found) * 1e6


def main() -> None:
    kernel, called = wp.jax_kernel(triple), wp.jax_callable(function)
    x = jax.block_until_ready(jnp.arange(SIZE, dtype=jnp.float32))

    def chain(count: int) -> Callable[[], Any]:
        def run(x: Any) -> Any:
            for _ in range(count):
                (x,) = kernel(x)
            return x

        made = jax.jit(run)
        made(x)
        return lambda: jax.block_until_ready(made(x))

    gradient = jax.jit(jax.grad(lambda x: kernel(x)[0].sum()))
    jitted = jax.jit(lambda x: called(x)[0])
    one = best(chain(1))
    a = wp.from_jax(x)
    rows = {
        "jax_kernel, one call of a jitted function": one,
        "jax_kernel, each further call in it": (best(chain(CHAIN + 1), 100) - one) / CHAIN,
        "jax_kernel, eager": best(lambda: jax.block_until_ready(kernel(x))),
        "jit(grad) of it": best(lambda: jax.block_until_ready(gradient(x))),
        "jax_callable, one call of a jitted function": best(lambda: jax.block_until_ready(jitted(x))),
        "from_jax": best(lambda: wp.from_jax(x)),
        "to_jax": best(lambda: wp.to_jax(a)),
    }
    for name, value in rows.items():
        print(f"{name:46}{value:8.2f} µs")


if __name__ == "__main__":
    main()
