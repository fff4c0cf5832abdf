# break, continue and return where they can't be.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def jumps(out: wp.array(dtype=float)):
    break


@wp.kernel
def in_if(out: wp.array(dtype=float)):
    if out[0] > 0.0:
        continue


@wp.kernel
def in_else(out: wp.array(dtype=float)):
    for i in range(3):
        pass
    else:
        break


return 1

# CHECK:{{^}}jumps.py:25:1: note: this statement is not part of a kernel and was passed over [ignored_statement]{{$}}
# CHECK-NEXT:{{^}}    return 1{{$}}
# CHECK-NEXT:{{^}}    ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}jumps.py:8:5: error: 'break' outside a loop [misplaced_jump]{{$}}
# CHECK-NEXT:{{^}}        break{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}jumps.py:14:9: error: 'continue' outside a loop [misplaced_jump]{{$}}
# CHECK-NEXT:{{^}}            continue{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}jumps.py:22:9: error: 'break' outside a loop [misplaced_jump]{{$}}
# CHECK-NEXT:{{^}}            break{{$}}
# CHECK-NEXT:{{^}}            ^~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
