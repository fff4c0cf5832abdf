# Volumes: sparse grids of NanoVDB. A volume's descriptor (src/geometry/descriptors.h) has the address of the grid's root,
# whose tiles lead to upper nodes of 32³ children, these to lower nodes of 16³, and these to leaves of 8³ voxels. Links
# were checked when the volume was made. Where a node has no child, its table holds a value for all voxels there.
# Coordinates are those of index space: voxels have their centres at whole numbers.

_VOLUME_GRID = 16
_VOLUME_ROOT = 24
_VOLUME_TILES = 32
_VOLUME_LEAVES = 40
_VOLUME_TILE_COUNT = 48
_VOLUME_TYPE = 52
_VOLUME_LEAF_BYTES = 56
_VOLUME_VOXELS = 60
_VOLUME_STRIDE = 64
_VOLUME_UPPER_TABLE = 68
_VOLUME_LOWER_TABLE = 72
_VOLUME_TILE_BYTES = 76
_VOLUME_TILE_VALUE = 80
_VOLUME_BACKGROUND = 84
_VOLUME_INDEXING = 88
_VOLUME_MATRIX = 96
_VOLUME_INVERSE = 132
_VOLUME_TRANSLATION = 168
_VOLUME_MATRIX_WIDE = 184
_VOLUME_INVERSE_WIDE = 256
_VOLUME_TRANSLATION_WIDE = 328
_VOLUME_PLACES = 352
_VOLUME_PLACES_LOW = 360
_VOLUME_PLACES_EXTENT = 372
_VOLUME_PLACES_STEP = 384

# How voxels get their indices: from the leaf's number, from the leaf's first index, or by counting active ones.
_BY_LEAF = 1
_BY_FIRST = 2
_BY_COUNT = 3

_UPPER_CHILDREN = 4128
_LOWER_CHILDREN = 544
_LEAF_MASK = 16
_LEAF_FIRST = 80
_LEAF_PREFIX = 88


# Where a voxel's value is to be found: the address of its leaf, or of the value that stands for all voxels around it.
def _volume_place(
    volume: uint64,
    i: int,
    j: int,
    k: int,
    background: uint32,
    tile_bytes: uint32,
    tile_value: uint32,
    stride: uint32,
    upper_table: uint32,
    lower_table: uint32,
):
    root = _fixed(volume + uint64(_VOLUME_ROOT), uint64)[0]
    tiles = _fixed(volume + uint64(_VOLUME_TILES), uint64)[0]
    count = _fixed(volume + uint64(_VOLUME_TILE_COUNT), uint32)[0]
    x = uint32(i)
    y = uint32(j)
    z = uint32(k)
    key = uint64(z >> uint32(12)) | (uint64(y >> uint32(12)) << uint64(21)) | (uint64(x >> uint32(12)) << uint64(42))
    place = root + uint64(background)
    upper = uint64(0)
    tile = uint32(0)
    while tile < count:
        at = tiles + uint64(tile) * uint64(tile_bytes)
        tile += uint32(1)
        if _fixed(at, uint64)[0] == key:
            place = at + uint64(tile_value)
            child = _fixed(at, uint64)[1]
            if child != uint64(0):
                upper = root + child
            tile = count
    leaf = False
    if upper != uint64(0):
        slot = (
            ((x & uint32(0xF80)) << uint32(3)) | ((y & uint32(0xF80)) >> uint32(2)) | ((z & uint32(0xF80)) >> uint32(7))
        )
        place = upper + uint64(upper_table) + uint64(slot) * uint64(stride)
        word = _fixed(upper + uint64(_UPPER_CHILDREN), uint32)[slot >> uint32(5)]
        if ((word >> (slot & uint32(31))) & uint32(1)) != uint32(0):
            lower = upper + _fixed(place, uint64)[0]
            inner = (
                ((x & uint32(0x78)) << uint32(5)) | ((y & uint32(0x78)) << uint32(1)) | ((z & uint32(0x78)) >> uint32(3))
            )
            place = lower + uint64(lower_table) + uint64(inner) * uint64(stride)
            bits = _fixed(lower + uint64(_LOWER_CHILDREN), uint32)[inner >> uint32(5)]
            if ((bits >> (inner & uint32(31))) & uint32(1)) != uint32(0):
                place = lower + _fixed(place, uint64)[0]
                leaf = True
    return place, leaf


