"""Timers, logging, reports, algorithms on arrays, graph colouring."""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import subprocess
import sys

import numpy as np
import pytest

import warp as wp

from . import calls, members


def _ints(*values: int) -> wp.array:
    return wp.array(values, dtype=wp.int32)


@calls("utils")
def module() -> None:
    import warp.utils

    assert warp.utils is wp.utils and wp.utils.ScopedTimer is wp.ScopedTimer


@calls("ScopedTimer")
@members("ScopedTimer", "__enter__", "__exit__", "elapsed", "enabled", "indent")
def timer() -> None:
    out, times = io.StringIO(), {}
    with contextlib.redirect_stdout(out), wp.ScopedTimer("outer", dict=times) as outer:
        assert wp.ScopedTimer.indent == 0
        with wp.ScopedTimer("inner", synchronize=True, color="red", skip_tape=True) as inner:
            inner.extra_msg = "and more"
        with wp.ScopedTimer("silent", print=False):
            pass
        with wp.ScopedTimer("off", active=False) as off:
            pass
        with wp.ScopedTimer("deep", detailed=True, cuda_filter=wp.TIMING_ALL, report_func=lambda r, i: print(i, r)):
            pass
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("    inner took ") and lines[0].endswith(" ms and more")
    assert lines[-1].startswith("outer took ") and "silent" not in out.getvalue() and "off" not in out.getvalue()
    assert "function calls" in out.getvalue()
    assert outer.elapsed >= inner.elapsed > 0.0 and off.elapsed == 0.0 and times["outer"] == [outer.elapsed]
    assert wp.ScopedTimer.indent == -1
    wp.ScopedTimer.enabled = False
    try:
        with contextlib.redirect_stdout(out := io.StringIO()), wp.ScopedTimer("never"):
            pass
        assert out.getvalue() == ""
    finally:
        wp.ScopedTimer.enabled = True


_number = itertools.count()  # warnings come once per text


