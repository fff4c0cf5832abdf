"""Tiles of arrays whose rows begin at multiples of 16 bytes, and of others, in the fake driver's machine: test_tile_aligned.py."""

import glob
import os
import re

import numpy as np
import warp as wp

wp.config.quiet = True


def copies(dtype):
    @wp.kernel(module="unique", enable_backward=False)
    def move(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=float)):
        i, j = wp.tid()
        t = wp.tile_load(a, shape=(16, 16), offset=(i * 16 - 8, j * 16 - 16), storage="shared")  # else it is registers
        wp.tile_store(b, wp.tile_astype(t, dtype=float) * 2.0, offset=(i * 16, j * 16))

    return move


def made() -> set[str]:
    return set(glob.glob(os.environ["WARP_CACHE_PATH"] + "/*.obj"))


def ptx_of(file: str) -> str:
    with open(file, "rb") as opened:
        return opened.read().decode("latin1")


def expected(a: np.ndarray) -> np.ndarray:
    out = np.zeros((48, 64), dtype=np.float32)
    rows, columns = min(a.shape[0], 40), min(a.shape[1], 48)
    out[8 : 8 + rows, 16 : 16 + columns] = 2 * a[:rows, :columns].astype(np.float32)
    return out


def check(kernel, a: wp.array) -> list[str]:
    """Runs the kernel and gives the code that was made for it."""
    before = made()
    b = wp.full((48, 64), -1.0, dtype=float, device="cuda")
    wp.launch_tiled(kernel, dim=(3, 4), inputs=[a, b], block_dim=64, device="cuda")
    np.testing.assert_array_equal(b.numpy(), expected(a.numpy()))
    return [ptx_of(file) for file in made() - before]


for dtype, slow in ((wp.float32, r"cp\.async\.ca"), (wp.float16, r"ld\.global(\.nc)?\.u16")):
    kernel = copies(dtype)

    def filled(rows, columns):
        values = np.arange(1, rows * columns + 1).reshape(rows, columns) % 1000
        return wp.array(values, dtype=dtype, device="cuda")  # noqa: B023

    (code,) = check(kernel, filled(40, 48))
    assert re.search("cp.async.cg", code) and not re.search(slow, code), code
    assert check(kernel, filled(24, 32)) == []
    (code,) = check(kernel, filled(40, 45))  # rows are 180 or 90 bytes long
    assert re.search("cp.async.cg", code) and re.search(slow, code), code
    assert check(kernel, filled(37, 51)[:, 1:46]) == []  # so it is where the array begins in the middle of 16 bytes
    assert check(kernel, filled(40, 56)[:, 1:49]) == []
    assert check(kernel, filled(40, 56)[:, 8:]) == []  # aligned
    assert check(kernel, filled(40, 48)) == []
    print("right:", dtype.__name__)


@wp.kernel(module="unique", enable_backward=False)
def product(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = wp.tile_zeros(shape=(32, 32), dtype=float)
    for k in range(0, a.shape[1] // 16):
        x = wp.tile_load(a, shape=(32, 16), offset=(i * 32, k * 16))
        y = wp.tile_load(b, shape=(16, 32), offset=(k * 16, j * 32))
        wp.tile_matmul(x, y, total)
    wp.tile_store(c, total, offset=(i * 32, j * 32))


def multiply(n: int, begin: int) -> str:
    """Runs the kernel and gives the code that was made for it."""
    before = made()
    values = np.arange(48 * 48).reshape(48, 48) % 7 - 3
    a = wp.array(values, dtype=float, device="cuda")
    c = wp.zeros((48, 64), dtype=float, device="cuda")[:, begin : begin + n]
    wp.launch_tiled(product, dim=(2, 2), inputs=[a, a, c], block_dim=64, device="cuda")
    np.testing.assert_array_equal(c.numpy(), (values @ values)[:, :n].astype(np.float32))
    (file,) = made() - before
    return ptx_of(file)


# All rows of a thread's part are stored by whole vectors, not the first one alone.
code = multiply(48, 0)
assert len(re.findall(r"st\.global\.v4\.f32", code)) >= 2 and len(re.findall(r"st\.global\.f32", code)) <= 1, code
assert "st.global.v4" not in multiply(47, 1)
print("right: product")

# A recorded launch asks again when an array is replaced.
kernel = copies(wp.float32)
given = wp.array(np.arange(40 * 56).reshape(40, 56) % 1000, dtype=float, device="cuda")
b = wp.zeros((48, 64), dtype=float, device="cuda")
recorded = wp.launch_tiled(kernel, dim=(3, 4), inputs=[given[:, :48], b], block_dim=64, device="cuda", record_cmd=True)
for begin in (0, 1, 8, 3, 0):
    part = given[:, begin : begin + 48]
    recorded.set_param_at_index(0, part)
    recorded.launch()
    np.testing.assert_array_equal(b.numpy(), expected(part.numpy()))
print("right: recorded")
print("done")