# Where the table of places, which most volumes have, tells of a voxel, and of the places after it along each axis.
def _volume_at(volume: uint64, i: int, j: int, k: int):
    low = _fixed(volume + uint64(_VOLUME_PLACES_LOW), int)
    extent = _fixed(volume + uint64(_VOLUME_PLACES_EXTENT), uint32)
    step = _fixed(volume + uint64(_VOLUME_PLACES_STEP), uint32)
    x = uint32((i >> 3) - low[0])
    y = uint32((j >> 3) - low[1])
    z = uint32((k >> 3) - low[2])
    known = (x < extent[0]) & (y < extent[1]) & (z < extent[2])
    return known, x * step[0] + y * step[1] + z


# The same for one voxel, whose neighbours may lie outside. There is an entry in any case: what the table does not know reads one in vain,
# so that nobody has to ask before what is rare.
def _volume_at_alone(volume: uint64, i: int, j: int, k: int):
    low = _fixed(volume + uint64(_VOLUME_PLACES_LOW), int)
    extent = _fixed(volume + uint64(_VOLUME_PLACES_EXTENT), uint32)
    step = _fixed(volume + uint64(_VOLUME_PLACES_STEP), uint32)
    x = uint32((i >> 3) - low[0])
    y = uint32((j >> 3) - low[1])
    z = uint32((k >> 3) - low[2])
    known = (x <= extent[0]) & (y <= extent[1]) & (z <= extent[2])
    return known, min(x, extent[0]) * step[0] + min(y, extent[1]) * step[1] + min(z, extent[2])


# Loose: entries of lanes are seldom next to each other, and nobody has to ask.
def _volume_entry(volume: uint64, at: uint32):
    return _fixed(_fixed(volume + uint64(_VOLUME_PLACES), uint64)[0], uint32, "loose")[at]


# Entries tell in words how far something lies behind the beginning of the grid: the leaf or, with the highest bit set, the value that all
# voxels there have.
def _volume_is_leaf(entry: uint32):
    return int(entry) >= 0


def _volume_words(volume: uint64, words: uint32):
    return _fixed(volume + uint64(_VOLUME_GRID), uint64)[0] + (uint64(words) << uint64(2))


def _volume_one_value(volume: uint64, entry: uint32):
    return _volume_words(volume, entry & uint32(0x7FFFFFFF))


# By a walk, which is rare: each thread by itself, as a call, so that what is not rare is part of the kernel.
@lanewise
def _volume_walk(volume: uint64, i: int, j: int, k: int, like):
    place, leaf = _volume_place(
        volume,
        i,
        j,
        k,
        _grid_layout("background", type(like)),
        _grid_layout("tile_bytes", type(like)),
        _grid_layout("tile_value", type(like)),
        _grid_layout("table_stride", type(like)),
        _grid_layout("upper_table", type(like)),
        _grid_layout("lower_table", type(like)),
    )
    return place, leaf


def _volume_place_of(volume: uint64, i: int, j: int, k: int, like):
    known, at = _volume_at(volume, i, j, k)
    if known:
        entry = _volume_entry(volume, at)
        leaf = _volume_is_leaf(entry)
        place = _volume_one_value(volume, entry)
    else:
        place, leaf = _volume_walk(volume, i, j, k, like)
    return place, leaf


def _volume_voxel(i: int, j: int, k: int):
    return (uint32(i & 7) << uint32(6)) | (uint32(j & 7) << uint32(3)) | uint32(k & 7)


# Whether there is a volume, and its voxels are of this type.
def _volume_fits(volume: uint64, like):
    fits = False
    if volume != uint64(0):
        fits = _fixed(volume + uint64(_VOLUME_TYPE), uint32)[0] == _grid_layout("type", type(like))
        assert fits, "the volume's voxels are of another type than the one asked for"
    return fits


