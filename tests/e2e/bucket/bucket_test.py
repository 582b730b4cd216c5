"""Checkpoints and models in a bucket of a real server of S3: another server, with another state directory, has them. Requests are
signed right with odd names; wrong settings are told at the start; a bucket that goes away is waited for.
"""

import datetime
import hashlib
import os
import shutil
import sqlite3
import ssl
import subprocess
import threading
import unittest.mock

import scene  # which makes the modules beside this folder known
from scene import KEY, PREFIX, job, most_memory
import certificates
import data_server
import processes
from processes import rows, wait_until

WEIGHTS = 48 << 20
MEMORY = 90 << 20  # of a server, however large the files are


class BucketTest(scene.Scene):
    def test_another_server_has_them(self):
        first = self.server("a")
        first.start()
        client = processes.Client(first)
        # A second worker, so that checkpoints are sent; it gets the trial later.
        one, other = self.worker(first, "w1"), self.worker(first, "w2")
        wait_until(lambda: len(client.workers()) == 2, "both workers are there")
        self.bucket.hold = threading.Event()
        name = client.submit(job(self.folder, size=WEIGHTS), self.folder)
        wait_until(lambda: one.trainers() or other.trainers(), "it trains")
        runner, second_worker = (one, other) if one.trainers() else (other, one)
        self.assertTrue(self.bucket.held.wait(processes.PATIENCE), "an upload has begun")
        first.kill()  # in the middle of it
        self.assertEqual(self.bucket.keys(PREFIX + "/blobs/"), [])
        self.bucket.hold.set()
        self.bucket.hold = None
        first.start()
        wait_until(lambda: rows(first.database, "SELECT 1 FROM artifacts WHERE kind = 'checkpoint'"), "a checkpoint is kept")
        self.assertEqual(len(self.bucket.keys(PREFIX + "/blobs/")), WEIGHTS // (4 << 20) + 1)
        self.assertLess(most_memory(first.pid), MEMORY)
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
        self.assertLess(most_memory(second.pid), MEMORY)
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
        name = client.submit(job(self.folder), self.folder)
        wait_until(lambda: rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'"), "the model is kept")
        self.bucket.shut()
        # Another trial is decided, trained and ended all the same.
        other = client.submit(job(self.folder, "other", 2000), self.folder)
        watch = processes.Watch(client, other)
        self.addCleanup(watch.close)
        self.assertEqual(watch.to_end(), 0)
        refused = subprocess.run(client.command("best", name, "--download", f"{self.folder}/none"), capture_output=True, text=True,
                                 timeout=processes.PATIENCE, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"the server cannot reach its artifacts now: bucket models at {self.bucket.url}: ", refused.stderr)
        self.assertFalse(os.path.exists(f"{self.folder}/none"))
        wait_until(lambda: f"bucket models at {self.bucket.url}: " in server.log(), "the server says what is away")
        self.bucket.open()
        wait_until(lambda: len(rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'")) == 2,
                   "the other model is kept too")
        client.json("best", other, "--download", f"{self.folder}/model")
        self.assertEqual(os.path.getsize(f"{self.folder}/model/model"), 2000)
        # The service has another key now, and so has the file, which is read again.
        self.bucket.checks.keys = {"AKIDNEW": data_server.Key("AKIDNEW", "new", KEY.token, KEY.region)}
        said = f"bucket models at {self.bucket.url}: the service answered 403 (InvalidAccessKeyId); expected credentials"
        client.run("best", other, "--download", f"{self.folder}/refused", ok=(1,))
        self.assertIn(said, server.log())
        self.write_credentials("new", id="AKIDNEW")
        client.json("best", other, "--download", f"{self.folder}/again")
        self.assertEqual(os.path.getsize(f"{self.folder}/again/model"), 2000)

    def test_wrong_settings_are_told_at_the_start(self):
        place = f"bucket models at {self.bucket.url}: "
        self.write_credentials("another")
        self.assertIn(f"{place}the service answered 403 (SignatureDoesNotMatch); expected credentials in --s3-credentials, in "
                      f"the environment, or of a role, that may read, write, delete and list; these are in {self.credentials}", self.refusal(self.flags()))
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
        # One that is away may come back: the server starts, and takes the prefix later.
        self.bucket.shut()
        second = self.server("b")
        second.start()
        self.assertIn(f"artifacts: {place}Failed to connect", second.log())
        self.assertIn("; the server starts without it", second.log())
        self.bucket.open()
        wait_until(lambda: "has the artifacts of another database" in second.log(), "it says whose prefix it is")

    def test_the_role_of_the_machine_gives_credentials(self):
        def answer(minutes):
            until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)
            return {"Code": "Success", "AccessKeyId": KEY.id, "SecretAccessKey": KEY.secret, "Token": KEY.token,
                    "Expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
        all_flags = self.flags()
        flags = all_flags[:all_flags.index("--s3-credentials")]
        with data_server.RoleServer(answer(60)) as role, unittest.mock.patch.dict(
                os.environ, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": role.url, "AWS_EC2_METADATA_DISABLED": "false"}):
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
                os.environ.pop(name, None)
            server = processes.Server(self.folder, flags=[*flags, "--lease", "2"])
            self.addCleanup(server.kill)
            server.start()
            self.worker(server, "w1")
            open(f"{self.folder}/gate", "w", encoding="ascii").close()
            processes.Client(server).submit(job(self.folder), self.folder)
            wait_until(lambda: rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'"), "the model is kept")
            self.assertNotEqual(self.bucket.keys(PREFIX + "/blobs/"), [])
            # They are asked for once; such as expire soon, for each request.
            self.assertEqual(role.asked.count("PUT /latest/api/token"), 1)
            server.stop()
            role.asked.clear()
            role.credentials = answer(3)
            server.start()
            self.assertGreater(role.asked.count("PUT /latest/api/token"), 2)
            server.stop()
            role.credentials = answer(-1)
            self.assertIn("the credentials of the server's role tuning", self.refusal(flags))
            role.credentials = None
            self.assertIn("there are no credentials for the bucket; expected --s3-credentials", self.refusal(flags))
            os.environ["AWS_ACCESS_KEY_ID"] = KEY.id
            self.assertIn("AWS_SECRET_ACCESS_KEY is not set, but AWS_ACCESS_KEY_ID is", self.refusal(flags))
        self.assertEqual(self.bucket.refused, [])

    def test_trainers_do_not_inherit_the_servers_credentials(self):
        all_flags = self.flags()
        flags = all_flags[:all_flags.index("--s3-credentials")]
        with unittest.mock.patch.dict(os.environ, {"AWS_ACCESS_KEY_ID": KEY.id, "AWS_SECRET_ACCESS_KEY": KEY.secret,
                                                   "AWS_SESSION_TOKEN": KEY.token}):
            server = processes.Server(self.folder, flags=[*flags, "--local-workers", "1"])
            self.addCleanup(server.stop)
            server.start()
        spec = job(self.folder)
        spec["trainer"]["command"] = ["/bin/sh", "-c", "env; tr '\\0' '\\n' < /proc/$1/environ; echo level=2 loss=1", "sh", str(server.pid)]
        client = processes.Client(server)
        name = client.submit(spec, self.folder)
        watch = processes.Watch(client, name)
        self.addCleanup(watch.close)
        self.assertEqual(watch.to_end(), 0)
        printed = client.run("logs", name, "1")
        self.assertIn("WINNOW_TRIAL", printed)
        for secret in (KEY.id, KEY.secret, KEY.token):
            self.assertNotIn(secret, printed)
        self.assertEqual(self.bucket.refused, [])

    def test_what_is_no_bucket(self):
        said = self.refusal(["--s3-endpoint", self.bucket.url])
        self.assertIn("--s3-endpoint: there is no bucket; expected --artifacts s3://BUCKET/PREFIX too", said)
        said = self.refusal(self.flags(region="eu west"))
        self.assertIn('--s3-region: "eu west" is no region; expected letters, digits', said)
        with data_server.DataServer() as other:
            said = self.refusal(self.flags(endpoint=other.url))
        self.assertIn(f"bucket models at {other.url}: the service answered 501; expected the URL of an S3-compatible service in "
                      "--s3-endpoint", said)
        said = self.refusal(self.flags(endpoint="http://absent.invalid"))
        self.assertIn("bucket models at http://absent.invalid: Could not resolve host: absent.invalid; expected the URL", said)

    def test_over_tls_by_its_authority_only(self):
        certificates.make_certificates(self.folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self.folder}/server.pem", f"{self.folder}/server.key")
        self.bucket.over_tls(context)
        self.assertIn("expected a certificate of its name by the authority in --s3-ca", self.refusal(self.flags()))
        server = self.server("a", more=["--s3-ca", f"{self.folder}/ca.pem"])
        server.start()
        self.assertEqual(self.bucket.keys(), [f"{PREFIX}/database"])


if __name__ == "__main__":
    scene.run()
