#!/usr/bin/env python3
"""bench/search/judge.py: medians, what a regret is worth in random search, and the verdict on the default."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/search"))

import judge


def runs(*seeds):
    lines = (f"any,{seed},{spent},{regret}" for seed, run in enumerate(seeds, 1) for spent, regret in run)
    return judge.runs_of(lines, 10)


class JudgeTest(unittest.TestCase):
    def test_the_median_is_that_of_the_newest_incumbents(self):
        three = runs([(3, 9), (40, 5)], [(20, 4), (41, 6)], [(30, 7)])
        self.assertEqual([three.median(m) for m in (2, 4, 8)], [9, 5, 6])

    def test_reach_is_the_first_budget_with_the_regret(self):
        one = runs([(10, 5), (60, 2), (90, 1)])
        self.assertEqual([one.reach(regret) for regret in (5, 3, 1, 0.5)], [1, 6, 9, None])

    def test_the_default_is_held_against_the_better_rival_at_each_budget(self):
        found = {"hills": {"default": runs([(1, 1.0), (80, 0.6)]), "asha": runs([(1, 1.0), (80, 0.5)]),
                           "bayesian": runs([(1, 2.0)]), "random": runs([(1, 3.0), (160, 1.0)])}}
        text = "\n".join(judge.tell(found, ["default", "asha", "bayesian"], [4, 8]))
        self.assertIn("| hills | default | 1 (1.00) | 0.6 (**1.20**) | 4.0 / > 32.0 |", text)
        self.assertIn("1 of 2 cells; worse than random search: 0.", text)

    def test_regrets_of_nothing_are_equal(self):
        self.assertEqual(judge.ratio(0, 0), "1.00")


if __name__ == "__main__":
    unittest.main()
