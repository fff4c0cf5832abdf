"""Tests of tools/checks on small trees: what each check must find, and what it must leave alone."""

import pathlib
import tempfile
import unittest

import tool_paths  # noqa: F401  (sets the import path)

import check_file_size
import check_headers
import check_layers
import check_switches
import check_text
import run_tidy


class TreeCase(unittest.TestCase):
    """A temporary tree to check."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def findings(self, module):
        return module.check(self.root)[0]


class Layers(TreeCase):
    def include(self, name, *headers):
        self.write(name, "".join(f"#include {header}\n" for header in headers))
        return self.findings(check_layers)

    def test_downward_includes_pass(self):
        self.assertEqual(self.include("src/sema/a.cpp", '"ir/ir.h"', '"sema/b.h"', "<vector>", '"support/check.h"'), [])

    def test_upward_include_is_found_with_its_line(self):
        found = self.include("src/ir/a.cpp", "<vector>", '"sema/scope.h"')
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/ir/a.cpp:2: ir may not include sema"), found)

    def test_siblings_do_not_see_each_other(self):
        self.assertEqual(len(self.include("src/ir/a.h", '"syntax/ast.h"')), 1)
        self.assertEqual(len(self.include("src/syntax/a.h", "<ir/ir.h>")), 2)

    def test_runtime_never_sees_the_ir_but_executors_see_the_runtime(self):
        self.assertEqual(self.include("src/codegen/a.cpp", '"runtime/kernel_abi.h"'), [])
        self.assertEqual(len(self.include("src/runtime/a.cpp", '"ir/ir.h"')), 1)

    def test_rooms_for_all_targets_know_none(self):
        self.assertEqual(self.include("src/codegen/emit/a.cpp", '"codegen/emit/b.h"', '"codegen/codegen.h"'), [])
        self.assertEqual(len(self.include("src/codegen/emit/c.cpp", '"codegen/nvptx/warp.h"', '"codegen/cpu/host.h"')), 2)
        self.assertEqual(len(self.include("src/codegen/nvptx/a.cpp", '"codegen/emit/b.h"', '"codegen/cpu/d.h"')), 2)

    def test_llvm_has_one_home(self):
        self.assertEqual(self.include("src/codegen/cpu/a.cpp", '"llvm/IR/IRBuilder.h"', "<llvm/ADT/APInt.h>"), [])
        self.assertEqual(self.include("tests/unit/codegen/a.cpp", '"llvm/IR/Module.h"'), [])
        self.assertEqual(len(self.include("src/driver/a.cpp", "<llvm/IR/Module.h>")), 1)
        self.assertEqual(len(self.include("tools/weftc/main.cpp", "<llvm-c/Core.h>")), 2)

    def test_public_headers_and_examples_stand_alone(self):
        self.assertEqual(self.include("include/weft/weft.h", "<string>", '"weft/array.h"', "<weft/error.h>"), [])
        self.assertEqual(len(self.include("include/weft/array.h", '"runtime/array.h"')), 1)
        self.assertEqual(len(self.include("include/weft/error.h", "<support/diagnostic.h>")), 2)
        self.assertEqual(len(self.include("examples/cpp/a.cpp", "<weft/weft.h>", '"driver/module.h"')), 3)

    def test_only_the_driver_implements_the_public_headers(self):
        self.assertEqual(self.include("src/driver/a.cpp", '"weft/weft.h"', "<weft/weft.h>"), [])
        self.assertEqual(len(self.include("src/ir/a.cpp", "<weft/weft.h>")), 1)

    def test_includes_are_relative_to_src(self):
        self.assertEqual(len(self.include("src/ir/a.cpp", '"ir.h"')), 1)
        self.assertEqual(len(self.include("src/types/a.cpp", '"../support/check.h"')), 2)

    def test_unknown_folder(self):
        self.assertIn("not in the table", self.include("src/misc/a.cpp", "<vector>")[0])

    def test_linked_folders_follow_the_same_table(self):
        self.write("src/ir/CMakeLists.txt", "weft_folder(ir DEPS types sema)\n")
        self.assertEqual(self.findings(check_layers), ["src/ir/CMakeLists.txt:1: ir may not link sema"])


class FileSize(TreeCase):
    def test_only_long_sources_are_found(self):
        self.write("src/ir/at_limit.cpp", "\n" * 600)
        self.write("src/ir/over.cpp", "\n" * 601)
        self.write("src/ir/ops.def", "\n" * 2000)
        self.write("docs/long.md", "\n" * 2000)
        self.write("build/generated.cpp", "\n" * 2000)
        self.write("src/stdlib/longer.py", "\n" * 700)
        found = self.findings(check_file_size)
        self.assertEqual([line.split(":")[0] for line in found], ["src/stdlib/longer.py", "src/ir/over.cpp"])


class Headers(TreeCase):
    def found(self, name, text):
        self.write(name, text)
        return bool(self.findings(check_headers))

    def test_cpp(self):
        self.assertFalse(self.found("a.cpp", "// Folds constants in one function.\n#include <vector>\n"))
        self.assertTrue(self.found("a.cpp", "#include <vector>\n// Folds constants in one function.\n"))
        self.assertTrue(self.found("a.cpp", "// fold.cpp\nint x;\n"))

    def test_header_needs_pragma_once(self):
        self.assertTrue(self.found("a.h", "// Folds constants in one function.\nint x();\n"))
        self.assertFalse(self.found("a.h", "// Folds constants in one function.\n#pragma once\nint x();\n"))

    def test_python_takes_comment_or_docstring(self):
        self.assertFalse(self.found("a.py", '#!/usr/bin/env python3\n"""Folds all the constants."""\n'))
        self.assertFalse(self.found("a.py", "# Folds all the constants.\nx = 1\n"))
        self.assertFalse(self.found("pkg/__init__.py", "from a import b\n"))
        self.assertTrue(self.found("a.py", "import os\n"))

    def test_directives_are_no_description(self):
        self.assertTrue(self.found("a.wir", "; RUN: weftc --emit=ir file here\n"))
        self.assertFalse(self.found("a.wir", "; RUN: weftc\n; A loop keeps its carried values.\n"))

    def test_empty_files_and_folder_lists_need_none(self):
        self.assertFalse(self.found("a.py", "\n"))
        self.assertFalse(self.found("src/ir/CMakeLists.txt", "weft_folder(ir DEPS types)\n"))
        self.assertTrue(self.found("tests/CMakeLists.txt", "add_test(a b)\n"))


class Switches(TreeCase):
    def switch(self, default, inside="case OpCode::add: return 1;"):
        self.write("src/ir/a.cpp", "// A file with words.\nint f(OpCode code) {\n  switch (code) {\n    " + inside +
                   "\n    " + default + "\n  }\n  return 0;\n}\n")
        return self.findings(check_switches)

    def test_a_default_over_operations_gives_a_reason(self):
        self.assertEqual(self.switch(""), [])
        self.assertEqual(self.switch("default: return 2;  // safe: nothing is known"), [])
        (found,) = self.switch("default: return 2;")
        self.assertTrue(found.startswith("src/ir/a.cpp:5:"), found)

    def test_other_switches_are_free(self):
        self.assertEqual(self.switch("default: return 2;", "case Kind::add: return 1;"), [])

    def test_a_switch_inside_has_its_own_default(self):
        inside = "case OpCode::add: switch (kind) { case Kind::a: break; default: return 3; }"
        self.assertEqual(self.switch("", inside), [])


class Text(TreeCase):
    def found(self, text, name="a.md"):
        self.write(name, text)
        return len(self.findings(check_text))

    def test_machine_paths(self):
        for path in ("wo" "rk", "ho" "me/somebody", "ro" "ot/x", "Us" "ers/me"):
            self.assertEqual(self.found(f"see /{path}/file\n"), 1, path)
            self.assertEqual(self.found(f'"/{path}"\n'), 1, path)
        self.assertEqual(self.found("in .." "/shared/design\n"), 1)

    def test_other_paths_pass(self):
        self.assertEqual(self.found("/usr/lib, build/work, a/home/b, https://example.org/work/x, net/work\n"), 0)

    def test_marks(self):
        self.assertEqual(self.found("// TO" "DO: later\n// FIX" "ME\n"), 2)
        self.assertEqual(self.found("autodot, todo list\n"), 0)

    def test_tabs(self):
        self.assertEqual(self.found("a\tb\n"), 1)
        self.assertEqual(self.found("", name="a.md") + self.found("all:\n\techo\n", name="Makefile"), 0)

    def test_binary_files_and_corpora_are_left_alone(self):
        (self.root / "a.bin").write_bytes(b"\0\t")
        self.write("tests/fuzz/corpus/lexer/seed", "\t")
        self.assertEqual(self.findings(check_text), [])


class Tidy(unittest.TestCase):
    def test_a_changed_header_stands_for_its_source(self):
        compiled = {"src/ir/a.cpp", "src/ir/b.cpp", "src/ir/c.cpp"}
        self.assertEqual(run_tidy.selected(compiled, {"src/ir/a.h", "src/ir/c.cpp", "x.md"}), ["src/ir/a.cpp", "src/ir/c.cpp"])


if __name__ == "__main__":
    unittest.main()
