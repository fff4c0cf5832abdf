# Boxes on a grid (geometry/tree.h: GridHead, GridPair), which closest points read on GPUs: half of the bytes of exact ones.
# They are rounded outwards by a step or more, and no distance that is computed with them is larger than that of the exact
# box by more than a millionth, which is allowed for. So no face is left out that counts, and faces are asked as ever. docs/design/geometry.md has the sums.


def _grid_plane(word: uint32, shift: uint32):
    # 2^23 and a half of the word as a number: the lower half, or with a shift of 16 the upper.
    return cast(((word >> shift) & uint32(0xFFFF)) | uint32(0x4B000000), float32)


def _grid_place(x: float, inverse: float, offset: float, step: float):
    # A coordinate on the grid, rounded to a step or to what a float holds, from where planes are counted.
    return (_fma(x, inverse, offset) + 8388608.0) * step


def _grid_outside(word: uint32, place: float, step: float):
    below = _fma(_grid_plane(word, uint32(0)), step, -place)
    above = _fma(_grid_plane(word, uint32(16)), -step, place)
    return _greatest(_greatest(below, above), 0.0)


def _grid_distance(x: uint32, y: uint32, z: uint32, place: vec3, step: float):
    # The squared distance of a box.
    dx = _grid_outside(x, place[0], step)
    dy = _grid_outside(y, place[1], step)
    dz = _grid_outside(z, place[2], step)
    return _three_times(dx, dy, dz, dx, dy, dz)


def _grid_reach(best: float):
    # The squared distance up to which such boxes must be looked at: more than all roundings take it above the exact one.
    return best * 1.00001
