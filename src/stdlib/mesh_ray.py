# Rays through meshes. The triangle test is Woop's (Watertight Ray/Triangle Intersection, 2013) with exact signs: the
# longest axis of the ray becomes z, corners are sheared so that the ray is the z axis, and three areas of the plane say
# where it passes. A walk returns a face or a number; what the face means to the ray is mesh_ray_found.py's.

_NEAREST = 0  # the number of the nearest face, or -1
_ANY = 1  # 0 if some face is met, else -1
_COUNT = 2  # how many faces are met; edges and corners belong to one face of those around them
_SIDE = 3  # of the nearest face: 1 from the front, 2 from the back; 0 without


class MeshQueryRay:
    """What mesh_query_ray found."""

    result: bool
    sign: float
    face: int
    t: float
    u: float
    v: float
    normal: vec3


class _Ray:
    # Axes x and y, z follow each other; z is the longest of the direction. Start, rates and planes in that order.
    x: uint32
    y: uint32
    z: uint32
    start: vec3
    rate: vec3
    shear_x: float
    shear_y: float
    scale: float


def _longest_axis(dir: vec3):
    z = where(abs(dir[0]) > abs(dir[1]), uint32(0), uint32(1))
    return where(abs(dir[2]) > abs(dir[z]), uint32(2), z)


def _ray_of(start: vec3, dir: vec3):
    z = _longest_axis(dir)
    x = where(z == uint32(2), uint32(0), z + uint32(1))
    y = where(x == uint32(2), uint32(0), x + uint32(1))
    scale = 1.0 / dir[z]
    rates = _ray_rates(dir)
    return _Ray(
        x=x,
        y=y,
        z=z,
        start=vec3(start[x], start[y], start[z]),
        rate=vec3(rates[x], rates[y], rates[z]),
        shear_x=-(dir[x] * scale),
        shear_y=-(dir[y] * scale),
        scale=scale,
    )


def _ray_from(p, o):
    return p - type(p)(o)


def _ray_areas(ax, ay, bx, by, cx, cy):
    # Twice the areas of the triangles of the ray's foot and two corners each, opposite of a, b and c.
    u = _products_apart(cx, by, cy, bx)
    v = _products_apart(ax, cy, ay, cx)
    w = _products_apart(bx, ay, by, ax)
    return u, v, w


def _ray_inside(u, v, w):
    # Bits of the faces that the ray's line meets, edges and corners included; none without an area, or with NaN.
    zero = type(u)(0.0)
    all = u + v + w
    around = _less_equal_bits(zero, _least_of(u, v, w)) | _less_equal_bits(_greatest_of(u, v, w), zero)
    return around & _less_bits(zero, _greatest(all, -all))


def _ray_depth(u, v, w, az, bz, cz, scale):
    # Weights of the corners a and b, and where on the ray.
    share = _over(type(u)(1.0), u + v + w)
    a = _times(u, share)
    b = _times(v, share)
    c = _times(w, share)
    return a, b, _three_times(a, b, c, az * scale, bz * scale, cz * scale)


def _ray_own_box(ray: _Ray, ax, ay, az, bx, by, bz, cx, cy, cz, limit):
    # Where the ray comes into the box around a face, and whether it does.
    low_x = _least_of(ax, bx, cx)
    low_y = _least_of(ay, by, cy)
    low_z = _least_of(az, bz, cz)
    high_x = _greatest_of(ax, bx, cx)
    high_y = _greatest_of(ay, by, cy)
    high_z = _greatest_of(az, bz, cz)
    back_x = ray.rate[0] < 0.0
    back_y = ray.rate[1] < 0.0
    back_z = ray.rate[2] < 0.0
    near_x = where(back_x, high_x, low_x)
    near_y = where(back_y, high_y, low_y)
    near_z = where(back_z, high_z, low_z)
    far_x = where(back_x, low_x, high_x)
    far_y = where(back_y, low_y, high_y)
    far_z = where(back_z, low_z, high_z)
    entry = _box_entry(near_x, near_y, near_z, ray.start, ray.rate)
    return entry, _less_equal_bits(entry, _box_exit(far_x, far_y, far_z, ray.start, ray.rate, limit))


