# The walk for closest points on CPUs: nodes of eight children, blocks of four faces, eight walks in turns.


class _PointWalk:
    # What a walk is given, and what it finds.
    tree: uint64
    p: vec3
    limit: float
    nobody: int
    scale: float
    face: int


class _PointState:
    # Of a walk on its way.
    nodes: uint64
    leaves: uint64
    p: vec3
    scales: _PointScales
    best: float
    face: int
    reach: uint32  # the highest key within best
    word: uint32  # where it goes next; _NODE_NONE: it has not begun
    free: uint32  # bits of its open places that hold no node
    top: uint32  # of its stack


@lanewise
def _walk_point_wide(tree: uint64, p: vec3, limit: float, nobody: int, scale: float):
    # The tree is not empty.
    walk = empty(shape=(1,), dtype=_PointWalk)
    walk[0] = _PointWalk(tree=tree, p=p, limit=limit, nobody=nobody, scale=scale)
    _walk_points_wide(walk, uint32(1))
    return walk[0].face


# The nearest child of all nodes that have children left comes next, wherever it is: a quarter fewer leaves are seen than if
# a walk went to the end of a node first. Sixteen such nodes are open. If there are more, the walk does go to the end of
# those that have no place, by a stack, which no tree fills. What is said of an open node is one number: the key of its next
# child, with its place and the child's in the last bits.
_OPEN = uint32(16)
_OPEN_BITS = uint32(0x7F)
_POINT_PLACES = uint32(80)  # open ones, and the stack


def _open_entry(key: uint32, place: uint32):
    return (key & ~_OPEN_BITS) | (place << uint32(3)) | (key & uint32(7))


def _equal_bits(a, b):
    # Of whole numbers without a sign.
    return _less_equal_bits(a ^ b, type(a)(uint32(0)))


def _open_reach(best: float):
    # The highest entry within best.
    return uint32(_signed_bits(best)) | _OPEN_BITS


