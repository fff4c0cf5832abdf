"""Matrix products of arrays on a CUDA device: by cuBLASLt where one is found, else by a kernel. They are queued."""

from __future__ import annotations

import functools
import glob
import os
import sys
from typing import Any

from warp import _weft
from warp._src.algorithms import device_kernels as _device
from warp._src.arrays.array import array
from warp._src.arrays.listeners import paused
from warp._src.kernels.own_kernels import OwnKernel

_DONE = -1

_LOOP = """s = {wide}(0.0)
    for n in range(a.shape[{inner}]):
        s += {wide}(a[{left}]) * {wide}(b[{right}])
    """
_PRODUCT = OwnKernel(
    "array_product", "a: {array}, b: {array}, d: {array}, alpha: {wide}", _LOOP + "d[{at}] = d.dtype(alpha * s)"
)
_PRODUCT_AND = OwnKernel(
    "array_product_and",
    "a: {array}, b: {array}, c: {array}, d: {array}, alpha: {wide}, beta: {wide}",
    _LOOP + "d[{at}] = d.dtype(alpha * s + beta * {wide}(c[{at}]))",
)


@functools.cache
def libraries() -> list[str]:
    """Files that may be cuBLASLt: of packages from PyPI (nvidia-cublas, which PyTorch brings along) and toolkits."""
    found = []
    for folder in sys.path:
        found += glob.glob(os.path.join(folder or ".", "nvidia", "*", "lib", "libcublasLt.so.1[1-9]"))
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            found += glob.glob(os.path.join(root, "lib64", "libcublasLt.so.1[1-9]"))
    return sorted(found, key=lambda file: file.rpartition(".")[2], reverse=True)


def multiply(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> None:
    """d = alpha · a · b + beta · c, on whatever strides; 2-D arrays, or 3-D ones with as many matrices."""
    if d.size == 0:
        return
    c = c if beta != 0.0 else None
    with paused():
        target = d
        if d._overlaps(a) or d._overlaps(b) or (c is not None and d._overlaps(c) and not _same(c, d)):
            target = _device.new_array(d, d.shape)
        if a.shape[-1] == 0 or not _by_library(a, b, c, target, alpha, beta):
            _by_kernel(a, b, c, target, alpha, beta)
        if target is not d:
            d._take_back(target)


def _same(a: array, b: array) -> bool:
    return (a.ptr, a.strides) == (b.ptr, b.strides)


def _by_library(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> bool:
    unfit = _weft.cuda_matmul(a, b, c, d, alpha, beta, libraries())
    if unfit <= 0:
        return unfit == _DONE
    a, b = (_packed(one) if unfit & bit else one for one, bit in ((a, 1), (b, 2)))
    if c is not None and unfit & 4:
        c = _packed(c)
    made = _device.new_array(d, d.shape) if unfit & 8 else d
    if _weft.cuda_matmul(a, b, c, made, alpha, beta, libraries()) != _DONE:
        return False
    if made is not d:
        d._take_back(made)
    return True


def _packed(one: array) -> array:
    made = _device.new_array(one, one.shape)
    made._copy_from(one)
    return made


def _by_kernel(a: array, b: array, c: array | None, d: array, alpha: float, beta: float) -> None:
    """A thread per element; 16-bit floats are summed in float32 and rounded once."""
    wide = "wp.float64" if d._element.scalar == "float64" else "wp.float32"
    batch, row, column = ("i, ", "j", "k") if d.ndim == 3 else ("", "i", "j")
    words = {"wide": wide, "left": f"{batch}{row}, n", "right": f"{batch}n, {column}", "inner": str(d.ndim - 1)}
    if c is None:
        _PRODUCT.run(d.shape, a, b, d, alpha, **words)
    else:
        _PRODUCT_AND.run(d.shape, a, b, c, d, alpha, beta, **words)


def add_gradients(named: dict[str, Any], g: array, alpha: float, beta: float) -> None:
    """Adds the gradients of a product for the gradient `g` of its result to those named adj_a, adj_b and adj_c."""
    if named["adj_a"] is not None:
        add_product(named["adj_a"], g, turned(named["b"]), alpha)
    if named["adj_b"] is not None:
        add_product(named["adj_b"], turned(named["a"]), g, alpha)
    if named["adj_c"] is not None and beta != 0.0:
        _weft.announce_write(named["adj_c"], "a backward pass")
        _device.add_times(named["adj_c"], g, beta)


def add_product(to: array, a: array, b: array, alpha: float) -> None:
    """to += alpha · a · b."""
    _weft.announce_write(to, "a backward pass")
    multiply(a, b, to, to, alpha, 1.0)


def turned(one: array) -> array:
    """A view with rows and columns exchanged."""
    return one._transpose([1, 0] if one.ndim == 2 else [0, 2, 1])
