# Indices of voxels, and samples of arrays that have a row for each voxel. What is found of the volume is whole numbers,
# so samples differentiate with respect to place, rows and background like any other code.


def volume_voxel_count(id: uint64):
    volume = _handle("volume", id)
    if volume == uint64(0):
        return 0
    return _fixed(volume + uint64(_VOLUME_VOXELS), int)[0]


# The index of a voxel in a leaf.
def _volume_leaf_index(volume: uint64, leaf: uint64, voxel: uint32, indexing: uint32):
    if indexing == uint32(_BY_LEAF):
        bytes_in = leaf - _fixed(volume + uint64(_VOLUME_LEAVES), uint64)[0]
        number = bytes_in / uint64(_fixed(volume + uint64(_VOLUME_LEAF_BYTES), uint32)[0])
        return (int(number) << 9) + int(voxel)
    first = int(_fixed(leaf + uint64(_LEAF_FIRST), uint32)[0]) - 1
    if indexing == uint32(_BY_FIRST):
        return first + int(voxel)
    return _volume_count(leaf, voxel)


# The index of a voxel in a leaf whose active voxels are counted; -1 if it is not active. Before it are the active voxels of the
# words before, and those before it in its word.
def _volume_count(leaf: uint64, voxel: uint32):
    word = voxel >> uint32(6)
    bits = _fixed(leaf + uint64(_LEAF_MASK), uint64)[word]
    bit = uint64(1) << uint64(voxel & uint32(63))
    first = int(_fixed(leaf + uint64(_LEAF_FIRST), uint32)[0]) - 1
    before = _volume_words_before(_fixed(leaf + uint64(_LEAF_PREFIX), uint64)[0], word)
    return where((bits & bit) == uint64(0), -1, first + before + bit_count(bits & (bit - uint64(1))))


# The same by an entry of the table.
def _volume_counted_index(volume: uint64, entry: uint32, voxel: uint32):
    index = -1
    if _volume_is_leaf(entry):
        leaf = _volume_words(volume, entry)
        word = voxel >> uint32(6)
        bits = _fixed(leaf + uint64(_LEAF_MASK), uint64)[word]
        bit = uint64(1) << uint64(voxel & uint32(63))
        if (bits & bit) != uint64(0):
            before = _volume_words_before(_fixed(leaf + uint64(_LEAF_PREFIX), uint64)[0], word)
            index = int(_fixed(leaf + uint64(_LEAF_FIRST), uint32)[0]) - 1 + before + bit_count(bits & (bit - uint64(1)))
    else:
        index = int(_fixed(_volume_one_value(volume, entry), uint32)[0]) - 1
    return index


# The index of a voxel in a grid of any type, by a walk.
def _volume_walked_index(volume: uint64, i: int, j: int, k: int, indexing: uint32):
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
    if leaf:
        return _volume_leaf_index(volume, place, _volume_voxel(i, j, k), indexing)
    return _volume_one_index(place, indexing)


# The index of all voxels that are one tile.
def _volume_one_index(place: uint64, indexing: uint32):
    if indexing == uint32(_BY_LEAF):
        return -1
    return int(_fixed(place, uint32)[0]) - 1


# By an entry of the table.
def _volume_entry_index(volume: uint64, entry: uint32, voxel: uint32, indexing: uint32):
    if _volume_is_leaf(entry):
        index = _volume_leaf_index(volume, _volume_words(volume, entry), voxel, indexing)
    else:
        index = _volume_one_index(_volume_one_value(volume, entry), indexing)
    return index


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
    return _volume_index(volume, i, j, k, indexing)


def _volume_index(volume: uint64, i: int, j: int, k: int, indexing: uint32):
    known, at = _volume_at(volume, i, j, k)
    if known:
        index = _volume_entry_index(volume, _volume_entry(volume, at), _volume_voxel(i, j, k), indexing)
    else:
        index = _volume_walked_index(volume, i, j, k, indexing)
    return index


# How many of eight voxels are known to have an index: none, all, or it is not known.
_NONE = 0
_ALL = 1
_SOME = 2


# The indices of the eight voxels around a place, how many have one, and how far it is from the first one along each axis.
def _volume_indices_around(volume: uint64, uvw: vec3):
    low_x = floor(uvw[0])
    low_y = floor(uvw[1])
    low_z = floor(uvw[2])
    i = int(low_x)
    j = int(low_y)
    k = int(low_z)
    x = uvw[0] - low_x
    y = uvw[1] - low_y
    z = uvw[2] - low_z
    indexing = _volume_indexing(volume)
    known = False
    at = uint32(0)
    if indexing != uint32(0):
        known, at = _volume_at(volume, i, j, k)
    has = _SOME
    if known:
        a, b, c, d, e, f, g, h, has = _volume_corner_indices(volume, i, j, k, at, indexing)
    else:
        x, y, z = _volume_parts(isinf(uvw[0]), isinf(uvw[1]), isinf(uvw[2]), x, y, z)
        a, b, c, d, e, f, g, h = _volume_far_indices(volume, i, j, k, indexing)
    return a, b, c, d, e, f, g, h, has, x, y, z


# By the table: most often all in one leaf, or all where there is none and one index stands for all of them.
def _volume_corner_indices(volume: uint64, i: int, j: int, k: int, at: uint32, indexing: uint32):
    voxel = _volume_voxel(i, j, k)
    entry = _volume_entry(volume, at)
    has = _SOME
    if _volume_crossing(voxel) == uint32(0):
        if _volume_is_leaf(entry):
            a, b, c, d, e, f, g, h, has = _volume_inner_indices(volume, _volume_words(volume, entry), voxel, indexing)
        else:
            a = _volume_one_index(_volume_one_value(volume, entry), indexing)
            b = a
            c = a
            d = a
            e = a
            f = a
            g = a
            h = a
            has = where(a < 0, _NONE, _ALL)
    else:
        if indexing == uint32(_BY_COUNT):
            a, b, c, d, e, f, g, h = _volume_table_indices(volume, at, entry, voxel)
        else:
            a, b, c, d, e, f, g, h = _volume_far_indices(volume, i, j, k, indexing)
    return a, b, c, d, e, f, g, h, has


def _volume_inner_indices(volume: uint64, leaf: uint64, at: uint32, indexing: uint32):
    a = -1
    b = -1
    c = -1
    d = -1
    e = -1
    f = -1
    g = -1
    h = -1
    has = _NONE
    if indexing == uint32(_BY_COUNT):
        # The voxels of one i are one word of the mask. Where none of the eight is active, there is nothing to count; where all are,
        # the second of two neighbours along k has one more before it. The word is never the last of a leaf, so those before it are
        # a field of the shifted prefix.
        word = at >> uint32(6)
        bit = uint64(at & uint32(63))
        low = _fixed(leaf + uint64(_LEAF_MASK), uint64)[word]
        high = _fixed(leaf + uint64(_LEAF_MASK), uint64)[word + uint32(1)]
        if ((low | high) & (uint64(0x303) << bit)) != uint64(0):
            shift = uint64(word * uint32(9))
            prefix = _fixed(leaf + uint64(_LEAF_PREFIX), uint64)[0]
            first = int(_fixed(leaf + uint64(_LEAF_FIRST), uint32)[0]) - 1
            before = first + int(((prefix << uint64(9)) >> shift) & uint64(511))
            after = first + int((prefix >> shift) & uint64(511))
            has = _SOME
            if (((low & high) >> bit) & uint64(0x303)) == uint64(0x303):
                has = _ALL
                a = before + _volume_count_below(low, bit)
                b = a + 1
                c = before + _volume_count_below(low, bit + uint64(8))
                d = c + 1
                e = after + _volume_count_below(high, bit)
                f = e + 1
                g = after + _volume_count_below(high, bit + uint64(8))
                h = g + 1
            else:
                a, b = _volume_pair(low, bit, before)
                c, d = _volume_pair(low, bit + uint64(8), before)
                e, f = _volume_pair(high, bit, after)
                g, h = _volume_pair(high, bit + uint64(8), after)
    else:
        has = _ALL
        a = _volume_leaf_index(volume, leaf, at, indexing)
        b = a + 1
        c = a + 8
        d = a + 9
        e = a + 64
        f = a + 65
        g = a + 72
        h = a + 73
    return a, b, c, d, e, f, g, h, has


# How many bits are set below one.
def _volume_count_below(word: uint64, bit: uint64):
    return bit_count(word & ((uint64(1) << bit) - uint64(1)))


# Active voxels of a leaf in the words before one: nine bits for each word but the first.
def _volume_words_before(prefix: uint64, word: uint32):
    shift = where(word == uint32(0), uint64(0), uint64((word - uint32(1)) * uint32(9)))
    return where(word == uint32(0), 0, int((prefix >> shift) & uint64(511)))


# The indices of two neighbours along k, whose bits are next to each other in a word: those before the word, and before them in
# it; the second has one more before it if the first is active. -1 where they are not.
def _volume_pair(word: uint64, bit: uint64, before: int):
    next = before + _volume_count_below(word, bit)
    bits = word >> bit
    first = int(bits & uint64(1))
    second = (bits & uint64(2)) != uint64(0)
    return where(first != 0, next, -1), where(second, next + first, -1)


