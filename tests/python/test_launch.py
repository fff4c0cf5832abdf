"""wp.launch and recorded launches: every form of call, every kind of bad input, threads, interrupts."""

import ctypes
import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import warp as wp


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i]


@wp.kernel
def count(out: wp.array(dtype=int)):
    wp.atomic_add(out, 0, 1)


@wp.kernel
def count4(out: wp.array(dtype=int), unused: wp.array(dtype=int)):
    i, j, k, m = wp.tid()
    wp.atomic_add(out, 0, k + 1)


@wp.kernel
def with_default(x: wp.array(dtype=float), a: float = 2.0, n: int = -3):
    x[wp.tid()] = a + float(n)


@wp.kernel
def take_all(
    x: wp.array(dtype=float), v: wp.vec3, m: wp.mat22, n: wp.int64, u: wp.uint8, flag: bool, out: wp.array(dtype=float)
):
    out[0] = x[0] + v[1] + m[1, 0] + float(n) + float(u)
    if flag:
        out[0] = -out[0]


@wp.struct
class Pair:
    x: wp.array(dtype=float)
    a: float


@wp.kernel
def use_pair(p: Pair, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = p.x[i] * p.a


def arrays(n=4):
    return wp.array(np.arange(n, dtype=np.float32)), wp.zeros(n, dtype=float)


# ---- Forms of the call ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: wp.launch(scale, 4, [x, y, 2.0]),
        lambda x, y: wp.launch(scale, 4, [x], [y, 2.0]),
        lambda x, y: wp.launch(scale, 4, (x, y), (2.0,)),
        lambda x, y: wp.launch(kernel=scale, dim=4, inputs=[x, y, 2.0]),
        lambda x, y: wp.launch(dim=(4,), inputs=[x, y, 2.0], kernel=scale, device=wp.get_device()),
        lambda x, y: wp.launch(scale, dim=[4], inputs=[x, y, 2], outputs=[]),
        lambda x, y: wp.launch(scale, dim=np.int64(4), inputs=[x, y, np.float32(2)]),
        lambda x, y: wp.launch(scale, dim=np.array([4]), inputs=[x, y, wp.float32(2.0)]),
        lambda x, y: wp.launch(scale, dim=x.shape, inputs=[x, y, 2.0], device=wp.get_device(), stream=None),
        lambda x, y: wp.launch(scale, inputs=[x, y, 2.0]),
        lambda x, y: wp.launch(scale, None, [x, y, 2.0]),
        lambda x, y: wp.launch(scale, 4, [x, y, 2.0], [], [], [], wp.get_device(), None, False, True, False, 0, 256),
        lambda x, y: wp.launch(scale, 4, inputs=[x, y, 2.0], outputs=None, max_blocks=4, block_dim=128),
        lambda x, y: wp.launch(**{"ker" + "nel": scale, "dim": 4, "inputs": [x, y, 2.0]}),
    ],
)
def test_every_form_of_the_call(call):
    x, y = arrays()
    assert call(x, y) is None
    assert y.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]


def test_signature_and_help():
    names = list(inspect.signature(wp.launch).parameters)
    assert names == [
        "kernel", "dim", "inputs", "outputs", "adj_inputs", "adj_outputs", "device", "stream", "adjoint", "record_tape",
        "record_cmd", "max_blocks", "block_dim",
    ]  # fmt: skip
    assert "grid of 1 to 4 dimensions" in wp.launch.__doc__
    assert wp.launch.__name__ == "launch" and wp.launch.__module__ == "warp"


@pytest.mark.parametrize("dim", [0, (0,), (3, 0), (0, 1, 2), (2, 3), (2, 3, 4), (1, 2, 3, 4)])
def test_ranks_and_empty_grids(dim):
    out = wp.zeros(1, dtype=int)
    wp.launch(count, dim=dim, inputs=[out])
    assert out.numpy()[0] == np.prod(dim)


@wp.func
def counted(n: int = True):
    return n + 10


@wp.kernel
def with_truths(x: wp.array(dtype=float), n: int = False, a: float = True, b: bool = 1, c: wp.uint8 = True):
    x[0] = float(n) + 2.0 * a + 4.0 * float(b) + 8.0 * float(c)
    x[1] = float(counted())


