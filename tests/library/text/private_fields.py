# What programs can't do with the library's structs: private fields, arrays of such structs, order, arithmetic.
# RUN: not %weftc_probe %s --emit=ir 2>&1 | check --strict-whitespace
import warp as wp


@wp.struct
class Holder:
    query: wp.ProbeRange


@wp.func
def state(q: wp.ProbeRange):
    return q._at


@wp.kernel
def reads(out: wp.array(dtype=int), h: Holder):
    q = wp.probe_range(0, 4)
    out[0] = q._step
    out[1] = h.query._at
    q._at = 3
    hit = wp.probe_hit(1.0, wp.vec3())
    out[2] = hit._place.axis
    out[3] = state(q)


@wp.kernel
def constructs():
    a = wp.ProbeRange(4)
    b = wp.ProbeRange(4, 2)
    c = wp.ProbeRange(_at=2)
    d = wp._ProbePlace()


@wp.kernel
def stored(out: wp.array(dtype=wp.ProbeRange)):
    pass


@wp.kernel
def stored_inside(out: wp.array2d[Holder]):
    pass


@wp.kernel
def local():
    a = wp.zeros(shape=4, dtype=wp.ProbeDecay)


@wp.kernel
def orders(out: wp.array(dtype=int)):
    q = wp.probe_range(0, 4)
    for i in reversed(q):
        out[i] = i


@wp.kernel
def sums(out: wp.array(dtype=int)):
    q = wp.probe_range(0, 4)
    r = q + q
    s = -q
    t = q[0]


@wp.kernel
def loops(out: wp.array(dtype=int)):
    hit = wp.probe_hit(1.0, wp.vec3())
    for i in hit:
        out[0] = i
    q = wp.probe_range(0, 4)
    for a, b in q:
        out[0] = a
    f = float(0)
    for f in q:
        out[0] = 1


@wp.kernel
def calls(out: wp.array(dtype=int)):
    wp.probe_range_next(wp.probe_range(0, 1), out[0])
    wp.probe_height(wp.probe_range(0, 1))
    wp.probe_range(0.5, 1)

