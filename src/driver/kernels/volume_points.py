# Kernels for grids that a GPU builds (driver/gpu_grids.cpp): from points to the nodes of a tree. A voxel's key has 96 bits, in which
# tile of the root, slot of the upper node, slot of the lower node and voxel follow each other, as on the host
# (volume/grid_build.cpp); sorted, each node is a run of keys. kernels/volume_nodes.py, which is compiled behind this as one
# program, writes the nodes.
import warp as wp

FIRST = wp.constant(0)  # of what was found: the first point that counts
BAD = wp.constant(1)  # and whether one lies in no voxel
NOBODY = wp.constant(0x7FFFFFFF)
MOST_INDEX = wp.constant(wp.float64(2147483647.0))


@wp.func
def is_chosen(mask: wp.array(dtype=wp.uint8), width: int, i: int):
    # Masks are integers of any width; without one, all are chosen.
    if width == 0:
        return True
    chosen = False
    for k in range(width):
        if mask[i * width + k] != wp.uint8(0):
            chosen = True
    return chosen


@wp.kernel
def choose_points(mask: wp.array(dtype=wp.uint8), width: int, counts: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    counts[i] = wp.where(is_chosen(mask, width, i), wp.uint8(1), wp.uint8(0))


@wp.kernel
def place_points(
    points: wp.array(dtype=float),
    numbers: wp.array(dtype=wp.float64),
    mask: wp.array(dtype=wp.uint8),
    width: int,
    voxels: wp.array(dtype=int),
    counts: wp.array(dtype=wp.uint8),
    found: wp.array(dtype=int),
):
    # The voxels that places of the world lie in, by the steps of volume::voxels_of_places; numbers: the inverse matrix, the translation.
    i = wp.tid()
    x = wp.float64(points[3 * i]) - numbers[9]
    y = wp.float64(points[3 * i + 1]) - numbers[10]
    z = wp.float64(points[3 * i + 2]) - numbers[11]
    chosen = is_chosen(mask, width, i)
    good = True
    for k in range(3):
        last = numbers[3 * k + 2] * z
        index = wp.floor(wp._fma(numbers[3 * k], x, wp._fma(numbers[3 * k + 1], y, last)) + wp.float64(0.5))
        if wp.abs(index) < MOST_INDEX:
            voxels[3 * i + k] = int(index)
        else:
            good = False
            voxels[3 * i + k] = 0
    if chosen and not good:
        wp.atomic_max(found, BAD, 1)
    counts[i] = wp.where(chosen and good, wp.uint8(1), wp.uint8(0))


@wp.kernel
def find_first(counts: wp.array(dtype=wp.uint8), threads: int, found: wp.array(dtype=int)):
    i = wp.tid()
    while i < counts.shape[0]:
        if counts[i] != wp.uint8(0):
            wp.atomic_min(found, FIRST, i)
            return
        i += threads


@wp.func
def slots(x: wp.uint32, y: wp.uint32, z: wp.uint32):
    # 15 bits of the upper node, 12 of the lower one, 9 of the leaf.
    upper = ((x & wp.uint32(0xF80)) << wp.uint32(3)) | ((y & wp.uint32(0xF80)) >> wp.uint32(2)) | ((z & wp.uint32(0xF80)) >> wp.uint32(7))
    lower = ((x & wp.uint32(0x78)) << wp.uint32(5)) | ((y & wp.uint32(0x78)) << wp.uint32(1)) | ((z & wp.uint32(0x78)) >> wp.uint32(3))
    voxel = ((x & wp.uint32(7)) << wp.uint32(6)) | ((y & wp.uint32(7)) << wp.uint32(3)) | (z & wp.uint32(7))
    return (wp.uint64(upper) << wp.uint64(21)) | wp.uint64((lower << wp.uint32(9)) | voxel)


@wp.func
def tile_of(x: wp.uint32, y: wp.uint32, z: wp.uint32):
    # 20 bits an axis, in the order of coordinates, which have signs.
    flip = wp.uint32(0x80000)
    a = wp.uint64((x >> wp.uint32(12)) ^ flip)
    b = wp.uint64((y >> wp.uint32(12)) ^ flip)
    c = wp.uint64((z >> wp.uint32(12)) ^ flip)
    return (a << wp.uint64(40)) | (b << wp.uint64(20)) | c


@wp.kernel
def voxel_keys(
    voxels: wp.array(dtype=int),
    counts: wp.array(dtype=wp.uint8),
    whole: int,
    found: wp.array(dtype=int),
    lows: wp.array(dtype=wp.uint64),
    highs: wp.array(dtype=wp.uint32),
    order: wp.array(dtype=int),
):
    # What does not count becomes once more the first that does: how often a voxel comes makes no difference.
    i = wp.tid()
    order[i] = i
    from_point = i
    if counts.shape[0] > 0:
        if counts[i] == wp.uint8(0):
            from_point = found[FIRST]
            if from_point == NOBODY:
                from_point = i
    x = wp.uint32(voxels[3 * from_point])
    y = wp.uint32(voxels[3 * from_point + 1])
    z = wp.uint32(voxels[3 * from_point + 2])
    if whole != 0:
        x = x & wp.uint32(0xFFFFFFF8)
        y = y & wp.uint32(0xFFFFFFF8)
        z = z & wp.uint32(0xFFFFFFF8)
    tile = tile_of(x, y, z)
    lows[i] = ((tile & wp.uint64(0xFFFFFFF)) << wp.uint64(36)) | slots(x, y, z)
    highs[i] = wp.uint32(tile >> wp.uint64(28))


@wp.kernel
def next_keys(order: wp.array(dtype=int), highs: wp.array(dtype=wp.uint32), keys: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    keys[i] = highs[order[i]]


@wp.kernel
def node_borders(
    order: wp.array(dtype=int),
    lows: wp.array(dtype=wp.uint64),
    highs: wp.array(dtype=wp.uint32),
    begins: wp.array(dtype=wp.vec4i),
):
    # Whether a voxel, a leaf, a lower and an upper node begin with a key: sums of these number them.
    i = wp.tid()
    out = wp.vec4i(1, 1, 1, 1)
    if i > 0:
        a = order[i - 1]
        b = order[i]
        differ = lows[a] ^ lows[b]
        if highs[a] == highs[b]:
            out = wp.vec4i(
                wp.where(differ != wp.uint64(0), 1, 0),
                wp.where((differ >> wp.uint64(9)) != wp.uint64(0), 1, 0),
                wp.where((differ >> wp.uint64(21)) != wp.uint64(0), 1, 0),
                wp.where((differ >> wp.uint64(36)) != wp.uint64(0), 1, 0),
            )
    begins[i] = out


@wp.kernel
def box_tiles(voxels: wp.array(dtype=int), x: int, y: int, z: int, y_count: int, z_count: int):
    # The tiles of a box, from the one at these places of tiles on.
    i = wp.tid()
    row = i // z_count
    voxels[3 * i] = (x + row // y_count) * 8
    voxels[3 * i + 1] = (y + row % y_count) * 8
    voxels[3 * i + 2] = (z + i % z_count) * 8
