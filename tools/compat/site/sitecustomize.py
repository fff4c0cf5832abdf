"""Makes `warp.tests` the folder that WARP_TESTS_FOLDER names, in every process that has this folder on its path.

Python runs a file of this name when it starts. The wheel's tests start processes of their own, which want the helpers.
"""

import importlib.abc
import importlib.util
import os
import sys


class MappedTests(importlib.abc.MetaPathFinder):
    """Finds one package in a folder that is not below its parent's; what lies in it is then found as usual."""

    def find_spec(self, fullname, path=None, target=None):
        folder = os.environ.get("WARP_TESTS_FOLDER")
        if fullname != "warp.tests" or not folder:
            return None
        opening = os.path.join(folder, "__init__.py")
        return importlib.util.spec_from_file_location(fullname, opening, submodule_search_locations=[folder])


sys.meta_path.insert(0, MappedTests())