def _ray_owns_edge(area, front, fx, fy, tx, ty):
    # A crossing at the edge from f to t belongs to the face that the edge runs up (or right) along: faces on both sides of
    # it share it out, those on one side both take it or leave it.
    zero = type(area)(0.0)
    off = _less_bits(area, zero) | _less_bits(zero, area)
    up = _less_bits(fy, ty)
    down = _less_bits(ty, fy)
    right = _less_bits(fx, tx)
    left = _less_bits(tx, fx)
    level = ~(up | down)
    return off | (front & (up | (level & right))) | (~front & (down | (level & left)))


def _ray_face(ray: _Ray, ax, ay, az, bx, by, bz, cx, cy, cz, limit: float, owned: bool):
    # Bits of the faces (corners in the ray's order of axes) that it meets within the limit, where, and of those that it
    # meets from the front.
    o = ray.start
    az0 = _ray_from(az, o[2])
    bz0 = _ray_from(bz, o[2])
    cz0 = _ray_from(cz, o[2])
    ax0 = _fma(az0, ray.shear_x, _ray_from(ax, o[0]))
    ay0 = _fma(az0, ray.shear_y, _ray_from(ay, o[1]))
    bx0 = _fma(bz0, ray.shear_x, _ray_from(bx, o[0]))
    by0 = _fma(bz0, ray.shear_y, _ray_from(by, o[1]))
    cx0 = _fma(cz0, ray.shear_x, _ray_from(cx, o[0]))
    cy0 = _fma(cz0, ray.shear_y, _ray_from(cy, o[1]))
    u, v, w = _ray_areas(ax0, ay0, bx0, by0, cx0, cy0)
    hits = _ray_inside(u, v, w)
    t = type(u)(0.0)
    front = uint32(0)
    if hits != uint32(0):
        zero = type(u)(0.0)
        front = _less_bits(zero, u + v + w)
        if owned:
            hits = hits & _ray_owns_edge(u, front, bx0, by0, cx0, cy0)
            hits = hits & _ray_owns_edge(v, front, cx0, cy0, ax0, ay0)
            hits = hits & _ray_owns_edge(w, front, ax0, ay0, bx0, by0)
        a, b, t = _ray_depth(u, v, w, az0, bz0, cz0, ray.scale)
        hits = hits & _less_equal_bits(zero, t) & _less_equal_bits(t, type(u)(limit))
        if hits != uint32(0):
            entry, met = _ray_own_box(ray, ax, ay, az, bx, by, bz, cx, cy, cz, limit)
            t = _choose_bits(_less_bits(t, entry), entry, t)
            hits = hits & met & _less_equal_bits(t, type(u)(limit))
            front = where(ray.scale < 0.0, ~front, front)
    return hits, t, front


def _ray_result(mode: int, found: int, side: int):
    if mode == _SIDE:
        return side
    return found


def _walk_ray(tree: uint64, start: vec3, dir: vec3, max_t: float, root: int, mode: int):
    found = _ray_result(mode, where(mode == _COUNT, 0, -1), 0)
    if _on_gpu():
        found = _walk_ray_narrow(tree, start, dir, max_t, root, mode)
    else:
        word = _root_word(tree, root)
        if word != _NODE_NONE and _is_ray(start, dir) and max_t > 0.0:
            found = _walk_ray_wide(tree, start, dir, max_t, word, mode)
    return found


class _RayWalk:
    # What a walk is given, and what it finds.
    tree: uint64
    start: vec3
    dir: vec3
    max_t: float
    word: uint32
    mode: int
    found: int


