"""Trials of builtins on tiles beside NumPy (tile_reference.py): maps, operators, reductions, scans, sorts, stacks, products, systems, transforms."""

import itertools
from collections.abc import Callable

import numpy as np
from tile_kinds import ALL, BY_NAME, FLOATS, NUMBERS, SUMS, VECTORS, WHOLE, WIDE_FLOATS, Kind
from tile_reference import SHAPES, Trial

import warp as wp

INT = BY_NAME["int32"]


# ---- element by element


def mapped(t: Trial) -> None:
    """Builtins, functions of one to eight arguments, numbers among them."""
    (a, x), (b, y) = t.random(), t.random()
    name, how = t.pick(("add", np.add), ("sub", np.subtract))
    t.expect(f"wp.tile_map(wp.{name}, {a}, {b})", how(x, y))
    t.functions = """@wp.func
def same(x: T):
    return x


@wp.func
def turned(x: T, y: T, n: int):
    return wp.where(n > 1, y - x, x)


@wp.func
def many(a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T):
    return a - b + c - d + e - f + g - h


"""
    t.expect(f"wp.tile_map(same, {a})", x)
    t.expect(f"wp.tile_map(turned, {a}, {b}, 2)", y - x)
    values = t.kind.numbers(t.rng, 1)
    t(f"v = {t.array(values)}[0]")
    t.expect(f"wp.tile_map(many, {a}, {b}, v, {a}, {b}, {b}, v, {a})", x - y + values[0] - x + y - y + values[0] - x)


def operators(t: Trial) -> None:
    (a, x), (b, y) = t.random(), t.random()
    t.expect(f"{a} + {b}", x + y)
    t.expect(f"{a} - {b}", x - y)
    if not t.kind.is_unsigned:
        t.expect(f"-{a}", -x)
    if t.kind.is_number:
        t.expect(f"{a} * {b}", x * y)
        t.expect(f"{a} * T(2)", x * t.kind.scalar(2))
        t.expect(f"T(2) * {a}", x * t.kind.scalar(2))
    if t.kind.is_float and t.kind.is_number:
        t.expect(f"{a} / T(2)", x / t.kind.scalar(2))
    if t.kind in WHOLE:
        t.expect(f"{a} & {b}", x & y)
        t.expect(f"{a} | {b}", x | y)
        t.expect(f"{a} ^ {b}", x ^ y)
    t(f"{a} += {b}", f"{a} -= {b} + {b}")
    t.expect(a, x - y)


def axpy(t: Trial) -> None:
    (a, x), (b, y) = t.random(), t.random()
    t(f"wp.tile_axpy(T(2), {a}, {b})")
    t.expect(b, y + t.kind.scalar(2) * x)
    t.expect(a, x)


# ---- reductions


def small(t: Trial) -> None:
    """Sums in the narrowest floats stay exact for few numbers."""
    if t.kind.name == "bfloat16" and np.prod(t.shape) > 200:
        t.shape = SHAPES[t.rank][0]


def total(t: Trial) -> None:
    small(t)
    a, x = t.random()
    t.expect(f"wp.tile_sum({a})", x.reshape(-1, t.kind.count).sum(0, dtype=t.kind.scalar)[None])
    axis = int(t.rng.integers(t.rank))
    want = x.sum(axis, dtype=t.kind.scalar) if t.rank > 1 else x.sum(0, dtype=t.kind.scalar)[None]
    t.expect(f"wp.tile_sum({a}, axis={axis - t.pick(0, t.rank)})", want)


def reduced(t: Trial) -> None:
    small(t)
    a, x = t.random()
    name, how = t.pick(("add", np.add), ("min", np.minimum), ("max", np.maximum)) if t.kind.is_number else ("add", np.add)
    t.functions = """@wp.func
def joined(x: T, y: T):
    return x + y


"""
    flat = x.reshape(-1, t.kind.count)
    axis = int(t.rng.integers(t.rank))
    with np.errstate(over="ignore"):
        t.expect(f"wp.tile_reduce(wp.{name}, {a})", how.reduce(flat, 0, dtype=t.kind.scalar)[None])
        t.expect(f"wp.tile_reduce(joined, {a})", np.add.reduce(flat, 0, dtype=t.kind.scalar)[None])
        if t.rank > 1:
            t.expect(f"wp.tile_reduce(wp.{name}, {a}, axis={axis})", how.reduce(x, axis, dtype=t.kind.scalar))


def with_gaps(t: Trial) -> tuple[str, np.ndarray]:
    """Numbers, in floats some that are none."""
    x = t.kind.numbers(t.rng, *t.shape)
    if t.kind.is_float and x.size > 3:
        x.reshape(-1)[t.rng.integers(0, x.size, 2)] = np.nan
    return t.tile(x), x


