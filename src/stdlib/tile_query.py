"""Queries that the threads of a block make together. On the CPU a block is one thread: it walks as in bvh.py, and each step
gives one index. tiles_query.cpp makes tiles of them."""


class BvhQueryTiled:
    """What of a tree meets a box or a ray, for the threads of a block together."""

    _query: _TreeQuery
    _finished: bool


class MeshQueryAABBTiled:
    """The faces of a mesh whose boxes meet a box, for the threads of a block together."""

    _query: _TreeQuery
    _finished: bool


def tile_bvh_query_aabb(id, low, high):
    return BvhQueryTiled(_query=_tree_query_aabb(_handle("bvh", id), low, high, -1), _finished=False)


def tile_bvh_query_ray(id, start, dir):
    query = bvh_query_ray(id, start, dir)
    return BvhQueryTiled(_query=query._query, _finished=False)


def tile_mesh_query_aabb(id, low, high):
    return MeshQueryAABBTiled(_query=_tree_query_aabb(_mesh_tree(id), low, high, -1), _finished=False)


def tile_query_valid(query):
    return not query._finished


def _tile_query_next(query: ref):
    # The next index; -1 behind the last.
    walk = query._query
    index = int(-1)
    more = _tree_next(walk, index, inf)
    query._query = walk
    query._finished = not more
    return where(more, index, -1)
