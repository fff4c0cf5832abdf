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
