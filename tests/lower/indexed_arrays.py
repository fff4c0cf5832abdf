# Indexed arrays are structs: elements are looked up, views and slices give smaller ones.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.kernel
def indexed_arrays(a: wp.indexedarray2d(dtype=float), b: wp.array2d(dtype=float), rows: wp.array(dtype=int), i: int):
    a[i, -1] = b[rows, 1][i]
    row = a[i]
    part = a[1:3]
    row[0] += float(part.shape[0])
    column = b[1:, i]
    column[0] = row[1]