class _RayState:
    # Of a walk on its way.
    nodes: uint64
    leaves: uint64
    start: vec3
    rates: vec3
    near_x: uint32
    near_y: uint32
    near_z: uint32
    ray: _Ray
    mode: int
    best: float
    found: int
    side: int
    reach: uint32  # the highest key within best
    word: uint32  # where it goes next; _NODE_NONE: it has not begun
    top: uint32  # of its part of the stack


@lanewise
def _walk_ray_wide(tree: uint64, start: vec3, dir: vec3, max_t: float, word: uint32, mode: int):
    walk = empty(shape=(1,), dtype=_RayWalk)
    walk[0] = _RayWalk(tree=tree, start=start, dir=dir, max_t=max_t, word=word, mode=mode)
    _walk_rays_wide(walk, uint32(1))
    return walk[0].found


@lanewise
def _walk_rays_wide(walks: array(dtype=_RayWalk), which: uint32):
    # Up to eight walks at a time, a step of each in turns: what one asks for is on its way while the others go on.
    # Nodes that have children left to see: keys of all, the next one's, and where the words are.
    groups = empty(shape=(_WALKS * 64,), dtype=type(vector(length=8, dtype=uint32)))
    nexts = empty(shape=(_WALKS * 64,), dtype=uint32)
    rows = empty(shape=(_WALKS * 64,), dtype=uint32)
    states = empty(shape=(_WALKS,), dtype=_RayState)
    numbers = empty(shape=(_WALKS,), dtype=uint32)  # which walk a state belongs to
    turns = empty(shape=(_WALKS,), dtype=uint32)  # states, in the order of turns
    live = min(_bit_count(which), uint32(_WALKS))
    done = which
    turn = uint32(0)
    while turn < live:
        states[turn].word = _NODE_NONE
        states[turn].top = turn * _WALK_STACK
        states[turn].reach = uint32(0)
        turns[turn] = turn
        turn += uint32(1)
    turn = uint32(0)
    while live != uint32(0):
        at = turns[turn]
        nodes = states[at].nodes
        leaves = states[at].leaves
        words = _fixed(nodes, type(vector(length=8, dtype=uint32)))
        reach = states[at].reach
        word = states[at].word
        top = states[at].top
        pops = True
        if (word & _LEAF) == uint32(0):
            planes = _fixed(nodes, type(vector(length=8, dtype=float32)))
            start = states[at].start
            rates = states[at].rates
            near_x = states[at].near_x
            near_y = states[at].near_y
            near_z = states[at].near_z
            row = word * uint32(8)
            entry = _box_entry(planes[row + near_x], planes[row + near_y], planes[row + near_z], start, rates)
            out = _box_exit(
                planes[row + uint32(3) - near_x],
                planes[row + uint32(5) - near_y],
                planes[row + uint32(7) - near_z],
                start,
                rates,
                states[at].best,
            )
            keys = _order_keys(entry)
            keys = _choose_bits(_less_equal_bits(entry, out), keys, type(keys)(_NODE_NONE))
            key = _lowest(keys)
            if key <= reach:
                pops = False
                row += uint32(6)
                word = words[row][key & uint32(7)]
                rest = _key_behind(keys, key)
                groups[top] = keys
                nexts[top] = rest
                rows[top] = row
                top += where(rest <= reach, uint32(1), uint32(0))
        elif word != _NODE_NONE:
            blocks = _fixed(leaves, vec4)
            of_block = _fixed(leaves, type(vector(length=4, dtype=int32)))
            ray = states[at].ray
            mode = states[at].mode
            counted = mode == _COUNT
            best = states[at].best
            found = states[at].found
            side = states[at].side
            row = (word & uint32(0x0FFFFFFF)) * uint32(10)
            end = row + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(10)
            while row != end:
                hits, t, front = _ray_face(
                    ray,
                    blocks[row + ray.x],
                    blocks[row + ray.y],
                    blocks[row + ray.z],
                    blocks[row + uint32(3) + ray.x],
                    blocks[row + uint32(3) + ray.y],
                    blocks[row + uint32(3) + ray.z],
                    blocks[row + uint32(6) + ray.x],
                    blocks[row + uint32(6) + ray.y],
                    blocks[row + uint32(6) + ray.z],
                    best,
                    counted,
                )
                if counted:
                    found += int(_bit_count(hits & _less_bits(t, type(t)(best))))
                else:
                    while hits != uint32(0):
                        k = _trailing_zeros(hits)
                        hits = hits & (hits - uint32(1))
                        face = of_block[row + uint32(9)][k]
                        if t[k] < best or (t[k] == best and face < found):
                            best = t[k]
                            found = face
                            side = where(((front >> k) & uint32(1)) != uint32(0), 1, 2)
                row += uint32(10)
            reach = _highest_key(best)
            states[at].reach = reach
            states[at].best = best
            states[at].found = found
            states[at].side = side
            if mode == _ANY and found >= 0:
                top = at * _WALK_STACK
        bottom = at * _WALK_STACK
        while pops:
            if top == bottom:
                pops = False
                if states[at].word != _NODE_NONE:
                    walks[numbers[at]].found = _ray_result(states[at].mode, states[at].found, states[at].side)
                    _prefetch(_indices_ahead(walks[numbers[at]].tree), uint32(states[at].found) * uint32(3))
                if which != uint32(0):
                    number = _trailing_zeros(which)
                    which = which & (which - uint32(1))
                    numbers[at] = number
                    head = _fixed(walks[number].tree, _TreeHead)
                    nodes = head[0].nodes
                    leaves = head[0].leaves
                    word = walks[number].word
                    rates = _ray_rates(walks[number].dir)
                    states[at].nodes = nodes
                    states[at].leaves = leaves
                    states[at].start = walks[number].start
                    states[at].rates = rates
                    states[at].near_x = where(rates[0] < 0.0, uint32(3), uint32(0))
                    states[at].near_y = where(rates[1] < 0.0, uint32(4), uint32(1))
                    states[at].near_z = where(rates[2] < 0.0, uint32(5), uint32(2))
                    states[at].ray = _ray_of(walks[number].start, walks[number].dir)
                    states[at].mode = walks[number].mode
                    states[at].best = walks[number].max_t
                    states[at].found = where(walks[number].mode == _COUNT, 0, -1)
                    states[at].side = 0
                    states[at].reach = _highest_key(walks[number].max_t)
                else:
                    live -= uint32(1)
                    turns[turn] = turns[live]
                    turn -= uint32(1)
            else:
                top -= uint32(1)
                key = nexts[top]
                if key <= reach:
                    pops = False
                    word = words[rows[top]][key & uint32(7)]
                    rest = _key_behind(groups[top], key)
                    nexts[top] = rest
                    top += where(rest <= reach, uint32(1), uint32(0))
        lines = _fixed(_child_place(nodes, leaves, word), vec4)
        _prefetch(lines, 0)
        _prefetch(lines, 4)
        _prefetch(lines, 8)
        _prefetch(lines, 12)
        states[at].word = word
        states[at].top = top
        turn += uint32(1)
        turn = where(turn >= live, uint32(0), turn)
    while done != uint32(0):
        number = _trailing_zeros(done)
        done = done & (done - uint32(1))
        if walks[number].mode == _NEAREST and walks[number].found >= 0:
            indices = _indices_ahead(walks[number].tree)
            points = _points_ahead(walks[number].tree)
            first = uint32(walks[number].found) * uint32(3)
            _prefetch(points, indices[first] * uint32(3))
            _prefetch(points, indices[first + uint32(1)] * uint32(3))
            _prefetch(points, indices[first + uint32(2)] * uint32(3))