def extreme(t: Trial) -> None:
    a, x = with_gaps(t)
    t.expect(f"wp.tile_min({a})", np.nanmin(x).reshape(1, 1).astype(t.kind.scalar))
    t.expect(f"wp.tile_max({a})", np.nanmax(x).reshape(1, 1).astype(t.kind.scalar))


def place_of_extreme(t: Trial) -> None:
    a, x = with_gaps(t)
    t.expect(f"wp.tile_argmin({a})", np.array([[np.nanargmin(x)]], np.int32), INT)
    t.expect(f"wp.tile_argmax({a})", np.array([[np.nanargmax(x)]], np.int32), INT)


def dot(t: Trial) -> None:
    if t.kind.name in ("bfloat16", "float16"):
        t.shape = SHAPES[t.rank][0]
    (a, x), (b, y) = t.random(), t.random()
    scalar = t.kind if t.kind.is_number else BY_NAME[np.dtype(t.kind.scalar).name]
    t.expect(f"wp.tile_dot({a}, {b})", np.sum(x * y, dtype=t.kind.scalar).reshape(1, 1), scalar)


# ---- along the sequence of all elements


def scans(t: Trial) -> None:
    small(t)
    a, x = t.random()
    flat = x.reshape(-1)
    up = np.cumsum(flat, dtype=t.kind.scalar)
    t.expect(f"wp.tile_scan_inclusive({a})", up.reshape(x.shape))
    t.expect(f"wp.tile_scan_exclusive({a})", (up - flat).astype(t.kind.scalar).reshape(x.shape))
    t.expect(f"wp.tile_scan_max_inclusive({a})", np.maximum.accumulate(flat).reshape(x.shape))
    t.expect(f"wp.tile_scan_min_inclusive({a})", np.minimum.accumulate(flat).reshape(x.shape))


def sort(t: Trial) -> None:
    n = t.pick(1, 2, 7, 33, 100)
    keys = t.kind.numbers(t.rng, n)
    values = t.pick(*ALL)
    (a, x), (b, y) = (t.tile(keys), keys), t.random(n, kind=values)
    t(f"wp.tile_sort({a}, {b})")
    order = np.argsort(x[:, 0], kind="stable")
    t.expect(a, x[order])
    t.expect(b, y[order], values)


def stack(t: Trial) -> None:
    """What threads push lies in their order; the last comes back first."""
    room = t.pick(1, 7, 40, 300)
    values = t.kind.numbers(t.rng, 2, t.block)
    own = t.array(values)
    slots, back, wanted = np.full((2, t.block), -1, np.int32), t.kind.zeros(t.block), np.zeros((4, 1), np.int32)
    held: list[np.ndarray] = []
    for turn, lane in itertools.product(range(2), range(t.block)):
        if (lane + turn) % 3 and len(held) < room:
            slots[turn, lane] = len(held)
            held.append(values[turn, lane])
        if turn == 0 and lane == t.block - 1:
            wanted[0] = len(held)
    wanted[1] = len(held)
    gone = np.full(t.block, -1, np.int32)
    for lane in range(t.block):
        if held:
            gone[lane] = len(held) - 1
            back[lane] = held.pop()
    wanted[2] = len(held)
    into = t.array(np.zeros((2, t.block, 1), np.int32), INT, slots[..., None])
    out = t.array(t.kind.zeros(t.block), want=back)
    off = t.array(np.zeros((t.block, 1), np.int32), INT, gone[:, None])
    counts = t.array(np.zeros((4, 1), np.int32), INT, wanted)
    t(
        f"""
        s = wp.tile_stack(capacity={room}, dtype=T)
        for turn in range(2):
            slot = wp.tile_stack_push(s, {own}[turn, lane], (lane + turn) % 3 != 0)
            {into}[turn, lane] = slot
            count = wp.tile_stack_count(s)
            if lane == 0:
                {counts}[turn] = count
        v, place = wp.tile_stack_pop(s)
        {out}[lane] = v
        {off}[lane] = place
        count = wp.tile_stack_count(s)
        if lane == 0:
            {counts}[2] = count
        wp.tile_stack_clear(s)
        count = wp.tile_stack_count(s)
        if lane == 0:
            {counts}[3] = count
        """
    )


