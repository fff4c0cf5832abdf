"""Each builtin on tiles beside NumPy, for ranks 1 to 4 with odd extents, all types of elements that it takes, both storages, and blocks of many
sizes: trials for test_tile_reference.py.

A trial makes a kernel's text and what has to come. `TRIALS` has its function and the types for each builtin; tile_reference_algebra.py has those of
rows, sums and matrices.
"""

import importlib.util
import itertools
import pathlib
import textwrap
import zlib
from collections.abc import Callable

import numpy as np
from tile_executors import Executor, blocks_of
from tile_kinds import ALL, BY_NAME, NUMBERS, SUMS, VECTORS, WHOLE, Kind

import warp as wp

HEAD = """import warp as wp
from tile_kinds import BY_NAME, Packed, Pair

T = BY_NAME[{name!r}].dtype


{functions}
@wp.kernel(enable_backward=False)
def program({parameters}):
    _block, lane = wp.tid()
"""
SHAPES = {
    1: [(1,), (5,), (7,), (33,), (45,), (129,)],
    2: [(3, 5), (7, 33), (1, 9), (5, 1), (11, 11)],
    3: [(3, 5, 7), (1, 3, 1), (5, 1, 9)],
    4: [(3, 1, 5, 7), (2, 3, 5, 3), (1, 1, 1, 1)],
}


class Trial:
    """A kernel that is being written, and what its arrays are to hold behind it."""

    def __init__(self, kind: Kind, rank: int, block: int, rng: np.random.Generator):
        self.kind, self.rank, self.block, self.rng = kind, rank, block, rng
        self.lines: list[str] = []
        self.functions = ""
        self.arrays: list[tuple[str, Kind, np.ndarray, np.ndarray | None]] = []
        self.tolerance = 0.0
        self.names = 0
        shapes = SHAPES[rank]
        self.shape: tuple[int, ...] = shapes[int(rng.integers(len(shapes)))]

    def pick(self, *things):
        return things[int(self.rng.integers(len(things)))]

    def storage(self) -> str:
        return self.pick("", ", storage='register'", ", storage='shared'")

    def __call__(self, *lines: str) -> None:
        for line in lines:
            self.lines += textwrap.dedent(line).strip("\n").split("\n") if line.startswith("\n") else [line]

    def array(self, values: np.ndarray, kind: Kind | None = None, want: np.ndarray | None = None) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays.append((name, kind or self.kind, values.copy(), None if want is None else np.array(want)))
        return name

    def tile(self, values: np.ndarray, kind: Kind | None = None) -> str:
        """The name of a tile of these elements."""
        name = f"t{self.names}"
        self.names += 1
        source = self.array(values, kind)
        self(f"{name} = wp.tile_load({source}, shape={values.shape[:-1]}{self.storage()})")
        return name

    def random(self, *shape: int, kind: Kind | None = None) -> tuple[str, np.ndarray]:
        values = (kind or self.kind).numbers(self.rng, *(shape or self.shape))
        return self.tile(values, kind), values

    def expect(self, text: str, want: np.ndarray, kind: Kind | None = None) -> None:
        """That a tile is this."""
        kind = kind or self.kind
        target = self.array(kind.zeros(*want.shape[:-1]), kind, want)
        self(f"wp.tile_store({target}, {text})")

    def text(self) -> str:
        parameters = [
            f"{name}: wp.array{'' if values.ndim == 2 else f'{values.ndim - 1}d'}(dtype=BY_NAME[{kind.name!r}].dtype)"
            for name, kind, values, _ in self.arrays
        ]
        head = HEAD.format(name=self.kind.name, functions=self.functions, parameters=", ".join(parameters))
        return head + textwrap.indent("\n".join(self.lines), "    ") + "\n"


# ---- makers


def zeros(t: Trial) -> None:
    t.expect(f"wp.tile_zeros(shape={t.shape}, dtype=T{t.storage()})", t.kind.zeros(*t.shape))


def empty(t: Trial) -> None:
    """Zeros here."""
    t.expect(f"wp.tile_empty({t.shape}, dtype=T{t.storage()})", t.kind.zeros(*t.shape))


