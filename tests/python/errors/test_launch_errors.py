"""Launches that must be refused: counts, types, ranks, devices, grids; each names kernel and argument."""

import decimal
import fractions
from typing import Any

import numpy as np
import pytest

import warp as wp


@wp.struct
class Pair:
    a: float
    b: wp.vec3


@wp.struct
class OtherPair:
    a: float
    b: wp.vec3


@wp.kernel
def one(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0


@wp.kernel
def count(seen: wp.array(dtype=int)):
    wp.atomic_add(seen, wp.tid(), 1)


@wp.kernel
def scalars(x: wp.array(dtype=float), f: float, i: int, b: bool, u: wp.uint8, big: wp.uint64):
    x[0] = f
    x[1] = float(i)
    x[2] = float(int(b))
    x[3] = float(u)
    x[4] = float(big)


@wp.kernel
def vectors(x: wp.array(dtype=float), v: wp.vec3, m: wp.mat22, q: wp.quat):
    x[0] = v[0] + m[0, 0] + q[3]


@wp.kernel
def structs(x: wp.array(dtype=float), s: Pair):
    x[0] = s.a


@wp.kernel
def ranks(x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = 1.0


@wp.kernel
def with_default(x: wp.array(dtype=float), v: float = 2.5):
    x[wp.tid()] = v


X = wp.zeros(8, dtype=float)
GOOD = (1.0, 2, True, 3, 4)


@pytest.fixture(autouse=True)
def _target(_on_device):
    global X
    X = wp.zeros(8, dtype=float)


@pytest.mark.parametrize("args", [[], [X, X], [X, 1.0, 2.0]])
def test_counts(args):
    with pytest.raises(RuntimeError, match="one"):
        wp.launch(one, dim=1, inputs=args)


def test_outputs_count_too():
    with pytest.raises(RuntimeError):
        wp.launch(one, dim=1, inputs=[X], outputs=[X])
    wp.launch(one, dim=1, outputs=[X])


@pytest.mark.parametrize(
    "bad",
    [
        wp.zeros(8, dtype=wp.float64),
        wp.zeros(8, dtype=int),
        wp.zeros(8, dtype=wp.vec3),
        wp.zeros((8, 1), dtype=float),
        np.zeros(8),
        np.zeros(8, dtype=np.int32),
        np.zeros((2, 4), dtype=np.float32),
        np.zeros(8, dtype=">f4"),
        np.zeros(8, dtype=object),
        np.zeros(8, dtype="datetime64[s]"),
        np.float32(1.0),
        [1.0, 2.0],
        (1.0,),
        "text",
        b"bytes!!!",
        1.0,
        {},
        object(),
        float,
        wp.float32,
        wp.array(dtype=float),
        range(4),
        (k for k in range(3)),
    ],
    ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}"[:40],
)
def test_array_arguments(bad):
    with pytest.raises((RuntimeError, TypeError), match="x|array"):
        wp.launch(one, dim=1, inputs=[bad])


def test_none_is_an_empty_array():
    @wp.kernel
    def asks(x: wp.array(dtype=float), out: wp.array(dtype=int)):
        if x:
            out[0] = 1
        else:
            out[0] = 2

    out = wp.zeros(1, dtype=int)
    wp.launch(asks, dim=1, inputs=[None, out])
    assert out[0] == 2
    wp.launch(asks, dim=1, inputs=[X, out])
    assert out[0] == 1


@pytest.mark.parametrize(
    "index, bad",
    [
        (1, "1.0"),
        (1, None),
        (1, [1.0]),
        (1, 1j),
        (1, X),
        (1, wp.vec3()),
        (1, object()),
        (2, 1.5),
        (2, "1"),
        (2, None),
        (2, np.float32(1.0)),
        (2, wp.float32(1.0)),
        (3, "yes"),
        (4, 1.5),
        (5, 2.0),
    ],
    ids=str,
)
def test_scalar_arguments(index, bad):
    args = [X, *GOOD]
    args[index] = bad
    with pytest.raises((RuntimeError, TypeError)) as caught:
        wp.launch(scalars, dim=1, inputs=args)
    assert "xfibu"[index - 0 if index < 5 else 4] in str(caught.value) or "big" in str(caught.value)


@pytest.mark.parametrize(
    "index, value, expected",
    [
        (1, 3, 3.0),
        (1, True, 1.0),
        (1, np.float64(0.5), 0.5),
        (1, np.int16(7), 7.0),
        (1, wp.float32(1.5), 1.5),
        (1, fractions.Fraction(1, 4), 0.25),
        (1, decimal.Decimal("0.5"), 0.5),
        (2, True, 1.0),
        (2, np.int64(-3), -3.0),
        (2, 2**31, -(2.0**31)),
        (2, -1, -1.0),
        (4, 300, 44.0),
        (4, -1, 255.0),
        (5, -1, float(np.float32(2**64 - 1))),
        (5, 2**63, 2.0**63),
    ],
    ids=str,
)
def test_scalar_arguments_that_convert(index, value, expected):
    args = [wp.zeros(5, dtype=float), *GOOD]
    args[index] = value
    try:
        wp.launch(scalars, dim=1, inputs=args)
    except (RuntimeError, TypeError):
        assert isinstance(value, (fractions.Fraction, decimal.Decimal))  # numbers without a machine type may be refused
    else:
        assert args[0][index - 1] == expected


@pytest.mark.parametrize("bad", [(1.0, 2.0), [1.0] * 4, np.ones(2), np.ones((3, 3)), "abc", None, wp.vec2(), object()])
def test_vector_arguments(bad):
    with pytest.raises((ValueError, RuntimeError, TypeError)) as caught:
        wp.launch(vectors, dim=1, inputs=[X, bad, wp.mat22(), wp.quat()])
    if isinstance(bad, (tuple, list, np.ndarray)):
        assert caught.type is ValueError


def test_vector_arguments_that_convert():
    for v in ((1.0, 2.0, 3.0), [1, 2, 3], np.array([1.0, 2.0, 3.0]), wp.vec3(1.0, 2.0, 3.0)):
        for m in (((1.0, 2.0), (3.0, 4.0)), np.eye(2), wp.mat22(1.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0, 4.0)):
            wp.launch(vectors, dim=1, inputs=[X, v, m, (0.0, 0.0, 0.0, 1.0)])
            assert X[0] == 3.0


def test_struct_arguments():
    for bad in (None, {}, OtherPair(), Pair, 1.0, (1.0, wp.vec3())):
        with pytest.raises((RuntimeError, TypeError), match="s|Pair"):
            wp.launch(structs, dim=1, inputs=[X, bad])
    pair = Pair()
    pair.a = 4.5
    wp.launch(structs, dim=1, inputs=[X, pair])
    assert X[0] == 4.5


@pytest.mark.parametrize("dim", [-1, (2, -1), (), (1, 1, 1, 1, 1), 2**63, (2**40, 2**40)])
def test_bad_extents(dim):
    with pytest.raises((ValueError, OverflowError)):
        wp.launch(one, dim=dim, inputs=[X])


@pytest.mark.parametrize("dim", [1.0, "4", (1.5,), (2, "2"), {1: 2}, object(), np.float32(3), 1j, [None]])
def test_extents_of_wrong_types(dim):
    with pytest.raises((TypeError, ValueError)):
        wp.launch(one, dim=dim, inputs=[X])


@pytest.mark.parametrize(
    "dim, threads",
    [
        (0, []),
        ((0,), []),
        ((3, 0, 5), []),
        (np.int64(3), [1, 1, 1]),
        (np.array([3]), [1, 1, 1]),
        ([2], [1, 1]),
        (True, [1]),
        ((np.int32(2), 2), [2, 2]),
        ((2, 3, 4), [12, 12]),
        (wp.int32(2), [1, 1]),
    ],
)
def test_extents_that_are_fine(dim, threads):
    """`threads`: how many there are of each first index."""
    seen = wp.zeros(16, dtype=int)
    wp.launch(count, dim=dim, inputs=[seen])
    assert seen.list() == threads + [0] * (16 - len(threads))


def test_extent_beyond_int32():
    with pytest.raises(ValueError, match="dimension"):
        wp.launch(one, dim=2**31, inputs=[X])


def test_no_dim_and_no_array():
    @wp.kernel
    def nothing(v: float):
        pass

    with pytest.raises(ValueError, match="dim"):
        wp.launch(nothing, inputs=[1.0])


def test_things_that_are_no_kernels():
    for thing in (None, 3, print, "one", wp.zeros, X, one.func, wp.sin):
        with pytest.raises((RuntimeError, TypeError)):
            wp.launch(thing, dim=1, inputs=[X])
    with pytest.raises(NotImplementedError, match="wp.launch"):
        one(X)


def test_lists_are_lists():
    for bad in (3, None, X, {"x": X}):
        with pytest.raises((RuntimeError, TypeError)):
            wp.launch(one, dim=1, inputs=bad)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "cpu:1", "", "CPU0", 3, object(), "cuda:-1"])
