"""Plays other tuners on the problems of bench-fronts, and ranks them beside Winnow's default by the hypervolume found:

    bench/search/fronts_peers.py --build build/bin --problems zdt1,zdt2,branin_currin,dtlz2 --seeds 3 --multiples 8,16,32

Peers: Optuna's TPE and NSGA-II (trials run through, as it demands of several objectives), its GP where its release has
one, and Syne Tune's MOASHA, which stops trials at rungs. Optuna and Syne Tune are looked for on PYTHONPATH. bench-fronts
trains for all of them (--serve) and counts their units; Winnow and random search, with one and four times the units, are
played by it directly. Prints the median of the missing share of the hypervolume over seeds, and the mean rank at each
budget."""

import argparse
import pathlib
import statistics
import subprocess
import sys

RUNGS = 3  # reduction factor, as Winnow's default


class Spent(Exception):
    """The largest budget is used up."""


class Problem:
    """A running bench-fronts --serve."""

    def __init__(self, program, name, multiples):
        self.process = subprocess.Popen([program, "--serve", name, "--multiples", multiples], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.levels, self.objectives = map(int, self.process.stdout.readline().split())
        self.parameters = []
        for line in iter(self.process.stdout.readline, "\n"):
            name, kind, least, most, log = line.split()
            self.parameters.append((name, kind, float(least), float(most), log == "1"))
        self.missing = None

    def train(self, trial, level, unit):
        """The values at the level."""
        self.process.stdin.write(f"{trial} {level} {' '.join(map(repr, unit))}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if answer[0] == "end":
            self.missing = list(map(float, answer[1:]))
            self.process.wait()
            raise Spent
        return list(map(float, answer))


def cells(parameter):
    """How many values it has; 0: any number."""
    _, kind, least, most, log = parameter
    return 0 if kind == "continuous" or log else int(most - least) + 1


def optuna_peer(make_sampler):
    def play(problem, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial):
            unit = []
            for parameter in problem.parameters:
                name, kind, count = parameter[0], parameter[1], cells(parameter)
                if kind == "categorical":
                    unit.append((trial.suggest_categorical(name, list(range(count))) + 0.5) / count)
                elif count:
                    unit.append((trial.suggest_int(name, 0, count - 1) + 0.5) / count)
                else:
                    unit.append(trial.suggest_float(name, 0, 1))  # the unit cube: logarithms are taken already
            return problem.train(trial.number, problem.levels, unit)

        study = optuna.create_study(directions=["minimize"] * problem.objectives, sampler=make_sampler(optuna, seed))
        study.optimize(objective)
    return play


def moasha(problem, seed):
    from syne_tune import config_space
    from syne_tune.optimizer.schedulers.multiobjective.moasha import MOASHA
    from syne_tune.backend.trial_status import Trial
    import datetime

    space = {}
    for parameter in problem.parameters:
        count = cells(parameter)
        if parameter[1] == "categorical":
            space[parameter[0]] = config_space.choice(list(range(count)))
        else:
            space[parameter[0]] = config_space.randint(0, count - 1) if count else config_space.uniform(0, 1)
    metrics = [f"f{i}" for i in range(problem.objectives)]
    scheduler = MOASHA(space, metrics=metrics, time_attr="level", max_t=problem.levels, grace_period=1,
                       reduction_factor=RUNGS, random_seed=seed)
    number = 0
    while True:
        suggestion = scheduler.suggest()
        trial = Trial(trial_id=number, config=suggestion.config, creation_time=datetime.datetime(2000, 1, 1))
        scheduler.on_trial_add(trial)
        unit = [(suggestion.config[p[0]] + 0.5) / cells(p) if cells(p) else suggestion.config[p[0]]
                for p in problem.parameters]
        for level in range(1, problem.levels + 1):
            values = problem.train(number, level, unit)
            result = dict(zip(metrics, values), level=level)
            if level == problem.levels:
                scheduler.on_trial_complete(trial, result)
            elif scheduler.on_trial_result(trial, result) != "CONTINUE":
                scheduler.on_trial_remove(trial)
                break
        number += 1


PEERS = {
    "optuna-tpe": optuna_peer(lambda optuna, seed: optuna.samplers.TPESampler(seed=seed)),
    "optuna-nsga2": optuna_peer(lambda optuna, seed: optuna.samplers.NSGAIISampler(seed=seed, population_size=10)),
    "optuna-gp": optuna_peer(lambda optuna, seed: optuna.samplers.GPSampler(seed=seed)),
    "moasha": moasha,
}


def shares_of_peer(program, peer, name, multiples, seed):
    problem = Problem(program, name, multiples)
    try:
        PEERS[peer](problem, seed)
    except Spent:
        return problem.missing
    finally:
        problem.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--problems", default="zdt1,zdt2,branin_currin,dtlz2")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--multiples", default="8,16,32")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    program = given.build / "bench-fronts"
    budgets = list(map(float, given.multiples.split(",")))
    peers = given.peers.split(",")
    missing = {}  # (problem, budget, tuner) -> a share for each seed
    for name in given.problems.split(","):
        lines = subprocess.run([program, "--problems", name, "--strategies", "default", "--multiples", given.multiples,
                                "--seeds", str(given.seeds), "--csv"], capture_output=True, text=True, check=True)
        for line in lines.stdout.splitlines():
            *_, tuner, multiple, _, share = line.rsplit(",", 4)
            missing.setdefault((name, float(multiple), tuner), []).append(float(share))
        for peer in peers:
            for seed in range(1, given.seeds + 1):
                for budget, share in zip(budgets, shares_of_peer(program, peer, name, given.multiples, seed)):
                    missing.setdefault((name, budget, peer), []).append(share)
        print(f"{name} is done", file=sys.stderr)
    tuners = ["default", *peers, "random", "random 4x"]
    ranks = {}
    print(f"{'problem':<28}{'multiple':>9}" + "".join(f"{tuner:>14}" for tuner in tuners))
    for name in given.problems.split(","):
        for budget in budgets:
            medians = {tuner: statistics.median(missing[name, budget, tuner]) for tuner in tuners}
            print(f"{'+'.join(pathlib.Path(part).name.split('.')[0] for part in name.split('+'))[:27]:<28}{budget:>9g}"
                  + "".join(f"{medians[tuner]:>14.4f}" for tuner in tuners))
            for tuner in tuners:
                better = sum(other < medians[tuner] for other in medians.values())
                equal = sum(other == medians[tuner] for other in medians.values())
                ranks.setdefault((budget, tuner), []).append(better + (equal + 1) / 2)
    for budget in budgets:
        print(f"{'mean rank':<28}{budget:>9g}" + "".join(f"{statistics.mean(ranks[budget, tuner]):>14.2f}"
                                                       for tuner in tuners))


if __name__ == "__main__":
    main()
