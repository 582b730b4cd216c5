"""The data sets, objectives and metrics of parity.py."""

import os
import pathlib
import subprocess
import sys

import numpy
import pandas
import scipy.sparse
from sklearn import datasets, metrics

ROOT = pathlib.Path(__file__).resolve().parents[2]
TWEEDIE_POWER = 1.5  # XGBoost's default


class Rows:
    """table: an array, or a sparse matrix in which what is absent is missing. groups: rows of each query, in order; None
    where the data has no queries."""

    def __init__(self, table, label, groups=None):
        self.table, self.label, self.groups = table, label, groups


def pseudo_huber(label, predicted):
    return float(numpy.mean(numpy.sqrt(1 + (label - predicted) ** 2) - 1))


def ndcg(rows, predicted):
    """Mean over the queries, gains 2^relevance - 1, all positions; ties share their gains."""
    begin, values = 0, []
    for count in rows.groups:
        part = slice(begin, begin + count)
        begin += count
        if rows.label[part].max() > 0 and count > 1:
            values.append(metrics.ndcg_score([2 ** rows.label[part] - 1], [predicted[part]]))
    return float(numpy.mean(values))


def multi_logloss(label, predicted):
    predicted = predicted / predicted.sum(axis=1, keepdims=True)
    return metrics.log_loss(label, predicted, labels=range(predicted.shape[1]))


def rmsle(label, predicted):
    return float(numpy.mean((numpy.log1p(numpy.maximum(predicted, 0)) - numpy.log1p(label)) ** 2) ** 0.5)


def multi_error(label, predicted):
    classes = predicted if predicted.ndim == 1 else predicted.argmax(axis=1)
    return float(numpy.mean(classes != label))


# name: function of labels and predictions; the share of XGBoost's value (or the absolute number) that is no difference.
METRICS = {
    "auc": (metrics.roc_auc_score, 0.004, True),
    "logloss": (lambda y, p: metrics.log_loss(y, numpy.clip(p, 1e-7, 1 - 1e-7)), 0.01, False),
    "error": (lambda y, p: float(numpy.mean((p > 0.5) != y)), 0.005, True),
    "rmse": (lambda y, p: metrics.mean_squared_error(y, p) ** 0.5, 0.01, False),
    "mae": (metrics.mean_absolute_error, 0.01, False),
    "rmsle": (rmsle, 0.01, False),
    "mphe": (pseudo_huber, 0.01, False),
    "poisson-deviance": (lambda y, p: metrics.mean_poisson_deviance(y, numpy.maximum(p, 1e-9)), 0.01, False),
    "gamma-deviance": (lambda y, p: metrics.mean_gamma_deviance(y, numpy.maximum(p, 1e-9)), 0.01, False),
    "tweedie-deviance": (lambda y, p: metrics.mean_tweedie_deviance(y, numpy.maximum(p, 1e-9), power=TWEEDIE_POWER),
                         0.01, False),
    "pinball-0.8": (lambda y, p: metrics.mean_pinball_loss(y, p, alpha=0.8), 0.01, False),
    "mlogloss": (multi_logloss, 0.01, False),
    "merror": (multi_error, 0.005, True),
    "ndcg": (None, 0.01, True),  # XGBoost 1.7 draws pairs; 2.0 and winnow-gbdt take those with a query's first rows
}
LARGER_IS_BETTER = ("auc", "ndcg")


class Case:
    """since: XGBoost's main version that has the objective."""

    def __init__(self, name, rows, objective, metric, since=1, **parameters):
        self.name, self.rows, self.objective, self.metric, self.parameters = name, rows, objective, metric, parameters
        self.since = since
        self.function, self.tolerance, self.absolute = METRICS[metric]

    def split(self, seed):
        """A quarter of the rows, or of the queries, to validate on."""
        rng = numpy.random.default_rng(seed)
        rows = self.rows
        if rows.groups is None:
            order = rng.permutation(len(rows.label))
            cut = len(order) * 3 // 4
            return tuple(Rows(rows.table[part], rows.label[part]) for part in (order[:cut], order[cut:]))
        begins = numpy.concatenate([[0], numpy.cumsum(rows.groups)])
        order = rng.permutation(len(rows.groups))
        cut = len(order) * 3 // 4
        parts = []
        for queries in (order[:cut], order[cut:]):
            index = numpy.concatenate([numpy.arange(begins[q], begins[q + 1]) for q in queries])
            parts.append(Rows(rows.table[index], rows.label[index], numpy.array(rows.groups)[queries]))
        return tuple(parts)

    def judge(self, rows, predicted):
        return ndcg(rows, predicted) if self.metric == "ndcg" else self.function(rows.label, predicted)


