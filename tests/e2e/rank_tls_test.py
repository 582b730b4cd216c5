"""Ranks that talk TLS with each other: the same models, through kills, and which gangs do so."""

import os
import shutil
import signal
import stat
import tempfile
import unittest

import processes
from certificates import make_certificates
from processes import wait_until

# What a program of one's own can do with its credentials.
SHOWN = """
if [ -z "${WINNOW_RANK_CREDENTIALS:-}" ]; then echo "plain"; else
  cd "$WINNOW_RANK_CREDENTIALS" && openssl verify -CAfile authority.pem certificate.pem &&
  openssl x509 -noout -ext subjectAltName -in certificate.pem
fi
echo "loss=1"
"""


def training(folder, trainer):
    spec = {"name": trainer, "trainer": {"builtin": trainer}, "cluster": {"nodes": 3}, "strategy": "RANDOM", "seed": 5,
            "channels": {name: {"path": f"{folder}/{name}.csv", "label": "y"} for name in ("train", "validation")},
            "limits": {"max_trials": 2}}
    if trainer == "gbdt":
        return spec | {
            "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "logloss", "num_round": "400"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.1}}],
            "objective": {"metric": "validation:logloss", "goal": "MINIMIZE"}}
    return spec | {
        "static_hyperparameters": {"epochs": "60", "hidden_layers": "16", "batch_size": "48", "loss": "logistic"},
        "parameters": [{"name": "learning_rate", "continuous": {"min": 0.01, "max": 0.1}}],
        "objective": {"metric": "validation:loss", "goal": "MINIMIZE"}}


def environment(pid, name):
    with open(f"/proc/{pid}/environ", "rb") as file:
        variables = dict(each.split(b"=", 1) for each in file.read().split(b"\0") if b"=" in each)
    return variables.get(name.encode(), b"").decode()


class RankTls(unittest.TestCase):
    def credentials(self, cluster):
        """The folder of a rank's; "" as long as no program of a rank has begun."""
        found = [environment(pid, "WINNOW_RANK_CREDENTIALS") for worker in cluster.workers for pid in worker.trainers()]
        return max(found, default="")

    def run_training(self, trainer, when, kills):
        """What the database says of the job in the end. Kills a rank once it has trained for a while."""
        with processes.Cluster(workers=3, slots=1, server_flags=["--rank-tls", when]) as cluster:
            processes.write_table(f"{cluster.folder}/train.csv", 400, 1)
            processes.write_table(f"{cluster.folder}/validation.csv", 200, 2)
            job = cluster.client.submit(training(cluster.folder, trainer), cluster.folder)
            watch = cluster.watch(job)
            if kills:
                folder = wait_until(lambda: self.credentials(cluster), "ranks run")
                self.assertEqual(stat.S_IMODE(os.stat(f"{folder}/key.pem").st_mode), 0o600)
                wait_until(lambda: cluster.client.json("metrics", job)["points"], "it trains")
                os.kill(cluster.workers[2].pid, signal.SIGKILL)  # and with it its rank
                cluster.workers[2].start()
            self.assertEqual(watch.to_end(), 0, cluster.client.run("describe", job))
            for worker in cluster.workers:
                wait_until(lambda w=worker: not w.trainers(), "no rank is left")
                left = f"{worker.work}/credentials"
                self.assertEqual(os.listdir(left) if os.path.exists(left) else [], [])
            return processes.Record(cluster.client, job)

    def test_models_are_the_same_to_the_bit(self):
        for trainer in ("gbdt", "mlp"):
            with self.subTest(trainer=trainer):
                plain = self.run_training(trainer, "never", False)
                encrypted = self.run_training(trainer, "always", True)
                for record in (plain, encrypted):  # what is measured differs
                    record.points = [each for each in record.points if each["metric"] != "samples-per-second"]
                    record.reports = [row for row in record.reports if row[3] != "samples-per-second"]
                encrypted.expect_same(self, plain)

    def test_ranks_on_several_hosts_of_a_server_with_tls(self):
        folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.addCleanup(shutil.rmtree, folder)
        make_certificates(folder)
        flags = ["--tls-cert", f"{folder}/server.pem", "--tls-key", f"{folder}/server.key"]
        job = {"trainer": {"command": ["/bin/sh", "-c", SHOWN], "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
               "cluster": {"nodes": 2}, "limits": {"max_trials": 1}, "strategy": "RANDOM",
               "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
               "objective": {"metric": "loss", "goal": "MINIMIZE"}}
        with processes.Cluster(workers=0, slots=1, server_flags=flags) as cluster:
            cluster.client.address = f"unix:{cluster.server.database}.d/server.sock"
            with open(f"{folder}/token", "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                file.write(cluster.client.json("token", "create", "--role", "worker")["secret"])
            cluster.worker_flags = ["--tls-ca", f"{folder}/ca.pem", "--token-file", f"{folder}/token"]
            for name in ("one", "two"):
                cluster.add_worker(name)
            wait_until(lambda: len(cluster.client.workers()) == 2, "both workers are there")
            self.assertEqual(cluster.watch(cluster.client.submit(job | {"name": "within"}, folder)).to_end(), 0)
            self.assertIn("plain", cluster.client.run("logs", "within", "1"))
            cluster.workers[1].stop()
            cluster.add_worker("far", host="127.0.0.2")
            wait_until(lambda: "far" in [each["name"] for each in cluster.client.workers()], "the other worker is there")
            self.assertEqual(cluster.watch(cluster.client.submit(job | {"name": "across"}, folder)).to_end(), 0)
            printed = cluster.client.run("logs", "across", "1")
            self.assertIn("certificate.pem: OK", printed)
            self.assertIn("URI:winnow:job/across/trial/1/attempt/1/rank/0", printed)
            self.assertEqual(cluster.client.json("describe", "across").get("notices", []), [])


if __name__ == "__main__":
    processes.main()
