"""Paddle: tensors as arrays and arrays as tensors, devices, types, streams."""

from warp._src.interop.paddle_exchange import (
    device_from_paddle as device_from_paddle,
    device_to_paddle as device_to_paddle,
    dtype_from_paddle as dtype_from_paddle,
    dtype_is_compatible as dtype_is_compatible,
    dtype_to_paddle as dtype_to_paddle,
    from_paddle as from_paddle,
    stream_from_paddle as stream_from_paddle,
    to_paddle as to_paddle,
)
