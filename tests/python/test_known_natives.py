"""Native snippets that mean an operation (barriers, votes, numbers of threads): they need no compiler, and hold no kernel to one lane. And the names of C, CUDA
and the language that other snippets use."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import warp as wp
from warp import _weft
from warp._src.kernels import custom_functions
from warp._src.session import settings as session

needs_clang = pytest.mark.skipif(custom_functions.find_clang() is None, reason="no clang on this machine")
each_device = pytest.mark.parametrize("device", ["cpu", "cuda"], indirect=True)


@wp.func_native(snippet="WP_TILE_SYNC();")
def wait():
    pass


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __ffsll((long long)mask) - 1;
#else
    return __builtin_ctzll((unsigned long long)mask);
#endif
""")
def lowest(mask: wp.uint64) -> int: ...


@wp.func_native("return __builtin_popcountll(x);")
def ones(x: wp.uint64) -> int: ...


@wp.kernel
def bits(x: wp.array(dtype=wp.uint64), low: wp.array(dtype=int), count: wp.array(dtype=int)):
    i = wp.tid()
    wait()
    low[i] = lowest(x[i])
    count[i] = ones(x[i])


@each_device
def test_bits_and_barriers(device):
    x = np.array([1, 2, 12, 1 << 40, (1 << 63) | 1 << 62, 2**64 - 1] * 10, np.uint64)
    low, count = (wp.zeros(x.size, dtype=int, device=device) for _ in range(2))
    wp.launch(bits, dim=x.size, inputs=[wp.array(x, device=device), low, count], device=device)
    assert low.numpy().tolist() == [(int(v) & -int(v)).bit_length() - 1 for v in x]
    assert count.numpy().tolist() == [int(v).bit_count() for v in x]


@wp.func_native("return __ballot_sync(0xffffffff, c);")
def ballot(c: bool) -> wp.uint32: ...


@wp.func_native("return __any_sync(mask, c != 0);")
def any_of_warp(mask: wp.uint32, c: int) -> int: ...


@wp.func_native("return __all_sync(-1, !c);")
def none_of_warp(c: int) -> bool: ...


@wp.func_native("__syncwarp();")
def wait_for_warp(): ...


@wp.func_native("""
#ifdef __CUDA_ARCH__
    return __syncthreads_count(c);  // of the block
#else
    return c ? 1 : 0;
#endif
""")
def count(c: int) -> int: ...


@wp.func_native("return __syncthreads_or(c == 0);")
def any_is_zero(c: int) -> int: ...


@wp.func_native("return __syncthreads_and(c);")
def all_of_block(c: bool) -> int: ...


@wp.func_native("return (int)__activemask();")
def who_is_here() -> int: ...


@wp.func_native("return int(threadIdx.x);")
def thread() -> int: ...


@wp.func_native("return WP_TILE_THREAD_IDX;")
def tile_thread() -> int: ...


@wp.func_native("return blockDim.x;")
def threads() -> wp.uint32: ...


@wp.func_native("return WP_TILE_BLOCK_DIM;")
def tile_threads() -> int: ...


@wp.func_native("return threadIdx.x % 32;")
def lane_of_warp() -> int: ...


@wp.func_native("return threadIdx.x >> 5;")
def number_of_warp() -> int: ...


@wp.kernel
def votes(x: wp.array2d(dtype=int), passed: wp.array2d(dtype=int), out: wp.array3d(dtype=wp.int64)):
    i, lane = wp.tid()
    c = x[i, lane]
    out[i, lane, 0] = wp.int64(ballot(c > 2))
    out[i, lane, 1] = wp.int64(any_of_warp(wp.uint32(0xFFFFFFFF), c / 9))
    out[i, lane, 2] = wp.where(none_of_warp(c / 9), wp.int64(1), wp.int64(0))
    passed[i, lane] = c
    wait_for_warp()
    out[i, lane, 3] = wp.int64(passed[i, wp.min(lane ^ 1, wp.block_dim() - 1)])
    out[i, lane, 4] = wp.int64(count(c - 2))
    out[i, lane, 5] = wp.int64(any_is_zero(c))
    out[i, lane, 6] = wp.int64(all_of_block(c < 9))
    out[i, lane, 7] = wp.int64(who_is_here())
    out[i, lane, 8] = wp.int64(thread() + 1000 * tile_thread())
    out[i, lane, 9] = wp.int64(int(threads()) + 10000 * tile_threads())
    out[i, lane, 10] = wp.int64(lane_of_warp() + 100 * number_of_warp())
    wait_for_warp()  # whoever has returned is not here


