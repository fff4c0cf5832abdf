"""`python -m warp`: what a bug report needs."""

from warp._src.startup import report

print(report())
