"""PyTorch: tensors as arrays and arrays as tensors, devices, types, streams, and kernels as operators of PyTorch."""

from warp._src.interop.torch_exchange import (
    dtype_from_torch as dtype_from_torch,
    dtype_is_compatible as dtype_is_compatible,
    dtype_to_torch as dtype_to_torch,
    from_torch as from_torch,
    to_torch as to_torch,
)
from warp._src.interop.torch_function import function as function
from warp._src.interop.torch_op import op as op
from warp._src.interop.torch_streams import (
    device_from_torch as device_from_torch,
    device_to_torch as device_to_torch,
    stream_from_torch as stream_from_torch,
    stream_to_torch as stream_to_torch,
)
