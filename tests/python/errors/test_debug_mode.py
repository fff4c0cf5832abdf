"""Debug mode: every failed check is an exception that names kernel, file, line, thread, array and index."""

import inspect
import re

import pytest

import warp as wp


@wp.struct
class Holder:
    values: wp.array(dtype=float)


@wp.func
def read(x: wp.array(dtype=float), i: int):
    return x[i]


@wp.kernel
def stores_beyond(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j + 2] = 1.0


@wp.kernel
def reads_beyond(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = read(x, i * 3)


@wp.kernel
def adds_before(x: wp.array(dtype=float)):
    wp.atomic_add(x, wp.tid() - 10, 1.0)


@wp.kernel
def field_beyond(s: Holder):
    s.values[wp.tid() + 7] = 1.0


@wp.kernel
def row_beyond(x: wp.array2d(dtype=float)):
    row = x[wp.tid() + 3]
    row[0] = 1.0


@wp.kernel
def component_beyond(x: wp.array(dtype=wp.vec3), k: int):
    v = x[0]
    v[k] = 1.0
    x[0] = v


@wp.kernel
def writes_nothing(x: wp.array(dtype=float)):
    x[0] = 1.0


@wp.kernel
def asserts(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 2.0, "too large"


@wp.kernel
def divides(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = 7 // x[i]


@wp.kernel
def roots(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i])


@wp.kernel
def roots2(x: wp.array2d(dtype=float), y: wp.array2d(dtype=wp.vec2)):
    i, j = wp.tid()
    y[i, j] = wp.vec2(1.0, wp.sqrt(x[i, j]))


@wp.kernel
def roots4(x: wp.array4d(dtype=float)):
    i, j, k, l = wp.tid()
    x[i, j, k, l] = wp.sqrt(x[i, j, k, l])


@wp.kernel
def huge(x: wp.array(dtype=wp.float64)):
    x[wp.tid()] = x[wp.tid()] * wp.float64(1.0e300)


@pytest.fixture(autouse=True)
def debug_mode():
    wp.config.mode, wp.config.verify_cuda = "debug", True
    yield
    wp.config.mode, wp.config.verify_cuda = "release", False
    wp.config.verify_fp = False


@pytest.fixture
def verify_fp():
    wp.config.verify_fp = True


def line_of(thing, text: str) -> int:
    """The line in this file where a kernel or function says `text`."""
    lines, first = inspect.getsourcelines(getattr(thing, "func", thing))
    return next(first + k for k, line in enumerate(lines) if text in line)


def failure(kernel, dim, *args) -> str:
    with pytest.raises(RuntimeError) as caught:
        wp.launch(kernel, dim=dim, inputs=list(args))
    text = str(caught.value)
    assert f"'{kernel.key}'" in text and "test_debug_mode.py:" in text
    return text


def expect(text: str, line: int, thread: str, *words: str) -> None:
    assert f"test_debug_mode.py:{line}" in text
    assert re.search(f"thread {thread}", text), text
    for word in words:
        assert word in text, text


def test_stores():
    text = failure(stores_beyond, (3, 4), wp.zeros((3, 4), dtype=float))
    expect(text, line_of(stores_beyond, "x[i, j + 2]"), r"\(\d, [23]\)", "'x (dimension 1)'", "extent 4")
    assert re.search(r"index [45] is out of bounds", text)


def test_loads_in_functions():
    text = failure(reads_beyond, 4, wp.zeros(4, dtype=float), wp.zeros(4, dtype=float))
    expect(text, line_of(read, "return x[i]"), r"\([23],\)", "'x'", "extent 4")


def test_atomics():
    text = failure(adds_before, 4, wp.zeros(4, dtype=float))
    expect(text, line_of(adds_before, "atomic_add"), r"\(\d,\)", "out of bounds", "'x'", "extent 4", "index -")


def test_arrays_in_structs():
    s = Holder()
    s.values = wp.zeros(4, dtype=float)
    text = failure(field_beyond, 4, s)
    expect(text, line_of(field_beyond, "s.values["), r"\(\d,\)", "'s.values'", "extent 4")


def test_rows():
    text = failure(row_beyond, 1, wp.zeros((3, 4), dtype=float))
    expect(text, line_of(row_beyond, "row = x"), r"\(0,\)", "'x (dimension 0)'", "index 3", "extent 3")


def test_components():
    text = failure(component_beyond, 1, wp.zeros(1, dtype=wp.vec3), 3)
    expect(text, line_of(component_beyond, "v[k]"), r"\(0,\)", "'v'", "index 3", "extent 3")


def test_null_arrays():
    text = failure(writes_nothing, 1, None)
    expect(text, line_of(writes_nothing, "x[0]"), r"\(0,\)", "'x'", "extent 0")


def test_empty_arrays():
    failure(writes_nothing, 1, wp.zeros(0, dtype=float))


def test_assertions():
    text = failure(asserts, 4, wp.array([0.0, 1.0, 2.0, 1.5], dtype=float))
    expect(text, line_of(asserts, "assert x[i]"), r"\(2,\)", "assertion failed", "too large")


def test_divisions():
    text = failure(divides, 4, wp.array([1, 0, 2, 3], dtype=int), wp.zeros(4, dtype=int))
    expect(text, line_of(divides, "7 //"), r"\(1,\)", "division by zero")


def test_not_finite(verify_fp):
    text = failure(roots, 4, wp.array([0.0, 1.0, -2.0, 3.0], dtype=float), wp.zeros(4, dtype=float))
    expect(text, line_of(roots, "sqrt"), r"\(2,\)", "'y[2]'", "not finite")


def test_not_finite_in_more_dimensions(verify_fp):
    values = wp.ones((3, 4), dtype=float)
    values[2, 1] = -1.0
    text = failure(roots2, (3, 4), values, wp.zeros((3, 4), dtype=wp.vec2))
    expect(text, line_of(roots2, "sqrt"), r"\(2, 1\)", "'y[2, 1]'", "not finite")
    deep = wp.ones((2, 3, 4, 5), dtype=float)
    deep[1, 2, 3, 4] = -1.0
    text = failure(roots4, deep.shape, deep)
    expect(text, line_of(roots4, "sqrt"), r"\(1, 2, 3, 4\)", "'x[1, 2, 3, 4]'", "not finite")


def test_infinity_is_not_finite(verify_fp):
    text = failure(huge, 2, wp.array([1.0, 1.0e10], dtype=wp.float64))
    expect(text, line_of(huge, "1.0e300"), r"\(1,\)", "'x[1]'", "not finite")


def test_without_verify_fp_not_a_number_passes():
    y = wp.zeros(1, dtype=float)
    wp.launch(roots, dim=1, inputs=[wp.array([-1.0], dtype=float), y])
    assert y.numpy()[0] != y.numpy()[0]


def test_release_mode_checks_nothing():
    wp.config.mode = "release"
    x = wp.array([5.0], dtype=float)
    wp.launch(asserts, dim=1, inputs=[x])
    y = wp.zeros(1, dtype=int)
    wp.launch(divides, dim=1, inputs=[wp.zeros(1, dtype=int), y])
    assert y[0] == 0


def test_many_failures_at_once_and_work_goes_on():
    """One of many failing threads is reported; the next launch is not harmed."""
    for _ in range(5):
        failure(adds_before, 100_000, wp.zeros(4, dtype=float))
    x = wp.zeros(4, dtype=float)
    wp.launch(writes_nothing, dim=1, inputs=[x])
    assert x[0] == 1.0


def test_serial_mode_reports_the_first_thread():
    wp.config.cpu_threads = 1
    try:
        text = failure(stores_beyond, (3, 4), wp.zeros((3, 4), dtype=float))
    finally:
        wp.config.cpu_threads = 0
    expect(text, line_of(stores_beyond, "x[i, j + 2]"), r"\(0, 2\)", "index 4 ")


def test_the_module_option():
    """mode can be set for one kernel's module too."""
    wp.config.mode = "release"

    @wp.kernel(module="unique")
    def beyond(x: wp.array(dtype=float)):
        x[4] = 1.0

    beyond.module.options["mode"] = "debug"
    with pytest.raises(RuntimeError, match="out of bounds"):
        wp.launch(beyond, dim=1, inputs=[wp.zeros(4, dtype=float)])


def test_recorded_launches_check_too():
    x = wp.zeros(4, dtype=float)
    cmd = wp.launch(adds_before, dim=4, inputs=[x], record_cmd=True)
    with pytest.raises(RuntimeError, match="out of bounds"):
        cmd.launch()
