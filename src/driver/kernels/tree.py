# Kernels that build and refit trees on a GPU (driver/gpu_trees.cpp), for the layout of geometry/tree.h with two children a
# node. The topology is that of Morton order, bettered by swaps of neighbours: a function of the sorted keys and the boxes
# alone, ties by number, so that every run gives the same bytes; numbers of nodes come from sizes of subtrees, never from
# counters.
import warp as wp

LEAF = wp.constant(2)  # items of a leaf, at most
SMALL = wp.constant(4)  # items of nodes that are not turned: they are most of all, and little is gained there
INFINITE = wp.constant(wp.inf)


@wp.func
def is_number(v: wp.vec3):
    return wp.isfinite(v[0]) and wp.isfinite(v[1]) and wp.isfinite(v[2])


@wp.func
def ordered(x: float):
    # An integer that compares as the number does.
    bits = wp.cast(x, wp.int32)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@wp.func
def number_of(key: int):
    return wp.cast(key ^ ((key >> 31) & 0x7FFFFFFF), wp.float32)


@wp.func
def middle(low: float, high: float):
    # Without a sum, which could overflow.
    return low * 0.5 + high * 0.5


@wp.func
def corner(points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), at: int):
    # Of a face with a bad index: not a number, so that the face counts for nothing.
    i = indices[at]
    if i < 0 or i >= points.shape[0]:
        return wp.vec3(wp.nan, wp.nan, wp.nan)
    return points[i]


@wp.kernel
def face_boxes(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    bad: wp.array(dtype=int),
):
    f = wp.tid()
    a = corner(points, indices, 3 * f)
    b = corner(points, indices, 3 * f + 1)
    c = corner(points, indices, 3 * f + 2)
    if is_number(a) and is_number(b) and is_number(c):
        lowers[f] = wp.min(wp.min(a, b), c)
        uppers[f] = wp.max(wp.max(a, b), c)
        return
    lowers[f] = wp.vec3(INFINITE, INFINITE, INFINITE)
    uppers[f] = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    for k in range(3):
        i = indices[3 * f + k]
        if i < 0 or i >= points.shape[0]:
            wp.atomic_min(bad, 0, f)


@wp.func
def counts(low: wp.vec3, high: wp.vec3):
    return is_number(low) and is_number(high) and low[0] <= high[0] and low[1] <= high[1] and low[2] <= high[2]


@wp.kernel
def extent(
    lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), threads: int, bounds: wp.array(dtype=int)
):
    # Where centres lie. Each thread looks at many boxes, so that few meet at the six numbers.
    least = wp.vec3(INFINITE, INFINITE, INFINITE)
    most = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    i = wp.tid()
    while i < lowers.shape[0]:
        low = lowers[i]
        high = uppers[i]
        if counts(low, high):
            centre = wp.vec3(middle(low[0], high[0]), middle(low[1], high[1]), middle(low[2], high[2]))
            least = wp.min(least, centre)
            most = wp.max(most, centre)
        i += threads
    if least[0] <= most[0]:
        for k in range(3):
            wp.atomic_min(bounds, k, ordered(least[k]))
            wp.atomic_max(bounds, 3 + k, ordered(most[k]))


@wp.func
def spread(x: wp.uint32):
    # Ten bits with two zeros between each and the next.
    x = (x | (x << wp.uint32(16))) & wp.uint32(0x030000FF)
    x = (x | (x << wp.uint32(8))) & wp.uint32(0x0300F00F)
    x = (x | (x << wp.uint32(4))) & wp.uint32(0x030C30C3)
    return (x | (x << wp.uint32(2))) & wp.uint32(0x09249249)


@wp.func
def cell(x: float, low: float, high: float):
    # In halves, as the span of all centres may be beyond the largest number.
    span = high * 0.5 - low * 0.5
    if not span > 0.0:
        return wp.uint32(0)
    return wp.uint32(wp.clamp((x * 0.5 - low * 0.5) / span * 1024.0, 0.0, 1023.0))


