"""wp.transform(…) with parts left out, and with one number: the same in kernels as in Python."""

import pytest
import warp as wp

IDENTITY = [0.0, 0.0, 0.0, 1.0]
TYPES = (wp.transformf, wp.transformd, wp.transformh)


@wp.kernel
def make(out: wp.array(dtype=wp.transform), turn: wp.quat):
    out[0] = wp.transform(wp.vec3(1.0, 2.0, 3.0))
    out[1] = wp.transform(p=wp.vec3(1.0, 2.0, 3.0))
    out[2] = wp.transform(q=turn)
    out[3] = wp.transform(1.5)
    out[4] = wp.transform(turn[3])


def test_in_kernels():
    out = wp.zeros(5, dtype=wp.transform)
    wp.launch(make, dim=1, inputs=[out, wp.quat(0.5, 0.5, 0.5, 0.25)])
    got = out.numpy().tolist()
    assert got[0] == got[1] == [1.0, 2.0, 3.0, *IDENTITY]
    assert got[2] == [0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.25]
    assert got[3] == [1.5] * 7
    assert got[4] == [0.25] * 7


@pytest.mark.parametrize("kind", TYPES)
def test_in_python(kind):
    assert list(kind((1.0, 2.0, 3.0))) == [1.0, 2.0, 3.0, *IDENTITY]
    assert list(kind(p=(1.0, 2.0, 3.0))) == [1.0, 2.0, 3.0, *IDENTITY]
    assert list(kind(1.5)) == [1.5] * 7
    with pytest.raises(TypeError):
        kind("1.5")


def test_gradients_of_one_number():
    @wp.kernel
    def fill(x: wp.array(dtype=float), out: wp.array(dtype=wp.transform)):
        out[0] = wp.transform(x[0])

    x = wp.array([2.0], dtype=float, requires_grad=True)
    out = wp.zeros(1, dtype=wp.transform, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(fill, dim=1, inputs=[x], outputs=[out])
    seed = wp.array([wp.transform(1.0)], dtype=wp.transform)
    tape.backward(grads={out: seed})
    assert x.grad.numpy()[0] == 7.0
