"""Weft: kernels written as typed Python functions, compiled to native code.

`import warp as wp` gives the documented API; everything here is re-exported from `warp._src.api.names`.
"""

import os as _os

# A source tree keeps the compiled extension in its build folder.
if "WEFT_EXTENSION_DIR" in _os.environ:
    __path__.append(_os.environ["WEFT_EXTENSION_DIR"])

from warp._src.api.names import *  # noqa: E402,F401,F403
from warp._src.api.names import __all__, __dir__, __getattr__, __version__  # noqa: E402,F401