@wp.kernel
def morton_keys(
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    bounds: wp.array(dtype=int),
    keys: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
):
    i = wp.tid()
    low = lowers[i]
    high = uppers[i]
    order[i] = i
    keys[i] = wp.uint32(0x7FFFFFFF)  # what counts for nothing comes last
    if counts(low, high):
        key = wp.uint32(0)
        for k in range(3):
            c = cell(middle(low[k], high[k]), number_of(bounds[k]), number_of(bounds[3 + k]))
            key = key | (spread(c) << wp.uint32(2 - k))
        keys[i] = key


@wp.func
def apart(keys: wp.array(dtype=wp.uint32), i: int):
    # How far neighbours are apart: by their keys, equal ones by their places.
    differ = wp.uint64(keys[i] ^ keys[i + 1]) << wp.uint64(32)
    return differ | wp.uint64(wp.uint32(i) ^ wp.uint32(i + 1))


# A node in the making has two slots, 2 p and 2 p + 1: the box of what hangs there, and four facts: the node, or below zero the
# complement of a place in the order of keys; how many items; how many nodes there will be; how high it is.
CHILD = wp.constant(0)
ITEMS = wp.constant(1)
NODES = wp.constant(2)
HEIGHT = wp.constant(3)


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
def surface(low: wp.vec3, high: wp.vec3):
    # Half of it; none of a box around nothing.
    x = wp.max(high[0] - low[0], 0.0)
    y = wp.max(high[1] - low[1], 0.0)
    z = wp.max(high[2] - low[2], 0.0)
    return x * y + y * z + z * x


@wp.func
def around(lower: wp.array(dtype=wp.vec3), upper: wp.array(dtype=wp.vec3), a: int, b: int):
    # The surface of the box around two slots.
    return surface(wp.min(lower[a], lower[b]), wp.max(upper[a], upper[b]))


@wp.func
def swap_slots(
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    facts: wp.array(dtype=wp.vec4i),
    parent_of: wp.array(dtype=int),
    a: int,
    b: int,
):
    low = lower[a]
    high = upper[a]
    fact = facts[a]
    other = facts[b]
    lower[a] = lower[b]
    upper[a] = upper[b]
    facts[a] = other
    lower[b] = low
    upper[b] = high
    facts[b] = fact
    if fact[CHILD] >= 0:
        parent_of[fact[CHILD]] = b
    if other[CHILD] >= 0:
        parent_of[other[CHILD]] = a


@wp.func
def facts_of(facts: wp.array(dtype=wp.vec4i), node: int):
    # Of a node, from its slots.
    a = facts[2 * node]
    b = facts[2 * node + 1]
    items = a[ITEMS] + b[ITEMS]
    nodes = a[NODES] + b[NODES]
    if items > LEAF:
        nodes += 1
    return wp.vec4i(node, items, nodes, wp.max(a[HEIGHT], b[HEIGHT]) + 1)


@wp.func
def renew_slot(
    lower: wp.array(dtype=wp.vec3), upper: wp.array(dtype=wp.vec3), facts: wp.array(dtype=wp.vec4i), slot: int, node: int
):
    lower[slot] = wp.min(lower[2 * node], lower[2 * node + 1])
    upper[slot] = wp.max(upper[2 * node], upper[2 * node + 1])
    facts[slot] = facts_of(facts, node)


@wp.func
def turn(
    keys: wp.array(dtype=wp.uint32),
    lower: wp.array(dtype=wp.vec3),
    upper: wp.array(dtype=wp.vec3),
    facts: wp.array(dtype=wp.vec4i),
    parent_of: wp.array(dtype=int),
    node: int,
):
    # Swaps a child with a child of the other one, or two children of both, if boxes become smaller by it (Kensler, Tree
    # Rotations for Improving Bounding Volume Hierarchies, 2008). All below the node is done, and nobody else is here.
    l = 2 * node
    r = l + 1
    left = facts[l]
    right = facts[r]
    if left[ITEMS] + right[ITEMS] <= SMALL:
        return
    most = wp.max(left[HEIGHT], right[HEIGHT])
    gain = float(0.0)
    a = int(-1)
    b = int(-1)
    if right[CHILD] >= 0:
        was = surface(lower[r], upper[r])
        for k in range(2):
            change = around(lower, upper, l, 2 * right[CHILD] + 1 - k) - was
            if change < gain:
                gain = change
                a = l
                b = 2 * right[CHILD] + k
    if left[CHILD] >= 0:
        was = surface(lower[l], upper[l])
        for k in range(2):
            change = around(lower, upper, r, 2 * left[CHILD] + 1 - k) - was
            if change < gain:
                gain = change
                a = r
                b = 2 * left[CHILD] + k
    if left[CHILD] >= 0 and right[CHILD] >= 0:
        was = surface(lower[l], upper[l]) + surface(lower[r], upper[r])
        first = 2 * left[CHILD]
        for k in range(2):
            other = 2 * right[CHILD] + k
            change = around(lower, upper, other, first + 1) + around(lower, upper, first, other ^ 1) - was
            if change < gain:
                gain = change
                a = first
                b = other
    # A swap makes the node higher by one at most.
    if a >= 0 and most + 2 <= highest_allowed(keys, node):
        swap_slots(lower, upper, facts, parent_of, a, b)
        if facts[l][CHILD] == left[CHILD] and left[CHILD] >= 0:
            renew_slot(lower, upper, facts, l, left[CHILD])
        if facts[r][CHILD] == right[CHILD] and right[CHILD] >= 0:
            renew_slot(lower, upper, facts, r, right[CHILD])


@wp.kernel
def climb(
    keys: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    arrived: wp.array(dtype=int),
    slot_lower: wp.array(dtype=wp.vec3),
    slot_upper: wp.array(dtype=wp.vec3),
    slot_facts: wp.array(dtype=wp.vec4i),
    parent_of: wp.array(dtype=int),
):
    # From each item up (Apetrei, Fast and Simple Agglomerative LBVH Construction, 2014). A subtree joins the neighbour that
    # it is closer to: the node between places p and p + 1 is number p. The second to arrive there goes on.
    i = wp.tid()
    n = keys.shape[0]
    low = lowers[order[i]]
    high = uppers[order[i]]
    if not counts(low, high):
        low = wp.vec3(INFINITE, INFINITE, INFINITE)
        high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    first = int(i)
    last = int(i)
    fact = wp.vec4i(-1 - i, 1, 0, 0)
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
        slot_lower[slot] = low
        slot_upper[slot] = high
        slot_facts[slot] = fact
        if fact[CHILD] >= 0:
            parent_of[fact[CHILD]] = slot
        wp._fence()
        other = wp.atomic_exch(arrived, node, wp.where(side == 0, first, last))
        if other < 0:
            return
        wp._fence()
        if side == 0:
            last = other
        else:
            first = other
        low = wp.min(low, slot_lower[slot ^ 1])
        high = wp.max(high, slot_upper[slot ^ 1])
        turn(keys, slot_lower, slot_upper, slot_facts, parent_of, node)
        fact = facts_of(slot_facts, node)
    if fact[CHILD] >= 0:
        parent_of[fact[CHILD]] = -1


@wp.kernel
def await_children(slot_facts: wp.array(dtype=wp.vec4i), arrived: wp.array(dtype=int)):
    # How many children each node waits for in the next round of turns: those that are turned themselves. -1 for a node that
    # is not; swaps may change its size while others work, so this is found before.
    node = wp.tid()
    left = slot_facts[2 * node][ITEMS]
    right = slot_facts[2 * node + 1][ITEMS]
    count = int(-1)
    if left + right > SMALL:
        count = 0
        if left > SMALL:
            count += 1
        if right > SMALL:
            count += 1
    arrived[node] = count


@wp.kernel
def climb_again(
    keys: wp.array(dtype=wp.uint32),
    arrived: wp.array(dtype=int),
    slot_lower: wp.array(dtype=wp.vec3),
    slot_upper: wp.array(dtype=wp.vec3),
    slot_facts: wp.array(dtype=wp.vec4i),
    parent_of: wp.array(dtype=int),
):
    # Another round of turns, from below. A thread starts at each node that is turned, and is one of those to arrive there;
    # the last goes on. Boxes of nodes stay as they are.
    node = int(wp.tid())
    if arrived[node] < 0:
        return
    while wp.atomic_add(arrived, node, -1) == 0:
        wp._fence()
        turn(keys, slot_lower, slot_upper, slot_facts, parent_of, node)
        slot = parent_of[node]
        if slot < 0:
            return
        slot_facts[slot] = facts_of(slot_facts, node)
        node = slot >> 1
        wp._fence()