def built_in(load):
    data = load()
    return Rows(data.data, data.target)


def friedman(seed=3, rows=5000):
    table, label = datasets.make_friedman1(rows, noise=1, random_state=seed)
    return Rows(table, label)


def with_missing(rows, share=0.15):
    rng = numpy.random.default_rng(5)
    table = rows.table.copy()
    table[rng.random(table.shape) < share] = numpy.nan
    return Rows(table, rows.label)


def counts(kind, rows=4000):
    """Poisson, gamma, or compound Poisson-gamma (tweedie) labels whose mean is a function of six features."""
    rng = numpy.random.default_rng(6)
    table = rng.random((rows, 6))
    mean = numpy.exp(0.3 + 1.5 * table[:, 0] * table[:, 1] + numpy.sin(4 * table[:, 2]) - table[:, 3])
    if kind == "poisson":
        return Rows(table, rng.poisson(mean).astype(float))
    if kind == "gamma":
        return Rows(table, rng.gamma(2, mean / 2) + 1e-3)
    events = rng.poisson(mean)
    return Rows(table, numpy.array([rng.gamma(2, 0.5, size=n).sum() for n in events]))


def ranking(queries=400):
    """Relevances 0 to 4 within queries of 5 to 40 rows; a query's offset tells nothing."""
    rng = numpy.random.default_rng(7)
    groups = rng.integers(5, 40, size=queries)
    table = rng.normal(size=(groups.sum(), 10))
    score = table[:, 0] + numpy.abs(table[:, 1]) + table[:, 2] * (table[:, 3] > 0) + rng.normal(size=len(table))
    table[:, 9] += numpy.repeat(rng.normal(size=queries) * 3, groups)
    return Rows(table, numpy.digitize(score, [0, 1, 2, 3]).astype(float), groups)


def standardised(rows):
    """Far from its label a row has hardly a hessian under reg:pseudohubererror, and any leaf value is as good."""
    return Rows(rows.table, (rows.label - rows.label.mean()) / rows.label.std())


def share_of(rows):
    """A label between 0 and 1."""
    return Rows(rows.table, (rows.label - rows.label.min()) / numpy.ptp(rows.label))


SPARSE_ROWS, SPARSE_COLUMNS, SPARSE_PRESENT = 2000, 1200, 25  # enough columns for winnow-gbdt to keep them as lists


def sparse_table():
    """(table, score): each row has values in few columns, frequent ones first, and the first of them have effects."""
    rng = numpy.random.default_rng(8)
    frequency = 1 / (20 + numpy.arange(SPARSE_COLUMNS))
    frequency /= frequency.sum()
    table = scipy.sparse.lil_matrix((SPARSE_ROWS, SPARSE_COLUMNS), dtype=numpy.float32)
    for row in range(SPARSE_ROWS):
        present = numpy.unique(rng.choice(SPARSE_COLUMNS, size=SPARSE_PRESENT, p=frequency))
        table[row, present] = numpy.round(rng.exponential(size=len(present)) + 0.05, 2)
    table = table.tocsr()
    effects = numpy.zeros(SPARSE_COLUMNS)
    effects[:60] = rng.normal(size=60)
    score = table @ effects + (table[:, 0].toarray().ravel() > 0) * (table[:, 1].toarray().ravel() > 0) * 2
    return table, (score - score.mean()) / score.std()


def sparse_cases():
    """Every objective, with labels that suit it."""
    table, score = sparse_table()
    rng = numpy.random.default_rng(9)
    noisy = score + rng.normal(size=len(score)) / 2
    chance = (rng.random(len(score)) < 1 / (1 + numpy.exp(-2 * score))).astype(int)
    mean = numpy.exp(0.5 + 0.7 * score)
    events = rng.poisson(mean)
    classes = numpy.digitize(noisy, [-0.8, 0, 0.8])
    groups = numpy.full(len(score) // 20, 20)
    share = 1 / (1 + numpy.exp(-noisy))

    def case(label, objective, metric, groups=None, **more):
        return Case("sparse", Rows(table, numpy.asarray(label, dtype=float), groups), objective, metric, **more)
    return [
        case(chance, "binary:logistic", "logloss"), case(chance, "binary:logitraw", "auc"),
        case(chance, "binary:hinge", "error"), case(noisy, "reg:squarederror", "rmse"),
        case(noisy, "reg:absoluteerror", "mae"), case(share, "reg:logistic", "rmse"),
        case(noisy, "reg:pseudohubererror", "mphe"), case(noisy, "reg:quantileerror", "pinball-0.8", since=2,
                                                         quantile_alpha=0.8),
        case(events, "count:poisson", "poisson-deviance"), case(events, "reg:squaredlogerror", "rmsle"),
        case(rng.gamma(2, mean / 2) + 1e-3, "reg:gamma", "gamma-deviance"),
        case([rng.gamma(2, 0.5, size=n).sum() for n in events], "reg:tweedie", "tweedie-deviance"),
        case(classes, "multi:softprob", "mlogloss", num_class=4), case(classes, "multi:softmax", "merror", num_class=4),
        case(classes, "rank:pairwise", "ndcg", groups), case(classes, "rank:ndcg", "ndcg", groups),
    ]


def bank_full(path):
    frame = pandas.read_csv(path, sep=";")
    label = (frame.pop("y") == "yes").to_numpy().astype(int)
    return Rows(pandas.get_dummies(frame, dtype=float).to_numpy(dtype=float), label)


def bank_additional(source, folder):
    """All three parts of the prepared direct-marketing data."""
    prepare = ROOT / "scripts/prepare_direct_marketing.py"
    subprocess.run([sys.executable, prepare, "--input", source, "--output", folder], check=True,
                   stdout=subprocess.DEVNULL)
    frame = pandas.concat(pandas.read_csv(folder / f"{part}.csv") for part in ("train", "validation", "test"))
    return Rows(frame.iloc[:, 1:].to_numpy(dtype=float), frame["y_yes"].to_numpy())


def bank_cases(folder):
    source = pathlib.Path(os.environ.get("WINNOW_DATA_DIR", "."))
    cases = []
    if (source / "bank-additional-full.csv.gz").is_file():
        cases.append(Case("bank-additional", bank_additional(source / "bank-additional-full.csv.gz", folder),
                          "binary:logistic", "auc"))
    if (source / "bank-full.csv.gz").is_file():
        bank = bank_full(source / "bank-full.csv.gz")
        cases += [Case("bank-full", bank, "binary:logistic", "logloss"),
                  Case("bank-full", bank, "binary:logistic", "auc", scale_pos_weight=3)]
    if not cases:
        print("the bank data is left out: WINNOW_DATA_DIR does not name its folder", file=sys.stderr)
    return cases


def dense_cases(folder):
    """`folder` gets the prepared bank data."""
    cancer, diabetes = built_in(datasets.load_breast_cancer), built_in(datasets.load_diabetes)
    digits, wine, iris = map(built_in, (datasets.load_digits, datasets.load_wine, datasets.load_iris))
    return [
        Case("breast_cancer", cancer, "binary:logistic", "auc"),
        Case("breast_cancer", cancer, "binary:logitraw", "auc"),
        Case("breast_cancer", cancer, "binary:hinge", "error"),
        *bank_cases(folder),
        Case("diabetes", diabetes, "reg:squarederror", "rmse"),
        Case("diabetes", diabetes, "reg:absoluteerror", "mae"),
        Case("diabetes", share_of(diabetes), "reg:logistic", "rmse"),
        Case("friedman1", friedman(), "reg:squarederror", "rmse"),
        Case("friedman1-missing", with_missing(friedman()), "reg:squarederror", "rmse"),
        Case("friedman1", standardised(friedman()), "reg:pseudohubererror", "mphe"),
        Case("friedman1", friedman(), "reg:absoluteerror", "mae"),
        Case("friedman1", friedman(), "reg:quantileerror", "pinball-0.8", since=2, quantile_alpha=0.8),
        Case("counts", counts("poisson"), "count:poisson", "poisson-deviance"),
        Case("counts", counts("poisson"), "reg:squaredlogerror", "rmsle"),
        Case("gamma", counts("gamma"), "reg:gamma", "gamma-deviance"),
        Case("claims", counts("tweedie"), "reg:tweedie", "tweedie-deviance"),
        Case("digits", digits, "multi:softprob", "mlogloss", num_class=10),
        Case("digits", digits, "multi:softmax", "merror", num_class=10),
        Case("wine", wine, "multi:softprob", "mlogloss", num_class=3),
        Case("iris", iris, "multi:softprob", "mlogloss", num_class=3),
        Case("ranking", ranking(), "rank:pairwise", "ndcg"),
        Case("ranking", ranking(), "rank:ndcg", "ndcg"),
    ]