def test_unknown_devices(device):
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        wp.launch(one, dim=1, inputs=[X], device=device)
    if isinstance(device, str) and not device.startswith("cuda:-"):
        with pytest.raises(ValueError, match="Invalid device identifier"):
            wp.get_device(device)


@pytest.mark.skipif(wp.is_cuda_available(), reason="there is a GPU")
@pytest.mark.parametrize("call", [wp.get_device, wp.set_device, lambda d: wp.zeros(1, device=d), X.to])
def test_cuda_without_cuda(call):
    with pytest.raises(ValueError, match="Invalid device identifier: cuda:0"):
        call("cuda:0")
    with pytest.raises(RuntimeError, match="(?i)cuda"):
        call("cuda")
    assert wp.get_device() == "cpu"


def test_unknown_keywords():
    with pytest.raises(TypeError):
        wp.launch(one, dim=1, inputs=[X], number_of_threads=3)
    with pytest.raises(TypeError):
        wp.launch()


def test_defaults_fill_trailing_arguments():
    x = wp.zeros(2, dtype=float)
    wp.launch(with_default, dim=2, inputs=[x])
    assert x.list() == [2.5, 2.5]
    with pytest.raises(RuntimeError):
        wp.launch(with_default, dim=2, inputs=[])


def test_recorded_launches():
    cmd = wp.launch(scalars, dim=1, inputs=[X, *GOOD], record_cmd=True)
    for index in (6, -1, 100):
        with pytest.raises(IndexError):
            cmd.set_param_at_index(index, 1.0)
    with pytest.raises(ValueError):
        cmd.set_param_by_name("nothing", 1.0)
    with pytest.raises((RuntimeError, TypeError)):
        cmd.set_param_at_index(0, wp.zeros(3, dtype=int))
    with pytest.raises((RuntimeError, TypeError)):
        cmd.set_param_by_name("i", 1.5)
    with pytest.raises(ValueError):
        cmd.set_dim(-2)
    with pytest.raises((TypeError, ValueError)):
        cmd.set_dim("many")
    cmd.launch()  # the failed changes left it as it was
    assert X[0] == 1.0


def test_a_refused_launch_changes_nothing():
    x = wp.zeros(4, dtype=float)
    with pytest.raises(RuntimeError):
        wp.launch(scalars, dim=1, inputs=[x, 5.0, 1.5, True, 1, 1])
    assert x.list() == [0.0] * 4


def test_a_rank_that_does_not_fit():
    with pytest.raises(RuntimeError):
        wp.launch(ranks, dim=(1, 1), inputs=[X])
    with pytest.raises(RuntimeError):
        wp.launch(ranks, dim=(1, 1), inputs=[wp.zeros((1, 1, 1), dtype=float)])


def test_generic_ranks_and_types():
    @wp.kernel
    def generic(x: wp.array(dtype=Any)):
        x[0] = x[0] + x[0]

    for bad in (wp.zeros((2, 2), dtype=float), 1.0, None, "text", [1.0]):
        with pytest.raises((RuntimeError, TypeError)):
            wp.launch(generic, dim=1, inputs=[bad])
