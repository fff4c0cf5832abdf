"""Tells ctest what could not run: with WEFT_SKIP_STATUS, a session without failures ends with 77 if a test was skipped."""

import os

import pytest


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter.stats.get("skipped") and os.environ.get("WEFT_SKIP_STATUS"):
        session.exitstatus = 77
