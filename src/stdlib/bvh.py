# Trees: their heads, and iterators over what meets a box, a ray, a sphere or a capsule. An iterator has no stack: its state
# is where it stands (node, child, place in the leaf), and a node's parent tells where to go on. So it is a struct of a few
# words, and any number of them may be open. What a leaf holds is tested by the very functions that test nodes.

_MESH_TREE = uint64(320)  # where a mesh's descriptor has that of its tree


class _TreeHead:
    kind: uint32
    generation: uint32
    flags: uint32
    reserved: uint32
    nodes: uint64
    leaves: uint64
    moments: uint64
    groups: uint64
    nobodys: uint32
    node_count: uint32
    reserved2: uint32
    entry_count: uint32
    fours: uint64
    pairs: uint64


_TREE_OF_FACES = uint32(1)
_TREE_WITH_MOMENTS = uint32(2)


class _GroupRoot:
    group: int
    root: int


def _root_word(tree: uint64, root: int):
    # The node that a walk begins with; _NODE_NONE if there is none.
    count = _fixed(tree, _TreeHead)[0].node_count
    word = where(root == -1, uint32(0), uint32(root))
    return where(word < count, word, _NODE_NONE)


def _group_root(tree: uint64, group: int):
    table = _fixed(tree, _TreeHead)[0].groups
    groups = _fixed(table, _GroupRoot)
    first = uint32(1)
    last = uint32(0)
    if table != uint64(0):
        last = uint32(groups[0].group) + uint32(1)
    found = -1
    while first < last:
        middle = (first + last) / uint32(2)
        here = groups[middle].group
        if here == group:
            found = groups[middle].root
            first = last
        elif here < group:
            first = middle + uint32(1)
        else:
            last = middle
    return found


_MEETS_BOX = uint32(0)  # a and b are its corners
_MEETS_RAY = uint32(1)  # a is the start, b has the rates
_MEETS_SPHERE = uint32(2)  # a is the centre; radius
_MEETS_CAPSULE = uint32(3)  # as a ray, with a radius


class _TreeQuery:
    tree: uint64
    a: vec3
    b: vec3
    radius: float
    shape: uint32
    root: uint32  # _NODE_NONE if there is nothing
    node: uint32
    slot: uint32  # the child to look at next
    place: uint32  # in the leaf of the child before: four times the entry, and which of a block
    end: uint32  # behind the leaf; equal to place if no leaf is open
    rest: uint32  # bits of what else was met in the block before place


def _tree_query(tree: uint64, shape: uint32, a: vec3, b: vec3, radius: float, root: int, valid: bool):
    query = _TreeQuery(tree=tree, a=a, b=b, radius=radius, shape=shape)
    query.root = _NODE_NONE
    if tree != uint64(0) and valid:
        query.root = _root_word(tree, root)
    query.node = query.root
    return query


def _box_met(query: _TreeQuery, low_x, low_y, low_z, high_x, high_y, high_z, limit: float):
    # Bits of the boxes that the query meets, a ray within the limit. What was left out of the tree has lows above highs.
    return _less_equal_bits(low_x, high_x) & _shape_met(query, low_x, low_y, low_z, high_x, high_y, high_z, limit)


def _shape_met(query: _TreeQuery, low_x, low_y, low_z, high_x, high_y, high_z, limit: float):
    if query.shape == _MEETS_BOX:
        return _box_meets(low_x, low_y, low_z, high_x, high_y, high_z, query.a, query.b)
    if query.shape == _MEETS_SPHERE:
        apart = _box_distance(low_x, low_y, low_z, high_x, high_y, high_z, query.a)
        return _less_equal_bits(apart, type(apart)(query.radius * query.radius))
    # The box grown by the radius, of a ray by nothing.
    grown = type(low_x)(query.radius)
    back_x = query.b[0] < 0.0
    back_y = query.b[1] < 0.0
    back_z = query.b[2] < 0.0
    near_x = where(back_x, high_x + grown, low_x - grown)
    near_y = where(back_y, high_y + grown, low_y - grown)
    near_z = where(back_z, high_z + grown, low_z - grown)
    far_x = where(back_x, low_x - grown, high_x + grown)
    far_y = where(back_y, low_y - grown, high_y + grown)
    far_z = where(back_z, low_z - grown, high_z + grown)
    entry = _box_entry(near_x, near_y, near_z, query.a, query.b)
    out = _box_exit(far_x, far_y, far_z, query.a, query.b, inf)
    return _less_equal_bits(entry, out) & _less_bits(entry, type(entry)(limit))


