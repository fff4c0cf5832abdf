# The Mandelbrot set as a kernel: one thread per pixel, a loop that each pixel leaves at its own time.
import warp as wp

LIMIT = wp.constant(64)


@wp.func
def escape_time(cx: float, cy: float):
    x = float(0.0)
    y = float(0.0)
    for step in range(LIMIT):
        if x * x + y * y > 4.0:
            return step
        t = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = t
    return LIMIT


@wp.kernel
def mandelbrot(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    h = out.shape[0]
    w = out.shape[1]
    out[i, j] = escape_time(-2.2 + 3.2 * float(j) / float(w), -1.2 + 2.4 * float(i) / float(h))


@wp.kernel
def draw(out: wp.array2d(dtype=int)):
    i = wp.tid()
    for j in range(out.shape[1]):
        n = escape_time(-2.2 + 3.2 * float(j) / float(out.shape[1]), -1.2 + 2.4 * float(i) / float(out.shape[0]))
        if n >= LIMIT:
            wp.printf("#")
        elif n > 8:
            wp.printf("+")
        elif n > 4:
            wp.printf(".")
        else:
            wp.printf(" ")
    wp.printf("\n")
