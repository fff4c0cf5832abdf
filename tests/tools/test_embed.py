"""Tests of weft_embed: rows that don't say over which values they are tested stop the build."""

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


if __name__ == "__main__":
    unittest.main()
