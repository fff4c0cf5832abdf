"""`python -m warp`: what a bug report needs."""

from warp._src.utils import report

print(report())