def _tree_next(query: ref, index: ref, limit: float):
    # The next item that the query meets; False behind the last.
    more, number, node, slot, place, end, rest = False, 0, uint32(0), uint32(0), uint32(0), uint32(0), uint32(0)
    if query.root != _NODE_NONE:
        if _on_gpu():
            number, node, slot, place, end = _tree_step_narrow(query, limit)
            query.node = node
            query.slot = slot
            query.place = place
            query.end = end
        elif query.rest != uint32(0):
            number = _tree_block_number(query.tree, (query.place >> uint32(2)) - uint32(1), _trailing_zeros(query.rest))
            query.rest = query.rest & (query.rest - uint32(1))
        else:
            number, node, slot, place, end, rest = _tree_step_wide(query, limit)
            query.node = node
            query.slot = slot
            query.place = place
            query.end = end
            query.rest = rest
        more = number >= 0
        if more:
            index = number
        else:
            query.root = _NODE_NONE
    return more


def _tree_block_number(tree: uint64, entry: uint32, k: uint32):
    head = _fixed(tree, _TreeHead)
    of_faces = (head[0].flags & _TREE_OF_FACES) != uint32(0)
    row = where(of_faces, entry * uint32(10) + uint32(9), entry * uint32(7) + uint32(6))
    return _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))[row][k]


@lanewise
def _tree_step_wide(query: _TreeQuery, limit: float):
    head = _fixed(query.tree, _TreeHead)
    planes = _fixed(head[0].nodes, type(vector(length=8, dtype=float32)))
    words = _fixed(head[0].nodes, type(vector(length=8, dtype=uint32)))
    blocks = _fixed(head[0].leaves, vec4)
    numbers = _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))
    of_faces = (head[0].flags & _TREE_OF_FACES) != uint32(0)
    node = query.node
    slot = query.slot
    place = query.place
    end = query.end
    rest = uint32(0)
    found = -1
    going = True
    while going:
        if place < end:
            entry = place >> uint32(2)
            mask = uint32(0)
            row = entry * uint32(7) + uint32(6)
            if of_faces:
                row = entry * uint32(10) + uint32(9)
                mask = _face_boxes_met(query, blocks, entry * uint32(10), limit)
            else:
                mask = _box_met(
                    query,
                    blocks[row - uint32(6)],
                    blocks[row - uint32(5)],
                    blocks[row - uint32(4)],
                    blocks[row - uint32(3)],
                    blocks[row - uint32(2)],
                    blocks[row - uint32(1)],
                    limit,
                )
            mask = mask & (uint32(0xF) << (place & uint32(3)))
            if mask == uint32(0):
                place = (entry + uint32(1)) << uint32(2)
            else:
                k = _trailing_zeros(mask)
                found = numbers[row][k]
                going = found < 0
                place = (entry << uint32(2)) + k + uint32(1)
                if query.shape == _MEETS_BOX or query.shape == _MEETS_SPHERE:
                    # No limit that may change: what else was met here is told without another look.
                    rest = where(found < 0, uint32(0), mask & (mask - uint32(1)))
                    place = (entry + uint32(1)) << uint32(2)
        else:
            row = node * uint32(8)
            mask = _box_met(
                query,
                planes[row],
                planes[row + uint32(1)],
                planes[row + uint32(2)],
                planes[row + uint32(3)],
                planes[row + uint32(4)],
                planes[row + uint32(5)],
                limit,
            )
            mask = mask & ((uint32(1) << words[row + uint32(7)][1]) - uint32(1)) & (uint32(0xFFFFFFFF) << slot)
            if mask != uint32(0):
                k = _trailing_zeros(mask)
                word = words[row + uint32(6)][k]
                if (word & _LEAF) != uint32(0):
                    slot = k + uint32(1)
                    place = (word & uint32(0x0FFFFFFF)) << uint32(2)
                    end = place + ((((word >> uint32(28)) & uint32(7)) + uint32(1)) << uint32(2))
                else:
                    node = word
                    slot = uint32(0)
            elif node == query.root:
                going = False
            else:
                parent = words[row + uint32(7)][0]
                node = parent >> uint32(3)
                slot = (parent & uint32(7)) + uint32(1)
    return found, node, slot, place, end, rest


def _face_boxes_met(query: _TreeQuery, blocks, at: uint32, limit: float):
    return _box_met(
        query,
        _least_of(blocks[at], blocks[at + uint32(3)], blocks[at + uint32(6)]),
        _least_of(blocks[at + uint32(1)], blocks[at + uint32(4)], blocks[at + uint32(7)]),
        _least_of(blocks[at + uint32(2)], blocks[at + uint32(5)], blocks[at + uint32(8)]),
        _greatest_of(blocks[at], blocks[at + uint32(3)], blocks[at + uint32(6)]),
        _greatest_of(blocks[at + uint32(1)], blocks[at + uint32(4)], blocks[at + uint32(7)]),
        _greatest_of(blocks[at + uint32(2)], blocks[at + uint32(5)], blocks[at + uint32(8)]),
        limit,
    )


