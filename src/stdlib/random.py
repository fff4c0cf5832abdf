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


def _randu_range(state: ref, low: uint32, high: uint32):
    state = _pcg(state)
    return state % (high - low) + low


def randf(state: ref):
    state = _pcg(state)
    return float(state >> uint32(8)) * 0.000000059604644775390625


def _randf_range(state: ref, low: float, high: float):
    # fma with -0 is the plain product: rounded before the sum, as the reference does on every target.
    return _fma(high - low, randf(state), -0.0) + low


def randn(state: ref):
    # Box and Muller. The small term keeps the logarithm finite: it is the distance of neighbouring values of randf.
    u = randf(state)
    v = randf(state)
    return sqrt(-2.0 * log(u + 0.0000000596)) * cos(6.283185307179586 * v)


def sample_cdf(state: ref, cdf):
    return lower_bound(cdf, randf(state))


def sample_triangle(state: ref):
    r = sqrt(randf(state))
    return vector(1.0 - r, randf(state) * r)


def _random_angle(state: ref):
    return _randf_range(state, 0.0, 6.283185307179586)


def sample_unit_ring(state: ref):
    theta = _random_angle(state)
    return vector(cos(theta), sin(theta))


def sample_unit_disk(state: ref):
    r = sqrt(randf(state))
    theta = _random_angle(state)
    return vector(r * cos(theta), r * sin(theta))


def _on_sphere(phi: float, theta: float):
    s = sin(phi)
    return vector(cos(theta) * s, sin(theta) * s, cos(phi))


def sample_unit_sphere_surface(state: ref):
    phi = acos(1.0 - 2.0 * randf(state))
    return _on_sphere(phi, _random_angle(state))


def sample_unit_sphere(state: ref):
    p = sample_unit_sphere_surface(state)
    return p * cbrt(randf(state))


def sample_unit_hemisphere_surface(state: ref):
    phi = acos(1.0 - randf(state))
    return _on_sphere(phi, _random_angle(state))


def sample_unit_hemisphere(state: ref):
    p = sample_unit_hemisphere_surface(state)
    return p * cbrt(randf(state))


def sample_unit_square(state: ref):
    x = randf(state) - 0.5
    return vector(x, randf(state) - 0.5)


def sample_unit_cube(state: ref):
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    return vector(x, y, randf(state) - 0.5)


def _log_factorial(k: float):
    # Stirling's series of the logarithm of the gamma function at k + 1, from 8 on; below, ln(k!) = ln(n!) - ln(n!/k!).
    x = k + 1.0
    product = float(1.0)
    while x < 8.0:
        product = product * x
        x = x + 1.0
    y = 1.0 / x
    z = y * y
    series = y * (0.08333333333333333 - z * (0.002777777777777778 - z * 0.0007936507936507937))
    return (x - 0.5) * log(x) - x + 0.9189385332046727 + series - log(product)


def _poisson_rejected(state: ref, lam: float):
    # Transformed rejection with squeeze (Hörmann 1993, PTRS).
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    vr = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= vr:
            return uint32(k)
        if not (k < 0.0 or (us < 0.013 and v > us)):
            accepted = log(v) + log(inverse_alpha) - log(a / (us * us) + b)
            # A mean that is not finite accepts nothing: any count will do, so that the loop ends.
            if not accepted > k * log_lam - lam - _log_factorial(k):
                return uint32(k)
    return uint32(0)


def poisson(state: ref, lam: float):
    if lam >= 10.0:
        return _poisson_rejected(state, lam)
    if lam == 0.0:
        return uint32(0)
    limit = exp(-lam)
    product = randf(state)
    count = uint32(0)
    while product > limit:
        product = product * randf(state)
        count = count + uint32(1)
    return count
