"""What the tuned part says, in numbers: savings and differences, paired over seeds."""

import intervals
import jobs
import tuned

COST_GOAL, ELAPSED_GOAL = -0.80, -0.65
PUBLISHED_COST, PUBLISHED_ELAPSED = -0.66, -0.50


def column(rows, name):
    return [row[name] for row in rows]


def against_run_through(rows, kind):
    """Of one way to search: {"cost", "elapsed", "test", "validation": (mean, low, high)}."""
    ours, theirs = rows[kind], rows[jobs.THROUGH]
    return {"cost": intervals.change(column(ours, "node_seconds"), column(theirs, "node_seconds")),
            "elapsed": intervals.change(column(ours, "elapsed"), column(theirs, "elapsed")),
            "test": intervals.paired(column(ours, "test"), column(theirs, "test")),
            "validation": intervals.paired(column(ours, "validation"), column(theirs, "validation"))}


def against_one_by_one(rows, kind):
    """Elapsed time against that of the same trials one after the other: (summed from the run-through job's trials, as
    they were 4 at a time; measured, for the seeds for which that was run, or None)."""
    summed = intervals.change(column(rows[kind], "elapsed"), column(rows[jobs.THROUGH], "training"))
    alone = {row["seed"]: row["elapsed"] for row in rows[tuned.ONE_BY_ONE]}
    ours = [row for row in rows[kind] if row["seed"] in alone]
    measured = intervals.change(column(ours, "elapsed"), [alone[row["seed"]] for row in ours]) if ours else None
    return summed, measured


REACHED, MISSED, UNSURE = "reached", "NOT reached", "lower, but not by more than chance allows"


def goals(found):
    """{goal: REACHED, MISSED or UNSURE} of against_run_through. UNSURE: a mean test AUC that is lower, while its
    interval holds 0."""
    def reached(met):
        return REACHED if met else MISSED

    mean, _, high = found["test"]
    return {"cost": reached(found["cost"][0] <= COST_GOAL), "elapsed": reached(found["elapsed"][0] <= ELAPSED_GOAL),
            "test": UNSURE if mean < 0 <= high else reached(mean >= 0)}