def _entry_met(query: _TreeQuery, rows, numbers, of_faces: bool, place: uint32, limit: float):
    # The number of what stands at a place of a leaf with single entries, if the query meets its box; else -1.
    row = (place >> uint32(2)) * where(of_faces, uint32(3), uint32(2))
    low = rows[row]
    high = rows[row + uint32(1)]
    if of_faces:
        third = rows[row + uint32(2)]
        first = low
        low = _least_of(first, high, third)
        high = _greatest_of(first, high, third)
    found = -1
    if _box_met(query, low[0], low[1], low[2], high[0], high[1], high[2], limit) != uint32(0):
        found = numbers[row][3]
    return found


def _child_met(query: _TreeQuery, planes, first: uint32, second: uint32, node: uint32, slot: uint32, limit: float):
    # The word of the next of a node's two children that the query meets, 0 for none, and the slot behind it.
    row = node * uint32(4)
    p = planes[row]
    q = planes[row + uint32(1)]
    r = planes[row + uint32(2)]
    word = uint32(0)
    after = slot
    if after == uint32(0):
        after = uint32(1)
        if _box_met(query, p[0], p[2], q[0], q[2], r[0], r[2], limit) != uint32(0):
            word = first
    if word == uint32(0) and after == uint32(1):
        after = uint32(2)
        if _box_met(query, p[1], p[3], q[1], q[3], r[1], r[3], limit) != uint32(0):
            word = second
    return word, after


@lanewise
def _tree_step_narrow(query: _TreeQuery, limit: float):
    # The same with two children a node and single entries in leaves.
    head = _fixed(query.tree, _TreeHead)
    planes = _fixed(head[0].nodes, vec4)
    words = _fixed(head[0].nodes, type(vector(length=4, dtype=uint32)))
    rows = _fixed(head[0].leaves, vec4)
    numbers = _fixed(head[0].leaves, type(vector(length=4, dtype=int32)))
    of_faces = (head[0].flags & _TREE_OF_FACES) != uint32(0)
    node = query.node
    slot = query.slot
    place = query.place
    end = query.end
    found = -1
    going = True
    while going:
        if place < end:
            found = _entry_met(query, rows, numbers, of_faces, place, limit)
            place += uint32(4)
            going = found < 0
        else:
            tail = words[node * uint32(4) + uint32(3)]
            word, slot = _child_met(query, planes, tail[0], tail[1], node, slot, limit)
            if word != uint32(0):
                if (word & _LEAF) != uint32(0):
                    place = (word & uint32(0x0FFFFFFF)) << uint32(2)
                    end = place + ((((word >> uint32(28)) & uint32(7)) + uint32(1)) << uint32(2))
                else:
                    node = word
                    slot = uint32(0)
            elif node == query.root:
                going = False
            else:
                node = tail[2] >> uint32(1)
                slot = (tail[2] & uint32(1)) + uint32(1)
    return found, node, slot, place, end


# What programs call.


class BvhQuery:
    """What of a tree meets a box, a ray, a sphere or a capsule."""

    __next__ = bvh_query_next
    _query: _TreeQuery


def bvh_query_aabb(id, low, high, root):
    return BvhQuery(_query=_tree_query_aabb(_handle("bvh", id), low, high, root))


def _tree_query_aabb(tree: uint64, low: vec3, high: vec3, root: int):
    valid = low[0] <= high[0] and low[1] <= high[1] and low[2] <= high[2]
    return _tree_query(tree, _MEETS_BOX, low, high, 0.0, root, valid)


def _tree_query_sphere(tree: uint64, center: vec3, radius: float, root: int):
    return _tree_query(tree, _MEETS_SPHERE, center, vec3(), radius, root, _is_place(center) and radius >= 0.0)


def bvh_query_sphere(id, center, radius, root):
    return BvhQuery(_query=_tree_query_sphere(_handle("bvh", id), center, radius, root))


def bvh_query_ray(id, start, dir, root):
    valid = _is_ray(start, dir)
    return BvhQuery(_query=_tree_query(_handle("bvh", id), _MEETS_RAY, start, _ray_rates(dir), 0.0, root, valid))


def bvh_query_capsule(id, start, dir, radius, root):
    valid = _is_ray(start, dir) and radius >= 0.0
    return BvhQuery(_query=_tree_query(_handle("bvh", id), _MEETS_CAPSULE, start, _ray_rates(dir), radius, root, valid))


def bvh_query_next(query: ref, index: ref, max_dist: float):
    walk = query._query
    more = _tree_next(walk, index, max_dist)
    query._query = walk
    return more


def bvh_get_group_root(id, group):
    tree = _handle("bvh", id)
    if tree == uint64(0):
        return -1
    return _group_root(tree, group)