def _volume_value(volume: uint64, i: int, j: int, k: int, like):
    known, at = _volume_at_alone(volume, i, j, k)
    voxel = _volume_voxel(i, j, k)
    value = _volume_in_any(volume, _volume_entry(volume, at), voxel, like)
    if not known:
        place, in_leaf = _volume_walk(volume, i, j, k, like)
        if in_leaf:
            place += uint64(_grid_layout("leaf_table", type(like)) + voxel * _grid_layout("value_bytes", type(like)))
        value = _voxels(place, type(like))[0]
    return value


def _volume_lookup(id: uint64, i: int, j: int, k: int, dtype, unit):
    volume = _handle("volume", id)
    if _volume_fits(volume, dtype):
        return _volume_value(volume, i, j, k, dtype)
    return type(dtype)()


def _volume_store(id: uint64, i: int, j: int, k: int, value):
    volume = _handle("volume", id, "written")
    if _volume_fits(volume, value):
        place, leaf = _volume_place_of(volume, i, j, k, value)
        if leaf:
            place += uint64(_grid_layout("leaf_table", type(value)))
            place += uint64(_volume_voxel(i, j, k) * _grid_layout("value_bytes", type(value)))
            _voxels(place, type(value), "written")[0] = value


def _volume_nearest(uvw: vec3):
    return int(round(uvw[0])), int(round(uvw[1])), int(round(uvw[2]))


# The axes along which the voxels around one reach into other leaves, those whose three bits of its number are set: bits 64, 8, 1.
def _volume_crossing(voxel: uint32):
    return voxel & (voxel >> uint32(1)) & (voxel >> uint32(2)) & uint32(0x49)


# The eight voxels around a place, and how far it is from the first one along each axis. Endless coordinates lie at the end of
# space, on a voxel; no table reaches that far.
def _volume_around(volume: uint64, uvw: vec3, like):
    low_x = floor(uvw[0])
    low_y = floor(uvw[1])
    low_z = floor(uvw[2])
    i = int(low_x)
    j = int(low_y)
    k = int(low_z)
    x = uvw[0] - low_x
    y = uvw[1] - low_y
    z = uvw[2] - low_z
    known, at = _volume_at(volume, i, j, k)
    if known:
        a, b, c, d, e, f, g, h = _volume_corners(volume, at, _volume_voxel(i, j, k), like)
    else:
        x, y, z = _volume_parts(isinf(uvw[0]), isinf(uvw[1]), isinf(uvw[2]), x, y, z)
        a, b, c, d, e, f, g, h = _volume_far_corners(volume, i, j, k, like)
    return a, b, c, d, e, f, g, h, x, y, z


def _volume_parts(end_x: bool, end_y: bool, end_z: bool, x: float, y: float, z: float):
    return where(end_x, 0.0, x), where(end_y, 0.0, y), where(end_z, 0.0, z)


# At the end of space as well, slopes are those of the voxels there.
def _volume_parts_gradient(end_x, end_y, end_z, x, y, z, adj_x, adj_y, adj_z):
    adjoint[x] += adj_x
    adjoint[y] += adj_y
    adjoint[z] += adj_z


# By the table: most often all in one leaf.
def _volume_corners(volume: uint64, at: uint32, voxel: uint32, like):
    entry = _volume_entry(volume, at)
    if _volume_is_leaf(entry) & (_volume_crossing(voxel) == uint32(0)):
        words = entry + voxel * (_grid_layout("value_bytes", type(like)) >> uint32(2))
        voxels = _voxels(_volume_words(volume, words) + uint64(_grid_layout("leaf_table", type(like))), type(like))
        a = voxels[0]
        b = voxels[1]
        c = voxels[8]
        d = voxels[9]
        e = voxels[64]
        f = voxels[65]
        g = voxels[72]
        h = voxels[73]
    else:
        a, b, c, d, e, f, g, h = _volume_table_corners(volume, at, voxel, like)
    return a, b, c, d, e, f, g, h


# Values inside of a grid have no gradient.
def _volume_corners_gradient(volume, at, voxel, like, adj_a, adj_b, adj_c, adj_d, adj_e, adj_f, adj_g, adj_h):
    pass