def _seen_by(ray: _Ray, start: vec3, p):
    # A corner in the ray's order of axes, sheared: the longest axis is the first, the last or the one between.
    first = ray.z == uint32(0)
    last = ray.z == uint32(2)
    px = p[0] - start[0]
    py = p[1] - start[1]
    pz = p[2] - start[2]
    z = where(last, pz, where(first, px, py))
    x = _fma(z, ray.shear_x, where(last, px, where(first, py, pz)))
    y = _fma(z, ray.shear_y, where(last, py, where(first, pz, px)))
    return x, y, z


def _ray_face_narrow(start: vec3, rates: vec3, ray: _Ray, a: vec4, b: vec4, c: vec4, limit: float, owned: bool):
    # As _ray_face, of one face with corners as they lie. Fewer numbers are kept for it: threads of a GPU share registers.
    ax, ay, az = _seen_by(ray, start, a)
    bx, by, bz = _seen_by(ray, start, b)
    cx, cy, cz = _seen_by(ray, start, c)
    u, v, w = _ray_areas(ax, ay, bx, by, cx, cy)
    hits = _ray_inside(u, v, w) != uint32(0)
    t = 0.0
    front = u + v + w > 0.0
    if hits and owned:
        ahead = where(front, uint32(1), uint32(0))
        owns = _ray_owns_edge(u, ahead, bx, by, cx, cy) & _ray_owns_edge(v, ahead, cx, cy, ax, ay)
        hits = (owns & _ray_owns_edge(w, ahead, ax, ay, bx, by) & uint32(1)) != uint32(0)
    if hits:
        weight_a, weight_b, depth = _ray_depth(u, v, w, az, bz, cz, ray.scale)
        t = depth
        hits = t >= 0.0 and t <= limit
        if hits:
            # The order of axes makes no difference to the largest of three entries.
            plain = _Ray(start=start, rate=rates)
            entry, met = _ray_own_box(plain, a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2], limit)
            t = where(t < entry, entry, t)
            hits = met != uint32(0) and t <= limit
    return hits, t, front != (ray.scale < 0.0)


