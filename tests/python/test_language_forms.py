"""Forms of the kernel language that large programs lean on: sizes in wp.static, targets of loops, spread arguments, classes
derived from vectors, functions that were renamed, names of one branch."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import pytest

import warp as wp


@wp.kernel
def sizes(out: wp.array(dtype=float), u: wp.vec2, t: wp.transform):
    v = wp.vec3(1.0, 2.0, 3.0)
    m = wp.identity(n=wp.static(len(u) + len(v)), dtype=float)
    out[0] = m[4, 4] + float(len(m))
    out[1] = float(wp.static(10 * len(t) + len(m[0])))
    out[2] = float(wp.static(max(len(v), 1) if len(u) == 2 else 0))
    out[3] = float(
        wp.static(
            len(u)
            * 100
            + len(v)
        )
    )


def test_sizes_in_static(device: wp.Device) -> None:
    out = wp.zeros(4, dtype=float)
    wp.launch(sizes, dim=1, inputs=[out, wp.vec2(), wp.transform()])
    assert out.numpy().tolist() == [6.0, 75.0, 3.0, 203.0]


@wp.func
def concatenated(u: Any, v: Any):
    r = wp.vector(length=wp.static(len(u) + len(v)), dtype=float)
    for i in range(wp.static(len(u))):
        r[i] = u[i]
    for i in range(wp.static(len(v))):
        r[wp.static(len(u)) + i] = v[i]
    return r


@wp.kernel
def concatenate(out: wp.array(dtype=float)):
    r = concatenated(wp.vec2(1.0, 2.0), concatenated(wp.vec3(3.0, 4.0, 5.0), wp.vec2(6.0, 7.0)))
    for i in range(len(r)):
        out[i] = r[i]


def test_sizes_of_generic_arguments(device: wp.Device) -> None:
    out = wp.zeros(7, dtype=float)
    wp.launch(concatenate, dim=1, inputs=[out])
    assert out.numpy().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


@wp.kernel
def reused_target(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 2.0:
        k = wp.ceil(x[i])
        out[i] = k
    for k in range(n):
        out[i] += float(k)
    out[i] += 100.0 * float(k)


@wp.func
def counts(k: wp.ref[float], n: int):
    k = k + 1.0
    total = int(0)
    for k in range(n):
        total += k
    return total


@wp.kernel
def reused_reference(out: wp.array(dtype=float)):
    x = float(5.0)
    n = counts(x, 4)
    out[0] = x
    out[1] = float(n)


def test_loop_targets_that_had_another_type(device: wp.Device) -> None:
    x, out = wp.array([1.0, 2.5, 4.5], dtype=float), wp.zeros(3, dtype=float)
    wp.launch(reused_target, dim=3, inputs=[x, 3], outputs=[out])
    assert out.numpy().tolist() == [203.0, 206.0, 208.0]
    out = wp.zeros(2, dtype=float)
    wp.launch(reused_reference, dim=1, inputs=[out])
    assert out.numpy().tolist() == [6.0, 6.0]


def test_gradients_past_a_reused_target(device: wp.Device) -> None:
    @wp.kernel(module="unique")
    def work(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        k = x[i] * 3.0
        s = k * k
        for k in range(3):
            s += x[i] * float(k)
        y[i] = s

    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(work, dim=2, inputs=[x], outputs=[y])
    tape.backward(grads={y: wp.ones(2, dtype=float)})
    assert y.numpy().tolist() == [12.0, 42.0]
    assert x.grad.numpy().tolist() == [21.0, 39.0]


@pytest.mark.cpu_only
def test_a_reused_target_keeps_its_new_type() -> None:
    @wp.kernel(module="unique")
    def back(x: wp.array(dtype=float)):
        k = x[0]
        for k in range(3):
            x[0] += 1.0
        k = 1.5
        x[1] = k

    with pytest.raises(TypeError, match="assigning to existing symbol 'k' \\(int32\\)"):
        wp.launch(back, dim=1, inputs=[wp.zeros(2)])


@wp.func
def joined(a: float, b: float, c: float):
    return 100.0 * a + 10.0 * b + c


@wp.func
def pair():
    return 1.0, 2.0


@wp.kernel
def spread(a: wp.array(dtype=float), b: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    v = wp.vec3(1.0, 2.0, 3.0)
    t = (4.0, 5.0)
    out[0] = joined(*v)
    out[1] = joined(9.0, *t)
    out[2] = joined(*pair(), 7.0)
    out[3] = joined(*a[1:4])
    out[4] = joined(*b[1, 0:6:2])
    m = wp.matrix_from_rows(*wp.mat22(1.0, 2.0, 3.0, 4.0))
    out[5] = wp.max(*v[0:2]) + wp.vec2(*a[:2])[1] + m[0, 1] * 10.0


def test_spread_arguments(device: wp.Device) -> None:
    a = wp.array([0.0, 1.0, 2.0, 3.0], dtype=float)
    b = wp.array([[0.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], dtype=float)
    out = wp.zeros(6, dtype=float)
    wp.launch(spread, dim=1, inputs=[a, b, out])
    assert out.numpy().tolist() == [123.0, 945.0, 127.0, 123.0, 135.0, 23.0]


Cell = tuple[int, int]


@wp.func
def place(cell: tuple[int, int], width: int) -> int:
    return cell[0] * width + cell[1]


@wp.func
def moved(cell: Cell, by: Tuple[int, wp.vec2i]) -> Cell:
    i, j = cell
    n, v = by
    return i + n * v[0], j + n * v[1]


@wp.func
def first(values: tuple[Any, float]):
    return values[0]


@wp.kernel
def tuples(out: wp.array(dtype=int)):
    i, j = wp.tid()
    cell = (i, j)
    out[place(cell, 3)] = place((j, i), 10)
    out[place((i, j), 3)] += place(moved(cell, (2, wp.vec2i(1, 3))), 100) + first((1000, 2.0))


def test_parameters_that_are_tuples(device: wp.Device) -> None:
    out = wp.zeros(6, dtype=int)
    wp.launch(tuples, dim=(2, 3), inputs=[out])
    wanted = [j * 10 + i + (i + 2) * 100 + (j + 6) + 1000 for i in range(2) for j in range(3)]
    assert out.numpy().tolist() == wanted


@pytest.mark.cpu_only
def test_tuples_of_other_types_do_not_fit() -> None:
    for argument in ("(1, 2.0)", "(1, 2, 3)", "1"):
        source = f"@wp.kernel\ndef run(a: wp.array(dtype=int)):\n    a[0] = place({argument}, 3)\n"
        kernel = wp._src.kernels.definitions.kernel_from_text(source, "run", {"wp": wp, "place": place})
        with pytest.raises(RuntimeError, match="Couldn't find a function 'place'"):
            wp.launch(kernel, dim=1, inputs=[wp.zeros(1, dtype=int)])


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        ("*a", wp.WarpCodegenError, "Starred expressions are only supported for"),
        ("*n", wp.WarpCodegenError, "Starred expressions are only supported for"),
        ("*a[1:]", wp.WarpCodegenValueError, "requires explicit upper bound"),
        ("*a[0:n]", wp.WarpCodegenValueError, "Slice component must be a compile-time constant"),
        ("*a[:-1]", wp.WarpCodegenValueError, "cannot be negative for arrays"),
        ("*a[1:0:-1]", wp.WarpCodegenValueError, "step cannot be negative"),
    ],
)
def test_what_can_not_be_spread(argument: str, error: type[Exception], words: str) -> None:
    source = (
        "@wp.kernel\ndef run(a: wp.array(dtype=float), n: int):\n"
        f"    a[0] = wp.min({argument})\n"
    )
    kernel = wp._src.kernels.definitions.kernel_from_text(source, "run")
    with pytest.raises(error, match=words):
        wp.launch(kernel, dim=1, inputs=[wp.zeros(2), 2])


hidden_by_a_variable = 999


@pytest.mark.cpu_only
def test_static_takes_no_global_for_a_variable() -> None:
    @wp.kernel(module="unique")
    def read(out: wp.array(dtype=int)):
        hidden_by_a_variable = wp.tid() + out[0]
        out[0] = wp.static(hidden_by_a_variable)

    with pytest.raises(RuntimeError, match="name 'hidden_by_a_variable' is not defined. Make sure all variables"):
        wp.launch(read, dim=1, inputs=[wp.zeros(1, dtype=int)])


def test_static_takes_the_variable_of_an_unrolled_loop(device: wp.Device) -> None:
    @wp.kernel(module="unique")
    def read(out: wp.array(dtype=int)):
        for hidden_by_a_variable in range(3):
            out[hidden_by_a_variable] = wp.static(hidden_by_a_variable * 2)

    out = wp.zeros(3, dtype=int)
    wp.launch(read, dim=1, inputs=[out])
    assert out.numpy().tolist() == [0, 2, 4]


WEIGHTS = (2, 3, 5)
WITH_SUMS = True


@wp.kernel
def static_behind_loops(out: wp.array(dtype=int)):
    for i in range(3):
        for i in range(2):
            out[0] += 1
        out[1] += wp.static(WEIGHTS[i])
    out[2] = wp.static(WEIGHTS[i])
    for k in range(5, 0, -2):
        for k in range(40):
            out[3] += k
        out[4] += wp.static(k)
    for n in range(100):
        if n == 3:
            continue
        out[5] += 1
    out[6] = wp.static(n + 1)


def test_static_of_a_variable_that_a_loop_left(device: wp.Device) -> None:
    out = wp.zeros(7, dtype=int)
    wp.launch(static_behind_loops, dim=1, inputs=[out])
    assert out.numpy().tolist() == [6, 3 * WEIGHTS[1], WEIGHTS[1], 3 * 780, 3 * 39, 99, 100]


def test_static_of_a_variable_that_nobody_knows_behind_its_loop() -> None:
    @wp.kernel
    def counted_at_run_time(out: wp.array(dtype=int), n: int):
        for i in range(3):
            for i in range(n):
                out[0] += 1
            out[1] += wp.static(i)

    @wp.kernel
    def left_early(out: wp.array(dtype=int), n: int):
        for i in range(3):
            if i == n:
                break
        out[1] = wp.static(i)

    @wp.kernel
    def perhaps(out: wp.array(dtype=int), n: int):
        for i in range(3):
            if n > 1:
                for i in range(2):
                    out[0] += 1
            out[1] += wp.static(i)

    for kernel in (counted_at_run_time, left_early, perhaps):
        with pytest.raises(Exception, match="static"):
            wp.launch(kernel, dim=1, inputs=[wp.zeros(2, dtype=int), 2])


def test_static_in_loops(device: wp.Device) -> None:
    """Loops that only contain one stay loops; what a loop assigns, seen by a comprehension or not, is each turn's own."""

    @wp.kernel(module="unique")
    def read(out: wp.array(dtype=int)):
        for i in range(40):
            if wp.static(WITH_SUMS):
                out[0] += i
        for i in range(3):
            k = i + 1
            out[1] += wp.static(sum([w * k for w in WEIGHTS]))
        for i in range(3):
            for j in range(2):
                out[2] += wp.static(WEIGHTS[i]) * (j + 1)

    out = wp.zeros(3, dtype=int)
    wp.launch(read, dim=1, inputs=[out])
    assert out.numpy().tolist() == [780, 60, 30]