def _volume_far_corners_gradient(volume, i, j, k, like, adj_a, adj_b, adj_c, adj_d, adj_e, adj_f, adj_g, adj_h):
    pass


# Steps along x, y and z from a voxel, in voxels, and in entries of the table.
def _volume_steps(volume: uint64, voxel: uint32):
    step = _fixed(volume + uint64(_VOLUME_PLACES_STEP), uint32)
    crossing = _volume_crossing(voxel)
    x = crossing >> uint32(6)
    y = (crossing >> uint32(3)) & uint32(1)
    z = crossing & uint32(1)
    return (
        uint32(64) - (x << uint32(9)),
        uint32(8) - (y << uint32(6)),
        uint32(1) - (z << uint32(3)),
        x * step[0],
        y * step[1],
        z,
    )


# The same across leaves, and where there is none.
def _volume_table_corners(volume: uint64, at: uint32, voxel: uint32, like):
    x, y, z, to_x, to_y, to_z = _volume_steps(volume, voxel)
    at_b = _volume_entry(volume, at + to_z)
    at_c = _volume_entry(volume, at + to_y)
    at_d = _volume_entry(volume, at + to_y + to_z)
    at_e = _volume_entry(volume, at + to_x)
    at_f = _volume_entry(volume, at + to_x + to_z)
    at_g = _volume_entry(volume, at + to_x + to_y)
    at_h = _volume_entry(volume, at + to_x + to_y + to_z)
    at_a = _volume_entry(volume, at)
    return (
        _volume_in_any(volume, at_a, voxel, like),
        _volume_in_any(volume, at_b, voxel + z, like),
        _volume_in_any(volume, at_c, voxel + y, like),
        _volume_in_any(volume, at_d, voxel + y + z, like),
        _volume_in_any(volume, at_e, voxel + x, like),
        _volume_in_any(volume, at_f, voxel + x + z, like),
        _volume_in_any(volume, at_g, voxel + x + y, like),
        _volume_in_any(volume, at_h, voxel + x + y + z, like),
    )


# A voxel that an entry tells of, without branches.
def _volume_in_any(volume: uint64, entry: uint32, voxel: uint32, like):
    inside = voxel * (_grid_layout("value_bytes", type(like)) >> uint32(2)) + (_grid_layout("leaf_table", type(like)) >> uint32(2))
    words = (entry & uint32(0x7FFFFFFF)) + where(_volume_is_leaf(entry), inside, uint32(0))
    if _grid_layout("value_bytes", type(like)) == uint32(4):
        value = _voxels(_volume_words(volume, uint32(0)), type(like))[words]
    else:
        value = _voxels(_volume_words(volume, words), type(like))[0]
    return value


# The same without the table: each leaf, `part` on from the first, is looked for once. Rare as well.
@lanewise
def _volume_far_corners(volume: uint64, i: int, j: int, k: int, like):
    found = empty(shape=8, dtype=type(like))
    crossing = _volume_crossed_parts(i, j, k)
    inside = crossing ^ 7
    part = 0
    parts = True
    while parts:
        place, leaf = _volume_place_of(volume, i + (part >> 2), j + ((part >> 1) & 1), k + (part & 1), like)
        inner = 0
        corners = True
        while corners:
            corner = part | inner
            at = place
            if leaf:
                voxel = _volume_voxel(i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1))
                at += uint64(_grid_layout("leaf_table", type(like)) + voxel * _grid_layout("value_bytes", type(like)))
            found[corner] = _voxels(at, type(like))[0]
            inner = (inner - inside) & inside
            corners = inner != 0
        part = (part - crossing) & crossing
        parts = part != 0
    return found[0], found[1], found[2], found[3], found[4], found[5], found[6], found[7]


# The axes along which leaves are crossed, as bits 4, 2, 1 of the numbers of corners.
def _volume_crossed_parts(i: int, j: int, k: int):
    crossing = int(_volume_crossing(_volume_voxel(i, j, k)))
    return ((crossing >> 4) | (crossing >> 2) | crossing) & 7


