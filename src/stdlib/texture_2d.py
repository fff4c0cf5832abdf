# Textures of two dimensions: which texels lie around a place, and what they give (texture.py has the parts).


# The four texels around a place.
def _texture_corners2(texture: uint64, level: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, like):
    if _on_gpu():
        return (
            _texture_fetched2(texture, level, x0, y0, like),
            _texture_fetched2(texture, level, x1, y0, like),
            _texture_fetched2(texture, level, x0, y1, like),
            _texture_fetched2(texture, level, x1, y1, like),
        )
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    width = _fixed(level + uint64(_LEVEL_EXTENT), uint32)[0]
    row0 = y0 * width
    row1 = y1 * width
    if _texture_flag(texture, _BYTE_TEXELS):
        return (
            _byte_single(texels, channels, row0 + x0, like),
            _byte_single(texels, channels, row0 + x1, like),
            _byte_single(texels, channels, row1 + x0, like),
            _byte_single(texels, channels, row1 + x1, like),
        )
    return _texel_corners(texels, channels, row0 + x0, row0 + x1, row1 + x0, row1 + x1, like)


def _texture_corners2_gradient(texture, level, x0, x1, y0, y1, like, adj_a, adj_b, adj_c, adj_d):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread2(texture, level, int(x0), int(y0), adj_a)
        _texture_spread2(texture, level, int(x1), int(y0), adj_b)
        _texture_spread2(texture, level, int(x0), int(y1), adj_c)
        _texture_spread2(texture, level, int(x1), int(y1), adj_d)


# The same where the second of two along x is the next or, at the end, the first again.
def _texture_plain_corners2(texture: uint64, level: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, like):
    if _on_gpu():
        a, b, c, d = _texture_corners2(texture, level, x0, x1, y0, y1, like)
        return a, b, c, d
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    width = _fixed(level + uint64(_LEVEL_EXTENT), uint32)[0]
    return _texel_pairs(texels, channels, y0 * width, y1 * width, x0, x1, width, like)


def _texture_plain_corners2_gradient(texture, level, x0, x1, y0, y1, like, adj_a, adj_b, adj_c, adj_d):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread2(texture, level, int(x0), int(y0), adj_a)
        _texture_spread2(texture, level, int(x1), int(y0), adj_b)
        _texture_spread2(texture, level, int(x0), int(y1), adj_c)
        _texture_spread2(texture, level, int(x1), int(y1), adj_d)


def _texture_single2(texture: uint64, level: uint64, x: uint32, y: uint32, like):
    if _on_gpu():
        return _texture_fetched2(texture, level, x, y, like)
    texels = _fixed(level, uint64)[0]
    at = y * _fixed(level + uint64(_LEVEL_EXTENT), uint32)[0] + x
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    if _texture_flag(texture, _BYTE_TEXELS):
        return _byte_single(texels, channels, at, like)
    return _texel(texels, channels, at, like)


def _texture_single2_gradient(texture, level, x, y, like, adj):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread2(texture, level, int(x), int(y), adj)


# A texel of a GPU's texture, by the object that gives single ones.
def _texture_fetched2(texture: uint64, level: uint64, x: uint32, y: uint32, like):
    object = _fixed(level, uint64)[0]
    if _texture_flag(texture, _WHOLE_TEXELS):
        return _texture_part(_whole_texel(texture, _texture_read("whole", object, int(x), int(y), 0.0)), like)
    return _texture_part(_texture_read("float", object, int(x), int(y), 0.0), like)


# Adds to the gradients of all texels of the first level that this one is the mean of.
def _texture_spread2(texture: uint64, level: uint64, x: int, y: int, value):
    extent = _fixed(texture + uint64(_TEXTURE_FIRST + _LEVEL_EXTENT), int)
    block_x = _texture_block(texture, level, 0)
    block_y = _texture_block(texture, level, 1)
    share = value / float(block_x * block_y)
    for along_y in range(y * block_y, (y + 1) * block_y):
        for along_x in range(x * block_x, (x + 1) * block_x):
            _texel_add(texture, uint32(along_y * extent[0] + along_x), share)


# What lies between them. Slopes are mixed from differences: texels with a large number in common lose none of them.
def _texture_blend2(a, b, c, d, x, y):
    return _texture_mix(_texture_mix(a, b, x), _texture_mix(c, d, x), y)


def _texture_blend2_gradient(a, b, c, d, x, y, adj):
    adj_low = adj * (1.0 - y)
    adj_high = adj * y
    adjoint[a] += adj_low * (1.0 - x)
    adjoint[b] += adj_low * x
    adjoint[c] += adj_high * (1.0 - x)
    adjoint[d] += adj_high * x
    adjoint[x] += _texture_slope(_texture_mix(b - a, d - c, y), adj)
    adjoint[y] += _texture_slope(_texture_mix(c - a, d - b, x), adj)


def _texture_level2(texture: uint64, level: uint64, u: float, v: float, like):
    if _texture_flag(texture, _LINEAR_TEXELS):
        in_x0 = True
        in_x1 = True
        in_y0 = True
        in_y1 = True
        if _texture_flag(texture, _CLAMPED):
            x0, x1, part_x = _texture_between(level, u, 0)
            y0, y1, part_y = _texture_between(level, v, 1)
        else:
            x0, x1, part_x, in_x0, in_x1 = _texture_between_any(texture, level, u, 0)
            y0, y1, part_y, in_y0, in_y1 = _texture_between_any(texture, level, v, 1)
        a, b, c, d = _texture_corners2(texture, level, x0, x1, y0, y1, like)
        if _texture_flag(texture, _BORDERED):
            a = where(in_x0 and in_y0, a, type(like)())
            b = where(in_x1 and in_y0, b, type(like)())
            c = where(in_x0 and in_y1, c, type(like)())
            d = where(in_x1 and in_y1, d, type(like)())
        return _texture_blend2(a, b, c, d, part_x, part_y)
    in_x = True
    in_y = True
    if _texture_flag(texture, _CLAMPED):
        x = _texture_nearest(level, u, 0)
        y = _texture_nearest(level, v, 1)
    else:
        x, in_x = _texture_nearest_any(texture, level, u, 0)
        y, in_y = _texture_nearest_any(texture, level, v, 1)
    found = _texture_single2(texture, level, x, y, like)
    if _texture_flag(texture, _BORDERED):
        found = where(in_x and in_y, found, type(like)())
    return found


def _texture_exact2(texture: uint64, u: float, v: float, lod: float, like):
    level, further, part = _texture_levels(texture, lod)
    found = _texture_level2(texture, level, u, v, like)
    if further != uint64(0):
        found = _texture_mix(found, _texture_level2(texture, further, u, v, like), part)
    return found


# What most textures are: linear, with outermost texels that go on, and one level. Straight code, small enough to stand in a
# kernel itself.
def _texture_plain2(texture: uint64, u: float, v: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    a, b, c, d = _texture_plain_corners2(texture, level, x0, x1, y0, y1, like)
    return _texture_blend2(a, b, c, d, part_x, part_y)


# The same for those that give the nearest texel.
def _texture_near2(texture: uint64, u: float, v: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x = _texture_nearest(level, u, 0)
    y = _texture_nearest(level, v, 1)
    return _texture_single2(texture, level, x, y, like)


# By a GPU's texture unit. Its slopes are those of the code above.
def _texture_quick2(texture: uint64, u: float, v: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    if _texture_flag(texture, _WHOLE_TEXELS):
        whole = _texture_read("whole", object, u * scale[0], v * scale[1], max(lod, 0.0))
        return _texture_part(_whole_texel(texture, whole), like)
    return _texture_part(_texture_read("float", object, u * scale[0], v * scale[1], max(lod, 0.0)), like)


def _texture_weighed2(texture: uint64, u: float, v: float, lod: float, weights):
    return _texture_sum(_texture_exact2(texture, u, v, lod, weights), weights)


def _texture_quick2_gradient(texture, u, v, lod, like, adj):
    slopes = grad(_texture_weighed2)(texture, u, v, lod, adj)
    adjoint[u] += slopes[1]
    adjoint[v] += slopes[2]
    adjoint[lod] += slopes[3]


# The same for textures of one level, made of texels that have no gradient: its slopes are short enough to stand in a kernel itself, and
# need fewer registers.
def _texture_still2(texture: uint64, u: float, v: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    return _texture_part(_texture_read("float", object, u * scale[0], v * scale[1], max(lod, 0.0)), like)


def _texture_still_corners2(object: uint64, x0: uint32, x1: uint32, y0: uint32, y1: uint32, like):
    return (
        _texture_part(_texture_read("float", object, int(x0), int(y0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x0), int(y1), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), int(y1), 0.0), like),
    )


def _texture_still_corners2_gradient(object, x0, x1, y0, y1, like, adj_a, adj_b, adj_c, adj_d):
    pass


def _texture_still_weighed2(texture: uint64, u: float, v: float, weights):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    a, b, c, d = _texture_still_corners2(_fixed(level, uint64)[0], x0, x1, y0, y1, weights)
    return _texture_sum(_texture_blend2(a, b, c, d, part_x, part_y), weights)


# Of those whose outermost texels don't go on for ever.
def _texture_lone_weighed2(texture: uint64, u: float, v: float, weights):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x, in_x0, in_x1 = _texture_between_any(texture, level, u, 0)
    y0, y1, part_y, in_y0, in_y1 = _texture_between_any(texture, level, v, 1)
    a, b, c, d = _texture_still_corners2(_fixed(level, uint64)[0], x0, x1, y0, y1, weights)
    if _texture_flag(texture, _BORDERED):
        a = where(in_x0 and in_y0, a, type(weights)())
        b = where(in_x1 and in_y0, b, type(weights)())
        c = where(in_x0 and in_y1, c, type(weights)())
        d = where(in_x1 and in_y1, d, type(weights)())
    return _texture_sum(_texture_blend2(a, b, c, d, part_x, part_y), weights)


def _texture_still2_gradient(texture, u, v, lod, like, adj):
    if _texture_flag(texture, _PLAIN):
        slopes = grad(_texture_still_weighed2)(texture, u, v, adj)
        adjoint[u] += slopes[1]
        adjoint[v] += slopes[2]
    else:
        others = grad(_texture_lone_weighed2)(texture, u, v, adj)
        adjoint[u] += others[1]
        adjoint[v] += others[2]


def _texture_sample2(texture_id: uint64, u: float, v: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _on_gpu():
        if _texture_is_lone(texture):
            return _texture_still2(texture, u, v, lod, like)
        return _texture_quick2(texture, u, v, lod, like)
    if _texture_flag(texture, _PLAIN):
        if _texture_flag(texture, _BYTE_TEXELS):
            return _texture_bytes2(texture, u, v, like)
        return _texture_plain2(texture, u, v, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near2(texture, u, v, like)
    return _texture_exact2(texture, u, v, lod, like)


def _texture_sample_exact2(texture_id: uint64, u: float, v: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _texture_flag(texture, _PLAIN):
        if not _on_gpu():
            if _texture_flag(texture, _BYTE_TEXELS):
                return _texture_bytes2(texture, u, v, like)
        return _texture_plain2(texture, u, v, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near2(texture, u, v, like)
    return _texture_exact2(texture, u, v, lod, like)