# How many lanes of a warp may still be at nodes when the others do their leaves.
_RAYS_AT_NODES = uint32(4)


def _four_keys(ray: _Ray, near_x, near_y, near_z, far_x, far_y, far_z, limit: float):
    # Where a ray comes into each of four boxes, as bits with the box's number in the last two; _NODE_NONE if it misses it.
    entry = _box_entry(near_x, near_y, near_z, ray.start, ray.rate)
    out = _box_exit(far_x, far_y, far_z, ray.start, ray.rate, limit)
    bits = cast(entry, type(vector(length=4, dtype=uint32))) & type(vector(length=4, dtype=uint32))(uint32(0x7FFFFFFC))
    k0 = where(entry[0] <= out[0], bits[0], _NODE_NONE)
    k1 = where(entry[1] <= out[1], bits[1] | uint32(1), _NODE_NONE)
    k2 = where(entry[2] <= out[2], bits[2] | uint32(2), _NODE_NONE)
    k3 = where(entry[3] <= out[3], bits[3] | uint32(3), _NODE_NONE)
    return k0, k1, k2, k3


def _four_child(children, key: uint32):
    # The child that a key is of.
    odd = (key & uint32(1)) != uint32(0)
    return where((key & uint32(2)) != uint32(0), where(odd, children[3], children[2]), where(odd, children[1], children[0]))


def _four_stacked(children, key: uint32):
    # The same as an entry of a stack.
    return uint64(_four_child(children, key)) | (uint64(key & uint32(0x7FFFFFFC)) << uint64(32))


def _root_four(tree: uint64, root: int):
    # As _root_word. There is room for more nodes than there are, and what lies there was never written; the first node says
    # where they end.
    head = _fixed(tree, _TreeHead)
    word = where(head[0].fours != uint64(0), _root_word(tree, root), _NODE_NONE)
    if word != uint32(0) and word != _NODE_NONE:
        word = where(word < _fixed(head[0].nodes, uint32)[15], word, _NODE_NONE)
    return word


