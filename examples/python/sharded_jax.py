"""A curve learns to fit data that is shared out to all devices of JAX, of one process or of many.

The model's values come from a kernel, which `jax_kernel` makes a function of JAX: inside of `shard_map` it runs once on each
device, on that device's rows, and its gradient is the kernel's own adjoint. JAX adds the gradients up over all devices.

    python examples/python/sharded_jax.py [--quick]                                          one process, all its devices
    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/python/sharded_jax.py  eight host devices
    mpirun -np 4 python examples/python/sharded_jax.py                                       four processes, found by JAX
    RANK=0 WORLD_SIZE=2 MASTER_ADDR=host MASTER_PORT=5000 python …                            by hand, once for each RANK
"""

import argparse
import os
import time

import numpy as np
import warp as wp


@wp.kernel
def curve(x: wp.array(dtype=float), weights: wp.array(dtype=float), y: wp.array(dtype=float)):
    """A sum of waves, one for each weight."""
    i = wp.tid()
    total = float(0.0)
    for k in range(weights.shape[0]):
        total += weights[k] * wp.sin(float(k + 1) * x[i])
    y[i] = total


def start_processes(jax) -> None:
    """Finds the other processes, if there are any: by torchrun's variables, or by what mpirun sets."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        jax.distributed.initialize(where, int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    elif int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")) > 1:
        jax.distributed.initialize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few points, few steps")
    args = parser.parse_args()
    try:
        import jax
    except ImportError:
        print("this example needs JAX: pip install jax")
        return
    start_processes(jax)  # before JAX does anything else
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    try:
        from jax import shard_map
    except ImportError:  # before JAX 0.8
        from jax.experimental.shard_map import shard_map

    wp.config.quiet = True
    devices = jax.devices()
    mesh = Mesh(np.array(devices), "rows")
    each, steps, waves = (64, 60, 4) if args.quick else (100_000, 200, 16)
    points = each * len(devices)
    values = wp.jax_kernel(curve)

    def error(weights, x, wanted):
        """Of the rows of one device; the sum over all of them."""
        got = values(x, weights, launch_dims=x.shape[0], output_dims=x.shape[0])[0]
        return jax.lax.psum(jnp.sum((got - wanted) ** 2), "rows")

    everywhere = shard_map(error, mesh=mesh, in_specs=(P(), P("rows"), P("rows")), out_specs=P())

    @jax.jit
    def step(weights, x, wanted):
        loss, slope = jax.value_and_grad(everywhere)(weights, x, wanted)
        return weights - slope / points, loss / points

    x = np.linspace(0.0, 2.0 * np.pi, points, endpoint=False, dtype=np.float32)
    truth = np.array([1.0 / (k + 1) for k in range(waves)], dtype=np.float32)
    wanted = sum(truth[k] * np.sin((k + 1) * x) for k in range(waves)).astype(np.float32)
    rows = NamedSharding(mesh, P("rows"))
    # Every process has all of the data here and hands out its own devices' part.
    shared = [jax.make_array_from_callback(one.shape, rows, lambda part, one=one: one[part]) for one in (x, wanted)]
    weights = jax.device_put(jnp.zeros(waves, dtype=jnp.float32), NamedSharding(mesh, P()))

    weights, loss = step(weights, *shared)  # compiles
    jax.block_until_ready(weights)
    began = time.perf_counter()
    for _ in range(steps):
        # One step at a time: XLA's threads for host devices stand still where steps overlap and cores are few.
        weights, loss = jax.block_until_ready(step(weights, *shared))
    found, loss = np.asarray(weights.addressable_data(0)), float(np.asarray(loss.addressable_data(0)))
    seconds = time.perf_counter() - began
    if jax.process_index() == 0:
        far = float(np.abs(found - truth).max())
        where = f"{len(devices)} devices in {jax.process_count()} process(es)"
        print(f"{where}, {1e3 * seconds / steps:.2f} ms a step, loss {loss:.1e}")
        print("the curve agrees with the data" if far < 1e-3 else f"weights are off by {far}")


if __name__ == "__main__":
    main()
