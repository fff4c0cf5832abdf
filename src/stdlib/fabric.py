# Arrays over buckets of memory that another program keeps: which bucket an element lies in (types/fabric_type.h).


def _fabric_bucket(starts: array(dtype=int), i: int):
    # The last one that begins at i or before it; empty buckets hold nothing and are passed over.
    low = int(0)
    high = starts.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= i:
            low = middle
        else:
            high = middle
    return low
