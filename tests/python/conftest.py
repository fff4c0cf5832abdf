"""Devices for the tests: everything runs on the CPU unless it says otherwise; the files named here run on every device.

A test of these files that is about the CPU alone is marked `cpu_only`. Without a CUDA device its half of the tests is
skipped, and pytest says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import warp as wp

ON_EVERY_DEVICE = {
    "test_adjoint",
    "test_atomics",
    "test_autograd",
    "test_builtins",
    "test_builtins_decomposition",
    "test_builtins_geometry",
    "test_builtins_noise",
    "test_builtins_properties",
    "test_builtins_quat",
    "test_builtins_random",
    "test_builtins_spatial",
    "test_builtins_special",
    "test_builtins_vector",
    "test_custom_gradients",
    "test_grad_in_kernels",
    "test_gradient_memory",
    "test_indexed_array",
    "test_kernels",
    "test_library_gradients",
    "test_structs",
    "test_tape",
    "test_tape_arrays",
    "test_tape_changes",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cpu_only: about the CPU, also in files whose tests run on every device")
    wp.set_device("cpu")


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[wp.Device]:
    """The current device of a test, "cpu" and "cuda" in turn."""
    name = getattr(request, "param", "cpu")
    if name == "cuda" and not wp.is_cuda_available():
        pytest.skip("there is no CUDA device")
    with wp.ScopedDevice(name) as chosen:
        yield chosen
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
    everywhere = metafunc.module.__name__.rpartition(".")[2] in ON_EVERY_DEVICE
    if metafunc.definition.get_closest_marker("cpu_only") is not None:
        return
    if any("device" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")):
        return  # a parameter of the test's own
    if everywhere and "device" not in metafunc.fixturenames:
        metafunc.fixturenames.append("device")
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", ["cpu", "cuda"], indirect=True)
