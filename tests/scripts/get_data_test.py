"""scripts/get-data.sh and scripts/headline.sh without a network: from mirrors given as files or served here, and
generated."""

import functools
import gzip
import http.server
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PARTS = [os.path.join(folder, f"{part}.csv") for folder in ("direct-marketing", "direct-marketing-85-5-10")
         for part in ("train", "validation", "test")]  # fmt: skip
SOURCE = os.path.join(os.environ.get("WINNOW_DATA_DIR", ""), "bank-additional-full.csv.gz")
BANK = os.path.basename(SOURCE)
MNIST = [f"{part}-ubyte.gz" for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")]


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
                  "WINNOW_DATA_URL": "file://" + self.path("not-there.zip"),
                  "WINNOW_MNIST_URL": "file://" + self.path("no-mnist"), **environment}  # fmt: skip
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

    def published(self, *arguments, **environment):
        return self.get_data("--published", *(arguments or [self.output]), **environment)

    def test_published_files_that_cannot_be_had_are_named_and_never_made_up(self):
        run = self.published()
        self.assertEqual(run.returncode, 1)
        for name in (BANK, *MNIST):
            self.assertIn(f"  {name}, ", run.stderr)
        self.assertIn(f"Put them into {self.output}, or set WINNOW_DATA_DIR", run.stderr)
        self.assertEqual(os.listdir(self.output), [])

    def test_a_published_file_of_another_content_is_not_used(self):
        os.makedirs(self.output)
        for folder in (self.output, self.path("no-mnist"), self.path("mine")):
            os.makedirs(folder, exist_ok=True)
            with gzip.open(os.path.join(folder, MNIST[0]), "wb") as file:
                file.write(b"not MNIST")
        run = self.published()
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"{os.path.join(self.output, MNIST[0])}: what is in it has another sha256", run.stderr)
        self.assertIn(f"the download of {MNIST[0]} has another checksum", run.stderr)
        mine = self.published(WINNOW_DATA_DIR=self.path("mine"))
        self.assertEqual(mine.returncode, 1)
        self.assertIn(f"{os.path.join(self.path('mine'), MNIST[0])}: what is in it has another sha256", mine.stderr)

    @unittest.skipUnless(os.path.exists(SOURCE), "needs WINNOW_DATA_DIR")
    def test_published_files_come_from_a_folder_packed_anew_or_not_at_all(self):
        mine = self.path("mine")
        shutil.copytree(os.path.dirname(SOURCE), mine)
        subprocess.run(["chmod", "-R", "u+w", mine], check=True)
        subprocess.run(["gzip", "-d", BANK, MNIST[1]], cwd=mine, check=True)  # unpacked
        subprocess.run(f"gzip -dc {MNIST[3]} | gzip -1n >x && mv x {MNIST[3]}", shell=True, cwd=mine, check=True)
        run = self.published(WINNOW_DATA_DIR=mine)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(self.output)), sorted([BANK, *MNIST]))
        with gzip.open(os.path.join(self.output, BANK)) as ours, gzip.open(SOURCE) as theirs:
            self.assertEqual(ours.read(), theirs.read())
        times = [os.stat(os.path.join(self.output, name)).st_mtime_ns for name in MNIST]
        self.assertEqual(self.published().returncode, 0)  # they are there
        self.assertEqual(times, [os.stat(os.path.join(self.output, name)).st_mtime_ns for name in MNIST])

    @unittest.skipUnless(os.path.exists(SOURCE), "needs WINNOW_DATA_DIR")
    def test_published_files_are_downloaded_but_for_those_that_are_there(self):
        folder = os.path.dirname(SOURCE)
        handler = functools.partial(Quiet, directory=folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            os.makedirs(self.path("mine"))
            shutil.copy(SOURCE, self.path("mine"))
            run = self.published(WINNOW_MNIST_URL=f"http://127.0.0.1:{server.server_port}",
                                 WINNOW_DATA_DIR=self.path("mine"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr.count("downloading"), 4)
        for name in MNIST:
            with open(os.path.join(self.output, name), "rb") as ours, open(os.path.join(folder, name), "rb") as theirs:
                self.assertEqual(ours.read(), theirs.read())


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


class HeadlineTest(unittest.TestCase):
    """A copy of the scripts, in whose place of packages, CMake and the experiment stand programs that write down what
    they were asked for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        shutil.copytree(os.path.join(ROOT, "scripts"), self.path("scripts"))
        self.write("bin/dpkg-query", "#!/bin/sh\necho install ok installed\n")
        self.write("bin/cmake", f"#!/bin/sh\necho cmake $* in $PWD >>{self.path('log')}\n")
        self.write("bench/headline/run.py", f"import sys\nopen({self.path('log')!r}, 'a').write('run ' + ' '.join(sys.argv[1:]))\n")
        self.data = self.path("examples/data")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def headline(self, *arguments, **environment):
        """(the run, what was asked for)"""
        values = {"PATH": f"{self.path('bin')}:{os.environ['PATH']}", "PYTHON": sys.executable,
                  "WINNOW_DATA_URL": "file:///not/there.zip", "WINNOW_MNIST_URL": "file:///not/there",
                  **environment}  # fmt: skip
        run = subprocess.run([self.path("scripts/headline.sh"), *arguments], env=values, cwd="/", capture_output=True,
                             text=True, timeout=60, check=False)  # fmt: skip
        if not os.path.exists(self.path("log")):
            return run, []
        with open(self.path("log"), encoding="utf-8") as file:
            return run, file.read().splitlines()

    def test_without_data_it_ends_with_what_to_put_where(self):
        run, asked = self.headline("--quick")
        self.assertEqual(run.returncode, 1)
        self.assertIn(f"Put them into {self.data}", run.stderr)
        self.assertEqual([line.split()[0] for line in asked], ["cmake", "cmake"])

    def test_what_is_given_is_neither_built_nor_looked_for(self):
        run, asked = self.headline("--bin", "/b", "--data=/d", "--quick", "--out", "o.md")
        self.assertEqual((run.returncode, asked), (0, ["run --bin /b --data=/d --quick --out o.md"]), run.stderr)

    def test_parts_run_with_the_files_that_are_there(self):
        run, asked = self.headline("--only", "tuned", "--bin", "/b")
        self.assertEqual((run.returncode, asked), (0, [f"run --data {self.data} --only tuned --bin /b"]))
        self.assertIn(MNIST[0], run.stderr)

    def test_the_page_alone_needs_nothing(self):
        run, asked = self.headline("--only=page")
        self.assertEqual((run.returncode, run.stderr, asked), (0, "", ["run --only=page"]))

    @unittest.skipUnless(os.path.exists(SOURCE), "needs WINNOW_DATA_DIR")
    def test_builds_gets_the_data_and_runs(self):
        run, asked = self.headline("--quick", WINNOW_DATA_DIR=os.path.dirname(SOURCE))
        self.assertEqual(run.returncode, 0, run.stderr)
        where = os.path.realpath(self.folder)
        self.assertEqual(asked, [f"cmake --preset release -DWINNOW_TESTS=OFF -DWINNOW_BENCH=OFF in {where}",
                                 f"cmake --build --preset release in {where}",
                                 f"run --data {self.data} --quick"])  # fmt: skip
        self.assertEqual(sorted(os.listdir(self.data)), sorted([BANK, *MNIST]))


if __name__ == "__main__":
    unittest.main()
