"""The tests of tiles as PTX on machines without a GPU: the fake driver (tests/fake_cuda) runs what the compiler made for one, and
names threads that race for shared memory."""

from __future__ import annotations

import os

import pytest
from test_fake_driver import FAKE, HERE, run

pytestmark = pytest.mark.skipif(
    not os.path.exists(os.path.join(FAKE, "libcuda.so.1")), reason="the fake driver was not built (target fake_cuda)"
)

# What takes the machine or the compiler long, and is the same code with other numbers.
LONG = "float64 or vec2d or 1100 or (cholesky and (6 or 12)) or much_memory or (bits_of and upper)"


def run_tests(folder, block: int, chosen: str, *files: str, **environment: str) -> str:
    """What pytest prints for tests of this folder on the fake driver's device."""
    names = [f"{HERE}/{file}" for file in files]
    program = f"import pytest; raise SystemExit(pytest.main(['-q', '-p', 'no:cacheprovider', '-k', {chosen!r}, *{names}]))"
    environment = {"WEFT_FAKE_CUDA_RUNS": "1", "WEFT_TILE_BLOCK": str(block), **environment}
    return run(code=program, WARP_CACHE_PATH=str(folder), **environment)


@pytest.mark.parametrize("block", [32, 33])
def test_tiles_as_ptx(tmp_path, block):
    files = "test_tiles.py", "test_tile_indexing.py", "test_tile_blocks.py"
    out = run_tests(tmp_path, block, f"cuda and not ({LONG})", *files)
    assert " passed" in out and "failed" not in out


def test_spellings_of_launches_as_ptx(tmp_path):
    out = run_tests(tmp_path, 32, "cuda", "test_launch_tiled.py")
    assert " passed" in out and "failed" not in out


@pytest.mark.parametrize("block", [32, 64])
def test_gradients_of_tiles_as_ptx(tmp_path, block):
    chosen = "cuda and (windows or scans or branches or transforms or network)"
    out = run_tests(tmp_path, block, chosen, "test_tile_gradients.py", "test_tile_steps.py")
    assert " passed" in out and "failed" not in out


def test_sums_and_products_as_ptx(tmp_path):
    out = run_tests(tmp_path, 32, "cuda and (sums_of_warps or across)", "test_tile_own_elements.py")
    assert " passed" in out and "failed" not in out


def test_votes_of_native_functions_as_ptx(tmp_path):
    out = run_tests(tmp_path, 32, "cuda and (votes or bits)", "test_known_natives.py")
    assert " passed" in out and "failed" not in out


def test_reductions_of_bits_and_parameters_that_are_one_tile_as_ptx(tmp_path):
    files = "test_tile_reductions.py", "test_tile_blocks.py"
    out = run_tests(tmp_path, 32, "cuda and ((reductions_of_bits and int32) or one_tile)", *files)
    assert " passed" in out and "failed" not in out


def test_promises_of_alignment_as_ptx(tmp_path):
    out = run_tests(tmp_path, 32, "cuda and (aligned or alignment or limit)", "test_tile_errors.py")
    assert " passed" in out and "failed" not in out


RACE = """
import warp as wp

wp.config.quiet = True


@wp.kernel
def k(y: wp.array(dtype=int)):
    i, lane = wp.tid()
    t = wp.tile_zeros(shape=4, dtype=int)
    t[0] = lane
    wp.tile_store(y, t)


y = wp.zeros(4, dtype=int, device="cuda")
try:
    wp.launch_tiled(k, dim=1, inputs=[y], block_dim=32, device="cuda")
    wp.synchronize()
    print("nothing")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("watched", [True, False])
def test_races_are_named(tmp_path, watched):
    """Threads that write different numbers to one element: what is there then is nobody's promise."""
    program = tmp_path / "race.py"
    program.write_text(RACE)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    out = run(code=code, WEFT_FAKE_CUDA_RUNS="1", WEFT_FAKE_CUDA_RACES=str(int(watched)), WARP_CACHE_PATH=str(tmp_path))
    if not watched:
        assert out == "nothing\n"
        return
    assert "a race for byte" in out and "thread 0 by 'st.shared.u32" in out and "thread 1 by 'st.shared.u32" in out


def printed(folder, text: str, **environment: str) -> str:
    """What a program of its own file prints on the fake driver's device."""
    program = folder / "program.py"
    program.write_text("import numpy as np\nimport warp as wp\n\nwp.config.quiet = True\n" + text)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    return run(code=code, WEFT_FAKE_CUDA_RUNS="1", WARP_CACHE_PATH=str(folder), **environment)


SAVED = """
@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_load(x, shape=(1, 40), offset=(i, 0))
    own = float(0.0)
    for k in range(lane, 40, wp.block_dim()):
        own += 1.0
    y[i] = wp.tile_sum(t * t)[0] + wp.tile_sum(wp.tile(own))[0]


for device in ("cuda", "cpu"):
    x = wp.array(np.full((3, 40), 2.0), dtype=float, device=device)
    y = wp.zeros(3, dtype=float, device=device)
    with wp.ScopedCapture(device=device, apic=True) as capture:
        wp.launch_tiled(rows, dim=3, inputs=[x, y], block_dim=48, device=device)
    wp.capture_save(capture.graph, f"{folder}/{device}", outputs={"y": y})
    for other in ("cuda", "cpu"):
        try:
            loaded = wp.capture_load(f"{folder}/{device}", device=other)
            wp.capture_launch(loaded)
            result = wp.zeros(3, dtype=float, device=other)
            loaded.get_param("y", result)
            print(device, other, result.numpy().tolist())
        except Exception as error:
            print(device, other, error)
"""


