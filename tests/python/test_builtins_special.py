"""Forms that the compiler builds itself: thread indices, private arrays, constructors, bits as types, printing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import warp as wp
from warp._src.kernels.definitions import kernel_from_text

INTEGERS = (wp.int8, wp.uint8, wp.int16, wp.uint16, wp.int32, wp.uint32, wp.int64, wp.uint64)
FLOATS = (wp.float16, wp.bfloat16, wp.float32, wp.float64)
SCALARS = INTEGERS + FLOATS


def evaluate(lines: str, result: type, count: int = 1, **values: object) -> np.ndarray:
    """What a kernel of these lines stores in `out`; types are names in it, arrays and numbers are parameters."""
    arrays = {name: value for name, value in values.items() if not isinstance(value, type)}
    params = "".join(f", {name}: {name}_t" for name in arrays)
    kinds = {
        f"{name}_t": wp.array(dtype=value.dtype, ndim=value.ndim) if isinstance(value, wp.array) else type(value)
        for name, value in arrays.items()
    }
    body = "\n    ".join(lines.strip().split("\n"))
    source = f"@wp.kernel\ndef k(out: wp.array(dtype=R){params}):\n    i = wp.tid()\n    {body}\n"
    out = wp.zeros(count, dtype=result)
    space = {"wp": wp, "R": result, **kinds, **{n: v for n, v in values.items() if isinstance(v, type)}}
    wp.launch(kernel_from_text(source, "k", space), count, [out, *arrays.values()])
    return out.numpy()


@wp.kernel
def indices_1(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = i


@wp.kernel
def indices_2(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] = 10 * i + j


@wp.kernel
def indices_3(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] = 100 * i + 10 * j + k


@wp.kernel
def indices_4(out: wp.array4d(dtype=int)):
    i, j, k, l = wp.tid()  # noqa: E741
    out[i, j, k, l] = 1000 * i + 100 * j + 10 * k + l


@pytest.mark.parametrize(
    ("kernel", "shape"), [(indices_1, (7,)), (indices_2, (3, 5)), (indices_3, (2, 3, 4)), (indices_4, (2, 3, 2, 5))]
)
def test_thread_indices(kernel: wp.Kernel, shape: tuple[int, ...]) -> None:
    out = wp.full(shape, -1, dtype=int)
    wp.launch(kernel, shape, [out])
    places = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))
    weights = 10 ** np.arange(len(shape))[::-1]
    np.testing.assert_array_equal(out.numpy(), np.tensordot(weights, places, 1))


def test_lengths() -> None:
    a = wp.zeros((5, 2), dtype=wp.vec3)
    got = evaluate(
        """
out[0] = len(a)
out[1] = wp.len(a[0, 0])
out[2] = len(wp.matrix(shape=(2, 3), dtype=float))
out[3] = len(wp.quat())
out[4] = wp.len(wp.transform_identity())
out[5] = len((i, 2.0))
out[6] = len(wp.zeros(4, dtype=float))""",
        int,
        7,
        a=a,
    )
    assert got.tolist() == [5, 3, 2, 4, 7, 2, 4]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
def test_private_arrays(scalar: type) -> None:
    """Each thread has its own, zeroed or not."""
    lines = """
z = wp.zeros(4, dtype=S)
z[i % 4] += S(1)
z[3 - i % 4] += S(2)
e = wp.empty(shape=(2, 3), dtype=S)
for r in range(2):
    for c in range(3):
        e[r, c] = S(r * 3 + c)