class Five(wp.types.vector(length=5, dtype=float)):
    """A type of a program's own."""


class Block(wp.types.matrix(shape=(2, 3), dtype=wp.float64)):
    """And a matrix."""


@wp.func
def last(v: Five) -> Five:
    return v * 2.0 + Five(v[4])


@wp.kernel
def derived(v: Five, a: wp.array(dtype=Five), m: wp.array(dtype=Block)):
    i = wp.tid()
    a[i] = last(v) + Five(1.0, 2.0, 3.0, 4.0, 5.0)
    block = Block()
    block[1, 2] = wp.float64(7.0)
    m[i] = block


def test_classes_derived_from_vectors(device: wp.Device) -> None:
    a, m = wp.zeros(2, dtype=Five), wp.zeros(2, dtype=Block)
    wp.launch(derived, dim=2, inputs=[Five(1.0), a, m])
    assert a.numpy().tolist() == [[4.0, 5.0, 6.0, 7.0, 8.0]] * 2
    assert m.numpy()[1].tolist() == [[0.0] * 3, [0.0, 0.0, 7.0]]


def shifted(n: int) -> Any:
    @wp.func
    def shift(x: float):
        return x + float(n)

    return shift


@wp.kernel
def made_here(out: wp.array(dtype=float)):
    out[0] = wp.static(shifted(3))(1.0) + wp.static(shifted(40))(out[0])


