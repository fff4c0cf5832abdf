"""Products of tiles as loops over k, for test_tile_products.py: runs them on cuda and prints how they compare with the CPU's bits,
or with NumPy's numbers where a GPU multiplies by units with an order of their own."""

import sys

import numpy as np

import warp as wp

# Rounding of the operands is exact in 16 bits; sums of float32 in any order.
TOLERANCE = {"f16": 2e-6, "bf16": 2e-6, "tf32": 2e-3}
DTYPES = {"f32": wp.float32, "f64": wp.float64, "f16": wp.float16, "bf16": wp.bfloat16, "tf32": wp.float32}


def gemm(kind: str, tm: int, tn: int, tk: int, variant: str):
    dtype = DTYPES[kind]
    out = wp.float64 if kind == "f64" else wp.float32
    precision = "tf32" if kind == "tf32" else "default"
    if variant == "transposed":

        @wp.kernel(module="unique", enable_backward=False)
        def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=out)):
            i, j = wp.tid()
            total = wp.tile_zeros(shape=(tm, tn), dtype=out)
            for k in range((a.shape[1] + tk - 1) // tk):
                x = wp.tile_load(a, shape=(tm, tk), offset=(i * tm, k * tk))
                y = wp.tile_load(b, shape=(tn, tk), offset=(j * tn, k * tk))
                wp.tile_matmul(x, wp.tile_transpose(y), total, precision=precision)
            wp.tile_store(c, total, offset=(i * tm, j * tn))

    elif variant == "left":

        @wp.kernel(module="unique", enable_backward=False)
        def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=out)):
            i, j = wp.tid()
            total = wp.tile_load(c, shape=(tm, tn), offset=(i * tm, j * tn))
            for k in range((a.shape[0] + tk - 1) // tk):
                x = wp.tile_load(a, shape=(tk, tm), offset=(k * tk, i * tm))
                y = wp.tile_load(b, shape=(tk, tn), offset=(k * tk, j * tn))
                wp.tile_matmul(wp.tile_transpose(x), y, total, alpha=-1.0, precision=precision)
            wp.tile_store(c, total, offset=(i * tm, j * tn))

    elif variant == "epilogue":

        @wp.kernel(module="unique", enable_backward=False)
        def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=out)):
            i, j = wp.tid()
            total = wp.tile_full(shape=(tm, tn), value=out(0.25), dtype=out)
            for k in range(1, (a.shape[1] + tk - 1) // tk):
                x = wp.tile_load(a, shape=(tm, tk), offset=(i * tm, (k - 1) * tk))
                y = wp.tile_load(b, shape=(tk, tn), offset=((k - 1) * tk, j * tn))
                wp.tile_matmul(x, y, total, precision=precision)
                wp.tile_matmul(x, y, total, alpha=-1.0, precision=precision)
                wp.tile_matmul(x, y, total, precision=precision)
            bias = wp.tile_load(c, shape=(tm, tn), offset=(i * tm, j * tn))
            made = wp.tile_map(wp.abs, total + bias * out(0.5))
            wp.tile_store(c, made * out(2.0), offset=(i * tm, j * tn))

    else:

        @wp.kernel(module="unique", enable_backward=False)
        def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=out)):
            i, j = wp.tid()
            total = wp.tile_zeros(shape=(tm, tn), dtype=out)
            for k in range(0, a.shape[1], tk):
                x = wp.tile_load(a, shape=(tm, tk), offset=(i * tm, k))
                y = wp.tile_load(b, shape=(tk, tn), offset=(k, j * tn))
                wp.tile_matmul(x, y, total, precision=precision)
            wp.tile_store(c, total, offset=(i * tm, j * tn))

    return k


def expected(kind: str, variant: str, x: np.ndarray, y: np.ndarray, z: np.ndarray, tk: int) -> np.ndarray:
    x, y, z = (v.astype(np.float64) for v in (x, y, z))
    if variant == "transposed":
        return x @ y.T
    if variant == "left":
        return z - x.T @ y
    if variant == "epilogue":
        whole = (x.shape[1] + tk - 1) // tk * tk - tk
        return 2 * np.abs(0.25 + x[:, :whole] @ y[:whole] + 0.5 * z)
    return x @ y


