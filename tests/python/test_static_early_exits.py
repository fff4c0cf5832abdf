"""wp.static of a function's own constants behind statements that may have left it."""

import pytest

import warp as wp

ROWS = 3


@wp.kernel
def constant_between_returns(i: int, out: wp.array(dtype=int)):
    if i > 100:
        return
    rows = wp.static(ROWS)
    columns = 2
    if i > 50:
        return
    start = 10 * i
    if wp.static(rows == 1):
        out[0] = wp.static(no_such_function)(rows)  # noqa: F821 - never looked at
    else:
        for k in range(rows):
            start += wp.static(rows + columns)
        out[0] = start


@wp.kernel
def constant_assigned_again(i: int, out: wp.array(dtype=int)):
    n = 1
    if i > 100:
        return
    n = 7
    if i > 50:
        return
    out[0] = wp.static(n + 1) + n


@wp.func
def of_a_function(i: int):
    if i > 100:
        return -1
    n = 5
    if i > 50:
        return -2
    m = i + n
    return wp.static(n * n) + m


@wp.kernel
def constant_in_function(i: int, out: wp.array(dtype=int)):
    out[0] = of_a_function(i)


@pytest.mark.parametrize(
    "kernel, values",
    [
        (constant_between_returns, {1: 25, 60: 0, 101: 0}),
        (constant_assigned_again, {1: 15, 60: 0, 101: 0}),
        (constant_in_function, {1: 31, 60: -2, 101: -1}),
    ],
    ids=lambda x: getattr(x, "key", ""),
)
def test_constants_stay_constants_behind_returns(kernel, values):
    for i, value in values.items():
        out = wp.zeros(1, dtype=int)
        wp.launch(kernel, dim=1, inputs=[i, out])
        assert out.list() == [value]


@wp.kernel
def left_by_break(n: int, stop: int, skip: int, out: wp.array(dtype=int)):
    last = int(0)
    for j in range(n):
        if j == stop:
            break
        last = 3
        if j == skip:
            continue
        last = 4
    out[0] = last


def test_what_a_turn_leaves_behind_is_kept():
    """A turn that is left by break keeps what the turn before it has assigned."""
    for stop, skip, value in [(0, 9, 0), (1, 9, 4), (3, 2, 3), (9, 9, 4), (9, 4, 3)]:
        out = wp.zeros(1, dtype=int)
        wp.launch(left_by_break, dim=1, inputs=[5, stop, skip, out])
        assert out.list() == [value]


def make(fast):
    @wp.func
    def specialised(x: int):
        if wp.static(fast):
            return 2 * x
        y = x + x
        return y

    @wp.kernel(module="unique")
    def run_specialised(out: wp.array(dtype=int)):
        out[0] = specialised(4)

    return run_specialised


def test_choices_of_static_are_no_mistakes(capfd):
    """What a known condition cuts off is not warned of: elsewhere the same function has another one."""
    for fast in (True, False):
        out = wp.zeros(1, dtype=int)
        wp.launch(make(fast), dim=1, inputs=[out])
        assert out.list() == [8]
    assert "never reached" not in capfd.readouterr().err
