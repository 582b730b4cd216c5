"""A bucket behind a gate, and servers and workers whose checkpoints and models it has."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import data_server  # noqa: E402
import gate  # noqa: E402
import processes  # noqa: E402

PREFIX = "teams/a b+ü=1"
KEY = data_server.Key("AKIDEXAMPLE", "wJalr/XUtn+FEMI=EXAMPLE", "to+ken/==", "eu-west-1")

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


def job(folder, name="shell", size=1000):
    with open(f"{folder}/trainer.sh", "w", encoding="ascii") as file:
        file.write(TRAINER)
    return {"name": name, "strategy": "RANDOM", "limits": {"max_trials": 1, "max_trial_resource": 2}, "seed": 3,
            "trainer": {"command": ["/bin/sh", f"{folder}/trainer.sh", f"{folder}/gate", str(size)],
                        "resource_regex": "level=([0-9]+)", "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}}


def most_memory(pid):
    """The most bytes that the process has had in memory."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))


class Scene(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.bucket = gate.Bucket(f"{self.folder}/bucket", KEY)
        self.addCleanup(self.bucket.close)
        self.credentials = f"{self.folder}/credentials"
        self.write_credentials(KEY.secret)

    def write_credentials(self, secret, mode=0o600, id=KEY.id):
        with open(self.credentials, "w", encoding="ascii") as file:
            file.write(f"[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n"
                       f"aws_session_token = {KEY.token}\n")
        os.chmod(self.credentials, mode)

    def flags(self, place=f"s3://models/{PREFIX}", region=KEY.region, endpoint=None):
        return ["--artifacts", place, "--s3-endpoint", endpoint or self.bucket.url, "--s3-region", region,
                "--s3-credentials", self.credentials]

    def server(self, name, lease=2, more=(), **options):
        os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        server = processes.Server(f"{self.folder}/{name}", flags=[*self.flags(), "--lease", str(lease), *more], **options)
        self.addCleanup(server.kill)
        return server

    def worker(self, server, name):
        worker = processes.Worker(server, self.folder, name, shared=f"{self.folder}/{name}/shared")
        self.addCleanup(worker.kill)
        worker.start()
        return worker

    def task(self, folder, *flags):
        """What winnow-server does beside serving: its exit code, and what it prints."""
        done = subprocess.run([f"{processes.BIN}/winnow-server", "--db", f"{folder}/winnow.db", *flags], capture_output=True,
                              text=True, timeout=processes.PATIENCE, check=False)
        return done.returncode, done.stdout + done.stderr

    def refusal(self, flags):
        """What the server says when it does not start."""
        done = subprocess.run([f"{processes.BIN}/winnow-server", "--db", f"{self.folder}/refused.db", "--listen", "127.0.0.1:0",
                               "--http", "off", "--local-workers", "0", *flags], capture_output=True, text=True, timeout=processes.PATIENCE,
                              check=False)
        self.assertIn(done.returncode, (1, 2))
        return done.stderr


def run():
    if gate.missing():
        print(f"skipped here: {gate.missing()}")
        sys.exit(processes.SKIPPED)
    processes.main()
