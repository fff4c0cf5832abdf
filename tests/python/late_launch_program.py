"""Programs on the fake driver whose launches wait for their code: nobody can tell but by the time.

    late_launch_program.py WHAT

`both` runs a program with and without the queue and compares all results bit by bit.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
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


def always(on: bool = True, threads: int = 0) -> None:
    _weft.set_late_launches(on, 1, threads)


def make(number: int) -> wp.Kernel:
    """A kernel that no cache knows."""
    weight = float(number) + 0.5

    @wp.kernel(module="unique")
    def step(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sin(x[i]) * weight + y[i]

    return step


@contextlib.contextmanager
def no_code():
    """No other thread makes any inside: a launch that may wait does, however busy the machine is."""
    driver.weft_fake_hold(1)
    try:
        yield
    finally:
        driver.weft_fake_hold(0)


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


def addresses() -> None:
    """Addresses that are compared, or that an array is laid over, are told to nobody; all others are."""
    always()

    def launches(number: int, *arrays: wp.array) -> bool:
        """Whether a launch with them waits."""
        wp.synchronize()
        with no_code():
            wp.launch(make(number), dim=8, inputs=[arrays[0]], outputs=[arrays[-1]])
            return waiting()

    def lay(make_array, array: wp.array) -> wp.array:
        return make_array(ptr=array.ptr, dtype=float, shape=8)

    with wp.ScopedDevice(DEVICE):
        x, y = wp.full(8, 1.0, dtype=float), wp.zeros(8, dtype=float)
        assert not x.ptr == y.ptr and x.ptr != y.ptr
        if x.ptr is None or y.ptr == None:  # noqa: E711
            raise AssertionError
        assert launches(4000, x, y)
        pairs = wp.array(
            ptr=y.ptr,
            dtype=wp.vec2,
            shape=(2, 2),
            copy=False,
        )
        over, ends = wp.array(ptr=x.ptr, dtype=float, shape=8, strides=(4,)), wp.array(ptr=x.ptr, dtype=float, shape=9)
        assert not launches(4001, over, y)  # an array beyond the end is made of a told address
        x = wp.full(8, 1.0, dtype=float)
        over = wp.array(ptr=x.ptr, dtype=float, shape=8)
        del x, ends
        with no_code():
            wp.launch(make(4002), dim=8, inputs=[over], outputs=[y])
            assert waiting()
        other = wp.full(8, 5.0, dtype=float)  # not in the memory of `x`, which `over` holds
        assert launches(4003, over, y)
        weights = sum(4000 + k + 0.5 for k in range(4))
        assert np.allclose(pairs.numpy().ravel(), np.sin(np.float32(1.0)) * weights, rtol=1e-5)
        assert _weft.is_foreign(over) and other.numpy().tolist() == [5.0] * 8
        kept = [
            lambda a: a.ptr + 0,
            lambda a: [a.ptr == wp.zeros(1).ptr, a.ptr][1],
            lambda a: lay(wp.array, a),  # what a variable holds may be anything
            lambda a: getattr(a, "ptr"),
            lambda a: wp.array(ptr=(p := a.ptr), dtype=float, shape=8) and p,
            lambda a: eval("a.ptr == a.ptr", {"a": a}),  # no text
            lambda a: a.ptr == max(0, 1),
            lambda a: dict(ptr=a.ptr),
        ]
        for number, keep in enumerate(kept):
            z = wp.zeros(8, dtype=float)
            keep(z)
            assert not launches(4010 + number, z, y), number
        free = wp.zeros(8, dtype=float)
        wp.synchronize()
        with no_code():
            wp.launch(make(4040), dim=8, inputs=[free], outputs=[free])
            assert waiting() and wp.array(ptr=free.ptr, dtype=int, shape=8) and waiting()


def blocks() -> None:
    """Who asks for the best block of a kernel waits for its code, not for what waits."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)
        for k in range(10):
            wp.launch(make(4100 + k), dim=8, inputs=[x], outputs=[y])
        before, asked = _weft.late_waits(), make(4120)
        assert wp.get_suggested_block_size(asked)[0] > 0 and wp.get_cuda_kernel_properties(asked)
        assert _weft.late_waits() == before


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
    with wp.ScopedDevice(DEVICE), no_code():
        x, y = wp.zeros(16, dtype=float), wp.zeros(16, dtype=float)
        for k in range(6):
            wp.launch(make(3000 + k), dim=16, inputs=[x], outputs=[y])
        assert waiting()


