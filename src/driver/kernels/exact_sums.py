# What follows a launch whose sums are exact (driver/exact_launch.cpp): the words that stand for each sum become one number,
# the array's own value among them, which is rounded once.
import warp as wp

SEEN_INFINITY = wp.constant(wp.int64(1))
SEEN_NEGATIVE_INFINITY = wp.constant(wp.int64(2))
SEEN_NAN = wp.constant(wp.int64(4))
DIGIT = wp.constant(wp.int64(0xFFFFFFFF))


@wp.func
def untouched(words: wp.array2d(dtype=wp.int64), at: int):
    for k in range(words.shape[1]):
        if words[at, k] != wp.int64(0):
            return False
    return True


@wp.func
def add_digits(words: wp.array2d(dtype=wp.int64), at: int, mantissa: wp.uint64, place: int, negative: bool):
    # Adds mantissa * 2^place.
    word = place >> 5
    shift = wp.uint64(place & 31)
    low = (mantissa & wp.uint64(0xFFFFFFFF)) << shift
    high = (mantissa >> wp.uint64(32)) << shift
    sign = wp.int64(1)
    if negative:
        sign = wp.int64(-1)
    words[at, word] = words[at, word] + sign * wp.int64(low & wp.uint64(0xFFFFFFFF))
    middle = (low >> wp.uint64(32)) + (high & wp.uint64(0xFFFFFFFF))
    words[at, word + 1] = words[at, word + 1] + sign * wp.int64(middle)
    top = high >> wp.uint64(32)
    if top != wp.uint64(0):
        words[at, word + 2] = words[at, word + 2] + sign * wp.int64(top)


@wp.func
def settle(words: wp.array2d(dtype=wp.int64), at: int, digits: int):
    # Makes digits of the words, each less than 2^32, of the sum without its sign; gives whether it is negative. The word
    # behind the digits takes what is beyond them.
    carry = wp.int64(0)
    for k in range(digits):
        t = words[at, k] + carry
        words[at, k] = t & DIGIT
        carry = t >> wp.int64(32)
    negative = carry < wp.int64(0)
    if negative:
        borrow = wp.int64(1)
        for k in range(digits):
            t = (words[at, k] ^ DIGIT) + borrow
            words[at, k] = t & DIGIT
            borrow = t >> wp.int64(32)
        carry = (~carry) + borrow
    words[at, digits] = carry
    return negative


@wp.func
def leading(words: wp.array2d(dtype=wp.int64), at: int, digits: int):
    # The highest digit that is not zero, or -1.
    k = digits
    while k >= 0 and words[at, k] == wp.int64(0):
        k -= 1
    return k


@wp.func
def zeros_before(digit: wp.uint64):
    # Of a digit of 32 bits.
    count = int(0)
    d = digit
    for k in range(5):
        step = wp.uint64(16 >> k)
        if (d >> (wp.uint64(32) - step)) == wp.uint64(0):
            count += int(step)
            d = (d << step) & wp.uint64(0xFFFFFFFF)
    return count


@wp.func
def digit_at(words: wp.array2d(dtype=wp.int64), at: int, k: int):
    if k < 0:
        return wp.uint64(0)
    return wp.uint64(words[at, k])


@wp.func
def first_bits(words: wp.array2d(dtype=wp.int64), at: int, top: int, zeros: int):
    # 64 bits from the highest one on; the last bit tells whether any follow.
    z = wp.uint64(zeros)
    both = (digit_at(words, at, top) << wp.uint64(32)) | digit_at(words, at, top - 1)
    third = digit_at(words, at, top - 2)
    bits = (both << z) | (third >> (wp.uint64(32) - z))
    rest = (third << z) & wp.uint64(0xFFFFFFFF)
    k = top - 3
    while rest == wp.uint64(0) and k >= 0:
        rest = digit_at(words, at, k)
        k -= 1
    if rest != wp.uint64(0):
        bits = bits | wp.uint64(1)
    return bits


@wp.func
def rounded(bits: wp.uint64, last: int, fraction: int):
    # The bits of the float whose highest one is 2^last times the smallest denormal; of more exponents than there are, too.
    if last < fraction:
        return bits >> wp.uint64(63 - last)
    cut = wp.uint64(63 - fraction)
    mantissa = bits >> cut
    rest = bits - (mantissa << cut)
    half = wp.uint64(1) << (cut - wp.uint64(1))
    if rest > half or (rest == half and (mantissa & wp.uint64(1)) == wp.uint64(1)):
        mantissa += wp.uint64(1)
    return (wp.uint64(last - fraction) << wp.uint64(fraction)) + mantissa


@wp.func
def sum_bits(words: wp.array2d(dtype=wp.int64), at: int, own: wp.uint64, fraction: int, infinite: int):
    # The bits of a sum, its own value included; `infinite` is the exponent of what is not finite.
    digits = words.shape[1] - 1
    seen = words[at, digits]
    sign = wp.uint64(1) << wp.uint64(fraction)
    e = infinite
    while e > 0:
        sign = sign << wp.uint64(1)
        e = e >> 1
    negative = (own & sign) != wp.uint64(0)
    size = own & (sign - wp.uint64(1))
    exponent = int(size >> wp.uint64(fraction))
    mantissa = size & ((wp.uint64(1) << wp.uint64(fraction)) - wp.uint64(1))
    infinity = wp.uint64(infinite) << wp.uint64(fraction)
    if exponent == infinite:
        if mantissa != wp.uint64(0):
            seen = seen | SEEN_NAN
        elif negative:
            seen = seen | SEEN_NEGATIVE_INFINITY
        else:
            seen = seen | SEEN_INFINITY
    if seen != wp.int64(0):
        if seen == SEEN_INFINITY:
            return infinity
        if seen == SEEN_NEGATIVE_INFINITY:
            return infinity | sign
        return infinity | (wp.uint64(1) << wp.uint64(fraction - 1))
    if exponent > 0:
        mantissa = mantissa | (wp.uint64(1) << wp.uint64(fraction))
        exponent -= 1
    add_digits(words, at, mantissa, exponent, negative)
    below = settle(words, at, digits)
    top = leading(words, at, digits)
    if top < 0:
        return wp.uint64(0)
    # What is beyond the digits may have more than 32 bits only if the sum is far beyond all numbers.
    if words[at, top] > DIGIT:
        bits = infinity
    else:
        zeros = zeros_before(digit_at(words, at, top))
        bits = wp.min(rounded(first_bits(words, at, top, zeros), 32 * top + 31 - zeros, fraction), infinity)
    if below:
        bits = bits | sign
    return bits


@wp.kernel
def round_float32(words: wp.array2d(dtype=wp.int64), sums: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    if not untouched(words, i):
        sums[i] = wp.uint32(sum_bits(words, i, wp.uint64(sums[i]), 23, 255))


@wp.kernel
def round_float64(words: wp.array2d(dtype=wp.int64), sums: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    if not untouched(words, i):
        sums[i] = sum_bits(words, i, sums[i], 52, 2047)
