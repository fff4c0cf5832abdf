"""Tells ctest that there was no wheel to test: with WEFT_SKIP_STATUS, a session in which nothing passed ends with 77."""

import os

import pytest


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and not reporter.stats.get("passed") and os.environ.get("WEFT_SKIP_STATUS"):
        session.exitstatus = 77
