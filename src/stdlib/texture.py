# Textures: texels in levels, found by a texture's descriptor (src/geometry/descriptors.h), and mixed by where a place lies
# between their centres, which are at i + 0.5. A GPU's texture unit does that by itself, with weights of 8 bits
# (_texture_quick…); the code here has those of float32, and is all there is on a CPU. What is found depends on whole
# numbers; the slopes are those of the arithmetic behind it, and gradients of texels go where the descriptor says.


class Texture1D:
    """A texture of one dimension as kernels see it."""

    id: uint64
    width: int


class Texture2D:
    """A texture of two dimensions as kernels see it."""

    id: uint64
    width: int
    height: int


class Texture3D:
    """A texture of three dimensions as kernels see it."""

    id: uint64
    width: int
    height: int
    depth: int


_TEXTURE_FLAGS = 8
_TEXTURE_LEVELS = 16
_TEXTURE_OBJECT = 24
_TEXTURE_GRADIENT = 32
_TEXTURE_LEVEL_COUNT = 40
_TEXTURE_CHANNELS = 44
_TEXTURE_ADDRESS = 48
_TEXTURE_PERIOD = 60
_TEXTURE_INVERSE = 72
_TEXTURE_QUICK = 84
_TEXTURE_FIRST = 96
_LEVEL_BYTES = 64
_LEVEL_EXTENT = 8
_LEVEL_SCALE = 20
_LEVEL_LOW = 32
_LEVEL_HIGH = 44

_LINEAR_TEXELS = 2
_LINEAR_LEVELS = 4
_WHOLE_TEXELS = 8
_UNSIGNED_TEXELS = 16
_TEXTURE_LIVES = 32
_CLAMPED = 64
_BORDERED = 128
_PLAIN = 256
_HALF_TEXELS = 512
_BYTE_TEXELS = 1024
_NEAR = 2048

_WRAP = 0
_CLAMP = 1
_MIRROR = 2
_BORDER = 3


# Whether there is a texture: a field without one has the id 0, and the descriptor of a deleted one is zero.
def _texture_lives(texture: uint64):
    lives = False
    if texture != uint64(0):
        lives = _texture_flag(texture, _TEXTURE_LIVES)
    return lives


def _texture_flag(texture: uint64, flag: int):
    return (_fixed(texture + uint64(_TEXTURE_FLAGS), uint32)[0] & uint32(flag)) != uint32(0)


# Whether a texture is plain, and its texels have no gradient.
def _texture_is_still(texture: uint64):
    return _texture_flag(texture, _PLAIN) & (_fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] == uint64(0))


# Whether a texture is linear and has one level, whatever lies beyond its edges, and its texels have no gradient.
def _texture_is_lone(texture: uint64):
    flags = _fixed(texture + uint64(_TEXTURE_FLAGS), uint32)[0]
    return (
        ((flags & uint32(_LINEAR_TEXELS | _WHOLE_TEXELS)) == uint32(_LINEAR_TEXELS))
        & (_fixed(texture + uint64(_TEXTURE_LEVEL_COUNT), int)[0] == 1)
        & (_fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0] == uint64(0))
    )


def _texture_mode(texture: uint64, axis: int):
    return _fixed(texture + uint64(_TEXTURE_ADDRESS), int)[axis]


# Beyond the edges of what repeats, a coordinate is moved into the first period; and whether it came from a mirror image.
def _texture_turned(texture: uint64, mode: int, coordinate: float, axis: int):
    at = coordinate
    mirrored = False
    if mode == _WRAP or mode == _MIRROR:
        period = _texture_period(texture, axis)
        inverse = _fixed(texture + uint64(_TEXTURE_INVERSE), float)[axis]
        turns = floor(coordinate * inverse)
        at = coordinate - turns * period
        odd = turns * 0.5 != floor(turns * 0.5)
        if period != 1.0:
            # Far away the number of turns is rounded, and what is left over is turned again: no step is inexact.
            for again in range(6):
                turns = floor(at * inverse)
                at = at - turns * period
                odd = odd != (turns * 0.5 != floor(turns * 0.5))
        mirrored = odd and mode == _MIRROR
    return at, mirrored


def _texture_period(texture: uint64, axis: int):
    return _fixed(texture + uint64(_TEXTURE_PERIOD), float)[axis]


# A coordinate in texels of a level, no further out than where nothing changes any more (and whole numbers are safe: a
# coordinate that is no number lies at the lower end). `shift` leads from edges of texels to their centres.
def _texture_place(level: uint64, coordinate: float, shift: float, axis: int):
    at = coordinate * _fixed(level + uint64(_LEVEL_SCALE), float)[axis] - shift
    low = _fixed(level + uint64(_LEVEL_LOW), float)[axis]
    high = _fixed(level + uint64(_LEVEL_HIGH), float)[axis]
    inside = where(at > low, at, low)
    return where(inside < high, inside, high)


