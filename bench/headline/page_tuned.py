"""The sections on tuning, on others with the same budget, and on the cluster's size as a question."""

import statistics

import intervals
import jobs
import others
import tuned
import verdicts
from tables import mean_range, percent, table, with_interval
from verdicts import column

TITLES = {jobs.HYPERBAND: "Hyperband as published (1 to 30 rounds)",
          jobs.DEFAULT: "Winnow's default strategy, 30 rounds at most",
          jobs.THROUGH: "the same trials as Hyperband's, each to its own num_round",
          tuned.ONE_BY_ONE: "the same, one after the other",
          others.OPTUNA: "Optuna TPE + HyperbandPruner, XGBoost hist"}


def _line(title, rows):
    return [title, len(rows), mean_range(column(rows, "validation"), 4), mean_range(column(rows, "test"), 4),
            mean_range(column(rows, "rounds"), 0), mean_range(column(rows, "node_seconds"), 1),
            mean_range(column(rows, "elapsed"), 1)]


HEADER = ["", "seeds", "best validation AUC", "test AUC of that model", "rounds trained", "node-seconds", "elapsed, s"]


def _also(rows):
    """Other readings of the run-through job, which cost nothing more to have."""
    def line(title, name):
        found = [row[name] for row in rows[jobs.THROUGH]]
        return [title, len(found), mean_range(column(found, "validation"), 4), mean_range(column(found, "test"), 4),
                mean_range(column(found, "rounds"), 0), "", ""]

    return [line("… chosen and used at the last round", "last_round"),
            line(f"… had all ended at round {jobs.MAX_RESOURCE}", "cut")]


def _savings(rows):
    def line(kind):
        found = verdicts.against_run_through(rows, kind)
        summed, measured = verdicts.against_one_by_one(rows, kind)
        return [TITLES[kind], percent(found["cost"]), percent(found["elapsed"]), percent(summed),
                percent(measured) if measured else "", with_interval(found["test"])]

    published = ["published", "-66 %", "-50 %", "", "", ""]
    wanted = ["wanted", "-80 %", "-65 %", "", "", "not lower"]
    return table(["change against the trials run through, mean [95 %]", "node-seconds", "elapsed",
                  "elapsed against the sum of their times", "elapsed against one after the other, measured",
                  "test AUC"], [line(jobs.DEFAULT), line(jobs.HYPERBAND), published, wanted])


def _verdict(rows, kind):
    found = verdicts.against_run_through(rows, kind)
    words = {"cost": f"node-seconds {100 * found['cost'][0]:.0f} %",
             "elapsed": f"elapsed {100 * found['elapsed'][0]:.0f} %",
             "test": f"test AUC {found['test'][0]:+.4f}"}
    said = [f"{words[goal]} ({verdict})" for goal, verdict in verdicts.goals(found).items()]
    return f"- {TITLES[kind]}: {', '.join(said)}."


