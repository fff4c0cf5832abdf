"""Makes the modules of tools/checks and tools/testing importable by the tests beside this file."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKS = ROOT / "tools" / "checks"
TESTING = ROOT / "tools" / "testing"
sys.path[:0] = [str(CHECKS), str(TESTING)]
