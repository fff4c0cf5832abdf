"""Kernels from Python: decorators, closures, constants, functions, structs, generics, launch and its errors."""

from typing import Any

import numpy as np
import pytest
import warp as wp

N = wp.constant(4)
SCALE = 2.5


class Config:
    OFFSET = wp.constant(10)


@wp.func
def square(x: float):
    return x * x


@wp.func
def pair(x: float, y: float = 3.0):
    return x + y, x - y


@wp.struct
class Particle:
    mass: float
    at: wp.vec3


@wp.kernel
def basic(x: wp.array(dtype=float)):
    tid = wp.tid()
    x[tid] = float(tid)


def run(kernel, dim, *args, **kwargs):
    wp.launch(kernel, dim=dim, inputs=list(args), **kwargs)


def test_the_first_kernel_of_the_documents():
    x = wp.zeros(10, dtype=float, device="cpu")
    wp.launch(kernel=basic, dim=10, inputs=[x], device="cpu")
    assert x.numpy().tolist() == list(range(10))


@wp.kernel
def simple_kernel(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    tid = wp.tid()
    x = a[tid]
    y = b[tid]
    r = wp.dot(x, y)
    c[tid] = r


def test_vectors_from_numpy():
    rng = np.random.default_rng(0)
    an, bn = rng.random((1024, 3), dtype=np.float32), rng.random((1024, 3), dtype=np.float32)
    a, b = wp.array(an, dtype=wp.vec3), wp.array(bn, dtype=wp.vec3)
    c = wp.zeros(1024, dtype=float)
    wp.launch(simple_kernel, dim=1024, inputs=[a, b, c])
    np.testing.assert_allclose(c.numpy(), (an * bn).sum(axis=1), rtol=1e-5)


@wp.kernel
def constants(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(N):
        s += SCALE
    x[i] = s + float(Config.OFFSET) + square(2.0)


def test_globals_constants_and_functions():
    x = wp.zeros(3, dtype=float)
    run(constants, 3, x)
    assert x.numpy().tolist() == [24.0] * 3


@wp.kernel
def several(x: wp.array(dtype=float)):
    i = wp.tid()
    a, b = pair(float(i))
    x[i] = a * b


def test_functions_with_several_results_and_defaults():
    x = wp.zeros(3, dtype=float)
    run(several, 3, x)
    assert x.numpy().tolist() == [-9.0, -8.0, -5.0]
    assert pair(1.0, 2.0) == (3.0, -1.0)
    assert square(3.0) == 9.0


def make_adder(amount):
    @wp.kernel
    def add(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] + amount

    return add


def test_each_closure_is_its_own_kernel():
    one, two = make_adder(1.0), make_adder(2.0)
    x = wp.zeros(2, dtype=float)
    run(one, 2, x)
    run(two, 2, x)
    run(one, 2, x)
    assert x.numpy().tolist() == [4.0, 4.0]


def make_typed(dtype):
    @wp.kernel
    def double(x: wp.array(dtype=dtype)):
        i = wp.tid()
        x[i] = x[i] + x[i]

    return double


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64, wp.int32, wp.uint8])
def test_types_through_closures(dtype):
    x = wp.array([1, 2, 3], dtype=dtype)
    run(make_typed(dtype), 3, x)
    assert x.numpy().tolist() == [2, 4, 6]


@wp.kernel
def move(p: wp.array(dtype=Particle), v: wp.vec3):
    i = wp.tid()
    p[i].at = p[i].at + v * p[i].mass


def test_arrays_of_structs():
    p = wp.zeros(2, dtype=Particle)
    view = p.numpy()
    view["mass"] = [1.0, 2.0]
    p.assign(view)
    run(move, 2, p, wp.vec3(1.0, 2.0, 3.0))
    assert p.numpy()["at"].tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]


@wp.kernel
def use_struct(s: Particle, out: wp.array(dtype=float)):
    out[0] = s.mass + s.at[1]


def test_structs_as_arguments():
    s = Particle()
    s.mass = 2.0
    s.at = wp.vec3(1.0, 5.0, 0.0)
    out = wp.zeros(1, dtype=float)
    run(use_struct, 1, s, out)
    assert out.numpy()[0] == 7.0


@wp.kernel
def generic(x: wp.array(dtype=Any), v: Any):
    i = wp.tid()
    x[i] = x[i] + v


