# Calls that spread a slice of an array whose number of elements can't be known.
# RUN: not %weftc %s --emit=ir 2>&1 | check
import warp as wp


@wp.kernel
def spread(a: wp.array(dtype=int), n: int):
    x1 = wp.min(*a[:n])
    x2 = wp.min(*a[1:])
    x3 = wp.min(*a[-2:2])
    x4 = wp.min(*a[3:0:-1])
    x5 = wp.min(*a[0:4:0])
    x6 = wp.min(*a[0:400])
    x7 = wp.min(*n)


# CHECK: spread.py:8:21: error: Slice component must be a compile-time constant [value_out_of_range]
# CHECK: note: the number of arguments must be known when the kernel is compiled
# CHECK: spread.py:9:20: error: Unpacking a slice of an array requires explicit upper bound [value_out_of_range]
# CHECK: spread.py:10:20: error: Slice bounds cannot be negative for arrays that are unpacked [value_out_of_range]
# CHECK: spread.py:11:24: error: Slice step cannot be negative for arrays that are unpacked [value_out_of_range]
# CHECK: spread.py:12:24: error: Slice step cannot be zero [value_out_of_range]
# CHECK: spread.py:13:22: error: the slice has more elements than a call has arguments [value_out_of_range]
# CHECK: spread.py:14:17: error: Starred expressions are only supported for {{.*}}, not for int32 [bad_call]
