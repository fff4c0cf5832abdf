# What rays and closest points read of trees of faces (geometry/tree.h: FourNode, GridPair), made from narrow nodes after each
# build and refit; compiled behind kernels/tree.py as one program. What docs/design/geometry.md proves of the grid hangs on
# the numbers here: planes lie at least a step less a 256th outside of the box, and fit in 16 bits.
import warp as wp

NO_SPAN = wp.constant(0xFFFF)  # of an empty child
STEPS = wp.constant(65000.0)  # at most, along the longest side
LEAST_STEP = wp.constant(2.168404344971009e-19)  # 2^-62
COARSENESS = wp.constant(2.384185791015625e-07)  # 2^-22 of coordinates: floats tell such steps apart
MOST_STEP = wp.constant(9.223372036854775808e18)  # 2^63: what walks take larger ones for


@wp.func
def grid_over(rows: wp.array(dtype=wp.vec4)):
    # The grid over a tree, by its root: what is added to a place in steps, and the inverse of a step. Half of a span, as all
    # of it may be beyond the largest number.
    p = rows[0]
    q = rows[1]
    r = rows[2]
    low = wp.vec3(wp.min(p[0], p[1]), wp.min(p[2], p[3]), wp.min(q[0], q[1]))
    high = wp.vec3(wp.max(q[2], q[3]), wp.max(r[0], r[1]), wp.max(r[2], r[3]))
    least = float(LEAST_STEP)
    for k in range(3):
        if low[k] <= high[k]:
            least = wp.max(least, (high[k] * 0.5 - low[k] * 0.5) * (2.0 / STEPS))
            least = wp.max(least, wp.max(wp.abs(low[k]), wp.abs(high[k])) * COARSENESS)
    exponent = (wp.cast(least, wp.uint32) >> wp.uint32(23)) + wp.uint32(1)
    inverse = wp.cast((wp.uint32(254) - exponent) << wp.uint32(23), wp.float32)
    offset = wp.vec3()
    for k in range(3):
        if low[k] <= high[k]:
            offset[k] = 4.0 - low[k] * inverse
    return wp.vec4(offset[0], offset[1], offset[2], inverse)


@wp.func
def span(low: float, high: float, offset: float, inverse: float):
    if not (low <= high):
        return wp.uint32(NO_SPAN)
    first = wp.clamp(wp.floor(low * inverse + offset) - 1.0, 0.0, 65535.0)
    last = wp.clamp(wp.ceil(high * inverse + offset) + 1.0, 0.0, 65535.0)
    return wp.uint32(first) | (wp.uint32(last) << wp.uint32(16))


@wp.func
def spans(p: wp.vec4, q: wp.vec4, r: wp.vec4, side: int, grid: wp.vec4):
    # Of a child, from the first three rows of its node.
    return wp.vec3ui(
        span(p[side], q[2 + side], grid[0], grid[3]),
        span(p[2 + side], r[side], grid[1], grid[3]),
        span(q[side], r[2 + side], grid[2], grid[3]),
    )


@wp.func
def child_of(words: wp.vec4, side: int):
    return wp.cast(words[side], wp.uint32)


@wp.func
def is_inner(word: wp.uint32):
    return word != wp.uint32(0) and (word & wp.uint32(0x80000000)) == wp.uint32(0)


@wp.func
def word_of_four(word: wp.uint32):
    # An empty child of a node is 0, one of four has all bits set. As a float, for rows.
    return wp.cast(wp.where(word == wp.uint32(0), wp.uint32(0xFFFFFFFF), word), wp.float32)


# A place among four is twice a node and a side of it; below zero there is no child.


@wp.func
def low_at(rows: wp.array(dtype=wp.vec4), place: int):
    if place < 0:
        return wp.vec3(INFINITE, INFINITE, INFINITE)
    p = rows[2 * (place & -2)]
    q = rows[2 * (place & -2) + 1]
    if (place & 1) == 0:
        return wp.vec3(p[0], p[2], q[0])
    return wp.vec3(p[1], p[3], q[1])


@wp.func
def high_at(rows: wp.array(dtype=wp.vec4), place: int):
    if place < 0:
        return wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    q = rows[2 * (place & -2) + 1]
    r = rows[2 * (place & -2) + 2]
    if (place & 1) == 0:
        return wp.vec3(q[2], r[0], r[2])
    return wp.vec3(q[3], r[1], r[3])