# The texels on both sides of a place, and how far it is from the first one to it, where the outermost go on for ever.
def _texture_between(level: uint64, coordinate: float, axis: int):
    at = _texture_place(level, coordinate, 0.5, axis)
    i = int(at)
    first = uint32(i)
    last = _fixed(level + uint64(_LEVEL_EXTENT), uint32)[axis] - uint32(1)
    return first, min(first + uint32(1), last), at - float(i)


# The same for all modes, and whether these texels count.
def _texture_between_any(texture: uint64, level: uint64, coordinate: float, axis: int):
    mode = _texture_mode(texture, axis)
    turned, mirrored = _texture_turned(texture, mode, coordinate, axis)
    if mirrored:
        turned = _texture_period(texture, axis) - turned
    at = _texture_place(level, turned, 0.5, axis)
    low = floor(at)
    i = int(low)
    return (
        _texture_index(level, mode, i, axis),
        _texture_index(level, mode, i + 1, axis),
        at - low,
        _texture_inside(level, mode, i, axis),
        _texture_inside(level, mode, i + 1, axis),
    )


# The texel that a place lies in.
def _texture_nearest(level: uint64, coordinate: float, axis: int):
    return uint32(int(_texture_place(level, coordinate, 0.0, axis)))


def _texture_nearest_any(texture: uint64, level: uint64, coordinate: float, axis: int):
    mode = _texture_mode(texture, axis)
    turned, mirrored = _texture_turned(texture, mode, coordinate, axis)
    i = int(floor(_texture_place(level, turned, 0.0, axis)))
    if mirrored:
        i = (_fixed(level + uint64(_LEVEL_EXTENT), int)[axis] - 1) - i
    return _texture_index(level, mode, i, axis), _texture_inside(level, mode, i, axis)


# The texel that stands for one, which may lie one beyond the edges.
def _texture_index(level: uint64, mode: int, i: int, axis: int):
    last = _fixed(level + uint64(_LEVEL_EXTENT), int)[axis] - 1
    before = 0
    behind = last
    if mode == _WRAP:
        before = last
        behind = 0
    return uint32(where(i < 0, before, where(i > last, behind, i)))


def _texture_inside(level: uint64, mode: int, i: int, axis: int):
    return mode != _BORDER or uint32(i) < uint32(_fixed(level + uint64(_LEVEL_EXTENT), int)[axis])


def _texture_mix(a, b, w):
    return a + (b - a) * w


# One texel, of as many numbers as are wanted; channels that are not there are zero.
def _texel_number(texels: uint64, channels: uint32, at: uint32, like: float):
    return _fixed(texels, float)[at * channels]


def _texel_pair(texels: uint64, channels: uint32, at: uint32, like: vec2):
    if channels == uint32(1):
        return vec2(_fixed(texels, float)[at], 0.0)
    if channels == uint32(2):
        return _fixed(texels, vec2)[at]
    four = _fixed(texels, vec4)[at]
    return vec2(four[0], four[1])


def _texel_four(texels: uint64, channels: uint32, at: uint32, like: vec4):
    if channels == uint32(4):
        return _fixed(texels, vec4)[at]
    if channels == uint32(2):
        pair = _fixed(texels, vec2)[at]
        return vec4(pair[0], pair[1], 0.0, 0.0)
    return vec4(_fixed(texels, float)[at], 0.0, 0.0, 0.0)


# Four of them: what is asked for is most often what is there, and one question is enough for all.
def _corners_number(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: float):
    numbers = _fixed(texels, float)
    return numbers[a * channels], numbers[b * channels], numbers[c * channels], numbers[d * channels]


# The same by addresses. Places next to each other in a block seldom lie in texels that are, so lanes need not ask whether these
# are one vector in memory, eight times a sample.
def _slice_number(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: float):
    return (
        _fixed(texels + (uint64(a * channels) << uint64(2)), float)[0],
        _fixed(texels + (uint64(b * channels) << uint64(2)), float)[0],
        _fixed(texels + (uint64(c * channels) << uint64(2)), float)[0],
        _fixed(texels + (uint64(d * channels) << uint64(2)), float)[0],
    )


def _slice_pair(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec2):
    return _corners_pair(texels, channels, a, b, c, d, like)


def _slice_four(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec4):
    return _corners_four(texels, channels, a, b, c, d, like)


