"""scripts/get-data.sh without a network: from a mirror given as a file, and generated."""

import gzip
import io
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PARTS = [os.path.join(folder, f"{part}.csv") for folder in ("direct-marketing", "direct-marketing-85-5-10")
         for part in ("train", "validation", "test")]  # fmt: skip
SOURCE = os.path.join(os.environ.get("WINNOW_DATA_DIR", ""), "bank-additional-full.csv.gz")


class GetDataTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.output = self.path("data")

    def path(self, name):
        return os.path.join(self.folder, name)

    def get_data(self, *arguments, **environment):
        values = {"PATH": os.environ["PATH"], "PYTHON": sys.executable,
                  "WINNOW_DATA_URL": "file://" + self.path("not-there.zip"), **environment}  # fmt: skip
        return subprocess.run([os.path.join(ROOT, "scripts/get-data.sh"), *(arguments or [self.output])], env=values,
                              capture_output=True, text=True, timeout=60, check=False)

    def notes(self):
        return [os.path.exists(os.path.join(self.output, os.path.dirname(PARTS[i]), "SYNTHETIC.txt")) for i in (0, 3)]

    def write_mirror(self, table):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("bank-additional/bank-additional-full.csv", table)
        with zipfile.ZipFile(self.path("mirror.zip"), "w") as archive:
            archive.writestr("bank-additional.zip", inner.getvalue())
        return "file://" + self.path("mirror.zip")

    def test_generates_loudly_once_and_then_leaves_the_files(self):
        run = self.get_data()
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("SYNTHETIC DATA", run.stderr)
        self.assertEqual(self.notes(), [True, True])
        times = {part: os.stat(os.path.join(self.output, part)).st_mtime_ns for part in PARTS}
        again = self.get_data()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("SYNTHETIC DATA", again.stderr)
        self.assertEqual(times, {part: os.stat(os.path.join(self.output, part)).st_mtime_ns for part in PARTS})

    def test_completes_what_is_not_complete(self):
        self.get_data()
        os.remove(os.path.join(self.output, PARTS[4]))
        self.assertEqual(self.get_data().returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(self.output, PARTS[4])))

    def test_does_not_use_a_download_of_another_checksum(self):
        run = self.get_data(WINNOW_DATA_URL=self.write_mirror("age;y\n1;no\n"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("checksum", run.stderr)
        self.assertEqual(self.notes(), [True, True])

    def test_does_not_use_a_download_that_is_no_archive(self):
        with open(self.path("mirror.zip"), "w", encoding="utf-8") as file:
            file.write("<html>please log in</html>")
        run = self.get_data(WINNOW_DATA_URL="file://" + self.path("mirror.zip"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("not the expected archive", run.stderr)
        self.assertEqual(self.notes(), [True, True])

    def test_refuses_a_local_copy_of_another_content(self):
        with open(self.path("bank-additional-full.csv.gz"), "wb") as file:
            file.write(gzip.compress(b"age;y\n1;no\n"))
        run = self.get_data(WINNOW_DATA_DIR=self.folder)
        self.assertEqual(run.returncode, 1)
        self.assertIn("sha256", run.stderr)
        self.assertIn(self.path("bank-additional-full.csv.gz"), run.stderr)

    def test_says_that_the_local_copy_is_not_there(self):
        run = self.get_data(WINNOW_DATA_DIR=self.path("nowhere"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(self.path("nowhere"), run.stderr)

    def test_refuses_other_arguments(self):
        self.assertEqual(self.get_data("--help-me").returncode, 2)
        self.assertEqual(self.get_data("a", "b").returncode, 2)

    @unittest.skipUnless(os.path.exists(SOURCE), "needs WINNOW_DATA_DIR")
    def test_the_real_data_replaces_generated_data(self):
        self.get_data()
        run = self.get_data(WINNOW_DATA_DIR=os.path.dirname(SOURCE))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("SYNTHETIC", run.stderr)
        self.assertIn("28831 rows, 3219 positive", run.stdout)
        self.assertEqual(self.notes(), [False, False])

    @unittest.skipUnless(os.path.exists(SOURCE), "needs WINNOW_DATA_DIR")
    def test_takes_the_real_data_from_a_mirror(self):
        with gzip.open(SOURCE) as file:
            run = self.get_data(WINNOW_DATA_URL=self.write_mirror(file.read()))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("35009 rows, 3919 positive", run.stdout)
        self.assertEqual(self.notes(), [False, False])


if __name__ == "__main__":
    unittest.main()
