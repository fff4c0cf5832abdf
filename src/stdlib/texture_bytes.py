# Texels of 8 bits. On a CPU they lie as they were given, in a quarter of the memory that floats take, so that more of them are at hand. A
# word may begin at any byte: one of 32 bits holds a texel, or two that follow each other of one or two channels, one of 64 bits two of
# four. Behind the last texel lie as many bytes more as that reads.


# A byte as a part of 255, rounded as the quotient is: the second number is what the first one lacks of 1 / 255.
def _byte_as_float(byte: uint32):
    n = float(int(byte))
    return _fma(n, 0.003921568859368563, n * -2.319175823606301e-10)


# The texel in the lowest bits of a word; channels that are not there are zero.
def _byte_number(word: uint32, channels: uint32, like: float):
    return _byte_as_float(word & uint32(255))


def _byte_pair(word: uint32, channels: uint32, like: vec2):
    own = _byte_channels(word, channels)
    return vec2(_byte_as_float(own & uint32(255)), _byte_as_float((own >> uint32(8)) & uint32(255)))


def _byte_four(word: uint32, channels: uint32, like: vec4):
    own = _byte_channels(word, channels)
    return vec4(
        _byte_as_float(own & uint32(255)),
        _byte_as_float((own >> uint32(8)) & uint32(255)),
        _byte_as_float((own >> uint32(16)) & uint32(255)),
        _byte_as_float(own >> uint32(24)),
    )


def _byte_channels(word: uint32, channels: uint32):
    return word & (uint32(0xFFFFFFFF) >> (uint32(32) - channels * uint32(8)))


# One texel.
def _byte_single(texels: uint64, channels: uint32, at: uint32, like):
    return _byte_texel(_fixed(texels, uint32, "bytes")[at * channels], channels, like)


# A texel and the next in its row; at the end of the row, itself again. Each in the lowest bits of a word.
def _byte_next(texels: uint64, channels: uint32, at: uint32, end: bool):
    place = at * channels
    if channels == uint32(4):
        both = _fixed(texels, uint64, "bytes")[place]
        first = uint32(both & uint64(0xFFFFFFFF))
        second = uint32(both >> uint64(32))
    else:
        first = _fixed(texels, uint32, "bytes")[place]
        second = first >> (channels * uint32(8))
    return first, where(end, first, second)


# Samples of plain textures, as _texture_plain1 and so on have them of floats.
def _texture_bytes1(texture: uint64, u: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    a, b = _byte_next(texels, channels, x0, x0 == x1)
    return _texture_blend1(
        _byte_texel(a, channels, like),
        _byte_texel(b, channels, like),
        part_x,
    )


def _texture_bytes2(texture: uint64, u: float, v: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    width = _fixed(level + uint64(_LEVEL_EXTENT), uint32)[0]
    end = x0 == x1
    a, b = _byte_next(texels, channels, y0 * width + x0, end)
    c, d = _byte_next(texels, channels, y1 * width + x0, end)
    return _texture_blend2(
        _byte_texel(a, channels, like),
        _byte_texel(b, channels, like),
        _byte_texel(c, channels, like),
        _byte_texel(d, channels, like),
        part_x,
        part_y,
    )


def _texture_bytes3(texture: uint64, u: float, v: float, w: float, like):
    level = texture + uint64(_TEXTURE_FIRST)
    x0, x1, part_x = _texture_between(level, u, 0)
    y0, y1, part_y = _texture_between(level, v, 1)
    z0, z1, part_z = _texture_between(level, w, 2)
    texels = _fixed(level, uint64)[0]
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    extent = _fixed(level + uint64(_LEVEL_EXTENT), uint32)
    near = z0 * extent[1]
    far = z1 * extent[1]
    end = x0 == x1
    a, b = _byte_next(texels, channels, (near + y0) * extent[0] + x0, end)
    c, d = _byte_next(texels, channels, (near + y1) * extent[0] + x0, end)
    e, f = _byte_next(texels, channels, (far + y0) * extent[0] + x0, end)
    g, h = _byte_next(texels, channels, (far + y1) * extent[0] + x0, end)
    return _texture_blend3(
        _byte_texel(a, channels, like),
        _byte_texel(b, channels, like),
        _byte_texel(c, channels, like),
        _byte_texel(d, channels, like),
        _byte_texel(e, channels, like),
        _byte_texel(f, channels, like),
        _byte_texel(g, channels, like),
        _byte_texel(h, channels, like),
        part_x,
        part_y,
        part_z,
    )
