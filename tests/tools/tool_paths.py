"""Makes the modules of tools/checks, tools/compat and tools/testing importable by the tests beside this file."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKS = ROOT / "tools" / "checks"
COMPAT = ROOT / "tools" / "compat"
TESTING = ROOT / "tools" / "testing"
sys.path[:0] = [str(CHECKS), str(COMPAT), str(TESTING)]
