# Kernels for what trees on a GPU are over (driver/gpu_trees.cpp): boxes of faces, keys, leaves, refits; functions that
# kernels/tree.py, which is compiled behind this as one program, has in common with them.
import warp as wp

LEAF = wp.constant(4)  # items of a leaf, at most
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
    # Where centres lie. Each thread looks at many boxes, and those of a warp put together what they saw, so that few meet at
    # the six numbers.
    low_end = wp.vec3(INFINITE, INFINITE, INFINITE)
    high_end = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    i = wp.tid()
    while i < lowers.shape[0]:
        low = lowers[i]
        high = uppers[i]
        if counts(low, high):
            centre = wp.vec3(middle(low[0], high[0]), middle(low[1], high[1]), middle(low[2], high[2]))
            low_end = wp.min(low_end, centre)
            high_end = wp.max(high_end, centre)
        i += threads
    warp = wp._warp()
    lane = wp._lane()
    for k in range(3):
        low_key = ordered(low_end[k])
        high_key = ordered(high_end[k])
        tells = bool(True)
        if warp == wp.uint32(0xFFFFFFFF):
            for j in range(5):
                other = lane ^ (wp.uint32(1) << wp.uint32(j))
                low_key = wp.min(low_key, wp._shuffle(warp, low_key, other))
                high_key = wp.max(high_key, wp._shuffle(warp, high_key, other))
            tells = lane == wp.uint32(0)
        # Nobody has seen a number where they are still apart.
        if tells and low_key <= high_key:
            wp.atomic_min(bounds, k, low_key)
            wp.atomic_max(bounds, 3 + k, high_key)


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


@wp.func
def morton_key(low: wp.vec3, high: wp.vec3, bounds: wp.array(dtype=int)):
    if not counts(low, high):
        return wp.uint32(0x7FFFFFFF)  # what counts for nothing comes last
    key = wp.uint32(0)
    for k in range(3):
        c = cell(middle(low[k], high[k]), number_of(bounds[k]), number_of(bounds[3 + k]))
        key = key | (spread(c) << wp.uint32(2 - k))
    return key


@wp.kernel
def morton_keys(
    lowers: wp.array(dtype=wp.vec3),
    uppers: wp.array(dtype=wp.vec3),
    bounds: wp.array(dtype=int),
    keys: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
):
    i = wp.tid()
    order[i] = i
    keys[i] = morton_key(lowers[i], uppers[i], bounds)


@wp.func
def row(v: wp.vec3, bits: int):
    return wp.vec4(v[0], v[1], v[2], wp.cast(bits, wp.float32))


@wp.func
def bits_of(row: wp.vec4):
    return wp.cast(row[3], wp.int32)


@wp.func
def distance(a: wp.vec3, b: wp.vec3):
    x = wp.float64(b[0]) - wp.float64(a[0])
    y = wp.float64(b[1]) - wp.float64(a[1])
    z = wp.float64(b[2]) - wp.float64(a[2])
    return wp.sqrt(x * x + y * y + z * z)


@wp.func
def put_face(
    points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), rows: wp.array(dtype=wp.vec4), i: int, f: int
):
    # A leaf's copies of corners, in the order of leaves, three rows each: x0 number x1 0 x2 0. Faces that count for nothing
    # have none. Gives the lengths of the edges together and how many edges there are.
    a = corner(points, indices, 3 * f)
    b = corner(points, indices, 3 * f + 1)
    c = corner(points, indices, 3 * f + 2)
    length = distance(a, b) + distance(b, c) + distance(c, a)
    count = wp.float64(3.0)
    if not (is_number(a) and is_number(b) and is_number(c)):
        a = wp.vec3(wp.nan, wp.nan, wp.nan)
        b = a
        c = a
        length = wp.float64(0.0)
        count = wp.float64(0.0)
    rows[3 * i] = row(a, f)
    rows[3 * i + 1] = row(b, 0)
    rows[3 * i + 2] = row(c, 0)
    return length, count


@wp.kernel
def fill_faces(
    points: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), order: wp.array(dtype=int), rows: wp.array(dtype=wp.vec4)
):
    put_face(points, indices, rows, wp.tid(), order[wp.tid()])


@wp.func
def add_edges(edges: wp.array(dtype=wp.float64), length: wp.float64, count: wp.float64):
    # The lengths of all edges together, and how many there are.
    wp.atomic_add(edges, 0, length)
    wp.atomic_add(edges, 1, count)


@wp.kernel
def fill_and_measure_faces(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    order: wp.array(dtype=int),
    rows: wp.array(dtype=wp.vec4),
    edges: wp.array(dtype=wp.float64),
):
    length, count = put_face(points, indices, rows, wp.tid(), order[wp.tid()])
    add_edges(edges, length, count)


