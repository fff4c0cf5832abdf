# print, printf and, in debug mode only, assert.
# GOLDEN: %weftc %s --emit=ir => %b.ir
# GOLDEN: %weftc %s --emit=ir --debug => %b.debug.ir
import warp as wp


@wp.kernel
def printing(v: wp.vec3, i: int, f: float):
    print("starting")
    print(i)
    print("v is", v)
    wp.printf("%d %5.2f%%\n", i, f)
    assert f > 0.0, "f must be positive"
    assert i != 0
