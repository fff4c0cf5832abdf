# What a launch decides is not known while compiling.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def blocks(out: wp.array(dtype=int)):
    out[0] = wp.static(wp.block_dim())

# CHECK:{{^}}static_block_dim.py:8:24: error: wp.static() needs a compile-time expression [bad_static]{{$}}
# CHECK-NEXT:{{^}}        out[0] = wp.static(wp.block_dim()){{$}}
# CHECK-NEXT:{{^}}                           ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: it may use constants, types, functions and the variables of unrolled loops{{$}}
# CHECK-NOT:{{error|warning}}:
