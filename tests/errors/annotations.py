# Parameters without a type, with an unknown one, with a default that does not fit.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.struct
class Bad:
    a: nosuch
    b: wp.array(dtype=wp.Any)
    c = 3
    d: float
    d: int


@wp.kernel
def missing(a, b: float, c):
    pass


@wp.kernel
def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):
    pass


@wp.kernel
def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):
    pass


@wp.kernel
def stars(*args, **kwargs):
    pass


@wp.kernel
def defaults(a: float = "x", b: int = 1.5, c: wp.vec3 = 1.0, d: float = undefined):
    pass


@wp.kernel
def generic(a: wp.Any, b: wp.array(dtype=wp.Float)):
    pass


@wp.kernel
def uses_bad(s: Bad):
    pass


@wp.func
def no_annotation(x):
    return x


@wp.kernel
def calls_it(out: wp.array(dtype=float)):
    out[0] = no_annotation(1.0)
    out[1] = no_annotation(2.0)


@wp.kernel
def local_annotation(out: wp.array(dtype=float)):
    x: nosuch = 1.0
    out[0] = x

# CHECK:{{^}}annotations.py:8:8: error: unknown type 'nosuch' [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}        a: nosuch{{$}}
# CHECK-NEXT:{{^}}           ^~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:9:8: error: a field can't have the generic type array[Any,1] [bad_struct]{{$}}
# CHECK-NEXT:{{^}}        b: wp.array(dtype=wp.Any){{$}}
# CHECK-NEXT:{{^}}           ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:10:5: error: a struct holds only annotated fields [bad_struct]{{$}}
# CHECK-NEXT:{{^}}        c = 3{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write e.g. mass: float{{$}}
# CHECK-NEXT:{{^}}annotations.py:12:5: error: the field 'd' is there twice [redefinition]{{$}}
# CHECK-NEXT:{{^}}        d: int{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:16:13: error: the parameter 'a' has no type annotation [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def missing(a, b: float, c):{{$}}
# CHECK-NEXT:{{^}}                ^{{$}}
# CHECK-NEXT:{{^}}    note: write e.g. a: float, or Any for a generic function{{$}}
# CHECK-NEXT:{{^}}annotations.py:16:26: error: the parameter 'c' has no type annotation [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def missing(a, b: float, c):{{$}}
# CHECK-NEXT:{{^}}                             ^{{$}}
# CHECK-NEXT:{{^}}    note: write e.g. c: float, or Any for a generic function{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:16: error: unknown type 'nosuch' [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                   ^~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:42: error: unknown type 'nosuch' [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                                             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:54: error: '3' is not a type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                                                         ^{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:60: error: 'no such' is not a type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                                                               ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:101: error: ndim must be a number from 1 to 4 or Any [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                                                                                                        ^{{$}}
# CHECK-NEXT:{{^}}annotations.py:21:108: error: 'wp.sin' is not a type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def unknown(a: nosuch, b: wp.array(dtype=nosuch), c: 3, d: "no such", e: wp.array(dtype=float, ndim=5), f: wp.sin):{{$}}
# CHECK-NEXT:{{^}}                                                                                                               ^~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:26:15: error: a vector type needs length=, a number from 1 to 65536 or Any [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:26:59: error: a matrix type needs shape=(rows, columns) [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:26:101: error: dtype must be a float type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                                                                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:26:136: error: dtype must be a scalar type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                                                                                                           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:26:203: error: a matrix has at most 65536 components [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def shapes(a: wp.types.vector(length=-1, dtype=float), b: wp.types.matrix(shape=3, dtype=float), c: wp.types.quaternion(dtype=int), d: wp.types.vector(length=3, dtype=wp.vec3), e: wp.types.matrix(shape=(60000, 60000), dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                                                                                                                                                                              ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:31:12: error: '*' parameters are not supported in kernels and functions [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}    def stars(*args, **kwargs):{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}annotations.py:31:20: error: '*' parameters are not supported in kernels and functions [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}    def stars(*args, **kwargs):{{$}}
# CHECK-NEXT:{{^}}                       ^{{$}}
# CHECK-NEXT:{{^}}annotations.py:36:25: error: the default value of 'a' is no float32 [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def defaults(a: float = "x", b: int = 1.5, c: wp.vec3 = 1.0, d: float = undefined):{{$}}
# CHECK-NEXT:{{^}}                            ^~~{{$}}
# CHECK-NEXT:{{^}}    note: change the value or the annotation{{$}}
# CHECK-NEXT:{{^}}annotations.py:36:39: error: the default value of 'b' is no int32 [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def defaults(a: float = "x", b: int = 1.5, c: wp.vec3 = 1.0, d: float = undefined):{{$}}
# CHECK-NEXT:{{^}}                                          ^~~{{$}}
# CHECK-NEXT:{{^}}    note: change the value or the annotation{{$}}
# CHECK-NEXT:{{^}}annotations.py:36:57: error: the default value of 'c' is no vec3f [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def defaults(a: float = "x", b: int = 1.5, c: wp.vec3 = 1.0, d: float = undefined):{{$}}
# CHECK-NEXT:{{^}}                                                            ^~~{{$}}
# CHECK-NEXT:{{^}}    note: change the value or the annotation{{$}}
# CHECK-NEXT:{{^}}annotations.py:36:73: error: the default value must be a constant [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def defaults(a: float = "x", b: int = 1.5, c: wp.vec3 = 1.0, d: float = undefined):{{$}}
# CHECK-NEXT:{{^}}                                                                            ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}annotations.py:41:13: error: the kernel is generic in 'a': its type must be given [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def generic(a: wp.Any, b: wp.array(dtype=wp.Float)):{{$}}
# CHECK-NEXT:{{^}}                ^{{$}}
# CHECK-NEXT:{{^}}    note: give argument types, or launch it with arguments{{$}}
# CHECK-NEXT:{{^}}annotations.py:41:24: error: the kernel is generic in 'b': its type must be given [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def generic(a: wp.Any, b: wp.array(dtype=wp.Float)):{{$}}
# CHECK-NEXT:{{^}}                           ^{{$}}
# CHECK-NEXT:{{^}}    note: give argument types, or launch it with arguments{{$}}
# CHECK-NEXT:{{^}}annotations.py:51:19: error: the parameter 'x' has no type annotation [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def no_annotation(x):{{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}    note: write e.g. x: float, or Any for a generic function{{$}}
# CHECK-NEXT:{{^}}annotations.py:63:8: error: unknown type 'nosuch' [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}        x: nosuch = 1.0{{$}}
# CHECK-NEXT:{{^}}           ^~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