def random_numbers(t: Trial) -> None:
    """Each element's are those of a generator that its number begins."""
    seed = int(t.rng.integers(1, 1000))
    state = wp.rand_init(seed)
    count = int(np.prod(t.shape))
    each = [wp.rand_init(int(np.uint32(int(state)).view(np.int32)), e) for e in range(count)]
    t(f"r = wp.rand_init({seed})")
    whole = np.array([wp.randi(s, -5, 50) for s in each], np.int32).reshape(*t.shape, 1)
    reals = np.array([wp.randf(s) for s in each], np.float32).reshape(*t.shape, 1)
    between = np.array([wp.randf(s, 2.0, 3.0) for s in each], np.float32).reshape(*t.shape, 1)
    t.expect(f"wp.tile_randi({t.shape}, r, -5, 50{t.storage()})", whole, INT)
    t.expect(f"wp.tile_randf({t.shape}, r{t.storage()})", reals, BY_NAME["float32"])
    t.expect(f"wp.tile_randf(shape={t.shape}, rng=r, min=2.0, max=3.0)", between, BY_NAME["float32"])


# ---- matrices


def product(t: Trial) -> None:
    """Of small whole numbers, so in every type exact."""
    n, k, m = (t.pick(1, 3, 5, 8, 16, 17, 33) for _ in range(3))
    if t.kind.name == "bfloat16":
        k = min(k, 17)
    scale = 1 if t.kind.name in ("bfloat16", "float16") else 3
    x, y, z = (t.rng.integers(-scale, scale + 1, size=(*shape, 1)).astype(t.kind.scalar) for shape in ((n, k), (k, m), (n, m)))
    a, b, c = t.tile(x), t.tile(y.swapaxes(0, 1)), t.tile(z)
    b = f"wp.tile_transpose({b})"
    full = (x[..., 0].astype(np.float64) @ y[..., 0].astype(np.float64))[..., None]
    t.expect(f"wp.tile_matmul({a}, {b})", full.astype(t.kind.scalar))
    alpha = t.pick(-1.0, 2.0)
    t.expect(f"wp.tile_matmul({a}, {b}, alpha={alpha})", (alpha * full).astype(t.kind.scalar))
    beta = t.pick(1.0, 0.0, -1.0)
    t(f"wp.tile_matmul({a}, {b}, {c}, alpha={alpha}, beta={beta})")
    t.expect(c, (alpha * full + beta * z).astype(t.kind.scalar))


def mixed_product(t: Trial) -> None:
    """Operands and sums of three types."""
    n, k, m = (t.pick(3, 8, 16) for _ in range(3))
    others = t.pick(*FLOATS), t.pick(*FLOATS)
    x, y = (t.rng.integers(-1, 2, size=(*shape, 1)).astype(kind.scalar) for shape, kind in zip(((n, k), (k, m)), others))
    z = t.rng.integers(-1, 2, size=(n, m, 1)).astype(t.kind.scalar)
    a, b, c = t.tile(x, others[0]), t.tile(y, others[1]), t.tile(z)
    t(f"wp.tile_matmul({a}, {b}, {c})")
    t.expect(c, (x[..., 0].astype(np.float64) @ y[..., 0].astype(np.float64) + z[..., 0]).astype(t.kind.scalar)[..., None])


def system(t: Trial) -> tuple[int, np.ndarray, np.ndarray]:
    """A size, a matrix that is positive definite, right sides."""
    t.tolerance = 3e-4 if t.kind.scalar is np.float32 else 1e-12
    n = t.pick(1, 3, 5, 8, 13, 16, 17, 32, 33)
    r = t.rng.normal(size=(n, n))
    a = (r @ r.T / n + np.eye(n)).astype(t.kind.scalar)
    shape = (n,) if t.rank == 1 else (n, t.pick(1, 3, 8))
    return n, a, t.rng.normal(size=shape).astype(t.kind.scalar)


def factors(t: Trial) -> None:
    _, a, _ = system(t)
    mode = t.pick("lower", "upper")
    l = np.linalg.cholesky(a.astype(np.float64))
    want = (l if mode == "lower" else l.T).astype(t.kind.scalar)[..., None]
    m = t.tile((np.tril(a) if mode == "lower" else np.triu(a))[..., None])
    how = "" if mode == "lower" and t.pick(True, False) else f", fill_mode={mode!r}"
    t.expect(f"wp.tile_cholesky({m}{how})", want)
    t(f"wp.tile_cholesky_inplace({m}{how})")
    t.expect(m, want)


def solves_of_factors(t: Trial) -> None:
    _, a, y = system(t)
    mode = t.pick("lower", "upper")
    l = np.linalg.cholesky(a.astype(np.float64)).astype(t.kind.scalar)
    m = t.tile((l if mode == "lower" else l.T)[..., None])
    v = t.tile(y[..., None])
    want = np.linalg.solve((l.astype(np.float64) @ l.T.astype(np.float64)), y.astype(np.float64)).astype(t.kind.scalar)
    t.expect(f"wp.tile_cholesky_solve({m}, {v}, fill_mode={mode!r})", want[..., None])
    t(f"wp.tile_cholesky_solve_inplace({m}, {v}, fill_mode={mode!r})")
    t.expect(v, want[..., None])


