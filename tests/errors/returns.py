# Returns in kernels and functions.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.func
def mixed(x: float):
    if x > 0.0:
        return 1.0
    return 1


@wp.func
def mixed_count(x: float):
    if x > 0.0:
        return 1.0, 2.0
    return 1.0


@wp.func
def says_int(x: float) -> int:
    return x


@wp.func
def says_two(x: float) -> tuple[float, float]:
    return x


@wp.func
def says_value(x: float) -> float:
    y = x


@wp.func
def says_nothing(x: float) -> None:
    return x


@wp.func
def with_error(x: float):
    return x + 1


@wp.kernel
def returns(out: wp.array(dtype=float)):
    out[0] = mixed(1.0)
    a = mixed_count(1.0)
    b = says_int(1.0)
    c = says_two(1.0)
    d = says_value(1.0)
    e = says_nothing(1.0)
    out[1] = with_error(1.0)
    out[2] = with_error(2.0)
    return 1.0

# CHECK:{{^}}returns.py:10:5: error: this 'return' gives int32, an earlier one float32 [return_mismatch]{{$}}
# CHECK-NEXT:{{^}}        return 1{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}returns.py:9:9: note: the earlier 'return' is here; all must have the same types{{$}}
# CHECK-NEXT:{{^}}            return 1.0{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}returns.py:17:5: error: this 'return' gives float32, an earlier one float32, float32 [return_mismatch]{{$}}
# CHECK-NEXT:{{^}}        return 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}returns.py:16:9: note: the earlier 'return' is here; all must have the same types{{$}}
# CHECK-NEXT:{{^}}            return 1.0, 2.0{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}returns.py:21:27: error: 'says_int' returns float32, its annotation says int32 [result_annotation]{{$}}
# CHECK-NEXT:{{^}}    def says_int(x: float) -> int:{{$}}
# CHECK-NEXT:{{^}}                              ^~~{{$}}
# CHECK-NEXT:{{^}}    note: change the annotation or what the function returns: The function `says_int` has its return type annotated as `int` but the code returns a value of type `float32`.{{$}}
# CHECK-NEXT:{{^}}returns.py:26:27: error: 'says_two' returns float32, its annotation says float32, float32 [result_annotation]{{$}}
# CHECK-NEXT:{{^}}    def says_two(x: float) -> tuple[float, float]:{{$}}
# CHECK-NEXT:{{^}}                              ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: change the annotation or what the function returns: The function `says_two` has its return type annotated as a tuple of 2 elements but the code returns 1 values.{{$}}
# CHECK-NEXT:{{^}}returns.py:31:29: error: 'says_value' returns nothing, its annotation says float32 [result_annotation]{{$}}
# CHECK-NEXT:{{^}}    def says_value(x: float) -> float:{{$}}
# CHECK-NEXT:{{^}}                                ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: change the annotation or what the function returns: The function `says_value` has its return type annotated as `float` but the code returns 0 values.{{$}}
# CHECK-NEXT:{{^}}returns.py:36:31: error: 'says_nothing' returns float32, its annotation says nothing [result_annotation]{{$}}
# CHECK-NEXT:{{^}}    def says_nothing(x: float) -> None:{{$}}
# CHECK-NEXT:{{^}}                                  ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: change the annotation or what the function returns: The function `says_nothing` has its return type annotated as `None` but the code returns 1 values.{{$}}
# CHECK-NEXT:{{^}}returns.py:42:12: error: Input types must be the same, got ['float32', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        return x + 1{{$}}
# CHECK-NEXT:{{^}}               ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write float(…) around the right or int(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}returns.py:55:5: error: a kernel can't return a value [bad_return]{{$}}
# CHECK-NEXT:{{^}}        return 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write results to an array; a bare 'return' is fine{{$}}
# CHECK-NOT:{{error|warning}}:
