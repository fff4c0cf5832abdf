"""Programs on the fake driver whose launches wait for their code: nobody can tell but by the time.

    late_launch_program.py WHAT

`both` runs a program with and without the queue and compares all results bit by bit.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading

import numpy as np
import warp as wp
from warp import _weft

wp.config.quiet = True
driver = ctypes.CDLL("libcuda.so.1")
driver.weft_fake_fail.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p]
DEVICE = "cuda:0"


def always(on: bool = True) -> None:
    _weft.set_late_launches(on, 1)


def make(number: int) -> wp.Kernel:
    """A kernel that no cache knows."""
    weight = float(number) + 0.5

    @wp.kernel(module="unique")
    def step(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sin(x[i]) * weight + y[i]

    return step


def waiting() -> bool:
    return _weft.late_launches_waiting()


def program(first: int) -> list[bytes]:
    """Launches, fills, copies, views, allocations and what looks at them."""
    out = []
    with wp.ScopedDevice(DEVICE):
        x, y = wp.array(np.linspace(0.0, 3.0, 64, dtype=np.float32)), wp.zeros(64, dtype=float)
        for k in range(4):
            wp.launch(make(first + k), dim=64, inputs=[x], outputs=[y])
            wp.launch(make(first + k), dim=32, inputs=[y[32:]], outputs=[x[:32]])
        y.fill_(2.0)
        z = wp.empty(64, dtype=float)
        wp.copy(z, x)
        wp.launch(make(first + 4), dim=64, inputs=[y], outputs=[z])
        twice = make(first + 5)
        for _ in range(3):
            wp.launch(twice, dim=64, inputs=[z], outputs=[x])
            z.zero_()
        for _ in range(50):  # memory that is dropped while launches with it wait
            wp.launch(twice, dim=64, inputs=[wp.clone(x)], outputs=[y])
        x.assign(np.ones(64, dtype=np.float32))  # host memory, which may change right after
        wp.launch(twice, dim=64, inputs=[x], outputs=[y])
        out += [a.numpy().tobytes() for a in (x, y, z)]
        tiled = tiles(first)
        sums = wp.zeros(4, dtype=float)
        wp.launch_tiled(tiled, dim=4, inputs=[y], outputs=[sums], block_dim=32)
        out.append(sums.numpy().tobytes())
    return out


def tiles(number: int) -> wp.Kernel:
    weight = float(number)

    @wp.kernel(module="unique")
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        i = wp.tid()
        t = wp.tile_load(x, shape=16, offset=i * 16)
        wp.tile_store(out, wp.tile_sum(t * weight), offset=i)

    return total


def both() -> None:
    always(False)
    expected = program(100)
    wp.synchronize()
    before = _weft.count_late_launches()
    always()
    wp.config.kernel_cache_dir = wp.config.kernel_cache_dir + "-other"
    found = program(100)
    assert found == expected
    assert program(200) != expected and _weft.count_late_launches() > before + 5


def queue() -> None:
    """What lets launches wait, and what does not."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)
        looks = {
            "numpy": lambda: y.numpy(),
            "synchronize": lambda: wp.synchronize(),
            "stream": lambda: wp.synchronize_stream(),
            "event": lambda: wp.record_event(),
            "pointer": lambda: wp.zeros(1, dtype=float).ptr,
            "interface": lambda: wp.zeros(1, dtype=float).__cuda_array_interface__,
            "dlpack": lambda: wp.zeros(1, dtype=float).__dlpack__(),
            "graph": lambda: wp.capture_end() if wp.capture_begin() is None else None,
            "stream scope": lambda: wp.ScopedStream(wp.Stream()).__enter__(),
            "off": lambda: setattr(wp.config, "late_launches", False),
        }
        for number, (what, look) in enumerate(looks.items()):
            kernel = make(300 + number)
            wp.launch(kernel, dim=8, inputs=[x], outputs=[y])
            look()
            assert not waiting(), what
            if what == "stream scope":
                wp.set_stream(wp.get_device().stream)
            always()
        shown = wp.zeros(8, dtype=float)
        assert shown.ptr  # from now on others may look at it at any time
        wp.launch(make(330), dim=8, inputs=[shown], outputs=[y])
        assert not waiting()
        wrapped = wp.array(ptr=shown.ptr, dtype=float, shape=8)
        wp.launch(make(331), dim=8, inputs=[wrapped], outputs=[y])
        assert not waiting()
        tape = wp.Tape()
        with tape:
            wp.launch(make(332), dim=8, inputs=[x], outputs=[y])
        assert not waiting()
        with wp.ScopedCapture() as capture:
            wp.launch(make(333), dim=8, inputs=[x], outputs=[y])
        y.zero_()
        wp.capture_launch(capture.graph)
        assert y.numpy().tolist() == [0.0] * 8 and not waiting()