def rounded(x: np.ndarray, kind: str) -> np.ndarray:
    """As arrays of that kind have it."""
    if kind == "f16":
        return x.astype(np.float16)
    if kind == "bf16":
        bits = x.astype(np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32)
    return x.astype(np.float64 if kind == "f64" else np.float32)


def run(kind: str, tile: tuple[int, int, int], threads: int, size: tuple[int, int, int], variant: str = "", apart: int = 0) -> None:
    """`apart`: rows of the arrays are so many elements longer, and begin one element later if it is odd."""
    rng = np.random.default_rng(7)
    m, n, p = size
    shapes = {"transposed": ((m, p), (n, p)), "left": ((p, m), (p, n))}.get(variant, ((m, p), (p, n)))
    x, y = (rounded(rng.uniform(-1, 1, s), kind) for s in shapes)
    z = rounded(rng.uniform(-1, 1, (m, n)), "f64" if kind == "f64" else "f32")
    out = wp.float64 if kind == "f64" else wp.float32
    kernel = gemm(kind, *tile, variant)
    found = []
    for device in ("cuda", "cpu"):
        arrays = []
        for v in (x, y):
            room = np.zeros((v.shape[0], v.shape[1] + apart), v.dtype)
            first = apart % 2
            room[:, first : first + v.shape[1]] = v
            arrays.append(wp.array(room, dtype=DTYPES[kind], device=device)[:, first : first + v.shape[1]])
        c = wp.array(z, dtype=out, device=device)
        dim = ((m + tile[0] - 1) // tile[0], (n + tile[1] - 1) // tile[1])
        wp.launch_tiled(kernel, dim=dim, inputs=[*arrays, c], block_dim=threads, device=device)
        found.append(c.numpy())
        if kind in TOLERANCE:
            break
    label = f"{kind} {tile} {threads} {size} {variant} {apart}"
    if kind in TOLERANCE:
        want = expected(kind, variant, x, y, z, tile[2])
        error = np.abs(found[0] - want).max() / np.abs(want).max()
        assert error < TOLERANCE[kind], (label, error)
    else:
        assert found[0].tobytes() == found[1].tobytes(), (label, np.abs(found[0] - found[1]).max())
    print("right:", label, flush=True)


def gradients(kind: str, tile: tuple[int, int, int], threads: int, size: tuple[int, int, int]) -> None:
    """The adjoint of the loop: products of the same kind, or term by term."""
    label, kind, into = f"{kind} {tile} {threads} {size} gradients", kind.split()[0], kind.split()[-1]
    dtype, out, precision, (tm, tn, tk) = DTYPES[kind], DTYPES[into], "tf32" if kind == "tf32" else "default", tile

    @wp.kernel(module="unique")
    def k(a: wp.array2d(dtype=dtype), b: wp.array2d(dtype=dtype), c: wp.array2d(dtype=out)):
        i, j = wp.tid()
        total = wp.tile_zeros(shape=(tm, tn), dtype=out)
        for k in range(a.shape[1] // tk):
            x = wp.tile_load(a, shape=(tm, tk), offset=(i * tm, k * tk))
            y = wp.tile_load(b, shape=(tk, tn), offset=(k * tk, j * tn))
            wp.tile_matmul(x, y, total, precision=precision)
        wp.tile_store(c, total * out(2.0), offset=(i * tm, j * tn))

    rng = np.random.default_rng(9)
    m, n, p = size
    x, y, g = (rounded(rng.uniform(-1, 1, s), how) for s, how in (((m, p), kind), ((p, n), kind), ((m, n), into)))
    a, b, c = (
        wp.array(v, dtype=how, device="cuda", requires_grad=True) for v, how in ((x, dtype), (y, dtype), (np.zeros_like(g), out))
    )
    with wp.Tape() as tape:
        wp.launch_tiled(k, dim=(m // tm, n // tn), inputs=[a, b, c], block_dim=threads, device="cuda")
    tape.backward(grads={c: wp.array(g, dtype=out, device="cuda")})
    x, y, g = (v.astype(np.float64) for v in (x, y, g))
    tolerance = {"f64": 1e-12, "f32": 1e-5, "tf32": 4e-3, "f16": 4e-3, "bf16": 1e-2}[kind]
    for found, want in ((c, 2 * x @ y), (a.grad, 2 * g @ y.T), (b.grad, 2 * x.T @ g)):
        number = found.numpy()
        if number.dtype == np.uint16:  # bfloat16 has no type of NumPy's
            number = (number.astype(np.uint32) << 16).view(np.float32)
        error = np.abs(number - want).max() / np.abs(want).max()
        assert error < tolerance, (label, error)
    print("right:", label, flush=True)


CASES = {
    "gradients": [
        ("f32", (32, 32, 32), 64, (64, 32, 64)),
        ("f64", (16, 16, 16), 32, (32, 32, 32)),
        ("tf32", (32, 32, 16), 64, (32, 32, 32)),
        ("f16", (16, 16, 16), 32, (16, 16, 32)),
        ("f16 into f32", (32, 32, 16), 64, (32, 32, 32)),
        ("bf16 into f32", (16, 32, 32), 32, (32, 32, 64)),
    ],
    "f32": [
        ("f32", (64, 64, 16), 128, (128, 64, 48)),
        ("f32", (32, 32, 32), 64, (70, 41, 50)),
        ("f32", (32, 32, 8), 64, (64, 64, 24), "epilogue"),
        ("f32", (16, 16, 16), 32, (32, 32, 32), "transposed"),
        ("f32", (16, 16, 16), 64, (33, 16, 40), "left"),
        ("f32", (32, 32, 16), 64, (40, 40, 40), "", 1),
        ("f32", (32, 32, 16), 64, (40, 40, 40), "", 4),
        ("f32", (32, 32, 6), 128, (32, 32, 18), "transposed"),
        ("f64", (16, 16, 16), 32, (20, 32, 40), "epilogue"),
        ("f64", (32, 16, 4), 64, (32, 32, 12), "left"),
    ],
    "groups": [  # by four warps together, on the architecture that has it
        ("f16", (64, 64, 32), 128, (128, 64, 160)),
        ("f16", (64, 64, 64), 256, (70, 41, 100)),
        ("f16", (128, 128, 32), 256, (128, 128, 64)),
        ("f16", (128, 128, 16), 128, (128, 128, 48)),
        ("bf16", (64, 64, 32), 128, (64, 128, 64), "transposed"),
        ("f16", (64, 64, 64), 256, (64, 64, 64), "transposed"),
        ("f16", (128, 32, 32), 256, (128, 32, 64), "left"),
        ("bf16", (64, 64, 16), 128, (64, 64, 80), "left"),
        ("f16", (64, 32, 16), 128, (64, 64, 64), "epilogue"),
        ("f16", (64, 16, 32), 128, (64, 32, 64)),
        ("f16", (64, 96, 48), 128, (64, 96, 96)),
        ("f16", (64, 64, 128), 128, (64, 64, 256)),
        ("f16", (64, 64, 128), 128, (64, 64, 256), "transposed"),
        ("f16", (64, 64, 32), 128, (70, 70, 70), "", 1),
        ("f16", (64, 64, 32), 128, (70, 70, 72), "", 8),
    ],
    "halves": [
        ("f16", (64, 64, 32), 128, (128, 64, 96)),
        ("f16", (32, 32, 16), 64, (40, 72, 40)),
        ("bf16", (32, 32, 32), 64, (64, 32, 64), "transposed"),
        ("f16", (32, 32, 32), 64, (64, 32, 64), "left"),
        ("f16", (32, 24, 16), 32, (32, 24, 48), "epilogue"),
        ("bf16", (20, 20, 20), 32, (40, 20, 40)),
        ("f16", (32, 32, 16), 64, (40, 40, 40), "", 1),
        ("f16", (32, 32, 16), 33, (32, 32, 32)),
        ("tf32", (32, 32, 16), 64, (64, 40, 40)),
        ("tf32", (32, 32, 16), 64, (32, 32, 32), "transposed"),
        ("tf32", (32, 32, 8), 64, (32, 32, 24), "left"),
        ("tf32", (24, 20, 12), 32, (24, 40, 24), "epilogue"),
    ],
}

if __name__ == "__main__":
    wp.config.quiet = True
    for case in CASES[sys.argv[1]]:
        (gradients if sys.argv[1] == "gradients" else run)(*case)
    print("done")