@lanewise
def _walk_points_wide(walks: array(dtype=_PointWalk), which: uint32):
    # Up to eight walks at a time, a step of each in turns: what one asks for is on its way while the others go on.
    # Nodes that have children left to see: keys of all, where the words are, and the next one's key.
    groups = empty(shape=(_WALKS * 80,), dtype=type(vector(length=8, dtype=uint32)))
    rows = empty(shape=(_WALKS * 80,), dtype=uint32)
    nexts = empty(shape=(_WALKS * 80,), dtype=uint32)  # of those on the stack
    opens = empty(shape=(_WALKS * 2,), dtype=type(vector(length=8, dtype=uint32)))  # entries of the others
    states = empty(shape=(_WALKS,), dtype=_PointState)
    numbers = empty(shape=(_WALKS,), dtype=uint32)  # which walk a state belongs to
    turns = empty(shape=(_WALKS,), dtype=uint32)  # states, in the order of turns
    live = min(_bit_count(which), uint32(_WALKS))
    done = which
    none = type(vector(length=8, dtype=uint32))(_NODE_NONE)
    places = type(none)(uint32(0), uint32(1), uint32(2), uint32(3), uint32(4), uint32(5), uint32(6), uint32(7))
    turn = uint32(0)
    while turn < live:
        states[turn].word = _NODE_NONE
        states[turn].free = uint32(0xFFFF)
        states[turn].top = uint32(0)
        states[turn].reach = uint32(0)
        opens[turn * uint32(2)] = none
        opens[turn * uint32(2) + uint32(1)] = none
        turns[turn] = turn
        turn += uint32(1)
    turn = uint32(0)
    while live != uint32(0):
        at = turns[turn]
        first = at * _POINT_PLACES
        nodes = states[at].nodes
        leaves = states[at].leaves
        words = _fixed(nodes, type(vector(length=8, dtype=uint32)))
        p = states[at].p
        reach = states[at].reach
        word = states[at].word
        free = states[at].free
        top = states[at].top
        low = opens[at * uint32(2)]
        high = opens[at * uint32(2) + uint32(1)]
        if (word & _LEAF) == uint32(0):
            planes = _fixed(nodes, type(vector(length=8, dtype=float32)))
            row = word * uint32(8)
            keys = _order_keys(
                _box_distance(
                    planes[row],
                    planes[row + uint32(1)],
                    planes[row + uint32(2)],
                    planes[row + uint32(3)],
                    planes[row + uint32(4)],
                    planes[row + uint32(5)],
                    p,
                )
            )
            if free == uint32(0):
                # Those that are too far by now make room.
                far = type(low)(reach)
                free_low = _less_bits(far, low)
                free_high = _less_bits(far, high)
                low = _choose_bits(free_low, none, low)
                high = _choose_bits(free_high, none, high)
                free = free_low | (free_high << uint32(8))
            place = _OPEN + top
            key = _lowest(keys)
            if free != uint32(0) and top == uint32(0):
                place = _trailing_zeros(free)
                free = free & (free - uint32(1))
                said = type(low)(_open_entry(key, place))
                here = type(low)(place)
                low = _choose_bits(_equal_bits(here, places), said, low)
                high = _choose_bits(_equal_bits(here, places + type(low)(uint32(8))), said, high)
            else:
                nexts[first + place] = key
                top += uint32(1)
            groups[first + place] = keys
            rows[first + place] = row + uint32(6)
        elif word != _NODE_NONE:
            blocks = _fixed(leaves, vec4)
            of_block = _fixed(leaves, type(vector(length=4, dtype=int32)))
            best = states[at].best
            face = states[at].face
            row = (word & uint32(0x0FFFFFFF)) * uint32(10)
            end = row + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(10)
            while row != end:
                hits, squares = _point_faces(
                    blocks[row],
                    blocks[row + uint32(1)],
                    blocks[row + uint32(2)],
                    blocks[row + uint32(3)],
                    blocks[row + uint32(4)],
                    blocks[row + uint32(5)],
                    blocks[row + uint32(6)],
                    blocks[row + uint32(7)],
                    blocks[row + uint32(8)],
                    p,
                    states[at].scales,
                    best,
                )
                while hits != uint32(0):
                    k = _trailing_zeros(hits)
                    hits = hits & (hits - uint32(1))
                    found = of_block[row + uint32(9)][k]
                    if squares[k] < best or (squares[k] == best and found < face):
                        best = squares[k]
                        face = found
                row += uint32(10)
            reach = _open_reach(best)
            states[at].best = best
            states[at].reach = reach
            states[at].face = face
        pops = True
        while pops:
            entry = _lowest(_least(low, high))
            if top != uint32(0):
                top -= uint32(1)
                place = _OPEN + top
                key = nexts[first + place]
                # Empty children are infinitely far, which is not too far where squares overflow; they come last.
                child = words[rows[first + place]][key & uint32(7)]
                if key <= reach and child != uint32(0):
                    pops = False
                    word = child
                    rest = _key_behind(groups[first + place], key)
                    nexts[first + place] = rest
                    top += where(rest <= reach, uint32(1), uint32(0))
            elif entry <= reach:
                place = (entry >> uint32(3)) & uint32(15)
                child = words[rows[first + place]][entry & uint32(7)]
                rest = _key_behind(groups[first + place], groups[first + place][entry & uint32(7)])
                more = rest <= reach and child != uint32(0)
                free = free | where(more, uint32(0), uint32(1) << place)
                next = type(low)(where(more, _open_entry(rest, place), _NODE_NONE))
                here = type(low)(entry)
                low = _choose_bits(_less_equal_bits(low, here), next, low)
                high = _choose_bits(_less_equal_bits(high, here), next, high)
                if child != uint32(0):
                    pops = False
                    word = child
            else:
                pops = False
                if word != _NODE_NONE:
                    walks[numbers[at]].face = states[at].face
                    _prefetch(_indices_ahead(walks[numbers[at]].tree), uint32(states[at].face) * uint32(3))
                if which != uint32(0):
                    number = _trailing_zeros(which)
                    which = which & (which - uint32(1))
                    numbers[at] = number
                    head = _fixed(walks[number].tree, _TreeHead)
                    nodes = head[0].nodes
                    leaves = head[0].leaves
                    word = uint32(0)
                    free = uint32(0xFFFF)
                    low = none
                    high = none
                    states[at].nodes = nodes
                    states[at].leaves = leaves
                    states[at].p = walks[number].p
                    states[at].scales = _point_scales(walks[number].scale)
                    states[at].best = walks[number].limit
                    states[at].face = walks[number].nobody
                    states[at].reach = _open_reach(walks[number].limit)
                else:
                    live -= uint32(1)
                    turns[turn] = turns[live]
                    turn -= uint32(1)
        lines = _fixed(_child_place(nodes, leaves, word), vec4)
        _prefetch(lines, 0)
        _prefetch(lines, 4)
        _prefetch(lines, 8)
        _prefetch(lines, 12)
        states[at].word = word
        states[at].free = free
        states[at].top = top
        opens[at * uint32(2)] = low
        opens[at * uint32(2) + uint32(1)] = high
        turn += uint32(1)
        turn = where(turn >= live, uint32(0), turn)
    while done != uint32(0):
        number = _trailing_zeros(done)
        done = done & (done - uint32(1))
        if walks[number].face >= 0 and walks[number].face != walks[number].nobody:
            indices = _indices_ahead(walks[number].tree)
            points = _points_ahead(walks[number].tree)
            corner = uint32(walks[number].face) * uint32(3)
            _prefetch(points, indices[corner] * uint32(3))
            _prefetch(points, indices[corner + uint32(1)] * uint32(3))
            _prefetch(points, indices[corner + uint32(2)] * uint32(3))
