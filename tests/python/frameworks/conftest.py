"""Tells ctest that a file's framework was missing: with WEFT_SKIP_STATUS, a session without failures in which nothing passed
ends with 77."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    nothing_failed = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)  # a whole file may be skipped
    if nothing_failed and not reporter.stats.get("passed") and os.environ.get("WEFT_SKIP_STATUS"):
        session.exitstatus = 77


@pytest.fixture
def torch_sees_gpus(gpu_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.compile counts GPUs by the environment, which hides them from programs that tests start."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if "CUDA_VISIBLE_DEVICES" in gpu_environment:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpu_environment["CUDA_VISIBLE_DEVICES"])
    # A test before this one may have compiled while they were hidden, and what torch found then it keeps.
    interface = pytest.importorskip("torch._dynamo.device_interface")
    interface.caching_worker_device_properties.clear()
    monkeypatch.setattr("torch.cuda._cached_device_count", None, raising=False)
