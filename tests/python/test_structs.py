"""Structs in Python scope: fields, checks on assignment, layout, copies."""

from __future__ import annotations

import copy
import ctypes
import pickle

import numpy as np
import pytest

import warp as wp


@wp.struct
class Inner:
    c: wp.vec3
    d: wp.uint8


@wp.struct
class Outer:
    """A struct with one field of each sort."""

    a: int
    f: float
    b: bool
    u: wp.uint64
    h: wp.float16
    k: wp.bfloat16
    v: wp.vec3
    m: wp.mat22d
    q: wp.quat
    t: wp.transform
    arr: wp.array(dtype=float)
    arr2: wp.array(dtype=wp.vec3, ndim=2)
    inner: Inner

    def twice(self) -> float:
        return self.f * 2.0


@wp.struct
class Plain:
    a: wp.int8
    x: wp.float64
    v: wp.vec3h
    inner: Inner


def array(dtype, *shape):
    """An array with memory."""
    return wp.array(np.zeros((*shape, *getattr(dtype, "_shape_", ())), dtype=np.float32), dtype=dtype)


def test_starts_at_zero():
    s = Outer()
    assert (s.a, s.f, s.b, s.u, s.h, s.k) == (0, 0.0, False, 0, 0.0, 0.0)
    assert s.v == (0, 0, 0) and s.m == [[0, 0], [0, 0]] and s.q == (0, 0, 0, 0) and s.t == (0,) * 7
    assert s.arr is None and s.arr2 is None and s.inner.d == 0 and s.inner.c == (0, 0, 0)
    assert Outer().v is not s.v and isinstance(s, Outer) and isinstance(s.inner, Inner)


def test_the_class():
    assert Outer.__name__ == "Outer" and Outer.__doc__.startswith("A struct") and Outer.key == "Outer"
    assert list(Outer.vars) == "a f b u h k v m q t arr arr2 inner".split() and Outer.vars["v"].type is wp.vec3
    assert Outer._wp_type_ == Outer()._wp_type_ and wp.types.class_of(Outer._wp_type_) is Outer
    assert wp.types.type_handle(Outer) == Outer._wp_type_ and wp.types.type_is_struct(Outer)
    assert wp.types.is_struct(Outer()) and wp.types.type_size_in_bytes(Inner) == 16
    for wrong in ((1,), ()):
        with pytest.raises(TypeError):
            Outer(*wrong, **({} if wrong else {"a": 1}))
    s = Outer()
    s.f = 1.5
    assert s.twice() == 3.0


def test_numbers_convert():
    s = Outer()
    wraps = ((2**40 + 5, 5), (-(2**31) - 1, 2**31 - 1))
    for value, want in ((1, 1), (True, 1), (wp.int64(3), 3), (np.int64(4), 4), *wraps):
        s.a = value
        assert s.a == want and type(s.a) is int
    for value, want in ((1, 1.0), (np.float64(2.0), 2.0), (wp.float64(0.1), float(np.float32(0.1))), (True, 1.0)):
        s.f = value
        assert s.f == want and type(s.f) is float
    s.b, s.u, s.h, s.k = np.bool_(True), -1, 0.1, 3.3
    assert s.b is True and s.u == 2**64 - 1 and s.h == float(np.float16(0.1)) and s.k == wp.bfloat16(3.3)
    s.b = 0
    assert s.b is False


def test_numbers_know_their_type():
    """As components of vectors do: what is no float32, int32 or bool is a number of Python that says what it is."""
    s = Outer()
    for values in (s, Outer.from_bytes(s.to_bytes())):
        assert type(values.u) is wp.uint64 and type(values.h) is wp.float16 and type(values.k) is wp.bfloat16
    s.u, s.h = 7, 1.5
    assert type(s.u) is wp.uint64 and s.u == 7 and isinstance(s.u, int) and isinstance(s.h, float) and s.h + 1.0 == 2.5
    again = Outer.from_bytes(s.to_bytes())
    assert type(again.u) is wp.uint64 and again.u == 7 and copy.copy(again).h == 1.5 and type(again.a) is int


def test_none_is_zero_for_vectors_and_matrices():
    s = Outer()
    s.v = (1.0, 2.0, 3.0)
    s.v = s.m = None
    assert s.v == wp.vec3() and s.m == type(s.m)()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("a", 1.5, TypeError),
        ("a", np.float32(4), TypeError),
        ("a", wp.float32(1.0), TypeError),
        ("a", "x", TypeError),
        ("a", None, TypeError),
        ("f", "x", TypeError),
        ("b", "x", TypeError),
        ("u", 0.5, TypeError),
        ("v", [1, 2], ValueError),
        ("v", wp.vec2(1, 2), ValueError),
        ("v", 1.0, TypeError),
        ("v", "abc", TypeError),
        ("m", [1, 2, 3], ValueError),
        ("q", (1, 2, 3), ValueError),
        ("arr", [1, 2, 3], TypeError),
        ("arr", np.zeros(3, dtype=np.float32), TypeError),
        ("inner", None, RuntimeError),
        ("inner", (1, 2), RuntimeError),
        ("nothing", 1, RuntimeError),
    ],
)
def test_wrong_values(name, value, error):
    s = Outer()
    before = s.to_bytes()
    with pytest.raises(error):
        setattr(s, name, value)
    assert s.to_bytes() == before


