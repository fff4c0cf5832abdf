"""`wp.fabricarray`: attributes whose elements lie in buckets of another program's memory, in kernels and outside of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import warp as wp

_CODES = {wp.bool: "b", wp.int32: "i4", wp.uint64: "u8", wp.float16: "f2", wp.float32: "f4", wp.float64: "f8"}


def described(dtype: Any, depth: int = 0) -> tuple:
    """An element type in the words of the interface."""
    if dtype in _CODES:
        return (True, _CODES[dtype], 1, depth, "")
    role = "quat" if issubclass(dtype, wp.types.quaternion(wp.float32)) else "matrix" if len(dtype._shape_) == 2 else "vector"
    return (True, _CODES[dtype._wp_scalar_type_], dtype._length_, depth, role)


def interface(data: wp.array, counts: list[int], name: str = "p", **changes: Any) -> dict:
    """An array cut into buckets, as Fabric would tell of it."""
    size = wp.types.type_size_in_bytes(data.dtype)
    starts = np.cumsum([0, *counts])[:-1]
    attribute = {
        "type": described(data.dtype),
        "access": 2,
        "pointers": [int(data.ptr or 0) + int(s) * size for s in starts],
        "counts": counts,
        **changes,
    }
    return {"version": 1, "device": str(data.device), "attribs": {name: attribute}, "owner": data}


def rows_interface(rows: list[wp.array], counts: list[int]) -> dict:
    """Arrays of their own lengths, in buckets of addresses."""
    device = rows[0].device
    pointers = wp.array([r.ptr or 0 for r in rows], dtype=wp.uint64, device=device)
    lengths = wp.array([r.size for r in rows], dtype=wp.uint64, device=device)
    starts = np.cumsum([0, *counts])[:-1]
    attribute = {
        "type": described(rows[0].dtype, 1),
        "access": 2,
        "pointers": [int(pointers.ptr) + 8 * int(s) for s in starts],
        "array_lengths": [int(lengths.ptr) + 8 * int(s) for s in starts],
        "counts": counts,
    }
    return {"version": 1, "device": str(device), "attribs": {"p": attribute}, "owner": (rows, pointers, lengths)}


def made(values: Any, counts: list[int], dtype: Any = float) -> tuple[wp.fabricarray, wp.array]:
    data = wp.array(values, dtype=dtype)
    return wp.fabricarray(interface(data, counts), "p"), data


BUCKETS = [3, 0, 4, 1, 2]


@wp.kernel
def twice(a: wp.fabricarray(dtype=float), seen: wp.array(dtype=float)):
    i = wp.tid()
    seen[i] = a[i]
    a[i] = 2.0 * a[i]
    wp.atomic_add(a, i, 1.0)
    a[i] += 0.5


def test_kernels_read_and_write_the_buckets(device: wp.Device) -> None:
    a, data = made(np.arange(10.0), BUCKETS)
    seen = wp.zeros(10, dtype=float)
    wp.launch(twice, dim=a.size, inputs=[a, seen])
    assert seen.numpy().tolist() == list(range(10))
    assert data.numpy().tolist() == [2.0 * i + 1.5 for i in range(10)] == a.numpy().tolist()


@wp.kernel
def corners(a: wp.fabricarray(dtype=wp.vec3), b: wp.fabricarray(dtype=wp.mat44d), n: wp.int64, out: wp.array(dtype=float)):
    out[0] = a[-1].y + a[wp.uint8(1)][2]
    a[n].x = 7.0
    b[1][3, 2] = wp.float64(9.0)
    out[1] = float(a.size + a.shape[0] + len(a) + a.ndim)
    if b:
        out[2] = 1.0
    c = a
    c[0] = wp.vec3(4.0, 5.0, 6.0)
    out[3] = float(wp.atomic_max(a, 2, wp.vec3(100.0, 0.0, 100.0))[0])


def test_components_and_questions(device: wp.Device) -> None:
    a, points = made(np.arange(15.0).reshape(5, 3), [2, 3], wp.vec3)
    b, frames = made(np.zeros((2, 4, 4)), [1, 1], wp.mat44d)
    assert (a.dtype, a.shape, a.size, a.ndim, len(a), a.access) == (wp.vec3, (5,), 5, 1, 5, 2)
    out = wp.zeros(4, dtype=float)
    wp.launch(corners, dim=1, inputs=[a, b, 4, out])
    assert out.numpy().tolist() == [13.0 + 5.0, 16.0, 1.0, 6.0]
    expected = np.arange(15.0).reshape(5, 3)
    expected[4, 0], expected[0], expected[2] = 7.0, (4.0, 5.0, 6.0), (100.0, 7.0, 100.0)
    assert points.numpy().tolist() == expected.tolist()
    assert frames.numpy()[1, 3, 2] == 9.0 and np.count_nonzero(frames.numpy()) == 1


@wp.kernel
def picked(a: wp.indexedfabricarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a[i]
    a[i] = -a[i]
    if i == 0:
        out[a.size] = float(a.size + len(a))


def test_index_arrays(device: wp.Device) -> None:
    a, data = made(np.arange(10.0), BUCKETS)
    some = a[wp.array([9, 3, -2], dtype=int)]
    assert (some.dtype, some.shape, some.size, some.ndim) == (wp.float32, (3,), 3, 1)
    assert some.numpy().tolist() == [9.0, 3.0, 8.0] == some.list()
    out = wp.zeros(4, dtype=float)
    wp.launch(picked, dim=3, inputs=[some, out])
    assert out.numpy().tolist() == [9.0, 3.0, 8.0, 6.0]
    assert data.numpy().tolist() == [0.0, 1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, -8.0, -9.0]
    some.fill_(1.0)
    assert data.numpy().tolist() == [0.0, 1.0, 2.0, 1.0, 4.0, 5.0, 6.0, 7.0, 1.0, 1.0]
    some.assign([5.0, 6.0, 7.0])
    assert data.numpy()[[9, 3, 8]].tolist() == [5.0, 6.0, 7.0]
    some.zero_()
    assert data.numpy()[[9, 3, 8]].tolist() == [0.0, 0.0, 0.0] and (some + 2.0).numpy().tolist() == [2.0, 2.0, 2.0]


@wp.kernel
def sums(a: wp.fabricarrayarray(dtype=Any), out: wp.array(dtype=Any)):
    i = wp.tid()
    row = a[i]
    for j in range(row.shape[0]):
        out[i] += row[j]


@wp.kernel
def sums_of_some(a: wp.indexedfabricarrayarray(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    for j in range(a[i].shape[0]):
        out[i] += a[i][j]
    a[i, -1] = 10.0
    wp.atomic_add(a, i, 0, 0.5)


def test_arrays_of_arrays(device: wp.Device) -> None:
    rows = [wp.array(np.arange(1.0, n + 1.0), dtype=float) for n in (2, 1, 4, 3)] + [wp.zeros(0, dtype=float)]
    a = wp.fabricarrayarray(data=rows_interface(rows, [2, 3]), attrib="p")
    assert (a.dtype, a.ndim, a.shape, a.size) == (wp.float32, 2, (5,), 5)
    out = wp.zeros_like(a)
    assert out.shape == (5,) and out.ndim == 1
    wp.launch(sums, dim=5, inputs=[a, out])
    assert out.numpy().tolist() == [3.0, 1.0, 10.0, 6.0, 0.0]
    some = wp.zeros(2, dtype=float)
    wp.launch(sums_of_some, dim=2, inputs=[a[wp.array([3, 0], dtype=int)], some])
    assert some.numpy().tolist() == [6.0, 3.0]
    assert rows[3].numpy().tolist() == [1.5, 2.0, 10.0] and rows[0].numpy().tolist() == [1.5, 10.0]
    for copied in (a.numpy, a.contiguous, a.zero_, lambda: a.fill_(1.0), lambda: wp.clone(a)):
        with pytest.raises(RuntimeError, match="row by row"):
            copied()


def test_rows_that_move_between_launches(device: wp.Device) -> None:
    rows = [wp.array([1.0, 2.0], dtype=float), wp.array([3.0], dtype=float)]
    tables = rows_interface(rows, [2])
    a = wp.fabricarrayarray(data=tables, attrib="p")
    longer = wp.array([4.0, 5.0, 6.0], dtype=float)
    _, pointers, lengths = tables["owner"]
    pointers.assign([longer.ptr, rows[1].ptr])
    lengths.assign([3, 1])
    out = wp.zeros(2, dtype=float)
    wp.launch(sums, dim=2, inputs=[a, out])
    assert out.numpy().tolist() == [15.0, 3.0]


@wp.kernel
def doubled(a: wp.fabricarray(dtype=Any), b: Any):
    i = wp.tid()
    b[i] = a[i] + a[i]


@pytest.mark.parametrize("dtype", [wp.int32, wp.uint64, wp.float16, wp.float64, wp.vec3d, wp.mat22, wp.quat])
def test_element_types(device: wp.Device, dtype: Any) -> None:
    shape = (6, *getattr(dtype, "_shape_", ()))
    values = np.arange(np.prod(shape)).reshape(shape)
    a, _ = made(values, [1, 5], dtype)
    assert a.dtype is dtype
    b, data = made(np.zeros(shape), [4, 2], dtype)
    wp.launch(doubled, dim=6, inputs=[a, b])
    assert np.array_equal(data.numpy(), 2 * values) and np.array_equal(b.numpy(), 2 * a.numpy())
    plain = wp.zeros(6, dtype=dtype)
    wp.launch(doubled, dim=6, inputs=[a, plain])
    assert np.array_equal(plain.numpy(), 2 * values)


def test_copies_and_fills(device: wp.Device) -> None:
    a, data = made(np.arange(10.0), BUCKETS)
    assert a.contiguous().numpy().tolist() == wp.clone(a).numpy().tolist() == a.list() == list(range(10))
    wp.copy(a, wp.array(np.arange(10.0) * 3.0, dtype=float))
    assert data.numpy().tolist() == [3.0 * i for i in range(10)]
    target = wp.zeros(10, dtype=float)
    wp.copy(target, a)
    assert target.numpy().tolist() == a.numpy().tolist() == np.asarray(a).tolist()
    a.assign(np.ones(10))
    assert data.numpy().tolist() == [1.0] * 10
    assert a.fill_(4).numpy().tolist() == [4.0] * 10 and a.zero_().numpy().tolist() == [0.0] * 10
    assert wp.full_like(a, 2.0).numpy().tolist() == [2.0] * 10 and wp.empty_like(a).shape == (10,)
    assert (a + 1.0).numpy().tolist() == [1.0] * 10 and wp.array(a).shape == (10,) and (-a).shape == (10,)
    a += 3.0
    assert isinstance(a, wp.fabricarray) and data.numpy().tolist() == [3.0] * 10
    assert wp.map(wp.mul, a, 2.0, out=a) is a and data.numpy().tolist() == [6.0] * 10
    a.zero_()
    assert a.to(a.device) is a and str(a) == str(a.numpy())
    with pytest.raises(RuntimeError, match="9 elements"):
        a.assign(np.arange(9))
    with pytest.raises(RuntimeError, match="whole"):
        wp.copy(a, target, 1, 0, 3)


def test_nothing_in_them(device: wp.Device) -> None:
    a = wp.fabricarray(interface(wp.zeros(0, dtype=wp.vec2), []), "p")
    some = a[wp.zeros(0, dtype=int)]
    for one in (a, some):
        assert (one.shape, one.size, one.list(), one.numpy().shape) == ((0,), 0, [], (0, 2))
        one.zero_()
        one.fill_(wp.vec2(1.0, 2.0))
        one.assign(wp.clone(one))
    wp.launch(doubled, dim=0, inputs=[a, a])


class _Selection:
    """An object with the interface, as Fabric's are."""

    def __init__(self, tables: dict) -> None:
        self.__fabric_arrays_interface__ = tables


