"""How long the longest chain of pieces is in small graphs on the fake driver; prints "done" if each is as it should be."""

from __future__ import annotations

import ctypes

import numpy as np
import warp as wp

SIZE = 64
wp.config.quiet = True
wp.config.parallel_graphs = True
driver = ctypes.CDLL("libcuda.so.1")


@wp.struct
class Two:
    read: wp.array(dtype=float)
    written: wp.array(dtype=float)


@wp.func
def sixteenth(x: wp.array(dtype=float), i: int):
    return x[i] * 0.0625


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = sixteenth(x, i) + x[i] * x[i]


@wp.kernel
def scale_two(two: Two):
    i = wp.tid()
    two.written[i] = two.read[i] * 2.0


@wp.kernel
def scale_tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=16, offset=i * 16)
    wp.tile_store(y, t + wp.tile_broadcast(wp.tile_sum(t), shape=(16,)), offset=i * 16)


@wp.kernel
def tell(x: wp.array(dtype=float)):
    if wp.tid() == 0:
        wp.printf("%d\n", int(x[0]))


@wp.kernel
def by_address(x: wp.uint64, y: wp.array(dtype=float)):
    y[wp.tid()] = wp.array(ptr=x, shape=(SIZE,), dtype=float)[wp.tid()]


def chain(work) -> tuple[int, int]:
    with wp.ScopedCapture() as capture:
        work()
    nodes, longest = ctypes.c_int(), ctypes.c_int()
    driver.weft_fake_graph(ctypes.byref(nodes), ctypes.byref(longest))
    wp.capture_launch(capture.graph)
    return nodes.value, longest.value


def expect(what: str, found: tuple[int, int], nodes: int, longest: int) -> None:
    assert found == (nodes, longest), f"{what}: {found[0]} nodes, the longest chain {found[1]}; not {nodes} and {longest}"


with wp.ScopedDevice("cuda:0"):
    a, b, c, d, e, f = (wp.array(np.ones(SIZE, dtype=np.float32), requires_grad=True) for _ in range(6))
    both = wp.zeros(SIZE * 2, dtype=float)

    def launch(kernel, x, y, **options):
        wp.launch(kernel, SIZE, [x], [y], **options)

    def back(x, y):
        wp.launch(scale, SIZE, [x], [y], adj_inputs=[x.grad], adj_outputs=[y.grad], adjoint=True)

    def structs():
        for x, y in ((a, b), (a, c), (b, d)):
            two = Two()
            two.read, two.written = x, y
            wp.launch(scale_two, SIZE, [two])

    def tiles():
        for x, y in ((a, b), (c, d), (b, e)):
            wp.launch_tiled(scale_tiles, dim=SIZE // 16, inputs=[x], outputs=[y], block_dim=32)

    expect("apart", chain(lambda: [launch(scale, a, b), launch(scale, a, c), launch(scale, a, d)]), 3, 1)
    expect("a chain", chain(lambda: [launch(scale, a, b), launch(scale, b, c), launch(scale, c, d)]), 3, 3)
    expect("two chains", chain(lambda: [launch(scale, a, b), launch(scale, c, d), launch(scale, b, e), launch(scale, d, f)]), 4, 2)
    expect("one array", chain(lambda: [launch(scale, a, b), launch(scale, c, b)]), 2, 2)
    expect("halves", chain(lambda: [launch(scale, a, both[:SIZE]), launch(scale, b, both[SIZE:])]), 2, 1)
    expect("a half and all", chain(lambda: [launch(scale, a, both[:SIZE]), wp.launch(scale, SIZE * 2, [both], [both])]), 2, 2)
    expect("structs", chain(structs), 3, 2)
    expect("tiles", chain(tiles), 3, 2)
    expect("fills and copies", chain(lambda: [a.zero_(), b.fill_(2.0), wp.copy(c, a), wp.copy(d, e), launch(scale, c, f)]), 7, 3)  # gradients are copied, too
    expect("strided", chain(lambda: [wp.copy(a[::2], b[::2]), c[::2].fill_(1.0), launch(scale, a, d)]), 4, 2)
    expect("new arrays", chain(lambda: [launch(scale, a, wp.zeros(SIZE, dtype=float)), launch(scale, a, wp.zeros(SIZE, dtype=float))]), 4, 2)
    expect("backwards", chain(lambda: [back(a, b), back(c, d)]), 2, 1)
    expect("backwards to one", chain(lambda: [back(a, b), back(a, d)]), 2, 2)
    expect("prints", chain(lambda: [launch(scale, a, b), wp.launch(tell, 1, [a]), wp.launch(tell, 1, [c])]), 3, 2)
    expect("addresses", chain(lambda: [launch(scale, a, b), wp.launch(by_address, SIZE, [wp.uint64(c.ptr), d]), launch(scale, a, e)]), 3, 3)
    command = wp.launch(scale, SIZE, [a], [b], record_cmd=True)
    expect("recorded", chain(lambda: [command.launch(), launch(scale, c, d)]), 2, 1)
    wp.config.parallel_graphs = False
    expect("off", chain(lambda: [launch(scale, a, b), launch(scale, a, c), launch(scale, a, d)]), 3, 3)
    wp.synchronize()
print("done", flush=True)
