# Tiles in shared memory with a second name: the copy that b = a makes is one everywhere, so the compiler tells where others, on GPUs, would see
# the change of one by the other name.
# RUN: %weftc %s --emit=ir --target=sm_90 --block-dim=32 -o /dev/null 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def changed_and_read(x: wp.array2d(dtype=float)):
    a = wp.tile_zeros(shape=32, dtype=float, storage="shared")
    b = a
    b[0] = 1.0
    wp.tile_store(x[0], a)


@wp.kernel
def read_in_the_next_turn(x: wp.array2d(dtype=float)):
    a = wp.tile_load(x[0], shape=32, storage="shared")
    for i in range(wp.int32(x[0, 0])):
        before = a
        a += wp.tile_ones(shape=32, dtype=float)
        wp.tile_store(x[i], before)


@wp.kernel
def factor_in_place(x: wp.array2d(dtype=float)):
    a = wp.tile_load(x, shape=(32, 32), storage="shared")
    kept = a
    wp.tile_cholesky_inplace(a)
    wp.tile_store(x, kept)


@wp.kernel
def no_change_behind(x: wp.array2d(dtype=float)):
    a = wp.tile_zeros(shape=32, dtype=float, storage="shared")
    a[0] = 2.0
    b = a
    wp.tile_store(x[0], b)
    wp.tile_store(x[1], a)


@wp.kernel
def only_one_goes_on(x: wp.array2d(dtype=float)):
    a = wp.tile_zeros(shape=32, dtype=float, storage="shared")
    b = a
    b += wp.tile_ones(shape=32, dtype=float)
    wp.tile_store(x[0], b)


@wp.kernel
def another_tile_for_the_name(x: wp.array2d(dtype=float)):
    last = wp.tile_load(x[0], shape=32, storage="shared")
    for i in range(wp.int32(x[0, 0])):
        now = wp.tile_load(x[i], shape=32, storage="shared")
        wp.tile_store(x[i], now - last)
        last = now


@wp.kernel
def anywhere(x: wp.array2d(dtype=float)):
    a = wp.tile_zeros(shape=32, dtype=float)
    b = a
    b[0] = 1.0
    wp.tile_store(x[0], a)

# CHECK:{{^}}second_names.py:10:5: warning: 'b' is a copy of 'a' here, and one of them is changed further on; where tiles in shared memory get second names on GPUs, both are [second_name]{{$}}
# CHECK-NEXT:{{^}}        b = a{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: for a second name write wp.tile_view(a, …); a copy everywhere is what wp.tile_assign() makes{{$}}
# CHECK-NEXT:{{^}}second_names.py:19:9: warning: 'before' is a copy of 'a' here, and one of them is changed further on; where tiles in shared memory get second names on GPUs, both are [second_name]{{$}}
# CHECK-NEXT:{{^}}            before = a{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: for a second name write wp.tile_view(a, …); a copy everywhere is what wp.tile_assign() makes{{$}}
# CHECK-NEXT:{{^}}second_names.py:27:5: warning: 'kept' is a copy of 'a' here, and one of them is changed further on; where tiles in shared memory get second names on GPUs, both are [second_name]{{$}}
# CHECK-NEXT:{{^}}        kept = a{{$}}
# CHECK-NEXT:{{^}}        ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: for a second name write wp.tile_view(a, …); a copy everywhere is what wp.tile_assign() makes{{$}}
# CHECK-NOT:{{error|warning}}
