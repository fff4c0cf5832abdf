"""Classes that programs derive from wp.array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp


class Named(wp.array):
    def __init__(self, *args, name="", **kwargs):
        super().__init__(*args, **kwargs)
        self.name = name


class Counted(wp.array):
    count = 0

    def numpy(self):
        type(self).count += 1
        return super().numpy()


class Both(Named, Counted):
    pass


class Mixin:
    def doubled(self):
        return 2.0 * self.numpy()


class Mixed(Mixin, Both, Counted):
    pass


@wp.kernel
def add_one(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0


@pytest.mark.parametrize("cls", [Named, Both, Mixed], ids=lambda c: c.__name__)
def test_several_bases(cls):
    x = cls([1.0, 2.0], dtype=float, name="x")
    wp.launch(add_one, dim=2, inputs=[x])
    assert x.numpy().tolist() == [2.0, 3.0] and x.name == "x" and isinstance(x, wp.array)
    assert cls.__mro__[0] is cls and Named in cls.__bases__ + cls.__mro__


def test_the_order_of_bases_counts():
    assert Both.__bases__ == (Named, Counted) and Mixed.__mro__.index(Mixin) < Mixed.__mro__.index(Named)
    x = Mixed([1.0], dtype=float)
    before = Mixed.count
    assert x.doubled().tolist() == [2.0] and Mixed.count == before + 1


def test_what_is_no_kind_of_one_class_is_refused():
    with pytest.raises(TypeError):
        type("Odd", (wp.array, wp.Kernel), {})


def test_views_are_plain_arrays():
    x = Named(np.arange(6.0).reshape(2, 3), dtype=float, name="x", requires_grad=True)
    views = [x[0], x[:, 1:], x.reshape((3, 2)), x.flatten(), x.transpose(), x.view(wp.int32), x.grad, wp.clone(x)]
    assert all(type(view) is wp.array for view in views)
    assert x.contiguous() is x and x.to(x.device) is x
    x[0].fill_(7.0)
    assert x.numpy()[0].tolist() == [7.0] * 3


@wp.kernel
def copy_any(src: wp.array(dtype=Any), dst: wp.array(dtype=Any)):
    dst[wp.tid()] = src[wp.tid()]


class Tagged(wp.array):
    def __init__(self, *args, tag, **kwargs):
        super().__init__(*args, **kwargs)
        self.tag = tag


def test_generic_kernels_take_them_as_plain_arrays():
    src, dst = Tagged([1.0, 2.0], dtype=float, tag="x"), wp.zeros(2)
    types = copy_any.infer_argument_types([src, dst])
    assert type(types[0]) is wp.array and types[0].dtype is wp.float32 and types[0].ndim == 1
    made = wp.overload(copy_any, [src, dst])  # by arrays instead of their types
    assert made is wp.overload(copy_any, types)
    wp.launch(made, dim=2, inputs=[src, dst])
    assert dst.numpy().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="got array2d.*which has 2 dimensions"):
        wp.launch(add_one, dim=1, inputs=[Tagged([[1.0]], dtype=float, tag="y")])
