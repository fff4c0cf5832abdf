# Kernels that build trees on a GPU (driver/gpu_trees.cpp), for the layout of geometry/tree.h with two children a node; they
# are compiled behind kernels/tree_items.py as one program. The topology is that of Morton order, bettered by swaps of
# neighbours: a function of the sorted keys and the boxes alone, ties by number, so that every run gives the same bytes;
# numbers of nodes come from sizes of subtrees, never from counters.
from typing import Any

import warp as wp

SMALL = wp.constant(4)  # items of nodes that are not turned: they are most of all, and little is gained there


@wp.func
def apart(keys: wp.array(dtype=wp.uint32), i: int):
    # How far neighbours are apart: by their keys, equal ones by their places.
    differ = wp.uint64(keys[i] ^ keys[i + 1]) << wp.uint64(32)
    return differ | wp.uint64(wp.uint32(i) ^ wp.uint32(i + 1))


@wp.func
def apart(codes: wp.array(dtype=wp.uint64), i: int):
    return codes[i] ^ codes[i + 1]


@wp.func
def joins_groups(keys: wp.array(dtype=wp.uint32), ranks: wp.array(dtype=int), node: int):
    return False


@wp.func
def joins_groups(codes: wp.array(dtype=wp.uint64), ranks: wp.array(dtype=int), node: int):
    # Whether a node is one of those above the roots of groups. Turns leave it what it is.
    return ranks[node] != ranks[node + 1]


@wp.func
def is_group(keys: wp.array(dtype=wp.uint32), ranks: wp.array(dtype=int), first: int, last: int):
    return False


@wp.func
def is_group(codes: wp.array(dtype=wp.uint64), ranks: wp.array(dtype=int), first: int, last: int):
    # Whether the places from first to last are all of a group.
    rank = ranks[first]
    if ranks[last] != rank:
        return False
    if first > 0:
        if ranks[first - 1] == rank:
            return False
    if last < ranks.shape[0] - 1:
        if ranks[last + 1] == rank:
            return False
    return True


# A node in the making has two slots, 2 p and 2 p + 1, for what hangs there. A slot is two rows: the lower corner of its box and,
# as bits, the node, or below zero the complement of a place in the order of keys; the upper corner and, as bits, how high it
# is. And two counts: of its items, and of the nodes that there will be.


@wp.func
def least(a: wp.vec4, b: wp.vec4):
    return wp.vec3(wp.min(a[0], b[0]), wp.min(a[1], b[1]), wp.min(a[2], b[2]))


@wp.func
def most(a: wp.vec4, b: wp.vec4):
    return wp.vec3(wp.max(a[0], b[0]), wp.max(a[1], b[1]), wp.max(a[2], b[2]))


@wp.func
def around(low_a: wp.vec4, high_a: wp.vec4, low_b: wp.vec4, high_b: wp.vec4):
    # Half of the surface of the box around two; none of a box around nothing.
    low = least(low_a, low_b)
    high = most(high_a, high_b)
    x = wp.max(high[0] - low[0], 0.0)
    y = wp.max(high[1] - low[1], 0.0)
    z = wp.max(high[2] - low[2], 0.0)
    return x * y + y * z + z * x


@wp.func
def highest_bit(x: wp.uint32):
    # Its number; 0 for 0.
    number = int(0)
    rest = wp.uint32(x)
    for k in range(5):
        step = wp.uint32(16) >> wp.uint32(k)
        if (rest >> step) != wp.uint32(0):
            rest = rest >> step
            number += int(step)
    return number


@wp.func
def highest_allowed(keys: wp.array(dtype=wp.uint32), node: int):
    # Each node above this one parts its items by a higher bit of keys, or of places where keys are equal: with that many above
    # it, a node of this height leaves the whole tree within the depth that stacks of kernels have room for.
    differ = keys[node] ^ keys[node + 1]
    if differ != wp.uint32(0):
        return highest_bit(differ) + 30
    return highest_bit(wp.uint32(node) ^ wp.uint32(node + 1)) + 2


@wp.func
def highest_allowed(codes: wp.array(dtype=wp.uint64), node: int):
    # Codes have as many bits as a tree has levels.
    differ = codes[node] ^ codes[node + 1]
    upper = wp.uint32(differ >> wp.uint64(32))
    if upper != wp.uint32(0):
        return highest_bit(upper) + 33
    return highest_bit(wp.uint32(differ)) + 1


@wp.func
def swap_slots(
    slots: wp.array(dtype=wp.vec4), counts_of: wp.array(dtype=wp.vec2i), parent_of: wp.array(dtype=int), a: int, b: int
):
    low_a = slots[2 * a]
    high_a = slots[2 * a + 1]
    low_b = slots[2 * b]
    high_b = slots[2 * b + 1]
    count_a = counts_of[a]
    count_b = counts_of[b]
    slots[2 * a] = low_b
    slots[2 * a + 1] = high_b
    counts_of[a] = count_b
    slots[2 * b] = low_a
    slots[2 * b + 1] = high_a
    counts_of[b] = count_a
    if bits_of(low_a) >= 0:
        parent_of[bits_of(low_a)] = b
    if bits_of(low_b) >= 0:
        parent_of[bits_of(low_b)] = a


@wp.func
def counts_in(counts_of: wp.array(dtype=wp.vec2i), node: int):
    # Of a node, from its slots: items, nodes. With nodes below it, it is one; else those with few items become leaves.
    a = counts_of[2 * node]
    b = counts_of[2 * node + 1]
    nodes = a[1] + b[1]
    if nodes > 0 or a[0] + b[0] > LEAF:
        nodes += 1
    return wp.vec2i(a[0] + b[0], nodes)


@wp.func
def height_in(slots: wp.array(dtype=wp.vec4), node: int):
    return wp.max(bits_of(slots[4 * node + 1]), bits_of(slots[4 * node + 3])) + 1


@wp.func
def renew_slot(slots: wp.array(dtype=wp.vec4), counts_of: wp.array(dtype=wp.vec2i), slot: int):
    # After a swap below it.
    node = bits_of(slots[2 * slot])
    slots[2 * slot] = row(least(slots[4 * node], slots[4 * node + 2]), node)
    slots[2 * slot + 1] = row(most(slots[4 * node + 1], slots[4 * node + 3]), height_in(slots, node))
    counts_of[slot] = counts_in(counts_of, node)


@wp.func
def turn(
    keys: Any,
    ranks: wp.array(dtype=int),
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    node: int,
):
    # Swaps a child with a child of the other one, or two children of both, if boxes become smaller by it (Kensler, Tree
    # Rotations for Improving Bounding Volume Hierarchies, 2008). All below the node is done, and nobody else is here. Groups
    # stay whole: who is above their roots takes nothing out of them.
    l = 2 * node
    r = l + 1
    low_l = slots[2 * l]
    high_l = slots[2 * l + 1]
    low_r = slots[2 * r]
    high_r = slots[2 * r + 1]
    left = bits_of(low_l)
    right = bits_of(low_r)
    opens_left = left >= 0
    opens_right = right >= 0
    if joins_groups(keys, ranks, node):
        if opens_left:
            opens_left = joins_groups(keys, ranks, left)
        if opens_right:
            opens_right = joins_groups(keys, ranks, right)
    was_l = around(low_l, high_l, low_l, high_l)
    was_r = around(low_r, high_r, low_r, high_r)
    gain = float(0.0)
    a = int(-1)
    b = int(-1)
    low_c = wp.vec4()
    high_c = wp.vec4()
    low_d = wp.vec4()
    high_d = wp.vec4()
    if opens_right:
        low_c = slots[4 * right]
        high_c = slots[4 * right + 1]
        low_d = slots[4 * right + 2]
        high_d = slots[4 * right + 3]
        change = around(low_l, high_l, low_d, high_d) - was_r
        if change < gain:
            gain = change
            a = l
            b = 2 * right
        change = around(low_l, high_l, low_c, high_c) - was_r
        if change < gain:
            gain = change
            a = l
            b = 2 * right + 1
    if opens_left:
        low_e = slots[4 * left]
        high_e = slots[4 * left + 1]
        low_f = slots[4 * left + 2]
        high_f = slots[4 * left + 3]
        change = around(low_r, high_r, low_f, high_f) - was_l
        if change < gain:
            gain = change
            a = r
            b = 2 * left
        change = around(low_r, high_r, low_e, high_e) - was_l
        if change < gain:
            gain = change
            a = r
            b = 2 * left + 1
        if opens_right:
            was = was_l + was_r
            change = around(low_c, high_c, low_f, high_f) + around(low_e, high_e, low_d, high_d) - was
            if change < gain:
                gain = change
                a = 2 * left
                b = 2 * right
            change = around(low_d, high_d, low_f, high_f) + around(low_e, high_e, low_c, high_c) - was
            if change < gain:
                gain = change
                a = 2 * left
                b = 2 * right + 1
    # A swap makes the node higher by one at most.
    if a >= 0 and wp.max(bits_of(high_l), bits_of(high_r)) + 2 <= highest_allowed(keys, node):
        swap_slots(slots, counts_of, parent_of, a, b)
        if a != l and opens_left:
            renew_slot(slots, counts_of, l)
        if a != r and opens_right:
            renew_slot(slots, counts_of, r)


@wp.func
def climb_from(
    i: int,
    keys: Any,
    ranks: wp.array(dtype=int),
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    arrived: wp.array(dtype=int),
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    total: wp.array(dtype=int),
):
    # From each item up (Apetrei, Fast and Simple Agglomerative LBVH Construction, 2014). A subtree joins the neighbour that
    # it is closer to: the node between places p and p + 1 is number p. The second to arrive there goes on. Who comes to the
    # root says how many nodes there will be.
    n = keys.shape[0]
    low = lowers[order[i]]
    high = uppers[order[i]]
    if not counts(low, high):
        low = wp.vec3(INFINITE, INFINITE, INFINITE)
        high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    first = int(i)
    last = int(i)
    own = int(-1 - i)
    height = int(0)
    count = wp.vec2i(1, 0)
    if is_group(keys, ranks, i, i):  # it gets a node for itself
        height = 1
        count = wp.vec2i(1, 1)
    while last - first + 1 < n:
        node = first - 1
        side = int(1)
        if first == 0:
            node = last
            side = 0
        elif last < n - 1:
            if apart(keys, last) < apart(keys, first - 1):
                node = last
                side = 0
        slot = 2 * node + side
        slots[2 * slot] = row(low, own)
        slots[2 * slot + 1] = row(high, height)
        counts_of[slot] = count
        if own >= 0:
            parent_of[own] = slot
        wp._fence()
        other = wp.atomic_exch(arrived, node, wp.where(side == 0, first, last))
        if other < 0:
            return
        wp._fence()
        if side == 0:
            last = other
        else:
            first = other
        other_low = slots[2 * (slot ^ 1)]
        other_high = slots[2 * (slot ^ 1) + 1]
        low = least(row(low, 0), other_low)
        high = most(row(high, 0), other_high)
        height = wp.max(height, bits_of(other_high)) + 1
        own = node
        if last - first + 1 > SMALL:
            turn(keys, ranks, slots, counts_of, parent_of, node)
            height = height_in(slots, node)
        count = counts_in(counts_of, node)
        if is_group(keys, ranks, first, last):  # its root is a node, however few they are
            count[1] = wp.max(count[1], 1)
    if own >= 0:
        parent_of[own] = -1
        total[0] = wp.max(count[1], 1)


@wp.kernel
def climb(
    keys: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    arrived: wp.array(dtype=int),
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    total: wp.array(dtype=int),
):
    # Without groups nobody asks for ranks.
    climb_from(wp.tid(), keys, order, order, lowers, uppers, arrived, slots, counts_of, parent_of, total)


@wp.kernel
def climb_in_groups(
    codes: wp.array(dtype=wp.uint64),
    ranks: wp.array(dtype=int),
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    arrived: wp.array(dtype=int),
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    total: wp.array(dtype=int),
):
    climb_from(wp.tid(), codes, ranks, order, lowers, uppers, arrived, slots, counts_of, parent_of, total)


@wp.func
def child_word(first: int, count: wp.vec2i, number: int):
    if count[1] == 0:
        return wp.uint32(0x80000000) | (wp.uint32(count[0] - 1) << wp.uint32(28)) | wp.uint32(first)
    return wp.uint32(number)


@wp.func
def place_two(slots: wp.array(dtype=wp.vec4), order: wp.array(dtype=int), placed: wp.array(dtype=int), child: int, at: int):
    # An item, or a subtree of two.
    if child < 0:
        placed[at] = order[-1 - child]
    else:
        placed[at] = order[-1 - bits_of(slots[4 * child])]
        placed[at + 1] = order[-1 - bits_of(slots[4 * child + 2])]


