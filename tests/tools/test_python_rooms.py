"""Tests of tools/checks/python_rooms.py on small packages: which imports it finds, and which it leaves alone."""

import pathlib
import unittest

import tool_paths

import check_layers
import python_rooms
import source_files


class Rooms(unittest.TestCase):
    def found(self, files, late=()):
        """Findings on modules of python/warp, by their names and texts."""
        texts = {pathlib.PurePosixPath("python/warp", name): text for name, text in files.items()}
        return python_rooms.check(texts, dict.fromkeys(late, "a reason"))

    def test_downward_imports_pass(self):
        text = (
            "import numpy as np\nfrom warp import _weft\nfrom warp._src.values import types as wt\n"
            "from warp._src.session.logger import warn\nimport warp._src.arrays.listeners\n"
        )
        self.assertEqual(self.found({"_src/arrays/array.py": text, "_src/__init__.py": ""}), [])

    def test_upward_import_is_found_with_its_line(self):
        found = self.found({"_src/arrays/array.py": "import os\nfrom warp._src.gradients.tape import Tape\n"})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("python/warp/_src/arrays/array.py:2: arrays may not import gradients.tape"))

    def test_every_form_of_import_counts(self):
        for line in (
            "import warp._src.kernels.resolver",
            "from warp._src.kernels import resolver as r",
            "from warp._src.kernels.resolver import *",
            "try:\n    from warp._src.kernels.resolver import a\nexcept ImportError:\n    pass",
            "class C:\n    from warp._src.kernels.resolver import a",
            "import importlib\nimportlib.import_module('warp._src.kernels.resolver')",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from warp._src.kernels.resolver import a",
        ):
            self.assertEqual(len(self.found({"_src/values/a.py": line + "\n"})), 1, line)

    def test_upward_import_in_a_function_is_found_though_it_is_listed(self):
        text = "def f():\n    from warp._src.kernels.launching import launch\n"
        self.assertIn("lies above it", self.found({"_src/arrays/a.py": text})[0])
        self.assertEqual(len(self.found({"_src/arrays/a.py": text}, [("arrays.a", "kernels.launching")])), 1)

    def test_late_imports_need_a_reason(self):
        text = "def f():\n    from warp._src.session import logger\n"
        self.assertIn("give a reason", self.found({"_src/arrays/a.py": text})[0])
        self.assertEqual(self.found({"_src/arrays/a.py": text}, [("arrays.a", "session.logger")]), [])
        self.assertEqual(self.found({"_src/arrays/a.py": "def f():\n    import torch\n    from warp import _weft\n"}), [])

    def test_reasons_that_nobody_needs_are_found(self):
        found = self.found({"_src/arrays/a.py": "import os\n"}, [("arrays.a", "session.logger")])
        self.assertIn("does not import session.logger late any more", found[0])

    def test_rooms_do_not_import_the_package_that_shows_them(self):
        for text in ("import warp as wp\n", "import warp.autograd\n", "from warp import zeros\n"):
            self.assertEqual(len(self.found({"_src/api/names.py": text, "autograd.py": ""})), 1, text)
        late = {"_src/api/names.py": "def f():\n    import warp.autograd\n", "autograd.py": ""}
        self.assertEqual(self.found(late, [("api.names", "warp.autograd")]), [])
        self.assertEqual(self.found({"__init__.py": "from warp._src.api.names import *\n"}), [])

    def test_circles_in_a_room(self):
        first, second = "from warp._src.values.b import x\n", "from warp._src.values import a\n"
        found = self.found({"_src/values/a.py": first, "_src/values/b.py": second})
        self.assertEqual(len(found), 1)
        self.assertIn("values.a → values.b → values.a", found[0])
        second = f"import typing\nif typing.TYPE_CHECKING:\n    {second}"
        self.assertEqual(self.found({"_src/values/a.py": first, "_src/values/b.py": second}), [])

    def test_modules_lie_in_rooms(self):
        self.assertIn("lie in one of its rooms", self.found({"_src/helpers.py": ""})[0])
        self.assertIn("lie in one of its rooms", self.found({"_src/misc/helpers.py": ""})[0])
        self.assertIn("no room context", self.found({"_src/api/a.py": "from warp._src.context import Kernel\n"})[0])
        self.assertIn("not relative", self.found({"_src/api/a.py": "from . import names\n"})[0])

    def test_the_package_itself_keeps_the_order(self):
        findings = [f for f in check_layers.check(tool_paths.ROOT)[0] if f.startswith("python/")]
        self.assertEqual(findings, [])
        files = {p for p in source_files.project_files(tool_paths.ROOT) if p.parts[:3] == ("python", "warp", "_src")}
        self.assertEqual({p.parts[3] for p in files if len(p.parts) > 4}, set(python_rooms.ROOMS))

    def test_the_design_page_names_every_module(self):
        page = (tool_paths.ROOT / "docs" / "design" / "python.md").read_text(encoding="utf-8")
        for path in source_files.project_files(tool_paths.ROOT):
            if path.parts[:3] == ("python", "warp", "_src") and path.name != "__init__.py":
                room = page.partition(f"| `{path.parts[3]}/` | holds |")[2].partition("\n\n")[0]
                self.assertIn(f"`{path.name}`", room, f"{path} is not in docs/design/python.md")


if __name__ == "__main__":
    unittest.main()
