# Calls that match nothing, or are made in the wrong way.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.func
def scale(x: float, s: float = 2.0):
    return x * s


@wp.func
def overloaded(x: int):
    return 1


@wp.func
def overloaded(x: wp.vec3):
    return 2


@wp.func
def bump(x: wp.ref[float]):
    x += 1.0


@wp.func
def bad_default(x: float, n: int = 1.5):
    return x


@wp.kernel
def calls(out: wp.array(dtype=float), i: int, d: wp.float64, v: wp.vec3):
    x0 = scale(i)
    x1 = scale()
    x2 = scale(1.0, 2.0, 3.0)
    x3 = scale(1.0, factor=2.0)
    x4 = scale(1.0, x=2.0)
    x5 = overloaded(1.0)
    x6 = wp.sin(i)
    x7 = wp.max(1.0, d)
    x8 = wp.dot(v, wp.vec2())
    x9 = wp.sin(1.0, 2.0)
    x10 = wp.cross(v)
    x11 = out(1.0)
    x12 = v(1.0)
    bump(1.0)
    bump(out[0] + 1.0)
    x13 = bad_default(1.0)
    x14 = scale(*out)
    x15 = scale(**out)
    x16 = scale(1.0, s=1.0, s=2.0)
    x17 = wp.where(True, 1.0, d)
    x18 = wp.where(True, 1.0)
    x19 = wp.where(cond=True, a=1.0, b=2.0)
    x20 = len(i)
    x21 = wp.randf(1)


@wp.kernel
def constructors(i: int, d: wp.float64, v: wp.vec3):
    x0 = wp.vec3(1.0, 2.0)
    x1 = wp.vec3(i, i, i)
    x2 = float(v)
    x3 = int(1, 2)
    x4 = wp.mat22(v, v)
    x5 = wp.quat(1.0, 2.0)
    x6 = wp.transform(1.0, 2.0)
    x7 = wp.vec3(x=1.0)
    x8 = wp.identity(n=i, dtype=float)
    x9 = wp.identity(n=2, dtype=wp.vec3)
    x10 = wp.vector(length=-1, dtype=float)
    x11 = wp.matrix(1.0, shape=3, dtype=wp.vec3)
    x12 = wp.zeros(shape=i, dtype=float)
    x13 = wp.zeros(shape=(2, 2, 2, 2, 2), dtype=float)
    x14 = wp.zeros(shape=-1, dtype=float)
    x15 = wp.zeros(dtype=float)
    x16 = wp.zeros(shape=3, dtype=1.0)
    x17 = wp.reinterpret(d, wp.int32)
    x18 = wp.Any()
    x19 = wp.vec3(v, v)


@wp.kernel
def atomics(a: wp.array2d(dtype=float), b: wp.array(dtype=bool), f: float):
    wp.atomic_add(a, 0, f)
    wp.atomic_add(f, 0, f)
    wp.atomic_or(a, 0, 0, f)
    wp.atomic_add(b, 0, True)
    wp.atomic_add(a, f, 0, f)
    wp.atomic_add(a, 0, 0, weight=f)
    wp.atomic_swap(a, 0, 0, f)


@wp.kernel
def printing(i: int, f: float, v: wp.vec3):
    wp.printf(i)
    wp.printf("%d\n", f)
    wp.printf("%f\n", i)
    wp.printf("%d %d\n", i)
    wp.printf("%d\n", i, i)
    wp.printf("%s\n", i)
    wp.printf("%y\n", i)
    wp.printf("100%", i)
    wp.printf("%d\n", v)
    print(i, "late")
    print(i, end="")

