# A matrix from vectors: columns in kernels, rows in Python, so the compiler tells of the names that mean one thing.
# RUN: %weftc %s --emit=ir -o /dev/null 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def columns(out: wp.array(dtype=wp.mat22)):
    out[0] = wp.mat22(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    out[1] = wp.matrix_from_rows(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    out[2] = wp.mat22(1.0, 2.0, 3.0, 4.0)
    out[3] = wp.matrix(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))

# CHECK:{{^}}matrix_columns.py:8:14: warning: vectors are the columns of the matrix here, but its rows when Python makes one [vectors_as_columns]{{$}}
# CHECK-NEXT:{{^}}        out[0] = wp.mat22(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)){{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write wp.matrix_from_cols(…) or wp.matrix_from_rows(…), which mean the same everywhere{{$}}
# CHECK-NOT:{{error|warning}}:
