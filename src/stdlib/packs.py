# What walks over trees compute with: numbers, or vectors of them side by side (the children of a node, the faces of a
# leaf's block). Each function is written once for both. Products that go into sums are fused by name: contraction could
# otherwise treat a box in a node and the same box in a leaf differently, and results would hang on the tree.

_NODE_NONE = uint32(0xFFFFFFFF)
_LEAF = uint32(0x80000000)
_WALKS = 8  # that go on at a time
_WALK_STACK = uint32(64)  # nodes with children left, of each


# Nearest first without sorting: a walk keeps the keys of a node's eight children as whole numbers and takes the lowest of
# those behind the one it took last. The last bits of a key say which child it is: a key is never above what it stands for,
# so what lies beyond the best by its key does so for sure.


def _order_keys(a):
    # Of eight numbers that are not negative, whatever the sign of their zeros.
    bits = cast(a, type(vector(length=8, dtype=uint32)))
    places = type(bits)(
        uint32(0), uint32(1), uint32(2), uint32(3), uint32(4), uint32(5), uint32(6), uint32(7)
    )
    return (bits & type(bits)(uint32(0x7FFFFFF8))) | places


def _lowest(a):
    # A tree, which becomes one instruction where processors have it (llvm_passes/reductions).
    return _least(
        _least(_least(a[0], a[1]), _least(a[2], a[3])), _least(_least(a[4], a[5]), _least(a[6], a[7]))
    )


def _highest_key(best: float):
    # That of a child as far away as best.
    return uint32(_signed_bits(best)) | uint32(7)


def _key_behind(keys, key: uint32):
    # The lowest above key, or _NODE_NONE: those below it wrap around to above all others.
    apart = _lowest(keys - type(keys)(key + uint32(1)))
    return where(apart < uint32(0x80000000), apart + key + uint32(1), _NODE_NONE)


def _child_place(nodes: uint64, leaves: uint64, word: uint32):
    # The address of a node or of a leaf's first block, for prefetches.
    leaf = leaves + uint64(word & uint32(0x0FFFFFFF)) * uint64(160)
    return where((word & _LEAF) != uint32(0), leaf, nodes + uint64(word) * uint64(256))


def _stacked(word: uint32, key: float):
    # A child and its key as an entry of a stack.
    return uint64(word) | (uint64(cast(key, uint32)) << uint64(32))


def _unstacked(entry: uint64, limit: float):
    # The child of an entry; _NODE_NONE if it is beyond the limit.
    return where(cast(uint32(entry >> uint64(32)), float32) <= limit, uint32(entry), _NODE_NONE)


def _warp_at(tree: uint64):
    # The lanes of this warp that walk the tree of this one: only these can do each other's work.
    warp = _warp()
    low = uint32(tree)
    high = uint32(tree >> uint64(32))
    here = warp
    rest = warp
    while rest != uint32(0):
        first = _trailing_zeros(rest)
        # Both before the question: all lanes wait here for each other, and `and` would leave some out.
        low_there = _shuffle(warp, low, first)
        high_there = _shuffle(warp, high, first)
        same = low == low_there and high == high_there
        those = _vote(warp, same)
        if same:
            here = those
        rest = rest & ~those
    return here


def _less_bit(a, b):
    return where(a < b, uint32(1), uint32(0))


def _less_equal_bit(a, b):
    return where(a <= b, uint32(1), uint32(0))


def _choose_bit(mask, a, b):
    return where(mask != uint32(0), a, b)


def _three_times(ax, ay, az, bx, by, bz):
    # The dot product.
    return _fma(az, bz, _fma(ay, by, _times(ax, bx)))


def _products_apart(a, b, c, d):
    # a b - c d by Kahan's method: within 1.5 units in the last place, so that the sign is exact.
    cd = _times(c, d)
    lost = _fma(-c, d, cd)
    return _fma(a, b, -cd) + lost


def _area(ax, ay, bx, by):
    # A component of a cross product, as good as float gives it in two operations.
    return _fma(ax, by, -_times(ay, bx))


def _turned_area(ax, ay, bx, by):
    # The same with the other sign, which takes an operation less on processors that subtract products.
    return _fma(-ax, by, _times(ay, bx))