def test_functions_made_by_static(device: wp.Device) -> None:
    out = wp.zeros(1, dtype=float)
    wp.launch(made_here, dim=1, inputs=[out])
    assert out.numpy()[0] == 44.0


def test_functions_that_were_renamed(device: wp.Device) -> None:
    made = []
    for n in range(2):

        def text(out: wp.array(dtype=float)):
            out[0] = float(n + 1)

        text.__name__ = f"kernel_{n}"
        text.__qualname__ = f"kernel_{n}"
        made.append(wp.kernel(text, module="unique"))

    def named_later(x: float):
        return x * 4.0

    named_later.__name__ = "four_times"
    function = wp.func(named_later)

    @wp.kernel(module="unique")
    def use(out: wp.array(dtype=float)):
        out[1] = function(2.0)

    assert [k.key for k in made] == ["kernel_0", "kernel_1"]
    out = wp.zeros(2, dtype=float)
    wp.launch(use, dim=1, inputs=[out])
    wp.launch(made[1], dim=1, inputs=[out])
    assert out.numpy().tolist() == [2.0, 8.0]


@pytest.mark.cpu_only
def test_names_of_one_branch_are_warned_of_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wp.config, "cache_kernels", False)  # kernels from the cache were warned of when they were made

    @wp.kernel(module="unique")
    def branches(x: wp.array(dtype=float), c: int):
        i = wp.tid()
        if c > 0:
            a = x[i]
            b = x[i] * 2.0
        x[i] = x[i] + 1.0
        if c > 0:
            x[i] = a + b
            x[i] += a

    x = wp.ones(2, dtype=float)
    wp.launch(branches, dim=2, inputs=[x, 1])
    text = capsys.readouterr().err
    assert x.numpy().tolist() == [4.0, 4.0]
    assert text.count("warning: ") == 1 and "may be unassigned here" in text