def test_truth_values_are_defaults_of_numbers():
    x = wp.zeros(2, dtype=float, device="cpu")
    wp.launch(with_truths, 1, [x], device="cpu")
    assert x.numpy().tolist() == [14.0, 11.0]
    wp.launch(with_truths, 1, [x, 1, 0.0, False, 0], device="cpu")
    assert x.numpy().tolist() == [1.0, 11.0]


def test_default_arguments():
    x = wp.zeros(2, dtype=float)
    wp.launch(with_default, 2, [x])
    assert x.numpy().tolist() == [-1.0, -1.0]
    wp.launch(with_default, 2, [x, 5.0])
    assert x.numpy().tolist() == [2.0, 2.0]
    wp.launch(with_default, 2, [x], [5.0, 1])
    assert x.numpy().tolist() == [6.0, 6.0]
    cmd = wp.launch(with_default, 2, [x], record_cmd=True)
    cmd.launch()
    assert x.numpy().tolist() == [-1.0, -1.0]


@pytest.mark.cpu_only("NumPy's arrays are arguments")
def test_numpy_arrays_and_plain_values():
    out = np.zeros(1, dtype=np.float32)
    x = np.ones(1, dtype=np.float32)
    wp.launch(take_all, 1, [x, (1.0, 2.0, 3.0), [[1.0, 2.0], [3.0, 4.0]], 7, 9, True, out])
    assert out[0] == -(1 + 2 + 3 + 7 + 9)


def test_threads_see_the_same_values_of_structs():
    p = Pair()
    p.x, p.a = wp.array([1.0, 2.0], dtype=float), 3.0
    out = wp.zeros(2, dtype=float)
    wp.launch(use_pair, 2, [p], [out])
    assert out.numpy().tolist() == [3.0, 6.0]


def test_print_launches(capsys, device):
    x, y = arrays()
    wp.config.print_launches = True
    try:
        wp.launch(scale, 4, [x, y, 2.0])
    finally:
        wp.config.print_launches = False
    shown = "array(shape=(4,), dtype=float32)"
    assert capsys.readouterr().out == f"kernel: scale dim: 4 inputs: [{shown}, {shown}, 2.0] outputs: [] device: {device}\n"
    assert y.numpy()[3] == 6.0
    wp.launch(scale, 4, [x, y, 3.0])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["max_blocks", "block_dim"])
@pytest.mark.parametrize("value, error", [(-1, ValueError), (2.5, TypeError), ("x", TypeError)])
def test_blocks_that_can_not_be(name, value, error):
    x, y = arrays()
    with pytest.raises(error, match=name):
        wp.launch(scale, 4, [x, y, 2.0], **{name: value})
    wp.launch(scale, 4, [x, y, 2.0], **{name: 0})
    assert y.numpy()[3] == 6.0


# ---- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, kwargs, error, match",
    [
        ((), {}, TypeError, "kernel"),
        ((), {"dim": 4}, TypeError, "kernel"),
        ((scale,) * 14, {}, TypeError, "13"),
        ((scale, 4), {"dim": 4}, TypeError, "multiple"),
        ((scale, 4), {"input": []}, TypeError, "unexpected"),
        ((scale,), {}, ValueError, "dim"),
        ((None, 4), {}, RuntimeError, "kernel"),
        ((len, 4), {}, RuntimeError, "@wp.kernel"),
        ((Pair, 4), {}, RuntimeError, "@wp.kernel"),
        ((scale, 4, [1]), {}, RuntimeError, "3 arguments .x, y, a."),
        ((scale, 4, [1, 2, 3, 4]), {}, RuntimeError, "gave 4"),
        ((scale, 4, 5), {}, TypeError, "list"),
        ((scale, 4, "xya"), {}, TypeError, "list"),
        ((scale, 4, [1, 2, 3]), {}, RuntimeError, "'x'"),
        ((scale, 4), {"adjoint": True}, (NotImplementedError, RuntimeError, ValueError), None),
        ((scale, 4), {"device": "cuda:99"}, (RuntimeError, ValueError), "cuda"),
        ((scale, 4), {"device": "tpu"}, ValueError, "tpu"),
        ((scale, 4), {"device": 3}, ValueError, "3"),
    ],
)
def test_bad_calls(args, kwargs, error, match):
    with pytest.raises(error, match=match):
        wp.launch(*args, **kwargs)


@pytest.mark.parametrize(
    "dim, error, match",
    [
        (-1, ValueError, "negative"),
        ((2, -1), ValueError, "negative"),
        (2**63, OverflowError, "64 bits"),
        ((2**40, 2**40), ValueError, "2\\^63-1"),
        ((), ValueError, "at most 4"),
        ((1, 1, 1, 1, 1), ValueError, "at most 4"),
        (1.5, TypeError, "integer"),
        ("4", TypeError, "integer"),
        ((1, "2"), TypeError, "integer"),
        ({}, TypeError, "integer"),
        (object(), TypeError, "integer"),
    ],
)
def test_bad_dimensions(dim, error, match):
    out = wp.zeros(1, dtype=int)
    with pytest.raises(error, match=match):
        wp.launch(count, dim=dim, inputs=[out])
    cmd = wp.launch(count, dim=1, inputs=[out], record_cmd=True)
    with pytest.raises(error, match=match):
        cmd.set_dim(dim)
    assert cmd.dim == (1,)
    assert out.numpy()[0] == 0


def test_too_many_threads_for_tid():
    out, unused = wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
    for _ in range(2):
        with pytest.raises(ValueError, match="count4.*int32"):
            wp.launch(count4, dim=(1, 1, 2**31, 1), inputs=[out, unused])
        wp.launch(count4, dim=(1, 1, 1, 1), inputs=[out, unused])


@pytest.mark.parametrize(
    "index, value, match",
    [
        (0, 1.0, "'x'"),
        (0, "text", "'x'"),
        (0, [1.0], "'x'"),
        (0, wp.zeros(1, dtype=int), "'x'"),
        (0, wp.zeros((1, 1), dtype=float), "'x'"),
        (0, np.zeros(1, dtype=np.float64), "'x'"),
        (0, np.zeros((1, 1), dtype=np.float32), "'x'"),
        (1, (1.0, 2.0), "'v'"),
        (1, 1.0, "'v'"),
        (1, "abc", "'v'"),
        (2, [[1.0, 2.0], [3.0]], "'m'"),
        (3, 1.5, "'n'.*int"),
        (3, None, "'n'"),
        (4, "a", "'u'"),
        (5, "yes", "'flag'"),
    ],
)
def test_bad_arguments_name_the_parameter(index, value, match):
    good = [wp.zeros(1, dtype=float), wp.vec3(), wp.mat22(), 1, 1, True, wp.zeros(1, dtype=float)]
    bad = list(good)
    bad[index] = value
    with pytest.raises((RuntimeError, ValueError, TypeError), match=f"take_all.*{match}"):
        wp.launch(take_all, 1, bad)
    cmd = wp.launch(take_all, 1, good, record_cmd=True)
    with pytest.raises((RuntimeError, ValueError, TypeError), match=match):
        cmd.set_param_at_index(index, value)
    cmd.launch()


def test_null_arrays_and_annotations():
    y = wp.zeros(2, dtype=float)
    wp.launch(scale, 0, [None, y, 1.0])
    with pytest.raises(RuntimeError, match="no memory"):
        wp.launch(scale, 2, [wp.array(dtype=float), y, 1.0])


@wp.kernel
def of_two_dimensions(a: wp.array2d(dtype=int)):
    i = wp.tid()
    a[i, 0] = 1


def test_empty_lists_are_arrays_of_any_rank_where_no_thread_runs():
    nothing = wp.array([], dtype=int)
    assert nothing.ndim == 1
    wp.launch(of_two_dimensions, 0, [nothing])
    for dim, array in ((1, nothing), (0, wp.zeros(3, dtype=int)), (0, "text")):
        with pytest.raises(RuntimeError, match="'a'"):
            wp.launch(of_two_dimensions, dim, [array])


@pytest.mark.cpu_only("NumPy's arrays are arguments")
def test_memory_stays_while_a_launch_needs_it():
    """Buffers that their owner would resize or drop stay as long as something holds them."""
    owner = bytearray(16)
    x = np.frombuffer(owner, dtype=np.float32)
    y = wp.zeros(4, dtype=float)
    cmd = wp.launch(scale, 4, [x, y, 1.0], record_cmd=True)
    del x
    with pytest.raises(BufferError):
        owner.extend(b"more")
    cmd.launch()
    z = wp.array([5.0] * 4, dtype=float)
    cmd.set_param_at_index(0, z)
    owner.extend(b"more")
    del z
    cmd.launch()
    assert y.numpy().tolist() == [5.0] * 4


