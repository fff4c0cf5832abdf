# Tiles where there can be none: parameters of kernels.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def takes(t: wp.tile[float, 4], u: wp.tile(dtype=float, shape=(2, 2)), y: wp.array(dtype=float)):
    y[0] = t[0]


# CHECK:{{^}}tiles.py:7:11: error: the kernel's parameter 't' is a tile; kernels take arrays [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def takes(t: wp.tile[float, 4], u: wp.tile(dtype=float, shape=(2, 2)), y: wp.array(dtype=float)):{{$}}
# CHECK-NEXT:{{^}}              ^{{$}}
# CHECK-NEXT:{{^}}    note: annotate it as one, wp.array(dtype=…), and load a part of it in the kernel: wp.tile_load(…){{$}}
# CHECK-NEXT:{{^}}tiles.py:7:33: error: the kernel's parameter 'u' is a tile; kernels take arrays [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def takes(t: wp.tile[float, 4], u: wp.tile(dtype=float, shape=(2, 2)), y: wp.array(dtype=float)):{{$}}
# CHECK-NEXT:{{^}}                                    ^{{$}}
# CHECK-NEXT:{{^}}    note: annotate it as one, wp.array(dtype=…), and load a part of it in the kernel: wp.tile_load(…){{$}}