@wp.func
def child_word(first: int, count: int, number: int):
    if count <= LEAF:
        return wp.uint32(0x80000000) | (wp.uint32(count - 1) << wp.uint32(28)) | wp.uint32(first)
    return wp.uint32(number)


@wp.kernel
def lay_out(
    slot_lower: wp.array(dtype=wp.vec3),
    slot_upper: wp.array(dtype=wp.vec3),
    slot_facts: wp.array(dtype=wp.vec4i),
    parent_of: wp.array(dtype=int),
    order: wp.array(dtype=int),
    placed: wp.array(dtype=int),
    planes: wp.array2d(dtype=float),
    words: wp.array2d(dtype=wp.uint32),
):
    # Depth-first numbers: one more than the parent's, and behind all of the left sibling's subtree; likewise the places of
    # items in leaves, which `placed` gets.
    p = wp.tid()
    left = slot_facts[2 * p]
    right = slot_facts[2 * p + 1]
    at = parent_of[p]
    if left[ITEMS] + right[ITEMS] <= LEAF and at >= 0:
        return
    number = int(0)
    first = int(0)
    above = wp.uint32(0xFFFFFFFF)
    own = int(0)  # how much of the number lies below the parent's
    while at >= 0:
        step = 1
        if (at & 1) == 1:
            before = slot_facts[at - 1]
            step += before[NODES]
            first += before[ITEMS]
        if number == 0:
            own = step
            above = wp.uint32(at & 1)
        number += step
        at = parent_of[at >> 1]
    if number > 0:
        above = above | (wp.uint32(number - own) << wp.uint32(1))
    for side in range(2):
        low = slot_lower[2 * p + side]
        high = slot_upper[2 * p + side]
        for k in range(3):
            planes[number, 2 * k + side] = low[k]
            planes[number, 6 + 2 * k + side] = high[k]
        here = left
        place = first
        if side == 1:
            here = right
            place += left[ITEMS]
        if here[CHILD] < 0:
            placed[place] = order[-1 - here[CHILD]]
        elif here[ITEMS] <= LEAF:
            for k in range(2):
                placed[place + k] = order[-1 - slot_facts[2 * here[CHILD] + k][CHILD]]
    words[number, 12] = child_word(first, left[ITEMS], number + 1)
    words[number, 13] = child_word(first + left[ITEMS], right[ITEMS], number + 1 + left[NODES])
    words[number, 14] = above
    words[number, 15] = wp.uint32(number + 1 + left[NODES] + right[NODES])


@wp.kernel
def lone_item(
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    planes: wp.array2d(dtype=float),
    words: wp.array2d(dtype=wp.uint32),
):
    # A tree of one: a root with one child.
    low = lowers[order[0]]
    high = uppers[order[0]]
    for k in range(3):
        planes[0, 2 * k] = wp.where(counts(low, high), low[k], INFINITE)
        planes[0, 2 * k + 1] = INFINITE
        planes[0, 6 + 2 * k] = wp.where(counts(low, high), high[k], -INFINITE)
        planes[0, 6 + 2 * k + 1] = -INFINITE
    words[0, 12] = wp.uint32(0x80000000)
    words[0, 13] = wp.uint32(0)
    words[0, 14] = wp.uint32(0xFFFFFFFF)
    words[0, 15] = wp.uint32(1)


@wp.kernel
def fill_faces(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    order: wp.array(dtype=int),
    corners: wp.array2d(dtype=float),
    words: wp.array2d(dtype=int),
):
    # A leaf's copies of corners, in the order of leaves: x0 number x1 0 x2 0. Faces that count for nothing have none.
    i = wp.tid()
    f = order[i]
    a = corner(points, indices, 3 * f)
    b = corner(points, indices, 3 * f + 1)
    c = corner(points, indices, 3 * f + 2)
    if not (is_number(a) and is_number(b) and is_number(c)):
        a = wp.vec3(wp.nan, wp.nan, wp.nan)
        b = a
        c = a
    for k in range(3):
        corners[i, k] = a[k]
        corners[i, 4 + k] = b[k]
        corners[i, 8 + k] = c[k]
    words[i, 3] = f
    words[i, 7] = 0
    words[i, 11] = 0


