"""A pool by three programs of a user: a stand-in for an engine, which starts pilots as processes."""

import contextlib
import json
import os
import subprocess
import sys
import unittest

import processes
from processes import wait_until

SUBMIT = """#!/bin/sh
set -eu
if [ -e "$0.limit" ]; then rm "$0.limit"; echo "too many jobs" >&2; exit 76; fi
folder="{folder}/jobs/$ALLOCATION_NAME"; mkdir -p "$folder"
node=0
while [ $node -lt "$ALLOCATION_NODES" ]; do
  setsid sh "$ALLOCATION_SCRIPT" $node < /dev/null > /dev/null 2>&1 &
  echo $! >> "$folder/pids"
  node=$((node + 1))
done
echo "a banner of this engine"
echo "id-$ALLOCATION_NAME"
"""
LIST = """#!/bin/sh
while [ $# -ge 2 ]; do
  file="{folder}/jobs/$1/pids"
  if [ -e "$file" ]; then
    state=ENDED
    for pid in $(cat "$file"); do if kill -0 "$pid" 2>/dev/null; then state=RUNNING; fi; done
    printf '%s\\tid-%s\\t%s\\tall is well\\there\\n' "$1" "$1" $state
  fi
  shift 2
done
"""
CANCEL = """#!/bin/sh
while [ $# -ge 2 ]; do
  for pid in $(cat "{folder}/jobs/$1/pids"); do kill -s TERM -- "-$pid" 2>/dev/null || true; done
  shift 2
done
"""


class CommandPool(unittest.TestCase):
    def test_it_grows_and_shrinks_by_the_users_programs(self):
        cluster = processes.Cluster(workers=0)
        jobs = f"{cluster.folder}/jobs"
        os.makedirs(jobs)
        command = {"scratch_dir": cluster.folder}
        for name, text in (("submit", SUBMIT), ("list", LIST), ("cancel", CANCEL)):
            path = f"{cluster.folder}/{name}"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("{folder}", cluster.folder))
            os.chmod(path, 0o755)
            command[name] = [path]
        open(f"{cluster.folder}/submit.limit", "w", encoding="utf-8").close()
        pool = {"name": "mine", "kind": "COMMAND", "max_nodes": 3, "idle_timeout_seconds": 1, "poll_seconds": 0.2,
                "worker": {"command": [f"{processes.BIN}/winnow-worker"]}, "command": command}
        with open(f"{cluster.folder}/pools.json", "w", encoding="utf-8") as file:
            json.dump({"pools": [pool]}, file)
        cluster.server.flags += ["--pools", file.name]

        def end_all():
            subprocess.run(command["cancel"] + [key for name in os.listdir(jobs) for key in (name, "")], check=False)

        with cluster, contextlib.ExitStack() as at_end:
            at_end.callback(end_all)
            spec = {"name": "gang", "strategy": "RANDOM",
                    "trainer": {"command": ["sh", "-c", "echo loss={{x}}"], "resumes": False,
                                "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
                    "parameters": [{"name": "x", "integer": {"min": 1, "max": 100000}}],
                    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "limits": {"max_trials": 2},
                    "cluster": {"nodes": 3, "labels": {"pool": "mine"}}}
            job = cluster.client.submit(spec, cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            pools = lambda: cluster.client.json("pools")["pools"][0]["allocations"]  # noqa: E731
            wait_until(lambda: all(each["state"] == "ENDED" for each in pools()), "it has shrunk")
            self.assertEqual(sorted(each.get("workers", 0) for each in pools()), [0, 3], pools())
            self.assertIn("too many jobs", " ".join(each["reason"] for each in pools()))
            # Its `list` says no hosts.
            self.assertRegex(cluster.client.run("doctor", "--pool", "mine"), r"(?m) runs$")


    def test_words_that_are_no_utf8_are_shown_and_doctor_does_not_wait_for_a_pool_that_pauses(self):
        cluster = processes.Cluster(workers=0)
        refuses = f"{cluster.folder}/refuses"
        with open(refuses, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nprintf 'keine Auftr\\344ge f\\374r Sie' >&2\nexit 1\n")
        os.chmod(refuses, 0o755)
        pool = {"name": "mine", "kind": "COMMAND", "poll_seconds": 0.2, "worker": {},
                "command": {"submit": [refuses], "list": ["true"], "cancel": ["true"]}}
        with open(f"{cluster.folder}/pools.json", "w", encoding="utf-8") as file:
            json.dump({"pools": [pool]}, file)
        cluster.server.flags += ["--pools", file.name]
        with cluster:
            told = cluster.client.run("doctor", "--pool", "mine", ok=(1,))
            self.assertIn("refused: keine Auftr?ge f?r Sie", told)
            self.assertIn("It pauses for", told)
            again = cluster.client.run("doctor", "--pool", "mine", ok=(1,))
            self.assertIn("The pool pauses. When the cause is mended, start the server anew", again)
            self.assertIn("keine Auftr?ge f?r Sie", cluster.client.run("pools"))
            self.assertEqual({cluster.client.json("describe", f"doctor-mine{n}")["state"] for n in ("", "-2")},
                             {"STOPPED"})


if __name__ == "__main__":
    sys.exit(processes.main())