def _volume_mix(a, b, w):
    return a + (b - a) * w


def _volume_linear(volume: uint64, uvw: vec3, like, unit):
    a, b, c, d, e, f, g, h, x, y, z = _volume_around(volume, uvw, like)
    return _volume_blend(a, b, c, d, e, f, g, h, type(unit)(x), type(unit)(y), type(unit)(z))


def _volume_blend(a, b, c, d, e, f, g, h, x, y, z):
    low = _volume_mix(_volume_mix(a, b, z), _volume_mix(c, d, z), y)
    high = _volume_mix(_volume_mix(e, f, z), _volume_mix(g, h, z), y)
    return _volume_mix(low, high, x)


# Slopes are mixed from differences; what lies where the adjoint is zero adds nothing, though its slope may be endless.
def _volume_blend_gradient(a, b, c, d, e, f, g, h, x, y, z, adj):
    low = adj * (type(x)(1) - x)
    high = adj * x
    low_near = low * (type(x)(1) - y)
    low_far = low * y
    high_near = high * (type(x)(1) - y)
    high_far = high * y
    adjoint[a] += low_near * (type(x)(1) - z)
    adjoint[b] += low_near * z
    adjoint[c] += low_far * (type(x)(1) - z)
    adjoint[d] += low_far * z
    adjoint[e] += high_near * (type(x)(1) - z)
    adjoint[f] += high_near * z
    adjoint[g] += high_far * (type(x)(1) - z)
    adjoint[h] += high_far * z
    # A branch is shorter than three choices where a processor waits for arithmetic.
    if _on_gpu() or not (adj == type(adj)()):
        along_x, along_y, along_z = _volume_slopes(a, b, c, d, e, f, g, h, x, y, z)
        adjoint[x] += _volume_slope(along_x, adj)
        adjoint[y] += _volume_slope(along_y, adj)
        adjoint[z] += _volume_slope(along_z, adj)


# The slopes along the three axes.
def _volume_slopes(a, b, c, d, e, f, g, h, x, y, z):
    ab = _volume_mix(a, b, z)
    cd = _volume_mix(c, d, z)
    ef = _volume_mix(e, f, z)
    gh = _volume_mix(g, h, z)
    along_x = _volume_mix(ef, gh, y) - _volume_mix(ab, cd, y)
    along_y = _volume_mix(cd - ab, gh - ef, x)
    along_z = _volume_mix(_volume_mix(b - a, d - c, y), _volume_mix(f - e, h - g, y), x)
    return along_x, along_y, along_z


def _volume_sample(id: uint64, uvw: vec3, sampling_mode: int, dtype, unit):
    volume = _handle("volume", id)
    if _volume_fits(volume, dtype):
        if sampling_mode == 1:
            return _volume_linear(volume, uvw, dtype, unit)
        i, j, k = _volume_nearest(uvw)
        return _volume_value(volume, i, j, k, dtype)
    return type(dtype)()


# Whole numbers are not mixed: the nearest voxel, whatever the mode.
def _volume_sample_whole(id: uint64, uvw: vec3, sampling_mode: int, dtype, unit):
    volume = _handle("volume", id)
    if _volume_fits(volume, dtype):
        i, j, k = _volume_nearest(uvw)
        return _volume_value(volume, i, j, k, dtype)
    return type(dtype)()


def _volume_sample_slopes(id: uint64, uvw: vec3, sampling_mode: int, dtype, unit):
    volume = _handle("volume", id)
    if _volume_fits(volume, dtype):
        if sampling_mode == 1:
            a, b, c, d, e, f, g, h, x, y, z = _volume_around(volume, uvw, dtype)
            u = type(unit)(x)
            v = type(unit)(y)
            w = type(unit)(z)
            p, q, r = _volume_slopes(a, b, c, d, e, f, g, h, u, v, w)
            return _volume_blend(a, b, c, d, e, f, g, h, u, v, w), p, q, r
        i, j, k = _volume_nearest(uvw)
        return _volume_value(volume, i, j, k, dtype), type(dtype)(), type(dtype)(), type(dtype)()
    return type(dtype)(), type(dtype)(), type(dtype)(), type(dtype)()


