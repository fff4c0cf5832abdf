# wp.static needs what is known while compiling.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp

N = 4


@wp.kernel
def statics(out: wp.array(dtype=float), n: int):
    out[0] = wp.static(n * 2.0)
    out[1] = wp.static(out[0])
    out[2] = wp.static()
    out[3] = wp.static(1.0, 2.0)
    out[4] = wp.static(missing)
    out[5] = float(wp.static(wp.tid()))
    s = float(0.0)
    for i in range(n):
        s += float(wp.static(i))
    for i in range(100000):
        s += float(wp.static(i))
    out[6] = s + float(wp.static(N // 0))

# CHECK:{{^}}static.py:10:24: error: wp.static() needs a compile-time expression, but 'n' has its value at run time only [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[0] = wp.static(n * 2.0){{$}}
# CHECK-NEXT:{{^}}                           ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: it may use constants, types, functions and the variables of unrolled loops{{$}}
# CHECK-NEXT:{{^}}static.py:11:24: error: wp.static() needs a compile-time expression [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[1] = wp.static(out[0]){{$}}
# CHECK-NEXT:{{^}}                           ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: it may use constants, types, functions and the variables of unrolled loops{{$}}
# CHECK-NEXT:{{^}}static.py:12:14: error: wp.static() takes one expression [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[2] = wp.static(){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}static.py:13:14: error: wp.static() takes one expression [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[3] = wp.static(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}static.py:14:24: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        out[4] = wp.static(missing){{$}}
# CHECK-NEXT:{{^}}                           ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NEXT:{{^}}static.py:15:30: error: wp.static() needs a compile-time expression [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[5] = float(wp.static(wp.tid())){{$}}
# CHECK-NEXT:{{^}}                                 ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: it may use constants, types, functions and the variables of unrolled loops{{$}}
# CHECK-NEXT:{{^}}static.py:18:30: error: wp.static() needs a compile-time expression, but 'i' has its value at run time only [bad_static]{{$}}
# CHECK-NEXT:{{^}}            s += float(wp.static(i)){{$}}
# CHECK-NEXT:{{^}}                                 ^{{$}}
# CHECK-NEXT:{{^}}    note: it may use constants, types, functions and the variables of unrolled loops{{$}}
# CHECK-NEXT:{{^}}static.py:19:14: error: this loop must be unrolled, because its variable is needed as a constant or a wp.static is inside, but that gives too many copies of its body [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        for i in range(100000):{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: move wp.static out of the loop{{$}}
# CHECK-NOT:{{error|warning}}:
