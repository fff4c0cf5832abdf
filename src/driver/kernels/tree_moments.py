# Kernels for winding numbers of trees on a GPU (driver/gpu_trees.cpp), compiled behind kernels/tree_groups.py as one program:
# the moments of geometry/tree.h from the leaves up, by the steps of geometry/host/moments.cpp. In float64, as what is summed
# cancels on closed meshes.
import warp as wp

LARGEST = wp.constant(wp.float64(3.4028234663852886e38))


@wp.struct
class Sums:
    # Area, and its product with where it lies: centres follow from these. Moments around a centre: for each component of the
    # area's normal one product with offsets, and one with their pairs xx yy zz xy xz yz.
    centre: wp.vec3d
    area: wp.float64
    weighted: wp.vec3d
    normal: wp.vec3d
    first_x: wp.vec3d
    first_y: wp.vec3d
    first_z: wp.vec3d
    second_x: wp.spatial_vectord
    second_y: wp.spatial_vectord
    second_z: wp.spatial_vectord


@wp.func
def pairs(a: wp.vec3d, b: wp.vec3d):
    return wp.spatial_vectord(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[0] * b[1], a[0] * b[2], a[1] * b[2])


@wp.func
def moved(first: wp.vec3d, second: wp.spatial_vectord, n: wp.float64, by: wp.vec3d):
    # Second moments around another centre.
    return second + pairs(first, by) + pairs(by, first) + pairs(by, by) * n


@wp.func
def add_moved(sum: Sums, other: Sums):
    # Adds another one's moments, moved from its centre to this one.
    by = other.centre - sum.centre
    sum.normal += other.normal
    sum.first_x += other.first_x + by * other.normal[0]
    sum.first_y += other.first_y + by * other.normal[1]
    sum.first_z += other.first_z + by * other.normal[2]
    sum.second_x += moved(other.first_x, other.second_x, other.normal[0], by)
    sum.second_y += moved(other.first_y, other.second_y, other.normal[1], by)
    sum.second_z += moved(other.first_z, other.second_z, other.normal[2], by)
    sum.area += other.area
    sum.weighted += other.weighted
    return sum


@wp.func
def wide(row: wp.vec4):
    return wp.vec3d(wp.float64(row[0]), wp.float64(row[1]), wp.float64(row[2]))


@wp.func
def add_weight(sum: Sums, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d):
    area = wp.length(wp.cross(b - a, c - a) * wp.float64(0.5))
    sum.area += area
    sum.weighted += (a + b + c) / wp.float64(3.0) * area
    return sum


@wp.func
def add_face(sum: Sums, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d):
    # The mean of a product over a triangle is a twelfth of the sum over its corners plus the product of the sums.
    n = wp.cross(b - a, c - a) * wp.float64(0.5)
    x = a - sum.centre
    y = b - sum.centre
    z = c - sum.centre
    total = x + y + z
    mean = total / wp.float64(3.0)
    products = (pairs(x, x) + pairs(y, y) + pairs(z, z) + pairs(total, total)) / wp.float64(12.0)
    sum.normal += n
    sum.first_x += mean * n[0]
    sum.first_y += mean * n[1]
    sum.first_z += mean * n[2]
    sum.second_x += products * n[0]
    sum.second_y += products * n[1]
    sum.second_z += products * n[2]
    return sum


@wp.func
def place_centre(sum: Sums, planes: wp.array2d(dtype=float), number: int, side: int):
    # Where a child's moments are taken around: a float in any case, as kernels know it as one.
    for k in range(3):
        low = wp.float64(planes[number, 2 * k + side])
        high = wp.float64(planes[number, 6 + 2 * k + side])
        at = (low + high) * wp.float64(0.5)
        if sum.area > wp.float64(0.0):
            at = wp.clamp(sum.weighted[k] / sum.area, low, high)
        sum.centre[k] = wp.float64(wp.float32(at))
    return sum


@wp.func
def radius_around(centre: wp.vec3d, planes: wp.array2d(dtype=float), number: int, side: int):
    # No smaller than the distance from the centre to any corner of the child's box.
    squares = wp.float64(0.0)
    for k in range(3):
        low = wp.float64(planes[number, 2 * k + side])
        high = wp.float64(planes[number, 6 + 2 * k + side])
        far = wp.max(high - centre[k], centre[k] - low)
        squares += far * far
    exact = wp.sqrt(squares) * wp.float64(1.000000000001)
    rounded = wp.float32(wp.min(exact, LARGEST))
    if wp.float64(rounded) < exact:
        rounded = wp.cast(wp.cast(rounded, wp.int32) + 1, wp.float32)
    return rounded


@wp.func
def stored(value: wp.float64):
    # Beyond the range of floats the largest: an infinite moment times a zero would be no number.
    return wp.float32(wp.clamp(value, -LARGEST, LARGEST))


@wp.func
def put_three(moments: wp.array2d(dtype=float), number: int, at: int, values: wp.vec3d):
    for k in range(3):
        moments[number, at + 2 * k] = stored(values[k])


@wp.func
def put_six(moments: wp.array2d(dtype=float), number: int, at: int, values: wp.spatial_vectord):
    for k in range(6):
        moments[number, at + 2 * k] = stored(values[k])


@wp.func
def load_three(totals: wp.array2d(dtype=wp.float64), number: int, at: int):
    return wp.vec3d(totals[number, at], totals[number, at + 1], totals[number, at + 2])


@wp.func
def load_six(totals: wp.array2d(dtype=wp.float64), number: int, at: int):
    return wp.spatial_vectord(
        totals[number, at],
        totals[number, at + 1],
        totals[number, at + 2],
        totals[number, at + 3],
        totals[number, at + 4],
        totals[number, at + 5],
    )


