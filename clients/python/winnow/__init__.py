"""Winnow's Python client. The manual is docs/python.md.

    import winnow

    def f(x, y):
        return (x - 2) ** 2 + (y + 1) ** 2

    result = winnow.tune(f, {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}, max_trials=50)
    print(result.best_params, result.best_value)
"""

from winnow.asking import Trial
from winnow.client import Client, connect, plan
from winnow.embedded import Server, serve
from winnow.errors import (AttemptLost, CallTimeout, FailedPrecondition, InvalidArgument, NotAuthenticated, NotFound,
                           NotPermitted, ServerError, ServerNotStarted, TrialPruned, Unavailable, Violation,
                           WinnowError)
from winnow.job import Job
from winnow.reading import Best, SchedulePart, TrialRecord
from winnow.simulating import Simulation, simulate
from winnow.spaces import Range, choice, discrete, integers, log_uniform, uniform
from winnow.tuning import Result, TuningFailed, tune

__all__ = [
    "AttemptLost", "Best", "CallTimeout", "Client", "FailedPrecondition", "InvalidArgument", "Job", "NotAuthenticated",
    "NotFound", "NotPermitted", "Range", "Result", "SchedulePart", "Server", "ServerError", "ServerNotStarted", "Simulation", "Trial",
    "TrialPruned", "TrialRecord", "TuningFailed", "Unavailable", "Violation", "WinnowError", "choice", "connect",
    "discrete", "integers", "log_uniform", "plan", "serve", "simulate", "tune", "uniform",
]
