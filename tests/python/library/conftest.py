"""These tests need the extension that has the probes of tests/library in its table (ctest: python_library)."""

import sys
from pathlib import Path

import warp as wp

sys.path.insert(0, str(Path(__file__).parent.parent))
if not hasattr(wp, "probe_hit"):
    collect_ignore = ["test_queries.py", "test_structs.py"]
