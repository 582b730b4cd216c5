"""How long a trial takes until its first round is done, in wall milliseconds from the start of the process: what a
tuning job pays for each trial that is stopped early. winnow-gbdt twice on the same data, the second time with what
the first has kept, if it keeps anything; XGBoost from the CSV file, with and without the start of its interpreter.
"""

import os
import shutil
import statistics
import sys
import time

import systems

XGBOOST = """
import os, sys, time
import xgboost
start = time.perf_counter()
xgboost.set_config(verbosity=0)
data = [(xgboost.DMatrix(f"{path}?format=csv&label_column=0", nthread=1), name)
        for name, path in zip(("train", "validation"), sys.argv[1:3])]
parameters = {"tree_method": "hist", "objective": "binary:logistic", "eval_metric": "auc", "nthread": 1}
xgboost.train(parameters, data[0][0], 1, evals=data, verbose_eval=False)
print(time.perf_counter() - start)
"""


def wall_ms(command, environment=None):
    start = time.perf_counter()
    output = systems.run_and_wait(command, environment=environment)
    return 1e3 * (time.perf_counter() - start), output


def measure(winnow, data, repeats, work):
    """{what: median ms}."""
    passive = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    kept = work / "kept"
    job = systems.job_of(data, 1)
    command = [*winnow.command(job, 1), "--validation", job["validation"]]
    times = {"winnow-gbdt, first trial": [], "winnow-gbdt, second trial": [], "XGBoost, process": [],
             "XGBoost, after its imports": []}
    for _ in range(max(repeats, 5)):
        shutil.rmtree(kept, ignore_errors=True)
        os.mkdir(kept)
        environment = {"WINNOW_CACHE_DIR": str(kept)}
        times["winnow-gbdt, first trial"].append(wall_ms(command, environment)[0])
        times["winnow-gbdt, second trial"].append(wall_ms(command, environment)[0])
        try:
            wall, output = wall_ms([sys.executable, "-c", XGBOOST, data.train, data.validation], passive)
        except RuntimeError:  # no XGBoost here
            continue
        times["XGBoost, process"].append(wall)
        times["XGBoost, after its imports"].append(1e3 * float(output.splitlines()[-1]))
    return {name: statistics.median(of) for name, of in times.items() if of}


def print_table(rows):
    print("\n### direct-marketing: start of the process to the end of the first round and its two AUCs, 1 thread\n")
    print("| trial | ms | x the second trial |\n| --- | --- | --- |")
    second = rows["winnow-gbdt, second trial"]
    for name, ms in rows.items():
        print(f"| {name} | {ms:.1f} | {ms / second:.2f} |", flush=True)
