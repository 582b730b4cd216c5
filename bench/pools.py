#!/usr/bin/env python3
"""What it costs that an engine is between a job and its workers, on a real Slurm of this machine (Debian's slurm-wlm; root).

    python3 bench/pools.py --bin build/bin [--parts latency,throughput,paced,empty,waiting] [--trials 200] [--local-trials 1000]
        [--repeats 5]

latency: seconds from the submission of a trivial job to its first report, with a pool that has no node (cold) and with one whose
worker is there (warm), beside the seconds from sbatch to the first line of a trivial job of Slurm's.
throughput: trials of one second on 4 nodes of one slot through a pool, beside as many jobs of Slurm's, and beside one array of
them: makespan, and requests to slurmctld (sdiag). The least possible makespan is the trials' time on 4 nodes.
paced, empty: --local-trials on a local worker of 4 slots, under a server with a pool, whose two workers are there and idle, and under
one without, with two such workers started by hand, in turns: trials of 0.22 s, which are 1,000 a minute, and trials that do nothing.
waiting: the CPU time that these two servers take while a job waits for room, 10 s each time.
"""

import argparse
import os
import pathlib
import re
import signal
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/e2e/slurm")]

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


def cpu_seconds(pid):
    """Of all its threads that have not ended, to the nanosecond."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def end_processes(folder):
    """Those of a pool's workers, which outlive their server; their command lines name the folder."""
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if folder.encode() in file.read_bytes() and int(file.parent.name) != os.getpid():
                os.kill(int(file.parent.name), signal.SIGKILL)
        except OSError:
            pass


def in_turns(pool_server, repeats, run):
    """What `run(site)` returns on servers with a pool of two idle workers, and on others with two idle workers that were started
    by hand. All have a worker of 4 slots for jobs with the label zone=here."""
    results = {True: [], False: []}
    for repeat in range(2 * repeats):
        with_pool = repeat % 4 in (0, 3)  # neither is always the first of two
        site = pool_server.PoolServer({"name": "idle", "kind": "LOCAL", "min_nodes": 2})
        site.pool["local"] = {"scratch_dir": site.cluster.folder}
        with site if with_pool else site.cluster:
            for name in () if with_pool else ("idle-1", "idle-2"):
                site.cluster.add_worker(name, slots=1)
            site.cluster.worker_flags = ["--label", "zone=here"]
            site.cluster.add_worker("w1", slots=4)
            wait_for(lambda: len(site.client.workers()) == 3)
            results[with_pool].append(run(site))
        end_processes(site.cluster.folder)
    return results[True], results[False]


def local(pool_server, command, trials, repeats):
    job = spec("local", command, trials, cluster={"labels": {"zone": "here"}})

    def run(site):
        begin, cpu = time.monotonic(), cpu_seconds(site.server.pid)
        name = site.client.submit(job, site.cluster.folder)
        site.wait_for_end(name)
        return time.monotonic() - begin, cpu_seconds(site.server.pid) - cpu

    pool, none = in_turns(pool_server, repeats, run)
    for what, index in (("makespan", 0), ("CPU time of the server", 1)):
        with_pool, without = [[each[index] for each in runs] for runs in (pool, none)]
        print(f"local, {trials} trials of `{command}`, {repeats} times in turns, {what}: with a pool {seconds(with_pool)}, without "
              f"{seconds(without)}; ratio of the medians {statistics.median(with_pool) / statistics.median(without):.3f}")


def waiting(pool_server, period, repeats):
    job = spec("waiting", "sleep 1000; echo loss=1", 1000, cluster={"labels": {"zone": "here"}})

    def run(site):
        name = site.client.submit(job, site.cluster.folder)
        wait_for(lambda: site.client.json("describe", name)["trial_counts"].get("running", 0) == 4)
        time.sleep(1)
        before = cpu_seconds(site.server.pid)
        time.sleep(period)
        return 1000 * (cpu_seconds(site.server.pid) - before) / period

    pool, none = in_turns(pool_server, repeats, run)
    print(f"waiting, a job whose trials wait for room, {period} s, {repeats} times in turns, the server's CPU time a second: with a pool "
          f"{statistics.median(pool):.2f} ms ({min(pool):.2f} to {max(pool):.2f}), without {statistics.median(none):.2f} ms "
          f"({min(none):.2f} to {max(none):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--parts", default="latency,throughput,paced,empty,waiting")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--local-trials", type=int, default=1000)
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
    if "paced" in parts:
        local(pool_server, "sleep 0.22; echo loss=1", options.local_trials, options.repeats)
    if "empty" in parts:
        local(pool_server, "echo loss=1", options.local_trials, options.repeats)
    if "waiting" in parts:
        waiting(pool_server, 10, options.repeats)


if __name__ == "__main__":
    main()
