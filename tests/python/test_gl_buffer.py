"""Buffers of OpenGL: without a GPU that shares them their contents are copied, or it is an error that says why."""

import ctypes
import warnings

import numpy as np
import pytest
import warp as wp
from warp._src.interop import gl_buffer


class FakeGl:
    """Buffers by number, with the three functions that copies take."""

    def __init__(self) -> None:
        self.buffers = {7: bytearray(np.arange(6, dtype=np.float32).tobytes())}
        self.bound = 0

    def glBindBuffer(self, _target, number):
        self.bound = number

    def glGetBufferSubData(self, _target, offset, size, to):
        ctypes.memmove(to, bytes(self.buffers[self.bound][offset.value : offset.value + size.value]), size.value)

    def glBufferSubData(self, _target, offset, size, source):
        self.buffers[self.bound][offset.value : offset.value + size.value] = ctypes.string_at(source, size.value)


@pytest.fixture
def gl(monkeypatch):
    fake = FakeGl()
    monkeypatch.setattr(gl_buffer, "_opengl", lambda: fake)
    return fake


def copied(flags=wp.RegisteredGLBuffer.NONE):
    with pytest.warns(UserWarning, match="copied"):
        return wp.RegisteredGLBuffer(7, device="cpu", flags=flags)


def test_contents_come_and_go(gl):
    buffer = copied()
    values = buffer.map(dtype=wp.vec3, shape=(2,))
    assert values.numpy().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    values.fill_(wp.vec3(9.0, 8.0, 7.0))
    buffer.unmap()
    assert np.frombuffer(gl.buffers[7], dtype=np.float32).tolist() == [9.0, 8.0, 7.0, 9.0, 8.0, 7.0]


def test_flags_save_copies(gl):
    reads = copied(wp.RegisteredGLBuffer.READ_ONLY)
    reads.map(dtype=float, shape=6).fill_(1.0)
    reads.unmap()
    assert np.frombuffer(gl.buffers[7], dtype=np.float32).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    writes = copied(wp.RegisteredGLBuffer.WRITE_DISCARD)
    writes.map(dtype=float, shape=6).fill_(1.0)
    writes.unmap()
    assert np.frombuffer(gl.buffers[7], dtype=np.float32).tolist() == [1.0] * 6


def test_without_copies_it_is_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="can't be shared: buffers of OpenGL lie on a GPU"):
            wp.RegisteredGLBuffer(7, device="cpu", fallback_to_copy=False)
    with pytest.raises(ValueError, match="flags"):
        wp.RegisteredGLBuffer(7, device="cpu", flags=8)


def test_unmapping_what_is_not_mapped():
    with pytest.raises(RuntimeError, match="not mapped"):
        copied().unmap()
