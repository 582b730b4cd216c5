#!/usr/bin/env python3
"""bench/search/startup.py: medians at equal time, and whether the default is within 10 % of the best."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/search"))

import startup


def lines(strategy, *runs):
    return [f"{strategy},branin,{seed},{spent},{regret}" for seed, run in enumerate(runs, 1) for spent, regret in run]


class StartupTest(unittest.TestCase):
    def test_the_median_is_that_of_the_newest_incumbents(self):
        found = startup.medians(lines("asha", [(3, 9), (40, 5), (81, 1)], [(40, 4), (41, 6)], [(30, 7)]), 10)
        self.assertEqual(found, [5, 6, 6, 6, 6])

    def test_a_run_without_a_report_yet_has_no_end_of_regret(self):
        self.assertEqual(startup.medians(lines("asha", [(50, 2)]), 10), [float("inf"), 2, 2, 2, 2])

    def test_the_default_is_held_against_the_best_of_all(self):
        text = "\n".join(startup.table(10, "branin", {"default": [1, 1.1, 1.2, 0, 1], "asha": [1, 1, 1, 1, 0]}))
        self.assertIn("| default within 10 % of the best | yes, 1.00 | yes, 1.10 | NO, 1.20 | yes, both 0 | NO, best 0 |", text)


if __name__ == "__main__":
    unittest.main()
