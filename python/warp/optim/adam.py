"""`warp.optim.adam`: where programs import Adam from."""

from warp._src.optim.adam import Adam as Adam
