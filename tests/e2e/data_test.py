"""Data from anywhere: channels that are downloaded once for a host, divided among ranks, and streamed."""

import hashlib
import json
import os
import subprocess
import threading
import unittest

import data_server
import processes

MIB = 1 << 20
SIZE = int(os.environ.get("WINNOW_TEST_DATA_MIB", "32")) * MIB

# Says what it was given: the files of each channel with their digests.
TRAIN = """
import hashlib, json, os
import winnow_trainer as winnow
def digest(path):
    value = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            value.update(block)
    return value.hexdigest()
seen = {}
for name in winnow_channels:
    path = os.environ["SM_CHANNEL_" + name.upper()]
    assert json.loads(os.environ["SM_INPUT_DATA_CONFIG"])[name]["path"] == path
    if os.path.isdir(path):
        seen[name] = {os.path.relpath(os.path.join(at, each), path): digest(os.path.join(at, each))
                      for at, _, files in os.walk(path) for each in files}
    else:
        seen[name] = {os.path.basename(path): digest(path)}
print("seen", json.dumps([int(os.environ["RANK"]), seen]), flush=True)
winnow.report(1, loss=winnow.hyperparameters()["x"])
"""

# Reads each of three epochs of a pipe to its end, but only the begin of the second.
PIPE = """
import hashlib, json, os
import winnow_trainer as winnow
prefix = os.environ["SM_CHANNEL_TRAIN"]
seen = []
for epoch in range(3):
    value, count = hashlib.sha256(), 0
    with open(f"{prefix}_{epoch}", "rb") as file:
        while block := file.read(1 << 16):
            value.update(block)
            count += len(block)
            if epoch == 1:
                break
    seen.append(value.hexdigest() if epoch != 1 else count)
    winnow.report(epoch + 1, loss=winnow.hyperparameters()["x"])
print("seen", json.dumps([int(os.environ["RANK"]), seen]), flush=True)
"""


def digest(content):
    return hashlib.sha256(content).hexdigest()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


class Play(unittest.TestCase):
    """A cluster whose workers have empty directories of their own, and share one of downloads."""

    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(workers=0, server_flags=["--declare-workers", "3 x slots=2"]))
        self.client, self.folder = self.cluster.client, self.cluster.folder
        self.data = os.path.join(self.folder, "downloads")

    def worker(self, name, slots=2, flags=(), environment=None):
        """A worker without a shared folder; `environment` replaces variables of AWS."""
        worker = processes.Worker(self.cluster.server, self.folder, name, slots=slots,
                                  shared=os.path.join(self.folder, name, "own"),
                                  flags=["--data-dir", self.data, *flags],
                                  prefix=["env", "AWS_SHARED_CREDENTIALS_FILE=/nowhere", "AWS_CONFIG_FILE=/nowhere",
                                          "AWS_EC2_METADATA_DISABLED=true",
                                          *(f"{name}={value}" for name, value in (environment or {}).items())])
        self.cluster.workers.append(worker)
        worker.start()
        return worker

    def job(self, name, channels, script=TRAIN, trials=4, trainer=None, **more):
        code = os.path.join(self.folder, "code-" + name)
        write(os.path.join(code, "train.py"), script.replace("winnow_channels", repr(sorted(channels))))
        spec = {"name": name,
                "trainer": {"source": ".", "command": ["/usr/bin/python3", "train.py"], "resumes": False,
                            "metrics": [{"name": "loss"}], **(trainer or {})},
                "channels": channels,
                "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
                "limits": {"max_trials": trials}, **more}
        return self.client.submit(spec, code)

    def done(self, job, trials):
        self.assertEqual(self.cluster.watch(job).to_end(), 0, self.client.run("describe", job))
        self.assertEqual(int(self.client.json("describe", job)["trial_counts"].get("completed", 0)), trials,
                         self.client.run("describe", job))

    def seen(self, job):
        """[rank, what it printed] of all trials on all workers."""
        found = []
        for worker in self.cluster.workers:
            for folder, _, files in os.walk(os.path.join(worker.work, "jobs", job)):
                for name in files:
                    if not name.endswith(".stdout.log"):
                        continue
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found += [json.loads(line[5:]) for line in file if line.startswith("seen ")]
        return found

    def refused(self, job):
        """Why the job failed before any trial ran."""
        self.assertEqual(self.cluster.watch(job).to_end(), 1)
        described = self.client.json("describe", job)
        self.assertEqual(described["state"], "FAILED")
        self.assertEqual(int(described["trial_counts"].get("failed", 0)), 0)
        self.assertIn("The job's data could not be had", described["state_reason"])
        return described["state_reason"]