def test_unknown_names():
    s = Outer()
    with pytest.raises(RuntimeError, match="does not exist zzz"):
        s.zzz = 1
    with pytest.raises(AttributeError):
        s.zzz
    with pytest.raises(AttributeError):
        del s.a


def test_sequences_become_values():
    s = Outer()
    for value in ((1, 2, 3), [1, 2, 3], np.array([1.0, 2, 3]), wp.vec3d(1, 2, 3), wp.vec3(1, 2, 3)):
        s.v = value
        assert type(s.v) is wp.vec3 and s.v == (1, 2, 3)
    for value in ([[1, 2], [3, 4]], [1, 2, 3, 4], np.array([[1, 2], [3, 4]]), wp.mat22(1, 2, 3, 4)):
        s.m = value
        assert type(s.m) is wp.mat22d and s.m == [[1, 2], [3, 4]]
    s.q, s.t = (0, 0, 0, 1), (1, 2, 3, 0, 0, 0, 1)
    assert type(s.q) is wp.quat and s.t.p == (1, 2, 3)


def test_values_are_copied():
    s, v, inner = Outer(), wp.vec3(1, 1, 1), Inner()
    s.v, s.inner = v, inner
    v[0], inner.d = 7, 9
    assert s.v == (1, 1, 1) and s.inner.d == 0
    s.v.x = 5.0
    s.inner.d = 3
    assert s.v == (5, 1, 1) and s.inner.d == 3 and inner.d == 9
    with pytest.raises(RuntimeError, match="structure of type Outer"):
        s.inner = Outer()


def test_arrays_are_references():
    s, a = Outer(), array(float, 3)
    s.arr = a
    assert s.arr is a and copy.copy(s).arr is a
    s.arr = None
    assert s.arr is None
    s.arr2 = array(wp.vec3, 2, 2)
    with pytest.raises(TypeError, match="expects dtype float32, got vec3f"):
        s.arr = array(wp.vec3, 3)
    with pytest.raises(TypeError, match="1 dimension"):
        s.arr = array(float, 3, 3)
    with pytest.raises(TypeError, match="expects a Warp array"):
        s.arr = wp.array(dtype=float)


def test_layout_is_that_of_c():
    class C(ctypes.Structure):
        class I(ctypes.Structure):  # noqa: E742
            _fields_ = [("c", ctypes.c_float * 3), ("d", ctypes.c_uint8)]

        _fields_ = [("a", ctypes.c_int8), ("x", ctypes.c_double), ("v", ctypes.c_uint16 * 3), ("inner", I)]

    dtype = Plain.numpy_dtype()
    assert dtype.itemsize == ctypes.sizeof(C) == Plain._wp_type_.size
    assert {name: dtype.fields[name][1] for name in dtype.names} == {n: getattr(C, n).offset for n, _ in C._fields_}
    s = Plain()
    s.a, s.x, s.v, s.inner.c, s.inner.d = -3, 0.1, (1, 2, 3), (4, 5, 6), 7
    row = np.frombuffer(s.to_bytes(), dtype=dtype)[0]
    assert row["a"] == -3 and row["x"] == 0.1 and row["v"].tolist() == [1, 2, 3] and row["inner"]["d"] == 7
    rows = np.array([s.numpy_value(), Plain().numpy_value()], dtype=dtype)
    assert rows["x"].tolist() == [0.1, 0.0] and rows["inner"]["c"][0].tolist() == [4, 5, 6]
    again = Plain.from_bytes(s.to_bytes())
    assert again.to_bytes() == s.to_bytes() and type(again.inner) is Inner
    data = ctypes.create_string_buffer(s.to_bytes())
    assert Plain.from_ptr(ctypes.addressof(data)).to_bytes() == s.to_bytes()
    with pytest.raises(ValueError):
        Plain.from_bytes(b"123")
    with pytest.raises(RuntimeError, match="NULL pointer exception"):
        Plain.from_ptr(0)


def test_arrays_in_bytes():
    s, a = Outer(), array(wp.vec3, 2, 3)
    s.arr2 = a
    row = np.frombuffer(s.to_bytes(), dtype=Outer.numpy_dtype())[0]
    assert row["arr2"]["data"] == a.ptr and row["arr2"]["shape"].tolist() == [2, 3, 0, 0] and row["arr2"]["ndim"] == 2
    assert row["arr"]["data"] == 0
    again = Outer.from_bytes(s.to_bytes())
    assert again.arr is None and again.arr2.ptr == a.ptr and again.arr2.shape == (2, 3)
    assert again.arr2.strides == a.strides