# ---- Recorded launches ----------------------------------------------------------------------------------------------


def test_recorded_launch():
    x, y = arrays()
    cmd = wp.launch(scale, dim=4, inputs=[x, y, 2.0], record_cmd=True)
    assert isinstance(cmd, wp.Launch) and cmd.kernel is scale and cmd.device == wp.get_device()
    assert cmd.dim == (4,) and cmd.bounds.ndim == 1 and cmd.bounds.shape == (4,) and cmd.bounds.size == 4
    assert y.numpy().tolist() == [0.0] * 4  # not run yet
    cmd.launch()
    assert y.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]
    cmd.set_param_at_index(2, 3.0)
    cmd.set_dim(2)
    cmd.launch(stream=None)
    assert y.numpy().tolist() == [0.0, 3.0, 4.0, 6.0]
    cmd.set_dim((4,))
    cmd.set_param_by_name("a", -1.0)
    cmd.launch()
    assert y.numpy().tolist() == [0.0, -1.0, -2.0, -3.0]
    z = wp.zeros(4, dtype=float)
    cmd.set_params([x, z])
    cmd.launch()
    assert z.numpy().tolist() == [0.0, -1.0, -2.0, -3.0]
    cmd.set_param_at_index_from_ctype(2, ctypes.c_float(4.0))
    cmd.launch()
    assert z.numpy().tolist() == [0.0, 4.0, 8.0, 12.0]
    cmd.set_param_at_index_from_ctype(2, 1)
    cmd.set_param_by_name_from_ctype("a", ctypes.c_float(0.5))
    cmd.launch()
    assert z.numpy().tolist() == [0.0, 0.5, 1.0, 1.5]


def test_bad_changes_of_recorded_launches():
    x, y = arrays()
    cmd = wp.launch(scale, dim=4, inputs=[x, y, 2.0], record_cmd=True)
    with pytest.raises(IndexError):
        cmd.set_param_at_index(3, 1.0)
    with pytest.raises(IndexError):
        cmd.set_param_at_index(-1, 1.0)
    with pytest.raises(ValueError, match="'b'"):
        cmd.set_param_by_name("b", 1.0)
    with pytest.raises(ValueError, match="bytes"):
        cmd.set_param_at_index_from_ctype(2, ctypes.c_double(1.0))
    with pytest.raises((TypeError, BufferError)):
        cmd.set_param_at_index_from_ctype(2, object())
    with pytest.raises(TypeError):
        wp.Launch(len, 4)
    cmd.launch()
    assert y.numpy().tolist() == [0.0, 2.0, 4.0, 6.0]


# ---- Settings, redefinition, threads, interrupts ---------------------------------------------------------------------


def test_settings_take_effect_at_the_next_launch():
    out = wp.zeros(1, dtype=int)

    @wp.kernel
    def past_the_end(x: wp.array(dtype=float)):
        x[wp.tid() + 4] = 1.0

    x = wp.zeros(4, dtype=float)
    wp.launch(count, 2, [out])
    wp.config.mode, wp.config.verify_cuda = "debug", True
    try:
        with pytest.raises(RuntimeError, match="past_the_end"):
            wp.launch(past_the_end, 1, [x])
        wp.launch(count, 2, [out])
    finally:
        wp.config.mode, wp.config.verify_cuda = "release", False
    wp.launch(count, 2, [out])
    assert out.numpy()[0] == 6


def test_redefined_functions_are_seen_by_old_kernels():
    space = {"__name__": "redefinition", "wp": wp}

    def define(text):
        import linecache

        file = f"<cell {len(linecache.cache)}>"
        text = textwrap.dedent(text)
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), space)

    define("""
        @wp.func
        def f(x: float):
            return x + 1.0
        """)
    define("""
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[wp.tid()] = f(x[wp.tid()])
        """)
    x = wp.zeros(1, dtype=float)
    wp.launch(space["k"], 1, [x])
    assert x.numpy()[0] == 1.0
    define("""
        @wp.func
        def f(x: float):
            return x + 10.0
        """)
    wp.launch(space["k"], 1, [x])
    assert x.numpy()[0] == 11.0


def test_launches_from_eight_threads():
    n, rounds = 2000, 200
    total = wp.zeros(1, dtype=int)
    errors = []

    def work(seed):
        try:
            mine = wp.zeros(1, dtype=int)
            x, y = wp.full(n, float(seed), dtype=float), wp.zeros(n, dtype=float)

            @wp.kernel
            def own(x: wp.array(dtype=float)):
                i = wp.tid()
                x[i] = x[i] + 1.0

            for _ in range(rounds):
                wp.launch(count, 10, [mine])
                wp.launch(scale, n, [x, y, 2.0])
                wp.launch(own, n, [x])
                wp.launch(count, 10, [total])
            assert mine.numpy()[0] == 10 * rounds
            assert (x.numpy() == seed + rounds).all()
            assert (y.numpy() == 2 * (seed + rounds - 1)).all()
        except BaseException as error:  # noqa: BLE001 - reported by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert total.numpy()[0] == 80 * rounds


LONG = """
import os, signal, threading, time
import warp as wp
wp.config.quiet = True

@wp.kernel
def spin(x: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(i)
    for k in range(n):
        s = wp.sin(s) + 1.0
    x[i % 16] = s

def again_and_again():  # the end of a loop's turn lies outside of a `try` around it, in some versions of Python
    while True:
        wp.launch(spin, 1000, [x, 9])

x = wp.zeros(16, dtype=float)
wp.launch(spin, 16, [x, 1])
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.perf_counter()
try:
    {body}
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begin)
wp.launch(spin, 16, [x, 1])
print("alive")
"""


@pytest.mark.parametrize("body", ["wp.launch(spin, 40_000_000, [x, 99])", "again_and_again()"])
@pytest.mark.cpu_only("in a program of its own")
def test_ctrl_c_ends_launches(body, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(LONG.replace("{body}", body))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=env)
    assert "interrupted" in done.stdout and "alive" in done.stdout, done.stdout + done.stderr


@pytest.mark.cpu_only("a launch on a GPU returns at once")
def test_other_threads_run_during_a_launch():
    x = wp.zeros(16, dtype=float)
    ticks = []
    stop = threading.Event()

    @wp.kernel
    def busy(x: wp.array(dtype=float), n: int):
        i = wp.tid()
        s = float(i)
        for k in range(n):
            s = wp.sin(s) + 1.0
        x[i % 16] = s

    wp.launch(busy, 1, [x, 1])

    def tick():
        while not stop.wait(0.001):
            ticks.append(1)

    t = threading.Thread(target=tick)
    t.start()
    before = len(ticks)
    wp.launch(busy, 200_000, [x, 100])
    during = len(ticks) - before
    stop.set()
    t.join()
    assert during > 0


def test_signal_handlers_that_do_not_raise_let_the_launch_go_on():
    calls = []
    previous = signal.signal(signal.SIGUSR1, lambda *_: calls.append(1))
    try:
        out = wp.zeros(1, dtype=int)
        signal.raise_signal(signal.SIGUSR1)
        wp.launch(count, 1000, [out])
        assert out.numpy()[0] == 1000 and calls == [1]
    finally:
        signal.signal(signal.SIGUSR1, previous)


# ---- The text of functions ------------------------------------------------------------------------------------------


def _plain(x: float):
    return x


@pytest.mark.skipif(False, reason="a decorator is part of the text")
def _decorated(
    x: float,
    y: float = 2.0,
):
    """Text
at the left
    """

    # a remark
    def inner():
        return (
            x
        )

    return (
        inner() +
        y
)  # fmt: skip


def _only_text():
    """Nothing else."""


@pytest.mark.parametrize("func", [_plain, _decorated, _only_text])
def test_text_of_functions_is_what_inspect_finds(func):
    from warp._src.kernels.source_text import source_of

    assert source_of(func, exact=True)[0].startswith(source_of(func)[0].rstrip("\n"))
    if func is not _decorated:  # its last bracket stands to the left; the parser notices
        assert source_of(func) == source_of(func, exact=True)


@wp.kernel
def bracket_to_the_left(x: wp.array(dtype=float)):
    x[wp.tid()] = (
        1.0
)  # fmt: skip


def test_kernels_that_end_to_the_left_of_themselves():
    x = wp.zeros(1, dtype=float)
    wp.launch(bracket_to_the_left, 1, [x])
    assert x.numpy()[0] == 1.0