def test_generic_kernels():
    f, i = wp.array([1.0, 2.0], dtype=float), wp.array([1, 2], dtype=int)
    run(generic, 2, f, 0.5)
    run(generic, 2, i, 5)
    assert f.numpy().tolist() == [1.5, 2.5] and i.numpy().tolist() == [6, 7]


@wp.kernel
def image(color: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    color[i, j] = wp.vec3(float(i), float(j), 0.0)


def test_two_dimensions():
    c = wp.zeros((3, 5), dtype=wp.vec3)
    run(image, (3, 5), c)
    assert c.numpy()[2, 4].tolist() == [2.0, 4.0, 0.0]


@pytest.mark.cpu_only
def test_numpy_arrays_straight_to_launch():
    x = np.zeros(4, dtype=np.float32)
    run(basic, 4, x)
    assert x.tolist() == [0, 1, 2, 3]


def test_launch_takes_its_dim_from_the_first_array():
    x = wp.zeros(6, dtype=float)
    wp.launch(basic, inputs=[x])
    assert x.numpy()[5] == 5.0


def test_recorded_launches():
    x, y = wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)
    cmd = wp.launch(basic, dim=4, inputs=[x], record_cmd=True)
    assert x.numpy().sum() == 0
    cmd.launch()
    cmd.set_param_at_index(0, y)
    cmd.set_dim(2)
    cmd.launch()
    assert x.numpy().tolist() == [0, 1, 2, 3] and y.numpy().tolist() == [0, 1, 0, 0]
    with pytest.raises(IndexError):
        cmd.set_param_at_index(5, y)
    with pytest.raises(ValueError):
        cmd.set_param_by_name("nothing", y)


def test_static_expressions_and_unrolled_loops():
    table = [1.0, 4.0, 9.0]

    @wp.kernel
    def lookup(x: wp.array(dtype=float)):
        i = wp.tid()
        s = float(0.0)
        for k in range(3):
            s += wp.static(table[k])
        x[i] = s

    x = wp.zeros(1, dtype=float)
    run(lookup, 1, x)
    assert x.numpy()[0] == 14.0