def test_copies_and_pickles():
    s = Outer()
    s.a, s.v, s.inner.d, s.f, s.m = 3, (1, 2, 3), 4, 0.1, [[1, 2], [3, 4]]
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert type(other) is Outer and other.to_bytes() == s.to_bytes()
        other.inner.d = 5
        assert other.to_bytes() != s.to_bytes() and s.inner.d == 4
        other.assign(s)
        assert other.to_bytes() == s.to_bytes()
    assert pickle.loads(pickle.dumps(Outer)) is Outer
    s.arr = array(float, 2)
    assert copy.copy(s).arr is s.arr
    with pytest.raises(RuntimeError):
        s.assign(Inner())


def test_instances_are_compared_by_identity():
    s, other = Inner(), Inner()
    assert s == s and s != other and s != copy.copy(s) and s != None  # noqa: E711
    counts = {s: 1, other: 2}
    s.d = 7  # what the fields hold does not matter
    assert counts[s] == 1 and counts[other] == 2 and len({s, other, s}) == 2 and hash(s) != hash(other)


def test_one_numpy_dtype():
    for struct in (Inner, Plain, Outer):
        assert wp.zeros(2, dtype=struct).numpy().dtype == struct.numpy_dtype()
    elements = wp.zeros(3, dtype=Outer)
    assert (np.zeros(3, dtype=Outer.numpy_dtype()) == elements.numpy()).all()
    assert elements.numpy()["inner"].dtype == Inner.numpy_dtype()


def test_annotations_are_those_written():
    assert Inner.__annotations__ == {"c": "wp.vec3", "d": "wp.uint8"}  # of a file whose annotations are texts
    assert list(Outer.__annotations__) == list(Outer.vars) and Outer.__annotations__["inner"] == "Inner"


def test_text():
    s = Inner()
    s.c = (1, 2, 3)
    assert repr(s) == "Inner(\n\tc=vec3f([1.0, 2.0, 3.0]),\n\td=uint8(0),\n)"
    assert str(s) == "Inner(\n\tc=[1.0, 2.0, 3.0],\n\td=0,\n)"
    assert "\tinner=Inner(\n\t\tc=" in str(Outer())


def test_declarations():
    with pytest.raises(TypeError, match="field 'a' of struct Bad"):

        @wp.struct
        class Bad:
            a: str

    with pytest.raises(TypeError, match="can't be evaluated"):

        @wp.struct
        class Missing:
            a: NoSuchName  # noqa: F821

    with pytest.raises(TypeError, match="decorates a class"):
        wp.struct(5)

    @wp.struct
    class Empty:
        pass

    @wp.struct(module="unique")
    class WithDefault:
        a: int = 5

    assert Empty().to_bytes() == Empty().to_bytes() and Empty.numpy_dtype().names in (None, ()) and WithDefault().a == 0

    local = wp.types.vector(5, float)

    @wp.struct
    class Derived(Inner):
        e: local

    assert list(Derived.vars) == ["c", "d", "e"] and Derived().e == (0,) * 5 and issubclass(Derived, Inner)


def test_field_names_do_not_clash():
    @wp.struct
    class Names:
        key: int
        cls: int
        vars: int
        to: int
        assign: int

    s = Names()
    for k, name in enumerate(("key", "cls", "vars", "to", "assign")):
        setattr(s, name, k + 1)
    assert [s.key, s.cls, s.vars, s.to, s.assign] == [1, 2, 3, 4, 5]
    assert Names.key == "test_field_names_do_not_clash__locals__Names"


def test_a_struct_of_the_compiler_gets_a_class():
    from warp import _weft

    handle = _weft.type_struct("Made", [("a", wp.types.type_handle(float)), ("i", Inner._wp_type_)])
    cls = wp.types.class_of(handle)
    s = cls()
    s.a = 2.0
    assert cls.from_bytes(s.to_bytes()).a == 2.0 and type(s.i) is Inner


@wp.struct
class Limits:
    low: int
    high: int


@wp.func
def allowed(i: int, limits: Limits):
    for k in range(limits.low):
        if i == k:
            return False
    return i < limits.high


@wp.kernel
def count_allowed(limits: Limits, x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    if allowed(x[i], limits):
        out[x[i] - limits.low] = 1
    while allowed(x[i], Limits()):
        out[0] = 7


def test_a_function_of_a_number_and_a_struct_decides():
    limits = Limits()
    limits.low, limits.high = 3, 6
    out = wp.zeros(4, dtype=int)
    wp.launch(count_allowed, 8, [limits, wp.array(np.arange(8), dtype=int), out])
    assert out.numpy().tolist() == [1, 1, 1, 0]


def test_what_structs_are_is_called_struct():
    @wp.struct
    class One:
        a: int

    # Programs tell arrays of structs from others by this name.
    assert type(One).__name__ == "Struct" and type(wp.zeros(1, dtype=One).dtype).__name__ == "Struct"
    assert isinstance(One, wp.codegen.Struct) and not isinstance(wp.vec3, wp.codegen.Struct)
