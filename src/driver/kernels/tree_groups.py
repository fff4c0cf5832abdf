# Kernels for groups of trees on a GPU (driver/gpu_trees.cpp), compiled behind kernels/tree.py as one program. Items are sorted
# by group, then by Morton key, and so each group is a subtree of its own, below a tree by the ranks of groups. Its root is a node
# whatever its size: an item that is alone in its group gets one with one child.
import warp as wp

LEVELS = wp.constant(60)  # that any tree may have (geometry/tree.h)
KEY_BITS = wp.constant(31)


@wp.kernel
def group_keys(
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    bounds: wp.array(dtype=int),
    groups: wp.array(dtype=int),
    keys: wp.array(dtype=wp.uint64),
    order: wp.array(dtype=int),
):
    i = wp.tid()
    order[i] = i
    group = wp.uint32(groups[i]) ^ wp.uint32(0x80000000)
    key = morton_key(lowers[i], uppers[i], bounds)
    keys[i] = (wp.uint64(group) << wp.uint64(KEY_BITS)) | wp.uint64(key)


@wp.kernel
def group_borders(keys: wp.array(dtype=wp.uint64), borders: wp.array(dtype=int)):
    # 1 where another group begins; sums up to each place are ranks of groups.
    i = wp.tid()
    borders[i] = 0
    if i > 0:
        if (keys[i] >> wp.uint64(KEY_BITS)) != (keys[i - 1] >> wp.uint64(KEY_BITS)):
            borders[i] = 1


@wp.func
def bit_width(x: int):
    if x == 0:
        return 0
    return highest_bit(wp.uint32(x)) + 1


@wp.kernel
def group_codes(keys: wp.array(dtype=wp.uint64), ranks: wp.array(dtype=int)):
    # What the tree is made by: rank of the group, key and place, of as many bits together as a tree may have levels. Keys give
    # up their last ones if there are many groups: there is little in each.
    i = wp.tid()
    rank_bits = bit_width(ranks[keys.shape[0] - 1])
    place_bits = bit_width(keys.shape[0] - 1)
    key_bits = wp.min(KEY_BITS, LEVELS - rank_bits - place_bits)
    key = keys[i] & ((wp.uint64(1) << wp.uint64(KEY_BITS)) - wp.uint64(1))
    code = (wp.uint64(ranks[i]) << wp.uint64(key_bits)) | (key >> wp.uint64(KEY_BITS - key_bits))
    code = (code << wp.uint64(place_bits)) | wp.uint64(i)
    keys[i] = code << wp.uint64(LEVELS - rank_bits - key_bits - place_bits)


@wp.kernel
def lay_out_groups(
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    rows: wp.array(dtype=wp.vec4),
    ranks: wp.array(dtype=int),
    groups: wp.array(dtype=int),
    roots: wp.array(dtype=wp.vec2i),
):
    # `roots` gets how many groups there are, then each with its root.
    p = wp.tid()
    if p == 0:
        roots[0] = wp.vec2i(ranks[ranks.shape[0] - 1] + 1, 0)
    node = lay_out_node(p, slots, counts_of, parent_of, order, placed, rows)
    number = node[0]
    if number < 0:
        return
    if ranks[p] == ranks[p + 1]:
        at = parent_of[p]
        is_root = at < 0
        if not is_root:
            is_root = ranks[at >> 1] != ranks[(at >> 1) + 1]
        if is_root:
            roots[1 + ranks[p]] = wp.vec2i(groups[order[p]], number)
        return
    first = node[1]
    below = number + 1
    for side in range(2):
        slot = 2 * p + side
        low = slots[2 * slot]
        if bits_of(low) < 0:
            place = -1 - bits_of(low)
            above = (wp.uint32(number) << wp.uint32(1)) | wp.uint32(side)
            put_lone(rows, below, low, slots[2 * slot + 1], first, above)
            roots[1 + ranks[place]] = wp.vec2i(groups[order[place]], below)
        count = counts_of[slot]
        first += count[0]
        below += count[1]


@wp.kernel
def lone_group(groups: wp.array(dtype=int), roots: wp.array(dtype=wp.vec2i)):
    roots[0] = wp.vec2i(1, 0)
    roots[1] = wp.vec2i(groups[0], 0)
