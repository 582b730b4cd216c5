"""XGBoost on this process's rows, and what its models say of test rows: winnow-gbdt's models are XGBoost's."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before libgomp is loaded: ranks share processors

import numpy  # noqa: E402
import xgboost  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

import jobs  # noqa: E402

xgboost.set_config(verbosity=0)
DIGITS = 6


def untuned(rows, labels, weights, watched, method, seed, rounds):
    """Trains the post's estimator. `watched`: {name: (rows, labels)}. {name: its AUC after each round}."""
    parameters = {**jobs.UNTUNED, "tree_method": method, "nthread": 1, "seed": seed}
    train = xgboost.DMatrix(rows, labels, weight=weights, nthread=1)
    watch = [(train, "train")] + [(xgboost.DMatrix(*both, nthread=1), name) for name, both in watched.items()]
    curves = {}
    xgboost.train(parameters, train, rounds, evals=watch, evals_result=curves, verbose_eval=False)
    return {name: [round(value, DIGITS) for value in metrics["auc"]] for name, metrics in curves.items()}


def watched(parts):
    return {name: (parts[name].features, parts[name].labels) for name in ("validation", "test")}


class Model:
    def __init__(self, path):
        self.booster = xgboost.Booster({"nthread": 1}, model_file=str(path))

    def auc(self, part, rounds):
        """With its first so many rounds."""
        return self._aucs(part, [rounds])[0]

    def curve(self, part):
        """After each round."""
        counts = range(1, self.booster.num_boosted_rounds() + 1)
        return [round(auc, DIGITS) for auc in self._aucs(part, counts)]

    def _aucs(self, part, counts):
        # winnow-gbdt's models name their features, in the order of the columns.
        rows = xgboost.DMatrix(part.features, nthread=1, feature_names=self.booster.feature_names)
        return [float(roc_auc_score(part.labels, self.booster.predict(rows, iteration_range=(0, count))))
                for count in counts]


def summary(curve):
    """Of a learning curve: the last value, the best and its round, the mean over all rounds."""
    best = int(numpy.argmax(curve))
    return {"last": curve[-1], "best": curve[best], "best_round": best + 1, "mean": float(numpy.mean(curve))}
