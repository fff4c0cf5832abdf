# Python that kernels do not have; names it would have bound make no further noise.
# RUN: not %weftc %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.kernel
def expressions(out: wp.array(dtype=float), i: int):
    a = [1.0, 2.0]
    b = {1: 2}
    c = {1, 2}
    d = [x for x in range(3)]
    e = lambda x: x
    f = f"{i}"
    g = (h := 3)
    out[0] = a[0] + h
    k = ...
    l = 1j
    out[1] = float(k)


@wp.kernel
def with_statement(out: wp.array(dtype=float)):
    with out as o:
        x = 1.0
    o[0] = x


@wp.kernel
def try_statement(out: wp.array(dtype=float)):
    try:
        x = 1.0
    except ValueError:
        x = 2.0
    out[0] = x


@wp.kernel
def raise_statement(out: wp.array(dtype=float)):
    raise ValueError("no")


@wp.kernel
def del_statement(out: wp.array(dtype=float)):
    x = 1.0
    del x


@wp.kernel
def global_statement(out: wp.array(dtype=float)):
    global x
    x = 1.0


@wp.kernel
def import_statement(out: wp.array(dtype=float)):
    import math

    out[0] = math.pi


@wp.kernel
def nested_function(out: wp.array(dtype=float)):
    def f(x):
        return x

    out[0] = f(1.0)


@wp.kernel
def nested_class(out: wp.array(dtype=float)):
    class C:
        x: float

    out[0] = C().x


@wp.kernel
def yield_expression(out: wp.array(dtype=float)):
    yield 1.0


@wp.kernel
def loops_over_things(out: wp.array(dtype=float), v: wp.vec3):
    for x in out:
        s = x
    out[0] = s
    for y in (1.0, 2.0):
        out[1] = y
    for z in v:
        pass
    for a, b in range(3):
        out[2] = float(a)
    for c in range(1.0):
        out[3] = float(c)
    for d in range(0, 10, 0):
        pass
    for e in range():
        pass
    for f in reversed(out):
        pass
    for g in missing:
        h = g + 1.0
    out[4] = h

# CHECK:{{^}}constructs.py:8:9: error: Construct `list` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        a = [1.0, 2.0]{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: use a vector (wp.vec3(…)), or a local array (wp.zeros(shape=…, dtype=…)){{$}}
# CHECK-NEXT:{{^}}constructs.py:9:9: error: Construct `dict display` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        b = {1: 2}{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:10:9: error: Construct `set display` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        c = {1, 2}{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:11:9: error: Construct `list comprehension` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        d = [x for x in range(3)]{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:12:9: error: Construct `lambda` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        e = lambda x: x{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:13:9: error: Construct `f-string` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        f = f"{i}"{{$}}
# CHECK-NEXT:{{^}}            ^~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:14:10: error: Construct `walrus assignment` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        g = (h := 3){{$}}
# CHECK-NEXT:{{^}}             ^~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:16:9: error: Construct `...` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        k = ...{{$}}
# CHECK-NEXT:{{^}}            ^~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:17:9: error: Construct `complex literal` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        l = 1j{{$}}
# CHECK-NEXT:{{^}}            ^~{{$}}
# CHECK-NEXT:{{^}}constructs.py:23:5: error: Construct `with` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        with out as o:{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}constructs.py:30:5: error: Construct `try` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        try:{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}constructs.py:39:5: error: Construct `raise` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        raise ValueError("no"){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:45:5: error: Construct `del` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        del x{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:50:5: error: Construct `global` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        global x{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:56:5: error: Construct `import` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        import math{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: import at the top of the file{{$}}
# CHECK-NEXT:{{^}}constructs.py:63:5: error: Construct `nested function` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        def f(x):{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: define it outside with @wp.func{{$}}
# CHECK-NEXT:{{^}}constructs.py:71:5: error: Construct `class` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        class C:{{$}}
# CHECK-NEXT:{{^}}        ^{{$}}
# CHECK-NEXT:{{^}}    note: define it outside with @wp.struct{{$}}
# CHECK-NEXT:{{^}}constructs.py:79:5: error: Construct `yield` not supported in kernels. [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        yield 1.0{{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:84:14: error: a 'for' loop can't run over array(dtype=float32) [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        for x in out:{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels loop over range(…){{$}}
# CHECK-NEXT:{{^}}constructs.py:87:14: error: a 'for' loop can't run over tuple(float32, float32) [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        for y in (1.0, 2.0):{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels loop over range(…){{$}}
# CHECK-NEXT:{{^}}constructs.py:89:14: error: a 'for' loop can't run over vec3f [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        for z in v:{{$}}
# CHECK-NEXT:{{^}}                 ^{{$}}
# CHECK-NEXT:{{^}}    note: kernels loop over range(…){{$}}
# CHECK-NEXT:{{^}}constructs.py:91:9: error: the target of a 'for' loop must be a plain name [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        for a, b in range(3):{{$}}
# CHECK-NEXT:{{^}}            ^~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:93:20: error: range() takes integers, not float32 [bad_call]{{$}}
# CHECK-NEXT:{{^}}        for c in range(1.0):{{$}}
# CHECK-NEXT:{{^}}                       ^~~{{$}}
# CHECK-NEXT:{{^}}    note: convert it: int(…){{$}}
# CHECK-NEXT:{{^}}constructs.py:95:14: error: the step of range() is zero [value_out_of_range]{{$}}
# CHECK-NEXT:{{^}}        for d in range(0, 10, 0):{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:97:14: error: range() takes one to three integers [bad_call]{{$}}
# CHECK-NEXT:{{^}}        for e in range():{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:99:14: error: reversed() takes a range, not array(dtype=float32) [bad_call]{{$}}
# CHECK-NEXT:{{^}}        for f in reversed(out):{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}constructs.py:101:14: error: Referencing undefined symbol: missing [unknown_name]{{$}}
# CHECK-NEXT:{{^}}        for g in missing:{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels see their parameters, local variables, constants, types and @wp.func functions{{$}}
# CHECK-NOT:{{error|warning}}:
