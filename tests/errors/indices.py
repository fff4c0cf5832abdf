# Indices of the wrong kind, too many, out of range.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp

SHAPE = (2, 3)


@wp.kernel
def indices(a: wp.array2d(dtype=float), v: wp.vec3, m: wp.mat22, i: int, f: float, t: wp.transform):
    x0 = a[f, 0]
    x1 = a[0, 0, 0]
    x2 = v[3]
    x3 = v[-4]
    x4 = m[2, 0]
    x5 = m[0, 0, 0]
    x6 = v[0, 1]
    x7 = v[f]
    x8 = i[0]
    x9 = t[7]
    x10 = v[2:1]
    x11 = v[0:i]
    x12 = v[::0]
    x13 = a[0, 0:2:0]
    x14 = a[0:2, f]
    x15 = (1.0, 2.0)[2]
    x16 = (1.0, 2.0)[i]
    x17 = a.shape[4]
    x18 = a.shape[i]
    x19 = a[0.5, 1]
    pair = (1.0, 2)
    x20 = pair[i]
    x21 = pair[-3]
    x22 = a[True, 0]
    x23 = wp.sin[0]

# CHECK:{{^}}indices.py:10:12: error: an index must be an integer, not float32 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x0 = a[f, 0]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indices.py:11:18: error: too many indices: array2d(dtype=float32) has 2 dimensions, got 3 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x1 = a[0, 0, 0]{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: Incorrect number of indices specified for array indexing{{$}}
# CHECK-NEXT:{{^}}indices.py:12:12: error: index 3 is out of range for vec3f [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x2 = v[3]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}indices.py:13:12: error: index -4 is out of range for vec3f [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x3 = v[-4]{{$}}
# CHECK-NEXT:{{^}}               ^~{{$}}
# CHECK-NEXT:{{^}}indices.py:14:12: error: index 2 is out of range for mat22f [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x4 = m[2, 0]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}indices.py:15:10: error: too many indices for mat22f [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x5 = m[0, 0, 0]{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}indices.py:16:10: error: too many indices for vec3f [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x6 = v[0, 1]{{$}}
# CHECK-NEXT:{{^}}             ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}indices.py:17:12: error: an index must be an integer, not float32 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x7 = v[f]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indices.py:18:10: error: int32 can't be indexed [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x8 = i[0]{{$}}
# CHECK-NEXT:{{^}}             ^~~~{{$}}
# CHECK-NEXT:{{^}}indices.py:19:12: error: index 7 is out of range for transformf [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x9 = t[7]{{$}}
# CHECK-NEXT:{{^}}               ^{{$}}
# CHECK-NEXT:{{^}}indices.py:20:13: error: the slice is empty; a vector needs at least one component [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x10 = v[2:1]{{$}}
# CHECK-NEXT:{{^}}                ^~~{{$}}
# CHECK-NEXT:{{^}}indices.py:21:15: error: the bound of a slice must be a compile-time integer, not int32 [not_constant]{{$}}
# CHECK-NEXT:{{^}}        x11 = v[0:i]{{$}}
# CHECK-NEXT:{{^}}                  ^{{$}}
# CHECK-NEXT:{{^}}    note: use a compile-time constant: a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds{{$}}
# CHECK-NEXT:{{^}}indices.py:22:15: error: the step of a slice can't be zero [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x12 = v[::0]{{$}}
# CHECK-NEXT:{{^}}                  ^{{$}}
# CHECK-NEXT:{{^}}indices.py:23:20: error: Slice step cannot be zero [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        x13 = a[0, 0:2:0]{{$}}
# CHECK-NEXT:{{^}}                       ^{{$}}
# CHECK-NEXT:{{^}}indices.py:24:18: error: an index must be an integer, not float32 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x14 = a[0:2, f]{{$}}
# CHECK-NEXT:{{^}}                     ^{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indices.py:25:22: error: index 2 is out of range for a tuple of 2 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x15 = (1.0, 2.0)[2]{{$}}
# CHECK-NEXT:{{^}}                         ^{{$}}
# CHECK-NEXT:{{^}}indices.py:26:22: error: the index of a tuple must be a compile-time integer, not int32 [not_constant]{{$}}
# CHECK-NEXT:{{^}}        x16 = (1.0, 2.0)[i]{{$}}
# CHECK-NEXT:{{^}}                         ^{{$}}
# CHECK-NEXT:{{^}}    note: use a compile-time constant: a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds{{$}}
# CHECK-NEXT:{{^}}indices.py:27:19: error: index 4 is out of range for a tuple of 2 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x17 = a.shape[4]{{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}indices.py:28:19: error: the index of a tuple must be a compile-time integer, not int32 [not_constant]{{$}}
# CHECK-NEXT:{{^}}        x18 = a.shape[i]{{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}    note: use a compile-time constant: a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds{{$}}
# CHECK-NEXT:{{^}}indices.py:29:13: error: an index must be an integer, not float32 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x19 = a[0.5, 1]{{$}}
# CHECK-NEXT:{{^}}                ^~~{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indices.py:31:16: error: the index of a tuple must be a compile-time integer, not int32 [not_constant]{{$}}
# CHECK-NEXT:{{^}}        x20 = pair[i]{{$}}
# CHECK-NEXT:{{^}}                   ^{{$}}
# CHECK-NEXT:{{^}}    note: use a compile-time constant: a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds{{$}}
# CHECK-NEXT:{{^}}indices.py:32:16: error: index -3 is out of range for a tuple of 2 [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x21 = pair[-3]{{$}}
# CHECK-NEXT:{{^}}                   ^~{{$}}
# CHECK-NEXT:{{^}}indices.py:33:13: error: an index must be an integer, not bool [bad_index]{{$}}
# CHECK-NEXT:{{^}}        x22 = a[True, 0]{{$}}
# CHECK-NEXT:{{^}}                ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}indices.py:34:11: error: the builtin 'sin' can't be used as a value in kernels [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x23 = wp.sin[0]{{$}}
# CHECK-NEXT:{{^}}              ^~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