def ahead() -> None:
    """Threads that compile kernels ahead of need hold the right to build what launches wait for."""
    always(threads=3)
    driver.weft_fake_slow(120)
    wp.config.compile_ahead = True
    for turn in range(3):
        text = "import warp as wp\n" + "".join(
            f"""
@wp.kernel
def k{n}(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + wp.sin(x[i] * {n}.0) + {turn}.0
"""
            for n in range(8)
        )
        file = f"{os.environ['WARP_CACHE_PATH']}/ahead_{turn}.py"
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        spec = importlib.util.spec_from_file_location(f"ahead_{turn}", file)
        names = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(names)
        with wp.ScopedDevice(DEVICE):
            x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)
            shown = wp.zeros(8, dtype=float)
            assert shown.ptr
            for n in range(8):  # the first ones wait for their code, and so others are compiled ahead; later ones do not
                out = shown if n < 3 else y
                wp.launch(getattr(names, f"k{n}"), dim=8, inputs=[x], outputs=[out])
            assert y.numpy().tolist() == [5.0 * turn] * 8 and shown.numpy().tolist() == [3.0 * turn] * 8


@wp.kernel
def by_ids(ids: wp.array(dtype=wp.uint64), out: wp.array(dtype=float)):
    out[wp.tid()] = wp.mesh_get_point(ids[0], 0)[0]


@wp.kernel
def by_address(address: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    there = wp.array(ptr=address, shape=(8,), dtype=float)
    out[i] = there[i]


@wp.kernel
def tells_address(x: wp.array(dtype=float), out: wp.array(dtype=wp.uint64)):
    out[wp.tid()] = wp.uint64(x.ptr)


def elsewhere() -> None:
    """Kernels that reach memory which is not among their arguments don't wait: nobody would hold it."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.full(8, 4.0, dtype=float), wp.zeros(8, dtype=float)
        address = x.ptr
        wp.launch(by_address, dim=8, inputs=[address], outputs=[y])
        assert not waiting() and y.numpy().tolist() == [4.0] * 8
        wp.launch(make(500), dim=8, inputs=[wp.zeros(8, dtype=float)], outputs=[y])
        wp.launch(by_address, dim=8, inputs=[address], outputs=[y])  # its code is there
        assert not waiting()
        points = wp.array([[7.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=wp.vec3)
        mesh = wp.Mesh(points=points, indices=wp.array([0, 1, 2], dtype=int))
        ids = wp.array([mesh.id], dtype=wp.uint64)
        for _ in range(2):
            wp.launch(make(501), dim=8, inputs=[y], outputs=[wp.zeros(8, dtype=float)])
            wp.launch(by_ids, dim=8, inputs=[ids], outputs=[y])
            assert not waiting()
        del mesh, points
        assert y.numpy().tolist() == [7.0] * 8


def others() -> None:
    """Streams that other libraries know of, timing, and what was asked for before it began."""
    always()
    driver.weft_fake_slow(60)
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(8, dtype=float), wp.zeros(8, dtype=float)
        wp.launch(make(600), dim=8, inputs=[x], outputs=[y])
        wp.timing_begin(cuda_filter=wp.TIMING_ALL)
        assert not waiting()
        wp.launch(make(601), dim=8, inputs=[x], outputs=[y])
        assert not waiting()
        assert len([r for r in wp.timing_end() if "kernel" in r.name]) == 1
        wp.timing_begin(cuda_filter=wp.TIMING_MEMCPY)
        wp.launch(make(602), dim=8, inputs=[x], outputs=[y])
        wp.copy(y, x)
        assert len(wp.timing_end()) == 1
        with no_code():
            wp.launch(make(603), dim=8, inputs=[x], outputs=[y])
            assert waiting()
        assert wp.get_stream().cuda_stream and not waiting()  # others may capture what is queued there from now on
        wp.launch(make(604), dim=8, inputs=[x], outputs=[y])
        assert not waiting()
        with wp.ScopedStream(wp.Stream()):
            wp.launch(make(605), dim=8, inputs=[x], outputs=[y])
        wp.set_stream(wp.Stream())
        with no_code():
            wp.launch(make(606), dim=8, inputs=[x], outputs=[y])
            assert waiting()
        wp.synchronize()


def meanings() -> None:
    """Names that stand for something else at the next launch."""
    results = []
    for late in (False, True):
        always(late)
        driver.weft_fake_slow(60)
        wp.config.kernel_cache_dir = f"{os.environ['WARP_CACHE_PATH']}-{late}"

        def work() -> list[float]:
            out = []
            for weight in (1.0, 2.0, 3.0):

                @wp.kernel
                def scaled(y: wp.array(dtype=float)):
                    y[wp.tid()] = y[wp.tid()] * 10.0 + weight

                y = wp.zeros(2, dtype=float)
                wp.launch(scaled, dim=2, inputs=[y])
                wp.launch(scaled, dim=2, inputs=[y])
                out.append(y)
            return [array.numpy()[1] for array in out]

        with wp.ScopedDevice(DEVICE):
            results.append(work())
    assert results[0] == results[1] == [11.0, 22.0, 33.0], results


def statics() -> None:
    """Kernels that nothing but their IR tells apart: what wp.static gives depends on variables of the kernel."""
    always()
    driver.weft_fake_slow(60)
    weights = (1.0, 20.0, 300.0)

    @wp.kernel(module="unique")
    def weighted(y: wp.array(dtype=float)):
        i = wp.tid()
        for k in range(3):
            y[i] = y[i] + wp.static(weights[k])

    with wp.ScopedDevice(DEVICE):
        y = wp.zeros(8, dtype=float)
        with no_code():
            wp.launch(weighted, dim=8, inputs=[y])
            assert waiting()
        wp.launch(weighted, dim=8, inputs=[y])
        assert y.numpy().tolist() == [642.0] * 8
        wp.launch(weighted, dim=8, inputs=[y])
        assert y.numpy().tolist() == [963.0] * 8
    assert _weft.count_late_launches() == 1


def contention() -> None:
    """Threads that wait for each other's launches, for code and for Python, while a fork wants all of them to be still."""
    always(threads=4)
    driver.weft_fake_slow(20)
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with wp.ScopedDevice(DEVICE):
                shared = wp.zeros(16, dtype=float)
                for k in range(10):
                    kernel = make(5000 + 20 * number + k)
                    wp.launch(kernel, dim=16, inputs=[shared], outputs=[wp.zeros(16, dtype=float)])
                    del kernel
                    if k % 3 == number % 3:
                        shared.numpy()
                    if k % 4 == 0:
                        wp.record_event()
        except BaseException as error:
            problems.append(error)

    all_threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
    for thread in all_threads:
        thread.start()
    for _ in range(6):
        if (child := os.fork()) == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    for thread in all_threads:
        thread.join()
    assert not problems, problems


def leave_failing() -> None:
    """The process ends, and code that nobody waited for was refused: somebody is told."""
    always()
    with wp.ScopedDevice(DEVICE):
        x, y = wp.zeros(16, dtype=float), wp.zeros(16, dtype=float)
        wp.launch(make(3500), dim=16, inputs=[x], outputs=[y])
        wp.synchronize()
        driver.weft_fake_slow(60)
        driver.weft_fake_fail(1, 999, b"module_load")
        wp.launch(make(3501), dim=16, inputs=[x], outputs=[y])


PROGRAMS = (both, queue, errors, threads, fork, leave, ahead, elsewhere, others, meanings, statics, contention, addresses, blocks, leave_failing)

if __name__ == "__main__":
    {program.__name__: program for program in PROGRAMS}[sys.argv[1]]()
    print("done")