def triangular(t: Trial, lower: bool) -> None:
    """What lies on the other side of the diagonal is not read."""
    n, a, y = system(t)
    a = 0.3 * t.rng.normal(size=(n, n)) / np.sqrt(n) + np.diag(t.rng.choice([-1.0, 1.0], n) * t.rng.uniform(1, 2, n))
    a = a.astype(t.kind.scalar)
    triangle = (np.tril if lower else np.triu)(a).astype(np.float64)
    m, v = t.tile(a[..., None]), t.tile(y[..., None])
    name = "lower" if lower else "upper"
    want = np.linalg.solve(triangle, y.astype(np.float64)).astype(t.kind.scalar)[..., None]
    t.expect(f"wp.tile_{name}_solve({m}, {v})", want)
    t(f"wp.tile_{name}_solve_inplace({m}, {v})")
    t.expect(v, want)
    t.expect(m, a[..., None])


def lower_solve(t: Trial) -> None:
    triangular(t, True)


def upper_solve(t: Trial) -> None:
    triangular(t, False)


def diag_add(t: Trial) -> None:
    n = t.pick(1, 3, 9, 33)
    (a, x), (d, y) = t.random(n, n), t.random(n)
    want = x.copy()
    want[range(n), range(n)] += y
    t.expect(f"wp.tile_diag_add({a}, {d})", want)
    t.expect(a, x)


def transforms(t: Trial) -> None:
    n = t.pick(1, 2, 3, 5, 7, 12, 15, 16, 30, 35, 64)
    real = np.float32 if t.kind.scalar is np.float32 else np.float64
    kind = BY_NAME["vec2f" if real is np.float32 else "vec2d"]
    shape = (*t.shape[:-1], n)[:3] if t.rank < 4 else (2, 1, 3, n)
    shape = (*shape[:-1], n)
    x = t.rng.normal(size=(*shape, 2)).astype(real)
    a = t.tile(x, kind)
    t(f"wp.tile_fft({a})")
    t.tolerance = 1e-4 if real is np.float32 else 1e-11
    z = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    t.expect(a, np.stack([z.real, z.imag], -1).astype(real), kind)
    t(f"wp.tile_ifft({a})")
    t.expect(a, (x * n).astype(real), kind)


KEYS = [BY_NAME[name] for name in ("int32", "uint32", "int64", "uint64", "float32", "float64")]
ONE = [BY_NAME["float32"]]
TRIALS: dict[str, tuple[Callable[[Trial], None], list[Kind]]] = {
    "tile_map": (mapped, SUMS),
    "operators": (operators, SUMS),
    "tile_axpy": (axpy, [kind for kind in FLOATS if kind.name != "bfloat16"]),
    "tile_sum": (total, SUMS),
    "tile_reduce": (reduced, SUMS),
    "tile_min": (extreme, NUMBERS),
    "tile_max": (extreme, NUMBERS),
    "tile_argmin": (place_of_extreme, NUMBERS),
    "tile_argmax": (place_of_extreme, NUMBERS),
    "tile_dot": (dot, [*NUMBERS, *VECTORS]),
    "tile_scan_inclusive": (scans, NUMBERS),
    "tile_scan_exclusive": (scans, NUMBERS),
    "tile_scan_max_inclusive": (scans, NUMBERS),
    "tile_scan_min_inclusive": (scans, NUMBERS),
    "tile_sort": (sort, KEYS),
    **{f"tile_stack{part}": (stack, ALL) for part in ("", "_push", "_pop", "_clear", "_count")},
    "tile_randi": (random_numbers, ONE),
    "tile_randf": (random_numbers, ONE),
    "tile_matmul": (product, FLOATS),
    "products of several types": (mixed_product, FLOATS),
    "tile_cholesky": (factors, WIDE_FLOATS),
    "tile_cholesky_inplace": (factors, WIDE_FLOATS),
    "tile_cholesky_solve": (solves_of_factors, WIDE_FLOATS),
    "tile_cholesky_solve_inplace": (solves_of_factors, WIDE_FLOATS),
    "tile_lower_solve": (lower_solve, WIDE_FLOATS),
    "tile_lower_solve_inplace": (lower_solve, WIDE_FLOATS),
    "tile_upper_solve": (upper_solve, WIDE_FLOATS),
    "tile_upper_solve_inplace": (upper_solve, WIDE_FLOATS),
    "tile_diag_add": (diag_add, NUMBERS),
    "tile_fft": (transforms, WIDE_FLOATS),
    "tile_ifft": (transforms, WIDE_FLOATS),
}