@wp.func
def place_three(
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    child: int,
    at: int,
):
    # A subtree of up to three.
    if child < 0:
        placed[at] = order[-1 - child]
    else:
        place_two(slots, order, placed, bits_of(slots[4 * child]), at)
        place_two(slots, order, placed, bits_of(slots[4 * child + 2]), at + counts_of[2 * child][0])


@wp.func
def place_items(
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    child: int,
    count: wp.vec2i,
    at: int,
):
    # Of a slot that becomes a leaf.
    if child < 0:
        placed[at] = order[-1 - child]
    elif count[1] == 0:
        place_three(slots, counts_of, order, placed, bits_of(slots[4 * child]), at)
        place_three(slots, counts_of, order, placed, bits_of(slots[4 * child + 2]), at + counts_of[2 * child][0])


@wp.func
def lay_out_node(
    p: int,
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    rows: wp.array(dtype=wp.vec4),
):
    # Depth-first numbers: one more than the parent's, and behind all of the left sibling's subtree; likewise the places of
    # items in leaves, which `placed` gets. A node is four rows. Gives the number, or -1 of what is part of a leaf, and where
    # its items begin.
    left = counts_of[2 * p]
    right = counts_of[2 * p + 1]
    at = parent_of[p]
    if at >= 0 and left[0] + right[0] <= LEAF:
        if counts_of[at][1] == 0:
            return wp.vec2i(-1, 0)
    number = int(0)
    first = int(0)
    above = wp.uint32(0xFFFFFFFF)
    own = int(0)  # how much of the number lies below the parent's
    while at >= 0:
        step = 1
        if (at & 1) == 1:
            before = counts_of[at - 1]
            first += before[0]
            step += before[1]
        if number == 0:
            own = step
            above = wp.uint32(at & 1)
        number += step
        at = parent_of[at >> 1]
    if number > 0:
        above = above | (wp.uint32(number - own) << wp.uint32(1))
    low_l = slots[4 * p]
    high_l = slots[4 * p + 1]
    low_r = slots[4 * p + 2]
    high_r = slots[4 * p + 3]
    place_items(slots, counts_of, order, placed, bits_of(low_l), left, first)
    place_items(slots, counts_of, order, placed, bits_of(low_r), right, first + left[0])
    rows[4 * number] = wp.vec4(low_l[0], low_r[0], low_l[1], low_r[1])
    rows[4 * number + 1] = wp.vec4(low_l[2], low_r[2], high_l[0], high_r[0])
    rows[4 * number + 2] = wp.vec4(high_l[1], high_r[1], high_l[2], high_r[2])
    a = child_word(first, left, number + 1)
    b = child_word(first + left[0], right, number + 1 + left[1])
    rows[4 * number + 3] = wp.vec4(
        wp.cast(a, wp.float32),
        wp.cast(b, wp.float32),
        wp.cast(above, wp.float32),
        wp.cast(number + 1 + left[1] + right[1], wp.float32),
    )
    return wp.vec2i(number, first)


@wp.kernel
def lay_out(
    slots: wp.array(dtype=wp.vec4),
    counts_of: wp.array(dtype=wp.vec2i),
    parent_of: wp.array(dtype=int),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    rows: wp.array(dtype=wp.vec4),
):
    lay_out_node(wp.tid(), slots, counts_of, parent_of, order, placed, rows)


@wp.func
def put_lone(rows: wp.array(dtype=wp.vec4), number: int, low: wp.vec4, high: wp.vec4, first: int, above: wp.uint32):
    # A node with one child, a leaf of one item.
    rows[4 * number] = wp.vec4(low[0], INFINITE, low[1], INFINITE)
    rows[4 * number + 1] = wp.vec4(low[2], INFINITE, high[0], -INFINITE)
    rows[4 * number + 2] = wp.vec4(high[1], -INFINITE, high[2], -INFINITE)
    rows[4 * number + 3] = wp.vec4(
        wp.cast(child_word(first, wp.vec2i(1, 0), 0), wp.float32),
        0.0,
        wp.cast(above, wp.float32),
        wp.cast(number + 1, wp.float32),
    )


@wp.kernel
def lone_item(lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), rows: wp.array(dtype=wp.vec4)):
    # A tree of one: a root with one child.
    low = lowers[0]
    high = uppers[0]
    if not counts(low, high):
        low = wp.vec3(INFINITE, INFINITE, INFINITE)
        high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    put_lone(rows, 0, row(low, 0), row(high, 0), 0, wp.uint32(0xFFFFFFFF))
