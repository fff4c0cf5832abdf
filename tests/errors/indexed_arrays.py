# Mistakes with indexed arrays.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.func
def plain(x: wp.array(dtype=float)):
    return x[0]


@wp.func
def indexed(x: wp.indexedarray(dtype=float)):
    return x[0]


@wp.kernel
def k(a: wp.indexedarray2d(dtype=float), b: wp.array2d(dtype=float), rows: wp.array(dtype=int), f: wp.array(dtype=float)):
    x1 = plain(a[0])
    x2 = indexed(b)
    x3 = a[rows]
    x4 = b[f]
    x5 = a[0, 1, 2]
    x6 = a.data
    x7 = a.ptr
    a[0] = 1.0
    b[rows, 0] = 1.0
    wp.atomic_add(a, 0, 1.0)
    x8 = a + a


@wp.kernel
def bad(a: wp.indexedarray(dtype=float, ndim=5), b: wp.indexedarray5d(dtype=float)):
    pass
# CHECK:{{^}}indexed_arrays.py:18:10: error: Couldn't find a function 'plain' that takes (indexedarray(dtype=float32)) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x1 = plain(a[0]){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is plain(x: array(dtype=float32)){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'plain' that matched inputs with types: [indexedarray(dtype=float32)]{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:19:10: error: Couldn't find a function 'indexed' that takes (array2d(dtype=float32)) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x2 = indexed(b){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is indexed(x: indexedarray(dtype=float32)){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'indexed' that matched inputs with types: [array2d(dtype=float32)]{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:20:12: error: an indexedarray can't be indexed by an array [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x3 = a[rows]{{$}}
# CHECK-NEXT:{{^}}               ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: look the indices up first: a[indices[i]]{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:21:12: error: an index must be an integer, not array(dtype=float32) [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x4 = b[f]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:22:18: error: too many indices: indexedarray2d(dtype=float32) has 2 dimensions, got 3 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x5 = a[0, 1, 2]{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: Incorrect number of indices specified for array indexing{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:23:10: error: `data` is not an attribute of 'a' (indexedarray2d(dtype=float32)) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        x6 = a.data{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:24:10: error: `ptr` is not an attribute of 'a' (indexedarray2d(dtype=float32)) [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        x7 = a.ptr{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:25:12: error: can't store float32 in a component of type indexedarray(dtype=float32) [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        a[0] = 1.0{{$}}
# CHECK-NEXT:{{^}}               ^~~{{$}}
# CHECK-NEXT:{{^}}    note: make a indexedarray(dtype=float32) of it first{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:26:18: error: can't store float32 in a component of type indexedarray(dtype=float32) [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        b[rows, 0] = 1.0{{$}}
# CHECK-NEXT:{{^}}                     ^~~{{$}}
# CHECK-NEXT:{{^}}    note: make a indexedarray(dtype=float32) of it first{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:27:5: error: atomic_add() on an array of 2 dimensions takes 2 indices and 1 value, got (indexedarray2d(dtype=float32), int32, float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        wp.atomic_add(a, 0, 1.0){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:28:10: error: Couldn't find a function 'add' that takes (indexedarray2d(dtype=float32), indexedarray2d(dtype=float32)) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        x8 = a + a{{$}}
# CHECK-NEXT:{{^}}             ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: vec[N,S], b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: mat[R,C,S], b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: quat[F], b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: transform[F], b: transform[F]) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'add' that matched inputs with types: [indexedarray2d(dtype=float32), indexedarray2d(dtype=float32)]{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:32:46: error: ndim must be a number from 1 to 4 or Any [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def bad(a: wp.indexedarray(dtype=float, ndim=5), b: wp.indexedarray5d(dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                 ^{{$}}
# CHECK-NEXT:{{^}}indexed_arrays.py:32:53: error: 'wp.indexedarray5d(dtype=float)' is not a type [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def bad(a: wp.indexedarray(dtype=float, ndim=5), b: wp.indexedarray5d(dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
