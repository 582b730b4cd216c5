"""Optuna as its documentation shows it: report every level, ask whether to prune. A trial that is not pruned is told
its best value."""

import optuna

from trajectory import REDUCTION_FACTOR

optuna.logging.set_verbosity(optuna.logging.ERROR)


def suggest(trial, parameter):
    name = parameter.name
    if parameter.kind == "categorical":
        return trial.suggest_categorical(name, list(range(int(parameter.max) + 1)))
    if parameter.kind == "integer":
        return trial.suggest_int(name, int(parameter.min), int(parameter.max), log=parameter.log)
    return trial.suggest_float(name, parameter.min, parameter.max, log=parameter.log)


def parts(strategy, family, seed):
    """The sampler and the pruner."""
    samplers, pruners = optuna.samplers, optuna.pruners
    if strategy == "optuna-tpe":
        return samplers.TPESampler(seed=seed), pruners.NopPruner()
    if strategy == "optuna-tpe-hyperband":
        return samplers.TPESampler(seed=seed, multivariate=True), pruners.HyperbandPruner(
            min_resource=1, max_resource=family.max_resource, reduction_factor=REDUCTION_FACTOR)
    if strategy == "optuna-tpe-halving":
        return samplers.TPESampler(seed=seed), pruners.SuccessiveHalvingPruner(
            min_resource=1, reduction_factor=REDUCTION_FACTOR)
    return samplers.GPSampler(seed=seed), pruners.NopPruner()


def run(strategy, family, seed, meter):
    sampler, pruner = parts(strategy, family, seed)

    def objective(trial):
        trained = meter.start({each.name: suggest(trial, each) for each in family.parameters})
        for level in range(1, family.max_resource + 1):
            trial.report(trained.advance(), level)
            if trial.should_prune():
                raise optuna.TrialPruned
        return trained.best

    # The Hyperband pruner draws a trial's bracket from the study's name.
    study = optuna.create_study(study_name=f"{strategy}-{seed}", direction="maximize", sampler=sampler, pruner=pruner)
    study.optimize(objective)
