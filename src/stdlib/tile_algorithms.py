# Algorithms on tiles that lie row after row: place of the least element, sorting, random numbers.


def _tile_argmin(a, o, n):
    # The lowest place among equals; NaN is left out, unless there is nothing else.
    best = a[o]
    at = 0
    for i in range(1, n):
        v = a[o + i]
        if v < best or (best != best and v == v):
            best = v
            at = i
    return at


def _tile_argmax(a, o, n):
    best = a[o]
    at = 0
    for i in range(1, n):
        v = a[o + i]
        if v > best or (best != best and v == v):
            best = v
            at = i
    return at


def _tile_sort(keys, order, more_keys, more_order, n):
    # Merge sort, stable: runs of 1, 2, 4… from one memory to the other and back. `order` begins as 0, 1, 2…
    width = 1
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                left = j >= end
                if i < middle and j < end:
                    left = keys[i] <= keys[j]
                at = where(left, i, j)
                more_keys[k] = keys[at]
                more_order[k] = order[at]
                i = where(left, i + 1, i)
                j = where(left, j, j + 1)
            start = end
        for k in range(n):
            keys[k] = more_keys[k]
            order[k] = more_order[k]
        width = 2 * width


def _tile_randi(state, e):
    s = rand_init(int(state), e)
    return randi(s)


def _tile_randi_within(state, e, low, high):
    s = rand_init(int(state), e)
    return randi(s, low, high)


def _tile_randf(state, e):
    s = rand_init(int(state), e)
    return randf(s)


def _tile_randf_within(state, e, low, high):
    s = rand_init(int(state), e)
    return randf(s, low, high)