def test_static_expressions_of_kernels_that_a_loop_declares():
    kernels = []
    for k in range(3):

        @wp.kernel
        def shifted(x: wp.array(dtype=float)):
            x[wp.tid()] = wp.static(float(k) + sum([float(k) for _ in range(2)]))

        kernels.append(shifted)
    x = wp.zeros(1, dtype=float)
    got = []
    for k in kernels:  # the name means something else by now
        run(k, 1, x)
        got.append(float(x.numpy()[0]))
    assert got == [0.0, 3.0, 6.0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_static_expressions_that_fail_are_evaluated_once(error):
    raised = []

    def give():
        if len(raised) < 2:
            raised.append(error("not now"))
            raise raised[-1]
        return 3.0

    @wp.kernel
    def asks(x: wp.array(dtype=float)):
        x[wp.tid()] = wp.static(give())

    x = wp.zeros(2, dtype=float)
    for count in (1, 2):
        with pytest.raises(error if error is not ValueError else wp.codegen.WarpCodegenError, match="not now"):
            wp.launch(asks, dim=2, inputs=[x])
        assert len(raised) == count
    wp.launch(asks, dim=2, inputs=[x])
    assert x.numpy().tolist() == [3.0, 3.0]


def test_static_expressions_fail_once_at_every_depth():
    depth = []

    def value_of(kernel):
        x = wp.zeros(1, dtype=float)
        wp.launch(kernel, dim=1, inputs=[x])
        return float(x.numpy()[0])

    def endless():
        depth.append(len(depth))

        @wp.kernel
        def deeper(x: wp.array(dtype=float)):
            x[0] = wp.static(value_of(endless()))

        return deeper

    with pytest.raises(wp.codegen.WarpCodegenError, match="deep"):
        value_of(endless())
    assert len(depth) < 50


def test_print_goes_to_python_stdout(capsys):
    @wp.kernel
    def talk(x: wp.array(dtype=float)):
        print(x[0])

    run(talk, 1, wp.array([2.5], dtype=float))
    wp.synchronize()
    assert "2.5" in capsys.readouterr().out


def test_text_among_the_values_of_printf(capsys):
    name = "50% of"

    @wp.kernel
    def talk(x: wp.array(dtype=float)):
        wp.printf("%s %d%% [%6s] [%-6s] [%.2s] %s %.1f%s", "at", 7, "ab", "ab", "abc", wp.static(name), x[0], "!\n")

    run(talk, 1, wp.array([2.5], dtype=float))
    wp.synchronize()
    assert capsys.readouterr().out == "at 7% [    ab] [ab    ] [ab] 50% of 2.5!\n"


def test_errors_name_file_line_and_column():
    @wp.kernel
    def wrong(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 1

    with pytest.raises(RuntimeError) as caught:
        run(wrong, 1, wp.zeros(1, dtype=float))
    text = str(caught.value)
    assert "test_kernels.py:" in text and "can't store int32" in text and "^" in text


@pytest.mark.parametrize(
    "body, error",
    [
        ("y = unknown_name", KeyError),
        ("y = 1.0\n    y = 2", TypeError),
        ("y = x[i].q", AttributeError),
        ("y = [1, 2]", RuntimeError),
        ("y = 1.0 + 2", RuntimeError),
        ("return 3", TypeError),
    ],
)
def test_exception_classes(body, error):
    source = f"@wp.kernel\ndef bad(x: wp.array(dtype=float)):\n    i = wp.tid()\n    {body}\n"
    kernel = wp.context.kernel_from_text(source, "bad", {"wp": wp})
    with pytest.raises(error):
        run(kernel, 1, wp.zeros(1, dtype=float))


def test_launch_errors():
    x = wp.zeros(4, dtype=float)
    with pytest.raises(RuntimeError):
        run(basic, 4)
    with pytest.raises(RuntimeError):
        run(basic, 4, wp.zeros(4, dtype=wp.float64))
    with pytest.raises(RuntimeError):
        run(basic, 4, wp.zeros((4, 4), dtype=float))
    with pytest.raises(ValueError):
        run(basic, -1, x)
    with pytest.raises(ValueError):
        run(basic, (1, 1, 1, 1, 1), x)
    with pytest.raises(TypeError):
        run(basic, 4.0, x)
    with pytest.raises(RuntimeError):
        wp.launch(square, dim=1, inputs=[x])
    with pytest.raises(NotImplementedError):
        basic(x)
    with pytest.raises(ValueError):
        run(basic, 4, x, device="nonsense")
    run(basic, 0, x)


def test_debug_mode_names_index_and_extent():
    @wp.kernel
    def beyond(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i + 2] = 1.0

    wp.config.mode = "debug"
    try:
        with pytest.raises(RuntimeError, match="out of bounds.*extent 4"):
            run(beyond, 4, wp.zeros(4, dtype=float))
            wp.synchronize()
    finally:
        wp.config.mode = "release"


def _factory(dtype: Any, returns: Any) -> wp.Kernel:
    """Annotations that are no names of the function's body: only their values are known."""

    @wp.func
    def pair(x: dtype, n: int) -> returns:
        return x * x, n + 1

    @wp.kernel
    def k(a: wp.array(dtype=dtype), n: wp.array(dtype=int)):
        a[0], n[0] = pair(a[0], n[0])

    return k


@pytest.mark.parametrize("dtype", [wp.float32, wp.float64])
def test_return_annotations_that_are_values(dtype: Any) -> None:
    for returns in (tuple[dtype, int], (dtype, int)):
        a, n = wp.full(1, 3.0, dtype=dtype), wp.zeros(1, dtype=int)
        wp.launch(_factory(dtype, returns), 1, [a, n])
        assert a.list() == [9.0] and n.list() == [1]
    for returns in (tuple[dtype, wp.int64], dtype, None):
        with pytest.raises(wp.WarpCodegenError, match="its annotation says"):
            wp.launch(_factory(dtype, returns), 1, [a, n])


def test_messages_know_kernels_by_the_name_they_were_given() -> None:
    @wp.kernel(name="given_name")
    def k(a: wp.array(dtype=float)):
        a[0] = 1.0

    with pytest.raises(RuntimeError, match="kernel 'given_name'"):
        wp.launch(k, 1, ["text"])


def test_missing_annotations_raise_at_decoration():
    with pytest.raises(RuntimeError):

        @wp.kernel
        def bare(x):
            pass


def test_many_threads():
    import threading

    wrong = []

    def work(k):
        for _ in range(50):
            x = wp.zeros(64, dtype=float)
            run(basic, 64, x)
            if x.numpy()[63] != 63.0:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_builtins_from_python():
    assert wp.sin(0.0) == 0.0
    v = wp.normalize(wp.vec3(3.0, 0.0, 4.0))
    assert abs(v[0] - 0.6) < 1e-6
    assert wp.dot(wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 1.0, 1.0)) == 6.0
