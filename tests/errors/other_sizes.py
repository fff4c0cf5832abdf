# Vectors and matrices made from ones of another size, in the words that programs look for.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def vectors(v: wp.vec3):
    a = wp.vec3(wp.vec2(1.0, 2.0))
    b = wp.vector(v, length=2)


@wp.kernel
def matrices():
    m = wp.mat33(wp.mat22(1.0, 2.0, 3.0, 4.0))

# CHECK:{{^}}other_sizes.py:8:9: error: can't make vec3f from vec2f [bad_call]{{$}}
# CHECK-NEXT:{{^}}        a = wp.vec3(wp.vec2(1.0, 2.0)){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: incompatible vector of length 3 given when copy constructing a vector of length 2{{$}}
# CHECK-NEXT:{{^}}other_sizes.py:9:9: error: can't make vec2f from vec3f [bad_call]{{$}}
# CHECK-NEXT:{{^}}        b = wp.vector(v, length=2){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: incompatible vector of length 2 given when copy constructing a vector of length 3{{$}}
# CHECK-NEXT:{{^}}other_sizes.py:14:9: error: can't make mat33f from mat22f [bad_call]{{$}}
# CHECK-NEXT:{{^}}        m = wp.mat33(wp.mat22(1.0, 2.0, 3.0, 4.0)){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: incompatible matrix of shape (3, 3) given when copy constructing a matrix of shape (2, 2){{$}}
