"""CUDA's names in C++ of native functions: exchanges and votes of a warp, atomic operations, bits of numbers. GPUs only."""

import numpy as np
import pytest
import warp as wp
from warp._src.kernels import custom_functions
from warp._src.session import gpu_options

pytestmark = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")


@pytest.fixture(autouse=True)
def _gpu(_on_device):
    if not wp.get_device().is_cuda or not gpu_options.find_libdevice():
        pytest.skip("needs a GPU and libdevice")


@wp.func_native("""
#if defined(__CUDA_ARCH__)
const unsigned all = 0xffffffffu;
const int lane = threadIdx.x & 31;
out(lane, 0) = __shfl_sync(all, lane * 3, 5);
out(lane, 1) = __shfl_xor_sync(all, lane, 1);
out(lane, 2) = __shfl_down_sync(all, lane, 4);
out(lane, 3) = __shfl_up_sync(all, lane, 4, 8);
out(lane, 4) = int(__ballot_sync(all, lane % 3 == 0));
out(lane, 5) = __any_sync(all, lane == 40) + 2 * __all_sync(all, lane < 32);
out(lane, 6) = int(__activemask());
out(lane, 7) = int(__shfl_sync(all, double(lane) + 0.5, 9) * 2.0);
__syncwarp();
#endif
""")
def exchange(out: wp.array2d(dtype=int)): ...


@wp.kernel
def exchanges(out: wp.array2d(dtype=int)):
    exchange(out)


def test_threads_of_a_warp():
    out = wp.zeros((32, 8), dtype=int)
    wp.launch(exchanges, dim=32, inputs=[out], block_dim=32)
    lane, got = np.arange(32), out.numpy()
    assert np.array_equal(got[:, 0], np.full(32, 15))
    assert np.array_equal(got[:, 1], lane ^ 1)
    assert np.array_equal(got[:, 2], np.where(lane + 4 < 32, lane + 4, lane))
    assert np.array_equal(got[:, 3], np.where(lane % 8 >= 4, lane - 4, lane))
    votes = np.int64(sum(1 << int(k) for k in lane if k % 3 == 0)).astype(np.uint32).astype(np.int32)
    assert np.array_equal(got[:, 4], np.full(32, votes))
    assert np.array_equal(got[:, 5], np.full(32, 2))
    assert np.array_equal(got[:, 6], np.full(32, -1))
    assert np.array_equal(got[:, 7], np.full(32, 19))


@wp.func_native("""
#if defined(__CUDA_ARCH__)
atomicAdd(&sums[0], 2);
atomicMax(&sums[1], k);
atomicMin(&sums[2], -k);
atomicOr(&sums[3], 1 << (k % 8));
if (k == 3) atomicExch(&sums[4], 9);
atomicCAS(&sums[5], 0, 7);
if (k == 0) sums[6] = __float_as_int(1.5f) == 0x3fc00000 && __int_as_float(0x3fc00000) == 1.5f;
if (k == 0) sums[7] = __popc(255u) + __clz(1) + __ffs(8) + int(__frsqrt_rn(4.0f) * 4.0f);
#endif
""")
def count(sums: wp.array(dtype=int), k: int): ...


@wp.kernel
def counts(sums: wp.array(dtype=int)):
    count(sums, wp.tid())


def test_atomic_operations_and_bits():
    sums = wp.zeros(8, dtype=int)
    wp.launch(counts, dim=70, inputs=[sums])
    assert sums.numpy().tolist() == [140, 69, -69, 255, 9, 7, 1, 8 + 31 + 4 + 2]


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__shared__ wp::vec3 places[64];
__shared__ float total;
const int k = threadIdx.x;
if (k == 0) total = 0.0f;
places[k] = wp::vec3(float(k), 1.0f, 2.0f);
__syncthreads();
const wp::vec3* at = places;
atomicAdd(&total, at[63 - k][0]);
__syncthreads();
out[k] = at[63 - k][0] + 1000.0f * total;
#endif
""")
def share(out: wp.array(dtype=float)): ...


@wp.kernel
def shares(out: wp.array(dtype=float)):
    share(out)


def test_memory_of_a_block():
    out = wp.zeros(64, dtype=float)
    wp.launch(shares, dim=64, inputs=[out], block_dim=64)
    assert np.array_equal(out.numpy(), 63.0 - np.arange(64) + 1000.0 * 2016.0)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
const int k = threadIdx.x;
out[k] = __syncthreads_count(k % 5) + 100 * __syncthreads_or(k == 70) + 1000 * __syncthreads_and(k < 64);
#endif
""")
def block_votes(out: wp.array(dtype=int)): ...


@wp.kernel
def votes_of_a_block(out: wp.array(dtype=int)):
    block_votes(out)


def test_votes_of_a_block():
    out = wp.zeros(64, dtype=int)
    wp.launch(votes_of_a_block, dim=64, inputs=[out], block_dim=64)
    assert set(out.numpy().tolist()) == {1000 + sum(k % 5 != 0 for k in range(64))}
