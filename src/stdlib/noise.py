# Gradient noise (Perlin 2002): random gradients on the integer lattice, blended by a polynomial of fifth degree. A
# corner's gradient is drawn from the hash of its coordinates: the state is added to the last coordinate's share.


def _fade(t: float):
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def _fade_slope(t: float):
    u = t * (t - 1.0)
    return 30.0 * u * u


def _blend(a, b, t: float):
    return a * (1.0 - t) + b * t


def _floor_each(p):
    r = p
    for i in range(len(p)):
        r[i] = floor(p[i])
    return r


def _hash_x(i: int):
    return uint32(i) * uint32(73856093)


def _hash_y(i: int):
    return uint32(i) * uint32(19349663)


def _hash_z(i: int):
    return uint32(i) * uint32(53471161)


def _hash_t(i: int):
    return uint32(i) * uint32(10000019)


def _lattice_gradient2(hash: uint32):
    x = randf(hash) - 0.5
    y = randf(hash) - 0.5
    return normalize(vector(x, y))


def _lattice_gradient3(hash: uint32):
    x = randf(hash) - 0.5
    y = randf(hash) - 0.5
    z = randf(hash) - 0.5
    return normalize(vector(x, y, z))


def _lattice_gradient4(hash: uint32):
    x = randf(hash) - 0.5
    y = randf(hash) - 0.5
    z = randf(hash) - 0.5
    t = randf(hash) - 0.5
    return normalize(vector(x, y, z, t))


def _lattice1(h0: uint32, h1: uint32, d: float):
    return _blend(_randf_range(h0, -1.0, 1.0) * d, _randf_range(h1, -1.0, 1.0) * (d - 1.0), _fade(d))


def _edge2(x0: uint32, x1: uint32, y: uint32, d, fade: float):
    a = dot(_lattice_gradient2(x0 ^ y), d)
    b = dot(_lattice_gradient2(x1 ^ y), vector(d[0] - 1.0, d[1]))
    return _blend(a, b, fade)


def _lattice2(x0: uint32, x1: uint32, y0: uint32, y1: uint32, d):
    fade = _fade(d[0])
    a = _edge2(x0, x1, y0, d, fade)
    b = _edge2(x0, x1, y1, vector(d[0], d[1] - 1.0), fade)
    return _blend(a, b, _fade(d[1]))


def _edge3(x0: uint32, x1: uint32, yz: uint32, d, fade: float):
    a = dot(_lattice_gradient3(x0 ^ yz), d)
    b = dot(_lattice_gradient3(x1 ^ yz), vector(d[0] - 1.0, d[1], d[2]))
    return _blend(a, b, fade)


def _face3(x0: uint32, x1: uint32, y0: uint32, y1: uint32, z: uint32, d, fade_x: float, fade_y: float):
    a = _edge3(x0, x1, y0 ^ z, d, fade_x)
    b = _edge3(x0, x1, y1 ^ z, vector(d[0], d[1] - 1.0, d[2]), fade_x)
    return _blend(a, b, fade_y)


def _lattice3(x0: uint32, x1: uint32, y0: uint32, y1: uint32, z0: uint32, z1: uint32, d):
    fade_x = _fade(d[0])
    fade_y = _fade(d[1])
    a = _face3(x0, x1, y0, y1, z0, d, fade_x, fade_y)
    b = _face3(x0, x1, y0, y1, z1, vector(d[0], d[1], d[2] - 1.0), fade_x, fade_y)
    return _blend(a, b, _fade(d[2]))


def _lattice4(x0: uint32, x1: uint32, y0: uint32, y1: uint32, z0: uint32, z1: uint32, t0: uint32, t1: uint32, d):
    # The sixteen corners in the order of their bits, then halved along x, y, z and t.
    xs = vector(x0, x1)
    ys = vector(y0, y1)
    zs = vector(z0, z1)
    ts = vector(t0, t1)
    v = vector(0.0, length=16)
    for i in range(16):
        o = vector(i & 1, (i >> 1) & 1, (i >> 2) & 1, i >> 3)
        g = _lattice_gradient4(xs[o[0]] ^ ys[o[1]] ^ zs[o[2]] ^ ts[o[3]])
        v[i] = dot(g, d - vector(float(o[0]), float(o[1]), float(o[2]), float(o[3])))
    fade = _fade(d[0])
    for i in range(8):
        v[i] = _blend(v[2 * i], v[2 * i + 1], fade)
    fade = _fade(d[1])
    for i in range(4):
        v[i] = _blend(v[2 * i], v[2 * i + 1], fade)
    fade = _fade(d[2])
    for i in range(2):
        v[i] = _blend(v[2 * i], v[2 * i + 1], fade)
    return _blend(v[0], v[1], _fade(d[3]))


