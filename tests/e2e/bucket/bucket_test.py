"""Checkpoints and models in a bucket of a real server of S3: another server, with another state directory, has them. Requests are
signed right with odd names; wrong settings are told at the start; a bucket that goes away is waited for.
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import data_server  # noqa: E402
import gate  # noqa: E402
import processes  # noqa: E402
from processes import wait_until  # noqa: E402

PREFIX = "teams/a b+ü=1"
KEY = data_server.Key("AKIDEXAMPLE", "wJalr/XUtn+FEMI=EXAMPLE", "to+ken/==", "eu-west-1")
WEIGHTS = 100 << 20

# Has a checkpoint at level 1, and waits there for a gate.
TRAINER = r"""
set -eu
if [ -e "$WINNOW_CHECKPOINT_DIR/count" ]; then
  echo "goes on with $(sha256sum < "$WINNOW_CHECKPOINT_DIR/weights")"
else
  head -c "$2" /dev/urandom > "$WINNOW_CHECKPOINT_DIR/weights"
  echo 1 > "$WINNOW_CHECKPOINT_DIR/count"
  echo "level=1 loss=1"
  while [ ! -e "$1" ]; do sleep 0.05; done
fi
cp "$WINNOW_CHECKPOINT_DIR/weights" "$SM_MODEL_DIR/model"
echo "level=2 loss=0.5"
"""


def job(folder, name="shell", size=WEIGHTS):
    with open(f"{folder}/trainer.sh", "w", encoding="ascii") as file:
        file.write(TRAINER)
    return {"name": name, "strategy": "RANDOM", "limits": {"max_trials": 1, "max_trial_resource": 2}, "seed": 3,
            "trainer": {"command": ["/bin/sh", f"{folder}/trainer.sh", f"{folder}/gate", str(size)],
                        "resource_regex": "level=([0-9]+)", "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}}


def rows(database, sql):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def most_memory(pid):
    """The most bytes that the process has had in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))


class BucketTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.bucket = gate.Bucket(f"{self.folder}/bucket", KEY)
        self.addCleanup(self.bucket.close)
        self.credentials = f"{self.folder}/credentials"
        self.write_credentials(KEY.secret)

    def write_credentials(self, secret, mode=0o600):
        with open(self.credentials, "w", encoding="ascii") as file:
            file.write(f"[default]\naws_access_key_id = {KEY.id}\naws_secret_access_key = {secret}\n"
                       f"aws_session_token = {KEY.token}\n")
        os.chmod(self.credentials, mode)

    def flags(self, place=f"s3://models/{PREFIX}", region=KEY.region):
        return ["--artifacts", place, "--s3-endpoint", self.bucket.url, "--s3-region", region,
                "--s3-credentials", self.credentials]

    def server(self, name, lease=2, **options):
        os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        server = processes.Server(f"{self.folder}/{name}", flags=[*self.flags(), "--lease", str(lease)], **options)
        self.addCleanup(server.kill)
        return server

    def worker(self, server, name):
        worker = processes.Worker(server, self.folder, name, shared=f"{self.folder}/{name}/shared")
        self.addCleanup(worker.kill)
        worker.start()
        return worker

    def refusal(self, flags):
        """What the server says when it does not start."""
        done = subprocess.run([f"{processes.BIN}/winnow-server", "--db", f"{self.folder}/refused.db", "--listen", "127.0.0.1:0",
                               "--http", "off", "--local-workers", "0", *flags], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertIn(done.returncode, (1, 2))
        return done.stderr

    def test_another_server_has_them(self):
        first = self.server("a")
        first.start()
        client = processes.Client(first)
        # A second worker, so that checkpoints are sent; it gets the trial later.
        one, other = self.worker(first, "w1"), self.worker(first, "w2")
        wait_until(lambda: len(client.workers()) == 2, "both workers are there")
        self.bucket.hold = threading.Event()
        name = client.submit(job(self.folder), self.folder)
        wait_until(lambda: one.trainers() or other.trainers(), "it trains")
        runner, second_worker = (one, other) if one.trainers() else (other, one)
        self.assertTrue(self.bucket.held.wait(60), "an upload has begun")
        first.kill()  # in the middle of it
        self.assertEqual(self.bucket.keys(PREFIX + "/blobs/"), [])
        self.bucket.hold.set()
        self.bucket.hold = None
        first.start()
        wait_until(lambda: rows(first.database, "SELECT 1 FROM artifacts WHERE kind = 'checkpoint'"), "a checkpoint is kept")
        self.assertEqual(len(self.bucket.keys(PREFIX + "/blobs/")), WEIGHTS // (4 << 20) + 1)
        self.assertLess(most_memory(first.pid), WEIGHTS)
        with open(f"{runner.folder}/shared/jobs/{name}/trials/1/checkpoint/weights", "rb") as file:
            weights = file.read()
        # The server's machine and the worker's are lost: the database is there, the state directory is not.
        for program in (runner, first):
            program.kill()
        for pid in processes.processes_naming(runner.folder):
            processes.kill_all([pid])
        shutil.rmtree(runner.folder)
        os.makedirs(f"{self.folder}/b")
        connection = sqlite3.connect(first.database)
        connection.execute("VACUUM INTO ?", (f"{self.folder}/b/winnow.db",))
        connection.close()
        open(f"{self.folder}/gate", "w", encoding="ascii").close()
        second = self.server("b", listen=first.address)
        second.start()
        watch = processes.Watch(processes.Client(second), name)
        self.addCleanup(watch.close)
        self.assertEqual(watch.to_end(), 0)
        self.assertIn(": its checkpoint has been fetched", second_worker.log())
        folder = f"{self.folder}/model"
        processes.Client(second).json("best", name, "--download", folder)
        with open(f"{folder}/model", "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).digest(), hashlib.sha256(weights).digest())
        # It has sent the checkpoint and the model, and kept neither.
        self.assertLess(most_memory(second.pid), 2 * WEIGHTS)
        self.assertEqual(self.bucket.refused, [])
        # What a deleted job had is deleted.
        processes.Client(second).run("delete", name)
        wait_until(lambda: self.bucket.keys(PREFIX + "/blobs/") == [], "its objects are deleted")

    def test_a_bucket_that_goes_away_is_waited_for(self):
        server = self.server("a")
        server.start()
        client = processes.Client(server)
        open(f"{self.folder}/gate", "w", encoding="ascii").close()
        self.bucket.failing = 2  # passing failures
        self.worker(server, "w1")
        name = client.submit(job(self.folder, size=1000), self.folder)
        wait_until(lambda: rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'"), "the model is kept")
        self.bucket.shut()
        # Another trial is decided, trained and ended all the same.
        other = client.submit(job(self.folder, "other", 2000), self.folder)
        watch = processes.Watch(client, other)
        self.addCleanup(watch.close)
        self.assertEqual(watch.to_end(), 0)
        refused = client.run("best", name, "--download", f"{self.folder}/none", ok=(1,))
        self.assertEqual(refused, "")
        wait_until(lambda: f"bucket models at {self.bucket.url}: " in server.log(), "the server says what is away")
        self.bucket.open()
        wait_until(lambda: len(rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'")) == 2,
                   "the other model is kept too")
        client.json("best", other, "--download", f"{self.folder}/model")
        self.assertEqual(os.path.getsize(f"{self.folder}/model/model"), 2000)

    def test_wrong_settings_are_told_at_the_start(self):
        place = f"bucket models at {self.bucket.url}: "
        self.write_credentials("another")
        self.assertIn(f"{place}the service answered 403 (SignatureDoesNotMatch); expected credentials that may read, write, "
                      f"delete and list; these are in {self.credentials}", self.refusal(self.flags()))
        self.write_credentials(KEY.secret, 0o640)
        self.assertIn(f"--s3-credentials: {self.credentials} has mode 0640: others may use it; expected 0600",
                      self.refusal(self.flags()))
        self.write_credentials(KEY.secret)
        self.assertIn("the service answered 404 (NoSuchBucket); expected a bucket that exists",
                      self.refusal(self.flags("s3://absent/x")))
        self.assertIn("expected the bucket's region in --s3-region", self.refusal(self.flags(region="us-east-1")))
        self.assertIn("--artifacts: http://models/x is no bucket", self.refusal(self.flags("http://models/x")))
        self.assertEqual(self.bucket.keys(), [])
        # The prefix of another database.
        first = self.server("a")
        first.start()
        first.stop()
        self.assertIn("has the artifacts of another database", self.refusal(self.flags()))
        self.bucket.shut()
        said = self.refusal(self.flags())
        self.assertIn(place, said)
        self.assertIn("Failed to connect", said)


if __name__ == "__main__":
    if gate.missing():
        print(f"skipped here: {gate.missing()}")
        sys.exit(processes.SKIPPED)
    processes.main()
