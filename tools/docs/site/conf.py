"""Sphinx settings of the site; build_site.sh runs it on a copy of docs/ with the reference added."""

import warp

project = "Weft"
author = "the Weft authors"
copyright = "the Weft authors"  # noqa: A001
version = release = getattr(warp, "__weft_version__", warp.__version__)

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "Weft"
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
exclude_patterns = []