def test_objects_with_the_interface(device: wp.Device) -> None:
    data = wp.array([1.0, 2.0], dtype=float)
    assert wp.fabricarray(_Selection(interface(data, [2])), "p").numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("words", "dtype"),
    [
        ((True, "f4", 4, 0, "quat"), wp.quatf),
        ((True, "f4", 4, 0, "color"), wp.vec4f),
        ((True, "f8", 16, 0, "frame"), wp.mat44d),
        ((True, "f8", 16, 0, ""), wp.types.vector(16, wp.float64)),
        ((True, "i4", 1, 0, ""), wp.int32),
        ((True, "f2", 9, 0, "matrix"), wp.mat33h),
    ],
)
def test_words_of_the_interface(words: tuple, dtype: Any) -> None:
    data = wp.zeros(16, dtype=wp.float64, device="cpu")
    assert wp.fabricarray(interface(data, [1], type=words), "p").dtype is dtype


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        ((True, "f4", 1, 0), ValueError, "five elements, got 4"),
        ((True, "f4", 6, 0, "matrix"), ValueError, "square element count, got 6"),
        ((True, "f4", 1, 2, ""), ValueError, "depth 2"),
        ((True, "x4", 1, 0, ""), RuntimeError, "'x4'"),
        ((True, "u1", 1, 0, "text"), RuntimeError, "'text'"),
        ((False, "f4", 1, 0, ""), RuntimeError, "can't be used"),
    ],
)
def test_words_that_mean_nothing(words: tuple, error: type, text: str) -> None:
    data = wp.zeros(4, dtype=float, device="cpu")
    with pytest.raises(error, match=text):
        wp.fabricarray(interface(data, [1], type=words), "p")


