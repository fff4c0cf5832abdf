# Indices of voxels, and samples of arrays that have a row for each voxel. What is found of the volume is whole numbers,
# so samples differentiate with respect to place, rows and background like any other code.


def volume_voxel_count(id: uint64):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return 0
    return _fixed(volume + uint64(_VOLUME_VOXELS), int)[0]


def _volume_leaf_index(volume: uint64, leaf: uint64, voxel: uint32, indexing: uint32):
    if indexing == uint32(_BY_LEAF):
        leaves = _fixed(volume + uint64(_VOLUME_LEAVES), uint64)[0]
        number = (leaf - leaves) / uint64(_fixed(volume + uint64(_VOLUME_LEAF_BYTES), uint32)[0])
        return (int(number) << 9) + int(voxel)
    first = int(_fixed(leaf + uint64(_LEAF_FIRST), uint32)[0]) - 1
    if indexing == uint32(_BY_FIRST):
        return first + int(voxel)
    # Active voxels before this one: those of the words before (nine bits each) and those before it in its word.
    word = voxel >> uint32(6)
    bits = _fixed(leaf + uint64(_LEAF_MASK), uint64)[word]
    bit = uint64(1) << uint64(voxel & uint32(63))
    if (bits & bit) == uint64(0):
        return -1
    before = bit_count(bits & (bit - uint64(1)))
    if word != uint32(0):
        prefix = _fixed(leaf + uint64(_LEAF_PREFIX), uint64)[0]
        before += int((prefix >> uint64((word - uint32(1)) * uint32(9))) & uint64(511))
    return first + before


# Where a voxel lies, in a grid of any type.
def _volume_any_place(volume: uint64, i: int, j: int, k: int):
    place = _volume_known_leaf(volume, i, j, k, _fixed(volume + uint64(_VOLUME_LEAF_BYTES), uint32)[0])
    leaf = True
    if place == uint64(0):
        place, leaf = _volume_place(
            volume,
            i,
            j,
            k,
            _fixed(volume + uint64(_VOLUME_BACKGROUND), uint32)[0],
            _fixed(volume + uint64(_VOLUME_TILE_BYTES), uint32)[0],
            _fixed(volume + uint64(_VOLUME_TILE_VALUE), uint32)[0],
            _fixed(volume + uint64(_VOLUME_STRIDE), uint32)[0],
            _fixed(volume + uint64(_VOLUME_UPPER_TABLE), uint32)[0],
            _fixed(volume + uint64(_VOLUME_LOWER_TABLE), uint32)[0],
        )
    return place, leaf


# The index of a voxel of a leaf, or of all voxels that are one tile.
def _volume_index_at(volume: uint64, place: uint64, leaf: bool, voxel: uint32, indexing: uint32):
    if leaf:
        return _volume_leaf_index(volume, place, voxel, indexing)
    if indexing == uint32(_BY_LEAF):
        return -1
    return int(_fixed(place, uint32)[0]) - 1


def _volume_indexing(volume: uint64):
    indexing = uint32(0)
    if volume != uint64(0):
        indexing = _fixed(volume + uint64(_VOLUME_INDEXING), uint32)[0]
    return indexing


def volume_lookup_index(id: uint64, i: int, j: int, k: int):
    volume = _handle("volume", id)
    indexing = _volume_indexing(volume)
    if indexing == uint32(0):
        return -1
    place, leaf = _volume_any_place(volume, i, j, k)
    return _volume_index_at(volume, place, leaf, _volume_voxel(i, j, k), indexing)


# The indices of the eight voxels around a place; each leaf is looked for once, as in _volume_far_corners.
def _volume_corner_indices(volume: uint64, i: int, j: int, k: int):
    found = empty(shape=8, dtype=int)
    indexing = _volume_indexing(volume)
    crossing = _volume_crossing(i, j, k)
    inside = crossing ^ 7
    part = 0
    parts = True
    while parts:
        place = uint64(0)
        leaf = False
        if indexing != uint32(0):
            place, leaf = _volume_any_place(volume, i + (part >> 2), j + ((part >> 1) & 1), k + (part & 1))
        inner = 0
        corners = True
        while corners:
            corner = part | inner
            index = -1
            if indexing != uint32(0):
                voxel = _volume_voxel(i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1))
                index = _volume_index_at(volume, place, leaf, voxel, indexing)
            found[corner] = index
            inner = (inner - inside) & inside
            corners = inner != 0
        part = (part - crossing) & crossing
        parts = part != 0
    return found[0], found[1], found[2], found[3], found[4], found[5], found[6], found[7]


def _volume_row(rows, index: int, background):
    if index < 0:
        return background
    return rows[uint32(index)]


def _volume_sample_index(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    volume = _handle("volume", id)
    if sampling_mode != 1:
        i, j, k = _volume_nearest(uvw)
        return _volume_row(voxel_data, volume_lookup_index(id, i, j, k), background)
    i, x = _volume_part(uvw[0])
    j, y = _volume_part(uvw[1])
    k, z = _volume_part(uvw[2])
    a, b, c, d, e, f, g, h = _volume_corner_indices(volume, i, j, k)
    return _volume_blend(
        _volume_row(voxel_data, a, background),
        _volume_row(voxel_data, b, background),
        _volume_row(voxel_data, c, background),
        _volume_row(voxel_data, d, background),
        _volume_row(voxel_data, e, background),
        _volume_row(voxel_data, f, background),
        _volume_row(voxel_data, g, background),
        _volume_row(voxel_data, h, background),
        type(unit)(x),
        type(unit)(y),
        type(unit)(z),
    )


# Rows of whole numbers are not mixed.
def _volume_sample_index_whole(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    i, j, k = _volume_nearest(uvw)
    return _volume_row(voxel_data, volume_lookup_index(id, i, j, k), background)


def _volume_index_slopes(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    volume = _handle("volume", id)
    if sampling_mode != 1:
        i, j, k = _volume_nearest(uvw)
        zero = type(background)()
        return _volume_row(voxel_data, volume_lookup_index(id, i, j, k), background), zero, zero, zero
    i, x = _volume_part(uvw[0])
    j, y = _volume_part(uvw[1])
    k, z = _volume_part(uvw[2])
    u = type(unit)(x)
    v = type(unit)(y)
    w = type(unit)(z)
    at, bt, ct, dt, et, ft, gt, ht = _volume_corner_indices(volume, i, j, k)
    a = _volume_row(voxel_data, at, background)
    b = _volume_row(voxel_data, bt, background)
    c = _volume_row(voxel_data, ct, background)
    d = _volume_row(voxel_data, dt, background)
    e = _volume_row(voxel_data, et, background)
    f = _volume_row(voxel_data, ft, background)
    g = _volume_row(voxel_data, gt, background)
    h = _volume_row(voxel_data, ht, background)
    p, q, r = _volume_slopes(a, b, c, d, e, f, g, h, u, v, w)
    return _volume_blend(a, b, c, d, e, f, g, h, u, v, w), p, q, r


def _volume_sample_grad_index(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    value, p, q, r = _volume_index_slopes(id, uvw, sampling_mode, voxel_data, background, unit)
    return value, vector(p, q, r)


def _volume_sample_grad_index_each(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    value, p, q, r = _volume_index_slopes(id, uvw, sampling_mode, voxel_data, background, unit)
    return value, matrix_from_cols(p, q, r)
