#!/usr/bin/env python3
"""The report on search strategies: medians, costs and verdicts, on made-up trajectories."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/search"))

import report  # noqa: E402
import trajectory  # noqa: E402

R = 10


def lines(strategy, *runs, family="f"):
    """CSV lines; a run is (spent, regret) pairs, one run a seed."""
    return [f"{strategy},{family},{seed},{spent},{regret}"
            for seed, run in enumerate(runs, 1) for spent, regret in run]


def read(*parts):
    return report.read([line for part in parts for line in part], {"f": R, "table": R})


class Report(unittest.TestCase):
    def test_regret_is_that_of_the_last_change_before(self):
        runs = read(lines("random", [(1, 9), (20, 4), (41, 1)]))["f", "random"]
        self.assertEqual([runs.median(m) for m in (0.1, 1, 1.9, 2, 4, 4.1, 64)], [9, 9, 9, 4, 4, 1, 1])
        self.assertEqual(runs.median(0), float("inf"))

    def test_quartiles_are_over_seeds(self):
        runs = read(lines("random", *([(1, regret)] for regret in (5, 1, 4, 2, 3))))["f", "random"]
        self.assertEqual(runs.quartiles(1), (2, 3, 4))

    def test_reach_waits_for_the_median_of_the_seeds(self):
        runs = read(lines("random", [(1, 9), (10, 1)], [(1, 9), (30, 1)], [(1, 9), (90, 1)]))["f", "random"]
        self.assertEqual(runs.reach(1), 3)
        self.assertEqual(runs.reach(9), 0.1)
        self.assertIsNone(runs.reach(0.5))

    def test_headers_and_paths_of_tables_are_understood(self):
        runs = report.read([",".join(trajectory.FIELDS), "random,table:/x.csv,1,1,0.5"], {"table": R})
        self.assertEqual(list(runs), [("table", "random")])

    def test_verdicts(self):
        peers = lines("random", [(1, 9), (100, 8), (600, 4)]) + lines("optuna-tpe", [(1, 9), (40, 6), (300, 2)])
        ours = lines("ours", [(1, 9), (40, 3), (160, 2), (500, 2.5)])
        found = report.verdicts(read(peers, ours), "f", "ours")
        self.assertEqual(found["median at 4x below every peer"], (True, "0.50"))
        self.assertEqual(found["median at 16x below every peer"], (True, "0.33"))
        self.assertEqual(found["median at 64x below every peer"], (False, "1.25"))
        self.assertEqual(found["best peer's 32x regret for at most 16x"], (True, "16.00x"))
        self.assertEqual(found["random's 64x regret for at most 6.4x"], (True, "4.00x"))

    def test_a_regret_that_is_never_reached_fails_its_goal(self):
        found = report.verdicts(read(lines("random", [(1, 2)]), lines("ours", [(1, 3)])), "f", "ours")
        self.assertEqual(found["random's 64x regret for at most 6.4x"], (False, "not reached"))

    def test_worth_is_the_budget_of_random_search_for_the_same_regret(self):
        baseline = read(lines("random", [(1, 9), (400, 3), (5120, 3)]))["f", "random"]
        self.assertEqual(report.worth_of(baseline, 3, 8), "5.0")
        self.assertEqual(report.worth_of(baseline, 2, 8), "> 64")

    def test_the_whole_report_names_every_strategy_and_goal(self):
        text = "\n".join(report.report(read(lines("random", [(1, 9)]), lines("ours", [(1, 3)]))))
        self.assertIn("| ours | 1 | **3** [3, 3] |", text)
        self.assertIn("| median at 64x below every peer | yes 0.33 | 1 of 1 |", text)


class Line:
    """A family of one parameter whose observed values are given."""
    optimum = 10

    def __init__(self, values, observed):
        self.both = values, observed

    def curve(self, _unit, _seed):
        return self.both


class Meter(unittest.TestCase):
    def test_the_incumbent_is_chosen_by_what_is_observed(self):
        meter = trajectory.Meter(Line([1, 2, 3, 4], [5, 7, 6, 8]), 1, 100)
        trial = meter.start_at(None)
        self.assertEqual([trial.advance() for _ in range(4)], [5, 7, 6, 8])
        self.assertEqual(meter.points, [(1, 9), (2, 8), (4, 6)])
        self.assertEqual(trial.best, 8)

    def test_the_budget_counts_every_report_and_ends_the_run(self):
        meter = trajectory.Meter(Line([1, 2], [1, 2]), 1, 3)
        first, second = meter.start_at(None), meter.start_at(None)
        first.advance()
        second.advance()
        with self.assertRaises(trajectory.BudgetSpent):
            first.advance()
        self.assertEqual(meter.points, [(1, 9), (3, 8)])

    def test_the_end_is_a_point(self):
        meter = trajectory.Meter(Line([1, 1, 1], [1, 1, 1]), 1, 3)
        trial = meter.start_at(None)
        with self.assertRaises(trajectory.BudgetSpent):
            [trial.advance() for _ in range(3)]
        self.assertEqual(meter.points, [(1, 9), (3, 9)])


if __name__ == "__main__":
    unittest.main()