def test_mistakes() -> None:
    data = wp.zeros(4, dtype=float, device="cpu")
    good = interface(data, [4])
    a = wp.fabricarray(good, "p")
    for given, name, text in ((good, None, "must be a string"), (good, "q", "no Fabric attribute 'q'"), (3, "p", "dictionary")):
        with pytest.raises(ValueError, match=text):
            wp.fabricarray(given, name)
    with pytest.raises(ValueError, match="version 2"):
        wp.fabricarray({**good, "version": 2}, "p")
    for key in (0, slice(1, 2), [0], np.array([0])):
        with pytest.raises(ValueError, match="index arrays"):
            a[key]
    with pytest.raises(ValueError, match="int32"):
        a[wp.zeros(2, dtype=float, device="cpu")]
    with pytest.raises(ValueError, match="needs a fabricarray"):
        wp.indexedfabricarray(data, wp.zeros(1, dtype=int, device="cpu"))
    with pytest.raises(Exception, match=r"expected fabricarray\(dtype=float32\), got array"):
        wp.launch(twice, dim=4, inputs=[data, data], device="cpu")
    annotation = wp.fabricarray(dtype=float)
    assert (annotation.dtype, annotation.ndim, annotation.size) == (wp.float32, 1, 0)
    with pytest.raises(RuntimeError, match="annotation"):
        annotation.numpy()

    @wp.kernel
    def sliced(a: wp.fabricarray(dtype=float), out: wp.array(dtype=float)):
        b = a[1:2]
        out[0] = b[0]

    with pytest.raises(Exception, match="can't be sliced"):
        wp.launch(sliced, dim=1, inputs=[a, data], device="cpu")


