# Sizes of vectors and matrices that don't fit: in annotations that leave some open, in constructors, in nested tuples.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
from typing import Any, Tuple

import warp as wp


@wp.kernel
def open_sizes(a: wp.types.matrix((Any, "three"), float), b: wp.types.vector(Any, wp.vec3), c: wp.vec("n", wp.Int)):
    pass


@wp.kernel
def own_sizes(out: wp.array(dtype=float)):
    v = wp.vec3(wp.vec3(1.0), length=4)
    m = wp.mat22(wp.mat22(1.0), shape=(2, 3))
    out[0] = v[0] + m[0, 0]


@wp.func
def nested(x: float) -> Tuple[int, Tuple[wp.Float, int]]:
    return 1, (x, x)


@wp.kernel
def calls_it(out: wp.array(dtype=float)):
    n, both = nested(1.0)
    out[0] = both[1]


@wp.func
def of_two(v: wp.types.vector(2, wp.Float)):
    return v[0]


@wp.kernel
def calls_of_two(out: wp.array(dtype=float)):
    out[0] = of_two(wp.vec3(1.0))

# CHECK:{{^}}composite_sizes.py:9:35: error: the shape of a matrix type is made of numbers from 1 to 65536 and Any [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def open_sizes(a: wp.types.matrix((Any, "three"), float), b: wp.types.vector(Any, wp.vec3), c: wp.vec("n", wp.Int)):{{$}}
# CHECK-NEXT:{{^}}                                      ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:9:62: error: dtype must be a scalar type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def open_sizes(a: wp.types.matrix((Any, "three"), float), b: wp.types.vector(Any, wp.vec3), c: wp.vec("n", wp.Int)):{{$}}
# CHECK-NEXT:{{^}}                                                                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:9:96: error: a vector type needs length=, a number from 1 to 65536 or Any [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def open_sizes(a: wp.types.matrix((Any, "three"), float), b: wp.types.vector(Any, wp.vec3), c: wp.vec("n", wp.Int)):{{$}}
# CHECK-NEXT:{{^}}                                                                                                   ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:15:38: error: vec3f has another length [bad_call]{{$}}
# CHECK-NEXT:{{^}}        v = wp.vec3(wp.vec3(1.0), length=4){{$}}
# CHECK-NEXT:{{^}}                                         ^{{$}}
# CHECK-NEXT:{{^}}    note: leave length= out, or give it to wp.vector(…){{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:16:39: error: mat22f has another shape [bad_call]{{$}}
# CHECK-NEXT:{{^}}        m = wp.mat22(wp.mat22(1.0), shape=(2, 3)){{$}}
# CHECK-NEXT:{{^}}                                          ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: leave shape= out, or give it to wp.matrix(…){{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:21:25: error: 'nested' returns int32, tuple(float32, float32), its annotation says int32, tuple[Float, int32] [result_annotation]{{$}}
# CHECK-NEXT:{{^}}    def nested(x: float) -> Tuple[int, Tuple[wp.Float, int]]:{{$}}
# CHECK-NEXT:{{^}}                            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: change the annotation or what the function returns: The function `nested` has its return type annotated as `Tuple[int, Tuple[wp.Float, int]]` but the code returns a tuple with types `(int32, tuple(float32, float32))`.{{$}}
# CHECK-NEXT:{{^}}composite_sizes.py:38:14: error: Couldn't find a function 'of_two' that takes (vec3f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        out[0] = of_two(wp.vec3(1.0)){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is of_two(v: vec[2,Float]){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'of_two' that matched inputs with types: [vec3f]{{$}}
# CHECK-NOT:{{error|warning}}:
