# Textures of one dimension: which texels lie around a place, and what they give (texture.py has the parts).


# The two texels around a place.
def _texture_corners1(texture: uint64, level: uint64, x0: uint32, x1: uint32, like):
    if _on_gpu():
        return (
            _texture_fetched1(texture, level, x0, like),
            _texture_fetched1(texture, level, x1, like),
        )
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    if _texture_flag(texture, _BYTE_TEXELS):
        return _byte_single(texels, channels, x0, like), _byte_single(texels, channels, x1, like)
    return _texel(texels, channels, x0, like), _texel(texels, channels, x1, like)


def _texture_corners1_gradient(texture, level, x0, x1, like, adj_a, adj_b):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread1(texture, level, int(x0), adj_a)
        _texture_spread1(texture, level, int(x1), adj_b)


# The same where the second one is the next or, at the end, the first again.
def _texture_plain_corners1(texture: uint64, level: uint64, x0: uint32, x1: uint32, like):
    if _on_gpu():
        a, b = _texture_corners1(texture, level, x0, x1, like)
        return a, b
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    return _texel_row(texels, channels, x0, x1, _fixed(level + uint64(_LEVEL_EXTENT), uint32)[0], like)


def _texture_plain_corners1_gradient(texture, level, x0, x1, like, adj_a, adj_b):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread1(texture, level, int(x0), adj_a)
        _texture_spread1(texture, level, int(x1), adj_b)


def _texture_single1(texture: uint64, level: uint64, x: uint32, like):
    if _on_gpu():
        return _texture_fetched1(texture, level, x, like)
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    if _texture_flag(texture, _BYTE_TEXELS):
        return _byte_single(texels, channels, x, like)
    return _texel(texels, channels, x, like)


def _texture_single1_gradient(texture, level, x, like, adj):
    if _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] != uint64(0):
        _texture_spread1(texture, level, int(x), adj)


# A texel of a GPU's texture, by the object that gives single ones.
def _texture_fetched1(texture: uint64, level: uint64, x: uint32, like):
    object = _fixed(level, uint64)[0]
    if _texture_flag(texture, _WHOLE_TEXELS):
        return _texture_part(_whole_texel(texture, _texture_read("whole", object, int(x), 0.0)), like)
    return _texture_part(_texture_read("float", object, int(x), 0.0), like)


# Adds to the gradients of all texels of the first level that this one is the mean of.
def _texture_spread1(texture: uint64, level: uint64, x: int, value):
    block_x = _texture_block(texture, level, 0)
    share = value / float(block_x)
    for along_x in range(x * block_x, (x + 1) * block_x):
        _texel_add(texture, uint32(along_x), share)


# What lies between them. Slopes are mixed from differences: texels with a large number in common lose none of them.
def _texture_blend1(a, b, x):
    return _texture_mix(a, b, x)


def _texture_blend1_gradient(a, b, x, adj):
    adjoint[a] += adj * (1.0 - x)
    adjoint[b] += adj * x
    adjoint[x] += _texture_slope(b - a, adj)


def _texture_level1(texture: uint64, level: uint64, u: float, like):
    if _texture_flag(texture, _LINEAR_TEXELS):
        in_x0 = True
        in_x1 = True
        if _texture_flag(texture, _CLAMPED):
            x0, x1, part_x = _texture_between(level, u, 0)
        else:
            x0, x1, part_x, in_x0, in_x1 = _texture_between_any(texture, level, u, 0)
        a, b = _texture_corners1(texture, level, x0, x1, like)
        if _texture_flag(texture, _BORDERED):
            a = where(in_x0, a, type(like)())
            b = where(in_x1, b, type(like)())
        return _texture_blend1(a, b, part_x)
    in_x = True
    if _texture_flag(texture, _CLAMPED):
        x = _texture_nearest(level, u, 0)
    else:
        x, in_x = _texture_nearest_any(texture, level, u, 0)
    found = _texture_single1(texture, level, x, like)
    if _texture_flag(texture, _BORDERED):
        found = where(in_x, found, type(like)())
    return found


def _texture_exact1(texture: uint64, u: float, lod: float, like):
    level, further, part = _texture_levels(texture, lod)
    found = _texture_level1(texture, level, u, like)
    if further != uint64(0):
        found = _texture_mix(found, _texture_level1(texture, further, u, like), part)
    return found


# What most textures are: linear, with outermost texels that go on, and one level. Straight code, small enough to stand in a
# kernel itself.
def _texture_plain1(texture: uint64, u: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    a, b = _texture_plain_corners1(texture, level, x0, x1, like)
    return _texture_blend1(a, b, part_x)


# The same for those that give the nearest texel.
def _texture_near1(texture: uint64, u: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x = _texture_nearest(level, u, 0)
    return _texture_single1(texture, level, x, like)


# By a GPU's texture unit. Its slopes are those of the code above.
def _texture_quick1(texture: uint64, u: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    if _texture_flag(texture, _WHOLE_TEXELS):
        whole = _texture_read("whole", object, u * scale[0], max(lod, 0.0))
        return _texture_part(_whole_texel(texture, whole), like)
    return _texture_part(_texture_read("float", object, u * scale[0], max(lod, 0.0)), like)


def _texture_weighed1(texture: uint64, u: float, lod: float, weights):
    return _texture_sum(_texture_exact1(texture, u, lod, weights), weights)


def _texture_quick1_gradient(texture, u, lod, like, adj):
    slopes = grad(_texture_weighed1)(texture, u, lod, adj)
    adjoint[u] += slopes[1]
    adjoint[lod] += slopes[2]


# The same for what most textures are, made of texels that have no gradient: its slopes are short enough to stand in a kernel itself.
def _texture_still1(texture: uint64, u: float, lod: float, like):
    object = _fixed(texture + uint64(_TEXTURE_OBJECT), uint64)[0]
    scale = _fixed(texture + uint64(_TEXTURE_QUICK), float)
    return _texture_part(_texture_read("float", object, u * scale[0], max(lod, 0.0)), like)


def _texture_still_corners1(object: uint64, x0: uint32, x1: uint32, like):
    return (
        _texture_part(_texture_read("float", object, int(x0), 0.0), like),
        _texture_part(_texture_read("float", object, int(x1), 0.0), like),
    )


def _texture_still_corners1_gradient(object, x0, x1, like, adj_a, adj_b):
    pass


def _texture_still_weighed1(texture: uint64, u: float, weights):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    a, b = _texture_still_corners1(_fixed(level, uint64)[0], x0, x1, weights)
    return _texture_sum(_texture_blend1(a, b, part_x), weights)


def _texture_still1_gradient(texture, u, lod, like, adj):
    slopes = grad(_texture_still_weighed1)(texture, u, adj)
    adjoint[u] += slopes[1]


def _texture_sample1(texture_id: uint64, u: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _on_gpu():
        if _texture_is_still(texture):
            return _texture_still1(texture, u, lod, like)
        return _texture_quick1(texture, u, lod, like)
    if _texture_flag(texture, _PLAIN):
        if _texture_flag(texture, _BYTE_TEXELS):
            return _texture_bytes1(texture, u, like)
        return _texture_plain1(texture, u, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near1(texture, u, like)
    return _texture_exact1(texture, u, lod, like)


def _texture_sample_exact1(texture_id: uint64, u: float, lod: float, like):
    texture = _handle("texture", texture_id)
    if not _texture_lives(texture):
        return type(like)()
    if _texture_flag(texture, _PLAIN):
        if not _on_gpu():
            if _texture_flag(texture, _BYTE_TEXELS):
                return _texture_bytes1(texture, u, like)
        return _texture_plain1(texture, u, like)
    if _texture_flag(texture, _NEAR):
        return _texture_near1(texture, u, like)
    return _texture_exact1(texture, u, lod, like)