def ones(t: Trial) -> None:
    t.expect(f"wp.tile_ones({t.shape}, T{t.storage()})", np.broadcast_to(t.kind.one, (*t.shape, t.kind.count)))


def full(t: Trial) -> None:
    values = t.kind.numbers(t.rng, 3)
    t(f"v = {t.array(values)}[1]")
    dtype = t.pick("", ", dtype=T")
    t.expect(f"wp.tile_full({t.shape}, v{dtype}{t.storage()})", np.broadcast_to(values[1], (*t.shape, t.kind.count)))


def from_thread(t: Trial) -> None:
    values = t.kind.numbers(t.rng, t.block)
    thread = int(t.rng.integers(-2, t.block + 3))
    t(f"v = {t.array(values)}[lane]")
    want = np.broadcast_to(values[min(max(thread, 0), t.block - 1)], (*t.shape, t.kind.count))
    t.expect(f"wp.tile_from_thread({t.shape}, v, {thread}{t.storage()})", want)


def arange(t: Trial) -> None:
    start, step, count = int(t.rng.integers(0, 9)), t.pick(1, 2, 3), t.pick(1, 5, 33)
    if not t.kind.is_unsigned and t.rng.integers(2):
        step = -step
    stop = start + step * (count - 1) + (1 if step > 0 else -1)
    if t.kind.is_unsigned and stop < 0:
        return
    want = (start + step * np.arange(count)).astype(t.kind.scalar)[:, None]
    t.expect(f"wp.tile_arange({start}, {stop}, {step}, dtype=T{t.storage()})", want)
    t.expect("wp.tile_arange(7, dtype=T)", np.arange(7).astype(t.kind.scalar)[:, None])


def threads(t: Trial) -> None:
    """Values of threads as tiles, and back."""
    values = t.kind.numbers(t.rng, t.block)
    t(f"v = {t.array(values)}[lane]")
    whole = t.array(t.kind.zeros(t.block), want=values)
    if t.kind.name.startswith(("vec", "mat")):
        scalar = BY_NAME[np.dtype(t.kind.scalar).name]
        turned = np.moveaxis(values.reshape(t.block, *t.kind.inner), 0, -1)[..., None]
        t.expect("wp.tile(v)", turned, scalar)
        t(f"{whole}[lane] = wp.untile(wp.tile(v))")
    else:
        t(f"{whole}[lane] = wp.untile(wp.tile(v, preserve_type={not t.kind.is_number}))")
    t.expect("wp.tile(v, preserve_type=True)", values)


# ---- arrays


def window_of(t: Trial, array: np.ndarray, shape: tuple[int, ...], offset: tuple[int, ...]) -> np.ndarray:
    """What a tile sees of an array: zeros outside."""
    out = np.zeros((*shape, array.shape[-1]), array.dtype)
    for at in itertools.product(*(range(n) for n in shape)):
        place = tuple(o + a for o, a in zip(offset, at))
        if all(0 <= p < n for p, n in zip(place, array.shape)):
            out[at] = array[place]
    return out


def into(array: np.ndarray, tile: np.ndarray, offset: tuple[int, ...], how: Callable) -> np.ndarray:
    out = array.copy()
    for at in itertools.product(*(range(n) for n in tile.shape[:-1])):
        place = tuple(o + a for o, a in zip(offset, at))
        if all(0 <= p < n for p, n in zip(place, array.shape)):
            out[place] = how(out[place], tile[at])
    return out


def offsets(t: Trial, slack: int = 2) -> tuple[int, ...]:
    return tuple(int(t.rng.integers(-slack, slack + 2)) for _ in t.shape)


def load(t: Trial) -> None:
    values = t.kind.numbers(t.rng, *(n + 1 for n in t.shape))
    at = offsets(t)
    t.expect(f"wp.tile_load({t.array(values)}, {t.shape}, {at}{t.storage()})", window_of(t, values, t.shape, at))
    inside = tuple(int(t.rng.integers(2)) for _ in t.shape)
    t.expect(
        f"wp.tile_load({t.array(values)}, shape={t.shape}, offset={inside}, bounds_check=False)",
        window_of(t, values, t.shape, inside),
    )


