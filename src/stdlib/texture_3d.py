# Textures of three dimensions: which texels lie around a place, and what they give (texture.py has the parts).


# The eight texels around a place.
def _texture_corners3(texture: uint64, level: uint64, x0: int, x1: int, y0: int, y1: int, z0: int, z1: int, like):
    if _on_gpu():
        return (
            _texture_fetched3(texture, level, x0, y0, z0, like),
            _texture_fetched3(texture, level, x1, y0, z0, like),
            _texture_fetched3(texture, level, x0, y1, z0, like),
            _texture_fetched3(texture, level, x1, y1, z0, like),
            _texture_fetched3(texture, level, x0, y0, z1, like),
            _texture_fetched3(texture, level, x1, y0, z1, like),
            _texture_fetched3(texture, level, x0, y1, z1, like),
            _texture_fetched3(texture, level, x1, y1, z1, like),
        )
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    extent = _fixed(level + uint64(_LEVEL_EXTENT), int)
    width = extent[0]
    slice0 = z0 * extent[1]
    slice1 = z1 * extent[1]
    row00 = (slice0 + y0) * width
    row01 = (slice0 + y1) * width
    row10 = (slice1 + y0) * width
    row11 = (slice1 + y1) * width
    return (
        _texel(texels, channels, row00 + x0, like),
        _texel(texels, channels, row00 + x1, like),
        _texel(texels, channels, row01 + x0, like),
        _texel(texels, channels, row01 + x1, like),
        _texel(texels, channels, row10 + x0, like),
        _texel(texels, channels, row10 + x1, like),
        _texel(texels, channels, row11 + x0, like),
        _texel(texels, channels, row11 + x1, like),
    )


def _texture_corners3_gradient(texture, level, x0, x1, y0, y1, z0, z1, like, adj_a, adj_b, adj_c, adj_d, adj_e, adj_f, adj_g, adj_h):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread3(texture, level, x0, y0, z0, adj_a)
        _texture_spread3(texture, level, x1, y0, z0, adj_b)
        _texture_spread3(texture, level, x0, y1, z0, adj_c)
        _texture_spread3(texture, level, x1, y1, z0, adj_d)
        _texture_spread3(texture, level, x0, y0, z1, adj_e)
        _texture_spread3(texture, level, x1, y0, z1, adj_f)
        _texture_spread3(texture, level, x0, y1, z1, adj_g)
        _texture_spread3(texture, level, x1, y1, z1, adj_h)


def _texture_single3(texture: uint64, level: uint64, x: int, y: int, z: int, like):
    if _on_gpu():
        return _texture_fetched3(texture, level, x, y, z, like)
    extent = _fixed(level + uint64(_LEVEL_EXTENT), int)
    width = extent[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    return _texel(_fixed(level, uint64)[0], channels, (z * extent[1] + y) * width + x, like)


def _texture_single3_gradient(texture, level, x, y, z, like, adj):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread3(texture, level, x, y, z, adj)


# A texel of a GPU's texture, by the object that gives single ones.
def _texture_fetched3(texture: uint64, level: uint64, x: int, y: int, z: int, like):
    object = _fixed(level, uint64)[0]
    if _texture_flag(texture, _WHOLE_TEXELS):
        return _texture_part(_whole_texel(texture, _texture_read("whole", object, x, y, z, 0.0)), like)
    return _texture_part(_texture_read("float", object, x, y, z, 0.0), like)


# Adds to the gradients of all texels of the first level that this one is the mean of.
def _texture_spread3(texture: uint64, level: uint64, x: int, y: int, z: int, value):
    gradient = _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), int)[0]
    extent = _fixed(texture + uint64(_TEXTURE_FIRST + _LEVEL_EXTENT), int)
    block_x = _texture_block(texture, level, 0)
    block_y = _texture_block(texture, level, 1)
    block_z = _texture_block(texture, level, 2)
    share = value / float(block_x * block_y * block_z)
    for along_z in range(z * block_z, (z + 1) * block_z):
        for along_y in range(y * block_y, (y + 1) * block_y):
            for along_x in range(x * block_x, (x + 1) * block_x):
                _texel_add(gradient, channels, (along_z * extent[1] + along_y) * extent[0] + along_x, share)


def _texture_level3(texture: uint64, level: uint64, u: float, v: float, w: float, like):
    mode_x = _texture_mode(texture, 0)
    x = _texture_place(texture, level, mode_x, u, 0)
    mode_y = _texture_mode(texture, 1)
    y = _texture_place(texture, level, mode_y, v, 1)
    mode_z = _texture_mode(texture, 2)
    z = _texture_place(texture, level, mode_z, w, 2)
    outside = mode_x == _BORDER or mode_y == _BORDER or mode_z == _BORDER
    if _texture_flag(texture, _LINEAR_TEXELS):
        low_x = floor(x - 0.5)
        part_x = (x - 0.5) - low_x
        x0 = int(low_x)
        low_y = floor(y - 0.5)
        part_y = (y - 0.5) - low_y
        y0 = int(low_y)
        low_z = floor(z - 0.5)
        part_z = (z - 0.5) - low_z
        z0 = int(low_z)
        a, b, c, d, e, f, g, h = _texture_corners3(
            texture,
            level,
            _texture_index(level, mode_x, x0, 0),
            _texture_index(level, mode_x, x0 + 1, 0),
            _texture_index(level, mode_y, y0, 1),
            _texture_index(level, mode_y, y0 + 1, 1),
            _texture_index(level, mode_z, z0, 2),
            _texture_index(level, mode_z, z0 + 1, 2),
            like,
        )
        if outside:
            in_x0 = _texture_inside(level, mode_x, x0, 0)
            in_x1 = _texture_inside(level, mode_x, x0 + 1, 0)
            in_y0 = _texture_inside(level, mode_y, y0, 1)
            in_y1 = _texture_inside(level, mode_y, y0 + 1, 1)
            in_z0 = _texture_inside(level, mode_z, z0, 2)
            in_z1 = _texture_inside(level, mode_z, z0 + 1, 2)
            a = where(in_x0 and in_y0 and in_z0, a, type(like)())
            b = where(in_x1 and in_y0 and in_z0, b, type(like)())
            c = where(in_x0 and in_y1 and in_z0, c, type(like)())
            d = where(in_x1 and in_y1 and in_z0, d, type(like)())
            e = where(in_x0 and in_y0 and in_z1, e, type(like)())
            f = where(in_x1 and in_y0 and in_z1, f, type(like)())
            g = where(in_x0 and in_y1 and in_z1, g, type(like)())
            h = where(in_x1 and in_y1 and in_z1, h, type(like)())
        near = _texture_mix(_texture_mix(a, b, part_x), _texture_mix(c, d, part_x), part_y)
        far = _texture_mix(_texture_mix(e, f, part_x), _texture_mix(g, h, part_x), part_y)
        return _texture_mix(near, far, part_z)
    ix = int(floor(x))
    iy = int(floor(y))
    iz = int(floor(z))
    found = _texture_single3(
        texture,
        level,
        _texture_index(level, mode_x, ix, 0),
        _texture_index(level, mode_y, iy, 1),
        _texture_index(level, mode_z, iz, 2),
        like,
    )
    if outside:
        in_x = _texture_inside(level, mode_x, ix, 0)
        in_y = _texture_inside(level, mode_y, iy, 1)
        in_z = _texture_inside(level, mode_z, iz, 2)
        found = where(in_x and in_y and in_z, found, type(like)())
    return found


def _texture_exact3(texture: uint64, u: float, v: float, w: float, lod: float, like):
    level, further, part = _texture_levels(texture, lod)
    found = _texture_level3(texture, level, u, v, w, like)
    if further != uint64(0):
        found = _texture_mix(found, _texture_level3(texture, further, u, v, w, like), part)
    return found


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


def _texture_sample3(texture_id: uint64, u: float, v: float, w: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _on_gpu():
        return _texture_quick3(texture, u, v, w, lod, like)
    return _texture_exact3(texture, u, v, w, lod, like)


def _texture_sample_exact3(texture_id: uint64, u: float, v: float, w: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    return _texture_exact3(texture, u, v, w, lod, like)
