"""JAX over several processes: the documents' program under mpirun and without MPI, and eight host devices in one process."""

from __future__ import annotations

import pytest

from process_support import EXAMPLES, mpirun, needs, together

needs("jax")
pytestmark = pytest.mark.cpu_only("processes of their own")

# As the documents print it but for `initialize(…)`, which says more where there is no MPI to ask, and for `tiled=True`, which
# `process_allgather` wants as soon as there are several processes.
DOCUMENT = """
import warp as wp
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from jax.experimental.multihost_utils import process_allgather as allgather
from jax.experimental.shard_map import shard_map
from warp.jax_experimental import jax_kernel
import numpy as np

# Initialize JAX distributed environment
jax.distributed.initialize()
num_gpus = jax.device_count()

def print_on_process_0(*args, **kwargs):
    if jax.process_index() == 0:
        print(*args, **kwargs)

print_on_process_0(f"Running on {num_gpus} GPU(s)")

@wp.kernel
def multiply_by_two_kernel(
    a_in: wp.array(dtype=wp.float32),
    a_out: wp.array(dtype=wp.float32),
):
    index = wp.tid()
    a_out[index] = a_in[index] * 2.0

jax_warp_multiply = jax_kernel(multiply_by_two_kernel)

def warp_multiply(x):
    result = jax_warp_multiply(x)
    return result

    # a_in here is the full sharded array with shape (M,)
    # The output will also be a sharded array with shape (M,)
def warp_distributed_operator(a_in):
    def _sharded_operator(a_in):
        # Inside the sharded operator, a_in is a local shard on each device
        # If we have N devices and input size M, each shard has shape (M/N,)

        # warp_multiply applies the Warp kernel to the local shard
        result = warp_multiply(a_in)[0]

        # result has the same shape as the input shard (M/N,)
        return result

    # shard_map distributes the computation across devices
    return shard_map(
        _sharded_operator,
        mesh=jax.sharding.Mesh(np.array(jax.devices()), "x"),
        in_specs=(P("x"),),  # Input is sharded along the 'x' axis
        out_specs=P("x"),    # Output is also sharded along the 'x' axis
        check_rep=False,
    )(a_in)

print_on_process_0("Test distributed multiplication using JAX + Warp")

devices = jax.devices()
mesh = jax.sharding.Mesh(np.array(devices), "x")
sharding_spec = jax.sharding.NamedSharding(mesh, P("x"))

input_size = num_gpus * 5  # 5 elements per device
single_device_arrays = jnp.arange(input_size, dtype=jnp.float32)

# Define the shape of the input array based on the total input size
shape = (input_size,)

# Create a list of arrays by distributing the single_device_arrays across the available devices
# Each device will receive a portion of the input data
arrays = [
    jax.device_put(single_device_arrays[index], d)  # Place each element on the corresponding device
    for d, index in sharding_spec.addressable_devices_indices_map(shape).items()
]

# Combine the individual device arrays into a single sharded array
sharded_array = jax.make_array_from_single_device_arrays(shape, sharding_spec, arrays)

# sharded_array has shape (input_size,) but is distributed across devices
print_on_process_0(f"Input array: {allgather(sharded_array, tiled=True)}")

# warp_result has the same shape and sharding as sharded_array
warp_result = warp_distributed_operator(sharded_array)

# allgather collects results from all devices, resulting in a full array of shape (input_size,)
print_on_process_0("Warp Output:", allgather(warp_result, tiled=True))
"""


def check(out: str, devices: int) -> None:
    assert f"Running on {devices} GPU(s)" in out, out
    text = out[out.index("Warp Output:") :].replace("\n", " ")
    numbers = [float(one) for one in text[text.index("[") + 1 : text.index("]")].split()]
    assert numbers == [2.0 * i for i in range(5 * devices)], out


@pytest.fixture
def document(tmp_path):
    def write(arguments: str):
        path = tmp_path / "program.py"
        path.write_text(DOCUMENT.replace("initialize()", f"initialize({arguments})"))
        return path

    return write


@pytest.mark.parametrize("processes", [2, 4])
def test_the_documents_program_by_mpirun(document, processes):
    check(mpirun(processes, document(""), JAX_PLATFORMS="cpu"), processes)


def test_the_documents_program_without_mpi(document):
    how = "f\"127.0.0.1:{__import__('os').environ['MASTER_PORT']}\", 2, int(__import__('os').environ['RANK'])"
    outs = together(2, document(how), JAX_PLATFORMS="cpu")
    check(outs[0], 2)
    assert "Warp Output" not in outs[1]


def test_eight_devices_in_each_of_two_processes(document):
    how = "f\"127.0.0.1:{__import__('os').environ['MASTER_PORT']}\", 2, int(__import__('os').environ['RANK'])"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    check(together(2, document(how), **flags)[0], 16)


@pytest.mark.parametrize("count, devices", [(1, 8), (2, 1)])
def test_the_example(count, devices):
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "JAX_PLATFORMS": "cpu"}
    out = together(count, EXAMPLES / "sharded_jax.py", "--quick", **flags)[0]
    assert f"{count * devices} devices in {count} process(es)" in out and "agrees" in out
