# Operands of different types: nothing converts on its own.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def arithmetic(i: int, f: float, d: wp.float64, u: wp.uint32, h: wp.float16):
    x0 = i + f
    x1 = d * 2.0
    x2 = u + 1
    x3 = i & u
    x4 = f % i
    x5 = h - f
    x6 = 1 + 2.0
    x7 = i << u
    f += i


@wp.kernel
def no_operator(b: bool, v: wp.vec3, w: wp.vec2, m: wp.mat33, q: wp.quat, i: int, f: float):
    x0 = b + b
    x1 = v * v
    x2 = v + 1.0
    x3 = i**2
    x4 = -b
    x5 = ~f
    x6 = v + w
    x7 = m * w
    x8 = q * v
    x9 = f << f
    x10 = v / v


@wp.kernel
def comparisons(v: wp.vec3, w: wp.vec2, i: int, f: float, u: wp.uint32):
    x0 = v < v
    x1 = v == i
    x2 = v == w
    x3 = 0 < f < 1
    x4 = 0 < i < u
    x5 = i in (1, 2)
    x6 = i not in (1, 2)
    x7 = i is i
    x8 = "a" < "b"


@wp.struct
class Holder:
    data: wp.array(dtype=float)


@wp.kernel
def uncomparable(h: Holder, a: wp.array(dtype=float)):
    x0 = h == h
    x1 = a == a

