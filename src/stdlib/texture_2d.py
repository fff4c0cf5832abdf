# Textures of two dimensions: which texels lie around a place, and what they give (texture.py has the parts).


# The four texels around a place.
def _texture_corners2(texture: uint64, level: uint64, x0: int, x1: int, y0: int, y1: int, like):
    if _on_gpu():
        return (
            _texture_fetched2(texture, level, x0, y0, like),
            _texture_fetched2(texture, level, x1, y0, like),
            _texture_fetched2(texture, level, x0, y1, like),
            _texture_fetched2(texture, level, x1, y1, like),
        )
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    width = _fixed(level + uint64(_LEVEL_EXTENT), int)[0]
    row0 = y0 * width
    row1 = y1 * width
    return (
        _texel(texels, channels, row0 + x0, like),
        _texel(texels, channels, row0 + x1, like),
        _texel(texels, channels, row1 + x0, like),
        _texel(texels, channels, row1 + x1, like),
    )


def _texture_corners2_gradient(texture, level, x0, x1, y0, y1, like, adj_a, adj_b, adj_c, adj_d):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread2(texture, level, x0, y0, adj_a)
        _texture_spread2(texture, level, x1, y0, adj_b)
        _texture_spread2(texture, level, x0, y1, adj_c)
        _texture_spread2(texture, level, x1, y1, adj_d)


def _texture_single2(texture: uint64, level: uint64, x: int, y: int, like):
    if _on_gpu():
        return _texture_fetched2(texture, level, x, y, like)
    width = _fixed(level + uint64(_LEVEL_EXTENT), int)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    return _texel(_fixed(level, uint64)[0], channels, y * width + x, like)


def _texture_single2_gradient(texture, level, x, y, like, adj):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread2(texture, level, x, y, adj)


# A texel of a GPU's texture, by the object that gives single ones.
def _texture_fetched2(texture: uint64, level: uint64, x: int, y: int, like):
    object = _fixed(level, uint64)[0]
    if _texture_flag(texture, _WHOLE_TEXELS):
        return _texture_part(_whole_texel(texture, _texture_read("whole", object, x, y, 0.0)), like)
    return _texture_part(_texture_read("float", object, x, y, 0.0), like)


# Adds to the gradients of all texels of the first level that this one is the mean of.
def _texture_spread2(texture: uint64, level: uint64, x: int, y: int, value):
    gradient = _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    extent = _fixed(texture + uint64(_TEXTURE_FIRST + _LEVEL_EXTENT), int)
    block_x = _texture_block(texture, level, 0)
    block_y = _texture_block(texture, level, 1)
    share = value / float(block_x * block_y)
    for along_y in range(y * block_y, (y + 1) * block_y):
        for along_x in range(x * block_x, (x + 1) * block_x):
            _texel_add(gradient, channels, along_y * extent[0] + along_x, share)


def _texture_level2(texture: uint64, level: uint64, u: float, v: float, like):
    mode_x = _texture_mode(texture, 0)
    x = _texture_place(texture, level, mode_x, u, 0)
    mode_y = _texture_mode(texture, 1)
    y = _texture_place(texture, level, mode_y, v, 1)
    outside = mode_x == _BORDER or mode_y == _BORDER
    if _texture_flag(texture, _LINEAR_TEXELS):
        low_x = floor(x - 0.5)
        part_x = (x - 0.5) - low_x
        x0 = int(low_x)
        low_y = floor(y - 0.5)
        part_y = (y - 0.5) - low_y
        y0 = int(low_y)
        a, b, c, d = _texture_corners2(
            texture,
            level,
            _texture_index(level, mode_x, x0, 0),
            _texture_index(level, mode_x, x0 + 1, 0),
            _texture_index(level, mode_y, y0, 1),
            _texture_index(level, mode_y, y0 + 1, 1),
            like,
        )
        if outside:
            in_x0 = _texture_inside(level, mode_x, x0, 0)
            in_x1 = _texture_inside(level, mode_x, x0 + 1, 0)
            in_y0 = _texture_inside(level, mode_y, y0, 1)
            in_y1 = _texture_inside(level, mode_y, y0 + 1, 1)
            a = where(in_x0 and in_y0, a, type(like)())
            b = where(in_x1 and in_y0, b, type(like)())
            c = where(in_x0 and in_y1, c, type(like)())
            d = where(in_x1 and in_y1, d, type(like)())
        return _texture_mix(_texture_mix(a, b, part_x), _texture_mix(c, d, part_x), part_y)
    ix = int(floor(x))
    iy = int(floor(y))
    found = _texture_single2(
        texture,
        level,
        _texture_index(level, mode_x, ix, 0),
        _texture_index(level, mode_y, iy, 1),
        like,
    )
    if outside:
        in_x = _texture_inside(level, mode_x, ix, 0)
        in_y = _texture_inside(level, mode_y, iy, 1)
        found = where(in_x and in_y, found, type(like)())
    return found


def _texture_exact2(texture: uint64, u: float, v: float, lod: float, like):
    level, further, part = _texture_levels(texture, lod)
    found = _texture_level2(texture, level, u, v, like)
    if further != uint64(0):
        found = _texture_mix(found, _texture_level2(texture, further, u, v, like), part)
    return found


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


def _texture_sample2(texture_id: uint64, u: float, v: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _on_gpu():
        return _texture_quick2(texture, u, v, lod, like)
    return _texture_exact2(texture, u, v, lod, like)


def _texture_sample_exact2(texture_id: uint64, u: float, v: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    return _texture_exact2(texture, u, v, lod, like)