@wp.kernel
def fill_boxes(
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    order: wp.array(dtype=int),
    planes: wp.array2d(dtype=float),
    words: wp.array2d(dtype=int),
):
    i = wp.tid()
    low = lowers[order[i]]
    high = uppers[order[i]]
    if not counts(low, high):
        low = wp.vec3(INFINITE, INFINITE, INFINITE)
        high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    for k in range(3):
        planes[i, k] = low[k]
        planes[i, 4 + k] = high[k]
    words[i, 3] = order[i]
    words[i, 7] = 0


@wp.func
def slot_box(
    word: wp.uint32,
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    high_side: bool,
):
    # A corner of the box of a leaf: of all its items that count.
    out = wp.vec3(INFINITE, INFINITE, INFINITE)
    if high_side:
        out = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    first = int(word & wp.uint32(0x0FFFFFFF))
    for k in range(int((word >> wp.uint32(28)) & wp.uint32(7)) + 1):
        low = lowers[order[first + k]]
        high = uppers[order[first + k]]
        if counts(low, high):
            if high_side:
                out = wp.max(out, high)
            else:
                out = wp.min(out, low)
    return out


@wp.func
def put_box(planes: wp.array2d(dtype=float), number: int, side: int, low: wp.vec3, high: wp.vec3):
    for k in range(3):
        planes[number, 2 * k + side] = low[k]
        planes[number, 6 + 2 * k + side] = high[k]


@wp.kernel
def refit_nodes(
    order: wp.array(dtype=int),
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    words: wp.array2d(dtype=wp.uint32),
    arrived: wp.array(dtype=int),
    planes: wp.array2d(dtype=float),
):
    # A thread starts at each node; who finds all below it done goes on to the parent. `arrived` is zero before.
    number = int(wp.tid())
    if number > 0 and number >= int(words[0, 15]):
        return
    inner = int(0)  # children that are nodes
    for side in range(2):
        word = words[number, 12 + side]
        if (word & wp.uint32(0x80000000)) != wp.uint32(0):
            low = slot_box(word, order, lowers, uppers, False)
            put_box(planes, number, side, low, slot_box(word, order, lowers, uppers, True))
        elif word != wp.uint32(0):
            inner += 1
    wp._fence()
    # The node itself counts as one to arrive: with those of its inner children, the last of all goes on.
    while wp.atomic_add(arrived, number, 1) == inner:
        wp._fence()
        above = words[number, 14]
        if above == wp.uint32(0xFFFFFFFF):
            return
        low = wp.vec3(0.0, 0.0, 0.0)
        high = wp.vec3(0.0, 0.0, 0.0)
        for k in range(3):
            low[k] = wp.min(planes[number, 2 * k], planes[number, 2 * k + 1])
            high[k] = wp.max(planes[number, 6 + 2 * k], planes[number, 6 + 2 * k + 1])
        number = int(above >> wp.uint32(1))
        put_box(planes, number, int(above & wp.uint32(1)), low, high)
        inner = int(0)
        for side in range(2):
            word = words[number, 12 + side]
            if (word & wp.uint32(0x80000000)) == wp.uint32(0) and word != wp.uint32(0):
                inner += 1
        wp._fence()


@wp.func
def distance(a: wp.vec3, b: wp.vec3):
    x = wp.float64(b[0]) - wp.float64(a[0])
    y = wp.float64(b[1]) - wp.float64(a[1])
    z = wp.float64(b[2]) - wp.float64(a[2])
    return wp.sqrt(x * x + y * y + z * z)


@wp.kernel
def edge_lengths(
    points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), lengths: wp.array2d(dtype=wp.float64)
):
    # Row 0: the three edges of a face together; row 1: how many there are.
    f = wp.tid()
    a = corner(points, indices, 3 * f)
    b = corner(points, indices, 3 * f + 1)
    c = corner(points, indices, 3 * f + 2)
    lengths[0, f] = wp.float64(0.0)
    lengths[1, f] = wp.float64(0.0)
    if is_number(a) and is_number(b) and is_number(c):
        lengths[0, f] = distance(a, b) + distance(b, c) + distance(c, a)
        lengths[1, f] = wp.float64(3.0)
