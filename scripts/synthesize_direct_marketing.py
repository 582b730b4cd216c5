#!/usr/bin/env python3
"""Generates a stand-in for bank-additional-full.csv where the real one cannot be had.

Same columns, separators, quotes and number of rows; the frequency of each level and of each month's economic
figures as in the real data; the answer is drawn from a logistic model, so that it can be learned about as well
as the real one (AUC near 0.78 without the call's duration and the economic columns, well above 0.9 with them).
No row is a real person's. The same seed gives the same bytes.
"""

import argparse
import bisect
import itertools
import math
import os
import random
import sys

ROWS = 41188

HEADER = [
    "age", "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "duration",
    "campaign", "pdays", "previous", "poutcome", "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m",
    "nr.employed", "y",
]  # fmt: skip
QUOTED = {"job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "poutcome",
          "y"}  # fmt: skip

# Rows of the real data with each level.
LEVELS = {
    "job": {"admin.": 10422, "blue-collar": 9254, "entrepreneur": 1456, "housemaid": 1060, "management": 2924,
            "retired": 1720, "self-employed": 1421, "services": 3969, "student": 875, "technician": 6743,
            "unemployed": 1014, "unknown": 330},
    "marital": {"divorced": 4612, "married": 24928, "single": 11568, "unknown": 80},
    "education": {"basic.4y": 4176, "basic.6y": 2292, "basic.9y": 6045, "high.school": 9515, "illiterate": 18,
                  "professional.course": 5243, "university.degree": 12168, "unknown": 1731},
    "default": {"no": 32588, "unknown": 8597, "yes": 3},
    "housing": {"no": 18622, "unknown": 990, "yes": 21576},
    "loan": {"no": 33950, "unknown": 990, "yes": 6248},
    "day_of_week": {"fri": 7827, "mon": 8514, "thu": 8623, "tue": 8090, "wed": 8134},
    "previous": {0: 35563, 1: 4561, 2: 754, 3: 216, 4: 70, 5: 18, 6: 5, 7: 1},
    "campaign": {1: 17642, 2: 10570, 3: 5341, 4: 2651, 5: 1599, 6: 979, 7: 629, 8: 400, 9: 283, 10: 225, 11: 177,
                 12: 125, 14: 250, 20: 200, 30: 90, 42: 27},
    "pdays": {0: 15, 1: 26, 2: 61, 3: 439, 4: 118, 5: 46, 6: 412, 7: 60, 9: 64, 10: 52, 12: 58, 13: 36, 15: 24,
              18: 7, 22: 3},
}  # fmt: skip

# Mean and deviation of the age by job.
AGES = {"housemaid": (45.5, 10.8), "services": (37.9, 9.0), "admin.": (38.2, 8.9), "blue-collar": (39.6, 8.8),
        "technician": (38.5, 8.7), "retired": (62.0, 10.5), "management": (42.4, 9.3), "unemployed": (39.7, 9.3),
        "self-employed": (39.9, 9.4), "unknown": (45.6, 11.1), "entrepreneur": (41.7, 8.9),
        "student": (25.9, 5.0)}  # fmt: skip

# month, emp.var.rate, cons.price.idx, cons.conf.idx, nr.employed, mean euribor3m: rows.
ECONOMY = {
    ("apr", "-1.8", "93.075", "-47.1", "5099.1", 1.43): 2458, ("apr", "-1.8", "93.749", "-34.6", "5008.7", 0.65): 174,
    ("aug", "-1.7", "94.027", "-38.3", "4991.6", 0.9): 233, ("aug", "-2.9", "92.201", "-31.4", "5076.2", 0.86): 770,
    ("aug", "1.4", "93.444", "-36.1", "5228.1", 4.964): 5175, ("dec", "-0.2", "92.756", "-45.9", "5176.3", 3.2): 10,
    ("dec", "-3", "92.713", "-33", "5023.5", 0.71): 172, ("jul", "-1.7", "94.215", "-40.3", "4991.6", 0.83): 311,
    ("jul", "-2.9", "92.469", "-33.6", "5076.2", 1.06): 178, ("jul", "1.4", "93.918", "-42.7", "5228.1", 4.961): 6685,
    ("jun", "-1.7", "94.055", "-39.8", "4991.6", 0.75): 229, ("jun", "-2.9", "92.963", "-40.8", "5076.2", 1.25): 715,
    ("jun", "1.4", "94.465", "-41.8", "5228.1", 4.93): 4374, ("mar", "-1.8", "92.843", "-50", "5099.1", 1.7): 282,
    ("mar", "-1.8", "93.369", "-34.8", "5008.7", 0.65): 264, ("may", "-1.8", "92.893", "-46.2", "5099.1", 1.29): 5794,
    ("may", "-1.8", "93.876", "-40", "5008.7", 0.68): 212, ("may", "1.1", "93.994", "-36.4", "5191", 4.857): 7763,
    ("nov", "-0.1", "93.2", "-42", "5195.8", 4.1): 3616, ("nov", "-1.1", "94.767", "-50.8", "4963.6", 1.04): 128,
    ("nov", "-3.4", "92.649", "-30.1", "5017.5", 0.72): 357, ("oct", "-0.1", "93.798", "-40.4", "5195.8", 4.8): 67,
    ("oct", "-1.1", "94.601", "-49.5", "4963.6", 1.04): 204, ("oct", "-3.4", "92.431", "-26.9", "5017.5", 0.74): 447,
    ("sep", "-1.1", "94.199", "-37.5", "4963.6", 0.88): 303, ("sep", "-3.4", "92.379", "-29.8", "5017.5", 0.76): 267,
}  # fmt: skip
CELLULAR = {"may": 0.401, "jun": 0.154, "jul": 0.85, "aug": 0.956, "oct": 0.784, "nov": 0.896, "dec": 0.819,
            "mar": 0.89, "apr": 0.929, "sep": 0.846}  # fmt: skip

# The model of the answer: additive terms of its logit.
MONTH_EFFECT = {"mar": 1.9, "dec": 1.6, "sep": 1.4, "oct": 1.5, "apr": 0.55, "jun": 0.55, "aug": -0.1, "jul": -0.1,
                "nov": -0.2, "may": -0.5}  # fmt: skip
JOB_EFFECT = {"student": 0.5, "retired": 0.35, "admin.": 0.15, "blue-collar": -0.25, "services": -0.15}


class Chooser:
    """Draws values in proportion to their counts."""

    def __init__(self, counts):
        self.values = list(counts)
        self.sums = list(itertools.accumulate(counts.values()))

    def draw(self, rng):
        return self.values[bisect.bisect_right(self.sums, rng.random() * self.sums[-1])]


def logit(row, weak_economy):
    """The log-odds of "yes", the call's duration left out; an interaction is in it, for trees to find."""
    value = MONTH_EFFECT[row["month"]] + JOB_EFFECT.get(row["job"], 0)
    value += 0.55 if row["contact"] == "cellular" else -0.35
    value += {"success": 1.9, "failure": 0.1, "nonexistent": 0.0}[row["poutcome"]]
    value -= 0.3 if row["default"] == "unknown" else 0
    value -= 0.05 * min(row["campaign"], 12)
    value += 0.00065 * (row["age"] - 42) ** 2
    value += {"university.degree": 0.1, "basic.9y": -0.1}.get(row["education"], 0)
    value -= 0.2 if row["day_of_week"] == "mon" else 0
    value += 0.4 if row["contact"] == "cellular" and row["month"] == "may" else 0
    return value + (1.0 if weak_economy else -0.45)


def synthesize(rows, seed):
    """`rows` rows, each a dict of the columns in HEADER."""
    rng = random.Random(seed)
    choosers = {name: Chooser(counts) for name, counts in LEVELS.items()}
    economies = Chooser(ECONOMY)
    table = []
    for number in range(rows):
        row = {name: choosers[name].draw(rng) for name in LEVELS if name != "pdays"}
        for name in LEVELS:  # every level occurs, however rare: the first rows hold them all
            if name not in ("previous", "campaign", "pdays") and number < len(LEVELS[name]):
                row[name] = list(LEVELS[name])[number]
        mean, deviation = AGES[row["job"]]
        row["age"] = min(98, max(17, round(rng.gauss(mean, deviation))))
        month, rate, price, confidence, employed, euribor = economies.draw(rng)
        if number < len(ECONOMY):
            month, rate, price, confidence, employed, euribor = list(ECONOMY)[number]
        row.update({"month": month, "emp.var.rate": rate, "cons.price.idx": price, "cons.conf.idx": confidence,
                    "nr.employed": employed, "euribor3m": f"{max(0.634, rng.gauss(euribor, 0.03)):.3f}".rstrip("0")})
        row["contact"] = "cellular" if rng.random() < CELLULAR[month] else "telephone"
        called_before = row["previous"] > 0
        recently = called_before and rng.random() < 0.27
        row["pdays"] = choosers["pdays"].draw(rng) if recently else 999
        row["poutcome"] = "nonexistent"
        if called_before:
            row["poutcome"] = "success" if recently and rng.random() < 0.906 else "failure"
        weak_economy = float(employed) < 5150
        yes = rng.random() < 1 / (1 + math.exp(2.85 - 1.1 * logit(row, weak_economy)))
        mean, deviation = (6.07, 0.71) if yes else (5.05, 0.89)
        row["duration"] = min(4918, int(math.exp(rng.gauss(mean, deviation))))
        row["y"] = "yes" if yes else "no"
        table.append(row)
    return table


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the file to write")
    parser.add_argument("--rows", type=int, default=ROWS, help="at least 1000 (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1729)
    options = parser.parse_args(arguments)
    if options.rows < 1000:
        parser.error(f"--rows is {options.rows}; expected at least 1000")
    lines = [";".join(f'"{name}"' for name in HEADER)]
    for row in synthesize(options.rows, options.seed):
        lines.append(";".join(f'"{row[name]}"' if name in QUOTED else str(row[name]) for name in HEADER))
    unfinished = f"{options.output}.{os.getpid()}"
    try:
        with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(unfinished, options.output)
    except OSError as error:
        print(f"synthesize_direct_marketing: {options.output}: cannot be written: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
