#!/usr/bin/python3
"""What ranks of winnow-mlp send each other, beside what each way of training together has to send.

    bench/mlp/bytes.py --bin build/bin --data FOLDER [--ranks 2,3,4] [--modes ALL_REDUCE,ZERO,...] [--json FILE]

Each rank is a process; the network is 784-256-256-256-256-10, the data MNIST's 10,000 test images (PIPELINE: its 60,000
training images, as the model's layers, which go to all ranks once an epoch, are in no formula of a step but counted),
batches of 128, SGD with momentum. Bytes are of all ranks together. With N ranks and P bytes of parameters:
  ALL_REDUCE, ZERO   a step: 2 (N - 1) P, as 2 (N - 1) / N of P for each rank
  PARAMETER_SERVER   a worker's step: its gradient goes to the servers and parameters come back, 2 P, of which 1/N stays
                     on its own rank: 2 (N - 1) / N P
  LOCAL_SGD          an average: 2 (N - 1) (P + M), where M are the bytes of momentum, as many as P
  PIPELINE           a step: at each of N - 1 boundaries the batch's activations one way, and as many gradients back;
                     as "2 x 2" on 4 ranks with two copies of the model, 2 P more to sum the copies' gradients
Everything runs in a network namespace of its own (unshare --net, as root; without it that column is left out), whose
loopback counter tells what was really sent, TCP's headers and acknowledgements included, by the difference of runs of
1 and of 3 epochs; "said" is the same by --timing. Ratios are to the formula; wanted: within 5 %.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import systems

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from free_port import free_port  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = "WINNOW_BENCH_NAMESPACE"
MODES = ("ALL_REDUCE", "ZERO", "PARAMETER_SERVER", "LOCAL_SGD", "PIPELINE", "PIPELINE 2 x 2")
WIDTH, HIDDEN, INPUTS, CLASSES, PANEL = 256, 4, 784, 10, 16  # outputs are kept in panels of 16
BATCH, LOCAL_STEPS = 128, 8
FLOAT = 4
SHORT, LONG = 1, 3  # epochs of the two runs
TOLERANCE = 0.05
DEADLINE = 300  # seconds of one run, which takes a few


def data_of(mode):
    """Which images, and how many."""
    return ("train", 60000) if mode.startswith("PIPELINE") else ("t10k", 10000)


def rounded_up(count, by):
    return -(-count // by)


def parameter_bytes():
    widths = [INPUTS] + [WIDTH] * HIDDEN + [rounded_up(CLASSES, PANEL) * PANEL]
    return FLOAT * sum((before + 1) * after for before, after in zip(widths, widths[1:]))


def formula(mode, ranks):
    """What one step is here, how many an epoch has, and the bytes of one."""
    _, rows = data_of(mode)
    parameters, steps = parameter_bytes(), rounded_up(rows, BATCH)
    activations = 2 * FLOAT * rows * WIDTH / steps  # of one boundary, both ways; the last batch is smaller
    if mode == "PARAMETER_SERVER":
        shares = [rows * (rank + 1) // ranks - rows * rank // ranks for rank in range(ranks)]
        count = sum(rounded_up(share, BATCH) for share in shares)
        return "a worker's step", count, 2 * (ranks - 1) / ranks * parameters
    if mode == "LOCAL_SGD":
        return f"{LOCAL_STEPS} steps", rounded_up(steps, LOCAL_STEPS), 2 * (ranks - 1) * 2 * parameters
    if mode == "PIPELINE":
        return "a step", steps, (ranks - 1) * activations
    if mode == "PIPELINE 2 x 2":
        return "a step", steps, activations + 2 * parameters
    return "a step", steps, 2 * (ranks - 1) * parameters


def loopback_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[8])  # the ninth figure: bytes sent
    return 0


class Refused(Exception):
    """The program cannot do what was asked, and said why."""


def run_ranks(winnow, job, ranks):
    """Bytes as the program counts them, bytes on the loopback, seconds."""
    port, sent, begun = free_port(), loopback_bytes(), time.perf_counter()
    running = []
    for rank in range(ranks):
        environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        running.append(subprocess.Popen(list(map(str, winnow.command(job, winnow.work / f"rank{rank}"))),
                                        env={**os.environ, **systems.NO_CACHE, **environment},
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    try:
        errors = [process.communicate(timeout=DEADLINE)[1] for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    for process, text in zip(running, errors):
        if process.returncode != 0:
            raise Refused(text.strip().splitlines()[-1] if text.strip() else f"code {process.returncode}")
    said = json.loads((winnow.work / "rank0/timing.json").read_text())["bytes_sent"]
    return said, loopback_bytes() - sent, time.perf_counter() - begun


def measure(winnow, folder, mode, ranks):
    """Bytes of one step: of the formula, as said, and on the loopback."""
    hyperparameters = {"hidden_layers": ",".join([str(WIDTH)] * HIDDEN), "batch_size": BATCH,
                       "distribution": mode.split()[0]}
    if mode == "LOCAL_SGD":
        hyperparameters["local_steps"] = LOCAL_STEPS
    if mode == "PIPELINE 2 x 2":
        hyperparameters["pipeline_stages"] = 2
    if mode == "PARAMETER_SERVER":
        hyperparameters["implicit_momentum_correction"] = 1  # or the loss might not stay finite
    ends = []
    for epochs in (SHORT, LONG):
        job = systems.job_of(folder, train=systems.images(folder, data_of(mode)[0]),
                             hyperparameters={**hyperparameters, "epochs": epochs})
        ends.append(run_ranks(winnow, job, ranks))
    what, count, due = formula(mode, ranks)
    count *= LONG - SHORT
    return {"mode": mode, "ranks": ranks, "what": what, "due": due, "said": (ends[1][0] - ends[0][0]) / count,
            "loopback": (ends[1][1] - ends[0][1]) / count, "seconds": ends[0][2] + ends[1][2]}


def print_row(row):
    due, said = row["due"], row["said"]
    really = "not counted | "
    if os.environ.get(INSIDE):
        really = f"{row['loopback'] / 1024:.1f} | {row['loopback'] / due:.3f}"
    held = "yes" if abs(said / due - 1) <= TOLERANCE else "NO"
    print(f"| {row['mode']} | {row['ranks']} | {row['what']} | {due / 1024:.1f} | {said / 1024:.1f} "
          f"| {said / due:.3f} | {really} | {held} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, help="folder of MNIST; default: WINNOW_DATA_DIR")
    parser.add_argument("--ranks", default="2,3,4")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if not os.environ.get(INSIDE):  # once more, in a network namespace
        inside = ["unshare", "--net", "sh", "-c", f"ip link set lo up && {INSIDE}=yes exec \"$@\"", "sh"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode == 0:
            os.execvp(inside[0], [*inside, sys.executable, *sys.argv])
        print("no network namespace here: the bytes on the loopback are not counted", file=sys.stderr)
    folder = systems.mnist_folder(options.data)
    print("KiB of all ranks together.\n\n| distribution | ranks | of | formula | said | x | on the loopback | x "
          "| said within 5 % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    rows, left_out = [], []
    with tempfile.TemporaryDirectory(prefix="winnow-bytes-") as name:
        winnow = systems.Winnow(options.bin, name)
        for mode in options.modes.split(","):
            for ranks in map(int, options.ranks.split(",")):
                if mode == "PIPELINE 2 x 2" and ranks != 4:
                    continue
                try:
                    rows.append(measure(winnow, folder, mode, ranks))
                    print_row(rows[-1])
                except Refused as reason:
                    left_out.append(f"{mode} on {ranks} ranks is left out: {reason}")
    for sentence in left_out:
        print(sentence)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "left_out": left_out}, indent=1))


if __name__ == "__main__":
    main()
