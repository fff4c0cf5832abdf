"""Devices for the tests: every test runs on the CPU and on a GPU, but for files that are about one of them.

A test of other files that is about the CPU alone is marked `cpu_only`, with a reason where the name does not say it.
Without a CUDA device only the CPU's half is collected, and each file says once how many tests it leaves out.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import warp as wp

_VISIBLE = pytest.StashKey["str | None"]()

# Files whose tests run once: where nothing runs on a device, or the tests choose devices themselves.
ONE_RUN = {
    "test_allocators": "about CUDA devices",
    "test_array_buffer": "memory of the host",
    "test_api_builtins": "calls from Python, which run on the CPU",
    "test_api_config": "settings, most of them of the CPU",
    "test_api_native": "C++ for the CPU",
    "test_command_line": "programs of their own",
    "test_compile_errors": "errors of the compiler come before any device",
    "test_completeness": "counts statements",
    "test_cuda": "about CUDA devices",
    "test_cuda_algorithms": "about CUDA devices",
    "test_cuda_interface": "programs of their own",
    "test_cuda_logs": "about CUDA devices",
    "test_cuda_options": "about CUDA devices",
    "test_cuda_sharing": "about CUDA devices",
    "test_cuda_waits": "about CUDA devices",
    "test_devices": "about devices",
    "test_fake_driver": "programs of their own",
    "test_foreign_arrays": "programs of their own",
    "test_gpu_options": "about CUDA devices",
    "test_graph_order": "programs of their own",
    "test_late_launches": "programs of their own",
    "test_leaks": "memory of the host",
    "test_named": "about names",
    "test_native_gradients": "C++ for the CPU",
    "test_process": "programs of their own",
    "test_ptx": "text for GPUs",
    "test_rows": "runs every executor itself, GPUs among them",
    "test_source_key": "about keys of sources",
    "test_sources": "programs of their own",
    "test_exact_sums_machine": "programs of their own",
    "test_geometry_machine": "programs of their own",
    "test_tile_clients": "chooses devices itself",
    "test_tile_machine": "programs of their own",
    "test_tile_own_random": "chooses devices itself",
    "test_tile_reference": "chooses devices itself",
    "test_tile_slopes": "chooses devices itself",
    "test_tile_programs": "programs of their own",
    "test_draw_programs": "programs of their own",
    "test_volume_machine": "programs of their own",
    "test_types": "values in Python",
    "test_typing": "about type checkers",
}


def pytest_configure(config: pytest.Config) -> None:
    # What a shell starts in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "cpu_only(reason): about the CPU, also in files whose tests run on every device")
    wp.set_device("cpu")
    if wp.is_cuda_available():  # opened by now: programs that tests start stay on the CPU, unless they are to see it
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        config.stash[_VISIBLE] = visible


@pytest.fixture
def gpu_environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment of a program that sees the GPUs which the tests see."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    visible = request.config.stash.get(_VISIBLE, None)
    return environment if visible is None else {**environment, "CUDA_VISIBLE_DEVICES": visible}


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[wp.Device]:
    """The current device of a test, "cpu" and "cuda" in turn."""
    name = getattr(request, "param", "cpu")
    if name == "cuda" and not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    before = wp.get_device()
    wp.set_device(name)  # of threads that the test starts, too
    try:
        with wp.ScopedDevice(name) as chosen:
            yield chosen
    finally:
        wp.set_device(before)
    try:
        wp.synchronize()
    except RuntimeError:  # a failed check that the test did not wait for is no matter of the next one
        pass


@pytest.fixture(autouse=True)
def _on_device(request: pytest.FixtureRequest) -> None:
    """Sets up the device of tests that don't name the fixture."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and "device" in callspec.params:
        request.getfixturevalue("device")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    everywhere = metafunc.module.__name__.rpartition(".")[2] not in ONE_RUN
    if metafunc.definition.get_closest_marker("cpu_only") is not None:
        return
    if any("device" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")):
        return  # a parameter of the test's own
    if everywhere and "device" not in metafunc.fixturenames:
        metafunc.fixturenames.append("device")
    if "device" in metafunc.fixturenames:
        devices = ["cpu", "cuda"] if wp.is_cuda_available() else ["cpu"]
        metafunc.parametrize("device", devices, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Adds a skip to each file whose tests would run on a GPU too."""
    if wp.is_cuda_available():
        return
    missing: dict[pytest.Module, int] = {}
    for item in items:
        module = item.getparent(pytest.Module)
        callspec = getattr(item, "callspec", None)
        if module is not None and callspec is not None and callspec.params.get("device") == "cpu":
            missing[module] = missing.get(module, 0) + 1
    for module, count in missing.items():
        item = pytest.Function.from_parent(module, name="test_on_cuda", callobj=_nothing)
        reason = f"there is no CUDA device: {count} tests of {module.name} ran on the CPU alone"
        item.add_marker(pytest.mark.skip(reason=reason))
        items.append(item)


def _nothing() -> None:
    """Stands for the tests that were left out."""
