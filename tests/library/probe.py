# Probes: the library code of the tests alone. docs/design/builtins.md says how it gets into the binaries that need it.

_PROBE_SCALE = 0.25
_PROBE_TWICE = 2 * _PROBE_SCALE
_PROBE_UP = vec3(0.0, 0.0, 1.0)
_PROBE_CORNERS = (
    (0.0, 0.0, 0.0),
    (1.0, 0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
)
_PROBE_AXES = (vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), _PROBE_UP)
_PROBE_PRIMES = (2, 3, 5, 7, 11, 13)
_PROBE_WIDE = (uint64(1), uint64(0xFFFFFFFFFFFFFFFF), uint64(3))
_PROBE_LANES = (4 if _PROBE_SCALE < 1.0 else 8)


class _ProbePlace:
    axis: int
    at: vec3


class ProbeHit:
    """What a probe finds."""

    result: bool
    face: int
    t: float
    normal: vec3
    _place: _ProbePlace


class ProbePoint:
    """A struct that has nothing private."""

    weight: float
    at: vec3


class ProbeRange:
    """Numbers in a row."""

    __next__ = probe_range_next
    last: int
    _at: int
    _step: int


class ProbeDecay:
    """Numbers that shrink."""

    __next__ = probe_decay_next
    value: float64
    _rate: float64
    _left: int
    _seen: int


class ProbeRows:
    """Numbers in runs."""

    __next__ = probe_rows_next
    __runs__ = _probe_rows_runs
    __run__ = _probe_rows_run
    __item__ = _probe_rows_item
    __rest__ = _probe_rows_rest
    _run: int
    _last: int
    _width: int
    _at: int
    _end: int


def probe_hit(x: float, dir):
    place = _ProbePlace(axis=_PROBE_PRIMES[1], at=dir * x)
    return ProbeHit(result=x > 0.0, face=place.axis, t=x * _PROBE_TWICE, normal=dir + _PROBE_UP, _place=place)


def probe_height(hit: ProbeHit, scale: float):
    return scale * hit._place.at[2] + hit.t


def probe_mark(hit: ref, face: int):
    hit.face = face


def probe_point(x: float):
    return ProbePoint(weight=x, at=vec3(x))


def probe_range(first: int, last: int, step: int):
    return ProbeRange(last, first, step)


def probe_range_next(query: ref, index: ref):
    if query._at >= query.last:
        return False
    index = query._at
    query._at += query._step
    return True


def probe_decay(value: float64, rate: float64, count: int):
    return ProbeDecay(value, rate, count, 0)


def probe_decay_next(query: ref, index: ref, limit: float64):
    if query._left <= 0 or query.value > limit:
        return False
    if query._seen > 0:
        query.value = query.value * query._rate
    index = query._seen
    query._seen += 1
    query._left -= 1
    return True


def probe_rows(first: int, last: int, width: int):
    return ProbeRows(first, last, width, 0, 0)


def _probe_rows_runs(query: ProbeRows):
    first = query._run
    if query._at < query._end:
        first -= 1
    return first, query._last


def _probe_rows_run(query: ProbeRows, k: int):
    if k < query._run:
        return query._at, query._end
    return 10 * k, 10 * k + (7 * k) % query._width


def _probe_rows_item(query: ProbeRows, place: int):
    return place + 1000


def _probe_rows_rest(query: ProbeRows, run: int, place: int, end: int):
    return ProbeRows(max(run + 1, query._run), query._last, query._width, place + 1, end)


def probe_rows_next(query: ref, index: ref):
    while query._at >= query._end:
        if query._run >= query._last:
            return False
        first, end = _probe_rows_run(query, query._run)
        query._run += 1
        query._at = first
        query._end = end
    index = _probe_rows_item(query, query._at)
    query._at += 1
    return True


@lanewise
def probe_corner(index: int):
    c = _PROBE_CORNERS[index]
    return vec3(c[0], c[1], c[2]) + _PROBE_AXES[index % 3] * _PROBE_CORNERS[1][0]


def probe_number(index: int, which: int):
    if which == 0:
        return uint64(_PROBE_PRIMES[index])
    if which == 1:
        return _PROBE_WIDE[index]
    return uint64(len(_PROBE_PRIMES)) + uint64(_PROBE_LANES)
