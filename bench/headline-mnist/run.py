#!/usr/bin/python3
"""The published collapse of MNIST on several nodes (accuracy 0.97 on one, 0.11 on 4) in real processes, and its cures.

    bench/headline-mnist/run.py --bin build/bin [--data DIR] [--seeds 3] [--epochs 10] [--only NAME,…] [--quick]
                                [--markdown FILE] [--json FILE]

784-128-64-10, ReLU, Xavier initialisation, batch 100, SGD at rate 0.1 with momentum 0.9: one worker; asynchronous
workers (PARAMETER_SERVER); 4 of them with one thing changed, as the line says; LOCAL_SGD; and the ways that stay in
step. Each rank is a winnow-mlp of one thread on this machine, so seconds say what its processors have to do, not what
as many machines would take. Columns:
  test accuracy   after the last epoch, with seeds 1, 2, …; "diverges": winnow-mlp ended with a loss that is not finite
  s, CPU s        of a training from start to end; of all ranks together
  staleness       updates by others between an asynchronous gradient's parameters and its own, over all updates
  MB sent         by all ranks, as winnow-mlp counts (10^6 bytes)
  on the wire     what the loopback carried, headers included; counted as root, in a network namespace of its own
  one worker's model   whether the weights are those of one worker, to the bit
Asynchronous results depend on which process is faster, and are others each time.
--data: folder of the four published files; default $WINNOW_DATA_DIR, else examples/data/mnist. --quick: one seed.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import cases
import gang
import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = "WINNOW_BENCH_NAMESPACE"
# A run takes some 3 s on two free cores.
RUN_SECONDS_AN_EPOCH = 12
# An accuracy nearer than this to one worker's worst is no collapse any more; seeds differ by 0.003.
NEAR = 0.02


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path, help="folder of winnow-mlp")
    parser.add_argument("--data", type=pathlib.Path,
                        default=os.environ.get("WINNOW_DATA_DIR", ROOT / "examples/data/mnist"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--only", default="", help=", ".join(case.name for case in cases.CASES) + "; with * for any")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    return parser.parse_args()


def enter_namespace():
    inside = ["unshare", "--net", "sh", "-c", f"ip link set lo up && {INSIDE}=yes exec \"$@\"", "sh"]
    if shutil.which("unshare") and subprocess.run([*inside, "true"], capture_output=True).returncode == 0:
        os.execvp(inside[0], [*inside, sys.executable, *sys.argv])
    print("no network namespace here: what the wire carries is not counted", file=sys.stderr)


def said(rows):
    """The mean accuracy of the runs that have one."""
    ended = [row["accuracy"] for row in rows if "accuracy" in row]
    if not ended:
        return "no result"
    lost = f" ({len(rows) - len(ended)} of {len(rows)} runs without a result)" if len(ended) < len(rows) else ""
    return f"{statistics.fmean(ended):.4f}{lost}"


def print_cures(cures, one_worker):
    """`cures`: pairs of a case and its rows."""
    least = min(row["accuracy"] for row in one_worker) - NEAR

    def cured(row):
        return row.get("accuracy", 0) >= least

    for word, wanted in (("every time", all), ("in some runs", lambda of: any(of) and not all(of)),
                         ("in none", lambda of: not any(of))):
        titles = ", ".join(f"{case.title} ({said(rows)})" for case, rows in cures if wanted([cured(r) for r in rows]))
        if titles:
            print(f"4 asynchronous workers come within {NEAR} of one worker {word}: {titles}")


def print_headline(results):
    """`results`: of each case that was run, by name, the case and its rows."""
    parts = []
    one_worker = results.get(cases.ONE_WORKER, (None, []))[1]
    if one_worker:
        parts.append(f"one worker {said(one_worker)}")
    if cases.COLLAPSE in results:
        parts.append(f"4 asynchronous workers {said(results[cases.COLLAPSE][1])}")
    cures = [(case, rows) for case, rows in results.values() if case.kind == cases.CURE]
    if cures and all("accuracy" in row for row in one_worker) and one_worker:
        print_cures(cures, one_worker)
    # What fails now and then is not the best.
    sure = [(case, rows) for case, rows in cures if all("accuracy" in row for row in rows)]
    if sure:
        case, rows = max(sure, key=lambda each: sum(row["accuracy"] for row in each[1]))
        parts.append(f"with the best cure, {case.title}, {said(rows)}")
    if cases.ALL_REDUCE in results:
        rows = results[cases.ALL_REDUCE][1]
        same = table.same_model(rows, one_worker)
        parts.append(f"ALL_REDUCE on 4 workers {said(rows)}{', the bits of one worker' if same else ''}")
    if parts:
        print("test accuracy: " + " -> ".join(parts))


def main():
    options = parse()
    if options.seeds < 1 or options.epochs < 1:
        raise SystemExit("--seeds and --epochs: expected at least 1")
    chosen = cases.chosen(options.only)
    program = options.bin / "winnow-mlp"
    if not os.access(program, os.X_OK):
        raise SystemExit(f"--bin {options.bin}: no winnow-mlp there")
    data = gang.Mnist(options.data.resolve())
    if not os.environ.get(INSIDE):
        enter_namespace()
    # The ranks are ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
    counts_wire = bool(os.environ.get(INSIDE))
    seeds = range(1, 2 if options.quick else options.seeds + 1)
    limit = gang.RENDEZVOUS_SECONDS + RUN_SECONDS_AN_EPOCH * options.epochs
    begun, results, lines, notes = time.monotonic(), {}, [], []
    with tempfile.TemporaryDirectory(prefix="winnow-headline-mnist-") as name:
        ranks = gang.Gang(program.resolve(), data, pathlib.Path(name))
        # The data's cache is filled by a run that does not count.
        first = ranks.train(cases.CASES[0].hyperparameters(1, 1), 1, limit)
        if "accuracy" not in first:
            raise SystemExit(f"one worker: {first.get('failed') or first['diverged']}")
        print(table.header_lines(), flush=True)
        for case in chosen:
            rows = [ranks.train(case.hyperparameters(options.epochs, seed), case.ranks, limit) for seed in seeds]
            results[case.name] = (case, rows)
            one_worker = results.get(cases.ONE_WORKER, (None, []))[1]
            lines.append(table.cells(case, rows, one_worker, counts_wire))
            # Cures stand below what they cure.
            title = f"  {case.title}" if case.kind == cases.CURE else None
            print(table.text_line(lines[-1], title), flush=True)
            notes += table.reasons(case, rows)
    print("", *notes, *([""] if notes else []), sep="\n")
    print_headline(results)
    print(f"{time.monotonic() - begun:.0f} s in all, load average {os.getloadavg()[0]:.1f}")
    if options.markdown:
        options.markdown.write_text(table.markdown(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps({name: rows for name, (_, rows) in results.items()}, indent=1))
    sys.exit(any("failed" in row for _, rows in results.values() for row in rows))


if __name__ == "__main__":
    main()