class Downloads(Play):
    def test_thirty_trials_on_two_workers_download_once_and_a_connection_that_is_cut_costs_nothing_that_came(self):
        content = os.urandom(MIB) * (SIZE // MIB)
        server = self.enterContext(data_server.DataServer(files={"/sets/train.bin": content}))
        cuts = [SIZE // 5 + 7, SIZE // 2 + 1, SIZE - 3]
        server.cuts = [("/sets/train.bin", at) for at in cuts]
        for name in ("w1", "w2"):
            self.worker(name)
        job = self.job("thirty", {"train": {"path": server.url + "/sets/train.bin", "sha256": digest(content)}}, trials=30)
        self.done(job, 30)
        self.assertEqual(self.seen(job), [[0, {"train": {"train.bin": digest(content)}}]] * 30)
        # Four connections, of which each went on where the one before had been cut.
        sent = server.sent()
        self.assertEqual([(each.code, each.begin) for each in sent],
                         [(200, 0)] + [(206, at) for at in cuts])
        self.assertEqual(server.bytes_sent(), SIZE)

        # Another job asks once whether it is still the same; one with other bytes is refused by name.
        again = self.job("again", {"train": {"path": server.url + "/sets/train.bin"}}, trials=2)
        self.done(again, 2)
        self.assertEqual([each.code for each in server.sent()[4:]], [304])
        wrong = self.job("wrong", {"train": {"path": server.url + "/sets/train.bin", "sha256": "0" * 64}}, trials=30)
        reason = self.refused(wrong)
        self.assertIn(f"channel train: {server.url}/sets/train.bin: its content has the SHA-256 {digest(content)}; "
                      f"expected {'0' * 64}", reason)
        self.assertEqual(server.bytes_sent(), SIZE)

        # What has changed is downloaded anew, and nobody's file changes under him.
        server.files["/sets/train.bin"] = b"another"
        changed = self.job("changed", {"train": {"path": server.url + "/sets/train.bin"}}, trials=2)
        self.done(changed, 2)
        self.assertEqual(self.seen(changed), [[0, {"train": {"train.bin": digest(b"another")}}]] * 2)

    def test_a_worker_that_is_killed_goes_on_with_its_download_and_says_how_far_it_is(self):
        content = os.urandom(MIB) * 8
        server = self.enterContext(data_server.DataServer(files={"/train.bin": content}))
        server.gate, server.cuts = threading.Event(), [("/train.bin", 5 * MIB)]
        worker = self.worker("w1")
        job = self.job("killed", {"train": {"path": server.url + "/train.bin"}}, trials=1)
        processes.wait_until(lambda: server.sent(), "the first part is sent")

        def preparing():
            attempts = self.client.json("describe", job, "1").get("attempts", [])
            return [rank.get("preparing", "") for attempt in attempts for rank in attempt.get("ranks", [])]
        processes.wait_until(lambda: any(text.startswith("downloads train: ") for text in preparing()), "it is told")
        self.assertRegex(self.client.run("describe", job, "1"), r"downloads train: \d\.\d MiB of 8\.0 MiB")
        self.assertIn("downloads train", worker.log())
        worker.kill()
        server.gate.set()
        server.gate = None
        worker.start()
        self.done(job, 1)
        self.assertEqual([each.begin for each in server.sent() if each.bytes][-1], 5 * MIB)
        self.assertEqual(self.seen(job)[-1], [0, {"train": {"train.bin": digest(content)}}])

    def test_a_file_from_before_the_host_has_started_anew_is_checked(self):
        content = os.urandom(MIB)
        server = self.enterContext(data_server.DataServer(files={"/train.bin": content}))
        self.worker("w1")
        channels = {"train": {"path": server.url + "/train.bin"}}
        self.done(self.job("before", channels, trials=1), 1)
        files = os.path.join(self.data, "files")
        info = next(os.path.join(files, name) for name in os.listdir(files) if name.endswith(".info"))

        def start_anew():
            with open(info, encoding="utf-8") as file:
                known = json.load(file)
            self.assertTrue(known["start"])
            write(info, json.dumps({**known, "start": "another"}))

        start_anew()
        self.done(self.job("same", channels, trials=1), 1)
        self.assertEqual([each.code for each in server.sent()], [200, 304])
        start_anew()
        data = info.removesuffix(".info")
        os.chmod(data, 0o600)
        with open(data, "r+b") as file:
            file.write(bytes(1000))  # as if these had not reached the disk
        job = self.job("damaged", channels, trials=1)
        self.done(job, 1)
        self.assertEqual([each.code for each in server.sent()], [200, 304, 200])
        self.assertEqual(self.seen(job), [[0, {"train": {"train.bin": digest(content)}}]])

    def test_a_server_of_data_that_is_away_is_told_while_it_is_tried_again(self):
        server = self.enterContext(data_server.DataServer(files={"/train.csv": b"x"}))
        server.broken["/train.csv"] = 503, 1000
        self.worker("w1")
        job = self.job("away", {"train": {"path": server.url + "/train.csv"}}, trials=1)
        said = (f"downloads train: {server.url}/train.csv: the server answered 503; it is tried again until nothing has "
                "come for 60 s")
        processes.wait_until(server.sent, "it is asked for, so that there is a trial")
        processes.wait_until(lambda: said in self.client.run("describe", job, "1"), "it is told of the trial")
        self.assertEqual(self.client.json("describe", job)["state_reason"], f"Trial 1 {said}.")
        server.broken.clear()
        self.done(job, 1)
        self.assertNotIn("downloads", self.client.json("describe", job)["state_reason"])

    def test_errors_name_the_url_and_what_was_expected_and_end_the_job(self):
        server = self.enterContext(data_server.DataServer(files={"/train.csv": b"x"}))
        server.broken["/train.csv"] = 503, 2  # passes
        self.worker("w1")
        self.done(self.job("passing", {"train": {"path": server.url + "/train.csv"}}, trials=1), 1)
        reason = self.refused(self.job("missing", {"train": {"path": server.url + "/none.csv"}}))
        self.assertIn(f"channel train: {server.url}/none.csv: the server answered 404 (NoSuchKey); expected a file there",
                      reason)
        reason = self.refused(self.job("signed", {"train": {"path": server.url + "/none.csv?Signature=hidden"}}))
        self.assertNotIn("hidden", reason)

    def test_built_in_trainers_read_what_was_downloaded(self):
        table = os.path.join(self.folder, "table.csv")
        processes.write_table(table, 400, 3)
        with open(table, "rb") as file:
            server = self.enterContext(data_server.DataServer(files={"/table.csv": file.read()}))
        self.worker("w1")
        job = self.client.submit({
            "name": "builtin", "trainer": {"builtin": "gbdt"}, "strategy": "RANDOM",
            "channels": {"train": {"path": server.url + "/table.csv", "label": "y", "validation_fraction": 0.25}},
            "static_hyperparameters": {"objective": "binary:logistic", "num_round": "5"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.1, "max": 0.5}}],
            "objective": {"metric": "validation:logloss", "goal": "MINIMIZE"}, "limits": {"max_trials": 3}}, self.folder)
        self.done(job, 3)
        self.assertEqual(len([each for each in server.sent() if each.bytes]), 1)


