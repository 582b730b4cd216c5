#!/usr/bin/env python3
"""How much the seed alone moves a model of winnow-gbdt by the rounding of gradients, beside what another split of the rows does.

    bench/gbdt/rounding.py --bin build/bin --data FOLDER [--seeds 10] [--rounds 100]

The bank data (bank-additional-full.csv.gz of FOLDER), a fifth of the rows to validate on, no samples. For each
`gradient_bits`: the deviation of the validation AUC over seeds with one split, over splits with one seed, the first
divided by the second, and milliseconds of a round (the least over the runs of the median).
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def train(options, work, bits, seed, split):
    """The last validation AUC, and seconds of a round."""
    (work / "hp.json").write_text(json.dumps({"objective": "binary:logistic", "eval_metric": "auc", "eta": 0.1, "seed": seed,
                                              "gradient_bits": bits, "num_round": options.rounds}))
    done = subprocess.run([options.bin / "winnow-gbdt", "--train", options.data / "bank-additional-full.csv.gz", "--label", "y",
                           "--validation-fraction", "0.2", "--split-seed", str(split), "--hyperparameters", work / "hp.json",
                           "--model-dir", work / "model", "--timing", work / "timing.json"],
                          capture_output=True, text=True, check=True, env={**os.environ, "WINNOW_CACHE_DIR": str(work / "cache")})
    last = float(re.findall(r"validation-auc:(\S+)", done.stdout)[-1])
    return last, statistics.median(json.loads((work / "timing.json").read_text())["round_seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--data", default=os.environ.get("WINNOW_DATA_DIR"), type=pathlib.Path, required=not os.environ.get("WINNOW_DATA_DIR"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    print("| gradient_bits | AUC over seeds: mean | deviation | over splits: deviation | seeds beside splits | ms a round |\n"
          "| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as name:
        work = pathlib.Path(name)
        for bits in ("16", "30"):
            of_seeds = [train(options, work, bits, seed, 1) for seed in range(1, options.seeds + 1)]
            of_splits = [train(options, work, bits, 1, split) for split in range(1, options.seeds + 1)]
            seeds, splits = (statistics.stdev(auc for auc, _ in runs) for runs in (of_seeds, of_splits))
            least = min(seconds for _, seconds in of_seeds + of_splits)
            print(f"| {bits} | {statistics.mean(auc for auc, _ in of_seeds):.5f} | {seeds:.5f} | {splits:.5f} | {seeds / splits:.2f} | "
                  f"{1e3 * least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
