#!/usr/bin/env python3
"""What Hyperband makes of the direct-marketing job beside training every trial through: for each seed the best
validation AUC, the rounds trained and the elapsed time of both, through the real server with 2 workers of 2 slots.
Hyperband runs a second time with --warm-trainers 0, where every part starts a process.

    bench/direct_marketing.py [--bin build/bin] [--data examples/data/direct-marketing] [--seeds 5]

Ends with code 1 if Hyperband's best validation AUC is below 0.775 for any seed. The data: scripts/get-data.sh.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from service import Service, require_programs, resources_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = 0.775


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    flags.add_argument("--data", type=pathlib.Path, default=ROOT / "examples/data/direct-marketing")
    flags.add_argument("--seeds", type=int, default=5, help="seeds 1 to N")
    args = flags.parse_args()
    require_programs(args.bin)
    spec = json.loads((ROOT / "examples/direct-marketing.json").read_text())
    for name in spec["channels"]:
        path = (args.data / f"{name}.csv").resolve()
        if not path.exists():
            sys.exit(f"{path} is not there: run scripts/get-data.sh, or name the folder with --data")
        spec["channels"][name]["path"] = str(path)
    through = dict(spec, name="run-through", strategy="RANDOM",
                   limits=dict(spec["limits"], max_trial_resource=spec["hyperband"]["max_resource"]))
    del through["hyperband"]

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cold_folder:
        with Service(args.bin, folder) as service, Service(args.bin, cold_folder, flags=["--warm-trainers", "0"]) as cold:
            print(f"{'seed':>4}  {'Hyperband: AUC':>14} {'rounds':>6} {'s':>5} {'cold':>5}  {'run through: AUC':>16} {'rounds':>6} {'s':>5}"
                  f"  {'rounds ratio':>12} {'time ratio':>10}")
            rows = []
            for seed in range(1, args.seeds + 1):
                a, b = (resources_of(service.run(dict(each, seed=seed))) for each in (spec, through))
                without = resources_of(cold.run(dict(spec, seed=seed)))[2]
                rows.append((a, b))
                print(f"{seed:>4}  {a[0]:>14.4f} {a[1]:>6} {a[2]:>5.1f} {without:>5.1f}  {b[0]:>16.4f} {b[1]:>6} {b[2]:>5.1f}"
                      f"  {a[1] / b[1]:>12.2f} {a[2] / b[2]:>10.2f}", flush=True)
    aucs = [a[0] for a, _ in rows]
    print(f"\nHyperband over {len(rows)} seeds: AUC min {min(aucs):.4f}, median {statistics.median(aucs):.4f}; "
          f"{sum(auc >= TARGET for auc in aucs)} of {len(rows)} reach {TARGET}. "
          f"Run through: min {min(b[0] for _, b in rows):.4f}, median {statistics.median(b[0] for _, b in rows):.4f}.")
    sys.exit(0 if min(aucs) >= TARGET else 1)


if __name__ == "__main__":
    main()
