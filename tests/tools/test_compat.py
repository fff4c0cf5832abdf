"""Tests of tools/compat on a made-up wheel and a made-up package `warp`: which files run, what is counted, and how a
test that dies or hangs is told from the others."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import venv

import tool_paths

import mujoco_environment
import outcomes
import recorder
import test_process
import wheel_reasons
import wheel_tests

SCRIPT = tool_paths.COMPAT / "wheel_tests.py"


class FolderCase(unittest.TestCase):
    """A package in `package`, a wheel's tests in `site/warp/tests`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.tests = self.root / "site" / "warp" / "tests"
        self.write("package/warp/__init__.py", "answer = 42\n")
        self.write("site/warp/__init__.py", "raise ImportError('the wheel itself')\n")
        self.write("site/warp/tests/__init__.py", "")
        self.write("site/warp/tests/helpers.py", "import unittest\nimport warp\n")
        self.write("package/warp/_src.py", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def write_tests(self, name, *bodies):
        """A test file with one test for each body, test_0 and so on."""
        lines = ["from warp.tests.helpers import *", "class Made(unittest.TestCase):", "    def test_none(self): pass"]
        for number, body in enumerate(bodies):
            lines.append(f"    def test_{number}(self):\n{textwrap.indent(textwrap.dedent(body), '        ')}")
        self.write(f"site/warp/tests/{name}.py", "\n".join(lines) + "\n")

    def child(self, limit=60.0):
        variables = wheel_tests.environment(self.root / "package", str(self.root / "cache"))
        return test_process.Child(sys.executable, variables | {"WARP_TESTS_FOLDER": str(self.tests)}, limit=limit)

    def outcomes(self, name, **options):
        found = self.child(**options).outcomes(f"warp.tests.{name}")
        return {outcome.test.removeprefix("Made."): outcome for outcome in found}


class Process(FolderCase):
    def test_each_test_is_recorded_with_its_cause(self):
        self.write_tests(
            "test_all",
            "self.assertEqual(warp.answer, 42)",
            "self.assertEqual(warp.answer, 43)",
            "warp.nothing",
            "self.skipTest('no GPU')",
        )
        found = self.outcomes("test_all")
        kinds = {name: outcome.outcome for name, outcome in found.items()}
        wanted = {"test_none": "passed", "test_0": "passed", "test_1": "failed", "test_2": "error", "test_3": "skipped"}
        self.assertEqual(kinds, wanted)
        self.assertEqual(found["test_1"].cause, "AssertionError: 42 != 43")
        self.assertIn("test_all.py", found["test_1"].trace)
        self.assertEqual(found["test_2"].cause, "AttributeError: module 'warp' has no attribute 'nothing'")
        self.assertEqual(found["test_3"].cause, "no GPU")

    def test_a_failed_subtest_fails_its_test_once(self):
        loop = "for i in range(4):\n    with self.subTest(i=i):\n        self.assertEqual(i % 2, 0)"
        self.write_tests("test_sub", loop)
        found = self.outcomes("test_sub")
        self.assertEqual(found["test_0"].outcome, "failed")
        self.assertEqual(len(found), 2)

    def test_a_process_that_dies_costs_one_test(self):
        self.write_tests("test_dies", "pass", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "pass")
        found = self.outcomes("test_dies")
        self.assertEqual(found["test_1"].cause, "the process died: SIGSEGV")
        self.assertEqual([found[name].outcome for name in ("test_0", "test_2", "test_none")], ["passed"] * 3)

    def test_a_test_that_hangs_is_ended_and_what_follows_is_counted(self):
        self.write_tests("test_hangs", "pass", "import time\ntime.sleep(600)", "pass")
        found = self.outcomes("test_hangs", limit=20.0)
        self.assertEqual(found["test_0"].outcome, "passed")
        self.assertEqual(found["test_1"].cause, "the time limit of the file, 20 s")
        self.assertIn("not run", found["test_2"].cause)

    def test_a_file_that_cannot_be_imported_is_one_error(self):
        self.write("site/warp/tests/test_broken.py", "import warp.missing\n")
        found = self.outcomes("test_broken")
        self.assertEqual(found[recorder.IMPORT].cause, "ModuleNotFoundError: No module named 'warp.missing'")
        self.assertEqual(len(found), 1)

    def test_names_are_listed_without_running(self):
        self.write_tests("test_listed", "raise SystemExit")
        self.assertEqual(self.child().names("warp.tests.test_listed"), ["Made.test_0", "Made.test_none"])

    def test_an_interpreter_may_be_named_from_the_folder_at_hand(self):
        child = test_process.Child(os.path.relpath(sys.executable), {})
        self.assertEqual(child.python, os.path.abspath(sys.executable))
        self.assertTrue(os.path.isabs(test_process.Child("sh", dict(os.environ)).python))

    def test_the_first_message_of_a_compiler_is_the_cause(self):
        error = RuntimeError("while parsing f:\nf.py:3:5: error: no such name\n    x = y\nf.py:4:5: error: another")
        self.assertEqual(recorder.cause_of(RuntimeError, error), "RuntimeError: no such name")


class Counting(unittest.TestCase):
    def table(self):
        table = outcomes.Table(later=r"attribute 'tile\w*'", internals=r"attribute '_\w+'")
        made = test_process.Outcome
        failed = made("2", "failed", "AssertionError: 3 != 4")
        table.add("a.py", [made("1", "passed"), failed, made("3", "skipped", "no GPU")])
        later = "AttributeError: module 'warp' has no attribute 'tile_load'"
        table.add("b.py", [made("1", "failed", "AssertionError: 5 != 6"), made("2", "error", later)])
        return table

    def test_what_needs_a_later_version_is_not_counted_as_failed(self):
        table = self.table()
        self.assertEqual(table.counts("b.py"), {"failed": 1, "later": 1})
        self.assertEqual(
            table.summary(), "2 files, 1 passed, 2 failed, 0 error, 1 skipped, 1 later, 0 internals: 33.3 % of 3 pass"
        )

    def test_causes_that_differ_in_figures_are_one(self):
        cause, tests = self.table().causes("failed", "error")[0]
        self.assertEqual((cause, tests), ("AssertionError: N != N", [("a.py", "2"), ("b.py", "1")]))

    def test_addresses_and_folders_do_not_count(self):
        cause = "at 0x7f00 in /some/where/a.py, vec3 of 1.5e-3"
        self.assertEqual(outcomes.grouped(cause), "at 0x… in …/a.py, vec3 of N")


class Script(FolderCase):
    def test_files_are_chosen_by_what_they_are_about(self):
        left_out = ("test_fsai", "cuda/test_clang_cuda")
        for name in ("test_vec", "matrix/test_mat", "cuda/test_streams", "cuda/test_texture", "tile/test_tile", *left_out):
            self.write_tests(name)
        without = ["cuda/test_texture.py", "matrix/test_mat.py", "test_vec.py", "tile/test_tile.py"]
        self.assertEqual(wheel_tests.test_files(self.tests, gpu=False), without)
        with_gpu = ["cuda/test_streams.py", *without]
        self.assertEqual(wheel_tests.test_files(self.tests, gpu=True), with_gpu)
        chosen = wheel_tests.chosen_files(self.tests, ["test_tile", "matrix/test_mat"])
        self.assertEqual(chosen, ["tile/test_tile.py", "matrix/test_mat.py"])

    def test_counts_are_printed_and_written(self):
        in_a_process = (
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import warp.tests.helpers'], check=True)"
        )
        self.write_tests("test_one", "pass", in_a_process, "warp.fem", "warp.gone")
        test = "import unittest\nclass Made(unittest.TestCase):\n    def test_it(self): helper()\n"
        self.write("site/warp/tests/test_two.py", f"from warp._src import helper\n{test}")
        results = self.root / "results.json"
        command = [sys.executable, "-B", str(SCRIPT), str(self.root / "site"), "--package", str(self.root / "package")]
        done = subprocess.run([*command, "--json", str(results)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = "2 files, 3 passed, 0 failed, 1 error, 0 skipped, 1 later, 1 internals: 75.0 % of 4 pass"
        self.assertIn(summary, done.stdout)
        self.assertIn("AttributeError: module 'warp' has no attribute 'gone'", done.stdout)
        self.assertEqual(json.loads(results.read_text())["files"]["test_one.py"]["counts"]["passed"], 3)

    def test_a_wheel_that_is_not_there_is_said(self):
        command = [sys.executable, "-B", str(SCRIPT), str(self.root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("wanted is the site-packages", done.stderr)


class Engine(FolderCase):
    """mujoco_warp_tests.py with an engine that has three kernels and four tests."""

    PACKAGE = """
        class Kernel:
            is_generic = False
            def __init__(self, key, problem=None):
                self.key, self.problem = key, problem
                self.module = type("Module", (), {"name": "m"})
            def native(self):
                if self.problem:
                    raise AttributeError(f"f.py:1:2: error: {self.problem}")
                return self
            def build(self, types, lanes, place): pass
        def struct(cls): return cls
        def get_device(name): return type("Device", (), {"ordinal": -1})
    """
    ENGINE = """
        import warp as wp
        good, tiled = wp.Kernel("good"), wp.Kernel("tiled", "there is no 'render' in 'wp'")
        bad = wp.Kernel("bad", "no such name")
    """
    TESTS = """
        import unittest
        import warp as wp
        class Made(unittest.TestCase):
            def test_plain(self): wp.kept = wp.Kernel("made")
            def test_more(self): pass
            def test_render(self): raise AttributeError("f.py:1:2: error: there is no 'render' in 'wp'")
            def test_render_again(self): raise AttributeError("f.py:3:4: error: there is no 'render' in 'wp'")
    """

    def test_what_needs_a_later_version_is_told_from_failures(self):
        self.write("package/warp/__init__.py", self.PACKAGE)
        self.write("site/mujoco_warp/__init__.py", self.ENGINE)
        self.write("site/mujoco_warp/_src/__init__.py", "")
        self.write("site/mujoco_warp/_src/ball_test.py", self.TESTS)
        (self.root / "package" / "mujoco_warp").symlink_to(self.root / "site" / "mujoco_warp")
        script = tool_paths.COMPAT / "mujoco_warp_tests.py"
        command = [sys.executable, "-B", str(script), sys.executable, "--kernels", "ball_test", "--package"]
        command.append(str(self.root / "package"))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = {line[:44].strip(): line[44:].split()[:5] for line in done.stdout.splitlines() if line.endswith(" s")}
        self.assertEqual(counts["import"], ["1", "0", "0", "0", "0"])
        self.assertEqual(counts["kernels after the import"], ["1", "0", "1", "0", "1"])
        self.assertEqual(counts["ball_test"], ["2", "0", "0", "0", "2"])
        self.assertEqual(counts["kernels of factories, too"], ["2", "0", "1", "0", "1"])


class Environment(FolderCase):
    """mujoco_environment.py, without what it fetches."""

    def test_the_package_wins_over_what_is_installed(self):
        venv.create(self.root / "environment", with_pip=False)
        python = self.root / "environment" / "bin" / "python"
        site = mujoco_environment.site_packages(python)
        (site / "warp").mkdir()
        (site / "warp" / "__init__.py").write_text("answer = 0\n")
        mujoco_environment.put_first(site, self.root / "package", self.root / "built")
        code = "import os, warp; print(warp.answer, os.environ['WEFT_EXTENSION_DIR'])"
        variables = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([python, "-c", code], env=variables, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["42", str(self.root / "built")])

    def test_what_is_missing_is_named(self):
        script = tool_paths.COMPAT / "mujoco_environment.py"
        for package, words in (("nowhere", "no package `warp`"), ("package", "no _weft*.so")):
            command = [sys.executable, "-B", str(script), str(self.root / "environment"), "--package"]
            command += [str(self.root / package), "--extension", str(self.root / "package")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.root / "environment").exists())


class Reasons(unittest.TestCase):
    def test_the_first_that_fits_decides(self):
        given = {
            ("test_atomic.py", "T.test_add_unsupported_dtypes_int8", "AssertionError: RuntimeError not raised"): "more is taken",
            ("test_vec.py", "T.test_x", "AssertionError: vec2f takes float32 [type_mismatch]"): "words",
            ("test_x.py", "T.test_y", "AttributeError: module 'warp.context' has no attribute 'pack_arg'"): "internals",
            ("test_x.py", "T.test_y", "ZeroDivisionError: division by zero"): "none given",
        }
        for one, reason in given.items():
            self.assertEqual(wheel_reasons.reason_of(*one), reason, one)


if __name__ == "__main__":
    unittest.main()