def store(t: Trial) -> None:
    name, values = t.random()
    before = t.kind.numbers(t.rng, *(n + 1 for n in t.shape))
    at = offsets(t)
    target = t.array(before, want=into(before, values, at, lambda old, new: new))
    t(f"wp.tile_store({target}, {name}, offset={at})")


def atomic_add(t: Trial) -> None:
    name, values = t.random()
    before = t.kind.numbers(t.rng, *(n + 1 for n in t.shape))
    at = offsets(t)
    target = t.array(before, want=into(before, values, at, lambda old, new: old + new))
    t.expect(f"wp.tile_atomic_add({target}, {name}, {at})", window_of(t, before, t.shape, at))


def places(t: Trial, extent: int, count: int, apart: bool) -> np.ndarray:
    found = t.rng.permutation(max(extent + 4, count))[:count] if apart else t.rng.integers(0, extent + 3, count)
    return (found - 1).astype(np.int32)


def load_indexed(t: Trial) -> None:
    values = t.kind.numbers(t.rng, *(n + 1 for n in t.shape))
    axis = int(t.rng.integers(t.rank))
    at = [*offsets(t, 1)]
    index = places(t, values.shape[axis] - at[axis], t.shape[axis], False)
    want = t.kind.zeros(*t.shape)
    for e in itertools.product(*(range(n) for n in t.shape)):
        place = tuple(at[d] + (index[e[d]] if d == axis else e[d]) for d in range(t.rank))
        if all(0 <= p < n for p, n in zip(place, values.shape)):
            want[e] = values[place]
    name = t.tile(index[:, None], BY_NAME["int32"])
    t.expect(f"wp.tile_load_indexed({t.array(values)}, {name}, {t.shape}, {tuple(at)}, axis={axis}{t.storage()})", want)


def by_indices(t: Trial, builtin: str, how: Callable, apart: bool) -> None:
    before = t.kind.numbers(t.rng, *(n + 1 for n in t.shape))
    axis = int(t.rng.integers(t.rank))
    at = [*offsets(t, 1)]
    index = places(t, before.shape[axis] - at[axis], t.shape[axis], apart)
    name, values = t.random()
    want, found = before.copy(), t.kind.zeros(*t.shape)
    for e in itertools.product(*(range(n) for n in t.shape)):
        place = tuple(at[d] + (index[e[d]] if d == axis else e[d]) for d in range(t.rank))
        if all(0 <= p < n for p, n in zip(place, before.shape)):
            found[e] = want[place]
            want[place] = how(want[place], values[e])
    indices = t.tile(index[:, None], BY_NAME["int32"])
    call = f"wp.{builtin}({t.array(before, want=want)}, {indices}, {name}, {tuple(at)}, axis={axis})"
    if apart and builtin != "tile_store_indexed":
        t.expect(call, found)
    else:
        t(call)


def store_indexed(t: Trial) -> None:
    by_indices(t, "tile_store_indexed", lambda old, new: new, True)


def atomic_add_indexed(t: Trial) -> None:
    by_indices(t, "tile_atomic_add_indexed", lambda old, new: old + new, bool(t.rng.integers(2)))


# ---- windows


def view(t: Trial) -> None:
    name, values = t.random()
    shape = tuple(int(t.rng.integers(1, n + 1)) for n in t.shape)
    at = tuple(int(t.rng.integers(n - s + 1)) for n, s in zip(t.shape, shape))
    moving = t.array(np.array([[at[0]]], np.int32), BY_NAME["int32"])
    place = ", ".join([f"{moving}[0]", *map(str, at[1:])])
    part = tuple(slice(a, a + s) for a, s in zip(at, shape))
    t(f"w = wp.tile_view({name}, offset=({place},), shape={shape})")
    t.expect("w", values[part])
    t.expect(f"wp.tile_view({name}, offset=({moving}[0],))", values[at[0]]) if t.rank > 1 else None
    other, new = t.random(*shape)
    t(f"wp.tile_assign(w, {other})")
    values[part] = new
    t.expect(name, values)