def test_indices_out_of_bounds_in_debug_mode() -> None:
    @wp.kernel(module="unique")
    def beyond(a: wp.fabricarray(dtype=float), i: int, out: wp.array(dtype=float)):
        out[0] = a[i]

    data = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    out = wp.zeros(1, dtype=float, device="cpu")
    a = wp.fabricarray(interface(data, [1, 2]), "p")
    mode, wp.config.mode = wp.config.mode, "debug"
    try:
        wp.launch(beyond, dim=1, inputs=[a, 2, out], device="cpu")
        assert out.numpy()[0] == 3.0
        with pytest.raises(Exception, match="3"):
            wp.launch(beyond, dim=1, inputs=[a, 3, out], device="cpu")
    finally:
        wp.config.mode = mode


@wp.struct
class Held:
    values: wp.fabricarray[float]
    some: wp.indexedfabricarray[float]
    scale: float


@wp.struct
class Around:
    inner: Held


@wp.kernel
def through_structs(one: Around, many: wp.array(dtype=Held)):
    i = wp.tid()
    one.inner.values[i] = one.inner.values[i] * one.inner.scale
    held = many[0]
    held.some[i] += 100.0


def test_fields_of_structs(device: wp.Device) -> None:
    a, data = made(np.arange(6.0), [4, 2])
    held = Held()
    assert held.values is None and held.some is None
    held.values, held.some, held.scale = a, a[wp.array([0, 5], dtype=int)], 3.0
    around = Around()
    around.inner = held
    many = wp.array([held], dtype=Held)
    wp.launch(through_structs, dim=2, inputs=[around, many])
    assert sorted(data.numpy().tolist()) == sorted([100.0, 3.0, 2.0, 3.0, 4.0, 105.0])
    back = many.list()[0]
    assert back.values is a and back.some.size == 2
    assert held.to(a.device).values is a
    with pytest.raises(TypeError, match="expects a Warp Fabric array, got list"):
        held.values = [1.0]
    with pytest.raises(TypeError, match="expects dtype float32, got int32"):
        held.values = made([1, 2], [2], int)[0]

    @wp.struct
    class Rows:
        rows: wp.fabricarray[float, Literal[2]]

    with pytest.raises(TypeError, match=r"2 dimension\(s\), got 1"):
        Rows().rows = a


@wp.func
def taken(a: wp.fabricarray(dtype=float), i: int):
    return a[i] * 3.0


@wp.kernel
def with_gradient(a: wp.fabricarray(dtype=float), x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = taken(a, i) * x[i]


def test_gradients_pass_them_by(device: wp.Device) -> None:
    a, _ = made([1.0, 2.0, 3.0], [1, 2])
    x = wp.array([4.0, 5.0, 6.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(with_gradient, dim=3, inputs=[a, x], outputs=[y])
    tape.backward(grads={y: wp.ones(3, dtype=float)})
    assert y.numpy().tolist() == [12.0, 30.0, 54.0] and x.grad.numpy().tolist() == [3.0, 6.0, 9.0]
    assert not a.requires_grad and a.grad is None
