"""Weft: kernels written as typed Python functions, compiled to native code.

`import warp as wp` gives the documented API; everything here is re-exported from `warp._src.api.names`.
"""

import os as _os

# A source tree keeps the compiled extension in its build folder.
if "WEFT_EXTENSION_DIR" in _os.environ:
    __path__.insert(0, _os.environ["WEFT_EXTENSION_DIR"])  # in front of the one that `make build` links here

from warp._src.api import names as _names  # noqa: E402
from warp._src.api.names import __all__, __dir__, __getattr__, __version__  # noqa: E402,F401

globals().update({_name: getattr(_names, _name) for _name in _names.loaded})
