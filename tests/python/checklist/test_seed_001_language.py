"""The runtime document: structs, conversions, constants, operators, and the language its geometry kernels use."""

import re

import numpy as np
import pytest

import warp as wp


@wp.struct
class MyStruct:

    param1: int
    param2: float
    param3: wp.array(dtype=wp.vec3)


@wp.kernel
def compute(args: MyStruct):

    tid = wp.tid()

    print(args.param1)
    print(args.param2)
    print(args.param3[tid])


def test_seed_081_082_083_structs_as_arguments(capfd):
    """A struct with numbers and an array, filled in Python, read and printed in a kernel."""
    # construct an instance of the struct in Python
    s = MyStruct()
    s.param1 = 10
    s.param2 = 2.5
    s.param3 = wp.zeros(shape=10, dtype=wp.vec3)

    # pass to our compute kernel
    wp.launch(compute, dim=10, inputs=[s])
    wp.synchronize()
    out = capfd.readouterr().out.split("\n")
    assert out.count("10") == 10 and out.count("2.5") == 10
    vectors = [line for line in out if [float(part) for part in re.findall(r"[-+.\de]+", line)] == [0.0, 0.0, 0.0]]
    assert len(vectors) == 10


def test_seed_084_arrays_of_structs_of_zeros():
    """zeros(shape=10, dtype=MyStruct)."""
    a = wp.zeros(shape=10, dtype=MyStruct)
    assert a.shape == (10,) and not a.numpy()["param1"].any() and not a.numpy()["param2"].any()


@wp.kernel
def sum_structs(a: wp.array(dtype=MyStruct), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = float(a[i].param1) + a[i].param2


def test_seed_085_arrays_from_a_list_of_structs():
    """wp.array([MyStruct(), …], dtype=MyStruct)."""
    a = wp.array([MyStruct(), MyStruct(), MyStruct()], dtype=MyStruct)
    assert a.shape == (3,)
    items = []
    for k in range(3):
        s = MyStruct()
        s.param1, s.param2 = k, 0.5
        items.append(s)
    out = wp.zeros(3, dtype=float)
    wp.launch(sum_structs, dim=3, inputs=[wp.array(items, dtype=MyStruct), out])
    assert out.list() == [0.5, 1.5, 2.5]


@wp.kernel
def mixes_types(out: wp.array(dtype=float)):
    x = float(0.0) + int(4)
    out[0] = x


@wp.kernel
def casts(out: wp.array(dtype=float)):
    x = float(0.0) + float(int(4))
    h = wp.float16(1.5) + wp.float16(int(2))
    u = wp.uint8(300) + wp.uint8(1)
    out[0] = x
    out[1] = float(h)
    out[2] = float(u)
    out[3] = float(int(-2.75))


def test_seed_086_no_implicit_conversion():
    """float + int is an error that names both types and the cast; casts convert."""
    with pytest.raises(RuntimeError) as caught:
        wp.launch(mixes_types, dim=1, inputs=[wp.zeros(1, dtype=float)])
    text = str(caught.value)
    assert "Input types must be the same" in text and "float32" in text and "int32" in text
    out = wp.zeros(4, dtype=float)
    wp.launch(casts, dim=1, inputs=[out])
    assert out.list() == [4.0, 3.5, 45.0, -2.0]


TYPE_SPHERE = wp.constant(0)
TYPE_CUBE = wp.constant(1)
TYPE_CAPSULE = wp.constant(2)


class Shapes:
    SPHERE = wp.constant(0)
    RADIUS = wp.constant(2.5)


@wp.kernel
def collide(geometry: wp.array(dtype=int)):

    t = geometry[wp.tid()]

    if (t == TYPE_SPHERE):
        print("sphere")
    if (t == TYPE_CUBE):
        print("cube")
    if (t == TYPE_CAPSULE):
        print("capsule")


@wp.kernel
def class_constants(out: wp.array(dtype=float)):
    if int(out[0]) == Shapes.SPHERE:
        out[0] = Shapes.RADIUS


def test_seed_087_constants(capsys):
    """wp.constant at global scope and in classes is folded into kernels."""
    wp.config.cpu_threads = 1
    try:
        wp.launch(collide, dim=4, inputs=[wp.array([0, 2, 1, 0], dtype=int)])
    finally:
        wp.config.cpu_threads = 0
    wp.synchronize()
    assert capsys.readouterr().out.split() == ["sphere", "capsule", "cube", "sphere"]
    out = wp.zeros(1, dtype=float)
    wp.launch(class_constants, dim=1, inputs=[out])
    assert out[0] == 2.5


a_list_of_numbers = [1.0, 2.0]
an_array = wp.zeros(2, dtype=float)


@wp.kernel
def reads_a_list(out: wp.array(dtype=float)):
    out[0] = a_list_of_numbers[0]


@wp.kernel
def reads_an_array(out: wp.array(dtype=float)):
    out[0] = an_array[0]


def test_seed_088_other_globals_are_out_of_reach():
    """Lists and arrays of the Python program can't be read from a kernel; the message says what the name is."""
    for kernel, name in ((reads_a_list, "a_list_of_numbers"), (reads_an_array, "an_array")):
        with pytest.raises((RuntimeError, TypeError), match=name):
            wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=float)])


