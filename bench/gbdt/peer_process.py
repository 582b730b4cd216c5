"""One training of XGBoost or LightGBM in a process of its own: reads a job (JSON) from standard input, trains without
evaluating anything, writes predictions of the validation file as .npy and prints its measurements as JSON.

The clock starts after the imports: setup_seconds is reading the file and binning it, round_seconds the rounds after
the first (into which both put set-up work: a usual round is taken off it, the rest is set-up)."""

import json
import statistics
import sys
import time

import numpy


def used():
    """Peak memory in KiB, without that of the process that started this one, and processor seconds so far."""
    with open("/proc/self/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    return peak, time.process_time()


class Xgboost:
    def __init__(self, job):
        import xgboost
        xgboost.set_config(verbosity=0)
        self.module, self.job = xgboost, job

    def read(self, path):
        source = f"{path}?format=csv&label_column=0" if path.endswith(".csv") else f"{path}?format=libsvm"
        return self.module.DMatrix(source, nthread=self.job["threads"])

    def start(self):
        job = self.job
        parameters = {"tree_method": "hist", "objective": job["objective"], "eta": job["eta"],
                      "max_depth": job["depth"], "max_bin": job["max_bin"], "subsample": job["subsample"],
                      "colsample_bytree": job["colsample"], "nthread": job["threads"], "seed": job["seed"]}
        if job["classes"]:
            parameters["num_class"] = job["classes"]
        self.data = self.read(job["train"])
        self.booster = self.module.Booster(parameters, [self.data])

    def round(self, number):
        self.booster.update(self.data, number)

    def predict(self, path):
        return self.booster.predict(self.read(path))


class LightGbm:
    OBJECTIVES = {"binary:logistic": "binary", "reg:squarederror": "regression", "multi:softprob": "multiclass"}

    def __init__(self, job):
        sys.path.insert(0, job["lightgbm"])
        import lightgbm
        self.module, self.job = lightgbm, job

    def start(self):
        job = self.job
        # Depth-limited trees of as many leaves as the others may grow, with XGBoost's least hessian and its lambda.
        # Its bins count the missing one, and more than 255 would make it use 16 bits a cell.
        parameters = {"objective": self.OBJECTIVES[job["objective"]], "learning_rate": job["eta"],
                      "max_depth": job["depth"], "num_leaves": 2 ** job["depth"], "min_data_in_leaf": 1,
                      "min_sum_hessian_in_leaf": 1, "lambda_l2": 1, "max_bin": min(job["max_bin"], 255),
                      "bagging_fraction": job["subsample"], "bagging_freq": int(job["subsample"] < 1),
                      "feature_fraction": job["colsample"], "num_threads": job["threads"], "seed": job["seed"],
                      "header": False, "label_column": 0, "verbosity": -1, "use_quantized_grad": job["quantised"]}
        if job["classes"]:
            parameters["num_class"] = job["classes"]
        self.booster = self.module.Booster(parameters, self.module.Dataset(job["train"], params=parameters))

    def round(self, _):
        self.booster.update()

    def predict(self, path):
        table = path
        if path.endswith(".csv"):
            table = numpy.loadtxt(path, delimiter=",", dtype=numpy.float32)[:, 1:]
        else:
            from sklearn.datasets import load_svmlight_file
            table = load_svmlight_file(path, n_features=self.booster.num_feature(), zero_based=True)[0]
        return self.booster.predict(table)


def main():
    job = json.load(sys.stdin)
    peer = {"xgboost": Xgboost, "lightgbm": LightGbm}[job["library"]](job)
    before = used()
    start = time.perf_counter()
    peer.start()
    times, cpu = [time.perf_counter()], []
    for number in range(job["rounds"]):
        peer.round(number)
        times.append(time.perf_counter())
        cpu.append(time.process_time())
    after = used()
    rounds = [end - begin for begin, end in zip(times, times[1:])]
    if job["predictions"]:
        numpy.save(job["predictions"], peer.predict(job["validation"]))
    usual = statistics.median(rounds[1:11]) if len(rounds) > 1 else 0
    print(json.dumps({"setup_seconds": times[1] - start - min(usual, rounds[0]), "round_seconds": rounds[1:],
                      "round_cpu_seconds": (cpu[-1] - cpu[0]) / (len(cpu) - 1),
                      "peak_mib": (after[0] - before[0]) / 1024, "cpu_seconds": after[1] - before[1]}))


if __name__ == "__main__":
    main()