def assign(t: Trial) -> None:
    name, values = t.random()
    shape = tuple(int(t.rng.integers(1, n + 1)) for n in t.shape)
    at = tuple(int(t.rng.integers(n - s + 1)) for n, s in zip(t.shape, shape))
    other, new = t.random(*shape)
    t(f"wp.tile_assign({name}, {other}, offset={at})")
    values[tuple(slice(a, a + s) for a, s in zip(at, shape))] = new
    t.expect(name, values)


def slices(t: Trial) -> None:
    """Read and written, with steps, backwards."""
    name, values = t.random()
    parts, texts = [], []
    for n in t.shape:
        start, step = int(t.rng.integers(n)), t.pick(1, 2, 3)
        stop = int(t.rng.integers(start, n)) + 1
        backwards = t.rng.integers(2)
        parts.append(slice(stop - 1, start - 1 if start else None, -step) if backwards else slice(start, stop, step))
        texts.append(f"{stop - 1}:{start - 1 if start else ''}:{-step}" if backwards else f"{start}:{stop}:{step}")
    t.expect(f"{name}[{', '.join(texts)}]", values[tuple(parts)])
    other, new = t.random(*values[tuple(parts)].shape[:-1])
    t(f"{name}[{', '.join(texts)}] = {other}")
    values[tuple(parts)] = new
    t.expect(name, values)


def extract(t: Trial) -> None:
    """Of each thread's own index, some outside, some from the end."""
    name, values = t.random()
    index = t.rng.integers(-max(t.shape) - 1, max(t.shape) + 1, size=(t.block, t.rank)).astype(np.int32)
    want = t.kind.zeros(t.block)
    for k, place in enumerate(index):
        if all(-n <= p < n for p, n in zip(place, t.shape)):
            want[k] = values[tuple(place)]
    own = t.array(index[..., None], BY_NAME["int32"])
    target = t.array(t.kind.zeros(t.block), want=want)
    at = ", ".join(f"{own}[lane, {d}]" for d in range(t.rank))
    t(f"{target}[lane] = wp.tile_extract({name}, {at})")
    if t.pick(True, False):
        again = t.array(t.kind.zeros(t.block), want=want)
        t(f"{again}[lane] = {name}[{at}]")


def transpose(t: Trial) -> None:
    t.shape = SHAPES[2][int(t.rng.integers(len(SHAPES[2])))]
    name, values = t.random()
    t.expect(f"wp.tile_transpose({name})", values.swapaxes(0, 1))
    other, new = t.random(*t.shape[::-1])
    t(f"wp.tile_assign(wp.tile_transpose({name}), {other})")
    t.expect(name, new.swapaxes(0, 1))


def broadcast(t: Trial) -> None:
    small = tuple(1 if t.rng.integers(2) else n for n in t.shape)[int(t.rng.integers(t.rank)) :]
    name, values = t.random(*small)
    t.expect(f"wp.tile_broadcast({name}, shape={t.shape})", np.broadcast_to(values, (*t.shape, t.kind.count)))


def reshape(t: Trial) -> None:
    name, values = t.random()
    count = int(np.prod(t.shape))
    t.expect(f"wp.tile_reshape({name}, ({count},))", values.reshape(count, -1))
    shape = (-1, *t.shape[:1]) if t.rank < 4 else (t.shape[0] * t.shape[1], -1)
    t.expect(f"wp.tile_reshape({name}, shape={shape})", values.reshape(*shape, t.kind.count))


def squeeze(t: Trial) -> None:
    t.shape = t.pick((1, 5), (5, 1), (1, 1, 7), (3, 1, 5, 1), (1, 3, 1, 1))
    name, values = t.random()
    t.expect(f"wp.tile_squeeze({name})", values.reshape(*(n for n in t.shape if n > 1), t.kind.count))
    axis = t.pick(*(d for d, n in enumerate(t.shape) if n == 1))
    shape = tuple(n for d, n in enumerate(t.shape) if d != axis)
    text = t.pick(str(axis), f"({axis},)", str(axis - len(t.shape)))
    t.expect(f"wp.tile_squeeze({name}, axis={text})", values.reshape(*shape, t.kind.count))