def _noise1(state: uint32, x: float):
    f = floor(x)
    i = int(f)
    return _lattice1(_hash_x(i) + state, _hash_x(i + 1) + state, x - f)


def _noise2(state: uint32, p):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    return _lattice2(_hash_x(ix), _hash_x(ix + 1), _hash_y(iy) + state, _hash_y(iy + 1) + state, p - f)


def _noise3(state: uint32, p):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    return _lattice3(
        _hash_x(ix),
        _hash_x(ix + 1),
        _hash_y(iy),
        _hash_y(iy + 1),
        _hash_z(iz) + state,
        _hash_z(iz + 1) + state,
        p - f,
    )


def _noise4(state: uint32, p):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    it = int(f[3])
    return _lattice4(
        _hash_x(ix),
        _hash_x(ix + 1),
        _hash_y(iy),
        _hash_y(iy + 1),
        _hash_z(iz),
        _hash_z(iz + 1),
        _hash_t(it) + state,
        _hash_t(it + 1) + state,
        p - f,
    )


def _pnoise1(state: uint32, x: float, px: int):
    f = floor(x)
    i = int(f)
    return _lattice1(_hash_x(i % px) + state, _hash_x((i % px + 1) % px) + state, x - f)


def _pnoise2(state: uint32, p, px: int, py: int):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    return _lattice2(
        _hash_x(ix % px),
        _hash_x((ix % px + 1) % px),
        _hash_y(iy % py) + state,
        _hash_y((iy % py + 1) % py) + state,
        p - f,
    )


def _pnoise3(state: uint32, p, px: int, py: int, pz: int):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    return _lattice3(
        _hash_x(ix % px),
        _hash_x((ix % px + 1) % px),
        _hash_y(iy % py),
        _hash_y((iy % py + 1) % py),
        _hash_z(iz % pz) + state,
        _hash_z((iz % pz + 1) % pz) + state,
        p - f,
    )


def _pnoise4(state: uint32, p, px: int, py: int, pz: int, pt: int):
    f = _floor_each(p)
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    it = int(f[3])
    return _lattice4(
        _hash_x(ix % px),
        _hash_x((ix % px + 1) % px),
        _hash_y(iy % py),
        _hash_y((iy % py + 1) % py),
        _hash_z(iz % pz),
        _hash_z((iz % pz + 1) % pz),
        _hash_t(it % pt) + state,
        _hash_t((it % pt + 1) % pt) + state,
        p - f,
    )


def _blend_slopes(a, b, t: float, axis: int):
    # Blends (gradient…, value) along an axis: the product rule adds the difference of the values there.
    last = len(a) - 1
    r = _blend(a, b, _fade(t))
    r[axis] = r[axis] + _fade_slope(t) * (b[last] - a[last])
    return r


def _corner2(hash: uint32, x: float, y: float):
    g = _lattice_gradient2(hash)
    return vector(g[0], g[1], g[0] * x + g[1] * y)


def _slope2(state: uint32, p):
    f = _floor_each(p)
    d = p - f
    x = d[0]
    y = d[1]
    ix = int(f[0])
    iy = int(f[1])
    x0 = _hash_x(ix)
    x1 = _hash_x(ix + 1)
    y0 = _hash_y(iy) + state
    y1 = _hash_y(iy + 1) + state
    a = _blend_slopes(_corner2(x0 ^ y0, x, y), _corner2(x1 ^ y0, x - 1.0, y), x, 0)
    b = _blend_slopes(_corner2(x0 ^ y1, x, y - 1.0), _corner2(x1 ^ y1, x - 1.0, y - 1.0), x, 0)
    return _blend_slopes(a, b, y, 1)


def _corner3(hash: uint32, x: float, y: float, z: float):
    g = _lattice_gradient3(hash)
    return vector(g[0], g[1], g[2], g[0] * x + g[1] * y + g[2] * z)


def _slope_face3(x0: uint32, x1: uint32, y0: uint32, y1: uint32, h: uint32, x: float, y: float, z: float):
    a = _blend_slopes(_corner3(x0 ^ y0 ^ h, x, y, z), _corner3(x1 ^ y0 ^ h, x - 1.0, y, z), x, 0)
    b = _blend_slopes(_corner3(x0 ^ y1 ^ h, x, y - 1.0, z), _corner3(x1 ^ y1 ^ h, x - 1.0, y - 1.0, z), x, 0)
    return _blend_slopes(a, b, y, 1)


def _slope3(state: uint32, p):
    f = _floor_each(p)
    d = p - f
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    x0 = _hash_x(ix)
    x1 = _hash_x(ix + 1)
    y0 = _hash_y(iy)
    y1 = _hash_y(iy + 1)
    a = _slope_face3(x0, x1, y0, y1, _hash_z(iz) + state, d[0], d[1], d[2])
    b = _slope_face3(x0, x1, y0, y1, _hash_z(iz + 1) + state, d[0], d[1], d[2] - 1.0)
    return _blend_slopes(a, b, d[2], 2)


def _corner4(hash: uint32, x: float, y: float, z: float, t: float):
    # The derivative along t is not needed.
    g = _lattice_gradient4(hash)
    return vector(g[0], g[1], g[2], g[0] * x + g[1] * y + g[2] * z + g[3] * t)


def _slope_face4(x0: uint32, x1: uint32, y0: uint32, y1: uint32, h: uint32, x: float, y: float, z: float, t: float):
    a = _blend_slopes(_corner4(x0 ^ y0 ^ h, x, y, z, t), _corner4(x1 ^ y0 ^ h, x - 1.0, y, z, t), x, 0)
    b = _blend_slopes(_corner4(x0 ^ y1 ^ h, x, y - 1.0, z, t), _corner4(x1 ^ y1 ^ h, x - 1.0, y - 1.0, z, t), x, 0)
    return _blend_slopes(a, b, y, 1)


def _slope4(state: uint32, p):
    f = _floor_each(p)
    d = p - f
    ix = int(f[0])
    iy = int(f[1])
    iz = int(f[2])
    it = int(f[3])
    x0 = _hash_x(ix)
    x1 = _hash_x(ix + 1)
    y0 = _hash_y(iy)
    y1 = _hash_y(iy + 1)
    z0 = _hash_z(iz)
    z1 = _hash_z(iz + 1)
    t0 = _hash_t(it) + state
    t1 = _hash_t(it + 1) + state
    a = _slope_face4(x0, x1, y0, y1, z0 ^ t0, d[0], d[1], d[2], d[3])
    b = _slope_face4(x0, x1, y0, y1, z1 ^ t0, d[0], d[1], d[2] - 1.0, d[3])
    early = _blend_slopes(a, b, d[2], 2)
    a = _slope_face4(x0, x1, y0, y1, z0 ^ t1, d[0], d[1], d[2], d[3] - 1.0)
    b = _slope_face4(x0, x1, y0, y1, z1 ^ t1, d[0], d[1], d[2] - 1.0, d[3] - 1.0)
    return _blend(early, _blend_slopes(a, b, d[2], 2), _fade(d[3]))


def _curlnoise2(state: uint32, p, octaves: uint32, lacunarity: float, gain: float):
    g = vector(0.0, 0.0)
    frequency = float(1.0)
    weight = float(1.0)
    for i in range(int(octaves)):
        s = _slope2(state, p * frequency)
        g = g + vector(s[0], s[1]) * weight
        frequency = frequency * lacunarity
        weight = weight * gain
    return vector(-g[1], g[0])


def _curl(a, b, c):
    return vector(c[1] - b[2], a[2] - c[0], b[0] - a[1])


def _curlnoise3(state: uint32, p, octaves: uint32, lacunarity: float, gain: float):
    # Three fields of their own make the potential; its curl is linear, so that octaves add up.
    r = vector(0.0, 0.0, 0.0)
    frequency = float(1.0)
    weight = float(1.0)
    for i in range(int(octaves)):
        a = _slope3(state, p * frequency)
        state = _rand_init2(int(state), 10019689)
        b = _slope3(state, p * frequency)
        state = _rand_init2(int(state), 13112221)
        r = r + _curl(a, b, _slope3(state, p * frequency)) * weight
        frequency = frequency * lacunarity
        weight = weight * gain
    return r


def _curlnoise4(state: uint32, p, octaves: uint32, lacunarity: float, gain: float):
    r = vector(0.0, 0.0, 0.0)
    frequency = float(1.0)
    weight = float(1.0)
    for i in range(int(octaves)):
        a = _slope4(state, p * frequency)
        state = _rand_init2(int(state), 10019689)
        b = _slope4(state, p * frequency)
        state = _rand_init2(int(state), 13112221)
        r = r + _curl(a, b, _slope4(state, p * frequency)) * weight
        frequency = frequency * lacunarity
        weight = weight * gain
    return r
