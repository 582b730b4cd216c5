#!/usr/bin/env python3
"""What it costs a program that its output is read: its speed under a worker against its speed into /dev/null.

    python3 bench/output.py --bin build/bin [--seconds 5] [--repeats 3]

A program writes lines one by one, at 100,000 a second (`paced`) or as fast as it can (`free`), and measures the time. Lines are
`plain`, or each is a `metric`, of which a metric's expression matches. Each kind runs into /dev/null and as the trial of a
job, in turns, `--repeats` times; the ratio is that of the medians. The goal is 0.8 for paced lines.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import service  # noqa: E402  (the path must be set first)

RATE = 100_000
PROGRAM = """
import os, sys, time
kind, pace, lines = sys.argv[1], sys.argv[2], int(sys.argv[3])
begin = time.monotonic()
for i in range(1, lines + 1):
    os.write(1, b"epoch %d: loss=%d of some training, with a few more words\\n" % (i, i) if kind == "metric" else
             b"step %d: nothing to read of some training, with a few more words\\n" % i)
    if pace == "paced" and i % 1000 == 0:
        time.sleep(max(0, begin + i / 100_000 - time.monotonic()))
seconds = time.monotonic() - begin
os.write(1, b"epoch %d: loss=%f\\n" % (lines + 1, -seconds))
os.write(2, b"%f\\n" % seconds)
"""


def into_null(program, words):
    done = subprocess.run(["/usr/bin/python3", program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return float(done.stderr)


def under_a_worker(running, program, words):
    """The program's last value is the lowest, and so the best."""
    job = running.run({
        "name": "output",
        "trainer": {"command": ["/usr/bin/python3", str(program), *words], "resumes": False,
                    "metrics": [{"name": "loss", "regex": "loss=([-0-9.]+)"}], "resource_regex": "epoch ([0-9]+)"},
        "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": 1}})
    return -job["best"]["objective"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    service.require_programs(options.bin)
    with tempfile.TemporaryDirectory(prefix="winnow-output-") as folder:
        program = pathlib.Path(folder) / "program.py"
        program.write_text(PROGRAM)
        with service.Service(options.bin, folder, workers=1, slots=1) as running:
            for pace in ("paced", "free"):
                for kind in ("plain", "metric"):
                    words = [kind, pace, str(int(options.seconds * RATE))]
                    pairs = [(into_null(program, words), under_a_worker(running, program, words))
                             for _ in range(options.repeats)]
                    null, winnow = (statistics.median(column) for column in zip(*pairs))
                    print(f"{pace} {kind}: {options.seconds * RATE / winnow:,.0f} lines/s under a worker, "
                          f"{null / winnow:.3f} of the speed into /dev/null", flush=True)


if __name__ == "__main__":
    main()
