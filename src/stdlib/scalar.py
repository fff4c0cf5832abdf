# Scalar functions of the standard library, in the kernel language. Literals take the type of the other operand.


def _asin_clamped(x):
    return _asin(clamp(x, -1.0, 1.0))


def _acos_clamped(x):
    return _acos(clamp(x, -1.0, 1.0))


def clamp(x, low, high):
    return min(max(low, x), high)


def sign(x):
    return where(x < 0, type(x)(-1), type(x)(1))


def copysign(x, y):
    return where((_signed_bits(x) < 0) != (_signed_bits(y) < 0), -x, x)


def _bits_f16(x):
    return reinterpret(x, int16)


def _bits_f32(x):
    return reinterpret(x, int32)


def _bits_f64(x):
    return reinterpret(x, int64)


def _count_bits(x):
    return int32(_bit_count(x))


def step(x):
    return where(x < 0, type(x)(1), type(x)(0))


def nonzero(x):
    return where(x == 0, type(x)(0), type(x)(1))


def _to_float32(x):
    return float32(x)


def _to_itself(x):
    return x


def degrees(x):
    return type(x)(_wide(x) * 57.29577951308232)


def radians(x):
    return type(x)(_wide(x) * 0.017453292519943295)


def frac(x):
    return x - trunc(x)


def lerp(a, b, t):
    return a * (1.0 - t) + b * t


def smoothstep(a, b, x):
    s = clamp((x - a) / (b - a), 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


def isnan(x):
    return x != x


def isinf(x):
    return (x - x) != (x - x) and x == x


def isfinite(x):
    return (x - x) == (x - x)


def _isnan_any(a):
    for i in range(len(a)):
        if isnan(a[i]):
            return True
    return False


def _isinf_any(a):
    for i in range(len(a)):
        if isinf(a[i]):
            return True
    return False


def _isfinite_all(a):
    for i in range(len(a)):
        if not isfinite(a[i]):
            return False
    return True


def _sign_each(x):
    r = x
    for i in range(len(x)):
        r[i] = sign(x[i])
    return r


def _same(a):
    return a


def _is_zero(a):
    return not a


def _min_component(a):
    r = a[0]
    for i in range(1, len(a)):
        r = min(r, a[i])
    return r


def _max_component(a):
    r = a[0]
    for i in range(1, len(a)):
        r = max(r, a[i])
    return r


def lower_bound(arr, arr_begin, arr_end, value):
    low = arr_begin
    high = arr_end - 1
    while low < high:
        mid = low + (high - low) // 2
        if arr[mid] < value:
            low = mid + 1
        else:
            high = mid
    return low


def _lower_bound_all(arr, value):
    return lower_bound(arr, 0, len(arr), value)
