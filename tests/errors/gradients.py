# Gradient functions that don't fit, and wp.grad of what has no derivative.
# RUN: not %weftc %s --emit=adjoint 2>&1 | check --strict-whitespace
from typing import Any

import warp as wp


@wp.func
def f(x: float, y: float):
    return x * y


@wp.func_grad(f)
def too_few(x: float, adj: float):
    pass


@wp.func_grad(missing)
def of_nothing(x: float, adj: float):
    pass


@wp.func_replay(f)
def other(x: float, y: float, z: float):
    return x


@wp.func
def g(x: Any):
    return x * x


@wp.func_grad(g)
def adj_g(x: Any, adj: int):
    wp.adjoint[x] += x


@wp.func
def h(x: float):
    return x * x, x


@wp.func_grad(h)
def adj_h(x: float, adj: float, adj_second: float):
    y = x
    wp.adjoint[y] += adj
    wp.adjoint[x] += 1
    wp.adjoint[x, y] += adj
    wp.adjoint[adj] += adj
    wp.adjoint[x.first] += adj
    return x


@wp.func
def count(a: wp.array(dtype=float), n: int):
    return n


@wp.func_grad(count)
def adj_count(a: wp.array(dtype=float), n: int, adj: int):
    wp.adjoint[a] = a


@wp.kernel
def generic(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = g(a[0])


@wp.kernel
def body(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    x, y = h(a[0])
    out[0] = x + y


@wp.kernel
def outside(a: wp.array(dtype=float)):
    wp.adjoint[a][0] = 1.0


@wp.kernel
def integers(a: wp.array(dtype=float)):
    x = wp.grad(count)(a, 2)
    y = wp.grad(f, h)(1.0)
    p, q = wp.grad(f)(1.0)


@wp.kernel
def temporary(a: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = a[0] * float(count(a, 2))

# CHECK:{{^}}gradients.py:14:5: error: 'too_few' takes 0 adjoints behind the parameters of 'f', which returns 1 value [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}    def too_few(x: float, adj: float):{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: take the function's parameters, then the adjoint of each result{{$}}
# CHECK-NEXT:{{^}}gradients.py:18:15: error: @wp.func_grad takes a function made by @wp.func above it [bad_decorator]{{$}}
# CHECK-NEXT:{{^}}    @wp.func_grad(missing){{$}}
# CHECK-NEXT:{{^}}                  ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}gradients.py:24:5: error: no overload of 'f' has the parameters of 'other' [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}    def other(x: float, y: float, z: float):{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: take the function's parameters{{$}}
# CHECK-NEXT:{{^}}gradients.py:34:19: error: 'adj' takes int32, but the function's result is float32 [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}    def adj_g(x: Any, adj: int):{{$}}
# CHECK-NEXT:{{^}}                      ^~~{{$}}
# CHECK-NEXT:{{^}}gradients.py:46:16: error: only parameters of the function have an adjoint here [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[y] += adj{{$}}
# CHECK-NEXT:{{^}}                   ^{{$}}
# CHECK-NEXT:{{^}}    note: there is wp.adjoint[…] of x{{$}}
# CHECK-NEXT:{{^}}gradients.py:47:5: error: Input types must be the same, got ['float32', 'int32'] [type_mismatch]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[x] += 1{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is no implicit conversion: write float(…) around the right or int(…) around the left operand{{$}}
# CHECK-NEXT:{{^}}gradients.py:48:5: error: wp.adjoint[…] takes one parameter of the function [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[x, y] += adj{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}gradients.py:49:16: error: only parameters of the function have an adjoint here [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[adj] += adj{{$}}
# CHECK-NEXT:{{^}}                   ^~~{{$}}
# CHECK-NEXT:{{^}}    note: there is wp.adjoint[…] of x{{$}}
# CHECK-NEXT:{{^}}gradients.py:50:16: error: the adjoint of float32 has no 'first' [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[x.first] += adj{{$}}
# CHECK-NEXT:{{^}}                   ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}gradients.py:51:5: error: a gradient function returns nothing [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        return x{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: add to wp.adjoint[…] of the parameters{{$}}
# CHECK-NEXT:{{^}}gradients.py:77:5: error: wp.adjoint[…] has a meaning only in gradient functions [bad_gradient]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[a][0] = 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write it in a function made with @wp.func_grad(…){{$}}
# CHECK-NEXT:{{^}}gradients.py:82:9: error: 'count' returns nothing that has a derivative [bad_call]{{$}}
# CHECK-NEXT:{{^}}        x = wp.grad(count)(a, 2){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}gradients.py:83:9: error: grad() takes one function, got (the function 'f', the function 'h') [bad_call]{{$}}
# CHECK-NEXT:{{^}}        y = wp.grad(f, h)(1.0){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: write e.g. wp.grad(f)(x){{$}}
# CHECK-NEXT:{{^}}gradients.py:84:12: error: Couldn't find a function 'f' that takes (float32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        p, q = wp.grad(f)(1.0){{$}}
# CHECK-NEXT:{{^}}               ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is f(x: float32, y: float32){{$}}
# CHECK-NEXT:{{^}}    note: Couldn't find function overload for 'f' that matched inputs with types: [float32]{{$}}
# CHECK-NEXT:{{^}}gradients.py:61:5: error: this assigns to a temporary value and would have no effect [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        wp.adjoint[a] = a{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first{{$}}
# CHECK-NOT:{{error|warning}}:
