# Remarks that do not stop a compile: paths without a value, code that is never reached, statements passed over.
# RUN: %weftc %s --emit=ir -o /dev/null 2>&1 | check --strict-whitespace
import warp as wp

wp.init()
A, *B = 1, 2


@wp.func
def half(x: float):
    if x > 0.0:
        return 1.0


@wp.kernel
def one_branch(out: wp.array(dtype=float), i: int):
    if i > 3:
        y = 2.0
    out[0] = y
    out[1] = half(y)


@wp.kernel
def in_a_loop(out: wp.array(dtype=float), n: int):
    for k in range(n):
        last = k
        if k > 2:
            found = 1.0
    out[0] = float(last) + found
    out[1] = float(k)


@wp.kernel
def unreachable(out: wp.array(dtype=float)):
    for k in range(3):
        out[k] = 1.0
        continue
        out[k] = 2.0
    return
    out[3] = 1.0


@wp.overload
def adj_half(x: float, adj: float):
    pass

# CHECK:{{^}}warnings.py:5:1: note: this statement is not part of a kernel and was passed over [ignored_statement]{{$}}
# CHECK-NEXT:{{^}}    wp.init(){{$}}
# CHECK-NEXT:{{^}}    ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}warnings.py:6:1: note: this statement is not part of a kernel and was passed over [ignored_statement]{{$}}
# CHECK-NEXT:{{^}}    A, *B = 1, 2{{$}}
# CHECK-NEXT:{{^}}    ^~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}warnings.py:44:1: note: @wp.overload has no effect here and was passed over [ignored_statement]{{$}}
# CHECK-NEXT:{{^}}    def adj_half(x: float, adj: float):{{$}}
# CHECK-NEXT:{{^}}    ^{{$}}
# CHECK-NEXT:{{^}}warnings.py:19:14: warning: 'y' may be unassigned here; it is zero on the paths that don't assign it [maybe_unassigned]{{$}}
# CHECK-NEXT:{{^}}        out[0] = y{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: assign it before the branch or loop{{$}}
# CHECK-NEXT:{{^}}warnings.py:20:19: warning: 'y' may be unassigned here; it is zero on the paths that don't assign it [maybe_unassigned]{{$}}
# CHECK-NEXT:{{^}}        out[1] = half(y){{$}}
# CHECK-NEXT:{{^}}                      ^{{$}}
# CHECK-NEXT:{{^}}    note: assign it before the branch or loop{{$}}
# CHECK-NEXT:{{^}}warnings.py:10:5: warning: not every path through 'half' returns a value; zero is returned there [missing_return]{{$}}
# CHECK-NEXT:{{^}}    def half(x: float):{{$}}
# CHECK-NEXT:{{^}}        ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: end the function with a 'return'{{$}}
# CHECK-NEXT:{{^}}warnings.py:29:20: warning: 'last' may be unassigned here; it is zero on the paths that don't assign it [maybe_unassigned]{{$}}
# CHECK-NEXT:{{^}}        out[0] = float(last) + found{{$}}
# CHECK-NEXT:{{^}}                       ^~~~{{$}}
# CHECK-NEXT:{{^}}    note: assign it before the branch or loop{{$}}
# CHECK-NEXT:{{^}}warnings.py:29:28: warning: 'found' may be unassigned here; it is zero on the paths that don't assign it [maybe_unassigned]{{$}}
# CHECK-NEXT:{{^}}        out[0] = float(last) + found{{$}}
# CHECK-NEXT:{{^}}                               ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: assign it before the branch or loop{{$}}
# CHECK-NEXT:{{^}}warnings.py:30:20: warning: 'k' may be unassigned here; it is zero on the paths that don't assign it [maybe_unassigned]{{$}}
# CHECK-NEXT:{{^}}        out[1] = float(k){{$}}
# CHECK-NEXT:{{^}}                       ^{{$}}
# CHECK-NEXT:{{^}}    note: assign it before the branch or loop{{$}}
# CHECK-NEXT:{{^}}warnings.py:38:9: warning: this code is never reached [unreachable_code]{{$}}
# CHECK-NEXT:{{^}}            out[k] = 2.0{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}warnings.py:40:5: warning: this code is never reached [unreachable_code]{{$}}
# CHECK-NEXT:{{^}}        out[3] = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~{{$}}
# CHECK-NOT:{{error|warning}}:
