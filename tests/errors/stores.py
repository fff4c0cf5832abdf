# Values that do not fit where they are stored.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.struct
class S:
    a: int
    v: wp.vec3


@wp.kernel
def stores(out: wp.array(dtype=float), rows: wp.array2d(dtype=float), d: wp.float64, v: wp.vec3, s: S, m: wp.mat22):
    out[0] = 1
    out[1] = d
    out[2] = v
    out[3] += 1
    rows[0] = 1.0
    v.x = 1
    v[0] = d
    v[0:2] = v
    s.a = 1.0
    s.v = wp.vec2()
    m[0] = v
    m[0, 0] = 2
    wp.atomic_add(out, 0, 1)
    t = S(1.0, v)
    u = wp.vec3(d, d, d)


@wp.func
def make() -> float:
    return 1.0


@wp.kernel
def no_place(out: wp.array(dtype=float), v: wp.vec3):
    make() = 1.0
    wp.vec3(v)[0] = 1.0
    out.shape = 3
    out.ndim = 1
    out.shape[0] = 1
    make().x = 1.0

# CHECK:{{^}}stores.py:38:5: error: can't assign to a function call [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        make() = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: did you mean '=='?{{$}}
# CHECK-NEXT:{{^}}stores.py:14:14: error: can't store int32 in an array element of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[0] = 1{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:15:14: error: can't store float64 in an array element of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[1] = d{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:16:14: error: can't store vec3f in an array element of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[2] = v{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: make a float32 of it first{{$}}
# CHECK-NEXT:{{^}}stores.py:17:15: error: can't store int32 in an array element of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[3] += 1{{$}}
# CHECK-NEXT:{{^}}                  ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:18:15: error: can't store float32 in a component of type array(dtype=float32) [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        rows[0] = 1.0{{$}}
# CHECK-NEXT:{{^}}                  ^~~{{$}}
# CHECK-NEXT:{{^}}    note: make a array(dtype=float32) of it first{{$}}
# CHECK-NEXT:{{^}}stores.py:19:11: error: can't store int32 in a component of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        v.x = 1{{$}}
# CHECK-NEXT:{{^}}              ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:20:12: error: can't store float64 in a component of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        v[0] = d{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:21:14: error: can't store vec3f in a component of type vec2f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        v[0:2] = v{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: make a vec2f of it first{{$}}
# CHECK-NEXT:{{^}}stores.py:22:11: error: can't store float32 in a component of type int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        s.a = 1.0{{$}}
# CHECK-NEXT:{{^}}              ^~~{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: int(…){{$}}
# CHECK-NEXT:{{^}}stores.py:23:11: error: can't store vec2f in a component of type vec3f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        s.v = wp.vec2(){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: make a vec3f of it first{{$}}
# CHECK-NEXT:{{^}}stores.py:24:12: error: can't store vec3f in a component of type vec2f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        m[0] = v{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: make a vec2f of it first{{$}}
# CHECK-NEXT:{{^}}stores.py:25:15: error: can't store int32 in a component of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        m[0, 0] = 2{{$}}
# CHECK-NEXT:{{^}}                  ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:26:27: error: can't store int32 in an array element of type float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(out, 0, 1){{$}}
# CHECK-NEXT:{{^}}                              ^{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}stores.py:27:11: error: can't store float32 in a field of type int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        t = S(1.0, v){{$}}
# CHECK-NEXT:{{^}}              ^~~{{$}}
# CHECK-NEXT:{{^}}    note: convert the value: int(…){{$}}
# CHECK-NEXT:{{^}}stores.py:28:17: error: vec3f takes float32 components, not float64 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        u = wp.vec3(d, d, d){{$}}
# CHECK-NEXT:{{^}}                    ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: float(…); all values used to initialize this vector are expected to be of the type `float32`{{$}}
# CHECK-NEXT:{{^}}stores.py:39:5: error: this assigns to a temporary value and would have no effect [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        wp.vec3(v)[0] = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first{{$}}
# CHECK-NEXT:{{^}}stores.py:40:5: error: this can't be assigned to or indexed: tuple(int32) [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        out.shape = 3{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}stores.py:41:5: error: this assigns to a temporary value and would have no effect [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        out.ndim = 1{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first{{$}}
# CHECK-NEXT:{{^}}stores.py:42:5: error: this can't be assigned to or indexed: tuple(int32) [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        out.shape[0] = 1{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}stores.py:43:5: error: `x` is not an attribute of 'make()' (float32) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        make().x = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