@wp.func
def count(calls: wp.array(dtype=int), k: int, answer: bool):
    calls[k] = calls[k] + 1
    return answer


@wp.kernel
def logic(calls: wp.array(dtype=int), out: wp.array(dtype=int)):
    if count(calls, 0, False) and count(calls, 1, True):
        out[0] = 1
    if count(calls, 2, True) or count(calls, 3, True):
        out[1] = 1
    if not count(calls, 4, False):
        out[2] = 1
    if count(calls, 5, True) and count(calls, 6, True):
        out[3] = 1


def test_seed_089_boolean_operators_short_circuit():
    """and, or, not; better than the document: the second operand runs only where it is needed."""
    calls, out = wp.zeros(7, dtype=int), wp.zeros(4, dtype=int)
    wp.launch(logic, dim=1, inputs=[calls, out])
    assert out.list() == [0, 1, 1, 1] and calls.list() == [1, 0, 1, 0, 1, 1, 1]


@wp.kernel
def comparisons(a: float, b: float, out: wp.array(dtype=int)):
    out[0] = int(a > b)
    out[1] = int(a < b)
    out[2] = int(a >= b)
    out[3] = int(a <= b)
    out[4] = int(a == b)
    out[5] = int(a != b)


def test_seed_090_comparisons():
    """The six comparisons."""
    for a, b in ((1.0, 2.0), (2.0, 1.0), (1.5, 1.5)):
        out = wp.zeros(6, dtype=int)
        wp.launch(comparisons, dim=1, inputs=[a, b, out])
        assert out.list() == [a > b, a < b, a >= b, a <= b, a == b, a != b]


@wp.kernel
def float_arithmetic(a: float, b: float, out: wp.array(dtype=float)):
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = a / b
    out[4] = a // b
    out[5] = a ** b
    out[6] = a % b


@wp.kernel
def int_arithmetic(a: int, b: int, out: wp.array(dtype=int)):
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = a / b
    out[4] = a // b
    out[5] = a % b