def _volume_sample_grad(id: uint64, uvw: vec3, sampling_mode: int, dtype, unit):
    value, p, q, r = _volume_sample_slopes(id, uvw, sampling_mode, dtype, unit)
    return value, vector(p, q, r)


def _volume_sample_grad_each(id: uint64, uvw: vec3, sampling_mode: int, dtype, unit):
    value, p, q, r = _volume_sample_slopes(id, uvw, sampling_mode, dtype, unit)
    return value, matrix_from_cols(p, q, r)


def volume_sample_f(id, uvw, sampling_mode):
    return _volume_sample(id, uvw, sampling_mode, 0.0, 0.0)


def volume_sample_grad_f(id, uvw, sampling_mode, grad: ref):
    value, p, q, r = _volume_sample_slopes(id, uvw, sampling_mode, 0.0, 0.0)
    grad = vec3(p, q, r)
    return value


def volume_sample_v(id, uvw, sampling_mode):
    return _volume_sample(id, uvw, sampling_mode, vec3(), 0.0)


def volume_sample_i(id, uvw):
    return _volume_sample_whole(id, uvw, 0, 0, 0.0)


def volume_lookup_f(id, i, j, k):
    return _volume_lookup(id, i, j, k, 0.0, 0.0)


def volume_lookup_v(id, i, j, k):
    return _volume_lookup(id, i, j, k, vec3(), 0.0)


def volume_lookup_i(id, i, j, k):
    return _volume_lookup(id, i, j, k, 0, 0.0)


def volume_store_f(id, i, j, k, value):
    _volume_store(id, i, j, k, value)


def volume_store_v(id, i, j, k, value):
    _volume_store(id, i, j, k, value)


def volume_store_i(id, i, j, k, value):
    _volume_store(id, i, j, k, value)


# Transforms between index space and the world.


def _volume_turn(volume: uint64, place: int, v, unit):
    m = _fixed(volume + uint64(place), type(unit))
    return type(v)(
        m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
        m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
        m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
    )


def _volume_shift(volume: uint64, place: int, v, unit):
    t = _fixed(volume + uint64(place), type(unit))
    return type(v)(t[0], t[1], t[2])


def volume_index_to_world(id: uint64, uvw: vec3):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return uvw
    return _volume_turn(volume, _VOLUME_MATRIX, uvw, 0.0) + _volume_shift(volume, _VOLUME_TRANSLATION, uvw, 0.0)


def volume_world_to_index(id: uint64, xyz: vec3):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return xyz
    return _volume_turn(volume, _VOLUME_INVERSE, xyz - _volume_shift(volume, _VOLUME_TRANSLATION, xyz, 0.0), 0.0)


def volume_index_to_world_dir(id: uint64, uvw: vec3):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return uvw
    return _volume_turn(volume, _VOLUME_MATRIX, uvw, 0.0)


def volume_world_to_index_dir(id: uint64, xyz: vec3):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return xyz
    return _volume_turn(volume, _VOLUME_INVERSE, xyz, 0.0)


def _volume_index_to_world_wide(id: uint64, uvw: vec3d):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return uvw
    unit = float64(0.0)
    shift = _volume_shift(volume, _VOLUME_TRANSLATION_WIDE, uvw, unit)
    return _volume_turn(volume, _VOLUME_MATRIX_WIDE, uvw, unit) + shift


def _volume_world_to_index_wide(id: uint64, xyz: vec3d):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return xyz
    unit = float64(0.0)
    shift = _volume_shift(volume, _VOLUME_TRANSLATION_WIDE, xyz, unit)
    return _volume_turn(volume, _VOLUME_INVERSE_WIDE, xyz - shift, unit)


def _volume_index_to_world_dir_wide(id: uint64, uvw: vec3d):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return uvw
    return _volume_turn(volume, _VOLUME_MATRIX_WIDE, uvw, float64(0.0))


def _volume_world_to_index_dir_wide(id: uint64, xyz: vec3d):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return xyz
    return _volume_turn(volume, _VOLUME_INVERSE_WIDE, xyz, float64(0.0))
