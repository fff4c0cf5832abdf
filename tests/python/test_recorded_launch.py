"""Recorded launches: what they keep by reference, and those that are made before their arguments."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import warp as wp


@wp.struct
class Inner:
    offset: wp.vec2


@wp.struct
class Params:
    dt: float
    inner: Inner
    data: wp.array(dtype=float)


@wp.kernel
def step(p: Params, v: wp.vec3, m: wp.mat22, q: wp.quat, k: float, out: wp.array(dtype=float)):
    out[0] = p.dt + p.inner.offset[1]
    out[1] = p.data[0]
    out[2] = v[0]
    out[3] = m[1, 1]
    out[4] = q[3]
    out[5] = k


@wp.kernel
def scale(x: wp.array(dtype=float), a: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * a


def made(out: wp.array) -> tuple:
    p = Params()
    p.dt = 1.0
    p.data = wp.full(1, 10.0, dtype=float)
    v, m, q = wp.vec3(2.0, 0.0, 0.0), wp.mat22(0.0, 0.0, 0.0, 3.0), wp.quat(0.0, 0.0, 0.0, 1.0)
    return p, v, m, q, wp.launch(step, 1, [p, v, m, q, 0.5, out], record_cmd=True)


def test_later_changes_are_seen(device):
    out = wp.zeros(6)
    p, v, m, q, cmd = made(out)
    cmd.launch()
    assert out.numpy().tolist() == [1.0, 10.0, 2.0, 3.0, 1.0, 0.5]
    p.dt = 5.0
    p.inner.offset[1] = 0.25
    v[0] = 7.0
    m[1, 1] = 8.0
    q[3] = 9.0
    cmd.launch()
    assert out.numpy().tolist() == [5.25, 10.0, 7.0, 8.0, 9.0, 0.5]
    p.data = wp.full(1, 11.0, dtype=float)  # the array of before may be gone by now
    cmd.launch()
    assert out.numpy().tolist()[1] == 11.0
    p.data.fill_(12.0)
    cmd.launch()
    assert out.numpy().tolist()[1] == 12.0


def test_what_is_set_later_is_followed_too(device):
    out = wp.zeros(6)
    p, v, m, q, cmd = made(out)
    w = wp.vec3(4.0, 0.0, 0.0)
    cmd.set_param_by_name("v", w)
    v[0] = -1.0  # no argument any more
    w[0] = 6.0
    cmd.launch()
    assert out.numpy()[2] == 6.0
    cmd.set_param_at_index(1, (5.0, 0.0, 0.0))  # converted: nothing to follow
    w[0] = 8.0
    cmd.launch()
    assert out.numpy()[2] == 5.0
    other = Params()
    other.dt, other.data = 20.0, p.data
    cmd.set_param_at_index(0, other)
    other.dt = 21.0
    cmd.launch()
    assert out.numpy()[0] == 21.0


def test_tapes_and_graphs_take_the_value_of_their_time(device):
    out = wp.zeros(6)
    p, v, m, q, cmd = made(out)
    with wp.ScopedCapture() as capture:
        v[0] = 3.0
        cmd.launch()
    v[0] = 4.0
    wp.capture_launch(capture.graph)
    assert out.numpy()[2] == 3.0
    cmd.launch()
    assert out.numpy()[2] == 4.0


def test_adjoint_launches_follow_too(device):
    @wp.kernel
    def times(v: wp.vec2, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[0] = x[0] * v[1]

    x, y = wp.ones(1, requires_grad=True), wp.zeros(1, requires_grad=True)
    v = wp.vec2(0.0, 2.0)
    cmd = wp.launch(times, 1, [v, x], [y], adjoint=True, adj_inputs=[None, None], adj_outputs=[None], record_cmd=True)
    v[1] = 3.0
    y.grad.fill_(1.0)
    cmd.launch()
    assert x.grad.numpy()[0] == 3.0


def test_a_launch_without_arguments(device):
    x, y = wp.array([1.0, 2.0, 3.0], dtype=float), wp.zeros(3)
    cmd = wp.Launch(scale, device, None, None, None, None, 7, 128)
    assert cmd.kernel is scale and cmd.device == device and cmd.max_blocks == 7 and cmd.block_dim == 128
    assert cmd.bounds.size == 0 and cmd.adjoint is False
    cmd.launch()  # no threads yet
    cmd.set_dim(3)
    cmd.set_param_by_name("x", x)
    cmd.set_param_by_name("a", 2.0, adjoint=False)
    cmd.set_param_at_index(2, y)
    cmd.launch()
    assert y.numpy().tolist() == [2.0, 4.0, 6.0] and cmd.bounds.size == 3
    cmd.set_params_from_ctypes([x.__ctype__(), ctypes.c_float(3.0)])
    cmd.launch()
    assert y.numpy().tolist() == [3.0, 6.0, 9.0]


def test_a_launch_of_an_adjoint_without_arguments(device):
    x, y = wp.ones(2, requires_grad=True), wp.zeros(2, requires_grad=True)
    cmd = wp.Launch(kernel=scale, device=device, bounds=(2,), adjoint=True)
    assert cmd.adjoint is True and isinstance(cmd, wp.Launch)
    cmd.set_params([x, 4.0, y])
    y.grad.fill_(1.0)
    cmd.launch()
    assert x.grad.numpy().tolist() == [4.0, 4.0]


def test_arguments_that_are_missing(device):
    cmd = wp.Launch(scale, device)
    cmd.set_dim(0)
    cmd.launch()
    assert wp.Launch(scale, device, params=[None, 1.5], bounds=4).bounds.size == 4

    @wp.kernel
    def generic(x: Any):
        pass

    with pytest.raises(RuntimeError, match="'generic' is generic"):
        wp.Launch(generic, device)
    with pytest.raises(TypeError, match="made for a kernel"):
        wp.Launch(len, device)


def test_structs_as_ctypes(device):
    out = wp.zeros(6)
    p, v, m, q, cmd = made(out)
    raw = p.__ctype__()
    assert isinstance(raw, ctypes.Structure) and ctypes.sizeof(raw) == Params._wp_type_.size
    assert raw.dt == 1.0 and raw.inner.offset[1] == 0.0 and raw.data.data == p.data.ptr and raw.data.shape[0] == 1
    raw.dt = 9.0
    cmd.set_param_by_name_from_ctype("p", raw)
    p.dt = -1.0
    cmd.launch()
    assert out.numpy()[0] == 9.0
    assert type(p.__ctype__()) is type(Params().__ctype__())


@pytest.mark.cpu_only("reads memory of the host")
def test_pointers_to_structs():
    values = []
    for k in range(3):
        one = Inner()
        one.offset = wp.vec2(float(k), 1.0)
        values.append(one)
    a = wp.array(values, dtype=Inner)
    pointer = a.cptr()
    assert [pointer[k].offset[0] for k in range(3)] == [0.0, 1.0, 2.0]
    pointer[1].offset[0] = 5.0
    assert np.all(a.numpy()["offset"][:, 0] == [0.0, 5.0, 2.0])
