# Random numbers: PCG on a uint32 state, advanced by each draw.


def _pcg(s: uint32):
    b = s * uint32(747796405) + uint32(2891336453)
    c = ((b >> ((b >> uint32(28)) + uint32(4))) ^ b) * uint32(277803737)
    return (c >> uint32(22)) ^ c


def rand_init(seed: int):
    return _pcg(uint32(seed))


def _rand_init2(seed: int, offset: int):
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


def randi(state: ref):
    state = _pcg(state)
    return int(state)


def _randi_range(state: ref, low: int, high: int):
    state = _pcg(state)
    return int(state % uint32(high - low)) + low


def randu(state: ref):
    state = _pcg(state)
    return state


def randf(state: ref):
    state = _pcg(state)
    return float(state >> uint32(8)) * 0.000000059604644775390625


def _randf_range(state: ref, low: float, high: float):
    return (high - low) * randf(state) + low
