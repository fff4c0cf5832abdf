"""Threads that meet: atomics whose gradient hangs on their order, and the search for threads that store to or read one
element (wp.config.verify_autograd_array_access)."""

from typing import Any

import numpy as np
import pytest
import warp as wp
from gradient_cases import collector, d
from tape_support import doubles, zeros

CASES, case = collector()
SERIAL = ("serial",)


@case(ordered=True, x=[0.3, 0.7, 0.2, 0.9, 0.8])
@wp.kernel
def running_sum(x: wp.array(dtype=d), total: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    before = wp.atomic_add(total, 0, x[i] * x[i])
    out[i] = before * before + x[i]


@case(ordered=True, x=[0.3, 0.7, 0.2, 0.9, 0.8])
@wp.kernel
def running_maximum(x: wp.array(dtype=d), top: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    before = wp.atomic_max(top, 1, x[i])
    out[i] = before * x[i]


@case(ordered=True, x=[0.3, 0.7, 0.2, 0.9, 0.8])
@wp.kernel
def handed_on(x: wp.array(dtype=d), slot: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    before = wp.atomic_exch(slot, 0, wp.sin(x[i]))
    out[i] = before * x[i]


@case(ordered=True, x=[0.3, 0.7, 0.2, 0.9, 0.8])
@wp.kernel
def extremes_and_sums(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_max(out, 0, x[i])
    wp.atomic_add(out, 0, x[i] * d(0.1))
    wp.atomic_min(out, 0, x[i] * d(2.0))


@case(modes=SERIAL)
@wp.kernel
def last_store_wins(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[0] = out[0] * d(0.5) + x[i] * x[i]


@case(n=[0, 1, 4, 7, 2])
@wp.kernel
def own_elements(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):
    i = wp.tid()
    s = x[i]
    for j in range(n[i]):
        s = wp.sin(s) + wp.atomic_add(out, i, s * s)
        s = s * wp.atomic_max(out, i, s * d(0.7))
        s = s + wp.atomic_exch(out, i, s * x[i])


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_agrees_with_differences(case) -> None:
    case.check()


@pytest.mark.parametrize(("kernel", "line"), [(running_sum, "before = "), (extremes_and_sums, "atomic_max")])
def test_an_unknown_order_is_an_error(kernel: wp.Kernel, line: str) -> None:
    """For adjoints of launches that nobody has watched."""
    arrays = [zeros(4) for _ in kernel.func.__annotations__]
    wp.launch(kernel, 4, arrays)
    with pytest.raises(RuntimeError, match="depends on the order of the threads|may overwrite it") as error:
        wp.launch(kernel, 4, arrays, adjoint=True)
    assert line in str(error.value) and "tape" in str(error.value).lower()


def test_tapes_keep_the_order_where_it_matters() -> None:
    """Many threads, that would run on all cores and lanes of a GPU or CPU: each result is what those before have left."""
    n = 20000
    x, total, out = doubles(np.sin(np.arange(n)) * 0.1), zeros(1), zeros(n)
    with wp.Tape() as tape:
        wp.launch(running_sum, n, [x, total, out])
    before = np.concatenate([[0.0], np.cumsum(x.numpy() ** 2)[:-1]])
    np.testing.assert_allclose(out.numpy(), before**2 + x.numpy(), rtol=1e-12)
    for _ in range(2):
        tape.backward(grads={out: wp.ones(n, dtype=d)})
        behind = np.concatenate([np.cumsum((2 * before)[::-1])[::-1][1:], [0.0]])
        np.testing.assert_allclose(x.grad.numpy(), behind * 2 * x.numpy() + 1.0, rtol=1e-10)
        tape.zero()


def test_one_thread_has_an_order() -> None:
    x, total, out = doubles([0.5]), zeros(1), zeros(1)
    with wp.Tape() as tape:
        wp.launch(running_sum, 1, [x, total, out])
        wp.launch(running_sum, 1, [x, total, out])
    tape.backward(grads={out: wp.ones(1, dtype=d)})
    np.testing.assert_allclose(x.grad.numpy(), [4 * 0.5**3 + 1.0])


@pytest.mark.cpu_only
def test_serial_adjoints_that_need_no_order_agree_with_parallel_ones() -> None:
    @wp.kernel
    def spread(x: wp.array(dtype=d), out: wp.array(dtype=d)):
        i = wp.tid()
        wp.atomic_add(out, i % 7, x[i] * x[(i * 5) % 1000])

    values = np.sin(np.arange(1000.0))
    found = []
    for threads in (0, 1):
        wp.config.cpu_threads = threads
        try:
            x, out = doubles(values), zeros(7)
            with wp.Tape() as tape:
                wp.launch(spread, 1000, [x, out])
            tape.backward(grads={out: doubles(np.arange(7.0), grad=False)})
            found.append(x.grad.numpy())
        finally:
            wp.config.cpu_threads = 0
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13, atol=1e-13)


# ---- threads that meet -------------------------------------------------------------------------------------------------


@wp.kernel
def two_store(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i // 2] = x[i]


@wp.kernel
def one_reads(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    out[i] = x[i]
    x[i] = out[(i + 1) % 4]


@wp.kernel
def one_reads_a_sum(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_add(out, 2, x[i])
    x[i] = out[2]


@wp.kernel
def view_of_a_view(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    part = out[1:]
    part[i] = x[i]
    out[i] = x[i]


@wp.kernel
def all_apart(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    own = wp.zeros(shape=(3,), dtype=d)
    own[i % 3] = x[i] * x[0]
    out[i] = out[i] + own[i % 3]
    out[i] = out[i] * x[0]


@wp.kernel
def only_added_to(x: wp.array(dtype=d), out: wp.array(dtype=d)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])
    out[1] -= x[i]
    wp.atomic_max(out, 3, x[i])


@wp.kernel
def flags(x: wp.array(dtype=d), seen: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > d(0.0):
        seen[0] = 1


@pytest.fixture
def watched():
    wp.config.verify_autograd_array_access = True
    yield
    wp.config.verify_autograd_array_access = False


@pytest.mark.parametrize(
    ("kernel", "element", "threads"),
    [
        (two_store, "'out[0]'", ("thread 0 stores", "thread 1 stores")),
        (one_reads, "'out[1]'", ("thread 0 reads", "thread 1 stores")),
        (one_reads_a_sum, "'out[2]'", ("thread 0 reads", "thread 1 changes")),
        (view_of_a_view, "'out[1]'", ("thread 0 stores", "thread 1 stores")),
    ],
    ids=lambda one: getattr(one, "key", ""),
)
def test_threads_that_meet_are_found(kernel: wp.Kernel, element: str, threads: Any, watched: None) -> None:
    x, out = doubles([1.0, 2.0, 3.0, 4.0]), zeros(5)
    with pytest.raises(RuntimeError, match="two threads meet") as error, wp.Tape():
        wp.launch(kernel, 4, [x, out])
    text = str(error.value)
    assert f"kernel '{kernel.key}'" in text and element in text and "test_gradient_threads.py:" in text, text
    for one in threads:
        assert one in text, text
    assert not out.numpy().any(), "the launch must not have run"


@pytest.mark.parametrize("kernel", [all_apart, only_added_to], ids=lambda one: one.key)
def test_threads_that_keep_apart_are_left_alone(kernel: wp.Kernel, watched: None) -> None:
    x, out = doubles([1.0, 2.0, 3.0, 4.0]), zeros(4)
    with wp.Tape():
        wp.launch(kernel, 4, [x, out])
    assert out.numpy().any()


def test_numbers_without_gradients_may_be_stored_by_all(watched: None) -> None:
    seen = wp.zeros(1, dtype=int)
    with wp.Tape():
        wp.launch(flags, 4, [doubles([1.0, 2.0, 3.0, 4.0]), seen])
    assert seen.numpy()[0] == 1


def test_one_array_for_two_parameters(watched: None) -> None:
    x = doubles([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    with pytest.raises(RuntimeError, match="two threads meet"), wp.Tape():
        wp.launch(two_store, 4, [x[0:4], x[2:6]])
    assert x.numpy().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_more_dimensions_and_components(watched: None) -> None:
    @wp.kernel
    def rows(x: wp.array2d(dtype=wp.vec3d)):
        i, j = wp.tid()
        x[i, 1][2] = x[i, j][0]

    @wp.kernel
    def components(x: wp.array2d(dtype=wp.vec3d)):
        i, j = wp.tid()
        x[i, 0][j] = x[i, j][0] * d(2.0)

    x = wp.ones((2, 3), dtype=wp.vec3d, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"'x\[0, 1\]': thread \(0, 0\) .* thread \(0, 1\) "), wp.Tape():
        wp.launch(rows, (2, 3), [x])
    with wp.Tape():
        wp.launch(components, (2, 3), [x])


@pytest.mark.cpu_only
def test_serial_launches_have_an_order(watched: None) -> None:
    wp.config.cpu_threads = 1
    try:
        x, out = doubles([1.0, 2.0, 3.0, 4.0]), zeros(4)
        with wp.Tape() as tape:
            wp.launch(two_store, 4, [x, out])
        tape.backward(grads={out: wp.ones(4, dtype=d)})
        assert x.grad.numpy().tolist() == [0.0, 1.0, 0.0, 1.0]
    finally:
        wp.config.cpu_threads = 0


def test_printing_kernels_print_once(watched: None, capfd: pytest.CaptureFixture) -> None:
    @wp.kernel
    def says(x: wp.array(dtype=d), out: wp.array(dtype=d)):
        i = wp.tid()
        print(i)
        out[i] = x[i]

    with wp.Tape():
        wp.launch(says, 3, [doubles([1.0, 2.0, 3.0]), zeros(3)])
    wp.synchronize()
    assert sorted(capfd.readouterr().out.split()) == ["0", "1", "2"]