# Two texels in each of four rows, whose first ones are a to d. The second texel is the next or, at the end, the first again: a
# pair is one read of 64 bits, and at the end it begins one earlier.
def _rows_number(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, x0: uint32, x1: uint32, width: uint32, like: float):
    if channels != uint32(1) or width == uint32(1):
        e, f, g, h = _slice_number(texels, channels, a + x0, a + x1, b + x0, b + x1, like)
        i, j, k, l = _slice_number(texels, channels, c + x0, c + x1, d + x0, d + x1, like)
        return e, f, g, h, i, j, k, l
    x = min(x0, width - uint32(2))
    p = _fixed(texels + (uint64(a + x) << uint64(2)), vec2, "loose")[0]
    q = _fixed(texels + (uint64(b + x) << uint64(2)), vec2, "loose")[0]
    r = _fixed(texels + (uint64(c + x) << uint64(2)), vec2, "loose")[0]
    s = _fixed(texels + (uint64(d + x) << uint64(2)), vec2, "loose")[0]
    end = x0 != x
    return (
        where(end, p[1], p[0]),
        p[1],
        where(end, q[1], q[0]),
        q[1],
        where(end, r[1], r[0]),
        r[1],
        where(end, s[1], s[0]),
        s[1],
    )


# The same in one row: of a texture of one dimension.
def _row_number(texels: uint64, channels: uint32, x0: uint32, x1: uint32, width: uint32, like: float):
    if channels != uint32(1) or width == uint32(1):
        return _texel_number(texels, channels, x0, like), _texel_number(texels, channels, x1, like)
    x = min(x0, width - uint32(2))
    p = _fixed(texels, vec2, "runs")[x]
    return where(x0 != x, p[1], p[0]), p[1]


def _row_pair(texels: uint64, channels: uint32, x0: uint32, x1: uint32, width: uint32, like: vec2):
    return _texel_pair(texels, channels, x0, like), _texel_pair(texels, channels, x1, like)


def _row_four(texels: uint64, channels: uint32, x0: uint32, x1: uint32, width: uint32, like: vec4):
    return _texel_four(texels, channels, x0, like), _texel_four(texels, channels, x1, like)


# The same in two rows of an image, where rows of places often read rows of texels: all pairs of a row overlap each other.
def _pairs_number(texels: uint64, channels: uint32, row0: uint32, row1: uint32, x0: uint32, x1: uint32, width: uint32, like: float):
    if channels != uint32(1) or width == uint32(1):
        a, b, c, d = _corners_number(texels, channels, row0 + x0, row0 + x1, row1 + x0, row1 + x1, like)
        return a, b, c, d
    x = min(x0, width - uint32(2))
    p = _fixed(texels, vec2, "runs")[row0 + x]
    q = _fixed(texels, vec2, "runs")[row1 + x]
    end = x0 != x
    return where(end, p[1], p[0]), p[1], where(end, q[1], q[0]), q[1]


def _pairs_pair(texels: uint64, channels: uint32, row0: uint32, row1: uint32, x0: uint32, x1: uint32, width: uint32, like: vec2):
    return _corners_pair(texels, channels, row0 + x0, row0 + x1, row1 + x0, row1 + x1, like)


def _pairs_four(texels: uint64, channels: uint32, row0: uint32, row1: uint32, x0: uint32, x1: uint32, width: uint32, like: vec4):
    return _corners_four(texels, channels, row0 + x0, row0 + x1, row1 + x0, row1 + x1, like)


def _rows_pair(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, x0: uint32, x1: uint32, width: uint32, like: vec2):
    e, f, g, h = _corners_pair(texels, channels, a + x0, a + x1, b + x0, b + x1, like)
    i, j, k, l = _corners_pair(texels, channels, c + x0, c + x1, d + x0, d + x1, like)
    return e, f, g, h, i, j, k, l


def _rows_four(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, x0: uint32, x1: uint32, width: uint32, like: vec4):
    e, f, g, h = _corners_four(texels, channels, a + x0, a + x1, b + x0, b + x1, like)
    i, j, k, l = _corners_four(texels, channels, c + x0, c + x1, d + x0, d + x1, like)
    return e, f, g, h, i, j, k, l


def _corners_pair(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec2):
    if channels == uint32(2):
        pairs = _fixed(texels, vec2)
        return pairs[a], pairs[b], pairs[c], pairs[d]
    return _corners_other_pair(texels, channels, a, b, c, d, like)


def _corners_other_pair(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec2):
    return (
        _texel_pair(texels, channels, a, like),
        _texel_pair(texels, channels, b, like),
        _texel_pair(texels, channels, c, like),
        _texel_pair(texels, channels, d, like),
    )


