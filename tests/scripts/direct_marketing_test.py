"""The preparation of the bank data, on small and on generated tables."""

import contextlib
import csv
import gzip
import hashlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
import prepare_direct_marketing as prepare  # noqa: E402
import synthesize_direct_marketing as synthesize  # noqa: E402


def run(module, *arguments):
    """(exit code, what was said on standard error)"""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = module.main(list(arguments))
    return code, errors.getvalue()


def read(folder, part):
    with open(os.path.join(folder, f"{part}.csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


class ShuffleTest(unittest.TestCase):
    def test_is_the_published_permutation(self):
        order = prepare.shuffled_indices(41188)
        self.assertEqual(order[:8], [40949, 9332, 32286, 3925, 9406, 8102, 8513, 4792])
        self.assertEqual(order[-4:], [38797, 1267, 3174, 1677])
        digest = hashlib.sha256("".join(f"{i}\n" for i in order).encode()).hexdigest()
        self.assertEqual(digest, "b0cab2bae689a5c8840b995dc183876658263d7e784572f431bb056b35103e50")

    def test_is_a_permutation_of_any_size(self):
        for count in (0, 1, 2, 3, 64, 65, 1000):
            self.assertEqual(sorted(prepare.shuffled_indices(count)), list(range(count)))


class PrepareTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.input = self.path("bank.csv")
        self.assertEqual(run(synthesize, "--output", self.input, "--rows", "1000")[0], 0)

    def prepared(self, split="70/20/10", output="out"):
        code, errors = run(prepare, "--input", self.input, "--output", self.path(output), "--split", split)
        self.assertEqual((code, errors), (0, ""))
        return self.path(output)

    def break_input(self, old, new):
        with open(self.input, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(self.input, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1))

    def assert_refused(self, *fragments):
        code, errors = run(prepare, "--input", self.input, "--output", self.path("out"))
        self.assertEqual(code, 1)
        for fragment in (self.input, *fragments):
            self.assertIn(fragment, errors)
        self.assertFalse(os.path.exists(self.path("out/train.csv")))

    def test_every_row_is_the_prepared_form_of_its_original(self):
        with open(self.input, newline="", encoding="utf-8") as file:
            originals = list(csv.DictReader(file, delimiter=";"))
        folder = self.prepared()
        rows = read(folder, "train") + read(folder, "validation") + read(folder, "test")
        self.assertEqual(len(rows), 1000)
        self.assertEqual(list(rows[0])[:7],
                         ["y_yes", "age", "campaign", "pdays", "previous", "no_previous_contact", "not_working"])
        self.assertEqual(len(rows[0]), 60)
        for row, index in zip(rows, prepare.shuffled_indices(1000)):
            original = originals[index]
            self.assertEqual(row["y_yes"] == "1", original["y"] == "yes")
            self.assertEqual(row["no_previous_contact"] == "1", original["pdays"] == "999")
            self.assertEqual(row["not_working"] == "1", original["job"] in ("student", "retired", "unemployed"))
            for name in ("age", "campaign", "pdays", "previous"):
                self.assertEqual(row[name], original[name])
            for name in prepare.TEXT:
                hot = [key for key in row if key.startswith(f"{name}_") and row[key] == "1"]
                self.assertEqual(hot, [f"{name}_{original[name]}"])

    def test_both_splits_cut_the_same_order(self):
        first, second = self.prepared(), self.prepared("85/5/10", "wide")
        self.assertEqual([len(read(first, part)) for part in ("train", "validation", "test")], [700, 200, 100])
        self.assertEqual([len(read(second, part)) for part in ("train", "validation", "test")], [850, 50, 100])
        self.assertEqual(read(first, "test"), read(second, "test"))

    def test_gives_the_same_bytes_from_plain_and_gzip_and_leaves_nothing_else(self):
        first = self.prepared()
        with open(self.input, "rb") as file:
            packed = gzip.compress(file.read())
        self.input = self.path("bank.csv.gz")
        with open(self.input, "wb") as file:
            file.write(packed)
        second = self.prepared(output="again")
        self.assertEqual(sorted(os.listdir(first)), ["test.csv", "train.csv", "validation.csv"])
        for part in os.listdir(first):
            with open(os.path.join(first, part), "rb") as a, open(os.path.join(second, part), "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_refuses_a_missing_column(self):
        self.break_input('"pdays"', '"days"')
        self.assert_refused(":1:", "'pdays'")

    def test_refuses_a_ragged_row(self):
        self.break_input(";999;0;", ";999;")
        self.assert_refused("20 fields found, expected 21")

    def test_refuses_a_number_that_is_none(self):
        self.break_input(";999;0;", ";never;0;")
        self.assert_refused("'pdays'", "'never'", "whole number")

    def test_refuses_a_label_of_other_classes(self):
        self.break_input(';"no"\n', ';"maybe"\n')
        self.assert_refused("'y'", "'maybe'")

    def test_refuses_damaged_gzip_and_a_file_that_is_not_there(self):
        with open(self.input, "rb") as file:
            packed = gzip.compress(file.read())
        with open(self.input, "wb") as file:
            file.write(packed[: len(packed) // 2])
        self.assert_refused("cannot be read")
        os.remove(self.input)
        self.assert_refused("cannot be read")


class SynthesizeTest(FolderTest):
    def test_has_the_schema_and_every_level_of_the_real_data(self):
        table = synthesize.synthesize(2000, seed=1)
        self.assertEqual(set(table[0]), set(synthesize.HEADER))
        for name, levels in synthesize.LEVELS.items():
            if name in synthesize.QUOTED:
                self.assertEqual({row[name] for row in table}, set(levels))
        self.assertEqual(len({row["month"] for row in table}), 10)
        self.assertEqual({row["poutcome"] for row in table}, {"nonexistent", "failure", "success"})

    def test_is_a_function_of_the_seed(self):
        self.assertEqual(synthesize.synthesize(1000, 5), synthesize.synthesize(1000, 5))
        self.assertNotEqual(synthesize.synthesize(1000, 5), synthesize.synthesize(1000, 6))

    def test_can_be_learned_about_as_well_as_the_real_data(self):
        table = synthesize.synthesize(synthesize.ROWS, seed=1729)
        positives = sum(row["y"] == "yes" for row in table)
        self.assertAlmostEqual(positives / len(table), 0.1127, delta=0.01)
        # The AUC of the true model's score, by ranks; ties are as good as absent.
        order = sorted(table, key=lambda row: synthesize.logit(row, float(row["nr.employed"]) < 5150))
        ranks = sum(rank for rank, row in enumerate(order, start=1) if row["y"] == "yes")
        auc = (ranks - positives * (positives + 1) / 2) / (positives * (len(table) - positives))
        self.assertTrue(0.76 < auc < 0.84, auc)


if __name__ == "__main__":
    unittest.main()