def told(x: np.ndarray) -> np.ndarray:
    """What the kernel is to say, block by block; blocks have as many threads as x has columns."""
    blocks, size = x.shape
    out = np.zeros((blocks, size, 11), np.int64)
    for i, block in enumerate(x):
        for lane in range(size):
            warp = block[lane // 32 * 32 :][:32]
            out[i, lane] = [
                sum(1 << k for k, c in enumerate(warp) if c > 2),
                (warp // 9).any(),
                not (warp // 9).any(),
                block[min(lane ^ 1, size - 1)],
                (block != 2).sum(),
                (block == 0).any(),
                (block < 9).all(),
                np.int64((1 << len(warp)) - 1).astype(np.int32),
                lane * 1001,
                size * 10001,
                lane % 32 + 100 * (lane // 32),
            ]
    return out


def check_votes(where: str, block: int):
    device = "cuda" if where == "cuda" else "cpu"
    x = np.random.default_rng(block).integers(0, 10, size=(7, block)).astype(np.int32)
    x[0], x[1], x[2] = 9, 3, np.maximum(x[2], 1)
    got = wp.zeros((7, block, 11), dtype=wp.int64, device=device)
    passed = wp.zeros((7, block), dtype=int, device=device)
    lanes = wp.config.cpu_lanes
    try:
        wp.config.enable_cpu_blocks = block > 1
        if where == "interpreter":
            votes.native()
            options = session.compile_options({**votes.module.options, **votes.options})
            votes._use(_weft.Kernel(votes._function, options, True), session.epoch)
        elif where != "cuda":
            wp.config.cpu_lanes = int(where)
        inputs = [wp.array(x, dtype=int, device=device), passed, got]
        wp.launch_tiled(votes, dim=7, inputs=inputs, block_dim=block, device=device)
        wp.synchronize()
    finally:
        wp.config.cpu_lanes = lanes
        wp.config.enable_cpu_blocks = False
        session.bump()
    np.testing.assert_array_equal(got.numpy(), told(x))


@pytest.mark.cpu_only("where says who runs it")
@pytest.mark.parametrize("block", [1, 32, 33, 64])
@pytest.mark.parametrize("where", ["0", "1", "4", "interpreter"])
def test_votes_and_numbers_of_threads(where, block):
    check_votes(where, block)


@pytest.mark.parametrize("block", [1, 32, 33, 64])
@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_votes_of_gpu_threads(device, block):
    check_votes("cuda", block)


@each_device
def test_gradients_past_votes(device):
    @wp.kernel
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        wait_for_warp()
        many = count(int(x[i] != 0.0))
        y[i] = x[i] * x[i] * float(many) * float(any_of_warp(wp.uint32(0xFFFFFFFF), 1))

    n = 64
    block = 1 if device.is_cpu else 32
    x = wp.array(np.linspace(1.0, 2.0, n), dtype=float, device=device, requires_grad=True)
    y = wp.zeros(n, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(k, dim=n, inputs=[x, y], device=device, block_dim=32)
    tape.backward(grads={y: wp.ones_like(y)})
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * block * x.numpy(), rtol=1e-6)


def test_no_compiler_is_needed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_known_natives as t\n"
        "t.test_bits_and_barriers('cpu')\n"
        "t.check_votes('0', 1)\n"
        "t.check_votes('0', 33)\n"
    )
    environment = {**os.environ, "PATH": "", "WEFT_CLANG": "", "WARP_CACHE_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@wp.func_native("""
    uint32_t s = wp::rand_init(7, 3);
    float r = randf(s) + randf(s, 2.0f, 3.0f);
    r += *address(a, 1) + load(address(a, 2)) + index(a, 0);
    r += wp::quat_rotate(q, v)[0] + determinant(m) + trace(m) + mul(m, v)[1];
    r += sign(x) + step(x) + degrees(x) + radians(x) + mod(x, 0.2f) + float(mod(7, 4));
    r += add(x, x) * mul(x, x) - sub(x, 1.0f) / div(x, 2.0f) + lerp(1.0f, 2.0f, x) + lerp(v, v, x)[2];
    r += half_to_float(float_to_half(x)) + where(x > 0.1f, 1.0f, 2.0f);
    r += sqrtf(x) + powf(x, 3.0f) + sinf(x) + fabsf(-x) + floorf(1.5f) + atan2f(x, 1.0f) + float(M_PI) + FLT_EPSILON;
    assert(x < 1.0f);
    return isinf(INFINITY) && isnan(NAN) && FLT_MAX > 1e38f && INT_MAX == 2147483647 ? r : 0.0f;
""")
def many(a: wp.array(dtype=float), q: wp.quat, v: wp.vec3, m: wp.mat33, x: float) -> float: ...


@wp.func
def same(a: wp.array(dtype=float), q: wp.quat, v: wp.vec3, m: wp.mat33, x: float):
    s = wp.rand_init(7, 3)
    r = wp.randf(s) + wp.randf(s, 2.0, 3.0)
    r += a[1] + a[2] + a[0]
    r += wp.quat_rotate(q, v)[0] + wp.determinant(m) + wp.trace(m) + (m * v)[1]
    r += wp.sign(x) + wp.step(x) + wp.degrees(x) + wp.radians(x) + wp.mod(x, 0.2) + 3.0
    r += (x + x) * (x * x) - (x - 1.0) / (x / 2.0) + wp.lerp(1.0, 2.0, x) + v[2]
    r += float(wp.float16(x)) + 1.0
    r += wp.sqrt(x) + x * x * x + wp.sin(x) + x + 1.0 + wp.atan2(x, 1.0) + 3.14159265
    return r


@wp.kernel
def compare(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    q = wp.quat(0.1, 0.2, 0.3, wp.sqrt(1.0 - 0.14))
    v = wp.vec3(1.0, 2.0, 3.0)
    m = wp.mat33(2.0, 0.0, 1.0, 0.5, 3.0, 0.0, 1.0, 0.0, 4.0)
    out[0] = many(a, q, v, m, 0.3)
    out[1] = same(a, q, v, m, 0.3)


@needs_clang
@each_device
def test_names_of_the_language_and_of_c(device):
    a = wp.array([5.0, 6.0, 7.0], dtype=float, device=device)
    out = wp.zeros(2, dtype=float, device=device)
    wp.launch(compare, dim=1, inputs=[a, out], device=device)
    got, wanted = out.numpy()
    assert got != 0.0
    assert got == pytest.approx(wanted, rel=1e-6)
