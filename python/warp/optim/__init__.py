"""Optimisers: they change arrays of parameters by gradients, on the device where these lie."""

from warp._src.algorithms.optimizers import SGD as SGD, Adam as Adam
