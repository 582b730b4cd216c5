"""A job that has ended is archived beside the running server and deleted there; the archive then shows what the server did."""

import contextlib
import hashlib
import json
import os
import stat
import subprocess
import tempfile
import unittest

import processes

TRAINER = """
import os
print("with", len(os.environ["PASSWORD"]), "characters", flush=True)
for epoch in range(1, 4):
    print("epoch", epoch, "score", 1 - ({{x}} - 0.3) ** 2 - 0.1 / epoch, flush=True)
"""
LIMITS = {"max_trials": 3, "max_parallel_trials": 2}
HIDDEN = "(hidden)"


def job(name, **more):
    return {
        "name": name,
        "trainer": {"command": ["/usr/bin/python3", "-c", TRAINER], "resource_regex": "epoch ([0-9]+)",
                    "metrics": [{"name": "score", "regex": "score ([0-9.]+)"}],
                    "environment": {"PASSWORD": "open sesame"}},
        "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "score", "goal": "MAXIMIZE"},
        "strategy": "RANDOM", "seed": 7, "limits": LIMITS, **more}


def state_of(folder):
    """What every file of a folder holds."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


class Shown(processes.Program):
    """winnow-server --read-only of a file, with what it needs in a folder of its own."""

    def __init__(self, file, folder, *flags):
        self.port_file, self.temporary = os.path.join(folder, "port"), os.path.join(folder, "tmp")
        os.mkdir(self.temporary)
        super().__init__([f"{processes.BIN}/winnow-server", "--read-only", "--db", file, "--listen", "127.0.0.1:0",
                          "--port-file", self.port_file, "--http", "off", *flags],
                         os.path.join(folder, "shown.log"), ["env", "TMPDIR=" + self.temporary])

    def __enter__(self):
        self.start()
        processes.wait_until(lambda: os.path.exists(self.port_file) or not self.alive(), "the server listens")
        if not self.alive():
            raise AssertionError("winnow-server --read-only did not start:\n" + self.log())
        with open(self.port_file, encoding="ascii") as file:
            self.address = "127.0.0.1:" + file.read().strip()
        return self

    def __exit__(self, *_):
        self.kill()


class ArchiveTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(workers=1, slots=2))
        self.client, self.server = self.cluster.client, self.cluster.server
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="winnow-archive-"))
        self.file = os.path.join(self.folder, "old", "jobs.db")
        os.mkdir(os.path.dirname(self.file))

    def enterShown(self, file, *flags):
        stack = self.enterContext(contextlib.ExitStack())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="winnow-shown-"))
        return stack.enter_context(Shown(file, folder, *flags))

    def archive(self, jobs, file, ok=True):
        done = subprocess.run([f"{processes.BIN}/winnow-server", "--db", self.server.database, "--archive", jobs,
                               "--copy-to", file], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode == 0, ok, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def answers(self, client, name):
        """What the commands that look tell of a job, in the form of programs."""
        told = {command: client.json(command, name) for command in ("describe", "trials", "metrics", "best", "analytics")}
        told["list"] = [each for each in client.json("list")["jobs"] if each["id"] == name]
        told["trial"] = [client.json("describe", name, str(number)) for number in (1, 2, 3)]
        told["logs"] = [client.run("logs", name, str(number)) for number in (1, 2, 3)]
        told["export"] = client.run("analytics", name, "-o", "csv")
        told["replay"] = client.run("replay", name, "--verify")
        return told

    def test_an_archive_shows_what_the_server_did(self):
        for spec in (job("kept"), job("other")):
            self.cluster.watch(self.client.submit(spec, self.cluster.folder)).to_end()
        self.client.submit(job("open", trainer={"external": True}), self.cluster.folder)
        self.client.run("annotate", "kept", "--tag", "paper", "--note", "of the first study")
        before = self.answers(self.client, "kept")
        self.assertEqual(len(before["trials"]["trials"]), 3)

        self.assertIn('job "open" is running; expected a job that has ended', self.archive("open", self.file, ok=False))
        self.assertIn('there is no job "unknown"', self.archive("kept,unknown", self.file, ok=False))
        self.assertEqual(os.listdir(os.path.dirname(self.file)), [])
        told = self.archive("kept", self.file)
        self.assertIn("read again and compared", told)
        self.assertIn("PASSWORD", told)
        self.assertIn("there is such a file already", self.archive("kept", self.file, ok=False))
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        with open(self.file, "rb") as file:
            self.assertNotIn(b"open sesame", file.read())
        self.client.run("delete", "kept")
        self.assertEqual([each["id"] for each in self.client.json("list")["jobs"]], ["open", "other"])

        os.chmod(self.file, 0o400)
        os.chmod(os.path.dirname(self.file), 0o500)
        held = state_of(os.path.dirname(self.file))
        shown = self.enterShown(self.file)
        client = processes.Client(self.server, shown.address)
        after = self.answers(client, "kept")
        self.assertEqual(before["describe"]["spec"]["trainer"]["environment"], {"PASSWORD": "open sesame"})
        before = json.loads(json.dumps(before).replace("open sesame", HIDDEN))
        self.assertEqual(after.keys(), before.keys())
        for command, answer in before.items():
            self.assertEqual(after[command], answer, command)
        self.assertEqual([each["id"] for each in client.json("list")["jobs"]], ["kept"])
        self.assertEqual(client.workers(), [])

        for command in (["delete", "kept"], ["stop", "kept"], ["annotate", "kept", "--note", "x"],
                        ["cordon", "w1"], ["submit", os.path.join(self.cluster.folder, "other.json")]):
            done = subprocess.run(client.command(*command), capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0, command)
            self.assertIn(f"this server only shows {self.file}; it changes nothing", done.stderr, command)
            self.assertNotIn("first with", done.stderr, command)  # which would not help
        done = subprocess.run(client.command("best", "kept", "--download", os.path.join(self.folder, "model")),
                              capture_output=True, text=True, check=False)
        self.assertIn("stores no artifacts", done.stderr)
        self.assertEqual(shown.stop(), 0)
        self.assertEqual(os.listdir(shown.temporary), [])
        self.assertEqual(state_of(os.path.dirname(self.file)), held)

    @unittest.skipIf("WINNOW_TEST_POSTGRES" in os.environ, "a server on PostgreSQL makes no backups")
    def test_jobs_that_run_in_a_backup_are_shown_as_they_are(self):
        self.client.submit(job("open", trainer={"external": True}),
                           self.cluster.folder)
        self.client.run("ask", "open")
        processes.wait_until(self.client.workers, "the worker is there")
        backup = os.path.join(self.folder, "backup.db")
        self.client.run("backup", backup)
        client = processes.Client(self.server, self.enterShown(backup).address)
        # Each of these is a batch of its own, in which nothing falls due and nothing is started.
        for _ in range(3):
            self.assertEqual([worker["state"] for worker in client.workers()], ["LIVE"])
            described = client.json("describe", "open")
            self.assertEqual(described["state"], "RUNNING")
            self.assertEqual(described["trial_counts"]["running"], 1)

    def test_what_goes_with_read_only_is_checked(self):
        self.cluster.watch(self.client.submit(job("kept"), self.cluster.folder)).to_end()
        self.archive("kept", self.file)
        for flags, problem in (
                (["--local-workers", "2"], "--local-workers: has no meaning with --read-only"),
                (["--pools", "pools.json"], "--pools: has no meaning with --read-only"),
                (["--restore", "old.db"], "--restore: has no meaning with --read-only"),
                (["--require-tokens"], "has no tokens"),
                (["--db", self.server.database],
                 "is no file" if "postgresql:" in self.server.database else "a server uses the file or was killed"),
                (["--db", self.file + ".none"], "no such file")):
            done = subprocess.run([f"{processes.BIN}/winnow-server", "--read-only",
                                   *([] if "--db" in flags else ["--db", self.file]), "--listen", "127.0.0.1:0",
                                   "--http", "off", *flags], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0, flags)
            self.assertIn(problem, done.stderr, flags)


if __name__ == "__main__":
    processes.main()