@unittest.skipUnless(data_server.botocore, "needs python3-botocore, which checks signatures")
class Buckets(Play):
    KEY = data_server.Key("AKIDEXAMPLE", "a/secret+with=signs", "a token/with+signs==", "eu-test-1")

    def setUp(self):
        super().setUp()
        self.objects = {f"day=1/part {number}+é.csv": f"{number}\n".encode() * 1000 for number in range(7)}
        self.objects["day=1/"] = b""
        self.objects["whole.bin"] = os.urandom(MIB) * (SIZE // MIB)
        self.server = self.enterContext(data_server.DataServer(buckets={"bucket": self.objects}, keys=[self.KEY]))

    def keys(self, key=None):
        key = key or self.KEY
        return {"AWS_ACCESS_KEY_ID": key.id, "AWS_SECRET_ACCESS_KEY": key.secret, "AWS_SESSION_TOKEN": key.token,
                "AWS_REGION": key.region}

    def test_an_object_is_downloaded_once_for_thirty_trials(self):
        for name in ("w1", "w2"):
            self.worker(name, environment=self.keys())
        cuts = [SIZE // 3, SIZE // 2, SIZE - 1]
        self.server.cuts = [("bucket/whole.bin", at) for at in cuts]
        job = self.job("object", {"train": {"path": "s3://bucket/whole.bin", "endpoint": self.server.url}}, trials=30)
        self.done(job, 30)
        self.assertEqual(self.server.bytes_sent(), SIZE)
        self.assertEqual([each.begin for each in self.server.sent()], [0, *cuts])
        self.assertEqual({json.dumps(each) for each in self.seen(job)},
                         {json.dumps([0, {"train": {"whole.bin": digest(self.objects["whole.bin"])}}])})

    def test_a_prefix_is_a_folder_and_sharded_ranks_download_only_their_keys(self):
        for name in ("w1", "w2", "w3"):
            self.data = os.path.join(self.folder, "downloads-" + name)  # as on three hosts
            self.worker(name, environment={**self.keys(), "AWS_ENDPOINT_URL": self.server.url})
        names = sorted(key for key in self.objects if key.startswith("day=1/") and key != "day=1/")
        job = self.job("prefix", {"train": {"path": "s3://bucket/day=1/", "distribution": "sharded"}}, trials=1,
                       cluster={"nodes": 3, "slots": 2})
        self.done(job, 1)
        found = {rank: seen["train"] for rank, seen in self.seen(job)}
        parts = [names[0:3], names[3:5], names[5:7]]
        self.assertEqual(found, {rank: {key[len("day=1/"):]: digest(self.objects[key]) for key in part}
                                 for rank, part in enumerate(parts)})
        self.assertEqual(sorted(each.path for each in self.server.sent() if not each.path.endswith("?")),
                         sorted("bucket/" + name for name in names))

    def test_files_are_downloaded_several_at_a_time_and_the_first_error_ends_it(self):
        names = [f"many/{number % 3}/{number}.bin" for number in range(8)]
        self.objects.update({name: name.encode() for name in names})
        self.worker("w1", environment=self.keys())
        channels = {"train": {"path": "s3://bucket/many/", "endpoint": self.server.url}}
        self.server.together = threading.Barrier(4)
        job = self.job("many", channels, trials=1)
        self.done(job, 1)
        self.assertEqual(self.seen(job), [[0, {"train": {name[len("many/"):]: digest(name.encode()) for name in names}}]])
        self.server.together = None
        self.server.broken[names[5]] = 403, 1000
        reason = self.refused(self.job("refused", channels, trials=1))
        self.assertIn(f"channel train: s3://bucket/{names[5]}: the server answered 403", reason)

    def test_credentials_of_files_of_secrets_and_none(self):
        home = os.path.join(self.folder, "home")
        write(f"{home}/.aws/credentials", "[default]\naws_access_key_id = other\naws_secret_access_key = other\n"
                                          f"[team]\naws_access_key_id={self.KEY.id}\naws_secret_access_key={self.KEY.secret}\n"
                                          f"aws_session_token={self.KEY.token}\n")
        write(f"{home}/.aws/config", f"[profile team]\nregion = {self.KEY.region}\nendpoint_url = {self.server.url}\n")
        files = {"AWS_SHARED_CREDENTIALS_FILE": f"{home}/.aws/credentials", "AWS_CONFIG_FILE": f"{home}/.aws/config"}
        worker = self.worker("w1", environment={**files, "AWS_PROFILE": "team"})
        channel = {"path": "s3://bucket/day=1/part 1+é.csv"}
        self.done(self.job("files", {"train": channel}, trials=1), 1)
        worker.stop()

        # A job's own, which no log and no answer shows.
        secrets = os.path.join(self.folder, "secrets")
        write(f"{secrets}/everyone/aws-secret", self.KEY.secret)
        write(f"{secrets}/everyone/aws-token", self.KEY.token)
        os.chmod(secrets, 0o700)
        worker = self.worker("w2", flags=["--secrets-dir", secrets])
        own = {"environment": {"AWS_ACCESS_KEY_ID": self.KEY.id, "AWS_REGION": self.KEY.region},
               "secrets": {"AWS_SECRET_ACCESS_KEY": "aws-secret", "AWS_SESSION_TOKEN": "aws-token"}}
        channel["endpoint"] = self.server.url
        self.done(self.job("secrets", {"train": channel}, trials=1, trainer=own), 1)

        # The file is on the host now; who may not read it at the server does not get it either.
        reason = self.refused(self.job("nobody", {"train": channel}))
        self.assertIn("s3://bucket/day=1/part 1+é.csv: the server answered 403 (AccessDenied); no credentials were found "
                      "in AWS_ACCESS_KEY_ID", reason)
        for name, key, said in (
                ("expired", self.KEY._replace(id="AKIDOLD", expired=True), r"400 \(ExpiredToken\); the credentials from the "
                 "job's AWS_ACCESS_KEY_ID have expired"),
                ("wrong", self.KEY._replace(secret="wrong-secret"), r"403 \(SignatureDoesNotMatch\); expected credentials that may"),
                ("region", self.KEY._replace(region="us-east-1"), r"400 \(AuthorizationHeaderMalformed\); expected the bucket's "
                 "region in AWS_REGION; it was us-east-1")):
            with self.subTest(name):
                if name == "expired":
                    self.server.keys[key.id] = key
                reason = self.refused(self.job(name, {"train": channel}, trainer={"environment": self.keys(key)}))
                self.assertRegex(reason, said)
                self.assertNotIn(key.secret, reason)
                self.assertNotIn(key.token, reason)
        for log in (worker.log(), self.cluster.server.log()):
            self.assertNotIn(self.KEY.secret, log)
            self.assertNotIn(self.KEY.token, log)

    def test_a_role_of_the_worker_gives_credentials_and_those_that_have_expired_are_told(self):
        def answer(key, expiration):
            return {"Code": "Success", "AccessKeyId": key.id, "SecretAccessKey": key.secret, "Token": key.token,
                    "Expiration": expiration}
        channel = {"path": "s3://bucket/day=1/part 1+é.csv", "endpoint": self.server.url}
        region = {"AWS_REGION": self.KEY.region}
        valid = answer(self.KEY, "2999-01-01T00:00:00Z")
        with data_server.RoleServer(valid) as role:
            write(f"{self.folder}/authorization", role.AUTHORIZATION + "\n")
            container = {**region, "AWS_CONTAINER_CREDENTIALS_FULL_URI": role.url + "/container",
                         "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": f"{self.folder}/authorization"}
            machine = {**region, "AWS_EC2_METADATA_SERVICE_ENDPOINT": role.url, "AWS_EC2_METADATA_DISABLED": "false"}
            for name, environment in (("container", container), ("machine", machine)):
                worker = self.worker("w-" + name, environment=environment)
                self.done(self.job(name, {"train": channel}, trials=2), 2)
                # They are asked for once, not for every request.
                self.assertEqual(role.asked, ["GET /container"] if name == "container" else [
                    "PUT /latest/api/token", "GET /latest/meta-data/iam/security-credentials/",
                    "GET /latest/meta-data/iam/security-credentials/" + role.ROLE])
                role.asked.clear()
                worker.stop()

            # A job's own credentials come first.
            worker = self.worker("w-own", environment=machine)
            self.done(self.job("own", {"train": channel}, trials=1, trainer={"environment": self.keys()}), 1)
            self.assertEqual(role.asked, [])
            worker.stop()

            for name, environment, said in (
                    ("expired", container, r"the credentials of the worker's container, from http://127.0.0.1:\d+/container have "
                     "expired at 2020-01-01T00:00:00"),
                    ("revoked", machine, r"400 \(ExpiredToken\); the credentials of the worker's role tuning, from "
                     r"http://127.0.0.1:\d+ have expired"),
                    ("none", machine, r"403 \(AccessDenied\); no credentials were found .*, nor for a role of the worker's"),
                    ("denied", {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/dev/null"},
                     r"/container \(AWS_CONTAINER_CREDENTIALS_FULL_URI\) answered 401; expected the credentials of the worker's role"),
                    ("far", {**region, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.org/"},
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI of the worker is http://example.org/; expected https://, or http:// with an "
                     "address of the machine")):
                with self.subTest(name):
                    old = self.KEY._replace(id="AKIDOLD", expired=True)
                    self.server.keys[old.id] = old
                    role.credentials = {"expired": answer(self.KEY, "2020-01-01T00:00:00Z"), "none": None,
                                        "revoked": answer(old, "2999-01-01T00:00:00Z")}.get(name, valid)
                    worker = self.worker("w-" + name, environment=environment)
                    reason = self.refused(self.job(name, {"train": channel}, trials=30))
                    self.assertRegex(reason, said)
                    for secret in (self.KEY.secret, self.KEY.token, role.SESSION, role.AUTHORIZATION):
                        self.assertNotIn(secret, reason + worker.log())
                    worker.stop()

    def test_virtual_hosts_and_missing_objects(self):
        with data_server.DataServer(buckets={"bucket": self.objects}, keys=[self.KEY], virtual_host="localhost") as server:
            self.worker("w1", environment=self.keys())
            endpoint = f"http://{{bucket}}.localhost:{server.port}"
            self.done(self.job("virtual", {"train": {"path": "s3://bucket/day=1/part 2+é.csv", "endpoint": endpoint}}, trials=1), 1)
            self.assertIn("s3://bucket/none: the server answered 404 (NoSuchKey); expected an object with that key; for all "
                          "objects whose keys begin so, a path that ends in '/'",
                          self.refused(self.job("none", {"train": {"path": "s3://bucket/none", "endpoint": endpoint}})))
            self.assertIn("s3://bucket/none/: no object's key begins so",
                          self.refused(self.job("empty", {"train": {"path": "s3://bucket/none/", "endpoint": endpoint}})))


class Parts(Play):
    def test_lines_and_files_of_a_host_are_divided_among_ranks(self):
        rows = [f'{number},"a ""quoted""\nfield {number}"\n' for number in range(100)]
        write(f"{self.folder}/table.csv", "number,text\n" + "".join(rows))
        write(f"{self.folder}/lines.jsonl", "".join(json.dumps({"n": number}) + "\n" for number in range(10)))
        for number in range(5):
            write(f"{self.folder}/files/{number}.txt", f"file {number}")
        for name in ("w1", "w2", "w3"):
            self.worker(name)
        sharded = {"distribution": "sharded"}
        job = self.job("parts", {"table": {"path": f"{self.folder}/table.csv", **sharded},
                                 "lines": {"path": f"{self.folder}/lines.jsonl", **sharded},
                                 "files": {"path": f"{self.folder}/files", **sharded},
                                 "all": {"path": f"{self.folder}/files"}}, trials=2, cluster={"nodes": 3, "slots": 2})
        self.done(job, 2)
        lines = [json.dumps({"n": number}) + "\n" for number in range(10)]
        cut = lambda things, rank, at: "".join(things[at[rank]:at[rank + 1]]).encode()  # noqa: E731
        everything = {f"{number}.txt": digest(f"file {number}".encode()) for number in range(5)}
        for rank, seen in self.seen(job):
            self.assertEqual(seen, {
                "table": {"table.csv": digest(b"number,text\n" + cut(rows, rank, [0, 34, 67, 100]))},
                "lines": {"lines.jsonl": digest(cut(lines, rank, [0, 4, 7, 10]))},
                "files": dict(list(everything.items())[[0, 2, 4, 5][rank]:[0, 2, 4, 5][rank + 1]]),
                "all": everything})
        self.assertEqual(len(self.seen(job)), 6)
        write(f"{self.folder}/two.csv", "a\n1\n2\n")
        reason = self.refused(self.job("few", {"table": {"path": f"{self.folder}/two.csv", **sharded}},
                                       cluster={"nodes": 3, "slots": 2}))
        self.assertIn("two.csv has 2 lines of data for 3 ranks", reason)


class Pipes(Play):
    def test_epochs_are_streamed_from_files_and_from_urls(self):
        content = os.urandom(MIB) * 8
        write(f"{self.folder}/parts/a", content[:5 * MIB])
        write(f"{self.folder}/parts/b", content[5 * MIB:])
        server = self.enterContext(data_server.DataServer(files={"/train.bin": content}))
        server.cuts = [("/train.bin", 3 * MIB)]
        self.worker("w1")
        for name, path in (("files", f"{self.folder}/parts"), ("url", server.url + "/train.bin")):
            with self.subTest(name):
                job = self.job("pipe-" + name, {"train": {"path": path, "mode": "pipe"}}, script=PIPE, trials=3)
                self.done(job, 3)
                for _, (first, count, third) in self.seen(job):
                    self.assertEqual((first, third), (digest(content), digest(content)))
                    self.assertGreater(count, 0)
        self.assertEqual([], [name for name in os.listdir(f"{self.data}/files") if not name.endswith(".lock")])
        self.assertEqual(int(self.client.json("describe", job)["trial_counts"].get("failed", 0)), 0)

    def test_built_in_trainers_read_pipes_and_make_the_same_model(self):
        table = os.path.join(self.folder, "table.csv")
        processes.write_table(table, 400, 3)
        with open(table, "rb") as file:
            server = self.enterContext(data_server.DataServer(files={"/table.csv": file.read()}))
        self.worker("w1")
        for builtin, static in (("gbdt", {"objective": "binary:logistic", "num_round": "5"}),
                                ("mlp", {"epochs": "3", "num_layers": "1", "layer_width": "8", "batch_size": "32", "eval_metric": "loss"})):
            models = {}
            for mode, path in (("file", table), ("pipe", table), ("pipe", server.url + "/table.csv")):
                with self.subTest(builtin=builtin, path=path, mode=mode):
                    rate, metric = ("eta", "logloss") if builtin == "gbdt" else ("learning_rate", "loss")
                    job = self.client.submit({
                        "name": f"{builtin}-{len(models)}", "trainer": {"builtin": builtin}, "strategy": "HYPERBAND",
                        "channels": {"train": {"path": path, "mode": mode, "label": "y", "validation_fraction": 0.25}},
                        "static_hyperparameters": static, "hyperband": {"max_resource": 3},
                        "parameters": [{"name": rate, "continuous": {"min": 0.1, "max": 0.5}}], "seed": 5,
                        "objective": {"metric": "validation:" + metric, "goal": "MINIMIZE"}}, self.folder)
                    self.assertEqual(self.cluster.watch(job).to_end(), 0, self.client.run("describe", job))
                    self.client.run("best", job, "--download", f"{self.folder}/{job}")
                    content = b""
                    for folder, _, files in sorted(os.walk(f"{self.folder}/{job}")):
                        for name in sorted(files):
                            with open(os.path.join(folder, name), "rb") as file:
                                content += name.encode() + file.read()
                    models[mode, path] = content
            self.assertEqual(len(set(models.values())), 1)
        # An error names the channel and the line, not the memory.
        write(table, "y,x\n1,2\n1\n")
        job = self.client.submit({
            "name": "broken", "trainer": {"builtin": "gbdt"}, "strategy": "RANDOM",
            "channels": {"train": {"path": table, "mode": "pipe", "label": "y", "validation_fraction": 0.25}},
            "static_hyperparameters": {"objective": "binary:logistic", "num_round": "5"},
            "parameters": [{"name": "eta", "continuous": {"min": 0.1, "max": 0.5}}], "limits": {"max_trials": 1},
            "objective": {"metric": "validation:logloss", "goal": "MINIMIZE"}}, self.folder)
        self.assertEqual(self.cluster.watch(job).to_end(), 1)
        reason = self.client.json("describe", job, "1")["attempts"][0]["reason"]
        self.assertRegex(reason, "channel train: the pipe:3: 1 fields found")
        self.assertNotIn("/proc", reason)

    def test_a_stream_that_breaks_for_good_ends_no_epoch(self):
        content = os.urandom(MIB) * 4
        server = self.enterContext(data_server.DataServer(files={"/train.bin": content}, etags=False))
        server.cuts = [("/train.bin", 2 * MIB)] * 30  # and the rest cannot be had without an ETag
        self.worker("w1")
        reason = self.refused(self.job("breaks", {"train": {"path": server.url + "/train.bin", "mode": "pipe"}}, script=PIPE))
        self.assertIn("channel train: " + server.url + "/train.bin: the connection broke", reason)


class Refusals(Play):
    def test_the_job_file_is_checked_before_anything_starts(self):
        def said(channel, **more):
            spec = {"name": "bad", "trainer": {"command": ["true"], "metrics": [{"name": "loss"}]},
                    "channels": {"train": channel}, "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                    "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": 1},
                    **more}
            path = os.path.join(self.folder, "bad.json")
            write(path, json.dumps(spec))
            done = subprocess.run(self.client.command("submit", path), capture_output=True, text=True,
                                  timeout=processes.PATIENCE, check=False)
            self.assertNotEqual(done.returncode, 0)
            return done.stderr
        self.assertRegex(said({"path": "ftp://host/x"}), "channels.train.path.*another scheme; expected http://, https:// or s3://")
        self.assertNotIn("hunter2", said({"path": "https://user:hunter2@host/x"}))
        self.assertRegex(said({"path": "https://host/folder/"}), "ends in '/'; expected one file")
        self.assertRegex(said({"path": "https://host/x", "sha256": "abc"}), "channels.train.sha256.*64 lower-case")
        self.assertRegex(said({"path": "x", "sha256": "0" * 64}), "only with the URL of one file")
        self.assertRegex(said({"path": "https://host/x", "endpoint": "https://s3"}), "channels.train.endpoint.*s3://")
        self.assertRegex(said({"path": "s3://bucket/x", "endpoint": "s3.host"}), "channels.train.endpoint.*http:// or https://")
        self.assertRegex(said({"path": "x", "mode": "stream"}), "channels.train.mode.*file, pipe")
        self.assertRegex(said({"path": "x", "mode": "pipe", "label": "y", "distribution": "sharded"}, trainer={"builtin": "gbdt"},
                              objective={"metric": "validation:logloss", "goal": "MINIMIZE"}, cluster={"nodes": 3}),
                         "the ranks of gbdt divide a directory themselves")
        self.assertRegex(said({"path": "s3://bucket/x", "mode": "pipe", "distribution": "sharded"}, cluster={"nodes": 3}),
                         "channels.train.mode.*counted at its end")


if __name__ == "__main__":
    processes.main()