class _Heard:
    """A logger that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def debug(self, message: str) -> None:
        self.heard.append(f"debug {message}")

    def info(self, message: str) -> None:
        self.heard.append(f"info {message}")

    def warning(self, message: str, category: object = None, stacklevel: int = 1) -> None:
        self.heard.append(f"warning {message}")

    def error(self, message: str) -> None:
        self.heard.append(f"error {message}")


@calls("get_logger", "set_logger", "ScopedLogger", "ScopedLogger.__enter__", "ScopedLogger.__exit__")
@calls("Logger", "Logger.debug", "Logger.info", "Logger.warning", "Logger.error")
@calls("ScopedLogLevel", "ScopedLogLevel.__enter__", "ScopedLogLevel.__exit__", "utils.warn")
def logging() -> None:
    usual = wp.get_logger()
    assert isinstance(usual, wp.Logger)
    mine, text = _Heard(), f"once only {next(_number)}"
    with wp.ScopedLogger(mine) as used:
        assert used.logger is mine is wp.get_logger()
        wp.utils.warn(text)
        wp.utils.warn(text)
        with wp.ScopedLogLevel(wp.LOG_ERROR):
            wp.utils.warn(f"not heard {text}")
        wp.get_logger().info("news")
        wp.get_logger().debug("detail")
        wp.get_logger().error("trouble")
    assert mine.heard == [f"warning {text}", "info news", "debug detail", "error trouble"]
    assert wp.get_logger() is usual
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        usual.info("a")
        usual.debug("b")
        usual.warning("c")
        usual.error("d")
    assert out.getvalue() == "a\nb\n" and err.getvalue() == "Warp UserWarning: c\nWarp Error: d\n"
    with pytest.raises(TypeError, match="Logger protocol"):
        wp.set_logger(5)
    wp.set_logger(None)
    with pytest.warns(DeprecationWarning, match="old"):
        wp.utils.warn(f"old {text}", DeprecationWarning)


@calls("print_diagnostics")
def diagnostics() -> None:
    with contextlib.redirect_stdout(out := io.StringIO()):
        facts = wp.print_diagnostics()
    assert facts["devices"] == [str(d) for d in wp.get_devices()] and facts["numpy"] == np.__version__ and "kernel_cache" in out.getvalue()
    shown = subprocess.run([sys.executable, "-m", "warp"], capture_output=True, text=True, check=True).stdout
    assert facts["build"] in shown and facts["cpu"] in shown


@calls("ScopedMemoryTracker", "print_memory_report")
@members("ScopedMemoryTracker", "__enter__", "__exit__", "report", "clear")
def memory() -> None:
    gc.collect()  # what earlier tests left would be given back meanwhile
    wp.synchronize()
    with contextlib.redirect_stdout(out := io.StringIO()), wp.ScopedMemoryTracker("step") as tracker:
        kept = wp.zeros(1 << 20, device="cpu")  # the host's memory is what is counted
        tracker.report(file=out)
        tracker.clear()
    assert "(step)" in out.getvalue() and "4.00 MB" in out.getvalue() and kept.size == 1 << 20
    texts: list[str] = []
    with wp.ScopedMemoryTracker("quiet", report_func=texts.append):
        pass
    assert len(texts) == 1
    with pytest.raises(RuntimeError, match="tracking is not active"):
        wp.print_memory_report()
    wp.config.track_memory = True
    try:
        wp.print_memory_report(file=io.StringIO())
    finally:
        wp.config.track_memory = False


@calls("utils.array_scan")
def scan() -> None:
    a, out = _ints(1, 2, 3), wp.zeros(3, dtype=wp.int32)
    wp.utils.array_scan(a, out)
    assert out.list() == [1, 3, 6]
    wp.utils.array_scan(a, out, inclusive=False)
    assert out.list() == [0, 1, 3]
    wp.utils.array_scan(wp.zeros(0), wp.zeros(0))
    for bad in (wp.zeros(2, dtype=wp.int32), wp.zeros(3, dtype=wp.float32)):
        with pytest.raises(RuntimeError):
            wp.utils.array_scan(a, bad)


@calls("utils.array_sum", "utils.array_inner")
def sums() -> None:
    a = wp.array(np.arange(6, dtype=np.float32).reshape(2, 3), dtype=float)
    assert wp.utils.array_sum(a) == 15.0 and wp.utils.array_inner(a, a) == 55.0
    assert wp.utils.array_sum(a, axis=1).numpy().tolist() == [[3.0], [12.0]]
    assert wp.utils.array_sum(a.flatten(), value_count=3) == 3.0
    out = wp.zeros(1)
    assert wp.utils.array_sum(a, out=out) is out and out.list() == [15.0]
    v = wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=wp.vec3)
    assert wp.utils.array_sum(v).tolist() == [5.0, 7.0, 9.0] and wp.utils.array_inner(v, v) == 91.0
    assert wp.utils.array_inner(a, a, axis=0).numpy().tolist() == [[9.0, 17.0, 29.0]]
    with pytest.raises(RuntimeError, match="floats"):
        wp.utils.array_sum(_ints(1))
    with pytest.raises(RuntimeError, match="same shape"):
        wp.utils.array_inner(a, v)


@calls("utils.array_cast")
def cast() -> None:
    out = wp.zeros(4, dtype=wp.int32)
    wp.utils.array_cast(wp.array([1.9, -1.9, float("nan"), 1e20], dtype=float), out)
    assert out.list() == [1, -1, 0, 2**31 - 1]
    v = wp.zeros(2, dtype=wp.vec2d)
    wp.utils.array_cast(_ints(1, 2, 3, 4), v)
    assert v.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    wp.utils.array_cast(_ints(7, 8), out, count=1)
    assert out.list()[:2] == [7, -1]
    with pytest.raises(RuntimeError):
        wp.utils.array_cast(_ints(1, 2, 3, 4, 5), out)


@calls("utils.radix_sort_pairs")
def sort() -> None:
    for dtype, given in ((wp.int32, [3, -1, 2, -1]), (wp.float32, [0.5, -2.0, 0.0, -0.0]), (wp.int64, [9, 8, 7, 6])):
        keys = wp.array(given + [0] * 4, dtype=dtype)
        values = _ints(0, 1, 2, 3, 0, 0, 0, 0)
        wp.utils.radix_sort_pairs(keys, values, 4)
        order = values.numpy()[:4].tolist()
        assert keys.numpy()[:4].tolist() == sorted(given)
        assert [given[k] for k in order] == sorted(given)
    keys, values = _ints(0x13, 0x22, 0x11, 0, 0, 0), _ints(0, 1, 2, 0, 0, 0)
    wp.utils.radix_sort_pairs(keys, values, 3, begin_bit=4, end_bit=8)
    assert values.list()[:3] == [0, 2, 1]
    with pytest.raises(RuntimeError, match="2\\*count"):
        wp.utils.radix_sort_pairs(keys, values, 4)


@calls("utils.segmented_sort_pairs")
def segmented_sort() -> None:
    keys, values = _ints(3, 1, 2, 9, 8, *[0] * 5), _ints(0, 1, 2, 3, 4, *[0] * 5)
    wp.utils.segmented_sort_pairs(keys, values, 5, _ints(0, 3, 5))
    assert keys.list()[:5] == [1, 2, 3, 8, 9] and values.list()[:5] == [1, 2, 0, 4, 3]
    wp.utils.segmented_sort_pairs(keys, values, 5, _ints(0), _ints(2))
    if wp.get_device().is_cpu:  # on a GPU nobody looks: segments are cut
        with pytest.raises(RuntimeError, match="segment"):
            wp.utils.segmented_sort_pairs(keys, values, 5, _ints(0, 9))


@calls("utils.runlength_encode")
def run_lengths() -> None:
    values, lengths = wp.zeros(5, dtype=wp.int32), wp.zeros(5, dtype=wp.int32)
    given = _ints(4, 4, 7, 4, 4)
    assert wp.utils.runlength_encode(given, values, lengths) == 3
    assert values.list()[:3] == [4, 7, 4] and lengths.list()[:3] == [2, 1, 2]
    count = wp.zeros(1, dtype=wp.int32)
    assert wp.utils.runlength_encode(given, values, lengths, run_count=count, value_count=3) is count
    assert count.list() == [2]
    assert wp.utils.runlength_encode(_ints(), values, lengths) == 0


@calls("utils.create_warp_function")
def function_of_lambda() -> None:
    made, module = wp.utils.create_warp_function(lambda x: x + 1.0)
    assert isinstance(made, wp.Function) and isinstance(module, wp.Module) and made(2.0) == 3.0


@calls("utils.graph_coloring_assign", "utils.graph_coloring_balance", "utils.graph_coloring_get_groups")
@calls("utils.GraphColoringAlgorithm.MCS", "utils.GraphColoringAlgorithm.GREEDY")
def coloring() -> None:
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 40, (80, 2)).astype(np.int32)
    for algorithm in wp.utils.GraphColoringAlgorithm:
        colors = wp.zeros(40, dtype=wp.int32)
        graph = wp.array(edges, dtype=wp.int32)
        count = wp.utils.graph_coloring_assign(graph, colors, algorithm)
        ratio = wp.utils.graph_coloring_balance(graph, colors, count, 1.1)
        chosen = colors.numpy()
        assert all(chosen[a] != chosen[b] for a, b in edges if a != b) and set(chosen) == set(range(count))
        groups = wp.utils.graph_coloring_get_groups(colors, count)
        sizes = [g.size for g in groups]
        assert sum(sizes) == 40 and ratio == max(sizes) / min(sizes)
        assert isinstance(wp.utils.graph_coloring_get_groups(colors, count, return_wp_array=False)[0], np.ndarray)
    with pytest.raises(ValueError, match="outside"):
        wp.utils.graph_coloring_assign(wp.array([[0, 99]], dtype=wp.int32), wp.zeros(3, dtype=wp.int32))
