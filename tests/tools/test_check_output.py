"""Tests of the CHECK matcher: every directive, passing and failing, and what a failure says."""

import unittest

import tool_paths  # noqa: F401  (sets the import path)

from check_output import check_output


class Checks(unittest.TestCase):
    def passes(self, checks, output, **options):
        self.assertIsNone(check_output(checks, output, **options))

    def fails(self, checks, output, *parts, **options):
        failure = check_output(checks, output, **options)
        self.assertIsNotNone(failure, "it passed")
        for part in parts:
            self.assertIn(part, failure)

    def test_plain_checks_are_ordered(self):
        self.passes("; CHECK: a\n; CHECK: b\n", "x a\ny\nb\n")
        self.fails("; CHECK: b\n; CHECK: a\n", "a\nb\n", "line 2: not found", "; CHECK: a", "output line 2, column 2")

    def test_all_comment_marks_and_trailing_comments(self):
        self.passes("// CHECK: a\n# CHECK: b\nx = 1  # CHECK: c\n;CHECK: d", "a b c d\n")

    def test_blanks_match_any_blanks_unless_strict(self):
        self.passes("; CHECK: a  b\n", "a \t   b\n")
        self.fails("; CHECK: a  b\n", "a b\n", strict_whitespace=True)
        self.fails("; CHECK: a b\n", "ab\n")

    def test_text_is_literal(self):
        self.passes("; CHECK: f(x) + [1] * $y^2 {a}\n", "f(x) + [1] * $y^2 {a}\n")
        self.fails("; CHECK: a.c\n", "abc\n")

    def test_regex(self):
        self.passes("; CHECK: x{{[0-9]+}}y{{$}}\n", "x12y\n")
        self.passes("; CHECK: {{^}}b\n", "ab\nb\n")
        self.passes("; CHECK: {{[a-z]{2}}}!\n", "ab!\n")
        self.fails("; CHECK: {{(}}\n", "x\n", "bad regular expression")

    def test_a_pattern_stays_in_its_line(self):
        self.fails("; CHECK: a{{[^x]*}}b\n", "a\nb\n")

    def test_variables(self):
        self.passes("; CHECK: [[V:%[0-9]+]] = add\n; CHECK: use [[V]]\n", "%3 = add\nuse %4\nuse %3\n")
        self.fails("; CHECK: [[V:%[0-9]+]] = add\n; CHECK: use [[V]]\n", "%3 = add\nuse %4\n", 'V = "%3"')
        self.passes("; CHECK: [[V:[a-z]+]] is [[V]]\n", "a is b\nc is c\n")
        self.fails("; CHECK: [[NONE]]\n", "x\n", "NONE has no value")

    def test_a_value_is_literal_text(self):
        self.passes("; CHECK: x [[V:.*]]\n; CHECK: y [[V]]\n", "x (a+b)\ny (a+b)\n")

    def test_line_numbers(self):
        self.passes("\n# CHECK: at [[@LINE]] [[@LINE+1]] [[@LINE-1]] [[#@LINE+2]]\n", "at 2 3 1 4\n")

    def test_next(self):
        self.passes("; CHECK: a\n; CHECK-NEXT: b\n", "a\nb\n")
        self.fails("; CHECK: a\n; CHECK-NEXT: b\n", "a\nx\nb\n", "it does occur, but at output line 3")
        self.fails("; CHECK: a\n; CHECK-NEXT: b\n", "a b\n")
        self.fails("; CHECK-NEXT: b\n", "b\n", "needs a match before it")

    def test_same(self):
        self.passes("; CHECK: a\n; CHECK-SAME: c\n", "a b c\n")
        self.fails("; CHECK: a\n; CHECK-SAME: c\n", "a\nc\n")
        self.fails("; CHECK: b\n; CHECK-SAME: a\n", "a b\n")

    def test_empty(self):
        self.passes("; CHECK: a\n; CHECK-EMPTY:\n; CHECK-NEXT: b\n", "a\n\nb\n")
        self.fails("; CHECK: a\n; CHECK-EMPTY:\n", "a\nb\n")
        self.fails("; CHECK: a\n; CHECK-EMPTY:\n", "a\n")
        self.fails("; CHECK: a\n; CHECK-EMPTY: x\n", "a\n\n", "takes no pattern")

    def test_not(self):
        self.passes("; CHECK: a\n; CHECK-NOT: x\n; CHECK: b\n", "x\na\nb\nx\n")
        self.fails("; CHECK: a\n; CHECK-NOT: x\n; CHECK: b\n", "a\nx\nb\n", "must not occur", "output line 2")
        self.fails("; CHECK: a\n; CHECK-NOT: x\n", "a\nx\n")
        self.fails("; CHECK-NOT: x\n; CHECK: a\n", "x a\n")
        self.passes("; CHECK-NOT: x\n", "a\n")

    def test_dag(self):
        self.passes("; CHECK-DAG: a\n; CHECK-DAG: b\n; CHECK: c\n", "b\na\nc\n")
        self.fails("; CHECK-DAG: a\n; CHECK-DAG: b\n; CHECK: c\n", "b\nc\na\n", "; CHECK: c")
        self.fails("; CHECK-DAG: a\n; CHECK-DAG: a\n", "a\n")
        self.passes("; CHECK-DAG: a\n; CHECK-DAG: a\n", "aa\n")
        self.fails("; CHECK: s\n; CHECK-NOT: x\n; CHECK-DAG: a\n; CHECK-DAG: b\n", "s\nx\nb\na\n", "must not occur")

    def test_dag_captures(self):
        checks = "; CHECK-DAG: [[A:%[0-9]]] = one\n; CHECK-DAG: [[B:%[0-9]]] = two\n; CHECK: [[A]] [[B]]\n"
        self.passes(checks, "%1 = two\n%2 = one\n%2 %1\n")

    def test_label_keeps_a_failure_in_its_block(self):
        checks = "; CHECK-LABEL: f:\n; CHECK: add\n; CHECK-LABEL: g:\n; CHECK: mul\n"
        self.passes(checks, "f:\n add\ng:\n mul\n")
        self.fails(checks, "f:\n mul\ng:\n add\n mul\n", "line 2: not found", "ended at line 3")
        self.fails("; CHECK-LABEL: f:\n; CHECK-NOT: x\n; CHECK-LABEL: g:\n", "f:\nx\ng:\n", "must not occur")
        self.passes("; CHECK-LABEL: f:\n; CHECK-NOT: {{^$}}\n; CHECK-LABEL: g:\n", "f:\ng:\n")
        self.fails("; CHECK-LABEL: [[V:f]]:\n", "f:\n", "may not use or define variables")

    def test_next_after_label(self):
        self.passes("; CHECK-LABEL: f:\n; CHECK-NEXT: add\n", "f:\n add\n")
        self.fails("; CHECK-LABEL: f:\n; CHECK-NEXT: g\n; CHECK-LABEL: g:\n", "f:\ng:\n")

    def test_prefixes(self):
        self.passes("; ASM: b\n; CHECK: a\n", "b\n", prefix="ASM")
        self.fails("; CHECK: a\n", "a\n", "no ASM: line", prefix="ASM")

    def test_mistakes_in_directives(self):
        self.fails("; CHECK-NETX: a\n", "a\n", "unknown directive CHECK-NETX")
        self.fails("; CHECK:\n", "a\n", "no pattern")

    def test_no_output(self):
        self.fails("; CHECK: a\n", "", "no output at all")

    def test_large_input_is_quick(self):
        lines = [f"%{i} = add %{i - 1}" for i in range(20000)]
        checks = "".join(f"; CHECK: {line}\n" for line in lines[::10])
        self.passes(checks, "\n".join(lines) + "\n")


if __name__ == "__main__":
    unittest.main()
