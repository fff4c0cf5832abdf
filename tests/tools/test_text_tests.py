"""Tests of the text-test runner: RUN and GOLDEN lines, substitutions, conditions, exit status and closing line."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import tool_paths


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_tests(self, *arguments):
        command = [sys.executable, "-B", str(tool_paths.TESTING / "run_text_tests.py"), str(self.root), *arguments]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.stderr, "")
        lines = result.stdout.rstrip("\n").split("\n")
        return result.returncode, lines[-1], result.stdout

    def expect(self, text, summary, *parts, arguments=(), name="a.wir"):
        self.write(name, text)
        status, last, output = self.run_tests(*arguments)
        self.assertEqual(last, summary, output)
        self.assertEqual(status, 1 if " 0 failed" not in summary else 0, output)
        for part in parts:
            self.assertIn(part, output)

    PASSED = "1 passed, 0 failed, 0 skipped"
    FAILED = "0 passed, 1 failed, 0 skipped"
    SKIPPED = "0 passed, 0 failed, 1 skipped"

    def test_output_goes_to_the_checks(self):
        self.expect("; RUN: echo hello world\n; CHECK: hello {{w.*d}}\n", self.PASSED)
        self.expect("; RUN: echo hello\n; CHECK: bye\n", self.FAILED, "FAILED: ", "; CHECK: bye", "| hello")

    def test_file_without_checks_needs_only_success(self):
        self.expect("// RUN: true\n", self.PASSED)
        self.expect("// RUN: false\n", self.FAILED, "exit status 1")
        self.expect("// RUN: echo why >&2; false\n", self.FAILED, "why", "command: echo why")

    def test_a_failure_inside_a_pipe_counts(self):
        self.expect("// RUN: false | cat\n", self.FAILED)

    def test_not(self):
        self.expect("# RUN: not sh -c 'echo oops; exit 3'\n# CHECK: oops\n", self.PASSED, name="a.py")
        self.expect("# RUN: not true\n", self.FAILED, "must fail", name="a.py")
        self.expect("# RUN: not sh -c 'kill -SEGV $$'\n", self.FAILED, "signal 11", name="a.py")

    def test_prefixes_and_several_runs(self):
        self.expect("; RUN: echo a | check --prefix=A\n; RUN: echo b\n; A: a\n; CHECK: b\n", self.PASSED)
        self.expect("; RUN: echo a | check --prefix=A\n; CHECK: b\n", self.FAILED, "no A: line")
        self.expect("; RUN: echo a | check --wrong\n", self.FAILED, "does not know --wrong")
        self.expect("; RUN: echo x > %t | check --none\n; RUN: cat %t\n; CHECK: x\n", self.PASSED)
        self.expect("; RUN: echo a | check\n", self.FAILED, "no CHECK: line")

    def test_substitutions(self):
        self.expect("; RUN: echo %s %b '%%s' %weftc\n; CHECK: a.wir a %s {{/.*}}echo\n", self.PASSED,
                    arguments=("--weftc", "/bin/echo"))
        self.expect("; RUN: cat %s\n; CHECK: RUN: cat\n", self.PASSED)
        self.expect("; RUN: %weftc\n", self.FAILED, "not given --weftc")

    def test_joined_lines(self):
        self.expect("; RUN: echo a \\\n; RUN: b\n; CHECK: a b\n", self.PASSED)
        self.expect("; RUN: echo a \\\n", self.FAILED, "ends with a backslash")

    def test_timeout(self):
        self.expect("; RUN: sleep 60\n", self.FAILED, "no end after", arguments=("--timeout", "0.5"))

    def test_nothing_to_run_is_a_failure(self):
        self.expect("; CHECK: a\n", self.FAILED, "no RUN: or GOLDEN: line")

    def test_no_tests_is_a_failure(self):
        status, last, output = self.run_tests()
        self.assertEqual((status, last), (1, "0 passed, 0 failed, 0 skipped"))
        self.assertIn("no test was found", output)

    def test_inputs_are_not_tests(self):
        self.write("inputs/x.py", "x = 1\n")
        self.expect("; RUN: cat inputs/x.py\n; CHECK: x = 1\n", self.PASSED)

    def test_requires(self):
        self.expect("; REQUIRES: no-such-program\n; RUN: false\n", self.SKIPPED, "needs no-such-program")
        self.expect("; REQUIRES: bash, extra\n; RUN: true\n", self.PASSED, arguments=("--feature", "extra"))
        self.expect("; REQUIRES: !bash\n; RUN: false\n", self.SKIPPED)
        self.expect("; REQUIRES: pdp11\n; RUN: true\n", self.PASSED, arguments=("--machine", "pdp11"))
        self.expect("; UNSUPPORTED: bash\n; RUN: false\n", self.SKIPPED)

    def test_selection_and_skip_status(self):
        self.write("a.wir", "; RUN: true\n")
        self.write("b.wir", "; REQUIRES: no-such-program\n; RUN: true\n")
        self.assertEqual(self.run_tests("--skip-status")[:2], (77, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.run_tests("--select", "unconditional", "--skip-status")[:2], (0, self.PASSED))
        self.assertEqual(self.run_tests("--select", "conditional", "--skip-status")[:2], (77, self.SKIPPED))
        self.assertEqual(self.run_tests("--filter", "a.wir")[:2], (0, self.PASSED))

    def test_golden(self):
        text = "# GOLDEN: echo one => %b.golden\n"
        self.expect(text, self.FAILED, "does not exist", name="g.py")
        self.expect(text, self.PASSED, arguments=("--update",), name="g.py")
        self.assertEqual((self.root / "g.golden").read_text(), "one\n")
        self.expect(text, self.PASSED, name="g.py")
        self.expect("# GOLDEN: echo two => %b.golden\n", self.FAILED, "-one", "+two", name="g.py")
        self.expect("# GOLDEN: echo two\n", self.FAILED, "write GOLDEN: command => file", name="g.py")

    def test_bytes_that_are_no_text_are_shown_not_fatal(self):
        self.expect("; RUN: printf '\\377ok'\n; CHECK: ok\n", self.PASSED)


if __name__ == "__main__":
    unittest.main()