def _corners_four(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec4):
    if channels == uint32(4):
        fours = _fixed(texels, vec4)
        return fours[a], fours[b], fours[c], fours[d]
    return _corners_other_four(texels, channels, a, b, c, d, like)


def _corners_other_four(texels: uint64, channels: uint32, a: uint32, b: uint32, c: uint32, d: uint32, like: vec4):
    return (
        _texel_four(texels, channels, a, like),
        _texel_four(texels, channels, b, like),
        _texel_four(texels, channels, c, like),
        _texel_four(texels, channels, d, like),
    )


# What slopes of a sample's numbers come to with their adjoints. A number that nothing depends on does not count, though its
# slope may be endless.
def _slope_number(slope: float, adj: float):
    return where(adj == 0.0, 0.0, slope * adj)


def _slope_pair(slope: vec2, adj: vec2):
    return _slope_number(slope[0], adj[0]) + _slope_number(slope[1], adj[1])


def _slope_four(slope: vec4, adj: vec4):
    return (_slope_number(slope[0], adj[0]) + _slope_number(slope[1], adj[1])) + (
        _slope_number(slope[2], adj[2]) + _slope_number(slope[3], adj[3])
    )


# As many numbers of four as are wanted.
def _part_number(four: vec4, like: float):
    return four[0]


def _part_pair(four: vec4, like: vec2):
    return vec2(four[0], four[1])


def _part_four(four: vec4, like: vec4):
    return four


# The numbers of a GPU's texel that is whole, as floats.
def _whole_texel(texture: uint64, four: vec4i):
    if _texture_flag(texture, _UNSIGNED_TEXELS):
        return vec4(float(uint32(four[0])), float(uint32(four[1])), float(uint32(four[2])), float(uint32(four[3])))
    return vec4(float(four[0]), float(four[1]), float(four[2]), float(four[3]))


# Adds to the gradient of a texel, which is of the type of the texels: float32 or float16.
def _add_to_gradient(texture: uint64, at: uint32, value: float):
    gradient = _fixed(texture + uint64(_TEXTURE_GRADIENT), uint64)[0]
    if _texture_flag(texture, _HALF_TEXELS):
        atomic_add(_half_gradient_of_texels(gradient), at, float16(value))
    else:
        atomic_add(_gradient_of_texels(gradient), at, value)


def _add_number(texture: uint64, at: uint32, value: float):
    _add_to_gradient(texture, at * _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0], value)


def _add_pair(texture: uint64, at: uint32, value: vec2):
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    first = at * channels
    _add_to_gradient(texture, first, value[0])
    if channels > uint32(1):
        _add_to_gradient(texture, first + uint32(1), value[1])


def _add_four(texture: uint64, at: uint32, value: vec4):
    channels = _fixed(texture + uint64(_TEXTURE_CHANNELS), uint32)[0]
    first = at * channels
    _add_to_gradient(texture, first, value[0])
    if channels > uint32(1):
        _add_to_gradient(texture, first + uint32(1), value[1])
    if channels == uint32(4):
        _add_to_gradient(texture, first + uint32(2), value[2])
        _add_to_gradient(texture, first + uint32(3), value[3])


# How many texels of the first level, along an axis, one of this level is the mean of.
def _texture_block(texture: uint64, level: uint64, axis: int):
    block = 1
    if level != texture + uint64(_TEXTURE_FIRST):
        first = _fixed(texture + uint64(_TEXTURE_FIRST + _LEVEL_EXTENT), int)[axis]
        number = int((level - _fixed(texture + uint64(_TEXTURE_LEVELS), uint64)[0]) >> uint64(6))
        while number > 0 and block * 2 <= first:
            block = block * 2
            number = number - 1
    return block


# The levels that a level of detail lies between: the second one is 0 if the first one is all.
def _texture_levels(texture: uint64, lod: float):
    level = texture + uint64(_TEXTURE_FIRST)
    further = uint64(0)
    part = 0.0
    count = _fixed(texture + uint64(_TEXTURE_LEVEL_COUNT), int)[0]
    # At a whole number the slope in lod is that towards the next level, from 0 on.
    if count > 1 and lod >= 0.0:
        levels = _fixed(texture + uint64(_TEXTURE_LEVELS), uint64)[0]
        detail = min(lod, float(count - 1))
        if _texture_flag(texture, _LINEAR_LEVELS):
            low = floor(detail)
            part = detail - low
            number = int(low)
            level = levels + uint64(number) * uint64(_LEVEL_BYTES)
            if number + 1 < count:
                further = level + uint64(_LEVEL_BYTES)
        else:
            level = levels + uint64(int(floor(detail + 0.5))) * uint64(_LEVEL_BYTES)
    return level, further, part
