"""First versions: large kernels begin with code that compiles quickly, and full versions take over with the same results."""

import gc
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import warp as wp
from warp import _weft


@pytest.fixture
def always(tmp_path):
    """Every kernel begins with a first version; nothing is in the cache."""
    before = _weft.cache_folder()
    _weft.set_cache_folder(str(tmp_path / "cache"))
    _weft.set_first_versions(True, 0.0)
    yield
    _weft.finish_full_versions()
    _weft.set_first_versions(wp.config.first_versions)
    _weft.set_cache_folder(before)


def counts():
    found = _weft.build_counts()
    return found["first"], found["full"]


class Counted:
    """How many first versions were made, and how many full ones replaced one, since it was made."""

    def __init__(self):
        self.before = counts()

    def __call__(self):
        return tuple(now - before for now, before in zip(counts(), self.before))


def bits(array):
    return np.ascontiguousarray(array).tobytes()


@wp.struct
class Particle:
    x: wp.vec3
    mass: float


@wp.func
def spread(p: wp.vec3, k: int):
    if k <= 0:
        return wp.length(p)
    return wp.dot(p, wp.vec3(1.0, 2.0, 3.0)) / float(k)


def make_math():
    @wp.kernel
    def math(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        s = float(0.0)
        for j in range(i % 7 + 1):
            s += wp.sin(x[i] * float(j)) / (1.0 + wp.exp(-x[i]))
            if s > 3.0:
                s -= wp.sqrt(wp.abs(x[i]))
        y[i] = s

    return math


def make_matrices():
    @wp.kernel
    def matrices(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        a = x[i]
        m = wp.mat33(a, 1.0, 2.0, 0.5, a + 3.0, -1.0, 2.0, a * a, 4.0)
        y[i] = wp.determinant(wp.inverse(m) * wp.transpose(m)) + wp.trace(m)

    return matrices


def make_branches():
    @wp.kernel
    def branches(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        p = Particle()
        p.x = wp.vec3(x[i], float(i), 1.0)
        p.mass = x[(i + 3) % x.shape[0]]
        out = float(0.0)
        k = int(0)
        while k < i % 5:
            out += spread(p.x * p.mass, k)
            k += 1
            if out > 100.0:
                break
        y[i] = wp.where(out != out, -1.0, out)

    return branches


def make_random():
    @wp.kernel
    def random(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        state = wp.rand_init(42, i)
        q = wp.quat_from_axis_angle(wp.normalize(wp.vec3(x[i], 1.0, 0.3)), wp.randf(state))
        y[i] = wp.quat_rotate(q, wp.vec3(1.0, 2.0, x[i]))[1] + wp.noise(state, x[i])

    return random


def make_small_integers():
    @wp.kernel
    def small(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        a = wp.int8(int(x[i] * 100.0))
        b = wp.uint16(i)
        h = wp.float16(x[i])
        y[i] = float(a * wp.int8(3)) + float(b >> wp.uint16(1)) + float(h * h) + float(wp.int64(i) // wp.int64(3))

    return small


MAKERS = [make_math, make_matrices, make_branches, make_random, make_small_integers]


def launches(kernel, x, times):
    out = []
    for _ in range(times):
        y = wp.zeros(x.size, dtype=float, device="cpu")
        wp.launch(kernel, dim=x.size, inputs=[x, y], device="cpu")
        out.append(bits(y.numpy()))
    return out


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("size", [1, 37, 1000])
def test_versions_agree_to_the_bit(always, make, size):
    values = np.random.default_rng(size).normal(scale=3.0, size=size).astype(np.float32)
    x = wp.array(values, device="cpu")
    kernel, made = make(), Counted()
    first = launches(kernel, x, 2)
    assert made() == (1, 0)
    wp.finish_kernels()
    full = launches(kernel, x, 2)
    assert made() == (1, 1)
    assert len(set(first + full)) == 1


@pytest.mark.parametrize("make", MAKERS[:4])
def test_adjoints_agree_to_the_bit(always, make):
    values = np.random.default_rng(5).normal(size=61).astype(np.float32)
    kernel, seen = make(), []
    made = Counted()
    for _ in range(4):
        x = wp.array(values, requires_grad=True, device="cpu")
        y = wp.zeros(61, dtype=float, requires_grad=True, device="cpu")
        with wp.Tape() as tape:
            wp.launch(kernel, dim=61, inputs=[x, y], device="cpu")
        tape.backward(grads={y: wp.ones(61, dtype=float, device="cpu")})
        seen.append(bits(y.numpy()) + bits(x.grad.numpy()))
        if len(seen) == 2:
            wp.finish_kernels()
    assert made()[0] == made()[1] >= 2  # the kernel, maybe with a log, and its adjoint
    assert len(set(seen)) == 1


def test_what_is_launched_once_is_compiled_once(always):
    x = wp.array(np.arange(8.0, dtype=np.float32), device="cpu")
    kernel, made = make_math(), Counted()
    before = _weft.count_first_versions()
    launches(kernel, x, 1)
    assert made() == (1, 0)
    assert _weft.count_first_versions() == before + 1
    del kernel
    gc.collect()
    assert _weft.count_first_versions() == before  # nobody is left to make it for


def test_sums_have_the_lanes_of_the_full_version(always):
    @wp.kernel
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float), slots: wp.array(dtype=int), n: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(out, 0, wp.sin(x[i]))
        for _ in range(i % 3):
            slots[wp.atomic_add(n, 0, 1)] = i

    values = np.random.default_rng(1).normal(size=500).astype(np.float32)
    x, seen = wp.array(values, device="cpu"), []
    for _ in range(4):
        out, n = wp.zeros(1, dtype=float, device="cpu"), wp.zeros(1, dtype=int, device="cpu")
        slots = wp.zeros(1000, dtype=int, device="cpu")
        wp.launch(total, dim=500, inputs=[x, out, slots, n], device="cpu")
        seen.append(bits(out.numpy()) + bits(slots.numpy()))
        if len(seen) == 2:
            wp.finish_kernels()
    assert len(set(seen)) == 1


def test_prints_keep_their_order(always, capfd):
    @wp.kernel
    def say(x: wp.array(dtype=float)):
        i = wp.tid()
        wp.printf("a%d ", i)
        if x[i] > 1.0:
            wp.printf("b%d ", i)

    x = wp.array(np.arange(5.0, dtype=np.float32), device="cpu")
    texts = []
    for turn in range(3):
        wp.launch(say, dim=5, inputs=[x], device="cpu")
        texts.append(capfd.readouterr().out)
        if turn == 1:
            wp.finish_kernels()
    assert texts[0] == texts[1] == texts[2] != ""


def test_graphs_wait_for_the_full_version(always):
    x = wp.array(np.arange(50.0, dtype=np.float32), device="cpu")
    y = wp.zeros(50, dtype=float, device="cpu")
    fresh, begun = make_math(), make_math()
    before = launches(begun, x, 1)
    made = Counted()
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(begun, dim=50, inputs=[x, y], device="cpu")
        assert made() == (0, 1)
    wp.capture_launch(capture.graph)
    assert bits(y.numpy()) == before[0]
    made = Counted()
    with wp.ScopedCapture(device="cpu") as capture:
        wp.launch(fresh, dim=50, inputs=[x, y], device="cpu")
    assert made() == (0, 0)
    assert launches(fresh, x, 1) == before and made() == (0, 0)


def test_saved_graphs_hold_the_full_version(always, tmp_path):
    """What a file holds is made fully where it was captured and where it is loaded."""
    x = wp.array(np.arange(50.0, dtype=np.float32), device="cpu")
    y = wp.zeros(50, dtype=float, device="cpu")
    begun = make_math()
    before = launches(begun, x, 1)
    made = Counted()
    with wp.ScopedCapture(device="cpu", apic=True) as capture:
        wp.launch(begun, dim=50, inputs=[x, y], device="cpu")
    wp.capture_save(capture.graph, tmp_path / "saved", inputs={"x": x}, outputs={"y": y})
    assert made() == (0, 1)
    wp.config.record_kernels = True
    try:
        loaded = wp.capture_load(tmp_path / "saved", device="cpu")
        wp.capture_launch(loaded)
        rows = wp.kernel_report()
    finally:
        wp.config.record_kernels = False
    assert rows and {row["version"] for row in rows} == {"full"} and made() == (0, 1)
    found = wp.zeros(50, dtype=float, device="cpu")
    loaded.get_param("y", found)
    assert bits(found.numpy()) == before[0]


def test_switched_off(always):
    x = wp.array(np.arange(5.0, dtype=np.float32), device="cpu")
    begun, made = make_math(), Counted()
    launches(begun, x, 1)
    wp.config.first_versions = False
    try:
        launches(make_matrices(), x, 2)
        launches(begun, x, 1)  # finds the first one, and waits for the full one
        assert made() == (1, 1)
    finally:
        wp.config.first_versions = True


def test_small_kernels_begin_with_the_full_version():
    @wp.kernel
    def small(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = wp.sin(x[i]) + 2.0 * x[i]

    made = Counted()
    launches(small, wp.zeros(3, dtype=float, device="cpu"), 2)
    assert made() == (0, 0)


def test_launches_from_threads(always):
    values = np.random.default_rng(2).normal(size=300).astype(np.float32)
    x = wp.array(values, device="cpu")
    kernel, seen = make_branches(), []

    def work():
        seen.extend(launches(kernel, x, 30))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    wp.finish_kernels()
    for thread in threads:
        thread.join()
    assert len(seen) == 120 and len(set(seen)) == 1


def test_diagnostics_show_it(always):
    from warp._src.api.startup import diagnostics

    launches(make_matrices(), wp.zeros(3, dtype=float, device="cpu"), 1)
    assert diagnostics()["first_versions"].startswith("on, ")


PROGRAM = """
import os, sys, time
import numpy as np
import warp as wp
from warp import _weft

wp.config.quiet = True
wp.config.kernel_cache_dir = sys.argv[1]
LARGE

@wp.kernel
def large(x: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    for j in range(40):
        a = wp.mat44(v, 1.0, 2.0, 3.0, 0.5, v, 1.0, 0.0, 2.0, 0.1, v, 1.0, 1.0, 2.0, 0.3, v + 5.0)
        v += wp.determinant(wp.inverse(a)) * wp.sin(v + float(j)) + wp.pow(wp.abs(v) + 1.0, 0.3)
    x[i] = v

def launch():
    x = wp.array(np.arange(9, dtype=np.float32), device="cpu")
    wp.launch(large, dim=9, inputs=[x], device="cpu")
    return x.numpy().tobytes().hex()

def counts(*names):
    found = _weft.build_counts()
    return " ".join(str(found[name]) for name in names)
"""


def run(tmp_path, body, setting="_weft.set_first_versions(True, 0.0)"):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("LARGE", setting) + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout.split()


def test_large_kernels_begin_with_a_first_version(tmp_path):
    out = run(tmp_path, 'launch(); print(counts("compiled", "first"))', setting="")
    assert out == ["1", "1"]


def test_the_next_process_finds_what_there_is(tmp_path):
    once = 'print(launch()); print(counts("compiled", "disk", "by_source", "first", "full"))'
    first = run(tmp_path, once)
    assert first[1:] == ["1", "0", "0", "1", "0"]
    # Launched once again: from disk, without a compiler.
    again = run(tmp_path, once)
    assert again == [first[0], "0", "1", "1", "1", "0"]
    # Launched more often: the full version is made of what lies beside the first one.
    more = run(tmp_path, 'print(launch(), launch()); wp.finish_kernels(); print(launch()); print(counts("first", "full"))')
    assert more == [first[0]] * 3 + ["1", "1"]
    # From now on there is the full version.
    last = run(tmp_path, once)
    assert last == [first[0], "0", "1", "1", "0", "0"]


def test_loading_compiles_fully(tmp_path):
    out = run(tmp_path, 'wp.load_module(); launch(); print(counts("compiled", "first", "full"))')
    assert out == ["1", "0", "0"]


def test_loading_finishes_what_was_begun(tmp_path):
    out = run(
        tmp_path,
        'launch(); wp.load_module(); launch(); print(counts("first", "full"), _weft.count_first_versions())',
    )
    assert out == ["1", "1", "0"]


@pytest.mark.parametrize("_", range(3))
def test_a_process_ends_while_its_kernels_are_compiled(tmp_path, _):
    run(tmp_path, "launch(); launch()")
    run(tmp_path, "launch(); launch(); time.sleep(0.02)")


@pytest.mark.parametrize("_", range(3))
def test_a_process_ends_whose_first_compile_is_in_the_background(tmp_path, _):
    """What LLVM makes when it is first used would die before a handler that was registered earlier."""
    run(tmp_path, "launch()")
    run(tmp_path, "launch(); launch(); time.sleep(0.03)")


MESH = """
@wp.kernel
def rays(mesh: wp.uint64, hit: wp.array(dtype=float)):
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, wp.vec3(0.1, 0.1, 1.0 + float(i)), wp.vec3(0.0, 0.0, -1.0), 100.0)
    hit[i] = query.t

points = wp.array(np.eye(3, dtype=np.float32), dtype=wp.vec3, device="cpu")
mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int, device="cpu"))
hit = wp.zeros(3, dtype=float, device="cpu")
for _ in range(TIMES):
    wp.launch(rays, dim=3, inputs=[mesh.id, hit], device="cpu")
assert np.allclose(hit.numpy(), [0.2, 1.2, 2.2]), hit.numpy()
print(counts("first"))
"""


def test_a_process_ends_while_functions_apart_are_compiled(tmp_path):
    """Walks over trees are objects of their own; of the cache only the bundle is left, which holds kernels."""
    assert run(tmp_path, MESH.replace("TIMES", "1")) == ["1"]
    for file in (tmp_path / "cache").rglob("*"):
        if file.is_file() and file.suffix != ".pak":
            file.unlink()
    assert run(tmp_path, MESH.replace("TIMES", "2")) == ["1"]


def make_ray():
    @wp.kernel
    def ray(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        query = wp.mesh_query_ray(mesh, p[i], wp.vec3(0.1, -0.2, 1.0), 100.0)
        out[i] = wp.vec4(query.t, query.u, query.v, float(query.face) + query.sign)

    return ray


def make_point():
    @wp.kernel
    def point(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        query = wp.mesh_query_point(mesh, p[i], 100.0)
        out[i] = wp.vec4(query.sign, query.u, query.v, float(query.face))

    return point


def make_boxes():
    @wp.kernel
    def boxes(mesh: wp.uint64, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec4)):
        i = wp.tid()
        count = int(0)
        for face in wp.mesh_query_aabb(mesh, p[i] - wp.vec3(0.3), p[i] + wp.vec3(0.3)):
            count += face + 1
        out[i] = wp.vec4(float(count))

    return boxes


@pytest.mark.parametrize("make", [make_ray, make_point, make_boxes])
def test_walks_over_trees_agree_to_the_bit(always, make):
    """They are objects apart from kernels, and have a first version too."""
    random = np.random.default_rng(3)
    corners = wp.array(random.normal(size=(90, 3)), dtype=wp.vec3, device="cpu")
    mesh = wp.Mesh(corners, wp.array(np.arange(90), dtype=int, device="cpu"))
    places = wp.array(random.normal(size=(50, 3)), dtype=wp.vec3, device="cpu")
    kernel, seen, made = make(), [], Counted()
    for turn in range(4):
        out = wp.zeros(50, dtype=wp.vec4, device="cpu")
        wp.launch(kernel, dim=50, inputs=[mesh.id, places, out], device="cpu")
        seen.append(bits(out.numpy()))
        if turn == 1:
            assert made() == (1, 0)
            wp.finish_kernels()
    assert made() == (1, 1)
    assert len(set(seen)) == 1 and np.any(np.frombuffer(seen[0], np.float32))


def test_first_versions_use_walks_that_are_there(tmp_path):
    """A kernel comes whose walk was made in full for another one."""

    def made(program):
        before = set((tmp_path / "cache").rglob("*.obj"))
        run(tmp_path, program.replace("TIMES", "1"))
        return len(set((tmp_path / "cache").rglob("*.obj")) - before)

    assert made(MESH) >= 2  # a kernel and what it calls
    assert made(MESH.replace("query.t", "2.0 * query.t - query.t")) == 1  # by the first versions of that
    assert made(MESH.replace("for _ in", "wp.load_module()\nfor _ in")) >= 1  # in full
    assert made(MESH.replace("query.t", "3.0 * query.t - 2.0 * query.t")) == 1


def test_forks_while_kernels_are_compiled(tmp_path):
    out = run(
        tmp_path,
        """
        before = launch()
        launch()
        child = os.fork()
        if child == 0:
            good = launch() == before
            wp.finish_kernels()
            os._exit(0 if good and launch() == before and _weft.count_first_versions() == 0 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        wp.finish_kernels()
        print(launch() == before, counts("full"))
        """,
    )
    assert out == ["0", "True", "1"]
