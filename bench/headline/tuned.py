"""Tuned on clusters of 3 nodes, 30 trials, 4 at a time: the published Hyperband, Winnow's default, all run through."""

import jobs
import models

SEEDS, SEEDS_ONE_BY_ONE = 10, 1  # one by one takes as long as all the rest of a seed
ONE_BY_ONE = "one after the other"


def test_auc(setting, split, model, rounds):
    return models.Model(model / "model.json").auc(setting.split(split)["test"], rounds)


def search(setting, kind, split, seed, nodes=jobs.NODES, parallel=jobs.PARALLEL):
    """(row, id): what it cost, and what the best trial's model, as it was at its best round, says of the test rows."""
    service = setting.service
    job = service.run(jobs.search(kind, setting.files.channels(split), seed, nodes, setting.few(jobs.TRIALS, 6),
                                  parallel))
    row = jobs.spent(job)
    model = service.download(job["id"], setting.work / "models" / job["id"])
    return {**row, "test": test_auc(setting, split, model, row["rounds_of_best"])}, job["id"]


def _read_otherwise(setting, split, job):
    """What the run-through job would have come to read in two other ways. "last round": of the trial whose last value
    is best, as that was, which is what a service has that keeps last values. "cut": of all, had each ended at the
    level at which the others do."""
    curves = {trial: of[jobs.METRIC] for trial, of in setting.service.curves(job).items()}
    last = max(curves, key=lambda trial: curves[trial][-1])
    cut = {trial: models.summary(curve[:jobs.MAX_RESOURCE]) for trial, curve in curves.items()}
    best = max(cut, key=lambda trial: cut[trial]["best"])

    def row(trial, rounds, spent):
        model = setting.service.model_on_this_host(job, trial)
        return {"validation": curves[trial][rounds - 1], "test": test_auc(setting, split, model, rounds),
                "rounds": spent}

    return {"last_round": row(last, len(curves[last]), sum(map(len, curves.values()))),
            "cut": row(best, cut[best]["best_round"], sum(len(curve[:jobs.MAX_RESOURCE]) for curve in curves.values()))}


def _same_trials(setting, short, long):
    """Whether both jobs tried the same configurations, and a trial that went less far reported the same values."""
    service = setting.service
    if jobs.configurations(service.trials(short)) != jobs.configurations(service.trials(long)):
        return False
    longer = service.curves(long)
    return all(curve[jobs.METRIC] == longer[trial][jobs.METRIC][:len(curve[jobs.METRIC])]
               for trial, curve in service.curves(short).items())


def said(kind, row):
    return f"{kind} {row['validation']:.4f} / {row['test']:.4f} in {row['elapsed']:.1f} s"


def run(setting, split):
    setting.warm(split)
    rows = {kind: [] for kind in (jobs.HYPERBAND, jobs.DEFAULT, jobs.THROUGH, ONE_BY_ONE)}
    for seed in setting.seeds(SEEDS):
        ids = {}
        for kind in (jobs.HYPERBAND, jobs.DEFAULT, jobs.THROUGH):
            row, ids[kind] = search(setting, kind, split, seed)
            rows[kind].append({"seed": seed, **row})
        through = rows[jobs.THROUGH][-1]
        through.update(_read_otherwise(setting, split, ids[jobs.THROUGH]))
        through["same_trials"] = _same_trials(setting, ids[jobs.HYPERBAND], ids[jobs.THROUGH])
        if seed <= SEEDS_ONE_BY_ONE:
            row, _ = search(setting, jobs.THROUGH, split, seed, parallel=1)
            rows[ONE_BY_ONE].append({"seed": seed, **row})
        setting.say(f"seed {seed}: " + ", ".join(said(kind, rows[kind][-1]) for kind in ids))
    return {"split": split, "rows": rows}
