"""DLPack: memory shared with any array library that knows it."""

from warp._src.interop.dlpack import (
    device_from_dlpack as device_from_dlpack,
    device_to_dlpack as device_to_dlpack,
    dtype_from_dlpack as dtype_from_dlpack,
    dtype_is_compatible as dtype_is_compatible,
    dtype_to_dlpack as dtype_to_dlpack,
    from_dlpack as from_dlpack,
    shape_to_dlpack as shape_to_dlpack,
    strides_to_dlpack as strides_to_dlpack,
    to_dlpack as to_dlpack,
)