@lanewise
def _walk_ray_narrow(tree: uint64, start: vec3, dir: vec3, max_t: float, root: int, mode: int):
    # The same with four children a node: the nearest one next, the others on the stack. Threads that run side by side stay
    # together: nodes until few of them are at one, then leaves.
    head = _fixed(tree, _TreeHead)
    planes = _fixed(head[0].fours, vec4)
    words = _fixed(head[0].fours, type(vector(length=4, dtype=uint32)))
    corners = _fixed(head[0].leaves, vec4)
    counted = mode == _COUNT
    found = where(counted, 0, -1)
    side = 0
    word = _root_four(tree, root)
    if not (_is_ray(start, dir) and max_t > 0.0):
        word = _NODE_NONE
    ray = _ray_of(start, dir)
    rates = _ray_rates(dir)
    plain = _Ray(start=start, rate=rates)
    # Rows of planes where the ray comes in, and where it goes out.
    near_x = where(rates[0] < 0.0, uint64(3), uint64(0))
    near_y = where(rates[1] < 0.0, uint64(4), uint64(1))
    near_z = where(rates[2] < 0.0, uint64(5), uint64(2))
    best = max_t
    # Words, and above them where the ray comes into their boxes: three at most for every second of 60 levels.
    stack = empty(shape=(96,), dtype=uint64)
    top = uint32(0)
    warp = _warp()
    while _vote(warp, word != _NODE_NONE) != uint32(0):
        at_nodes = uint32(32)
        while at_nodes > _RAYS_AT_NODES:
            if (word & _LEAF) == uint32(0):
                row = uint64(word) * uint64(8)
                children = words[row + uint64(6)]
                k0, k1, k2, k3 = _four_keys(
                    plain,
                    planes[row + near_x],
                    planes[row + near_y],
                    planes[row + near_z],
                    planes[row + uint64(3) - near_x],
                    planes[row + uint64(5) - near_y],
                    planes[row + uint64(7) - near_z],
                    best,
                )
                k0, k1 = _least(k0, k1), _greatest(k0, k1)
                k2, k3 = _least(k2, k3), _greatest(k2, k3)
                k0, k2 = _least(k0, k2), _greatest(k0, k2)
                k1, k3 = _least(k1, k3), _greatest(k1, k3)
                k1, k2 = _least(k1, k2), _greatest(k1, k2)
                word = _NODE_NONE
                if k0 != _NODE_NONE:
                    word = _four_child(children, k0)
                    if k1 != _NODE_NONE:
                        if k2 != _NODE_NONE:
                            if k3 != _NODE_NONE:
                                stack[top] = _four_stacked(children, k3)
                                top += uint32(1)
                            stack[top] = _four_stacked(children, k2)
                            top += uint32(1)
                        stack[top] = _four_stacked(children, k1)
                        top += uint32(1)
                else:
                    while word == _NODE_NONE and top != uint32(0):
                        top -= uint32(1)
                        word = _unstacked(stack[top], best)
            at_nodes = _bit_count(_vote(warp, (word & _LEAF) == uint32(0)))
        if (word & _LEAF) != uint32(0) and word != _NODE_NONE:
            at = (word & uint32(0x0FFFFFFF)) * uint32(3)
            end = at + (((word >> uint32(28)) & uint32(7)) + uint32(1)) * uint32(3)
            while at != end:
                a = corners[at]
                b = corners[at + uint32(1)]
                c = corners[at + uint32(2)]
                hits, t, front = _ray_face_narrow(start, rates, ray, a, b, c, best, counted)
                if hits:
                    if counted:
                        found += where(t < best, 1, 0)
                    else:
                        # The other fourth words are zero. Asked for, they come along in the same loads.
                        number = int(cast(a[3], uint32) | cast(b[3], uint32) | cast(c[3], uint32))
                        if t < best or (t == best and number < found):
                            best = t
                            found = number
                            side = where(front, 1, 2)
                at += uint32(3)
            if mode == _ANY and found >= 0:
                top = uint32(0)
            word = _NODE_NONE
            while word == _NODE_NONE and top != uint32(0):
                top -= uint32(1)
                word = _unstacked(stack[top], best)
    return _ray_result(mode, found, side)