# CHECK:{{^}}calls.py:51:29: error: keyword argument 's' is given twice [syntax_error]{{$}}
# CHECK-NEXT:{{^}}        x16 = scale(1.0, s=1.0, s=2.0){{$}}
# CHECK-NEXT:{{^}}                                ^{{$}}
# CHECK-NEXT:{{^}}calls.py:33:10: error: Couldn't find a function 'scale' that takes (int32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x0 = scale(i){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is scale(x: float32, s: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'scale' that matched inputs with types: [int32]{{$}}
# CHECK-NEXT:{{^}}calls.py:34:10: error: Couldn't find a function 'scale' that takes () [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x1 = scale(){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is scale(x: float32, s: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'scale' that matched inputs with types: []{{$}}
# CHECK-NEXT:{{^}}calls.py:35:10: error: Couldn't find a function 'scale' that takes (float32, float32, float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x2 = scale(1.0, 2.0, 3.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is scale(x: float32, s: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'scale' that matched inputs with types: [float32, float32, float32]{{$}}
# CHECK-NEXT:{{^}}calls.py:36:10: error: Couldn't find a function 'scale' that takes (float32, factor=float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x3 = scale(1.0, factor=2.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is scale(x: float32, s: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'scale' that matched inputs with types: [float32, factor=float32]{{$}}
# CHECK-NEXT:{{^}}calls.py:37:10: error: Couldn't find a function 'scale' that takes (float32, x=float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x4 = scale(1.0, x=2.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is scale(x: float32, s: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'scale' that matched inputs with types: [float32, x=float32]{{$}}
# CHECK-NEXT:{{^}}calls.py:38:10: error: Couldn't find a function 'overloaded' that takes (float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x5 = overloaded(1.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is overloaded(x: int32){{$}}
# CHECK-NEXT:{{^}}    note: there is overloaded(x: vec3f){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'overloaded' that matched inputs with types: [float32]{{$}}
# CHECK-NEXT:{{^}}calls.py:39:10: error: Couldn't find a function 'sin' that takes (int32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x6 = wp.sin(i){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is sin(x: F) -> F{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'sin' that matched inputs with types: [int32]{{$}}
# CHECK-NEXT:{{^}}calls.py:40:10: error: Couldn't find a function 'max' that takes (float32, float64): Input types must be the same, got ['float32', 'float64'] [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x7 = wp.max(1.0, d){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: convert the arguments to one type{{$}}
# CHECK-NEXT:{{^}}calls.py:41:10: error: Couldn't find a function 'dot' that takes (vec3f, vec2f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x8 = wp.dot(v, wp.vec2()){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Input types must be exactly the same, got ['vec3f', 'vec2f']{{$}}
# CHECK-NEXT:{{^}}calls.py:42:10: error: Couldn't find a function 'sin' that takes (float32, float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x9 = wp.sin(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is sin(x: F) -> F{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'sin' that matched inputs with types: [float32, float32]{{$}}
# CHECK-NEXT:{{^}}calls.py:43:11: error: Couldn't find a function 'cross' that takes (vec3f) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x10 = wp.cross(v){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is cross(a: vec[3,S], b: vec[3,S]) -> vec[3,S]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'cross' that matched inputs with types: [vec3f]{{$}}
# CHECK-NEXT:{{^}}calls.py:44:11: error: array(dtype=float32) can't be called [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x11 = out(1.0){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:45:11: error: vec3f can't be called [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x12 = v(1.0){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:46:10: error: 'bump' updates its argument 'x', so it needs a variable here [bad_reference]{{$}}
# CHECK-NEXT:{{^}}        bump(1.0){{$}}
# CHECK-NEXT:{{^}}             ^~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first and pass that{{$}}
# CHECK-NEXT:{{^}}calls.py:47:10: error: 'bump' updates its argument 'x', so it needs a variable here [bad_reference]{{$}}
# CHECK-NEXT:{{^}}        bump(out[0] + 1.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first and pass that{{$}}
# CHECK-NEXT:{{^}}calls.py:27:36: error: the default value of 'n' is no int32 [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def bad_default(x: float, n: int = 1.5):{{$}}
# CHECK-NEXT:{{^}}                                       ^~~{{$}}
# CHECK-NEXT:{{^}}    note: change the value or the annotation{{$}}
# CHECK-NEXT:{{^}}calls.py:49:17: error: Starred expressions are only supported for vectors, matrices, quaternions, tuples and slices of arrays whose bounds are compile-time numbers, not for array(dtype=float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x14 = scale(*out){{$}}
# CHECK-NEXT:{{^}}                    ^~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:50:19: error: Construct `**` in a call not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        x15 = scale(**out){{$}}
# CHECK-NEXT:{{^}}                      ^~~{{$}}
# CHECK-NEXT:{{^}}calls.py:52:11: error: where(): Input types must be the same, got ['float32', 'float64'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x17 = wp.where(True, 1.0, d){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:53:11: error: where() takes a condition and two values [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x18 = wp.where(True, 1.0){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:54:33: error: where() has no parameter 'a' [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x19 = wp.where(cond=True, a=1.0, b=2.0){{$}}
# CHECK-NEXT:{{^}}                                    ^~~{{$}}
# CHECK-NEXT:{{^}}calls.py:55:11: error: len() does not work on int32 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x20 = len(i){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:56:11: error: Couldn't find a function 'randf' that takes (int32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x21 = wp.randf(1){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is randf(state: ref[uint32]) -> float{{$}}
# CHECK-NEXT:{{^}}    note: there is randf(state: ref[uint32], low: float, high: float) -> float{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'randf' that matched inputs with types: [int32]{{$}}
# CHECK-NEXT:{{^}}calls.py:61:10: error: vec3f() takes 3 components, got 2 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x0 = wp.vec3(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: incompatible number of values given (2) when constructing a vector of length 3{{$}}
# CHECK-NEXT:{{^}}calls.py:62:18: error: vec3f takes float32 components, not int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x1 = wp.vec3(i, i, i){{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: float(…); all values used to initialize this vector are expected to be of the type `float32`{{$}}
# CHECK-NEXT:{{^}}calls.py:63:10: error: can't convert vec3f to float32 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x2 = float(v){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:64:10: error: int32() takes one argument [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x3 = int(1, 2){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:65:19: error: mat22f takes columns of type vec2f, not vec3f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x4 = wp.mat22(v, v){{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}calls.py:66:10: error: quatf() takes 4 components, got 2 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x5 = wp.quat(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:67:23: error: transformf takes vec3f here, not float32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x6 = wp.transform(1.0, 2.0){{$}}
# CHECK-NEXT:{{^}}                          ^~~{{$}}
# CHECK-NEXT:{{^}}    note: incompatible number of values given (2) when constructing a transform; expected 0, 1, or 7{{$}}
# CHECK-NEXT:{{^}}calls.py:68:20: error: vec3f() has no parameter 'x' [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x7 = wp.vec3(x=1.0){{$}}
# CHECK-NEXT:{{^}}                       ^~~{{$}}
# CHECK-NEXT:{{^}}calls.py:69:10: error: identity() takes a compile-time n from 1 to 256 and dtype [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x8 = wp.identity(n=i, dtype=float){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:70:33: error: dtype must be a scalar type [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x9 = wp.identity(n=2, dtype=wp.vec3){{$}}
# CHECK-NEXT:{{^}}                                    ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:71:11: error: a vector needs a length from 0 to 65536 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x10 = wp.vector(length=-1, dtype=float){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: the `length` argument must be specified when zero-initializing a vector{{$}}
# CHECK-NEXT:{{^}}calls.py:72:41: error: dtype must be a scalar type [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x11 = wp.matrix(1.0, shape=3, dtype=wp.vec3){{$}}
# CHECK-NEXT:{{^}}                                            ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:73:26: error: the shape of a local array must be a compile-time integer, not int32 [not_constant]{{$}}
# CHECK-NEXT:{{^}}        x12 = wp.zeros(shape=i, dtype=float){{$}}
# CHECK-NEXT:{{^}}                             ^{{$}}
# CHECK-NEXT:{{^}}    note: use a compile-time constant: a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds; the `shape` argument must be specified as a constant when zero-initializing an array{{$}}
# CHECK-NEXT:{{^}}calls.py:74:26: error: an array has 1 to 4 dimensions [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        x13 = wp.zeros(shape=(2, 2, 2, 2, 2), dtype=float){{$}}
# CHECK-NEXT:{{^}}                             ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:75:26: error: the shape of a local array must be small and not negative [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        x14 = wp.zeros(shape=-1, dtype=float){{$}}
# CHECK-NEXT:{{^}}                             ^~{{$}}
# CHECK-NEXT:{{^}}    note: allocate large arrays outside and pass them in{{$}}
# CHECK-NEXT:{{^}}calls.py:76:11: error: zeros() lacks the argument 'shape' [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x15 = wp.zeros(dtype=float){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:77:35: error: dtype must be a type [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x16 = wp.zeros(shape=3, dtype=1.0){{$}}
# CHECK-NEXT:{{^}}                                      ^~~{{$}}
# CHECK-NEXT:{{^}}calls.py:78:11: error: can't reinterpret float64 as int32 [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x17 = wp.reinterpret(d, wp.int32){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: both must be numbers, vectors, matrices or structs of them, of the same size{{$}}
# CHECK-NEXT:{{^}}calls.py:79:11: error: the generic type Any can't be constructed [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x18 = wp.Any(){{$}}
# CHECK-NEXT:{{^}}              ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:80:19: error: vec3f takes float32 components, not vec3f [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        x19 = wp.vec3(v, v){{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: float(…); all values used to initialize this vector are expected to be of the type `float32`{{$}}
# CHECK-NEXT:{{^}}calls.py:85:5: error: atomic_add() on an array of 2 dimensions takes 2 indices and 1 value, got (array2d(dtype=float32), int32, float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(a, 0, f){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:86:5: error: atomic_add() takes an array first, got (float32, int32, float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(f, 0, f){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:87:5: error: atomic_or() does not work on array2d(dtype=float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_or(a, 0, 0, f){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:88:5: error: atomic_add() does not work on array(dtype=bool) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(b, 0, True){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:89:22: error: an index must be an integer, not float32 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(a, f, 0, f){{$}}
# CHECK-NEXT:{{^}}                         ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}calls.py:90:35: error: atomic_add() has no parameter 'weight' [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(a, 0, 0, weight=f){{$}}
# CHECK-NEXT:{{^}}                                      ^{{$}}
# CHECK-NEXT:{{^}}calls.py:91:5: error: `atomic_swap` is not an attribute of 'wp' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_swap(a, 0, 0, f){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: Could not find function wp.atomic_swap{{$}}
# CHECK-NEXT:{{^}}calls.py:96:5: error: printf() takes a literal format string first [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf(i){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}calls.py:97:23: error: printf(): '%d' can't show float32 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%d\n", f){{$}}
# CHECK-NEXT:{{^}}                          ^{{$}}
# CHECK-NEXT:{{^}}    note: use %f, or convert the value: int(…){{$}}
# CHECK-NEXT:{{^}}calls.py:98:23: error: printf(): '%f' can't show int32 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%f\n", i){{$}}
# CHECK-NEXT:{{^}}                          ^{{$}}
# CHECK-NEXT:{{^}}    note: use %d, or convert the value: float(…){{$}}
# CHECK-NEXT:{{^}}calls.py:99:5: error: printf(): the format asks for more values than the 1 given [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%d %d\n", i){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: give a value for each conversion{{$}}
# CHECK-NEXT:{{^}}calls.py:100:26: error: printf(): the format shows only 1 of the 2 values [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%d\n", i, i){{$}}
# CHECK-NEXT:{{^}}                             ^{{$}}
# CHECK-NEXT:{{^}}    note: add a conversion, or drop the value{{$}}
# CHECK-NEXT:{{^}}calls.py:101:15: error: printf(): '%s' shows text that is written in the call, kernels have no other [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%s\n", i){{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use %d for integers and %f for floats{{$}}
# CHECK-NEXT:{{^}}calls.py:102:15: error: printf(): '%y' is not a conversion [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%y\n", i){{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use one of d i u o x X c f F e E g G a A p{{$}}
# CHECK-NEXT:{{^}}calls.py:103:15: error: printf(): the format ends within a conversion [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("100%", i){{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write '%%' for a percent sign{{$}}
# CHECK-NEXT:{{^}}calls.py:104:23: error: printf() takes numbers, not vec3f [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.printf("%d\n", v){{$}}
# CHECK-NEXT:{{^}}                          ^{{$}}
# CHECK-NEXT:{{^}}    note: print components one by one, or use print(){{$}}
# CHECK-NEXT:{{^}}calls.py:105:14: error: print() takes text before values [bad_call]{{$}}
# CHECK-NEXT:{{^}}        print(i, "late"){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use wp.printf for mixed output{{$}}
# CHECK-NEXT:{{^}}calls.py:106:18: error: print() has no parameter 'end' [bad_call]{{$}}
# CHECK-NEXT:{{^}}        print(i, end=""){{$}}
# CHECK-NEXT:{{^}}                     ^~{{$}}
# CHECK-NOT:{{error|warning}}:
