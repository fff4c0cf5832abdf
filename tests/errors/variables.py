# A variable keeps the type of its first value; what has no value can't be assigned.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.func
def nothing(x: float):
    pass


@wp.kernel
def type_changes(out: wp.array(dtype=float), v: wp.vec3):
    y = 1.0
    y = 2
    out[0] = y
    v = wp.vec2()
    if out[0] > 0.0:
        z = 1
    else:
        z = 1.0
    out[1] = float(z)
    for i in range(3):
        i = 1.0
    w: float = wp.vec3()
    k: int = 1.5
    out[2] = w


@wp.kernel
def no_value(out: wp.array(dtype=float), i: int):
    q = nothing(1.0)
    out[0] = q
    out[1] = nothing(1.0)
    w = None
    out[2] = w
    out[3] = None
    if i == None:
        pass
    s = "text"
    out[4] = s


@wp.kernel
def unpacking(out: wp.array(dtype=float), v: wp.vec3):
    a, b = v
    c, d, e = 1.0, 2.0
    f, g = out
    h, k = 1.0
    (l, m), n = 1.0, 2.0
    out[0] = a + c + f + h + l

# CHECK:{{^}}variables.py:14:5: error: assigning to existing symbol 'y' (float32) a value of type int32 [type_change]{{$}}
# CHECK-NEXT:{{^}}        y = 2{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}variables.py:13:5: note: 'y' got its type here; use another name or convert the value{{$}}
# CHECK-NEXT:{{^}}        y = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}variables.py:16:5: error: assigning to existing symbol 'v' (vec3f) a value of type vec2f [type_change]{{$}}
# CHECK-NEXT:{{^}}        v = wp.vec2(){{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}variables.py:12:46: note: 'v' got its type here; use another name or convert the value{{$}}
# CHECK-NEXT:{{^}}    def type_changes(out: wp.array(dtype=float), v: wp.vec3):{{$}}
# CHECK-NEXT:{{^}}                                                 ^{{$}}
# CHECK-NEXT:{{^}}variables.py:20:9: error: assigning to existing symbol 'z' (int32) a value of type float32 [type_change]{{$}}
# CHECK-NEXT:{{^}}            z = 1.0{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}variables.py:18:9: note: 'z' got its type here; use another name or convert the value{{$}}
# CHECK-NEXT:{{^}}            z = 1{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}variables.py:23:9: error: assigning to existing symbol 'i' (int32) a value of type float32 [type_change]{{$}}
# CHECK-NEXT:{{^}}            i = 1.0{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}variables.py:22:9: note: 'i' got its type here; use another name or convert the value{{$}}
# CHECK-NEXT:{{^}}        for i in range(3):{{$}}
# CHECK-NEXT:{{^}}            ^{{$}}
# CHECK-NEXT:{{^}}variables.py:24:16: error: the value is vec3f, the annotation says float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        w: float = wp.vec3(){{$}}
# CHECK-NEXT:{{^}}                   ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: convert the value or change the annotation{{$}}
# CHECK-NEXT:{{^}}variables.py:25:14: error: the value is float32, the annotation says int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        k: int = 1.5{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: convert the value or change the annotation{{$}}
# CHECK-NEXT:{{^}}variables.py:31:5: error: 'q' is assigned from something that has no value [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        q = nothing(1.0){{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: the function called here returns nothing{{$}}
# CHECK-NEXT:{{^}}variables.py:33:14: error: this has no value [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[1] = nothing(1.0){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: the function called here returns nothing{{$}}
# CHECK-NEXT:{{^}}variables.py:34:5: error: None is not a value in kernels [none_value]{{$}}
# CHECK-NEXT:{{^}}        w = None{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: use a flag variable instead{{$}}
# CHECK-NEXT:{{^}}variables.py:36:14: error: None is not a value in kernels [none_value]{{$}}
# CHECK-NEXT:{{^}}        out[3] = None{{$}}
# CHECK-NEXT:{{^}}                 ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: use a flag variable instead{{$}}
# CHECK-NEXT:{{^}}variables.py:37:8: error: only arrays can be compared with None [none_value]{{$}}
# CHECK-NEXT:{{^}}        if i == None:{{$}}
# CHECK-NEXT:{{^}}           ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}variables.py:40:14: error: str can't be used as a value in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        out[4] = s{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}variables.py:45:12: error: there are 2 names to assign but 3 values [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        a, b = v{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}variables.py:46:15: error: there are 3 names to assign but 2 values [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        c, d, e = 1.0, 2.0{{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}variables.py:47:12: error: array(dtype=float32) can't be unpacked into several names [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        f, g = out{{$}}
# CHECK-NEXT:{{^}}               ^~~{{$}}
# CHECK-NEXT:{{^}}variables.py:48:12: error: float32 can't be unpacked into several names [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        h, k = 1.0{{$}}
# CHECK-NEXT:{{^}}               ^~~{{$}}
# CHECK-NEXT:{{^}}variables.py:49:17: error: float32 can't be unpacked into several names [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        (l, m), n = 1.0, 2.0{{$}}
# CHECK-NEXT:{{^}}                    ^~~~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