def astype(t: Trial) -> None:
    name, values = t.random()
    for other in (t.pick(*NUMBERS), t.pick(*NUMBERS)):
        if other.name == "bfloat16" or (other.is_unsigned and t.kind.is_float):
            continue
        with np.errstate(invalid="ignore"):
            want = values.astype(other.scalar)
        t.expect(f"wp.tile_astype({name}, dtype=wp.{other.name})", want, other)


# ---- elements of threads


def elements(t: Trial) -> tuple[str, str, np.ndarray]:
    """A number for each element in some order, as a loop of threads; the loop's head and where its index leads."""
    count = int(np.prod(t.shape))
    order = t.rng.permutation(count).astype(np.int32)
    index = t.array(order[:, None], BY_NAME["int32"])
    t(f"for q in range(lane, {count}, wp.block_dim()):", f"    e = {index}[q]")
    at, rest = [], "e"
    for n in reversed(t.shape):
        at.append(f"({rest}) % {n}")
        rest = f"({rest}) // {n}"
    return ", ".join(reversed(at)), "q", order


def scatter_masked(t: Trial) -> None:
    name, values = t.random()
    count = values[..., 0].size
    source = t.kind.numbers(t.rng, count)
    own = t.array(source)
    at, _, order = elements(t)
    t(f"    wp.tile_scatter_masked({name}, {at}, {own}[q], q % 3 != 1)")
    flat = values.reshape(count, -1)
    for q, e in enumerate(order):
        if q % 3 != 1:
            flat[e] = source[q]
    t.expect(name, values)


def scatter_add(t: Trial) -> None:
    name, values = t.random()
    count = values[..., 0].size
    source = t.kind.numbers(t.rng, count)
    own = t.array(source)
    at, _, order = elements(t)
    t(f"    wp.tile_scatter_add({name}, {at}, {own}[q], q % 3 != 1{t.pick('', ', atomic=False')})")
    flat = values.reshape(count, -1)
    for q, e in enumerate(order):
        if q % 3 != 1:
            flat[e] += source[q]
    t.expect(name, values)


def in_place(t: Trial, builtin: str, operator: str, how: Callable) -> None:
    """What all threads do to the first element, and each to its own."""
    name, values = t.random()
    count = values[..., 0].size
    source, common = t.kind.numbers(t.rng, count), t.kind.numbers(t.rng, t.block)
    first = ", ".join("0" for _ in t.shape)
    t(f"wp.{builtin}({name}, {first}, {t.array(common)}[lane])")
    flat = values.reshape(count, -1)
    for one in common:
        flat[0] = how(flat[0], one)
    own = t.array(source)
    at, _, order = elements(t)
    if t.rng.integers(2):
        t(f"    wp.{builtin}({name}, {at}, {own}[q])")
    else:
        t(f"    {name}[{at}] {operator}= {own}[q]")
    for q, e in enumerate(order):
        flat[e] = how(flat[e], source[q])
    t.expect(name, values)


def add_inplace(t: Trial) -> None:
    in_place(t, "tile_add_inplace", "+", np.add)


def sub_inplace(t: Trial) -> None:
    in_place(t, "tile_sub_inplace", "-", np.subtract)


def and_inplace(t: Trial) -> None:
    in_place(t, "tile_bit_and_inplace", "&", np.bitwise_and)


def or_inplace(t: Trial) -> None:
    in_place(t, "tile_bit_or_inplace", "|", np.bitwise_or)


def xor_inplace(t: Trial) -> None:
    in_place(t, "tile_bit_xor_inplace", "^", np.bitwise_xor)


def slice_indexed(t: Trial) -> None:
    name, values = t.random()
    axis, count = int(t.rng.integers(t.rank)), t.pick(1, 3, 9)
    n = t.shape[axis]
    index = t.rng.integers(-n - 1, n + 2, count).astype(np.int32)
    indices = t.tile(index[:, None], BY_NAME["int32"])
    inside = (index >= -n) & (index < n)
    want = np.take(values, np.where(inside, index, 0), axis=axis)
    want[tuple(slice(None) if d != axis else ~inside for d in range(t.rank))] = 0
    parts = ", ".join(indices if d == axis else ":" for d in range(t.rank))
    t.expect(f"{name}[{parts}]", want)
    if axis == 0:
        t.expect(f"wp.tile_slice_indexed({name}, {indices})", want)


