"""Random programs captured into graphs on the fake driver, whose pieces run in any order that the graph's edges allow
(WEFT_FAKE_CUDA_SHUFFLE): the same as without a graph.

    graph_order_program.py SEED PARALLEL

Prints what its kernels print, then "done"; everything is compared after each run of the graph.
"""

from __future__ import annotations

import random
import sys

import numpy as np
import warp as wp

SIZE, ARRAYS, STEPS, RUNS, TELLS = 32, 6, 40, 3, 8
seed, parallel = int(sys.argv[1]), bool(int(sys.argv[2]))
wp.config.quiet = True
wp.config.parallel_graphs = parallel


@wp.struct
class Pair:
    one: wp.array(dtype=float)
    other: wp.array(dtype=float)


@wp.struct
class Held:
    values: wp.array(dtype=float)


@wp.kernel
def mix(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.floor(y[i] * 0.5 + x[i]) % 1000.0


@wp.kernel
def turn(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[x.shape[0] - 1 - i] + 1.0


@wp.kernel
def collect(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.atomic_add(y, 0, wp.floor(x[wp.tid()]) % 64.0)


@wp.kernel
def by_pair(pair: Pair):
    i = wp.tid()
    pair.other[i] = wp.floor(pair.one[i] * 0.5) + 2.0


@wp.kernel
def by_indices(x: wp.indexedarray(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] + 3.0


@wp.kernel
def through_memory(held: wp.array(dtype=Held), x: wp.array(dtype=float)):
    i = wp.tid()
    held[0].values[i] = wp.floor(x[i] * 0.25) + held[1].values[i] % 8.0


@wp.kernel
def through_address(x: wp.uint64, y: wp.array(dtype=float)):
    i = wp.tid()
    inside = wp.array(ptr=x, shape=(4,), dtype=float)
    y[i % 4] = inside[i % 4] + 1.0


@wp.kernel
def by_tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=8, offset=i * 8)
    wp.tile_store(y, t * 0.5 + wp.tile_broadcast(wp.tile_sum(t) * 0.0625, shape=(8,)), offset=i * 8)


@wp.kernel
def tell(x: wp.array(dtype=float), number: int):
    if wp.tid() == 0:
        wp.printf("piece %d: %d\n", number, int(x[1]))


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * 0.125


@wp.kernel
def move(points: wp.array(dtype=wp.vec3), x: wp.array(dtype=float)):
    i = wp.tid()
    points[i] = wp.vec3(points[i][0], points[i][1], x[i] % 4.0)


@wp.kernel
def look(mesh: wp.uint64, y: wp.array(dtype=float)):
    hit = wp.mesh_query_ray(mesh, wp.vec3(0.2, 0.2, 9.0), wp.vec3(0.0, 0.0, -1.0), 100.0)
    y[0] = wp.floor(hit.t * 8.0)


class Program:
    def __init__(self, told: bool) -> None:
        self.told = told
        self.arrays = [wp.array(np.arange(SIZE, dtype=np.float32) + k, requires_grad=True) for k in range(ARRAYS)]
        self.indices = wp.array(np.random.default_rng(seed).permutation(SIZE).astype(np.int32))
        self.condition = wp.zeros(1, dtype=int)
        corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32)
        self.mesh = wp.Mesh(wp.array(corners, dtype=wp.vec3), wp.array([0, 1, 2], dtype=int))
        held = [Held() for _ in range(2)]
        held[0].values, held[1].values = self.arrays[0], self.arrays[1]
        self.held = wp.array(held, dtype=Held)
        self.made: list[wp.array] = []

    def pair(self, chance: random.Random) -> tuple[wp.array, wp.array]:
        return tuple(self.arrays[k] for k in chance.sample(range(ARRAYS), 2))

    def step(self, chance: random.Random, number: int) -> None:
        what = chance.randrange(20)
        x, y = self.pair(chance)
        if what < 4:
            wp.launch(mix, SIZE, [x], [y])
        elif what == 4:
            wp.launch(turn, SIZE, [x], [y])
        elif what == 5:
            wp.launch(collect, SIZE, [x], [y])
        elif what == 6:
            pair = Pair()
            pair.one, pair.other = x, y
            wp.launch(by_pair, SIZE, [pair])
        elif what == 7:
            wp.launch(by_indices, SIZE, [x[self.indices]], [y])
        elif what == 8:
            wp.launch(through_memory, SIZE, [self.held, x])
        elif what == 9:
            wp.launch(through_address, 4, [wp.uint64(x.ptr), y])
        elif what == 10:
            wp.launch_tiled(by_tiles, dim=SIZE // 8, inputs=[x], outputs=[y], block_dim=32)
        elif what == 11:
            wp.launch(mix, SIZE, [x], [y])
        elif what == 12:
            y.fill_(float(chance.randrange(9)))
        elif what == 13:
            wp.copy(y[:SIZE:2], x[1:SIZE:2])
        elif what == 14:
            wp.copy(x[: SIZE - 8], x[8:])
        elif what == 15:
            self.made.append(wp.zeros(SIZE, dtype=float) if chance.random() < 0.5 else wp.clone(x))
            wp.launch(turn, SIZE, [self.made[-1]], [y])
        elif what == 16:
            half = SIZE // 2
            wp.launch(mix, half, [x[half:]], [x[:half]])
        elif what == 17:
            if chance.random() < 0.5:
                y.grad.fill_(1.0)
            wp.launch(square, SIZE, [x], [y], adj_inputs=[x.grad], adj_outputs=[y.grad], adjoint=True)
            if chance.random() < 0.5:
                wp.copy(y, x.grad)
                x.grad.zero_()
        elif what == 18:
            wp.copy(self.condition, wp.ones(1, dtype=int))
            wp.capture_if(self.condition, lambda: wp.launch(turn, SIZE, [x], [y]))
        elif what == 19:
            wp.launch(move, 3, [self.mesh.points, x])
            self.mesh.refit()
            wp.launch(look, 1, [self.mesh.id, y])

    def run(self) -> None:
        chance = random.Random(seed)
        for number in range(STEPS):
            self.step(chance, number)
            if self.told and number % TELLS == 0:
                wp.launch(tell, SIZE, [self.arrays[number % ARRAYS], number])

    def values(self) -> list[np.ndarray]:
        return [a.numpy() for a in self.arrays] + [a.grad.numpy() for a in self.arrays] + [self.mesh.points.numpy()]


with wp.ScopedDevice("cuda:0"):
    plain, captured = Program(told=False), Program(told=True)
    with wp.ScopedCapture() as capture:
        captured.run()
    for run in range(RUNS):
        plain.run()
        wp.capture_launch(capture.graph)
        for k, (a, b) in enumerate(zip(plain.values(), captured.values())):
            assert np.array_equal(a, b, equal_nan=True), f"array {k} after run {run}: {a}\n{b}"
    wp.synchronize()
print("done", flush=True)
