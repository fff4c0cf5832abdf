"""Optimisers that follow gradients; `warp.optim.linear` has solvers of linear systems."""

from warp._src.optim.adam import Adam as Adam
from warp._src.optim.sgd import SGD as SGD