@wp.func
def word_at(rows: wp.array(dtype=wp.vec4), place: int):
    if place < 0:
        return wp.uint32(0)
    words = rows[2 * (place & -2) + 3]
    if (place & 1) == 0:
        return wp.cast(words[0], wp.uint32)
    return wp.cast(words[1], wp.uint32)


@wp.func
def width_at(rows: wp.array(dtype=wp.vec4), place: int):
    # How wide a child is that can be opened.
    if not is_inner(word_at(rows, place)):
        return -1.0
    sides = high_at(rows, place) - low_at(rows, place)
    x = wp.max(sides[0], 0.0)
    y = wp.max(sides[1], 0.0)
    z = wp.max(sides[2], 0.0)
    return x * y + y * z + z * x


@wp.func
def opened_wider(rows: wp.array(dtype=wp.vec4), child: int):
    # Three places for a node's two children: the wider one opened, if it is a node.
    a = 2 * child
    b = 2 * child + 1
    wide_a = width_at(rows, a)
    wide_b = width_at(rows, b)
    if wide_b > wide_a:
        below = 2 * int(word_at(rows, b))
        return wp.vec3i(a, below, below + 1)
    if wide_a >= 0.0:
        below = 2 * int(word_at(rows, a))
        return wp.vec3i(below, below + 1, b)
    return wp.vec3i(a, b, -1)


@wp.func
def places_of_four(rows: wp.array(dtype=wp.vec4), number: int):
    # The children's children. Beside a child that is a leaf there is room to go a level further: whatever is no leaf lies two
    # levels below or more, which stacks of walks count on.
    a = word_at(rows, 2 * number)
    b = word_at(rows, 2 * number + 1)
    if is_inner(a):
        if is_inner(b):
            return wp.vec4i(2 * int(a), 2 * int(a) + 1, 2 * int(b), 2 * int(b) + 1)
        three = opened_wider(rows, int(a))
        return wp.vec4i(three[0], three[1], three[2], 2 * number + 1)
    if is_inner(b):
        three = opened_wider(rows, int(b))
        return wp.vec4i(2 * number, three[0], three[1], three[2])
    return wp.vec4i(2 * number, 2 * number + 1, -1, -1)


@wp.func
def put_four(rows: wp.array(dtype=wp.vec4), fours: wp.array(dtype=wp.vec4), number: int):
    places = places_of_four(rows, number)
    low_a = low_at(rows, places[0])
    low_b = low_at(rows, places[1])
    low_c = low_at(rows, places[2])
    low_d = low_at(rows, places[3])
    high_a = high_at(rows, places[0])
    high_b = high_at(rows, places[1])
    high_c = high_at(rows, places[2])
    high_d = high_at(rows, places[3])
    to = 8 * number
    for k in range(3):
        fours[to + k] = wp.vec4(low_a[k], low_b[k], low_c[k], low_d[k])
        fours[to + 3 + k] = wp.vec4(high_a[k], high_b[k], high_c[k], high_d[k])
    fours[to + 6] = wp.vec4(
        word_of_four(word_at(rows, places[0])),
        word_of_four(word_at(rows, places[1])),
        word_of_four(word_at(rows, places[2])),
        word_of_four(word_at(rows, places[3])),
    )


@wp.kernel
def make_tables(rows: wp.array(dtype=wp.vec4), fours: wp.array(dtype=wp.vec4), pairs: wp.array(dtype=wp.vec4ui)):
    number = wp.tid()
    if number >= wp.cast(rows[3][3], wp.int32):  # the root says where nodes end
        return
    grid = grid_over(rows)
    if number == 0:
        step = wp.min(1.0 / grid[3], MOST_STEP)
        pairs[0] = wp.vec4ui(
            wp.cast(grid[0], wp.uint32), wp.cast(grid[1], wp.uint32), wp.cast(grid[2], wp.uint32), wp.cast(grid[3], wp.uint32)
        )
        pairs[1] = wp.vec4ui(wp.cast(step, wp.uint32), wp.uint32(0), wp.uint32(0), wp.uint32(0))
    p = rows[4 * number]
    q = rows[4 * number + 1]
    r = rows[4 * number + 2]
    words = rows[4 * number + 3]
    a = spans(p, q, r, 0, grid)
    b = spans(p, q, r, 1, grid)
    second = child_of(words, 1)
    if second == wp.uint32(0):
        b = a
        second = child_of(words, 0)
    pairs[2 + 2 * number] = wp.vec4ui(a[0], a[1], a[2], b[0])
    pairs[3 + 2 * number] = wp.vec4ui(b[1], b[2], child_of(words, 0), second)
    put_four(rows, fours, number)