# CHECK:{{^}}operand_types.py:8:10: error: Input types must be the same, got ['int32', 'float32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x0 = i + f{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write int(…) around the right or float(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:9:10: error: Input types must be the same, got ['float64', 'float32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x1 = d * 2.0{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write wp.float64(…) around the right or float(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:10:10: error: Input types must be the same, got ['uint32', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x2 = u + 1{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write wp.uint32(…) around the right or int(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:11:10: error: Input types must be the same, got ['int32', 'uint32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x3 = i & u{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write int(…) around the right or wp.uint32(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:12:10: error: Input types must be the same, got ['float32', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x4 = f % i{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write float(…) around the right or int(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:13:10: error: Input types must be the same, got ['float16', 'float32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x5 = h - f{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write wp.float16(…) around the right or float(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:14:10: error: Input types must be the same, got ['int32', 'float32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x6 = 1 + 2.0{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write int(…) around the right or float(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:15:10: error: Input types must be the same, got ['int32', 'uint32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x7 = i << u{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write int(…) around the right or wp.uint32(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:16:5: error: Input types must be the same, got ['float32', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        f += i{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write float(…) around the right or int(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}operand_types.py:21:10: error: Couldn't find a function 'add' that takes (bool, bool) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x0 = b + b{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: vec[N,S], b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: mat[R,C,S], b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: quat[F], b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: transform[F], b: transform[F]) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'add' that matched inputs with types: [bool, bool]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:22:10: error: Couldn't find a function 'mul' that takes (vec3f, vec3f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x1 = v * v{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: vec[N,S], b: S) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: mat[R,C,S], b: S) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: quat[F], b: F) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: F, b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: transform[F], b: F) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: and 6 more{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'mul' that matched inputs with types: [vec3f, vec3f]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:23:10: error: Couldn't find a function 'add' that takes (vec3f, float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x2 = v + 1.0{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: vec[N,S], b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: mat[R,C,S], b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: quat[F], b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: transform[F], b: transform[F]) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'add' that matched inputs with types: [vec3f, float32]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:24:10: error: Couldn't find a function 'pow' that takes (int32, int32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x3 = i**2{{$}}
# CHECK-NEXT:{{^}}             ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is pow(x: F, y: F) -> F{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'pow' that matched inputs with types: [int32, int32]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:25:10: error: Couldn't find a function 'neg' that takes (bool) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x4 = -b{{$}}
# CHECK-NEXT:{{^}}             ^~{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'neg' that matched inputs with types: [bool]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:26:10: error: Couldn't find a function 'invert' that takes (float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x5 = ~f{{$}}
# CHECK-NEXT:{{^}}             ^~{{$}}
# CHECK-NEXT:{{^}}    note: there is invert(a: I) -> I{{$}}
# CHECK-NEXT:{{^}}    note: there is invert(a: vec[N,I]) -> vec[N,I]{{$}}
# CHECK-NEXT:{{^}}    note: there is invert(a: mat[R,C,I]) -> mat[R,C,I]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'invert' that matched inputs with types: [float32]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:27:10: error: Couldn't find a function 'add' that takes (vec3f, vec2f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x6 = v + w{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Input types must be exactly the same, got ['vec3f', 'vec2f']{{$}}
# CHECK-NEXT:{{^}}operand_types.py:28:10: error: Couldn't find a function 'mul' that takes (mat33f, vec2f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x7 = m * w{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: vec[N,S], b: S) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: mat[R,C,S], b: S) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: quat[F], b: F) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: F, b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: transform[F], b: F) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: and 6 more{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'mul' that matched inputs with types: [mat33f, vec2f]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:29:10: error: Couldn't find a function 'mul' that takes (quatf, vec3f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x8 = q * v{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: vec[N,S], b: S) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: mat[R,C,S], b: S) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: S, b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: quat[F], b: F) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: F, b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is mul(a: transform[F], b: F) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: and 6 more{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'mul' that matched inputs with types: [quatf, vec3f]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:30:10: error: Couldn't find a function 'lshift' that takes (float32, float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x9 = f << f{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is lshift(a: I, b: I) -> I{{$}}
# CHECK-NEXT:{{^}}    note: there is lshift(a: vec[N,I], b: vec[N,I]) -> vec[N,I]{{$}}
# CHECK-NEXT:{{^}}    note: there is lshift(a: mat[R,C,I], b: mat[R,C,I]) -> mat[R,C,I]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'lshift' that matched inputs with types: [float32, float32]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:31:11: error: Couldn't find a function 'div' that takes (vec3f, vec3f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x10 = v / v{{$}}
# CHECK-NEXT:{{^}}              ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: vec[N,S], b: S) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: mat[R,C,S], b: S) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: quat[F], b: F) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: transform[F], b: F) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: S, b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: S, b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is div(a: F, b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'div' that matched inputs with types: [vec3f, vec3f]{{$}}
# CHECK-NEXT:{{^}}operand_types.py:36:10: error: vec3f values can't be ordered [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x0 = v < v{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: compare their components{{$}}
# CHECK-NEXT:{{^}}operand_types.py:37:10: error: Input types must be the same, got ['vec3f', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x1 = v == i{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}operand_types.py:38:10: error: Input types must be the same, got ['vec3f', 'vec2f'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x2 = v == w{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}operand_types.py:39:14: error: the operands of a chained comparison must have the same type, got int32 and float32 [chained_types]{{$}}
# CHECK-NEXT:{{^}}        x3 = 0 < f < 1{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: convert one of them, or write two comparisons joined by 'and'{{$}}
# CHECK-NEXT:{{^}}operand_types.py:40:18: error: the operands of a chained comparison must have the same type, got int32 and uint32 [chained_types]{{$}}
# CHECK-NEXT:{{^}}        x4 = 0 < i < u{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: convert one of them, or write two comparisons joined by 'and'{{$}}
# CHECK-NEXT:{{^}}operand_types.py:41:10: error: Construct `in` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        x5 = i in (1, 2){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: compare with each value{{$}}
# CHECK-NEXT:{{^}}operand_types.py:42:10: error: Construct `in` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        x6 = i not in (1, 2){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: compare with each value{{$}}
# CHECK-NEXT:{{^}}operand_types.py:43:10: error: Construct `is` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        x7 = i is i{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use == or !={{$}}
# CHECK-NEXT:{{^}}operand_types.py:44:10: error: str can't be used as a value in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x8 = "a" < "b"{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}operand_types.py:54:10: error: Holder holds arrays and can't be compared [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x0 = h == h{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: compare its fields{{$}}
# CHECK-NEXT:{{^}}operand_types.py:55:10: error: array(dtype=float32) values can't be compared [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x1 = a == a{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: compare their components{{$}}
# CHECK-NOT:{{error|warning}}:
