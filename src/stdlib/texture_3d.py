# Textures of three dimensions: which texels lie around a place, and what they give (texture.py has the parts).


# The four texels around a place in one slice of the block.
def _texture_slice3(texture: uint64, level: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, z: uint32, like):
    if _on_gpu():
        return (
            _texture_fetched3(texture, level, x0, y0, z, like),
            _texture_fetched3(texture, level, x1, y0, z, like),
            _texture_fetched3(texture, level, x0, y1, z, like),
            _texture_fetched3(texture, level, x1, y1, z, like),
        )
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    extent = _fixed(level + uint64(_LEVEL_EXTENT), uint32)
    width = extent[0]
    first = z * extent[1]
    row0 = (first + y0) * width
    row1 = (first + y1) * width
    if _texture_flag(texture, _BYTE_TEXELS):
        return (
            _byte_single(texels, channels, row0 + x0, like),
            _byte_single(texels, channels, row0 + x1, like),
            _byte_single(texels, channels, row1 + x0, like),
            _byte_single(texels, channels, row1 + x1, like),
        )
    return _texel_slice(texels, channels, row0 + x0, row0 + x1, row1 + x0, row1 + x1, like)


def _texture_slice3_gradient(texture, level, x0, x1, y0, y1, z, like, adj_a, adj_b, adj_c, adj_d):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread3(texture, level, int(x0), int(y0), int(z), adj_a)
        _texture_spread3(texture, level, int(x1), int(y0), int(z), adj_b)
        _texture_spread3(texture, level, int(x0), int(y1), int(z), adj_c)
        _texture_spread3(texture, level, int(x1), int(y1), int(z), adj_d)


# All eight where the outermost texels go on for ever.
def _texture_corners3(texture: uint64, level: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, z0: uint32, z1: uint32, like):
    if _on_gpu():
        a, b, c, d = _texture_slice3(texture, level, x0, x1, y0, y1, z0, like)
        e, f, g, h = _texture_slice3(texture, level, x0, x1, y0, y1, z1, like)
        return a, b, c, d, e, f, g, h
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    extent = _fixed(level + uint64(_LEVEL_EXTENT), uint32)
    width = extent[0]
    near = z0 * extent[1]
    far = z1 * extent[1]
    return _texel_rows(
        texels,
        channels,
        (near + y0) * width,
        (near + y1) * width,
        (far + y0) * width,
        (far + y1) * width,
        x0,
        x1,
        width,
        like,
    )


def _texture_corners3_gradient(texture, level, x0, x1, y0, y1, z0, z1, like, adj_a, adj_b, adj_c, adj_d, adj_e, adj_f, adj_g, adj_h):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread3(texture, level, int(x0), int(y0), int(z0), adj_a)
        _texture_spread3(texture, level, int(x1), int(y0), int(z0), adj_b)
        _texture_spread3(texture, level, int(x0), int(y1), int(z0), adj_c)
        _texture_spread3(texture, level, int(x1), int(y1), int(z0), adj_d)
        _texture_spread3(texture, level, int(x0), int(y0), int(z1), adj_e)
        _texture_spread3(texture, level, int(x1), int(y0), int(z1), adj_f)
        _texture_spread3(texture, level, int(x0), int(y1), int(z1), adj_g)
        _texture_spread3(texture, level, int(x1), int(y1), int(z1), adj_h)


def _texture_single3(texture: uint64, level: uint64, x: uint32, y: uint32, z: uint32, like):
    if _on_gpu():
        return _texture_fetched3(texture, level, x, y, z, like)
    extent = _fixed(level + uint64(_LEVEL_EXTENT), uint32)
    at = (z * extent[1] + y) * extent[0] + x
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    if _texture_flag(texture, _BYTE_TEXELS):
        return _byte_single(texels, channels, at, like)
    return _texel(texels, channels, at, like)


def _texture_single3_gradient(texture, level, x, y, z, like, adj):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread3(texture, level, int(x), int(y), int(z), adj)


# A texel of a GPU's texture, by the object that gives single ones.
def _texture_fetched3(texture: uint64, level: uint64, x: uint32, y: uint32, z: uint32, like):
    object = _fixed(level, uint64)[0]
    if _texture_flag(texture, _WHOLE_TEXELS):
        return _texture_part(_whole_texel(texture, _texture_read("whole", object, int(x), int(y), int(z), 0.0)), like)
    return _texture_part(_texture_read("float", object, int(x), int(y), int(z), 0.0), like)


# Adds to the gradients of all texels of the first level that this one is the mean of.
def _texture_spread3(texture: uint64, level: uint64, x: int, y: int, z: int, value):
    extent = _fixed(texture + uint64(_TEXTURE_FIRST + _LEVEL_EXTENT), int)
    block_x = _texture_block(texture, level, 0)
    block_y = _texture_block(texture, level, 1)
    block_z = _texture_block(texture, level, 2)
    share = value / float(block_x * block_y * block_z)
    for along_z in range(z * block_z, (z + 1) * block_z):
        for along_y in range(y * block_y, (y + 1) * block_y):
            for along_x in range(x * block_x, (x + 1) * block_x):
                _texel_add(texture, uint32((along_z * extent[1] + along_y) * extent[0] + along_x), share)


# What lies between them. Slopes are mixed from differences: texels with a large number in common lose none of them.
def _texture_blend3(a, b, c, d, e, f, g, h, x, y, z):
    near = _texture_mix(_texture_mix(a, b, x), _texture_mix(c, d, x), y)
    far = _texture_mix(_texture_mix(e, f, x), _texture_mix(g, h, x), y)
    return _texture_mix(near, far, z)


def _texture_blend3_gradient(a, b, c, d, e, f, g, h, x, y, z, adj):
    adj_near = adj * (1.0 - z)
    adj_far = adj * z
    near_low = adj_near * (1.0 - y)
    near_high = adj_near * y
    far_low = adj_far * (1.0 - y)
    far_high = adj_far * y
    adjoint[a] += near_low * (1.0 - x)
    adjoint[b] += near_low * x
    adjoint[c] += near_high * (1.0 - x)
    adjoint[d] += near_high * x
    adjoint[e] += far_low * (1.0 - x)
    adjoint[f] += far_low * x
    adjoint[g] += far_high * (1.0 - x)
    adjoint[h] += far_high * x
    along_x = _texture_mix(_texture_mix(b - a, d - c, y), _texture_mix(f - e, h - g, y), z)
    along_y = _texture_mix(_texture_mix(c - a, d - b, x), _texture_mix(g - e, h - f, x), z)
    along_z = _texture_mix(_texture_mix(e - a, f - b, x), _texture_mix(g - c, h - d, x), y)
    adjoint[x] += _texture_slope(along_x, adj)
    adjoint[y] += _texture_slope(along_y, adj)
    adjoint[z] += _texture_slope(along_z, adj)


def _texture_level3(texture: uint64, level: uint64, u: float, v: float, w: float, like):
    if _texture_flag(texture, _LINEAR_TEXELS):
        in_x0 = True
        in_x1 = True
        in_y0 = True
        in_y1 = True
        in_z0 = True
        in_z1 = True
        if _texture_flag(texture, _CLAMPED):
            x0, x1, part_x = _texture_between(level, u, 0)
            y0, y1, part_y = _texture_between(level, v, 1)
            z0, z1, part_z = _texture_between(level, w, 2)
        else:
            x0, x1, part_x, in_x0, in_x1 = _texture_between_any(texture, level, u, 0)
            y0, y1, part_y, in_y0, in_y1 = _texture_between_any(texture, level, v, 1)
            z0, z1, part_z, in_z0, in_z1 = _texture_between_any(texture, level, w, 2)
        a, b, c, d = _texture_slice3(texture, level, x0, x1, y0, y1, z0, like)
        e, f, g, h = _texture_slice3(texture, level, x0, x1, y0, y1, z1, like)
        if _texture_flag(texture, _BORDERED):
            a = where(in_x0 and in_y0 and in_z0, a, type(like)())
            b = where(in_x1 and in_y0 and in_z0, b, type(like)())
            c = where(in_x0 and in_y1 and in_z0, c, type(like)())
            d = where(in_x1 and in_y1 and in_z0, d, type(like)())
            e = where(in_x0 and in_y0 and in_z1, e, type(like)())
            f = where(in_x1 and in_y0 and in_z1, f, type(like)())
            g = where(in_x0 and in_y1 and in_z1, g, type(like)())
            h = where(in_x1 and in_y1 and in_z1, h, type(like)())
        return _texture_blend3(a, b, c, d, e, f, g, h, part_x, part_y, part_z)
    in_x = True
    in_y = True
    in_z = True
    if _texture_flag(texture, _CLAMPED):
        x = _texture_nearest(level, u, 0)
        y = _texture_nearest(level, v, 1)
        z = _texture_nearest(level, w, 2)
    else:
        x, in_x = _texture_nearest_any(texture, level, u, 0)
        y, in_y = _texture_nearest_any(texture, level, v, 1)
        z, in_z = _texture_nearest_any(texture, level, w, 2)
    found = _texture_single3(texture, level, x, y, z, like)
    if _texture_flag(texture, _BORDERED):
        found = where(in_x and in_y and in_z, found, type(like)())
    return found


def _texture_exact3(texture: uint64, u: float, v: float, w: float, lod: float, like):
    level, further, part = _texture_levels(texture, lod)
    found = _texture_level3(texture, level, u, v, w, like)
    if further != uint64(0):
        found = _texture_mix(found, _texture_level3(texture, further, u, v, w, like), part)
    return found


# What most textures are: linear, with outermost texels that go on, and one level. Straight code, small enough to stand in a
# kernel itself.
def _texture_plain3(texture: uint64, u: float, v: float, w: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    z0, z1, part_z = _texture_between(level, w, 2)
    a, b, c, d, e, f, g, h = _texture_corners3(texture, level, x0, x1, y0, y1, z0, z1, like)
    return _texture_blend3(a, b, c, d, e, f, g, h, part_x, part_y, part_z)


# The same for those that give the nearest texel.
def _texture_near3(texture: uint64, u: float, v: float, w: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x = _texture_nearest(level, u, 0)
    y = _texture_nearest(level, v, 1)
    z = _texture_nearest(level, w, 2)
    return _texture_single3(texture, level, x, y, z, like)


# By a GPU's texture unit. Its slopes are those of the code above.
def _texture_quick3(texture: uint64, u: float, v: float, w: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    if _texture_flag(texture, _WHOLE_TEXELS):
        whole = _texture_read("whole", object, u * scale[0], v * scale[1], w * scale[2], max(lod, 0.0))
        return _texture_part(_whole_texel(texture, whole), like)
    return _texture_part(_texture_read("float", object, u * scale[0], v * scale[1], w * scale[2], max(lod, 0.0)), like)


def _texture_weighed3(texture: uint64, u: float, v: float, w: float, lod: float, weights):
    return _texture_sum(_texture_exact3(texture, u, v, w, lod, weights), weights)


def _texture_quick3_gradient(texture, u, v, w, lod, like, adj):
    slopes = grad(_texture_weighed3)(texture, u, v, w, lod, adj)
    adjoint[u] += slopes[1]
    adjoint[v] += slopes[2]
    adjoint[w] += slopes[3]
    adjoint[lod] += slopes[4]


# The same for what most textures are, made of texels that have no gradient: its slopes are short enough to stand in a kernel itself.
def _texture_still3(texture: uint64, u: float, v: float, w: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    return _texture_part(_texture_read("float", object, u * scale[0], v * scale[1], w * scale[2], max(lod, 0.0)), like)


def _texture_still_corners3(object: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, z0: uint32, z1: uint32, like):
    return (
        _texture_part(_texture_read("float", object, int(x0), int(y0), int(z0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y0), int(z0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x0), int(y1), int(z0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y1), int(z0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x0), int(y0), int(z1), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y0), int(z1), 0.0), like),
        _texture_part(_texture_read("float", object, int(x0), int(y1), int(z1), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y1), int(z1), 0.0), like),
    )


def _texture_still_corners3_gradient(object, x0, x1, y0, y1, z0, z1, like, adj_a, adj_b, adj_c, adj_d, adj_e, adj_f, adj_g, adj_h):
    pass


def _texture_still_weighed3(texture: uint64, u: float, v: float, w: float, weights):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    z0, z1, part_z = _texture_between(level, w, 2)
    a, b, c, d, e, f, g, h = _texture_still_corners3(_fixed(level, uint64)[0], x0, x1, y0, y1, z0, z1, weights)
    return _texture_sum(_texture_blend3(a, b, c, d, e, f, g, h, part_x, part_y, part_z), weights)


def _texture_still3_gradient(texture, u, v, w, lod, like, adj):
    slopes = grad(_texture_still_weighed3)(texture, u, v, w, adj)
    adjoint[u] += slopes[1]
    adjoint[v] += slopes[2]
    adjoint[w] += slopes[3]


def _texture_sample3(texture_id: uint64, u: float, v: float, w: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _on_gpu():
        if _texture_is_still(texture):
            return _texture_still3(texture, u, v, w, lod, like)
        return _texture_quick3(texture, u, v, w, lod, like)
    if _texture_flag(texture, _PLAIN):
        if _texture_flag(texture, _BYTE_TEXELS):
            return _texture_bytes3(texture, u, v, w, like)
        return _texture_plain3(texture, u, v, w, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near3(texture, u, v, w, like)
    return _texture_exact3(texture, u, v, w, lod, like)


def _texture_sample_exact3(texture_id: uint64, u: float, v: float, w: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _texture_flag(texture, _PLAIN):
        if not _on_gpu():
            if _texture_flag(texture, _BYTE_TEXELS):
                return _texture_bytes3(texture, u, v, w, like)
        return _texture_plain3(texture, u, v, w, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near3(texture, u, v, w, like)
    return _texture_exact3(texture, u, v, w, lod, like)
