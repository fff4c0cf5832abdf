"""Programs to read and to run: `python -m warp.examples.interop.example_jax_kernel`."""

import os


def get_source_directory() -> str:
    """The folder that the example programs lie in."""
    return os.path.realpath(os.path.dirname(__file__))


def get_asset_directory() -> str:
    """The folder for files that examples read. Programs of other packages look for theirs here; we ship none of them."""
    return os.path.join(get_source_directory(), "assets")