out[i] = z[0] + z[1] * S(3) + e[1, i % 3] + z[2] + z[3]"""
    got = evaluate(lines, scalar, 9, S=scalar)
    got = (got.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if scalar is wp.bfloat16 else got
    z = np.zeros((9, 4))
    z[np.arange(9), np.arange(9) % 4] += 1
    z[np.arange(9), 3 - np.arange(9) % 4] += 2
    np.testing.assert_array_equal(got, z[:, 0] + 3 * z[:, 1] + 3 + np.arange(9) % 3 + z[:, 2] + z[:, 3])


PAIRS = [
    (a, b)
    for a, b in itertools.product(SCALARS, repeat=2)
    if wp.types.type_size_in_bytes(a) == wp.types.type_size_in_bytes(b)
]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ["cast", "reinterpret"])
def test_bits_as_another_type(name: str, source: type, target: type) -> None:
    size = wp.types.type_size_in_bytes(source)
    bits = np.random.default_rng(0).integers(0, 256, (64, size), dtype=np.uint8)
    bits[:, -1] &= 0xBF  # of floats: no NaN, whose bits may change
    held = {a: wp.types.warp_type_to_np_dtype[a] for a in (source, target)}
    given = wp.array(bits.view(held[source])[:, 0], dtype=source)
    got = evaluate(f"out[i] = wp.{name}(a[i], T)", target, 64, a=given, T=target)
    np.testing.assert_array_equal(got.view(np.uint8), bits.reshape(-1))


COMPOSITES = {
    "numbers of a vector": (wp.vec2, wp.vec2i),
    "a vector of smaller numbers": (wp.vec2, wp.types.vector(8, wp.uint8)),
    "a vector of larger numbers": (wp.vec4ub, wp.types.vector(1, wp.float32)),
    "a number of a vector": (wp.types.vector(4, wp.uint16), wp.float64),
    "a vector of a number": (wp.uint32, wp.vec2h),
    "a quaternion of a matrix": (wp.mat22, wp.quat),
    "a matrix of a vector": (wp.types.vector(3, wp.float64), wp.types.matrix((2, 3), wp.int32)),
    "a vector of a transform": (wp.transform, wp.types.vector(7, wp.uint32)),
}


@pytest.mark.parametrize("case", COMPOSITES)
def test_bits_of_vectors_and_matrices(case: str) -> None:
    source, target = COMPOSITES[case]
    size = wp.types.type_size_in_bytes(source)
    bits = np.random.default_rng(1).integers(0, 256, (64, size), dtype=np.uint8) & 0xBF
    one, shape = (getattr(source, "_wp_scalar_type_", source), getattr(source, "_shape_", ()))
    held = bits.view(wp.types.warp_type_to_np_dtype[one]).reshape(64, *shape)
    got = evaluate("out[i] = wp.cast(a[i], T)", target, 64, a=wp.array(held, dtype=source), T=target)
    np.testing.assert_array_equal(np.ascontiguousarray(got).view(np.uint8).reshape(64, -1), bits)


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
def test_matrices_of_rows_columns_and_ones(scalar: type) -> None:
    vec, mat, square = wp.types.vector(3, scalar), wp.types.matrix((2, 3), scalar), wp.types.matrix((3, 3), scalar)
    one = "V(S(1), S(2), S(3))", "V(S(4), S(5), S(6))"
    numbers = np.array([[1, 2, 3], [4, 5, 6]])

    def plain(held: np.ndarray) -> np.ndarray:
        return (held.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if scalar is wp.bfloat16 else held

    space = {"S": scalar, "V": vec}
    rows = evaluate(f"out[i] = wp.matrix_from_rows({', '.join(one)})", mat, **space)[0]
    np.testing.assert_array_equal(plain(rows), numbers)
    cols = evaluate(f"out[i] = wp.matrix_from_cols({', '.join(one)})", wp.types.matrix((3, 2), scalar), **space)[0]
    np.testing.assert_array_equal(plain(cols), numbers.T)
    np.testing.assert_array_equal(plain(evaluate("out[i] = wp.identity(n=3, dtype=S)", square, **space)[0]), np.eye(3))


@pytest.mark.parametrize("scalar", FLOATS, ids=lambda t: t.__name__)
def test_identities(scalar: type) -> None:
    quat, transform = wp.types.quaternion(scalar), wp.types.transformation(scalar)
    one = {wp.float16: 0x3C00, wp.bfloat16: 0x3F80}.get(scalar, 1)
    q = evaluate("out[i] = wp.quat_identity(dtype=S)", quat, S=scalar)[0]
    t = evaluate("out[i] = wp.transform_identity(dtype=S)", transform, S=scalar)[0]
    if scalar in (wp.float16, wp.bfloat16):
        q, t = q.view(np.uint16), t.view(np.uint16)
    assert q.tolist() == [0, 0, 0, one] and t.tolist() == [0] * 6 + [one]
    assert evaluate("out[i] = wp.quat_identity()", wp.quat)[0].tolist() == [0, 0, 0, 1]
    assert evaluate("out[i] = wp.transform_identity()", wp.transform)[0].tolist() == [0, 0, 0, 0, 0, 0, 1]


@wp.struct
class WithArray:
    values: wp.array(dtype=float)


@wp.kernel
def arrays_as_conditions(some: WithArray, out: wp.array(dtype=int)):
    out[0] = wp.where(some.values, 1, 2)
    out[1] = wp.select(some.values, 1, 2)
    out[2] = int(wp.unot(some.values))
    out[3] = int(not some.values)
    if some.values:
        out[4] = 1


def test_arrays_are_conditions() -> None:
    some, out = WithArray(), wp.zeros(5, dtype=int)
    wp.launch(arrays_as_conditions, 1, [some, out])
    assert out.numpy().tolist() == [2, 1, 1, 1, 0]
    some.values = wp.zeros(3, dtype=float)
    wp.launch(arrays_as_conditions, 1, [some, out])
    assert out.numpy().tolist() == [1, 2, 0, 0, 1]


def printed(line: str, capsys: pytest.CaptureFixture, **space: object) -> str:
    source = f"@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    i = wp.tid()\n    {line}\n"
    wp.launch(kernel_from_text(source, "k", {"wp": wp, **space}), 1, [wp.zeros(3, dtype=float)])
    wp.synchronize()
    return capsys.readouterr().out


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.__name__)
def test_print_numbers(scalar: type, capsys: pytest.CaptureFixture) -> None:
    vec, mat = wp.types.vector(2, scalar), wp.types.matrix((2, 2), scalar)
    assert printed("wp.print(S(100))", capsys, S=scalar) == "100\n"
    assert printed("print(V(S(1), S(2)))", capsys, S=scalar, V=vec).split() == ["1", "2"]
    text = printed("wp.print(M(S(1), S(2), S(3), S(4)))", capsys, S=scalar, M=mat)
    assert [line.split() for line in text.splitlines()] == [["1", "2"], ["3", "4"]]
    if scalar in FLOATS:
        quat = wp.types.quaternion(scalar)
        assert printed("wp.print(S(-1.5))", capsys, S=scalar) == "-1.5\n"
        assert printed("wp.print(S(1.0) / S(0.0))", capsys, S=scalar) == "inf\n"
        assert printed("wp.print(Q(S(1), S(2), S(3), S(4.5)))", capsys, S=scalar, Q=quat).split() == [
            "1",
            "2",
            "3",
            "4.5",
        ]
        text = printed("wp.print(wp.transform_identity(dtype=S))", capsys, S=scalar)
        assert text.replace("(", " ").replace(")", " ").split() == ["0"] * 6 + ["1"]
    else:
        low = np.iinfo(wp.types.warp_type_to_np_dtype[scalar]).min
        assert printed("wp.print(S(low))", capsys, S=scalar, low=wp.constant(int(low))) == f"{low}\n"


def test_print_other_things(capsys: pytest.CaptureFixture) -> None:
    assert printed("print(True)", capsys) == "True\n" and printed('print("text")', capsys) == "text\n"
    assert "float32" in printed("print(a)", capsys)
    assert printed("s = T()\n    wp.print(s)", capsys, T=WithArray).startswith("WithArray(")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (r'wp.printf("%d %u %f %g %e %x|%5d|%-5d|%05.2f\n", 1, wp.uint32(2), 3.0, 4.5, 5.0, 255, 7, 8, 9.5)',
         "1 2 3.000000 4.5 5.000000e+00 ff|    7|8    |09.50\n"),
        (r'wp.printf("%d %d %d %u\n", wp.int8(-1), wp.int16(-2), wp.uint8(3), wp.uint16(4))', "-1 -2 3 4\n"),
        (r'wp.printf("%lld %llu\n", wp.int64(-2), wp.uint64(3))', "-2 3\n"),
        (r'wp.printf("%f %f %g %d%%\n", wp.float64(4.0), wp.float16(5.0), wp.bfloat16(1.5), True)',
         "4.000000 5.000000 1.5 1%\n"),
        (r'wp.printf("plain\n")', "plain\n"),
    ],
)  # fmt: skip
def test_printf(call: str, text: str, capsys: pytest.CaptureFixture) -> None:
    assert printed(call, capsys) == text


@wp.kernel
def with_blocks(out: wp.array(dtype=int)):
    i = wp.tid()
    wp.breakpoint()
    out[i] = wp.block_dim()


def test_block_dim_and_breakpoint() -> None:
    """A thread of the CPU is a block of its own; without a debugger a breakpoint does nothing."""
    out = wp.zeros(20, dtype=int, device="cpu")
    wp.launch(with_blocks, 20, [out], device="cpu")
    assert (out.numpy() == 1).all()
    assert wp.block_dim() == 1
