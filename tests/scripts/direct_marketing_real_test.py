"""The preparation of the real bank data against the published counts. Needs WINNOW_DATA_DIR."""

import contextlib
import csv
import gzip
import io
import os
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
import prepare_direct_marketing as prepare  # noqa: E402

SOURCE = os.path.join(os.environ.get("WINNOW_DATA_DIR", ""), "bank-additional-full.csv.gz")


class RealDataTest(unittest.TestCase):
    def counts(self, split):
        """part -> (rows, positives), of the files that were written."""
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(prepare.main(["--input", SOURCE, "--output", folder, "--split", split]), 0)
            counts = {}
            for part in ("train", "validation", "test"):
                with open(os.path.join(folder, f"{part}.csv"), newline="", encoding="utf-8") as file:
                    rows = list(csv.reader(file))
                self.assertEqual(rows[0][0], "y_yes")
                self.assertNotIn("y_no", rows[0])
                counts[part] = (len(rows) - 1, sum(row[0] == "1" for row in rows[1:]))
            return counts

    def test_the_split_for_tuning(self):
        self.assertEqual(self.counts("70/20/10"),
                         {"train": (28831, 3219), "validation": (8238, 938), "test": (4119, 483)})

    def test_the_split_of_the_article(self):
        self.assertEqual(self.counts("85/5/10"),
                         {"train": (35009, 3919), "validation": (2060, 238), "test": (4119, 483)})

    def test_columns(self):
        names, lines = prepare.prepare(prepare.read_table(SOURCE))
        self.assertEqual((len(names), len(lines)), (60, 41188))
        levels = {name: sum(column.startswith(f"{name}_") for column in names) for name in prepare.TEXT}
        self.assertEqual(list(levels.values()), [12, 4, 8, 3, 3, 3, 2, 10, 5, 3])
        self.assertEqual(names[7:10], ["job_admin.", "job_blue-collar", "job_entrepreneur"])
        for name, ones in {"no_previous_contact": 39673, "not_working": 3609, "y_yes": 4640}.items():
            self.assertEqual(sum(line.split(",")[names.index(name)] == "1" for line in lines), ones)

    def test_four_times_the_rows_take_less_than_eight_times_the_processor_time(self):
        with tempfile.TemporaryDirectory() as folder:
            with gzip.open(SOURCE, "rt", encoding="utf-8", newline="") as file:
                header, *rows = file
            seconds = []
            for number, step in enumerate((4, 1)):
                path = os.path.join(folder, f"{number}.csv")
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.writelines([header, *rows[::step]])
                start = time.process_time()
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(prepare.main(["--input", path, "--output", folder, "--split", "70/20/10"]), 0)
                seconds.append(time.process_time() - start)
            self.assertLess(seconds[1], 8 * seconds[0])


if __name__ == "__main__":
    if not os.path.exists(SOURCE):
        print("skipped: set WINNOW_DATA_DIR to a folder with bank-additional-full.csv.gz")
        sys.exit(77)
    unittest.main()
