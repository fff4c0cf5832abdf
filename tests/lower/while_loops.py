# while: a pure test stays a test; one that loads, calls or changes something moves into the body; else.
# GOLDEN: %weftc %s --emit=ir => %b.ir
import warp as wp


@wp.func
def advance(x: wp.ref[int]):
    x += 1
    return x


@wp.kernel
def pure(out: wp.array(dtype=float), n: int):
    i = 0
    while i < n and n > 3:
        i += 1
    else:
        out[0] = 1.0


@wp.kernel
def loads(a: wp.array(dtype=float), n: int):
    i = 0
    while a[i] > 0.0:
        i += 1
    a[0] = float(i)


@wp.kernel
def updates(out: wp.array(dtype=float)):
    i = 0
    while advance(i) < 5:
        out[i] = 1.0
    out[0] = float(i)


@wp.kernel
def forever(out: wp.array(dtype=float)):
    i = 0
    while True:
        i += 1
        if i > 3:
            break
        if i == 2:
            continue
        out[i] = 1.0
    else:
        out[9] = 9.0