@wp.func
def load_sums(totals: wp.array2d(dtype=wp.float64), number: int):
    sum = Sums()
    sum.area = totals[number, 0]
    sum.weighted = load_three(totals, number, 1)
    sum.centre = load_three(totals, number, 4)
    sum.normal = load_three(totals, number, 7)
    sum.first_x = load_three(totals, number, 10)
    sum.first_y = load_three(totals, number, 13)
    sum.first_z = load_three(totals, number, 16)
    sum.second_x = load_six(totals, number, 19)
    sum.second_y = load_six(totals, number, 25)
    sum.second_z = load_six(totals, number, 31)
    return sum


@wp.func
def keep_three(totals: wp.array2d(dtype=wp.float64), number: int, at: int, values: wp.vec3d):
    for k in range(3):
        totals[number, at + k] = values[k]


@wp.func
def keep_six(totals: wp.array2d(dtype=wp.float64), number: int, at: int, values: wp.spatial_vectord):
    for k in range(6):
        totals[number, at + k] = values[k]


@wp.func
def keep_sums(totals: wp.array2d(dtype=wp.float64), number: int, sum: Sums):
    totals[number, 0] = sum.area
    keep_three(totals, number, 1, sum.weighted)
    keep_three(totals, number, 4, sum.centre)
    keep_three(totals, number, 7, sum.normal)
    keep_three(totals, number, 10, sum.first_x)
    keep_three(totals, number, 13, sum.first_y)
    keep_three(totals, number, 16, sum.first_z)
    keep_six(totals, number, 19, sum.second_x)
    keep_six(totals, number, 25, sum.second_y)
    keep_six(totals, number, 31, sum.second_z)


@wp.func
def sums_of_child(
    number: int,
    side: int,
    word: wp.uint32,
    planes: wp.array2d(dtype=float),
    leaves: wp.array(dtype=wp.vec4),
    totals: wp.array2d(dtype=wp.float64),
):
    sum = Sums()
    if (word & wp.uint32(0x80000000)) == wp.uint32(0):
        # Its own total lies around a centre of the same area, which may differ in the clamp alone.
        below = load_sums(totals, int(word))
        sum.area = below.area
        sum.weighted = below.weighted
        sum = place_centre(sum, planes, number, side)
        sum.area = wp.float64(0.0)
        sum.weighted = wp.vec3d()
        return add_moved(sum, below)
    first = int(word & wp.uint32(0x0FFFFFFF))
    last = first + int((word >> wp.uint32(28)) & wp.uint32(7)) + 1
    for i in range(first, last):
        if not wp.isnan(leaves[3 * i][0]):
            sum = add_weight(sum, wide(leaves[3 * i]), wide(leaves[3 * i + 1]), wide(leaves[3 * i + 2]))
    sum = place_centre(sum, planes, number, side)
    for i in range(first, last):
        if not wp.isnan(leaves[3 * i][0]):
            sum = add_face(sum, wide(leaves[3 * i]), wide(leaves[3 * i + 1]), wide(leaves[3 * i + 2]))
    return sum


@wp.func
def child_column(
    number: int,
    side: int,
    words: wp.array2d(dtype=wp.uint32),
    planes: wp.array2d(dtype=float),
    leaves: wp.array(dtype=wp.vec4),
    totals: wp.array2d(dtype=wp.float64),
    moments: wp.array2d(dtype=float),
):
    # Finds and writes a child's moments: zeros where there is nothing.
    sum = Sums()
    radius = float(0.0)
    word = words[number, 12 + side]
    if word != wp.uint32(0) and planes[number, side] <= planes[number, 6 + side]:
        sum = sums_of_child(number, side, word, planes, leaves, totals)
        radius = radius_around(sum.centre, planes, number, side)
    put_three(moments, number, side, sum.centre)
    moments[number, 6 + side] = radius
    put_three(moments, number, 8 + side, sum.normal)
    put_three(moments, number, 14 + side, sum.first_x)
    put_three(moments, number, 20 + side, sum.first_y)
    put_three(moments, number, 26 + side, sum.first_z)
    put_six(moments, number, 32 + side, sum.second_x)
    put_six(moments, number, 44 + side, sum.second_y)
    put_six(moments, number, 56 + side, sum.second_z)
    return sum


@wp.func
def inner_children(words: wp.array2d(dtype=wp.uint32), number: int):
    inner = int(0)
    for side in range(2):
        word = words[number, 12 + side]
        if word != wp.uint32(0) and (word & wp.uint32(0x80000000)) == wp.uint32(0):
            inner += 1
    return inner


@wp.kernel
def gather_moments(
    words: wp.array2d(dtype=wp.uint32),
    planes: wp.array2d(dtype=float),
    leaves: wp.array(dtype=wp.vec4),
    arrived: wp.array(dtype=int),
    totals: wp.array2d(dtype=wp.float64),
    moments: wp.array2d(dtype=float),
):
    # As refits go up: `arrived` is zero before, and of a node and its inner children the last to arrive goes on.
    number = int(wp.tid())
    if number > 0 and number >= int(words[0, 15]):
        return
    while wp.atomic_add(arrived, number, 1) == inner_children(words, number):
        wp._fence()
        left = child_column(number, 0, words, planes, leaves, totals, moments)
        right = child_column(number, 1, words, planes, leaves, totals, moments)
        whole = Sums()
        if left.area + right.area > wp.float64(0.0):
            whole.centre = (left.weighted + right.weighted) / (left.area + right.area)
        whole = add_moved(whole, left)
        whole = add_moved(whole, right)
        keep_sums(totals, number, whole)
        above = words[number, 14]
        if above == wp.uint32(0xFFFFFFFF):
            return
        number = int(above >> wp.uint32(1))
        wp._fence()
