#!/usr/bin/env python3
"""The memory of programs that wait for the next part of their trial, while many trials are paused.

    python3 bench/paused.py --bin build/bin [--units 2500] [--memory-gib 0.25] [--slots 2]

A job under ASHA on one worker with a limit of memory, of which waiting programs and parents may have a quarter, and
with room for any number of them (--warm-trainers 5000). While it runs, the memory of the worker's processes that they
share with no other one is summed again and again. Printed: how many trials were paused at most, how many programs
waited, and the most memory beside the limit. The programs that train, one a slot, count in that sum, and so do those
that are about to end.
"""

import argparse
import pathlib
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import parts  # noqa: E402  (the path must be set first)
import service  # noqa: E402

WAITING_SHARE = 0.25  # of the trainers' memory, for what waits


def children_of(worker):
    """The processes that are children of the worker."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[1]) == worker and fields[0] != "Z":
                    found.append(folder)
            except OSError:
                pass
    return found


def own_bytes(process):
    """What it shares with no other process; 0: it has ended."""
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty"))


class Sampler(threading.Thread):
    """Sums the memory of the worker's children until it is told to end."""

    def __init__(self, worker):
        super().__init__()
        self.worker, self.ends = worker, threading.Event()
        self.bytes = self.processes = self.samples = 0

    def run(self):
        while not self.ends.wait(0.05):
            processes = children_of(self.worker)
            self.bytes = max(self.bytes, sum(map(own_bytes, processes)))
            self.processes = max(self.processes, len(processes))
            self.samples += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--units", type=int, default=2500, help="of the job: about two thirds as many trials")
    parser.add_argument("--memory-gib", type=float, default=0.25, help="of the worker")
    parser.add_argument("--slots", type=int, default=2, help="of the worker")
    arguments = parser.parse_args()
    service.require_programs(arguments.bin)
    with tempfile.TemporaryDirectory(prefix="winnow-paused-") as temporary:
        folder = pathlib.Path(temporary)
        table = folder / "table.csv"
        parts.write_table(table, 11_400)
        flags = ["--memory-gib", str(arguments.memory_gib), "--warm-trainers", "5000"]
        spec = parts.spec_of("gbdt", "ASHA", arguments.units, table)
        with parts.OneWorker(arguments.bin, folder, flags, arguments.slots) as one:
            sampler = Sampler(one.worker.pid)
            sampler.start()
            try:
                job = one.run(spec)
                starts = one.starts()
            finally:
                sampler.ends.set()
                sampler.join()
    trials = {trial for _, trial, _ in starts}
    going_on = {trial for (_, trial, attempt) in starts if attempt > 1}
    limit = WAITING_SHARE * arguments.memory_gib * 2**30
    print(f"job {job['id']}: {len(trials)} trials, of which {len(trials - going_on)} were paused to the end; "
          f"{sum(how == 'continued' for how in starts.values())} parts went on in a waiting program")
    print(f"most processes of the worker at once: {sampler.processes} ({sampler.samples} samples)")
    print(f"most memory of them: {sampler.bytes / 2**20:.1f} MiB, {sampler.bytes / limit:.2f} of the limit of what waits, "
          f"{limit / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
