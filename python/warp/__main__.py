"""`python -m warp`: what a bug report needs."""

from warp._src.api.startup import report

print(report())