def test_saved_graphs(tmp_path):
    """A graph of a GPU has its blocks; one of the CPU, whose blocks are one thread, runs everywhere."""
    lines = printed(tmp_path, f"folder = {str(tmp_path)!r}\n" + SAVED).splitlines()
    assert lines[0] == "cuda cuda [200.0, 200.0, 200.0]"
    assert lines[1].startswith("cuda cpu") and "blocks of 48 threads" in lines[1]
    assert lines[2:] == ["cpu cuda [200.0, 200.0, 200.0]", "cpu cpu [200.0, 200.0, 200.0]"]


TOO_MUCH = """
@wp.kernel
def k(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    a = wp.tile_load(x, shape=(128, 256), storage="shared")
    b = wp.tile_load(x, shape=(256, 128), storage="shared")
    small = wp.tile_zeros(shape=(4, 4), dtype=float)
    c = wp.tile_matmul(a, b)
    wp.tile_store(y, c + wp.tile_matmul(wp.tile_transpose(b), b) * wp.tile_sum(small)[0])


x, y = wp.zeros((256, 256), dtype=float, device="cuda"), wp.zeros((256, 256), dtype=float, device="cuda")
try:
    wp.launch_tiled(k, dim=1, inputs=[x, y], block_dim=64, device="cuda")
    print("nothing")
except RuntimeError as error:
    print(error)
"""


def test_more_shared_memory_than_there_is(tmp_path):
    out = printed(tmp_path, TOO_MUCH)
    assert "kernel 'k' takes" in out and "of shared memory for a block of 64 threads" in out, out
    assert "cuda:0 has 232448 bytes (227 KB)" in out and "use smaller tiles" in out
    assert "program.py:8:" in out and "program.py:9:" in out and "131072 bytes are made here, for 32768 elements of float32" in out


SCATTER = """
@wp.kernel
def k(y: wp.array(dtype=int), z: wp.array(dtype=wp.float16), n: wp.array(dtype=wp.int8)):
    i, lane = wp.tid()
    t = wp.tile_zeros(shape=4, dtype=int)
    wp.tile_scatter_masked(t, lane % 3, lane, lane % 2 == 0)
    wp.tile_scatter_masked(t, 3, lane + 100, True)
    wp.tile_store(y, t)
    h = wp.tile_zeros(shape=4, dtype=wp.float16)
    wp.tile_scatter_add(h, lane % 3, wp.float16(1.0), True)
    wp.tile_store(z, h)
    small = wp.tile_zeros(shape=8, dtype=wp.int8)
    wp.tile_scatter_add(small, lane % 8, wp.int8(1), True)
    wp.tile_store(n, small)


@wp.kernel
def parted(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    t = wp.tile_zeros(shape=4, dtype=float)
    own = x[lane]
    wp.tile_scatter_masked(t, lane % 4, own * own, True)
    wp.tile_store(y, t)
    if lane > 5:
        return
    wp.tile_scatter_masked(t, 0, own, lane == 3)


x = wp.array(np.arange(32.0), dtype=float, device="cuda", requires_grad=True)
y = wp.zeros(4, dtype=float, device="cuda", requires_grad=True)
with wp.Tape() as tape:
    wp.launch_tiled(parted, dim=1, inputs=[x, y], block_dim=32, device="cuda")
tape.backward(grads={y: wp.array([1.0, 1.0, 1.0, 10.0], dtype=float, device="cuda")})
assert y.numpy().tolist() == [28.0**2, 29.0**2, 30.0**2, 31.0**2]
assert x.grad.numpy().tolist() == [*[0.0] * 28, 56.0, 58.0, 60.0, 620.0], x.grad

for block in (32, 33, 96):
    y, z = wp.zeros(4, dtype=int, device="cuda"), wp.zeros(4, dtype=wp.float16, device="cuda")
    n = wp.zeros(8, dtype=wp.int8, device="cuda")
    wp.launch_tiled(k, dim=1, inputs=[y, z, n], block_dim=block, device="cuda")
    lanes = np.arange(block)
    even = lanes[lanes % 2 == 0]
    assert y.numpy().tolist() == [*(even[even % 3 == r].max() for r in range(3)), block + 99], (block, y)
    assert z.numpy().tolist() == [*((lanes % 3 == r).sum() for r in range(3)), 0.0], (block, z)
    assert n.numpy().tolist() == [(lanes % 8 == r).sum() for r in range(8)], (block, n)
print("done")
"""


def test_threads_that_scatter_to_one_index(tmp_path):
    """The highest thread's value stays, sums of small numbers are whole, and nobody races."""
    assert printed(tmp_path, SCATTER) == "done\n"
