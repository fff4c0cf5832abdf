"""Tests of weft_embed: what it indexes, and what stops the build."""

import os
import pathlib
import subprocess
import tempfile
import unittest

EMBED = os.environ.get("WEFT_EMBED", "")
ROW = 'twice(x: F, y: vec[3,F] = 1) -> (F, F)\n  doc    "Twice."\n  lib\n'


@unittest.skipUnless(EMBED, "WEFT_EMBED names the built tool")
class Samples(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            rows, out = pathlib.Path(folder, "some.def"), pathlib.Path(folder, "out.cpp")
            rows.write_text(text)
            done = subprocess.run([EMBED, str(out), str(rows)], capture_output=True, text=True, timeout=60)
            self.assertEqual(out.exists(), done.returncode == 0)
            return done.returncode, done.stderr

    def test_good_rows(self):
        for sample in ("[-1, 1], unit_vec", "any, [0.5, 2e3]", "none test_twice", "sorted [0, 1], out"):
            self.assertEqual(self.run_on(ROW + f"  sample {sample}\n"), (0, ""))

    def test_bad_rows(self):
        for sample, complaint in {
            "": "no sample domain; add a line",
            "  sample [-1, 1]\n": "1 sample domains for 2 parameters",
            "  sample [-1, 1], unit\n": "unknown sample domain 'unit'",
            "  sample [1, -1], any\n": "unknown sample domain '[1, -1]'",
            "  sample [1], any\n": "unknown sample domain '[1]'",
            "  sample none\n": "names the hand-written test",
            "  sample none of these\n": "names the hand-written test",
        }.items():
            status, text = self.run_on("# A comment.\n\n" + ROW + sample)
            self.assertEqual(status, 1)
            self.assertIn("some.def:3: twice(x: F, y: vec[3,F] = 1) -> (F, F): ", text)
            self.assertIn(complaint, text)

    def test_a_row_does_not_borrow_the_sample_of_the_next(self):
        status, text = self.run_on(ROW + "\n" + ROW + "  sample any, any\n")
        self.assertEqual(status, 1)
        self.assertEqual(len(text.splitlines()), 1)


LIBRARY = """# A comment.

_TABLE = (
    1,
    2,
)
_SCALE = 0.5


class Hit:
    \"\"\"A struct.\"\"\"

    t: float
    _at = 3


def twice(x):
    y = 2.0 * x
    return y
"""


@unittest.skipUnless(EMBED, "WEFT_EMBED names the built tool")
class Library(unittest.TestCase):
    def run_on(self, rows, *sources):
        with tempfile.TemporaryDirectory() as folder:
            files = {"some.def": rows, **{f"source{i}.py": text for i, text in enumerate(sources)}}
            for name, text in files.items():
                pathlib.Path(folder, name).write_text(text)
            out = pathlib.Path(folder, "out.cpp")
            given = [str(pathlib.Path(folder, name)) for name in files]
            done = subprocess.run([EMBED, str(out), *given], capture_output=True, text=True, timeout=60)
            return (out.read_text() if out.exists() else ""), done.stderr.replace(folder + "/", "")

    def test_the_index_has_functions_structs_and_constants(self):
        text, errors = self.run_on("hit(x: float) -> Hit\n  lib\n  sample none test_hit\n", LIBRARY)
        self.assertEqual(errors, "")
        names = text[text.index("kNames[]") :]
        self.assertIn('{"hit", 0, 0, 1}', names)
        for name, begin in {"twice": "def ", "Hit": "class ", "_TABLE": "", "_SCALE": ""}.items():
            at = LIBRARY.index(begin + name)
            self.assertIn(f'{{"{name}", 1, {at}, {1 + LIBRARY[:at].count(chr(10))}}}', names)
        for absent in ("_at", '"t"', '"y"'):
            self.assertNotIn(absent, names)
        lists = [line for line in names.splitlines() if "subspan" in line]
        wanted = [f"({span}); }}" for span in ("0, 1", "1, 1", "2, 1", "3, 2")]
        self.assertEqual([line.split("subspan")[1] for line in lists], wanted)

    def test_structs_in_rows_must_be_there(self):
        row = "{}\n  lib\n  sample none test_hit\n"
        good = ("f(x: Hit) -> None", "f(x: S2, y: vec[N,F]) -> Hit", "f(x: ref[Hit], B: array[T] = 1) -> (Hit, F)")
        for signature in good:
            self.assertEqual(self.run_on(row.format(signature), LIBRARY)[1], "")
            errors = self.run_on(row.format(signature), "")[1]
            self.assertTrue(errors.startswith("some.def:1: the library has no struct 'Hit'\n"), errors)
        errors = self.run_on(row.format("f(Mass: float) -> _SCALE"), LIBRARY)[1]
        self.assertEqual(errors, "some.def:1: the library has no struct '_SCALE'\n")

    def test_names_are_defined_once(self):
        for again in ("def Hit(x):\n    return x\n", "twice = 3\n", "class _TABLE:\n    pass\n"):
            text, errors = self.run_on("", LIBRARY, again)
            self.assertEqual(text, "")
            self.assertRegex(errors, r"^source[01].py:\d+: the library has another '\w+'\n$")


if __name__ == "__main__":
    unittest.main()
