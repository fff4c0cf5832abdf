"""The tests of tests/python lend these their gradient cases."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