def tuned_section(part, pictures):
    rows = part["rows"]
    units = {kind: statistics.fmean(column(rows[kind], "rounds")) for kind in rows}
    cut = statistics.fmean(row["cut"]["rounds"] for row in rows[jobs.THROUGH])
    same = sum(row["same_trials"] for row in rows[jobs.THROUGH])
    trials = [*(_line(TITLES[kind], rows[kind]) for kind in (jobs.HYPERBAND, jobs.DEFAULT, jobs.THROUGH)), *_also(rows),
              _line(TITLES[tuned.ONE_BY_ONE], rows[tuned.ONE_BY_ONE])]
    return [
        f"Clusters of {jobs.NODES} nodes, {jobs.PARALLEL} trials at a time, split {part['split']}, the post's ranges. "
        "The test AUC is that of the model file from the service, used as of its best round; the "
        "validation AUC is the one by which it was chosen, so it favours searches with more trials. An "
        "extra training beforehand, which does not count, has filled the trainers' data cache.", "",
        *table(HEADER, trials), "", *_savings(rows), "",
        f"![savings]({pictures['savings']})", "", f"![test AUC]({pictures['test-auc']})", "",
        "Wanted: node-seconds -80 %, elapsed -65 %, and a test AUC that is not lower:", "",
        _verdict(rows, jobs.DEFAULT), _verdict(rows, jobs.HYPERBAND), "", "How to read it:", "",
        f"- Of {units[jobs.THROUGH]:.0f} rounds run through, {cut:.0f} are left by ending every trial at round "
        f"{jobs.MAX_RESOURCE}, which is what a maximum of {jobs.MAX_RESOURCE} does to trials of 100 to 200 rounds. "
        f"Hyperband makes that {units[jobs.HYPERBAND]:.0f}, the default strategy {units[jobs.DEFAULT]:.0f}. The "
        "published saving is of the same kind.",
        "- All ranks share this machine's processors. Node-seconds are wall time times ranks, as a cloud would bill "
        "them, and longer the more ranks run at once; the sum of the trials' times is longer than they take one after "
        "the other for the same reason, so that was measured too.",
        "- The run-through job tried the same configurations and reported the same values, round by round, as "
        f"Hyperband's for {same} of {len(rows[jobs.THROUGH])} seeds."]


def others_section(part, pictures):
    rows = part["rows"]
    theirs = rows[others.OPTUNA]
    titles = {name: TITLES[name] if name == others.OPTUNA else f"Winnow, one node a trial: {TITLES[name]}"
              for name in rows}
    verdict = [[titles[name], percent(intervals.change(column(of, "elapsed"), column(theirs, "elapsed"))),
                percent(intervals.change(column(of, "elapsed"), column(theirs, "elapsed_without_start"))),
                with_interval(intervals.paired(column(of, "test"), column(theirs, "test")))]
               for name, of in rows.items() if name != others.OPTUNA]
    return [
        f"The same {max(row['trials'] for row in theirs)} trials of at most {jobs.MAX_RESOURCE} rounds, "
        f"the same rows and ranges, {jobs.PARALLEL} processes at a time with SQLite storage; XGBoost with one thread "
        "each and only its validation AUC measured (Winnow measures the training AUC too). Winnow here with one node "
        "a trial, as Optuna has it.", "",
        *table(HEADER, [_line(titles[name], of) for name, of in rows.items()]), "",
        *table(["against Optuna, mean [95 %]", "elapsed", "elapsed, without Optuna's start and reading", "test AUC"],
               verdict), "",
        f"![test AUC by elapsed time]({pictures['others']})"]


def _compare(title, told):
    """What `winnow compare` says; an asterisk marks the Pareto front."""
    rows = [[f"{row['nodes']}{' *' if row['pareto'] else ''}", f"{row['best_objective']:.4f}",
             f"{row['elapsed_seconds']:.2f}", f"{row['node_seconds']:.2f}", row["trials"]] for row in told["rows"]]
    return ["", *table([title, "best validation AUC", "elapsed, s", "node-seconds", "trials"], rows)]


def sizes_section(part, pictures):
    best = min(part["trainings"]["rows"], key=lambda row: row["elapsed_seconds"])
    return [
        "As shown by `winnow compare`; an asterisk marks the Pareto front: no other row is as good in all three and better in one.",
        *_compare("four configurations, one training at a time: nodes", part["trainings"]),
        *_compare("one search by the default strategy, `nodes` among its ranges", part["search"]),
        *_compare("the published tuning job, once for each size", part["tuning jobs"]), "",
        f"![elapsed and node-seconds by nodes]({pictures['sizes']})", "",
        "The AUC does not depend on the number of nodes, so only time and cost matter: here "
        f"{best['nodes']} node{'s are' if int(best['nodes']) > 1 else ' is'} fastest. In the search the groups differ "
        "in their configurations too."]
