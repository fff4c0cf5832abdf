"""`python -m warp`: what a bug report needs; with a program, what its kernels took to compile (`--help`)."""

from warp._src.api.command_line import main

main()
