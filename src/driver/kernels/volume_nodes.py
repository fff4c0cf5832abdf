# Kernels that write the nodes of a grid, given its points sorted by their places in the tree (kernels/volume_points.py). Grids are
# words of 32 bits, or rows of four. Nothing is written if there is not room for all.

# What is known of a grid, as of its last build that there was room for.
STATUS = wp.constant(0)  # of the last build of all: bits for what there was not room for, or points in no voxel
LEAVES = wp.constant(1)
LOWERS = wp.constant(2)
UPPERS = wp.constant(3)
VOXELS = wp.constant(4)  # active ones
CLEARED = wp.constant(4)  # from a number of nodes to how many there were before, where that is more: those are cleared
BOX = wp.constant(8)  # the table of places: its first place, and its extent; 0 without a table
EXTENT = wp.constant(11)

# The plan: places of the parts of a grid and sizes of nodes, in words.
ROOT = wp.constant(0)
FIRST_TILE = wp.constant(1)
FIRST_UPPER = wp.constant(2)
FIRST_LOWER = wp.constant(3)
FIRST_LEAF = wp.constant(4)
TILE_WORDS = wp.constant(5)
UPPER_WORDS = wp.constant(6)
LOWER_WORDS = wp.constant(7)
LEAF_WORDS = wp.constant(8)
STRIDE = wp.constant(9)  # of tables
UPPER_TABLE = wp.constant(10)
LOWER_TABLE = wp.constant(11)
ROOM = wp.constant(12)  # for leaves, lower and upper nodes, voxels
WHOLE = wp.constant(16)  # tiles with all of their voxels
INDEXED = wp.constant(17)  # 0: voxels have values; 1: all have indices; 2: active ones have
MOST_PLACES = wp.constant(18)
BACKGROUND = wp.constant(19)  # an entry of the table of places

# Words of headers and nodes (volume/grid_format.h).
FLAGS_WORD = wp.constant(5)
WORLD_BOX = wp.constant(140)
INDEXED_VALUES = wp.constant(164)
NODE_COUNTS = wp.constant(176)
VOXEL_COUNT = wp.constant(182)
ROOT_TILES = wp.constant(6)
HAS_BOX = wp.constant(2)
UPPER_CHILDREN = wp.constant(1032)
LOWER_CHILDREN = wp.constant(136)
LEAF_MASK = wp.constant(4)
LEAF_FIRST = wp.constant(20)
LEAF_PREFIX = wp.constant(22)

LAST_PLACE = wp.constant(1 << 28)


@wp.kernel
def settle_counts(
    ranks: wp.array(dtype=wp.vec4i), found: wp.array(dtype=int), plan: wp.array(dtype=int), state: wp.array(dtype=int)
):
    # How many nodes there are, and whether there is room for them.
    n = ranks.shape[0]
    counts = wp.vec4i(0, 0, 0, 0)
    if n > 0 and found[FIRST] != NOBODY:
        last = ranks[n - 1]
        counts = wp.vec4i(last[1], last[2], last[3], last[0])
    status = int(0)
    for k in range(3):
        if counts[k] > plan[ROOM + k]:
            status = status | (1 << k)
    if plan[WHOLE] != 0:
        # Tiles without room are told by their own bit as well; their voxels may be more than int32 can number.
        if counts[0] > plan[ROOM + 3] // 512:
            status = status | 8
        counts[3] = counts[0] * 512
    elif counts[3] > plan[ROOM + 3]:
        status = status | 8
    if found[BAD] != 0:
        status = status | 16
    state[STATUS] = status
    if status == 0:
        for k in range(3):
            state[LEAVES + k + CLEARED] = wp.max(state[LEAVES + k], counts[k])
            state[LEAVES + k] = counts[k]
        state[VOXELS] = counts[3]


@wp.kernel
def write_head(head: wp.array(dtype=int), state: wp.array(dtype=int), grid: wp.array(dtype=int)):
    i = wp.tid()
    if state[STATUS] == 0:
        grid[i] = head[i]


@wp.kernel
def clear_nodes(
    state: wp.array(dtype=int),
    kind: int,
    first: int,
    rows: int,
    patterns: wp.array(dtype=wp.vec4i),
    lead: int,
    lead_rows: int,
    table_at: int,
    table: int,
    period: int,
    threads: int,
    grid: wp.array(dtype=wp.vec4i),
):
    # Nodes of a kind (a place in the state) that are empty so far: rows that they begin with, then a table of background values,
    # whose pattern comes again after `period` rows. Behind them, where there were nodes before, zeros.
    if state[STATUS] != 0:
        return
    used = state[kind] * rows
    end = state[kind + CLEARED] * rows
    i = wp.tid()
    while i < end:
        part = i % rows
        value = wp.vec4i(0, 0, 0, 0)
        if i < used:
            if part < lead_rows:
                value = patterns[lead + part]
            elif part >= table_at:
                value = patterns[table + (part - table_at) % period]
        grid[first + i] = value
        i += threads


@wp.func
def put_link(grid: wp.array(dtype=int), at: int, words: int):
    # A distance in bytes, of 64 bits.
    grid[at] = int(wp.uint32(words) << wp.uint32(2))
    grid[at + 1] = int(wp.uint32(words) >> wp.uint32(30))


@wp.func
def coordinate(tile: wp.uint64, shift: wp.uint64):
    return ((wp.uint32(tile >> shift) & wp.uint32(0xFFFFF)) ^ wp.uint32(0x80000)) << wp.uint32(12)


@wp.kernel
def link_nodes(
    order: wp.array(dtype=int),
    lows: wp.array(dtype=wp.uint64),
    highs: wp.array(dtype=wp.uint32),
    ranks: wp.array(dtype=wp.vec4i),
    plan: wp.array(dtype=int),
    state: wp.array(dtype=int),
    leaf_parents: wp.array(dtype=int),
    lower_parents: wp.array(dtype=int),
    grid: wp.array(dtype=int),
):
    i = wp.tid()
    if state[STATUS] != 0 or state[LEAVES] == 0:
        return
    rank = ranks[i]
    before = wp.vec4i(0, 0, 0, 0)
    if i > 0:
        before = ranks[i - 1]
    if rank[0] == before[0]:
        return
    low = lows[order[i]]
    leaf = plan[FIRST_LEAF] + (rank[1] - 1) * plan[LEAF_WORDS]
    if plan[WHOLE] == 0:
        voxel = int(low) & 511
        wp.atomic_or(grid, leaf + LEAF_MASK + (voxel >> 5), 1 << (voxel & 31))
    if rank[1] == before[1]:
        return
    tile = (wp.uint64(highs[order[i]]) << wp.uint64(28)) | (low >> wp.uint64(36))
    upper_slot = int(low >> wp.uint64(21)) & 32767
    lower_slot = int(low >> wp.uint64(9)) & 4095
    grid[leaf] = int(coordinate(tile, wp.uint64(40))) | ((upper_slot >> 10) << 7) | ((lower_slot >> 8) << 3)
    grid[leaf + 1] = int(coordinate(tile, wp.uint64(20))) | (((upper_slot >> 5) & 31) << 7) | (((lower_slot >> 4) & 15) << 3)
    grid[leaf + 2] = int(coordinate(tile, wp.uint64(0))) | ((upper_slot & 31) << 7) | ((lower_slot & 15) << 3)
    if plan[INDEXED] != 0:
        grid[leaf + LEAF_FIRST] = wp.where(plan[WHOLE] != 0, 512 * (rank[1] - 1) + 1, rank[0])
    lower = plan[FIRST_LOWER] + (rank[2] - 1) * plan[LOWER_WORDS]
    leaf_parents[rank[1] - 1] = lower
    wp.atomic_or(grid, lower + LOWER_CHILDREN + (lower_slot >> 5), 1 << (lower_slot & 31))
    put_link(grid, lower + plan[LOWER_TABLE] + lower_slot * plan[STRIDE], leaf - lower)
    if rank[2] == before[2]:
        return
    upper = plan[FIRST_UPPER] + (rank[3] - 1) * plan[UPPER_WORDS]
    lower_parents[rank[2] - 1] = upper
    wp.atomic_or(grid, upper + UPPER_CHILDREN + (upper_slot >> 5), 1 << (upper_slot & 31))
    put_link(grid, upper + plan[UPPER_TABLE] + upper_slot * plan[STRIDE], lower - upper)
    if rank[3] == before[3]:
        return
    entry = plan[FIRST_TILE] + (rank[3] - 1) * plan[TILE_WORDS]
    x = wp.uint64(coordinate(tile, wp.uint64(40)) >> wp.uint32(12))
    y = wp.uint64(coordinate(tile, wp.uint64(20)) >> wp.uint32(12))
    z = wp.uint64(coordinate(tile, wp.uint64(0)) >> wp.uint32(12))
    key = (x << wp.uint64(42)) | (y << wp.uint64(21)) | z
    grid[entry] = int(key)
    grid[entry + 1] = int(key >> wp.uint64(32))
    put_link(grid, entry + 2, upper - plan[ROOT])


@wp.func
def widen_box(grid: wp.array(dtype=int), node: int, low: wp.vec3i, high: wp.vec3i):
    for k in range(3):
        wp.atomic_min(grid, node + k, low[k])
        wp.atomic_max(grid, node + 3 + k, high[k])


@wp.func
def first_bit(bits: int):
    # Of eight.
    out = int(0)
    while ((bits >> out) & 1) == 0:
        out += 1
    return out


@wp.func
def last_bit(bits: int):
    out = int(7)
    while ((bits >> out) & 1) == 0:
        out -= 1
    return out


@wp.kernel
def finish_leaves(
    plan: wp.array(dtype=int), state: wp.array(dtype=int), leaf_parents: wp.array(dtype=int), grid: wp.array(dtype=int)
):
    # Boxes of active voxels, counts of those before each word of the mask.
    i = wp.tid()
    if state[STATUS] != 0 or i >= state[LEAVES]:
        return
    leaf = plan[FIRST_LEAF] + i * plan[LEAF_WORDS]
    low = wp.vec3i(grid[leaf], grid[leaf + 1], grid[leaf + 2])
    high = low + wp.vec3i(7, 7, 7)
    extent = int(0x070707)
    if plan[WHOLE] == 0:
        slabs = int(0)
        near = int(0)
        far = int(0)
        sum = wp.uint64(0)
        prefix = wp.uint64(0)
        for k in range(8):
            a = grid[leaf + LEAF_MASK + 2 * k]
            b = grid[leaf + LEAF_MASK + 2 * k + 1]
            if (a | b) != 0:
                slabs = slabs | (1 << k)
            near = near | a
            far = far | b
            sum += wp.uint64(wp.bit_count(a) + wp.bit_count(b))
            if k < 7:
                prefix = prefix | (sum << wp.uint64(9 * k))
        rows = int(0)
        places = int(0)
        for k in range(4):
            a = (near >> (8 * k)) & 255
            b = (far >> (8 * k)) & 255
            if a != 0:
                rows = rows | (1 << k)
            if b != 0:
                rows = rows | (16 << k)
            places = places | a | b
        high = low + wp.vec3i(last_bit(slabs), last_bit(rows), last_bit(places))
        low = low + wp.vec3i(first_bit(slabs), first_bit(rows), first_bit(places))
        inner = high - low
        extent = inner[0] | (inner[1] << 8) | (inner[2] << 16)
        if plan[INDEXED] == 2:
            grid[leaf + LEAF_PREFIX] = int(prefix)
            grid[leaf + LEAF_PREFIX + 1] = int(prefix >> wp.uint64(32))
    for k in range(3):
        grid[leaf + k] = low[k]
    grid[leaf + 3] = extent | (HAS_BOX << 24)
    widen_box(grid, leaf_parents[i], low, high)


@wp.kernel
def finish_lowers(
    plan: wp.array(dtype=int), state: wp.array(dtype=int), lower_parents: wp.array(dtype=int), grid: wp.array(dtype=int)
):
    i = wp.tid()
    if state[STATUS] != 0 or i >= state[LOWERS]:
        return
    at = plan[FIRST_LOWER] + i * plan[LOWER_WORDS]
    low = wp.vec3i(grid[at], grid[at + 1], grid[at + 2])
    widen_box(grid, lower_parents[i], low, wp.vec3i(grid[at + 3], grid[at + 4], grid[at + 5]))


@wp.kernel
def finish_uppers(plan: wp.array(dtype=int), state: wp.array(dtype=int), grid: wp.array(dtype=int)):
    i = wp.tid()
    if state[STATUS] != 0 or i >= state[UPPERS]:
        return
    at = plan[FIRST_UPPER] + i * plan[UPPER_WORDS]
    low = wp.vec3i(grid[at], grid[at + 1], grid[at + 2])
    widen_box(grid, plan[ROOT], low, wp.vec3i(grid[at + 3], grid[at + 4], grid[at + 5]))


@wp.func
def put_double(grid: wp.array(dtype=int), at: int, value: wp.float64):
    bits = wp.cast(value, wp.uint64)
    grid[at] = int(bits)
    grid[at + 1] = int(bits >> wp.uint64(32))


@wp.func
def put_world_box(grid: wp.array(dtype=int), root: int, numbers: wp.array(dtype=wp.float64)):
    # numbers: the matrix comes behind inverse and translation.
    for k in range(3):
        low = wp.float64(wp.inf)
        high = wp.float64(-wp.inf)
        for corner in range(8):
            x = wp.float64(grid[root])
            y = wp.float64(grid[root + 1])
            z = wp.float64(grid[root + 2])
            if (corner & 1) != 0:
                x = wp.float64(grid[root + 3]) + wp.float64(1.0)
            if (corner & 2) != 0:
                y = wp.float64(grid[root + 4]) + wp.float64(1.0)
            if (corner & 4) != 0:
                z = wp.float64(grid[root + 5]) + wp.float64(1.0)
            row = 12 + 3 * k
            world = wp._fma(numbers[row], x, wp._fma(numbers[row + 1], y, wp._fma(numbers[row + 2], z, numbers[9 + k])))
            low = wp.min(low, world)
            high = wp.max(high, world)
        put_double(grid, WORLD_BOX + 2 * k, low)
        put_double(grid, WORLD_BOX + 6 + 2 * k, high)


@wp.kernel
def finish_head(
    plan: wp.array(dtype=int), numbers: wp.array(dtype=wp.float64), state: wp.array(dtype=int), grid: wp.array(dtype=int)
):
    if state[STATUS] != 0:
        return
    root = plan[ROOT]
    for k in range(3):
        grid[NODE_COUNTS + k] = state[LEAVES + k]
        state[BOX + k] = 2 * LAST_PLACE
        state[EXTENT + k] = 0
    grid[VOXEL_COUNT] = state[VOXELS]
    grid[root + ROOT_TILES] = state[UPPERS]
    if plan[INDEXED] != 0:
        grid[INDEXED_VALUES] = state[VOXELS] + 1
    if state[LEAVES] == 0:
        return
    grid[FLAGS_WORD] = grid[FLAGS_WORD] | HAS_BOX
    put_world_box(grid, root, numbers)
    # The table of places, by the rules of volume::place_table.
    places = wp.int64(1)
    fits = True
    for k in range(3):
        low = grid[root + k] >> 3
        high = grid[root + 3 + k] >> 3
        if low <= -LAST_PLACE or high + 1 >= LAST_PLACE:
            fits = False
        places = places * wp.int64(high - low + 3)
        if places > wp.int64(plan[MOST_PLACES]):
            fits = False
            places = wp.int64(1)
    if fits:
        for k in range(3):
            state[BOX + k] = (grid[root + k] >> 3) - 1
            state[EXTENT + k] = (grid[root + 3 + k] >> 3) - (grid[root + k] >> 3) + 3


@wp.kernel
def clear_places(plan: wp.array(dtype=int), state: wp.array(dtype=int), threads: int, places: wp.array(dtype=wp.uint32)):
    if state[STATUS] != 0:
        return
    # There is one entry without a box, too.
    end = wp.max(state[EXTENT] * state[EXTENT + 1] * state[EXTENT + 2], 1)
    i = wp.tid()
    while i < end:
        places[i] = wp.uint32(plan[BACKGROUND])
        i += threads


@wp.kernel
def place_leaves(
    plan: wp.array(dtype=int), state: wp.array(dtype=int), grid: wp.array(dtype=int), places: wp.array(dtype=wp.uint32)
):
    i = wp.tid()
    if state[STATUS] != 0 or i >= state[LEAVES] or state[EXTENT] == 0:
        return
    leaf = plan[FIRST_LEAF] + i * plan[LEAF_WORDS]
    x = (grid[leaf] >> 3) - state[BOX]
    y = (grid[leaf + 1] >> 3) - state[BOX + 1]
    z = (grid[leaf + 2] >> 3) - state[BOX + 2]
    places[(x * state[EXTENT + 1] + y) * state[EXTENT + 2] + z] = wp.uint32(leaf)


@wp.kernel
def describe_grid(plan: wp.array(dtype=int), state: wp.array(dtype=int), slot: wp.array(dtype=int)):
    # What a volume's descriptor (geometry/descriptors.h) says of what is there.
    slot[12] = state[UPPERS]
    slot[15] = wp.where(plan[WHOLE] != 0, state[LEAVES] * 512, state[VOXELS])
    for k in range(3):
        slot[90 + k] = state[BOX + k]
        slot[93 + k] = wp.max(state[EXTENT + k] - 1, 0)
    slot[96] = state[EXTENT + 1] * state[EXTENT + 2]
    slot[97] = state[EXTENT + 2]
