"""Calls of what belongs to Paddle; they skip where it is not installed."""

from __future__ import annotations

import pytest

import warp as wp

from . import calls


def module() -> object:
    return pytest.importorskip("paddle", reason="paddle is not installed")


@calls("from_paddle", "to_paddle")
def tensors_of_paddle() -> None:
    module()
    array = wp.array([1.0, 2.0], dtype=float, device="cpu")
    tensor = wp.to_paddle(array)
    assert tensor.data_ptr() == array.ptr == wp.from_paddle(tensor).ptr


@calls("device_from_paddle", "device_to_paddle")
def devices_of_paddle() -> None:
    assert wp.device_from_paddle("cpu") == "cpu" == wp.device_to_paddle("cpu")


@calls("dtype_from_paddle", "dtype_to_paddle")
def types_of_paddle() -> None:
    module()
    assert wp.dtype_from_paddle(wp.dtype_to_paddle(wp.float32)) is wp.float32


@calls("stream_from_paddle")
def streams_of_paddle() -> None:
    module()
    with pytest.raises(RuntimeError, match="CUDA"):
        wp.stream_from_paddle("cpu")