def errors() -> None:
    """A mistake is told by the launch that makes it; what LLVM and the driver refuse, by whoever waits next."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)

        @wp.kernel(module="unique")
        def wrong(x: wp.array(dtype=float)):
            x[wp.tid()] = nothing_of_this_name  # noqa: F821

        def message(call) -> str:
            try:
                call()
            except Exception as error:
                return str(error)
            return ""

        wp.launch(make(400), dim=8, inputs=[x], outputs=[y])
        assert "nothing_of_this_name" in message(lambda: wp.launch(wrong, dim=8, inputs=[x]))
        assert message(lambda: wp.launch(make(401), dim=-1, inputs=[x], outputs=[y]))
        assert message(lambda: wp.launch(make(402), dim=8, inputs=[x]))
        assert message(lambda: wp.launch(make(403), dim=8, inputs=[x], outputs=[y], block_dim=4096))
        wp.synchronize()
        driver.weft_fake_fail(1, 999, b"module_load")
        bad = make(404)
        wp.launch(bad, dim=8, inputs=[x], outputs=[y])
        told = message(wp.synchronize)
        assert "step" in told and "cuModuleLoad" in told, told
        assert not message(wp.synchronize)
        wp.launch(bad, dim=8, inputs=[x], outputs=[y])  # works the next time
        wp.synchronize()
        assert not message(wp.synchronize)


def threads() -> None:
    """Several threads launch, read and drop kernels at the same time."""
    always()
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with wp.ScopedDevice(DEVICE):
                for k in range(6):
                    x, y = wp.full(16, 1.0, dtype=float), wp.zeros(16, dtype=float)
                    for turn in range(3):
                        wp.launch(make(1000 + 100 * number + 10 * k + turn), dim=16, inputs=[x], outputs=[y])
                    weights = sum(1000 + 100 * number + 10 * k + turn + 0.5 for turn in range(3))
                    assert np.allclose(y.numpy(), np.sin(np.float32(1.0)) * weights, rtol=1e-5)
        except BaseException as error:
            problems.append(error)

    all_threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    assert not problems, problems


def fork() -> None:
    """A fork while launches wait: the parent goes on, the child runs on the CPU."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.full(16, 1.0, dtype=float), wp.zeros(16, dtype=float)
        for k in range(4):
            wp.launch(make(2000 + k), dim=16, inputs=[x], outputs=[y])
    child = os.fork()
    if child == 0:
        a = wp.zeros(4, dtype=float, device="cpu")
        wp.launch(make(1), dim=4, inputs=[a], outputs=[a], device="cpu")
        os._exit(0 if a.numpy().tolist() == [0.0] * 4 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.allclose(y.numpy(), np.sin(np.float32(1.0)) * sum(2000 + k + 0.5 for k in range(4)), rtol=1e-5)


def leave() -> None:
    """The process ends while launches wait."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(16, dtype=float), wp.zeros(16, dtype=float)
        for k in range(6):
            wp.launch(make(3000 + k), dim=16, inputs=[x], outputs=[y])
    assert waiting()


if __name__ == "__main__":
    {"both": both, "queue": queue, "errors": errors, "threads": threads, "fork": fork, "leave": leave}[sys.argv[1]]()
    print("done")