@wp.kernel
def refill_faces(
    points: wp.array(dtype=wp.vec3),
    indices: wp.array(dtype=int),
    rows: wp.array(dtype=wp.vec4),
    edges: wp.array(dtype=wp.float64),
):
    # The leaves know the order themselves.
    length, count = put_face(points, indices, rows, wp.tid(), bits_of(rows[3 * wp.tid()]))
    add_edges(edges, length, count)


@wp.kernel
def set_mean_edge(edges: wp.array(dtype=wp.float64), mean: wp.array(dtype=wp.float32)):
    # As geometry/mesh.cpp rounds it: sums are in another order each time, and what kernels see shall be the same.
    value = wp.float32(0.0)
    if edges[1] > wp.float64(0.0):
        value = wp.float32(edges[0] / edges[1])
    if wp.isfinite(value):
        value = wp.cast((wp.cast(value, wp.uint32) + wp.uint32(2048)) & wp.uint32(0xFFFFF000), wp.float32)
    mean[0] = value


@wp.func
def put_item(
    lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), rows: wp.array(dtype=wp.vec4), i: int, item: int
):
    low = lowers[item]
    high = uppers[item]
    if not counts(low, high):
        low = wp.vec3(INFINITE, INFINITE, INFINITE)
        high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    rows[2 * i] = row(low, item)
    rows[2 * i + 1] = row(high, 0)


@wp.kernel
def fill_boxes(
    lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), order: wp.array(dtype=int), rows: wp.array(dtype=wp.vec4)
):
    put_item(lowers, uppers, rows, wp.tid(), order[wp.tid()])


@wp.kernel
def refill_boxes(lowers: wp.array(dtype=wp.vec3), uppers: wp.array(dtype=wp.vec3), rows: wp.array(dtype=wp.vec4)):
    put_item(lowers, uppers, rows, wp.tid(), bits_of(rows[2 * wp.tid()]))


@wp.func
def place_of(row: wp.vec4):
    return wp.vec3(row[0], row[1], row[2])


@wp.func
def leaf_box(word: wp.uint32, rows: wp.array(dtype=wp.vec4), each: int):
    # The box around a leaf, from its items: faces of three rows, boxes of two. What counts for nothing has no corners, or a
    # box around nothing.
    low = wp.vec3(INFINITE, INFINITE, INFINITE)
    high = wp.vec3(-INFINITE, -INFINITE, -INFINITE)
    first = int(word & wp.uint32(0x0FFFFFFF))
    for k in range(int((word >> wp.uint32(28)) & wp.uint32(7)) + 1):
        a = place_of(rows[each * (first + k)])
        b = place_of(rows[each * (first + k) + 1])
        if each == 2:
            low = wp.min(low, a)
            high = wp.max(high, b)
        elif not wp.isnan(a[0]):
            c = place_of(rows[each * (first + k) + 2])
            low = wp.min(low, wp.min(wp.min(a, b), c))
            high = wp.max(high, wp.max(wp.max(a, b), c))
    return low, high


@wp.func
def put_box(planes: wp.array2d(dtype=float), number: int, side: int, low: wp.vec3, high: wp.vec3):
    for k in range(3):
        planes[number, 2 * k + side] = low[k]
        planes[number, 6 + 2 * k + side] = high[k]


@wp.kernel
def refit_nodes(
    rows: wp.array(dtype=wp.vec4),
    each: int,
    words: wp.array2d(dtype=wp.uint32),
    arrived: wp.array(dtype=int),
    planes: wp.array2d(dtype=float),
):
    # Boxes of nodes from leaves, which are filled already, `each` rows an item.
    # A thread starts at each node; who finds all below it done goes on to the parent. `arrived` is zero before.
    number = int(wp.tid())
    if number > 0 and number >= int(words[0, 15]):
        return
    inner = int(0)  # children that are nodes
    for side in range(2):
        word = words[number, 12 + side]
        if (word & wp.uint32(0x80000000)) != wp.uint32(0):
            low, high = leaf_box(word, rows, each)
            put_box(planes, number, side, low, high)
        elif word != wp.uint32(0):
            inner += 1
    wp._fence()
    # The node itself counts as one to arrive: with those of its inner children, the last of all goes on.
    while wp.atomic_add(arrived, number, 1) == inner:
        wp._fence()
        above = words[number, 14]
        if above == wp.uint32(0xFFFFFFFF):
            return
        low = wp.vec3()
        high = wp.vec3()
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
