# What can't decide an if, a while or a ternary.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def conditions(out: wp.array(dtype=float), v: wp.vec3, i: int):
    if v:
        x = 1.0
    else:
        x = 2.0
    out[0] = x
    while v:
        y = 1.0
    z = 1.0 if v else 2.0
    out[1] = z
    if i > 0 and v:
        out[2] = 1.0
    if not v or missing:
        out[3] = 1.0
    out[4] = 1.0 if i > 0 else 2
    out[5] = 1.0 if i > 0 else v
    assert v

# CHECK:{{^}}conditions.py:8:8: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        if v:{{$}}
# CHECK-NEXT:{{^}}           ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NEXT:{{^}}conditions.py:13:11: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        while v:{{$}}
# CHECK-NEXT:{{^}}              ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NEXT:{{^}}conditions.py:15:16: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        z = 1.0 if v else 2.0{{$}}
# CHECK-NEXT:{{^}}                   ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NEXT:{{^}}conditions.py:17:18: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        if i > 0 and v:{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NEXT:{{^}}conditions.py:19:12: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        if not v or missing:{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NEXT:{{^}}conditions.py:19:17: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        if not v or missing:{{$}}
# CHECK-NEXT:{{^}}                    ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}conditions.py:21:14: error: the two sides have different types: float32 and int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[4] = 1.0 if i > 0 else 2{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: convert one side, e.g. float32(…){{$}}
# CHECK-NEXT:{{^}}conditions.py:22:14: error: the two sides have different types: float32 and vec3f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        out[5] = 1.0 if i > 0 else v{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: convert one side, e.g. float32(…){{$}}
# CHECK-NEXT:{{^}}conditions.py:23:12: error: a condition must be a bool, a number or an array, not vec3f [bad_condition]{{$}}
# CHECK-NEXT:{{^}}        assert v{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: compare it with something{{$}}
# CHECK-NOT:{{error|warning}}:
