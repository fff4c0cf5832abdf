"""`warp.optim.sgd`: where programs import SGD from."""

from warp._src.optim.sgd import SGD as SGD