def test_seed_091_arithmetic():
    """/ divides floats and truncates integers, // floors, % takes the sign of the dividend, ** is a power."""
    for a, b in ((7.5, 2.0), (7.5, -2.0), (0.25, 3.0)):
        out = wp.zeros(7, dtype=float)
        wp.launch(float_arithmetic, dim=1, inputs=[a, b, out])
        expected = [a + b, a - b, a * b, a / b, a // b, a**b, np.fmod(a, b)]
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)
    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2), (5, 0)):
        out = wp.zeros(6, dtype=int)
        wp.launch(int_arithmetic, dim=1, inputs=[a, b, out])
        if b:
            assert out.list() == [a + b, a - b, a * b, int(a / b), a // b, int(np.fmod(a, b))]
        else:
            assert out.list() == [a + b, a - b, a * b, 0, 0, a]


@wp.kernel
def products(m: wp.mat33, v: wp.vec3, out: wp.array(dtype=wp.vec3), square: wp.array(dtype=wp.mat33)):
    out[0] = m * v
    out[1] = m @ v
    out[2] = 2.0 * v
    square[0] = m * m
    square[1] = m @ m


def test_seed_092_products():
    """* is the product with numbers and of matrices; better than the document, @ is the same product."""
    mn, vn = np.arange(9, dtype=np.float32).reshape(3, 3), np.array([1.0, -2.0, 0.5], dtype=np.float32)
    out, square = wp.zeros(3, dtype=wp.vec3), wp.zeros(2, dtype=wp.mat33)
    wp.launch(products, dim=1, inputs=[wp.mat33(*mn.flatten()), wp.vec3(*vn), out, square])
    np.testing.assert_allclose(out.numpy(), [mn @ vn, mn @ vn, 2 * vn])
    np.testing.assert_allclose(square.numpy(), [mn @ mn] * 2)


@wp.kernel
def shade(normals: wp.array(dtype=wp.vec3), hit: wp.array(dtype=wp.bool), colors: wp.array(dtype=wp.vec3)):
    tid = wp.tid()
    n = normals[tid]
    color = wp.vec3()
    if hit[tid]:
        # if we got a hit then set color to the face normal
        color = n*0.5 + wp.vec3(0.5, 0.5, 0.5)
    colors[tid] = color


def test_seed_096_vector_expressions_and_conditions():
    """color = n*0.5 + wp.vec3(…) under an if on a bool."""
    normals = np.array([[1, 0, 0], [0, -1, 0]], dtype=np.float32)
    colors = wp.empty(2, dtype=wp.vec3)
    wp.launch(shade, dim=2, inputs=[wp.array(normals, dtype=wp.vec3), wp.array([True, False], dtype=wp.bool), colors])
    np.testing.assert_array_equal(colors.numpy(), [[1.0, 0.5, 0.5], [0, 0, 0]])


@wp.kernel
def neighbors(
    handle: wp.uint64, points: wp.array(dtype=wp.vec3), output: wp.array(dtype=wp.vec3), radius: float,
    handles: wp.array(dtype=wp.uint64),
):
    tid = wp.tid()
    p = points[tid]
    index = int(0)
    sum = wp.vec3()
    while index < points.shape[0]:
        neighbor = points[index]
        # compute distance to neighbor point
        dist = wp.length(p-neighbor)
        if (dist <= radius):
            sum += neighbor
        index += 1
    output[tid] = sum
    handles[tid] = handle


def test_seed_108_length_sums_of_vectors_and_handles():
    """length, sum += neighbor, and a uint64 parameter, as the hash grid's kernel has them."""
    pn = np.random.default_rng(3).random((50, 3), dtype=np.float32)
    output, handles = wp.zeros(50, dtype=wp.vec3), wp.zeros(50, dtype=wp.uint64)
    handle = 2**63 + 12345
    wp.launch(neighbors, dim=50, inputs=[handle, wp.array(pn, dtype=wp.vec3), output, 0.5, handles])
    near = np.linalg.norm(pn[:, None] - pn[None], axis=2) <= 0.5
    np.testing.assert_allclose(output.numpy(), near @ pn, rtol=1e-4)
    assert (handles.numpy() == np.uint64(handle)).all()


def test_seed_110_buffers_that_require_gradients():
    """requires_grad=True gives an array a gradient of zeros of the same shape and type."""
    a = wp.zeros(1024, dtype=wp.vec3, device="cpu", requires_grad=True)
    assert a.requires_grad and a.grad.shape == (1024,) and a.grad.dtype is wp.vec3 and not a.grad.numpy().any()


@wp.kernel
def loops(n: int, out: wp.array(dtype=float)):
    x = 0.0
    for i in range(n):
        x += 2.0
    for i in range(3):
        x += 0.25
    out[0] = x
    out[0] = out[0] + 1.0
    wp.atomic_add(out, 0, 1.0)


def test_seed_114_loops_may_change_locals():
    """Better than the document: dynamic loops change variables of before; values in arrays may be overwritten."""
    out = wp.zeros(1, dtype=float)
    wp.launch(loops, dim=1, inputs=[100, out])
    assert out[0] == 202.75