TRIALS: dict[str, tuple[Callable[[Trial], None], list[Kind]]] = {
    "tile_zeros": (zeros, ALL),
    "tile_empty": (empty, ALL),
    "tile_ones": (ones, [kind for kind in ALL if not kind.is_struct]),
    "tile_full": (full, ALL),
    "tile_from_thread": (from_thread, ALL),
    "tile_arange": (arange, NUMBERS),
    "tile": (threads, ALL),
    "untile": (threads, [*NUMBERS, *VECTORS]),
    "tile_load": (load, ALL),
    "tile_store": (store, ALL),
    "tile_atomic_add": (atomic_add, SUMS),
    "tile_load_indexed": (load_indexed, ALL),
    "tile_store_indexed": (store_indexed, ALL),
    "tile_atomic_add_indexed": (atomic_add_indexed, SUMS),
    "tile_view": (view, ALL),
    "tile_assign": (assign, ALL),
    "t[...]": (slices, ALL),
    "tile_extract": (extract, ALL),
    "tile_transpose": (transpose, ALL),
    "tile_broadcast": (broadcast, ALL),
    "tile_reshape": (reshape, ALL),
    "tile_squeeze": (squeeze, ALL),
    "tile_astype": (astype, NUMBERS),
    "tile_scatter_masked": (scatter_masked, ALL),
    "tile_scatter_add": (scatter_add, SUMS),
    "tile_add_inplace": (add_inplace, SUMS),
    "tile_sub_inplace": (sub_inplace, SUMS),
    "tile_bit_and_inplace": (and_inplace, WHOLE),
    "tile_bit_or_inplace": (or_inplace, WHOLE),
    "tile_bit_xor_inplace": (xor_inplace, WHOLE),
    "tile_slice_indexed": (slice_indexed, ALL),
}


def all_trials() -> dict[str, tuple[Callable[[Trial], None], list[Kind]]]:
    import tile_reference_algebra  # which needs this module

    return {**TRIALS, **tile_reference_algebra.TRIALS}


def sample(name: str, count: int, blocks: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """Types of elements by name, ranks and blocks for a builtin, as many different ones as there are at most."""
    kinds = all_trials()[name][1]
    choices = list(itertools.product((kind.name for kind in kinds), range(1, 5), blocks))
    order = np.random.default_rng([7, *name.encode()]).permutation(len(choices))
    return [choices[k] for k in order[:count]]


def run(name: str, kind: Kind, rank: int, executor: Executor, seed: int, folder: pathlib.Path) -> None:
    """One kernel on one executor beside NumPy."""
    trial = Trial(kind, rank, executor[1], np.random.default_rng([seed, rank, executor[1], ALL.index(kind), *name.encode()]))
    with np.errstate(over="ignore"):
        all_trials()[name][0](trial)
    if not any(want is not None for *_, want in trial.arrays):
        return
    text = trial.text()
    where = f"{name} of {kind.name}, rank {rank}, on {executor}, seed {seed}\n{text}"
    path = folder / f"trial_{zlib.crc32(where.encode()):x}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        with blocks_of(executor) as device:
            given = [k.array(values, device) for _, k, values, _ in trial.arrays]
            wp.launch_tiled(module.program, dim=1, inputs=given, block_dim=executor[1], device=device)
            found = [k.values(array) for (_, k, _, _), array in zip(trial.arrays, given)]
    except Exception as error:
        raise AssertionError(f"{error}\n{where}") from error
    for (array, k, before, want), got in zip(trial.arrays, found):
        want = before if want is None else np.asarray(want)
        if trial.tolerance and k.is_float:
            np.testing.assert_allclose(got, want, rtol=trial.tolerance, atol=trial.tolerance, err_msg=f"{array} of {where}")
        else:
            np.testing.assert_array_equal(got, want, err_msg=f"{array} of {where}")


def check(names: list[str], where: str, count: int, blocks: tuple[int, ...], folder: pathlib.Path) -> None:
    for name in names:
        for kind, rank, block in sample(name, count, blocks):
            run(name, BY_NAME[kind], rank, (where, block), 0, folder)
