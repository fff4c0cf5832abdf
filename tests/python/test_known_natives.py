"""Native snippets that mean an operation: they need no compiler, and hold no kernel to one lane. And the names of C, CUDA
and the language that other snippets use."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import warp as wp
from warp._src.kernels import custom_functions

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


def test_no_compiler_is_needed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_known_natives as t\n"
        "t.test_bits_and_barriers('cpu')\n"
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
