"""Words of messages that programs written for Warp look for, often at the end of a message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp


@wp.struct
class Pair:
    x: float
    y: float


def test_constructors_of_composites_in_kernels() -> None:
    def too_few():
        wp.mat22(1.0, 2.0, 3.0)

    def too_few_of_a_length():
        wp.types.vector(1.0, 2.0, length=12)

    def no_length():
        wp.types.vector()

    def no_shape():
        wp.types.matrix(1.0, 2.0, 3.0)

    def other_length():
        wp.vec3(wp.vec2(1.0, 2.0))

    def other_shape():
        wp.mat33(wp.mat22(1.0, 2.0, 3.0, 4.0))

    def other_numbers():
        x = wp.float64(1.0)
        wp.vec2(x, x)

    def other_filling():
        x = wp.float32(1.0)
        wp.types.matrix(x, shape=(3, 2), dtype=wp.float16)

    def two_numbers():
        wp.transform(1.0, 2.0)

    expected = {
        too_few: r"incompatible number of values given \(3\) when constructing a matrix of shape \(2, 2\)$",
        too_few_of_a_length: r"incompatible number of values given \(2\) when constructing a vector of length 12$",
        no_length: "the `length` argument must be specified when zero-initializing a vector$",
        no_shape: "the `shape` argument must be specified when initializing a matrix by value$",
        other_length: "incompatible vector of length 3 given when copy constructing a vector of length 2$",
        other_shape: r"incompatible matrix of shape \(3, 3\) given when copy constructing a matrix of shape \(2, 2\)$",
        other_numbers: "values used to initialize this vector are expected to be of the type `float32`$",
        other_filling: "the value used to fill this matrix is expected to be of the type `float16`$",
        two_numbers: r"incompatible number of values given \(2\) when constructing a transform; expected 0, 1, or 7$",
    }
    for func, words in expected.items():
        with pytest.raises(RuntimeError, match=words):
            wp.launch(wp.kernel(func, module="unique"), dim=1)


def test_calls_and_results_in_kernels() -> None:
    @wp.func
    def says_short(x: wp.int32) -> wp.int16:
        return wp.int8(x)

    @wp.func
    def says_three(x: int) -> tuple[int, int, int]:
        return x, x

    @wp.func
    def says_whole(x: int) -> tuple[int, int]:
        return x, 1.5

    def short():
        says_short(1)

    def whole():
        a, b = says_whole(1)

    def three():
        a, b = says_three(1)

    def unlike():
        wp.expect_neq(wp.vec3(0.0), wp.vec2(0.0))

    def two_kinds():
        wp.dot(wp.vec2(1.0, 2.0), wp.vec2h(1.0, 2.0))

    def no_bits():
        wp.bit_count(1.5)

    def unknown():
        wp.missing_function(42)

    def sized_by_thread():
        wp.zeros(shape=(wp.tid(),), dtype=int)

    expected = {
        short: "has its return type annotated as `int16` but the code returns a value of type `int8`.",
        whole: r"annotated as `tuple\[int, int\]` but the code returns a tuple with types `\(int32, float32\)`.",
        three: "has its return type annotated as a tuple of 3 elements but the code returns 2 values",
        unlike: "Can't test equality for objects with different types$",
        two_kinds: r"Input types must be exactly the same, got \['vec2f', 'vec2h'\]",
        no_bits: "Couldn't find function overload for 'bit_count' that matched inputs with types",
        unknown: "Could not find function wp.missing_function",
        sized_by_thread: "the `shape` argument must be specified as a constant when zero-initializing an array$",
    }
    for func, words in expected.items():
        with pytest.raises((RuntimeError, AttributeError), match=words):
            wp.launch(wp.kernel(func, module="unique"), dim=1)


@wp.kernel
def takes_values(v: wp.vec3, s: Pair, out: wp.array(dtype=float)):
    out[0] = v[0] + s.x


@wp.kernel
def takes_any(a: wp.array(dtype=Any)):
    a[0] = a[0] + a[0]


def test_launches() -> None:
    out = wp.zeros(1)
    with pytest.raises(RuntimeError, match="argument 'v' expects vec3f but got a single value"):
        wp.launch(takes_values, dim=1, inputs=[3, Pair(), out])
    with pytest.raises(ValueError, match="Failed to convert argument for param v to vec3f"):
        wp.launch(takes_values, dim=1, inputs=["a", Pair(), out])
    with pytest.raises(ValueError, match="Failed to convert argument for param v to vec3f"):
        wp.launch(takes_values, dim=1, inputs=[None, Pair(), out])
    with pytest.raises(RuntimeError, match="argument 's' expects Pair but got None"):
        wp.launch(takes_values, dim=1, inputs=[wp.vec3(), None, out])
    with pytest.raises(TypeError, match="argument 'a' type mismatch"):
        wp.launch(takes_any, dim=1, inputs=[1])


def test_vectors_are_no_arrays() -> None:
    v = wp.vec3(1.0, 2.0, 3.0)
    for value in (v, wp.mat22(), wp.quat(), wp.transform()):
        with pytest.raises(RuntimeError, match="argument 'out': expected array"):
            wp.launch(takes_values, dim=1, inputs=[wp.vec3(), Pair(), value])
    assert list(v) == [1.0, 2.0, 3.0]


def test_values_in_python() -> None:
    with pytest.raises(TypeError, match="^got an unexpected keyword argument 'pos'$"):
        wp.transform(pos=(1.0, 2.0, 3.0))
    with pytest.raises(TypeError, match="Invalid argument in transformation constructor: expected a scalar value, got object"):
        wp.transform(object())
    with pytest.raises(TypeError, match="expected row of length 3"):
        wp.mat33(1.0, 2.0, 3.0)
    v = wp.vec3(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        v ** 2
    with pytest.raises(TypeError, match="unsupported operand"):
        v @ v
    assert -wp.transform(v, wp.quat_identity()) == wp.transform(-1.0, -2.0, -3.0, 0.0, 0.0, 0.0, -1.0)
    with pytest.raises(TypeError, match=r"source scalar dtype float32 has size 4 bytes, but target dtype has size 8"):
        wp.zeros(2, dtype=wp.vec4).view(wp.float64)


def test_map() -> None:
    @wp.func
    def nothing(x: float):
        pass

    @wp.func
    def two(x: float):
        return x, x

    @wp.func
    def whole(n: int):
        return n

    a = wp.array(np.arange(3.0), dtype=float)
    with pytest.raises(TypeError, match="The provided function must return a value$"):
        wp.map(nothing, a)
    words = r"Invalid output provided, expected 2 Warp arrays with shape \(3,\) and dtypes \(float32, float32\)$"
    with pytest.raises(TypeError, match=words):
        wp.map(two, a, out=wp.zeros(3))
    with pytest.raises(TypeError, match="Number of input arguments"):
        wp.map(wp.sin)
    with pytest.raises(TypeError, match="Function .*whole does not support the provided argument types float32$"):
        wp.map(whole, a)
    with pytest.raises(TypeError, match="Output array 1 dtype int32 does not match expected dtype float32$"):
        wp.map(two, a, out=[wp.zeros(3), wp.zeros(3, dtype=int)])


def test_modes_of_captures() -> None:
    assert [int(mode) for mode in wp.CaptureMode] == [0, 1, 2]
