"""Indexed arrays as fields of structs: assignment, launches, gradients, arrays of such structs."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import warp as wp


@wp.struct
class Picked:
    scale: float
    values: wp.indexedarray(dtype=float)
    grid: wp.indexedarray2d(dtype=wp.vec2)


@wp.struct
class Outer:
    inner: Picked
    plain: wp.array(dtype=int)


@wp.kernel
def read(s: Picked, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = s.scale * s.values[i] * s.values[i]


@wp.kernel
def read_nested(s: Outer, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = s.inner.grid[i, j][1] + float(s.plain[0])


@wp.kernel
def write(s: Picked):
    i = wp.tid()
    s.values[i] = s.scale


def numbers(n: int = 6) -> np.ndarray:
    return np.arange(n, dtype=np.float32) + 1.0


def picked(requires_grad: bool = False) -> Picked:
    s = Picked()
    s.scale = 2.0
    s.values = wp.indexedarray(wp.array(numbers(), requires_grad=requires_grad), [wp.array([4, 0, 4], dtype=int)])
    return s


def test_kernels_read_and_write_through_the_indices() -> None:
    s, out = picked(), wp.zeros(3, dtype=float)
    wp.launch(read, dim=3, inputs=[s, out])
    assert out.numpy().tolist() == (2.0 * numbers()[[4, 0, 4]] ** 2).tolist()
    wp.launch(write, dim=3, inputs=[s])
    assert s.values.data.numpy().tolist() == [2.0, 2.0, 3.0, 4.0, 2.0, 6.0]


def test_an_array_is_seen_as_it_is() -> None:
    s = Picked()
    s.scale = 1.0
    s.values = wp.array(numbers())
    out = wp.zeros(6, dtype=float)
    wp.launch(read, dim=6, inputs=[s, out])
    assert isinstance(s.values, wp.indexedarray) and out.numpy().tolist() == (numbers() ** 2).tolist()


def test_nested_structs_and_ranks() -> None:
    data = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    o = Outer()
    o.inner.grid = wp.indexedarray2d(wp.array(data, dtype=wp.vec2), [None, wp.array([3, 1], dtype=int)])
    o.plain = wp.array([100], dtype=int)
    out = wp.zeros((3, 2), dtype=float)
    wp.launch(read_nested, dim=(3, 2), inputs=[o, out])
    assert out.numpy().tolist() == (data[:, [3, 1], 1] + 100.0).tolist()


def test_gradients() -> None:
    s, out = picked(True), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(read, dim=3, inputs=[s, out])
    tape.backward(grads={out: wp.ones(3, dtype=float)})
    wanted = np.zeros(6, dtype=np.float32)
    np.add.at(wanted, [4, 0, 4], 4.0 * numbers()[[4, 0, 4]])
    assert s.values.data.grad.numpy().tolist() == wanted.tolist()
    assert tape.gradients[s].values.data.numpy().tolist() == wanted.tolist()


def test_adjoint_launches() -> None:
    s, out = picked(True), wp.zeros(3, dtype=float, requires_grad=True)
    adjoint = Picked()
    adjoint.values = wp.indexedarray(wp.zeros(6, dtype=float), s.values.indices)
    out.grad.fill_(1.0)
    wp.launch(read, dim=3, inputs=[s], outputs=[out], adj_inputs=[adjoint], adj_outputs=[None], adjoint=True)
    assert adjoint.values.data.numpy()[0] == 4.0 and s.values.data.grad.numpy().tolist() == [0.0] * 6


def test_none_and_what_does_not_fit() -> None:
    s = picked()
    s.values = None
    assert s.values is None
    with pytest.raises(TypeError, match="expects a Warp indexed array"):
        s.values = [1.0, 2.0]
    with pytest.raises(TypeError, match="expects dtype float32"):
        s.values = wp.zeros(3, dtype=int)
    with pytest.raises(TypeError, match=r"1 dimension\(s\)"):
        s.values = wp.zeros((3, 3), dtype=float)


def test_copies_and_bytes() -> None:
    s = picked()
    again = copy.copy(s)
    assert again.values is s.values
    back = Picked.from_bytes(s.to_bytes())
    assert back.values.numpy().tolist() == s.values.numpy().tolist() if s.values.device.is_cpu else True
    assert Picked.numpy_dtype()["values"]["indices"].shape == (1,) and Picked.numpy_dtype().itemsize == len(s.to_bytes())
    assert s.to(s.values.device).values.shape == (3,)
    assert type(s.__ctype__()).__name__ == "Picked"


@wp.kernel
def sum_of_each(items: wp.array(dtype=Picked), out: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(items[i].values.shape[0]):
        out[i] += items[i].values[k]


def test_arrays_of_such_structs_keep_what_they_point_to() -> None:
    items = wp.array([picked(), picked()], dtype=Picked)
    out = wp.zeros(2, dtype=float)
    wp.launch(sum_of_each, dim=2, inputs=[items, out])
    assert out.numpy().tolist() == [11.0, 11.0]
    assert items.list()[1].values.indices[0].numpy().tolist() == [4, 0, 4]
