"""What is trained: the published settings, what collapses at them, and what is said to help."""

import dataclasses
import fnmatch

# 784-128-64-10, ReLU, Xavier initialisation, batches of 100, SGD; pixels from 0 to 1.
PUBLISHED = {"hidden_layers": "128,64", "activation": "relu", "weight_init": "glorot", "standardise": False,
             "batch_size": 100, "optimizer": "sgd", "learning_rate": 0.1, "momentum": 0.9}
# Each rank's batch of 100, where batch_size is that of all ranks together.
EACH_100 = {"batch_scaling": "LINEAR"}

ONE, ASYNCHRONOUS, CURE, AVERAGED, IN_STEP = "one", "asynchronous", "cure", "averaged", "in step"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # for --only
    title: str
    kind: str
    ranks: int
    changes: dict  # of PUBLISHED

    @property
    def full_title(self):
        return f"PARAMETER_SERVER, {self.title}" if self.kind == CURE else self.title

    def hyperparameters(self, epochs, seed):
        return {**PUBLISHED, **self.changes, "epochs": epochs, "seed": seed}


def _server(name, title, kind, ranks, **changes):
    return Case(name, title, kind, ranks, {"distribution": "PARAMETER_SERVER", **changes})


def _cure(name, title, **changes):
    return _server(name, title, CURE, 4, **changes)


def _local(steps):
    return Case(f"local-{steps}", f"LOCAL_SGD, averaged every {steps} step{'s' * (steps > 1)}", AVERAGED, 4,
                {"distribution": "LOCAL_SGD", "local_steps": steps, **EACH_100})


ONE_WORKER, COLLAPSE, ALL_REDUCE = "one-worker", "async-4", "all-reduce"
CASES = [
    Case(ONE_WORKER, "one worker", ONE, 1, {}),
    _server("async-2", "PARAMETER_SERVER", ASYNCHRONOUS, 2),
    _server(COLLAPSE, "PARAMETER_SERVER: the collapse", ASYNCHRONOUS, 4),
    _server("async-8", "PARAMETER_SERVER", ASYNCHRONOUS, 8),
    _cure("momentum-0", "momentum 0", momentum=0),
    _cure("momentum-0.6", "momentum 0.6", momentum=0.6),
    _cure("momentum-correction", "implicit_momentum_correction 1", implicit_momentum_correction=1),
    _cure("rate-0.01", "learning_rate 0.01", learning_rate=0.01),
    _cure("rate-0.02", "learning_rate 0.02", learning_rate=0.02),
    _cure("staleness-aware", "staleness_aware", staleness_aware=True),
    _cure("clip-0.25", "clip_norm 0.25", clip_norm=0.25),
    _cure("clip-1", "clip_norm 1", clip_norm=1),
    _cure("bound-0", "staleness_bound 0", staleness_bound=0),
    _cure("bound-1", "staleness_bound 1", staleness_bound=1),
    _cure("delay-compensation", "delay_compensation 2", delay_compensation=2),
    _cure("warm-up", "warmup_epochs 1", warmup_epochs=1),
    _local(1),
    _local(8),
    _local(32),
    Case(ALL_REDUCE, "ALL_REDUCE, batch 100 of all", IN_STEP, 4, {"distribution": "ALL_REDUCE"}),
    Case("linear", "ALL_REDUCE, batch 400", IN_STEP, 4, {"distribution": "ALL_REDUCE", **EACH_100}),
    Case("linear-scaled", "ALL_REDUCE, batch 400, rate x 4, warm-up", IN_STEP, 4,
         {"distribution": "ALL_REDUCE", **EACH_100, "scale_learning_rate": True, "warmup_epochs": 2}),
    Case("zero", "ZERO, batch 100 of all", IN_STEP, 4, {"distribution": "ZERO"}),
    Case("pipeline", "PIPELINE, batch 100 of all", IN_STEP, 4, {"distribution": "PIPELINE"}),
]


def chosen(patterns):
    """Cases whose name one of the comma-separated patterns matches; all if there are none."""
    wanted = [pattern for pattern in patterns.split(",") if pattern]
    for pattern in wanted:
        if not fnmatch.filter([case.name for case in CASES], pattern):
            raise SystemExit(f"--only {pattern}: expected some of {', '.join(case.name for case in CASES)}")
    return [case for case in CASES
            if not wanted or any(fnmatch.fnmatchcase(case.name, pattern) for pattern in wanted)]
