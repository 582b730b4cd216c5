#!/usr/bin/env python3
"""The headline experiment's own arithmetic: shards and weights, files of channels, intervals, verdicts, job files."""

import csv
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/headline"), str(ROOT / "bench")]

try:
    import numpy  # noqa: E402
    import sklearn  # noqa: E402, F401
    import xgboost  # noqa: E402, F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import data  # noqa: E402
import intervals  # noqa: E402
import jobs  # noqa: E402
import tables  # noqa: E402
import tuned  # noqa: E402
import verdicts  # noqa: E402

ROWS = 60


def write_source(path):
    """A table of the published columns; a row's age is its number."""
    source = data.preparation
    header = ["age", *source.NUMERIC[1:], *source.TEXT, *source.DROPPED, source.LABEL]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(header)
        for row in range(ROWS):
            writer.writerow([row, 1, 999, 0, *["ab"[row % 2]] * len(source.TEXT), *["0"] * len(source.DROPPED),
                             "yes" if row % 3 == 0 else "no"])


def read(path):
    """Ages and weights of a file, in its order."""
    with open(path, encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    return [int(row["age"]) for row in rows], [float(row["weight"]) for row in rows]


class Data(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        source = pathlib.Path(self.folder.name) / "bank.csv"
        write_source(source)
        self.bank = data.Bank(source)
        self.files = data.Files(self.bank, self.folder.name, repetition=4)

    def test_a_split_is_the_one_of_the_prepared_files(self):
        with tempfile.TemporaryDirectory() as folder:
            data.preparation.write_parts(folder, self.bank.names, self.bank.lines, data.OTHER)
            for name, part in self.bank.split(data.OTHER).items():
                with open(f"{folder}/{name}.csv", encoding="ascii", newline="") as file:
                    ages = [int(row["age"]) for row in csv.DictReader(file)]
                self.assertEqual([int(age) for age in part.features[:, 0]], ages)
                self.assertEqual(list(part.position), ages)

    def test_a_row_weighs_a_hundred_however_often_it_stands(self):
        ages, weights = read(self.files.channels(data.BLOG)["train"]["path"])
        rows = set(self.bank.split(data.BLOG)["train"].position)
        self.assertEqual({age: ages.count(age) for age in set(ages)}, {row: 4 for row in rows})
        self.assertEqual(set(weights), {25.0})
        self.assertNotEqual(ages, sorted(ages))

    def test_shards_by_date_are_the_file_cut_in_three(self):
        channel = self.files.channels(data.BLOG, data.BY_DATE)["train"]
        shards = [set(read(path)[0]) for path in sorted(pathlib.Path(channel["path"]).iterdir())]
        self.assertEqual(channel["distribution"], "sharded")
        self.assertEqual(len(shards), 3)
        self.assertLess(max(shards[0]), min(shards[1]))
        self.assertLess(max(shards[1]), min(shards[2]))

    def test_shuffled_shards_hold_the_rows_of_the_whole(self):
        whole, _ = read(self.files.channels(data.BLOG)["train"]["path"])
        folder = pathlib.Path(self.files.channels(data.BLOG, data.SHUFFLED)["train"]["path"])
        self.assertEqual([age for path in sorted(folder.iterdir()) for age in read(path)[0]], whole)


class Shards(unittest.TestCase):
    position = numpy.array([7, 3, 9, 1, 5, 11, 2])

    def total(self, sharding):
        weights = numpy.zeros(len(self.position))
        for rows, weight in data.shard_weights(self.position, sharding, seed=1):
            weights[rows] += weight
        return list(weights)

    def test_every_row_has_all_of_its_copies_in_the_shards_together(self):
        for sharding in data.SHARDINGS:
            self.assertEqual(self.total(sharding), [data.COPIES] * len(self.position), sharding)

    def test_shards_of_shuffled_copies_hold_nearly_every_row(self):
        for rows, weights in data.shard_weights(self.position, data.SHUFFLED, seed=1):
            self.assertEqual(sorted(rows), list(range(len(self.position))))
            self.assertAlmostEqual(weights.sum(), data.COPIES * len(self.position) / data.SHARDS, delta=1)

    def test_shards_in_date_order_follow_each_other(self):
        pieces = [sorted(self.position[rows]) for rows, _ in data.shard_weights(self.position, data.BY_DATE, seed=1)]
        self.assertEqual(pieces, [[1, 2, 3], [5, 7], [9, 11]])


class Intervals(unittest.TestCase):
    def test_of_equal_values_it_is_the_value(self):
        self.assertEqual(intervals.paired([3, 4], [1, 2]), (2, 2, 2))

    def test_it_holds_the_mean_and_narrows_with_more_seeds(self):
        draw = numpy.random.default_rng(1)
        few, many = (intervals.bootstrap(draw.normal(0, 1, count)) for count in (10, 1000))
        for mean, low, high in (few, many):
            self.assertLess(low, mean)
            self.assertLess(mean, high)
        self.assertLess(many[2] - many[1], (few[2] - few[1]) / 4)

    def test_it_covers_the_truth_about_as_often_as_it_says(self):
        draw = numpy.random.default_rng(2)
        found = [intervals.bootstrap(draw.normal(0, 1, 30), resamples=500) for _ in range(300)]
        self.assertAlmostEqual(sum(low <= 0 <= high for _, low, high in found) / 300, 0.95, delta=0.05)

    def test_a_change_is_of_each_seed(self):
        self.assertEqual(intervals.change([1, 30], [10, 100])[0], -0.8)

    def test_what_is_not_paired_is_refused(self):
        self.assertRaises(ValueError, intervals.paired, [1], [1, 2])
        self.assertRaises(ValueError, intervals.change, [1], [1, 2])


def rows(node_seconds, elapsed, test, training=0):
    return [{"seed": seed, "node_seconds": n, "elapsed": e, "test": t, "validation": t, "training": training}
            for seed, (n, e, t) in enumerate(zip(node_seconds, elapsed, test), 1)]


class Verdicts(unittest.TestCase):
    through = rows([100, 100], [10, 10], [0.77, 0.77], training=40)

    def goals(self, ours):
        return verdicts.goals(verdicts.against_run_through({jobs.THROUGH: self.through, "ours": ours}, "ours"))

    def test_what_was_wanted_is_reached(self):
        self.assertEqual(self.goals(rows([10, 20], [3, 3.9], [0.77, 0.78])),
                         {"cost": verdicts.REACHED, "elapsed": verdicts.REACHED, "test": verdicts.REACHED})

    def test_what_was_not_is_missed(self):
        self.assertEqual(self.goals(rows([20, 22], [3, 4.1], [0.76, 0.75])),
                         {"cost": verdicts.MISSED, "elapsed": verdicts.MISSED, "test": verdicts.MISSED})

    def test_a_lower_mean_whose_interval_holds_nothing_is_not_called_equal(self):
        self.assertEqual(self.goals(rows([1, 1], [1, 1], [0.75, 0.78]))["test"], verdicts.UNSURE)

    def test_one_after_the_other_is_summed_for_all_and_measured_for_some(self):
        of = {jobs.THROUGH: self.through, "ours": rows([1, 1], [4, 8], [1, 1]),
              tuned.ONE_BY_ONE: rows([1], [16], [1])}
        summed, measured = verdicts.against_one_by_one(of, "ours")
        self.assertAlmostEqual(summed[0], (4 / 40 + 8 / 40) / 2 - 1)
        self.assertEqual(measured[0], 4 / 16 - 1)
        of[tuned.ONE_BY_ONE] = []
        self.assertIsNone(verdicts.against_one_by_one(of, "ours")[1])


class Jobs(unittest.TestCase):
    def test_the_run_through_search_draws_as_hyperband_does_and_stops_nothing(self):
        one, other = (jobs.search(kind, {}, 5) for kind in (jobs.HYPERBAND, jobs.THROUGH))
        self.assertEqual(one["parameters"], other["parameters"])
        self.assertEqual((one["seed"], one["limits"]), (other["seed"], other["limits"]))
        self.assertEqual((other["sampler"], other["pruner"]), ({"kind": "SOBOL"}, {"kind": "NONE"}))

    def test_the_default_names_no_strategy(self):
        spec = jobs.search(jobs.DEFAULT, {}, 5)
        self.assertFalse({"strategy", "sampler", "pruner", "hyperband"} & set(spec))
        self.assertEqual(spec["limits"]["max_trial_resource"], jobs.MAX_RESOURCE)

    def test_the_ranges_are_the_published_ones(self):
        self.assertEqual([parameter["name"] for parameter in jobs.search_space()],
                         ["num_round", "eta", "min_child_weight", "alpha", "max_depth", "colsample_bylevel",
                          "colsample_bytree"])

    def test_configurations_are_read_whatever_their_type(self):
        trials = [{"number": "2", "hyperparameters": [{"name": "a", "integer": "3"}, {"name": "b", "continuous": 0.5}]}]
        self.assertEqual(jobs.configurations(trials), {2: {"a": "3", "b": 0.5}})


class Tables(unittest.TestCase):
    def test_numbers_stand_with_their_range_or_interval(self):
        self.assertEqual(tables.mean_range([0.75, 0.77], 2), "0.76 (0.75 to 0.77)")
        self.assertEqual(tables.mean_range([3], 0), "3")
        self.assertEqual(tables.percent((-0.8, -0.9, -0.7)), "-80 [-90, -70] %")
        self.assertEqual(tables.with_interval((0.1, 0.1, 0.1)), "+0.1000")

    def test_a_table_is_markdown(self):
        self.assertEqual(tables.table(["a", "b"], [["x", 1]]), ["| a | b |", "| --- | ---: |", "| x | 1 |"])


if __name__ == "__main__":
    unittest.main()