# The same across leaves, and where there is none. Each by itself: at the edge of what there is most have no index, which a bit tells.
def _volume_table_indices(volume: uint64, at: uint32, entry: uint32, voxel: uint32):
    x, y, z, to_x, to_y, to_z = _volume_steps(volume, voxel)
    return (
        _volume_counted_index(volume, entry, voxel),
        _volume_counted_index(volume, _volume_entry(volume, at + to_z), voxel + z),
        _volume_counted_index(volume, _volume_entry(volume, at + to_y), voxel + y),
        _volume_counted_index(volume, _volume_entry(volume, at + to_y + to_z), voxel + y + z),
        _volume_counted_index(volume, _volume_entry(volume, at + to_x), voxel + x),
        _volume_counted_index(volume, _volume_entry(volume, at + to_x + to_z), voxel + x + z),
        _volume_counted_index(volume, _volume_entry(volume, at + to_x + to_y), voxel + x + y),
        _volume_counted_index(volume, _volume_entry(volume, at + to_x + to_y + to_z), voxel + x + y + z),
    )


# The same one by one, without the table. This is rare, and stays a call, so that what is not rare is part of the kernel.
@lanewise
def _volume_far_indices(volume: uint64, i: int, j: int, k: int, indexing: uint32):
    found = empty(shape=8, dtype=int)
    for corner in range(8):
        index = -1
        if indexing != uint32(0):
            index = _volume_index(volume, i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1), indexing)
        found[corner] = index
    return found[0], found[1], found[2], found[3], found[4], found[5], found[6], found[7]


def _volume_row(rows, index: int, background):
    row = background
    if index >= 0:
        row = rows[uint32(index)]
    return row


# The same without a branch, for where nobody foresees which of eight have a row. If one has, there is a row 0.
def _volume_some_row(rows, index: int, background):
    return where(index >= 0, rows[uint32(max(index, 0))], background)


def _volume_some_row_gradient(rows, index: int, background, adj):
    if index >= 0:
        adjoint[rows][uint32(index)] += adj
    else:
        adjoint[background] += adj


# Of eight voxels: most often all have a row, or none.
def _volume_rows(rows, has: int, at: int, bt: int, ct: int, dt: int, et: int, ft: int, gt: int, ht: int, background):
    a = background
    b = background
    c = background
    d = background
    e = background
    f = background
    g = background
    h = background
    if has == _ALL or (has == _SOME and (at | bt | ct | dt | et | ft | gt | ht) >= 0):
        a = rows[uint32(at)]
        b = rows[uint32(bt)]
        c = rows[uint32(ct)]
        d = rows[uint32(dt)]
        e = rows[uint32(et)]
        f = rows[uint32(ft)]
        g = rows[uint32(gt)]
        h = rows[uint32(ht)]
    else:
        if has == _SOME and (at & bt & ct & dt & et & ft & gt & ht) >= 0:
            a = _volume_some_row(rows, at, background)
            b = _volume_some_row(rows, bt, background)
            c = _volume_some_row(rows, ct, background)
            d = _volume_some_row(rows, dt, background)
            e = _volume_some_row(rows, et, background)
            f = _volume_some_row(rows, ft, background)
            g = _volume_some_row(rows, gt, background)
            h = _volume_some_row(rows, ht, background)
    return a, b, c, d, e, f, g, h


def _volume_sample_index(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    volume = _handle("volume", id)
    if sampling_mode != 1:
        i, j, k = _volume_nearest(uvw)
        return _volume_row(voxel_data, volume_lookup_index(id, i, j, k), background)
    at, bt, ct, dt, et, ft, gt, ht, has, x, y, z = _volume_indices_around(volume, uvw)
    a, b, c, d, e, f, g, h = _volume_rows(voxel_data, has, at, bt, ct, dt, et, ft, gt, ht, background)
    return _volume_blend(a, b, c, d, e, f, g, h, type(unit)(x), type(unit)(y), type(unit)(z))


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
    at, bt, ct, dt, et, ft, gt, ht, has, x, y, z = _volume_indices_around(volume, uvw)
    u = type(unit)(x)
    v = type(unit)(y)
    w = type(unit)(z)
    a, b, c, d, e, f, g, h = _volume_rows(voxel_data, has, at, bt, ct, dt, et, ft, gt, ht, background)
    p, q, r = _volume_slopes(a, b, c, d, e, f, g, h, u, v, w)
    return _volume_blend(a, b, c, d, e, f, g, h, u, v, w), p, q, r


def _volume_sample_grad_index(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    value, p, q, r = _volume_index_slopes(id, uvw, sampling_mode, voxel_data, background, unit)
    return value, vector(p, q, r)


def _volume_sample_grad_index_each(id: uint64, uvw: vec3, sampling_mode: int, voxel_data, background, unit):
    value, p, q, r = _volume_index_slopes(id, uvw, sampling_mode, voxel_data, background, unit)
    return value, matrix_from_cols(p, q, r)