class Sizes:
    """Sizes as programs keep them: attributes of a class."""

    COUNT = 8


@wp.kernel
def sums_of_rows(x: wp.array2d(dtype=float), n: int, out: wp.array(dtype=float)):
    count = Sizes.COUNT
    t = wp.tile_zeros(shape=count, dtype=float)
    for i in range(n):
        row = wp.tile_load(x[i], shape=(count,))
        for j in range(count):
            t[j] = t[j] + row[j]
        t = t + wp.tile_zeros(shape=count, dtype=float)
    wp.tile_store(out, t)


def test_constants_that_loops_ask_for_stay_constant(device: wp.Device) -> None:
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    out = wp.zeros(8, device=device)
    wp.launch_tiled(sums_of_rows, dim=1, inputs=[wp.array(x, device=device), 3, out], block_dim=32, device=device)
    assert np.array_equal(out.numpy(), x.sum(axis=0))


@wp.func
def halves(x: float) -> Any:
    return x * 0.5, int(x)


@wp.kernel
def take_halves(out: wp.array(dtype=float)):
    half, whole = halves(5.0)
    out[0] = half + float(whole)


def test_any_means_several_results_too(device: wp.Device) -> None:
    out = wp.zeros(1, device=device)
    wp.launch(take_halves, 1, [out], device=device)
    assert out.numpy()[0] == 7.5


@wp.func
def between(a: wp.vec3, b: wp.vec3, s: float):
    return a + (b - a) * s


@wp.kernel
def moved_by(now: wp.array(dtype=wp.vec3), before: wp.array(dtype=wp.vec3), s: float, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    along = now[i + 1] - now[i]
    apart = now[i] - now[0] + along * s  # the product has a second sum here, and none below
    here = now[i] + along * s
    out[i] = here - between(before[i], before[i + 1], s) + 0.0 * apart


def test_the_same_text_gives_the_same_bits(device: wp.Device) -> None:
    """Sums are fused with their products whoever else has these: what did not move has moved by zero."""
    points = np.random.default_rng(3).normal(size=(65, 3)).astype(np.float32)
    now, before = (wp.array(points, dtype=wp.vec3, device=device) for _ in range(2))
    out = wp.zeros(64, dtype=wp.vec3, device=device)
    wp.launch(moved_by, 64, [now, before, 0.37, out], device=device)
    assert not out.numpy().any()


@wp.kernel
def rests(x: wp.array(dtype=float), scale: float, out: wp.array(dtype=float)):
    i = wp.tid()
    y = x[i] * scale
    out[i] = y - wp.floor(y)


def test_rests_are_never_negative(device: wp.Device) -> None:
    x = np.arange(1, 4097, dtype=np.float32) / np.float32(3.0)
    out = wp.zeros(4096, device=device)
    wp.launch(rests, 4096, [wp.array(x, device=device), 3.0, out], device=device)
    assert out.numpy().min() >= 0.0 and out.numpy().max() < 1.0
