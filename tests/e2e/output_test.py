"""Output that would hurt: much of it, binary, endless lines, escape sequences, countless metrics. The worker's memory and
disk stay bounded, the programs end, and what they report arrives."""

import os
import re
import subprocess
import sys
import unittest

import processes

MIB = 1 << 20
MOST_MEMORY = 200 * MIB  # of the worker, at its highest
MOST_KEPT = 8 * MIB + 1000
LEVELS = 300_000

PROGRAM = f"""
import os, sys
kind = sys.argv[1]
write = sys.stdout.buffer.write
if kind == "much":
    block = b"".join(b"a line of no interest, number %09d\\n" % i for i in range(30_000))
    for _ in range(300): write(block)
elif kind == "binary":
    for _ in range(200): write(os.urandom({MIB}))
    write(b"\\n")
elif kind == "long":
    for end in (b"\\n", b"\\r", b"\\n"): write(b"x" * 100_000_000 + end)
elif kind == "escapes":
    for i in range(300_000): write(b"\\x1b[2J\\x1b[31mred\\x1b[0m\\x07\\r%d" % i)
    write(b"\\n")
elif kind == "metrics":
    for i in range(1, {LEVELS}): write(b"epoch %d: loss=%d\\n" % (i, i % 7 + 2))
elif kind == "errors":
    for _ in range(100): sys.stderr.buffer.write(b"\\xff\\x00" * {MIB})
write(b"epoch {LEVELS}: loss=1\\n")
"""
KINDS = ["much", "binary", "long", "escapes", "metrics", "errors"]


class Output(unittest.TestCase):
    def test_the_worker_stays_small_and_the_reports_arrive(self):
        with processes.Cluster(workers=1, slots=2) as cluster:
            program = os.path.join(cluster.folder, "program.py")
            with open(program, "w", encoding="ascii") as file:
                file.write(PROGRAM)
            job = cluster.client.submit(
                {"name": "output",
                 "trainer": {"command": ["/usr/bin/python3", program, "{{kind}}"], "resumes": False,
                             "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}], "resource_regex": "epoch ([0-9]+)"},
                 "parameters": [{"name": "kind", "categorical": {"values": KINDS}}],
                 "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "GRID"}, cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            with open(f"/proc/{cluster.workers[0].pid}/status", encoding="ascii") as file:
                highest = 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1])
            trials = cluster.client.json("trials", job)["trials"]
            levels = {}
            for point in cluster.client.json("metrics", job)["points"]:
                levels.setdefault(int(point["trial"]), []).append(int(point["resource"]))
            self.assertEqual({trial["state"] for trial in trials}, {"COMPLETED"})
            kinds = {trial["configuration"]["kind"]: int(trial["number"]) for trial in trials}
            self.assertEqual(sorted(kinds), sorted(KINDS))
            for kind, number in kinds.items():
                self.assertEqual(max(levels[number]), LEVELS, kind)
                if kind != "metrics":
                    self.assertEqual(len(levels[number]), 1, kind)
            counted = len(levels[kinds["metrics"]])
            self.assertTrue(50_000 <= counted <= 50_200, counted)
            self.assertIn("has reported 50000 levels", cluster.workers[0].log())

            self.assertLess(highest, MOST_MEMORY)
            sizes = {}
            for folder, _, files in os.walk(os.path.join(cluster.workers[0].work, "jobs")):
                for name in files:
                    sizes[os.path.join(folder, name)] = os.path.getsize(os.path.join(folder, name))
            self.assertEqual({path: size for path, size in sizes.items() if size > MOST_KEPT}, {})
            much = next(path for path in sizes if f"/{kinds['much']}/" in path and path.endswith("stdout.log"))
            with open(much, "rb") as file:
                kept = file.read()
            self.assertTrue(kept.startswith(b"a line of no interest, number 000000000\n"))
            self.assertEqual(kept.count(b"the middle of the output was left out here"), 1)
            self.assertTrue(kept.endswith(b"number 000029999\nepoch %d: loss=1\n" % LEVELS))
            told = subprocess.run(cluster.client.command("logs", job, str(kinds["much"])), capture_output=True,
                                  timeout=processes.PATIENCE, check=True)
            lines = told.stdout.splitlines()
            middle = next(place for place, line in enumerate(lines) if line.startswith(b"[Winnow: "))
            self.assertEqual(len(b"\n".join(lines[:middle])), MIB)
            self.assertTrue(lines[middle].endswith(b" bytes of the output were left out here]"), lines[middle])
            self.assertTrue(told.stdout.endswith(kept[-200_000:]))
            self.assertLess(len(told.stdout), MIB + MIB // 4)
            self.assertIn(b"the output was longer than the server keeps", told.stderr)


if __name__ == "__main__":
    sys.exit(processes.main())
