"""Queries that the threads of a block make together. On the CPU a block is one thread: it walks as in bvh.py, and each step
gives one index. On a GPU threads share the tree: all of them walk its upper levels, where they count the subtrees that the query
meets, and each goes down into those whose numbers are its own by turns. tiles_query.cpp makes tiles of what they find."""


class BvhQueryTiled:
    """What of a tree meets a box or a ray, for the threads of a block together."""

    _query: _TreeQuery
    _finished: bool
    _depth: uint32  # of the node where the thread stands
    _count: uint32  # subtrees that were met so far


class MeshQueryAABBTiled:
    """The faces of a mesh whose boxes meet a box, for the threads of a block together."""

    _query: _TreeQuery
    _finished: bool
    _depth: uint32
    _count: uint32


def tile_bvh_query_aabb(id, low, high):
    return BvhQueryTiled(_query=_tree_query_aabb(_handle("bvh", id), low, high, -1), _finished=False)


def tile_bvh_query_ray(id, start, dir):
    query = bvh_query_ray(id, start, dir)
    return BvhQueryTiled(_query=query._query, _finished=False)


def tile_mesh_query_aabb(id, low, high):
    return MeshQueryAABBTiled(_query=_tree_query_aabb(_mesh_tree(id), low, high, -1), _finished=False)


def tile_query_valid(query):
    return not query._finished


def _shared_levels(tree: uint64, threads: uint32):
    # Down to where threads walk together. Subtrees are to be more than there are threads, so that these get as much, and to have
    # some nodes each, for everything above is walked by all.
    nodes = _fixed(tree, _TreeHead)[0].node_count >> uint32(3)
    most = threads << uint32(6)
    levels = uint32(1)
    while (uint32(2) << levels) <= nodes and (uint32(1) << levels) < most:
        levels += uint32(1)
    return levels


@lanewise
def _tree_step_shared(query: _TreeQuery, depth: uint32, count: uint32, levels: uint32, thread: uint32, threads: uint32):
    # As _tree_step_narrow, for one of several threads.
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
            found = _entry_met(query, rows, numbers, of_faces, place, inf)
            place += uint32(4)
            going = found < 0
        else:
            tail = words[node * uint32(4) + uint32(3)]
            word, slot = _child_met(query, planes, tail[0], tail[1], node, slot, inf)
            if word != uint32(0):
                leaf = (word & _LEAF) != uint32(0)
                mine = True
                if depth < levels and (leaf or depth + uint32(1) == levels):
                    mine = count == thread
                    count = where(count + uint32(1) == threads, uint32(0), count + uint32(1))
                if mine and leaf:
                    place = (word & uint32(0x0FFFFFFF)) << uint32(2)
                    end = place + ((((word >> uint32(28)) & uint32(7)) + uint32(1)) << uint32(2))
                elif mine:
                    node = word
                    slot = uint32(0)
                    depth += uint32(1)
            elif node == query.root:
                going = False
            else:
                node = tail[2] >> uint32(1)
                slot = (tail[2] & uint32(1)) + uint32(1)
                depth -= uint32(1)
    return found, node, slot, place, end, depth, count


def _tile_query_share(query: ref, thread: int, threads: int):
    # The thread's next index; -1 behind its last.
    walk = query._query
    number = int(-1)
    if walk.root != _NODE_NONE:
        levels = _shared_levels(walk.tree, uint32(threads))
        number, node, slot, place, end, depth, count = _tree_step_shared(
            walk, query._depth, query._count, levels, uint32(thread), uint32(threads)
        )
        walk.node = node
        walk.slot = slot
        walk.place = place
        walk.end = end
        if number < 0:
            walk.root = _NODE_NONE
        query._query = walk
        query._depth = depth
        query._count = count
    return number


def _tile_query_next(query: ref):
    # The next index; -1 behind the last.
    walk = query._query
    index = int(-1)
    more = _tree_next(walk, index, inf)
    query._query = walk
    query._finished = not more
    return where(more, index, -1)
