# Numbers that do not fit.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def numbers(out: wp.array(dtype=float)):
    a = 5000000000
    b = 2**63
    c = 2**64
    d = 18446744073709551616
    e = wp.int64(2**63)
    f = -3000000000
    g = wp.uint64(2**64 - 1)
    h = 2**200
    i = 2**64 * 1.0

# CHECK:{{^}}numbers.py:8:9: error: the integer does not fit int32 [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        a = 5000000000{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write wp.int64(…) around it{{$}}
# CHECK-NEXT:{{^}}numbers.py:9:9: error: the integer does not fit int32 [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        b = 2**63{{$}}
# CHECK-NEXT:{{^}}            ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write wp.uint64(…) around it{{$}}
# CHECK-NEXT:{{^}}numbers.py:10:9: error: the integer does not fit 64 bits [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        c = 2**64{{$}}
# CHECK-NEXT:{{^}}            ^~~~~{{$}}
# CHECK-NEXT:{{^}}numbers.py:11:9: error: the integer does not fit 64 bits [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        d = 18446744073709551616{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}numbers.py:12:9: error: the integer does not fit int64 [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        e = wp.int64(2**63){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use wp.uint64(…){{$}}
# CHECK-NEXT:{{^}}numbers.py:13:9: error: the integer does not fit int32 [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        f = -3000000000{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write wp.int64(…) around it{{$}}
# CHECK-NEXT:{{^}}numbers.py:15:9: error: the integer does not fit 64 bits [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        h = 2**200{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~{{$}}
# CHECK-NEXT:{{^}}numbers.py:16:9: error: the integer does not fit 64 bits [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        i = 2**64 * 1.0{{$}}
# CHECK-NEXT:{{^}}            ^~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
