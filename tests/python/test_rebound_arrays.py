"""Names in kernels that stand for one array and then for another one, of another rank or type."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


def run(kernel, *inputs):
    out = wp.zeros(4, dtype=int)
    wp.launch(kernel, dim=1, inputs=[wp.array(np.arange(24).reshape(2, 3, 4), dtype=int), *inputs], outputs=[out])
    return out.numpy().tolist()


def test_one_statement_after_the_other():
    @wp.kernel
    def use(a: wp.array3d(dtype=int), out: wp.array(dtype=int)):
        part = a[1]
        out[0] = part[2, 3]
        part = part[1]
        out[1] = part[2]
        part = a[0, :2]
        out[2] = part[1, 1]
        part = part[0]
        out[3] = part[3]

    assert run(use) == [23, 18, 5, 3]


def test_in_loops_and_branches():
    @wp.kernel
    def use(a: wp.array3d(dtype=int), n: int, out: wp.array(dtype=int)):
        for i in range(n):
            part = a[i]
            out[0] += part[0, 0]
            part = part[1]
            out[0] += part[0]
        if n > 1:
            row = a[1]
            out[1] = row[1, 1]
            row = row[2]
            out[2] = row[0]
        else:
            row = a[0]
            out[1] = row[1, 1]
            row = row[2]
            out[2] = row[0]
        out[3] = row[3]

    assert run(use, 2) == [0 + 4 + 12 + 16, 17, 20, 23]
    assert run(use, 1) == [0 + 4, 5, 8, 11]


def test_elements_of_another_type():
    @wp.kernel
    def use(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec2), y: wp.array(dtype=float)):
        seen = x[1:]
        y[0] = seen[0]
        seen = v[1:]
        y[1] = seen[0][1]

    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True)
    v = wp.array([[3.0, 4.0], [5.0, 6.0]], dtype=wp.vec2, requires_grad=True)
    y = wp.zeros(2, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(use, dim=1, inputs=[x, v], outputs=[y])
    tape.backward(grads={y: wp.ones(2)})
    assert y.numpy().tolist() == [2.0, 6.0]
    assert x.grad.numpy().tolist() == [0.0, 1.0] and v.grad.numpy().tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("where", ["branch", "loop", "unrolled"])
def test_where_a_path_decides_it_is_an_error(where):
    @wp.kernel
    def branch(a: wp.array3d(dtype=int), n: int, out: wp.array(dtype=int)):
        part = a[0]
        if n > 0:
            part = a[0, 0]
        out[0] = part[0]

    @wp.kernel
    def loop(a: wp.array3d(dtype=int), n: int, out: wp.array(dtype=int)):
        part = a[0]
        for _ in range(n):
            out[0] = part[0, 0]
            part = a[0, 0]

    @wp.kernel
    def unrolled(a: wp.array3d(dtype=int), n: int, out: wp.array(dtype=int)):
        part = a[0]
        for i in range(2):
            out[wp.static(1) * i] = part[0, 0]
            part = a[0, 0]

    with pytest.raises(wp.WarpCodegenTypeError, match="assigning to existing symbol 'part'"):
        run({"branch": branch, "loop": loop, "unrolled": unrolled}[where], 2)
