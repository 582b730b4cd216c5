#!/usr/bin/python3
"""What distribution costs: winnow-gbdt and XGBoost (rabit) on 1, 2 and 4 ranks of one machine, a thread each.

    bench/gbdt/ranks.py --bin build/bin [--set dense-1m] [--ranks 1,2,4] [--rounds 100] [--repeats 2] [--json FILE]
                        [--cache FOLDER]

Each rank is a process. Everything runs in a network namespace of its own (unshare --net, as root; without it the bytes
are left out), whose loopback counter tells what all ranks have sent, headers included, by the same measure for both.
Runs of 2 and of 2 + N rounds: their difference is N rounds alone, what remains is set-up. Columns:
  CPU s a round   user and system time of all ranks, and as a multiple of one rank's: what the ranks' work costs in all
  set-up CPU s    the same of reading, cuts and binning
  KiB a round     bytes on the loopback; a round is a tree here
  said            the same as the program itself counts them (winnow-gbdt's --timing), without headers
  same model      whether rank 0's model equals that of one rank to the bit
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import data_sets
import systems

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from free_port import free_port  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = "WINNOW_BENCH_NAMESPACE"
FEW = 2  # rounds of the run that is taken off

XGBOOST_RANK = """
import contextlib, json, sys
import xgboost
from xgboost import collective
job = json.loads(sys.argv[1])
xgboost.set_config(verbosity=0)
group = collective.CommunicatorContext(**job["communicator"]) if job["communicator"] else contextlib.nullcontext()
with group:
    data = xgboost.DMatrix(job["train"] + "?format=csv&label_column=0", nthread=1)
    booster = xgboost.Booster(job["parameters"], [data])
    for number in range(job["rounds"]):
        booster.update(data, number)
    if not job["communicator"] or collective.get_rank() == 0:
        booster.save_model(job["model"])
"""


def loopback_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[8])  # the ninth figure: bytes sent
    return 0


def run_ranks(commands, environments):
    """Processor seconds of all, wall seconds, bytes. Commands are started together; all must end with code 0."""
    sent, start = loopback_bytes(), time.perf_counter()
    running = [subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
               for command, environment in zip(commands, environments)]
    seconds = 0.0
    for process in running:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            for other in running:
                if other.returncode is None:
                    other.kill()
            raise RuntimeError(errors.strip()[-500:])
        seconds += usage.ru_utime + usage.ru_stime
    return {"cpu": seconds, "wall": time.perf_counter() - start, "bytes": loopback_bytes() - sent}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_winnow(winnow, job, ranks, rounds):
    """Every rank gets the same flags, and its own folder for what only rank 0 writes."""
    commands, environments = [], []
    port = free_port()
    for rank in range(ranks):
        folder = winnow.work / f"rank{rank}"
        folder.mkdir(exist_ok=True)
        command = [str(part) for part in winnow.command(job, rounds)]
        command[command.index("--model-dir") + 1] = str(folder)
        commands.append([*command, "--timing", str(folder / "timing.json")])
        environments.append(systems.NO_CACHE if ranks == 1 else {
            **systems.NO_CACHE, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
    row = run_ranks(commands, environments)
    said = [folder / "timing.json" for folder in (winnow.work / f"rank{rank}" for rank in range(ranks))]
    row["said"] = sum(json.loads(path.read_text()).get("bytes_sent", 0) for path in said if path.exists())
    row["model"] = digest(winnow.work / "rank0/model.json")
    if ranks > 1 and os.environ.get(INSIDE) and row["bytes"] == 0:
        raise RuntimeError("the ranks did not talk: this winnow-gbdt does not train on several")
    return row


def run_xgboost(work, job, ranks, rounds):
    from xgboost.tracker import RabitTracker
    communicator = {}
    if ranks > 1:
        tracker = RabitTracker("127.0.0.1", ranks)
        tracker.start(ranks)
        communicator = tracker.worker_envs()
    parameters = {"tree_method": "hist", "objective": job["objective"], "eta": job["eta"], "max_depth": job["depth"],
                  "max_bin": job["max_bin"], "nthread": 1}
    commands = []
    for rank in range(ranks):
        mine = {**communicator, "DMLC_TASK_ID": str(rank)} if communicator else {}
        text = json.dumps({"train": job["train"], "parameters": parameters, "rounds": rounds, "communicator": mine,
                           "model": str(work / "xgboost.json")})
        commands.append([sys.executable, "-c", XGBOOST_RANK, text])
    passive = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    row = run_ranks(commands, [passive] * ranks)
    row.update(said=0, model=digest(work / "xgboost.json"))
    return row


def measure(run, ranks, rounds, repeats):
    """Of a round and of set-up, from the least of each figure over the repeats of runs of FEW and FEW + rounds."""
    short, long = ([run(ranks, count) for _ in range(repeats)] for count in (FEW, FEW + rounds))
    least = [{key: min(row[key] for row in of) for key in ("cpu", "wall", "bytes", "said")} for of in (short, long)]
    row = {key: (least[1][key] - value) / rounds for key, value in least[0].items()}
    return {"ranks": ranks, **row, "setup_cpu": least[0]["cpu"] - row["cpu"] * FEW, "model": long[0]["model"]}


def print_rows(name, rows, counted):
    for row in rows:
        one = rows[0]
        kib = f"{row['bytes'] / 1024:.0f}" if counted else "not counted"
        said = f"{row['said'] / 1024:.0f}" if row["said"] else ""
        same = "" if row is one else "yes" if row["model"] == one["model"] else "no"
        print(f"| {name} | {row['ranks']} | {row['cpu']:.4f} | {row['cpu'] / one['cpu']:.2f} | {row['wall'] * 1e3:.1f} "
              f"| {row['setup_cpu']:.2f} | {kib} | {said} | {same} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/bin", type=pathlib.Path)
    parser.add_argument("--set", default="dense-1m")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--cache", default=ROOT / "build/bench/gbdt-data", type=pathlib.Path)
    options = parser.parse_args()
    if not os.environ.get(INSIDE):  # once more, in a network namespace
        inside = ["unshare", "--net", "sh", "-c", f"ip link set lo up && {INSIDE}=yes exec \"$@\"", "sh"]
        if subprocess.run([*inside, "true"], capture_output=True).returncode == 0:
            os.execvp(inside[0], [*inside, sys.executable, *sys.argv])
        print("no network namespace here: the bytes are not counted", file=sys.stderr)
    data = data_sets.get(options.set, options.cache)
    counts = list(map(int, options.ranks.split(",")))
    report = {}
    with tempfile.TemporaryDirectory(prefix="winnow-ranks-") as name:
        work = pathlib.Path(name)
        winnow, job = systems.Winnow(options.bin, work), systems.job_of(data, 1)
        print(f"### {data.name}, rounds {FEW + 1} to {FEW + options.rounds}, a thread a rank\n\n"
              "| system | ranks | CPU s a round | x 1 rank | wall ms a round | set-up CPU s | KiB a round | said "
              "| same model |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        runs = {"winnow-gbdt": lambda ranks, rounds: run_winnow(winnow, job, ranks, rounds),
                "XGBoost": lambda ranks, rounds: run_xgboost(work, job, ranks, rounds)}
        for system, run in runs.items():
            rows = []
            try:
                for ranks in counts:
                    rows.append(measure(run, ranks, options.rounds, options.repeats))
            except (RuntimeError, ImportError) as error:
                print(f"{system} on {ranks} ranks: {error}", file=sys.stderr)
            print_rows(system, rows, bool(os.environ.get(INSIDE)))
            report[system] = rows
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
