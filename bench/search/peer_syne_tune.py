"""Syne Tune (0.13: the last release with all three as baselines): ASHA that stops, synchronous Hyperband and synchronous
BOHB, each with all other settings as they come. Its tuner is left out: one worker asks the scheduler and tells it."""

import contextlib
import datetime
import io
import logging

logging.disable(logging.INFO)
with contextlib.redirect_stdout(io.StringIO()):  # it prints what else could be installed
    from syne_tune import config_space
    from syne_tune.backend.trial_status import Trial
    from syne_tune.optimizer import baselines
    from syne_tune.optimizer.scheduler import SchedulerDecision

from trajectory import REDUCTION_FACTOR


def domain(parameter):
    if parameter.kind == "categorical":
        return config_space.choice(list(range(int(parameter.max) + 1)))
    if parameter.kind == "integer":
        make = config_space.lograndint if parameter.log else config_space.randint
        return make(int(parameter.min), int(parameter.max))
    return (config_space.loguniform if parameter.log else config_space.uniform)(parameter.min, parameter.max)


def scheduler_of(strategy, family, seed):
    space = {parameter.name: domain(parameter) for parameter in family.parameters}
    common = {"metric": "value", "mode": "max", "resource_attr": "level", "grace_period": 1,
              "reduction_factor": REDUCTION_FACTOR, "random_seed": seed}
    if strategy == "syne-asha":
        return baselines.ASHA(space, max_t=family.max_resource, **common)
    make = baselines.SyncHyperband if strategy == "syne-hyperband" else baselines.SyncBOHB
    return make(space, max_resource_level=family.max_resource, **common)


def run(strategy, family, seed, meter):
    scheduler = scheduler_of(strategy, family, seed)
    known = {}  # number -> (Trial, what is trained)
    while True:
        suggestion = scheduler.suggest(trial_id=len(known))
        if suggestion.spawn_new_trial_id:
            number = len(known)
            trial = Trial(trial_id=number, config=suggestion.config, creation_time=datetime.datetime(2000, 1, 1))
            known[number] = trial, meter.start(suggestion.config)
            scheduler.on_trial_add(trial)
        trial, trained = known[number if suggestion.spawn_new_trial_id else suggestion.checkpoint_trial_id]
        decision = SchedulerDecision.CONTINUE
        while decision == SchedulerDecision.CONTINUE and trained.level < family.max_resource:
            result = {"value": trained.advance(), "level": trained.level}
            decision = scheduler.on_trial_result(trial, result)
        if decision == SchedulerDecision.CONTINUE:
            scheduler.on_trial_complete(trial, result)
        else:
            scheduler.on_trial_remove(trial)
