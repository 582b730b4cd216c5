#!/usr/bin/python3
"""The headline experiment: a published tuning experiment as it was done, beside what Winnow makes of it, through a real
server, workers and trial clusters; written as a page with tables and pictures, and as JSON beside it.

    bench/headline/run.py --bin build/bin [--data DIR] [--quick] [--only PART,…] [--out docs/results.md]

Parts, each of which may be run alone (--only); what other runs said of the others stays on the page:
  published   the post's table: the un-tuned estimator on 1 and 3 nodes, models of one shard, MNIST on 1 and 4 nodes
  identity    the same training on 1, 2, 3 and 4 nodes: the model's bytes
  tuned       30 trials on clusters of 3 nodes: the post's Hyperband, Winnow's default, all trials run through
  others      the same trials given to Optuna over XGBoost
  sizes       the number of nodes as a hyperparameter
  page        writes page and pictures anew from the JSON, and runs nothing
--data: folder of bank-additional-full.csv.gz (UCI's Bank Marketing, or unpacked) and the four MNIST files as they are
published; default $WINNOW_DATA_DIR. --quick proves that
everything works, with one seed and little training, and writes to build/headline-quick unless --out says otherwise.
Python packages: numpy, xgboost, sklearn, optuna, matplotlib, as Debian's python3-… has them.
"""

import argparse
import datetime
import importlib.util
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

NEEDED = {"numpy": "python3-numpy", "xgboost": "python3-xgboost", "sklearn": "python3-sklearn",
          "optuna": "python3-optuna", "matplotlib": "python3-matplotlib"}
PARTS = ("published", "identity", "tuned", "others", "sizes")
PAGE = "page"
BANK = ("bank-additional-full.csv.gz", "bank-additional-full.csv")  # either
BANK_SOURCE = "https://archive.ics.uci.edu/dataset/222/bank+marketing (bank-additional.zip in it)"
MNIST = tuple(f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1"))
WORKERS, SLOTS = 4, 4  # 4 trials of 4 nodes at a time


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--data", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("WINNOW_DATA_DIR", ROOT / "examples/data")))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,…")
    parser.add_argument("--split", choices=["85/5/10", "70/20/10"], default="85/5/10",
                        help="of tuned and others; 85/5/10 is the post's")
    parser.add_argument("--seeds", type=int, default=0,
                        help="at most so many a part (default: 3 to 10 as the part needs)")
    parser.add_argument("--repetition", type=int,
                        help="copies of each row, whose weights sum to 100 (default 8, quick 1)")
    parser.add_argument("--out", type=pathlib.Path, help="default docs/results.md")
    options = parser.parse_args()
    options.parts = [part for part in options.only.split(",") if part]
    for part in options.parts:
        if part not in (*PARTS, PAGE):
            parser.error(f"--only {part}: expected some of {', '.join((*PARTS, PAGE))}")
    if options.repetition is not None and options.repetition < 1:
        parser.error("--repetition: expected at least 1")
    if options.seeds < 0:
        parser.error("--seeds: expected 0 or more")
    options.out = options.out or ROOT / ("build/headline-quick/results.md" if options.quick else "docs/results.md")
    return options


def require_packages():
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        sys.exit(f"{sys.executable} lacks what this needs: apt-get install {' '.join(missing)}")


def require_data(folder, parts):
    """The bank's file."""
    found = [folder / name for name in BANK if (folder / name).is_file()]
    missing = [] if found else [f"{BANK[0]} (or unpacked; {BANK_SOURCE})"]
    if {"published", "identity"} & set(parts):
        missing += [name for name in MNIST if not (folder / name).is_file()]
    if missing:
        sys.exit(f"--data {folder}: not there: {', '.join(missing)}")
    return found[0]


def one_line_a_record(value, indent=""):
    """As JSON: what has no record of its own within it is one line."""
    parts = list(value.values() if isinstance(value, dict) else value) if isinstance(value, (dict, list)) else []
    if not any(isinstance(part, (dict, list)) and part for part in parts):
        return json.dumps(value)
    inner = [one_line_a_record(part, indent + " ") for part in parts]
    if isinstance(value, dict):
        inner = [f"{json.dumps(name)}: {text}" for name, text in zip(value, inner)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(f"{indent} {text}" for text in inner) + f"\n{indent}{end}"


class Results:
    """The JSON file: {"parts": {name: what it gave, how long it took, where it ran}}."""

    def __init__(self, path):
        self.path = path
        self.parts = json.loads(path.read_text())["parts"] if path.exists() else {}

    def keep(self, name, part):
        self.parts[name] = part
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".part")
        unfinished.write_text(one_line_a_record({"parts": self.parts}) + "\n")
        unfinished.replace(self.path)


def run_parts(options, results):
    import data
    import machine
    import setting
    from service import Service, require_programs
    require_programs(options.bin)
    bank_file = require_data(options.data, options.parts)
    repetition = options.repetition or (1 if options.quick else data.REPETITION)
    with tempfile.TemporaryDirectory(prefix="winnow-headline-") as name:
        work = pathlib.Path(name)
        bank = data.Bank(bank_file)
        (work / "service").mkdir()
        with Service(options.bin, work / "service", WORKERS, SLOTS) as service:
            files = data.Files(bank, work / "files", repetition)
            where = setting.Setting(bank, files, service, options.data.resolve(), work, options.quick, options.seeds)
            for part in options.parts:
                print(f"{part}:", flush=True)
                about = {"date": datetime.date.today().isoformat(), "quick": options.quick, "repetition": repetition,
                         "machine": machine.describe(), "winnow": service.winnow("--version").strip()}
                start = time.monotonic()
                result = run_part(part, where, options.split)
                results.keep(part, {**about, "seconds": round(time.monotonic() - start, 1), "result": result})
                print(f"  {time.monotonic() - start:.0f} s", flush=True)


def run_part(part, where, split):
    import identity
    import others
    import published
    import sizes
    import tuned
    if part in ("tuned", "others"):
        return {"tuned": tuned, "others": others}[part].run(where, split)
    return {"published": published, "identity": identity, "sizes": sizes}[part].run(where)


def main():
    options = parse()
    require_packages()
    # Server and trainers are ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
    results = Results(options.out.with_suffix(".json"))
    if PAGE in options.parts:
        options.parts = [part for part in options.parts if part != PAGE]
    if options.parts:
        run_parts(options, results)
    import page
    page.write(options.out, results.parts)
    seconds = sum(part["seconds"] for part in results.parts.values())
    print(f"{options.out}, its JSON and pictures are written; {seconds:.0f} s for all parts on it")


if __name__ == "__main__":
    main()