def _least_of(a, b, c):
    return _least(_least(a, b), c)


def _greatest_of(a, b, c):
    return _greatest(_greatest(a, b), c)


def _outside(low, high, p):
    # How far p lies outside of low … high, at least 0.
    q = type(low)(p)
    return _greatest(_greatest(low - q, q - high), type(low)(0.0))


def _box_distance(low_x, low_y, low_z, high_x, high_y, high_z, p: vec3):
    # The squared distance of a box. It never falls where the box shrinks, rounding included, as each step is monotone.
    x = _outside(low_x, high_x, p[0])
    y = _outside(low_y, high_y, p[1])
    z = _outside(low_z, high_z, p[2])
    return _three_times(x, y, z, x, y, z)


def _reach_of(low, high, p):
    q = type(low)(p)
    return _greatest(q - low, high - q)


def _box_reach(low_x, low_y, low_z, high_x, high_y, high_z, p: vec3):
    # The squared distance of the furthest corner of a box; it never grows where the box shrinks.
    x = _reach_of(low_x, high_x, p[0])
    y = _reach_of(low_y, high_y, p[1])
    z = _reach_of(low_z, high_z, p[2])
    return _three_times(x, y, z, x, y, z)


def _box_meets(low_x, low_y, low_z, high_x, high_y, high_z, low: vec3, high: vec3):
    # Bits of the boxes that share a point with low … high.
    x = _less_equal_bits(low_x, type(low_x)(high[0])) & _less_equal_bits(type(low_x)(low[0]), high_x)
    y = _less_equal_bits(low_y, type(low_x)(high[1])) & _less_equal_bits(type(low_x)(low[1]), high_y)
    z = _less_equal_bits(low_z, type(low_x)(high[2])) & _less_equal_bits(type(low_x)(low[2]), high_z)
    return x & y & z


# Rays and boxes. A ray's hit on a face counts if the ray also meets the face's own box by this very test, and no sooner
# than there: then no node that holds the face can be left out, whatever its rounding. The clearance makes up for rounding
# in all of it, that of the triangle's test included (4 + 4 + 4 + 6 units of 2^-24 at most), so that no closed mesh has holes.
_CLEARANCE = 1.0 + 1.0 / 524288.0


def _slab(plane, o, rate):
    return (plane - type(plane)(o)) * rate


def _far_slab(plane, o, rate):
    return _fma(plane - type(plane)(o), type(plane)(rate), type(plane)(abs(rate) * 1.0e-17))


def _box_entry(near_x, near_y, near_z, o, rate):
    # Where a ray comes in, at least 0.
    x = _slab(near_x, o[0], rate[0])
    y = _slab(near_y, o[1], rate[1])
    z = _slab(near_z, o[2], rate[2])
    return _greatest(_greatest(x, y), _greatest(z, type(x)(0.0)))


def _box_exit(far_x, far_y, far_z, o, rate, limit):
    # Where it is out again, at most the limit; a bit further. A plane that the ray runs in is left far away, not at once: a
    # ray along an axis meets what lies in its box's last plane.
    x = _far_slab(far_x, o[0], rate[0])
    y = _far_slab(far_y, o[1], rate[1])
    z = _far_slab(far_z, o[2], rate[2])
    return _least(_least(x, y), _least(z, type(x)(limit))) * _CLEARANCE


def _ray_rate(d):
    # 1 / d, kept finite: planes that a ray runs along are far away, or met at once (_box_exit has a word on leaving).
    along = abs(d) < 1.0e-37
    return where(along, where(d < 0.0, float32(-1.0e37), float32(1.0e37)), 1.0 / where(along, float32(1.0), d))


def _ray_rates(d: vec3):
    return vec3(_ray_rate(d[0]), _ray_rate(d[1]), _ray_rate(d[2]))


def _is_place(p: vec3):
    # Whether all of it is finite, without the loop that isfinite is for vectors.
    return isfinite(p[0]) and isfinite(p[1]) and isfinite(p[2])


def _is_ray(start: vec3, dir: vec3):
    # Neither without a direction nor without a place; with numbers that have reciprocals.
    longest = max(max(abs(dir[0]), abs(dir[1])), abs(dir[2]))
    return _is_place(start) and _is_place(dir) and longest >= 1.0e-37
