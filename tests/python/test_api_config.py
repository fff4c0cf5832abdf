"""Flags of wp.config do what they say; the banner and `python -m warp`."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import warp as wp


@contextlib.contextmanager
def flags(**values: object) -> Iterator[io.StringIO]:
    """Sets flags, gives what is printed meanwhile, restores the flags."""
    before = {name: getattr(wp.config, name) for name in values}
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            for name, value in values.items():
                setattr(wp.config, name, value)
            yield out
        finally:
            for name, value in before.items():
                setattr(wp.config, name, value)


def python(text: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


@wp.kernel
def count(a: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(5):
        s += float(k)
    a[i] = s


def run() -> list[float]:
    a = wp.zeros(2)
    wp.launch(count, 2, [a])
    return a.list()


def test_banner():
    shown = python("import warp as wp; wp.init(); wp.init()")
    assert shown.startswith("Warp 1.7.0 initialized") and shown.count("initialized") == 1
    assert '"cpu"' in shown and "Kernel cache:" in shown
    for quiet in ("quiet = True", "log_level = wp.LOG_WARNING"):
        assert python(f"import warp as wp; wp.config.{quiet}; wp.init(); wp.zeros(1)") == ""
    assert python("import warp as wp; wp.zeros(1); wp.init()").count("Devices:") == 1  # the first use says it, too
    assert python("import warp as wp") == ""


def test_report_of_the_module():
    shown = subprocess.run([sys.executable, "-m", "warp"], capture_output=True, text=True, check=True).stdout
    for word in ("weft", "build", "python", "numpy", "platform", "cpu", "threads", "kernel_cache", "devices"):
        assert f"\n{word}" in f"\n{shown}"
    assert wp.__version__ in shown


@pytest.mark.parametrize("level", [0, 1, 2, 3, None])
def test_optimization_level(level):
    with flags(optimization_level=level):
        assert run() == [10.0, 10.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimization_level", 4),
        ("optimization_level", "2"),
        ("mode", "fast"),
        ("cpu_threads", -1),
        ("cpu_lanes", -2),
    ],
)
def test_bad_values_are_refused_and_change_nothing(name, value):
    before = getattr(wp.config, name)
    with pytest.raises(ValueError):
        setattr(wp.config, name, value)
    assert getattr(wp.config, name) == before


@pytest.mark.parametrize(
    "values",
    [{"max_unroll": 0}, {"max_unroll": 64}, {"fast_math": True}, {"fuse_fp": False}, {"mode": "debug"}]
    + [{"cpu_threads": 1}, {"cpu_lanes": 4}, {"mode": "debug", "verify_fp": True}, {"cache_kernels": False}],
    ids=str,
)
def test_results_do_not_depend_on_how_kernels_are_compiled(values):
    with flags(**values):
        assert run() == [10.0, 10.0]


def test_debug_mode_checks_bounds_and_floats():
    @wp.kernel
    def beyond(a: wp.array(dtype=float)):
        a[wp.tid() + 1] = 1.0

    @wp.kernel
    def not_finite(a: wp.array(dtype=float)):
        a[0] = 1.0 / a[0]

    with flags(mode="debug"), pytest.raises(RuntimeError, match="beyond"):
        wp.launch(beyond, 2, [wp.zeros(2)])
    with flags(mode="debug", verify_fp=True), pytest.raises(RuntimeError, match="not_finite"):
        wp.launch(not_finite, 1, [wp.zeros(1)])


def test_print_launches():
    with flags(print_launches=True) as out:
        run()
    assert "count" in out.getvalue() and "2" in out.getvalue()
    with flags(print_launches=False) as out:
        run()
    assert out.getvalue() == ""


def test_verbose_tells_what_is_compiled():
    @wp.kernel
    def told(a: wp.array(dtype=float)):
        a[0] = 7.0

    with flags(verbose=True) as out:
        wp.launch(told, 1, [wp.zeros(1)])
        wp.launch(told, 1, [wp.zeros(1)])
    assert out.getvalue().count("Kernel told load on device 'cpu' took ") == 1 and " ms" in out.getvalue()


def test_quiet_silences_compiler_warnings():
    def make():
        @wp.kernel
        def doubtful(a: wp.array(dtype=float), n: int):
            if n > 0:
                y = 1.0
            a[0] = y

        return doubtful

    for quiet, words in ((False, 1), (True, 0)):
        with flags(quiet=quiet, cache_kernels=False) as out:
            wp.launch(make(), 1, [wp.zeros(1), 1])
        assert bool(out.getvalue()) == bool(words)


def test_flags_of_the_original_tool_chain_are_noted_once():
    from warp._src.session import logger

    logger._said.clear()
    for name in wp.config.NOTED:
        value = getattr(wp.config, name)
        other = (not value) if isinstance(value, bool) else 1 if isinstance(value, int) else "x"
        with flags(**{name: other}) as out:
            pass
        assert out.getvalue().count(f"wp.config.{name} has no effect here") == 1, name
        with flags(**{name: other}) as out:
            pass
        assert out.getvalue() == ""


def test_unknown_flags_are_told():
    with flags() as out:
        wp.config.kernel_cache_dri = "x"
    del wp.config.kernel_cache_dri
    assert "no flag 'kernel_cache_dri'; did you mean 'kernel_cache_dir'?" in out.getvalue()


def test_warnings_name_their_line_when_asked():
    with flags(verbose_warnings=True) as out:
        wp.utils.warn("look here")
    assert "look here (" in out.getvalue() and "test_api_config.py:" in out.getvalue()


def test_deterministic_launches_order_atomics():
    @wp.kernel
    def order(slot: wp.array(dtype=int), a: wp.array(dtype=int)):
        a[wp.atomic_add(slot, 0, 1)] = wp.tid()

    with flags(deterministic=wp.DeterministicMode.RUN_TO_RUN):
        a = wp.zeros(10000, dtype=int)
        wp.launch(order, 10000, [wp.zeros(1, dtype=int), a])
        np.testing.assert_array_equal(a.numpy(), np.arange(10000))


def test_legacy_scalar_return_types():
    assert type(wp.sin(wp.float64(1.0))) is wp.float64
    with flags(legacy_scalar_return_types=True):
        assert type(wp.sin(wp.float64(1.0))) is float


def test_cache_folder_settings(tmp_path):
    program = """
import os, warp as wp
wp.config.quiet = True
@wp.kernel
def k(a: wp.array(dtype=float)):
    a[0] = 123.25
wp.launch(k, 1, [wp.zeros(1)])
print(wp._weft.cache_folder())
print(wp.config.kernel_cache_dir)
"""
    file = tmp_path / "program.py"
    by_path, by_flag = str(tmp_path / "path"), str(tmp_path / "flag")

    def files(folder: str) -> int:
        return sum(len(names) for _, _, names in os.walk(folder))

    def start(text: str, **environment: str) -> list[str]:
        file.write_text(text)
        done = subprocess.run(
            [sys.executable, file], env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert start(program, WARP_CACHE_PATH=by_path)[0].startswith(by_path) and files(by_path) > 0
    flagged = program.replace("@wp.kernel", f"wp.config.kernel_cache_dir = {by_flag!r}\n@wp.kernel")
    assert start(flagged, WARP_CACHE_PATH=by_path) == [by_flag, by_flag] and files(by_flag) > 0
    off = str(tmp_path / "off")
    start(program.replace("@wp.kernel", "wp.config.cache_kernels = False\n@wp.kernel"), WARP_CACHE_PATH=off)
    assert files(off) == 0


def test_old_module_paths():
    import warp.build
    import warp.builtins
    import warp.codegen
    import warp.config
    import warp.constants
    import warp.context
    import warp.types
    import warp.utils

    assert warp.context.Kernel is wp.Kernel and warp.types.vec3 is wp.vec3 and warp.constants.PI == wp.pi
    assert warp.codegen.WarpCodegenError is wp.WarpCodegenError and warp.config is wp.config
    assert warp.context.zeros is wp.zeros and warp.types.array is wp.array and warp.builtins.sin is wp.sin
    for module in (warp.context, warp.types, warp.build):
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            module.nonsense


def test_every_public_name_is_documented():
    import inspect
    import types as pytypes

    for name in wp._src.api.names.__all__:
        value = getattr(wp, name)
        if isinstance(value, (pytypes.FunctionType, type)):
            assert inspect.getdoc(value), f"wp.{name} has no docstring"
