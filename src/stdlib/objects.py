# Which ids are those of objects that live, asked in debug mode alone: of ids that come out of memory launches know nothing. A
# table has, for each slab of slots, its address and the kinds of what lives there (geometry/object_table.h).

_SLAB_WORDS = uint32(17)  # of the table: an address, and eight kinds a word
_ALL_LIVE = uint64(0xFFFFFFFFFFFFFFFF)  # more slabs than the table has room for


@lanewise
def _is_object(id: uint64, kind: uint32):
    # Whether this is the id of such an object; 0, which is nobody's, counts.
    alive = id == uint64(0)
    if _objects() != uint64(0) and not alive:
        table = _fixed(_objects(), uint64)
        count = table[0]
        alive = count == _ALL_LIVE
        if not alive:
            slab = uint32(0)
            while slab < uint32(count):
                at = uint32(1) + slab * _SLAB_WORDS
                offset = id - table[at]
                if offset < uint64(65536):
                    slot = uint32(offset >> uint64(9))
                    kinds = table[at + uint32(1) + (slot >> uint32(3))]
                    here = uint32(kinds >> uint64((slot & uint32(7)) * uint32(8))) & uint32(0xFF)
                    inside = offset & uint64(511)
                    alive = inside == uint64(0) and here == kind
                    if inside == _MESH_TREE:
                        # The tree of a mesh is one of boxes by an id of its own.
                        alive = here == uint32(1) and kind == uint32(2)
                    slab = uint32(count)
                else:
                    slab += uint32(1)
    return alive
