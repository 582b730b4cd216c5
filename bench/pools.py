#!/usr/bin/env python3
"""What it costs that an engine is between a job and its workers, on a real Slurm of this machine (Debian's slurm-wlm; root).

    python3 bench/pools.py --bin build/bin [--parts latency,throughput,local] [--trials 200] [--repeats 5]

latency: seconds from the submission of a trivial job to its first report, with a pool that has no node (cold) and with one whose
worker is there (warm), beside the seconds from sbatch to the first line of a trivial job of Slurm's.
throughput: trials of one second on 4 nodes of one slot through a pool, beside as many jobs of Slurm's, and beside one array of
them: makespan, and requests to slurmctld (sdiag). The least possible makespan is the trials' time on 4 nodes.
local: 1,000 trials that do nothing on a local worker, under a server with a pool and under one without, in turns.
"""

import argparse
import os
import pathlib
import re
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))

NODES = 4


def spec(name, command, trials, **more):
    return {"name": name, "strategy": "RANDOM", "limits": {"max_trials": trials},
            "trainer": {"command": ["sh", "-c", command], "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, **more}


def wait_for(condition, patience=600):
    """Seconds since the epoch at which it held."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            sys.exit("it takes too long")
        time.sleep(0.005)
    return time.time()


def seconds(values):
    return f"{statistics.median(values):6.2f} s ({min(values):.2f} to {max(values):.2f})"


class Bench:
    def __init__(self, site, folder):
        self.site, self.folder, self.count = site, pathlib.Path(folder), 0

    def new_folder(self):
        self.count += 1
        folder = self.folder / f"run-{self.count}"
        folder.mkdir()
        return folder

    def trivial_job(self):
        """Seconds from its submission to its first report, by the clock of this machine, which all of it runs on."""
        folder = self.new_folder()
        begin = time.time()
        name = self.site.cluster.client.submit(spec(folder.name, f"date +%s.%N > {folder}/begin; echo loss=1", 1), self.site.cluster.folder)
        self.site.wait_for_end(name)
        reported = [float(line) for line in (folder / "begin").read_text().split()]
        return reported[0] - begin

    def trivial_slurm_job(self):
        folder = self.new_folder()
        begin = time.time()
        self.site.slurm.command("sbatch", "--parsable", "--output=/dev/null", "--cpus-per-task=2", f"--wrap=date +%s.%N > {folder}/begin")
        wait_for(lambda: (folder / "begin").exists() and (folder / "begin").read_text())
        return float((folder / "begin").read_text()) - begin

    def latency(self, repeats):
        cold, warm, engine = [], [], []
        for _ in range(repeats):
            self.site.wait_for_nothing()
            engine.append(self.trivial_slurm_job())
            wait_for(lambda: not self.site.slurm.jobs())
            cold.append(self.trivial_job())
            warm.append(self.trivial_job())
        self.site.wait_for_nothing()
        print(f"latency, {repeats} times: cold pool {seconds(cold)}, warm pool {seconds(warm)}, a job of Slurm's {seconds(engine)}")
        print(f"  ratios of the medians to Slurm's: cold {statistics.median(cold) / statistics.median(engine):.2f}, "
              f"warm {statistics.median(warm) / statistics.median(engine):.2f}")

    def requests(self):
        """To slurmctld so far, without those of sdiag."""
        text = self.site.slurm.command("sdiag")
        text = text.split("message type")[1].split("by user")[0]
        return sum(int(count) for name, count in re.findall(r"(REQUEST_\w+|MESSAGE_\w+)\s+\(\s*\d+\)\s+count:(\d+)", text)
                   if name not in ("REQUEST_STATS_INFO", "MESSAGE_NODE_REGISTRATION_STATUS"))

    def timed(self, run):
        before, begin = self.requests(), time.monotonic()
        run()
        took = time.monotonic() - begin
        return took, self.requests() - before

    def pool_trials(self, trials):
        name = self.site.cluster.client.submit(spec(self.new_folder().name, "sleep 1; echo loss=1", trials), self.site.cluster.folder)
        if self.site.cluster.watch(name).to_end(3600) != 0:
            sys.exit(f"the job failed: {self.site.cluster.client.run('describe', name)}")

    def slurm_jobs(self, trials, array):
        folder = self.new_folder()
        options = ["--parsable", "--output=/dev/null", "--cpus-per-task=2"]
        wrap = f"--wrap=sleep 1; touch {folder}/$SLURM_JOB_ID"
        if array:
            self.site.slurm.command("sbatch", *options, f"--array=1-{trials}", wrap)
        for _ in range(0 if array else trials):
            self.site.slurm.command("sbatch", *options, wrap)
        wait_for(lambda: len(os.listdir(folder)) == trials, 3600)

    def throughput(self, trials):
        self.site.wait_for_nothing()
        least = trials / NODES
        results = {"a pool, cold": self.timed(lambda: self.pool_trials(trials)),
                   "an array": self.timed(lambda: self.slurm_jobs(trials, True)),
                   "single jobs": self.timed(lambda: self.slurm_jobs(trials, False))}
        for name, (took, requests) in results.items():
            print(f"throughput, {trials} trials of 1 s on {NODES} nodes: {name:12} {took:7.1f} s, {took / least:5.2f} of the least "
                  f"possible, {requests} requests to slurmctld")
        pool = results["a pool, cold"]
        for name in ("an array", "single jobs"):
            print(f"  the pool takes {pool[0] / results[name][0]:.2f} of the time of {name}, and {pool[1] / results[name][1]:.3f} of "
                  "its requests")


def local(pool_server, trials, repeats):
    took = {True: [], False: []}
    job = spec("local", "echo loss=1", trials, cluster={"labels": {"zone": "here"}})
    for repeat in range(2 * repeats):
        with_pool = repeat % 2 == 0
        site = pool_server.PoolServer({"name": "idle", "kind": "COMMAND", "poll_seconds": 0.2,
                                       "command": {each: ["true"] for each in ("submit", "list", "cancel")}})
        with site if with_pool else site.cluster:
            site.cluster.add_worker("w1", slots=4, flags=["--label", "zone=here"])
            wait_for(lambda: site.client.workers())
            begin = time.monotonic()
            name = site.client.submit(job, site.cluster.folder)
            site.wait_for_end(name)
            took[with_pool].append(time.monotonic() - begin)
    print(f"local, {trials} trials that do nothing, {repeats} times in turns: with a pool {seconds(took[True])}, without "
          f"{seconds(took[False])}; ratio of the medians {statistics.median(took[True]) / statistics.median(took[False]):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--parts", default="latency,throughput,local")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ["WINNOW_BIN_DIR"] = str(options.bin.resolve())
    import pool_server  # pylint: disable=import-outside-toplevel  # they read the variable
    import slurm_server  # pylint: disable=import-outside-toplevel
    import slurm_site  # pylint: disable=import-outside-toplevel
    parts = options.parts.split(",")
    if set(parts) & {"latency", "throughput"}:
        if why := slurm_site.why_not():
            sys.exit(f"no Slurm can run here: {why}")
        worker = {"slots": 1, "cpus": 2, "command": [f"{options.bin.resolve()}/winnow-worker"]}
        with slurm_server.Site(slurm_site.Slurm(nodes=NODES), max_nodes=NODES, worker=worker,
                               poll_seconds=5) as site:  # as is the default
            bench = Bench(site, site.cluster.folder)
            if "latency" in parts:
                bench.latency(options.repeats)
            if "throughput" in parts:
                bench.throughput(options.trials)
    if "local" in parts:
        local(pool_server, 1000, options.repeats)


if __name__ == "__main__":
    main()