# CHECK:{{^}}private_fields.py:19:14: error: the field '_step' of ProbeRange is the library's own [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[0] = q._step{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are last{{$}}
# CHECK-NEXT:{{^}}private_fields.py:20:14: error: the field '_at' of ProbeRange is the library's own [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[1] = h.query._at{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are last{{$}}
# CHECK-NEXT:{{^}}private_fields.py:21:5: error: the field '_at' of ProbeRange is the library's own [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        q._at = 3{{$}}
# CHECK-NEXT:{{^}}        ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are last{{$}}
# CHECK-NEXT:{{^}}private_fields.py:23:14: error: the field '_place' of ProbeHit is the library's own [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        out[2] = hit._place.axis{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are result, face, t, normal{{$}}
# CHECK-NEXT:{{^}}private_fields.py:13:12: error: the field '_at' of ProbeRange is the library's own [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        return q._at{{$}}
# CHECK-NEXT:{{^}}               ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: its fields are last{{$}}
# CHECK-NEXT:{{^}}private_fields.py:30:26: error: the field '_at' of ProbeRange is the library's own [bad_call]{{$}}
# CHECK-NEXT:{{^}}        b = wp.ProbeRange(4, 2){{$}}
# CHECK-NEXT:{{^}}                             ^{{$}}
# CHECK-NEXT:{{^}}private_fields.py:31:27: error: the field '_at' of ProbeRange is the library's own [bad_call]{{$}}
# CHECK-NEXT:{{^}}        c = wp.ProbeRange(_at=2){{$}}
# CHECK-NEXT:{{^}}                              ^{{$}}
# CHECK-NEXT:{{^}}private_fields.py:32:9: error: `_ProbePlace` is not an attribute of 'wp' [unknown_attribute]{{$}}
# CHECK-NEXT:{{^}}        d = wp._ProbePlace(){{$}}
# CHECK-NEXT:{{^}}            ^~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}private_fields.py:36:17: error: a ProbeRange can't lie in an array [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def stored(out: wp.array(dtype=wp.ProbeRange)):{{$}}
# CHECK-NEXT:{{^}}                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: keep it in a variable, or pass it to a function{{$}}
# CHECK-NEXT:{{^}}private_fields.py:41:24: error: a Holder can't lie in an array [bad_annotation]{{$}}
# CHECK-NEXT:{{^}}    def stored_inside(out: wp.array2d[Holder]):{{$}}
# CHECK-NEXT:{{^}}                           ^~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: keep it in a variable, or pass it to a function{{$}}
# CHECK-NEXT:{{^}}private_fields.py:47:33: error: a ProbeDecay can't lie in an array [bad_call]{{$}}
# CHECK-NEXT:{{^}}        a = wp.zeros(shape=4, dtype=wp.ProbeDecay){{$}}
# CHECK-NEXT:{{^}}                                    ^~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: keep it in a variable, or pass it to a function{{$}}
# CHECK-NEXT:{{^}}private_fields.py:53:14: error: reversed() takes a range, not ProbeRange [bad_call]{{$}}
# CHECK-NEXT:{{^}}        for i in reversed(q):{{$}}
# CHECK-NEXT:{{^}}                 ^~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}private_fields.py:60:9: error: Couldn't find a function 'add' that takes (ProbeRange, ProbeRange) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        r = q + q{{$}}
# CHECK-NEXT:{{^}}            ^~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: S, b: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: vec[N,S], b: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: mat[R,C,S], b: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: quat[F], b: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}    note: there is add(a: transform[F], b: transform[F]) -> transform[F]{{$}}
# CHECK-NEXT:{{^}}private_fields.py:61:9: error: Couldn't find a function 'neg' that takes (ProbeRange) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        s = -q{{$}}
# CHECK-NEXT:{{^}}            ^~{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: S) -> S{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: vec[N,S]) -> vec[N,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: mat[R,C,S]) -> mat[R,C,S]{{$}}
# CHECK-NEXT:{{^}}    note: there is neg(a: quat[F]) -> quat[F]{{$}}
# CHECK-NEXT:{{^}}private_fields.py:62:9: error: ProbeRange can't be indexed [bad_index]{{$}}
# CHECK-NEXT:{{^}}        t = q[0]{{$}}
# CHECK-NEXT:{{^}}            ^~~~{{$}}
# CHECK-NEXT:{{^}}private_fields.py:68:14: error: a 'for' loop can't run over ProbeHit [unsupported_construct]{{$}}
# CHECK-NEXT:{{^}}        for i in hit:{{$}}
# CHECK-NEXT:{{^}}                 ^~~{{$}}
# CHECK-NEXT:{{^}}    note: kernels loop over range(…){{$}}
# CHECK-NEXT:{{^}}private_fields.py:71:9: error: the target of a 'for' loop must be a plain name [bad_assignment]{{$}}
# CHECK-NEXT:{{^}}        for a, b in q:{{$}}
# CHECK-NEXT:{{^}}            ^~~~{{$}}
# CHECK-NEXT:{{^}}private_fields.py:80:25: error: 'probe_range_next' updates its argument 'query', so it needs a variable here [bad_reference]{{$}}
# CHECK-NEXT:{{^}}        wp.probe_range_next(wp.probe_range(0, 1), out[0]){{$}}
# CHECK-NEXT:{{^}}                            ^~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: store the value in a variable first and pass that{{$}}
# CHECK-NEXT:{{^}}private_fields.py:81:5: error: Couldn't find a function 'probe_height' that takes (ProbeRange) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        wp.probe_height(wp.probe_range(0, 1)){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is probe_height(hit: ProbeHit, scale: float = 2.0) -> float{{$}}
# CHECK-NEXT:{{^}}private_fields.py:82:5: error: Couldn't find a function 'probe_range' that takes (float32, int32) [no_overload]{{$}}
# CHECK-NEXT:{{^}}        wp.probe_range(0.5, 1){{$}}
# CHECK-NEXT:{{^}}        ^~~~~~~~~~~~~~~~~~~~~~{{$}}
# CHECK-NEXT:{{^}}    note: there is probe_range(first: int, last: int, step: int = 1) -> ProbeRange{{$}}
