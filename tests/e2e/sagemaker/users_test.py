"""Ten users at once, each with names of their own; jobs whose creation a kill cut off; and what `winnow sagemaker` says."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import concurrent.futures  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sqlite3  # noqa: E402
import subprocess  # noqa: E402
import unittest  # noqa: E402

from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402

KEYS = [{"access_key_id": f"WNWTESTKEY{number:06}", "secret_access_key": f"secret-of-test-key-{number}",
         "account": f"{number:012}", "name": f"user{number}"} for number in range(1, 11)]


def ended(sagemaker, name):
    return processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] not in ("InProgress", "Stopping") else None)(
        sagemaker.describe_training_job(TrainingJobName=name)), f"{name} ends")


@unittest.skipUnless(sagemaker_clients.has_current_model(), "the boto3 of this machine is older than the endpoint")
class Users(unittest.TestCase):
    def test_ten_at_once_do_not_see_each_other(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(keys=KEYS))
        table = os.path.join(cluster.folder, "table.csv")
        sagemaker_clients.write_table(table, 300, 1)

        def work(user):
            """All users give the same names."""
            s3, sagemaker, logs = (cluster.boto3(service, user) for service in ("s3", "sagemaker", "logs"))
            s3.create_bucket(Bucket="bucket")
            s3.upload_file(table, "bucket", "data/train/train.csv")
            s3.upload_file(table, "bucket", "data/validation/validation.csv")
            s3.put_object(Bucket="bucket", Key="mine", Body=str(user).encode())
            sagemaker.create_training_job(**sagemaker_clients.training_job("job", "bucket", rounds=user + 2),
                                          Tags=[{"Key": "user", "Value": str(user)}])
            sagemaker.create_training_job(**sagemaker_clients.training_job(f"of-{user}", "bucket", rounds=2))
            described = ended(sagemaker, "job")
            ended(sagemaker, f"of-{user}")
            lines = logs.get_log_events(logGroupName="/aws/sagemaker/TrainingJobs", logStreamName="job/algo-1", startFromHead=True)["events"]
            other = f"of-{(user + 1) % len(KEYS)}"
            for call in (sagemaker.describe_training_job, sagemaker.stop_training_job, sagemaker.delete_training_job):
                with self.assertRaises(ClientError) as caught:
                    call(TrainingJobName=other)
                self.assertIn("Requested resource not found", str(caught.exception))
            self.assertEqual(logs.describe_log_streams(logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=other + "/")["logStreams"], [])
            with self.assertRaises(ClientError):  # another account's name in the ARN
                sagemaker.list_tags(ResourceArn=described["TrainingJobArn"].replace(KEYS[user]["account"], KEYS[(user + 1) % len(KEYS)]["account"]))
            return {"status": described["TrainingJobStatus"] + described.get("FailureReason", ""), "rounds": described["HyperParameters"]["num_round"],
                    "lines": sum("validation-auc" in line["message"] for line in lines),
                    "tags": sagemaker.list_tags(ResourceArn=described["TrainingJobArn"])["Tags"],
                    "jobs": sorted(each["TrainingJobName"] for each in sagemaker.list_training_jobs(MaxResults=100)["TrainingJobSummaries"]),
                    "mine": s3.get_object(Bucket="bucket", Key="mine")["Body"].read().decode(),
                    "buckets": [each["Name"] for each in s3.list_buckets()["Buckets"]]}

        with concurrent.futures.ThreadPoolExecutor(len(KEYS)) as threads:
            for user, said in enumerate(threads.map(work, range(len(KEYS)))):
                self.assertEqual(said["status"], "Completed")
                self.assertEqual(said, {"status": "Completed", "rounds": str(user + 2), "lines": user + 2, "tags": [{"Key": "user", "Value": str(user)}],
                                        "jobs": ["job", f"of-{user}"], "mine": str(user), "buckets": ["bucket"]})
        self.assertEqual(len(cluster.client.json("list")["jobs"]), 2 * len(KEYS))


class Creations(unittest.TestCase):
    def test_that_a_kill_cut_off_are_finished_once(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0))
        s3, sagemaker = cluster.boto3("s3"), cluster.boto3("sagemaker")
        sagemaker_clients.put_tables(cluster, s3)
        for name in ("known", "unknown", "stopped"):
            sagemaker.create_training_job(**sagemaker_clients.training_job(name, "bucket"))
        ids = {job["spec"]["name"]: job["id"] for job in cluster.client.json("list")["jobs"]}
        # "known" is killed after Winnow has created it, "unknown" before, "stopped" between Winnow's stop and the table's.
        cluster.server.kill()
        jobs = os.path.join(cluster.folder, "winnow.db.d", "sagemaker", "jobs.db")
        with sqlite3.connect(jobs) as database:
            self.assertEqual(database.execute("SELECT name FROM keys_of_jobs ORDER BY name").fetchall(), [("known",), ("stopped",), ("unknown",)])
            database.execute("UPDATE jobs SET winnow_job = '', secondary = 'Starting' WHERE name IN ('known', 'unknown')")
            # The time is a part of what Winnow knows a creation by: it has not seen this one.
            database.execute("UPDATE jobs SET created_us = created_us + 1 WHERE name = 'unknown'")
        database.close()
        cluster.restart()
        processes.wait_until(lambda: len(cluster.client.json("list")["jobs"]) == 4, "the creations are finished")
        now = sorted((job["spec"]["name"], job["id"]) for job in cluster.client.json("list")["jobs"])
        self.assertEqual([name for name, _ in now], ["known", "stopped", "unknown", "unknown"])
        self.assertLess(set(ids.items()), set(now))
        cluster.client.run("stop", ids["stopped"])
        for name in ("known", "unknown"):
            sagemaker.stop_training_job(TrainingJobName=name)
        for name in ("known", "unknown", "stopped"):
            self.assertEqual(ended(sagemaker, name)["TrainingJobStatus"], "Stopped")
        cluster.server.kill()
        with sqlite3.connect(jobs) as database:
            self.assertEqual(database.execute("SELECT name FROM keys_of_jobs").fetchall(), [])
            # From before keys had names, and of a job that ended while nobody looked.
            database.execute("CREATE TABLE job_keys (id TEXT PRIMARY KEY, secret TEXT, account TEXT) WITHOUT ROWID")
            database.execute("INSERT INTO job_keys VALUES ('WNWJ1', 'x', '1')")
            database.execute("INSERT INTO keys_of_jobs SELECT 'WNWJ2', 'x', account, kind, name FROM jobs WHERE name = 'known'")
        database.close()
        cluster.restart()
        cluster.server.kill()
        with sqlite3.connect(jobs) as database:
            self.assertEqual(database.execute("SELECT id FROM keys_of_jobs").fetchall(), [])
        database.close()


class Teams(unittest.TestCase):
    def test_the_jobs_of_an_account_belong_to_its_project_and_only_members_use_its_keys(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0, keys=KEYS[:1]))
        cluster.client.run("projects", "create", "vision")
        cluster.client.run("projects", "add-member", "vision", "ana")
        token = {name: cluster.client.run("token", "create", "--role", "submitter", "--name", name).strip() for name in ("ana", "ben")}
        of_vision = {"account": KEYS[0]["account"], "project": "vision"}
        with open(cluster.keys_file, "w", encoding="ascii") as file:
            json.dump([{**KEYS[0], **of_vision, "token": token["ana"]}, {**KEYS[1], **of_vision, "token": token["ben"]},
                       {**KEYS[2], "token": token["ben"]}], file)
        cluster.flags.append("--require-tokens")
        cluster.restart()
        cluster.found()
        admin = processes.Client(cluster.server, "unix:" + os.path.join(cluster.folder, "winnow.db.d", "server.sock"))
        ana, ben = ((cluster.boto3("s3", key), cluster.boto3("sagemaker", key)) for key in (0, 1))
        sagemaker_clients.put_tables(cluster, ana[0])
        ana[1].create_training_job(**sagemaker_clients.training_job("job", "bucket"))
        self.assertEqual([(job["id"], job["project"], job["owner"]) for job in admin.json("list")["jobs"]], [("job@vision", "vision", "ana")])
        self.assertEqual(cluster.boto3("s3", 2).list_buckets()["Buckets"], [])  # ben's own account

        def refused(client):
            for call, code in ((client[0].list_buckets, "AccessDenied"), (client[1].list_training_jobs, "AccessDeniedException")):
                with self.assertRaises(ClientError) as caught:
                    call()
                self.assertEqual(caught.exception.response["Error"]["Code"], code)
                self.assertIn("is no member of project vision", str(caught.exception))
        refused(ben)
        admin.run("projects", "add-member", "vision", "ben")
        self.assertEqual([job["TrainingJobName"] for job in ben[1].list_training_jobs()["TrainingJobSummaries"]], ["job"])
        with self.assertRaises(ClientError):
            ben[1].stop_training_job(TrainingJobName="job")  # ana's
        admin.run("projects", "remove-member", "vision", "ana")
        refused(ana)


    def test_a_key_may_do_what_the_role_of_its_token_says(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0, keys=KEYS[:1]))
        roles = ("submitter", "viewer", "worker")
        token = {role: cluster.client.run("token", "create", "--role", role, "--name", role).strip() for role in roles}
        with open(cluster.keys_file, "w", encoding="ascii") as file:
            json.dump([{**key, "account": KEYS[0]["account"], "token": token[role]} for key, role in zip(KEYS, roles)], file)
        cluster.flags.append("--require-tokens")
        cluster.restart()
        cluster.found()
        submitter, viewer, worker = ((cluster.boto3("s3", key), cluster.boto3("sagemaker", key)) for key in range(3))
        table = sagemaker_clients.put_tables(cluster, submitter[0])
        submitter[1].create_training_job(**sagemaker_clients.training_job("job", "bucket"))

        def refused(call, code, *args, **kwargs):
            with self.assertRaises(ClientError) as caught:
                call(*args, **kwargs)
            self.assertEqual(caught.exception.response["Error"]["Code"], code)
        self.assertEqual(viewer[0].get_object(Bucket="bucket", Key="data/train/train.csv")["ContentLength"], os.path.getsize(table))
        arn = viewer[1].describe_training_job(TrainingJobName="job")["TrainingJobArn"]
        self.assertEqual(viewer[1].list_tags(ResourceArn=arn)["Tags"], [])
        for s3, sagemaker in (viewer, worker):
            refused(s3.put_object, "AccessDenied", Bucket="bucket", Key="data/train/train.csv", Body=b"other")
            refused(s3.delete_object, "AccessDenied", Bucket="bucket", Key="data/train/train.csv")
            refused(s3.create_multipart_upload, "AccessDenied", Bucket="bucket", Key="x")
            refused(sagemaker.add_tags, "AccessDeniedException", ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])
            refused(sagemaker.delete_training_job, "AccessDeniedException", TrainingJobName="job")
            refused(sagemaker.create_training_job, "AccessDeniedException", **sagemaker_clients.training_job("more", "bucket"))
        refused(worker[0].get_object, "AccessDenied", Bucket="bucket", Key="data/train/train.csv")
        refused(worker[1].list_training_jobs, "AccessDeniedException")
        submitter[1].add_tags(ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])


class CommandLine(unittest.TestCase):
    def test_the_variables_it_prints_suffice_and_the_doctor_says_what_works(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0, keys=KEYS))
        folder = os.path.join(cluster.folder, "sdk")
        flags = ["--keys", cluster.keys_file, "--url", cluster.url]
        lines = cluster.client.run("sagemaker", "env", *flags, "--user", "user3", "--folder", folder)
        looks = "import boto3, os; print(boto3.client('sts', endpoint_url=os.environ['AWS_ENDPOINT_URL']).get_caller_identity()['Arn'])"
        done = subprocess.run(["sh", "-c", lines + 'exec "$0" -c "$1"', os.environ["WINNOW_TEST_BOTO3"], looks], env={"PATH": os.environ["PATH"]},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "arn:aws:iam::000000000003:user/user3\n", done.stderr)
        with open(os.path.join(folder, "resource-metadata.json"), encoding="utf-8") as file:
            role = json.load(file)["ExecutionRoleArn"].split("/")[1]
        self.assertEqual(cluster.boto3("iam", 2).get_role(RoleName=role)["Role"]["Arn"], "arn:aws:iam::000000000003:role/winnow")
        with open(os.path.join(folder, "config.yaml"), encoding="utf-8") as file:
            self.assertIn("DefaultS3Bucket: sagemaker-000000000003", file.read())
        found = cluster.client.json("sagemaker", "doctor", *flags)
        self.assertEqual([(each["what"], each["works"]) for each in found],
                         [(name, True) for name in ("key", "s3", "sagemaker", "monitoring", "logs")], found)
        variables = cluster.client.json("sagemaker", "env", *flags, "--user", "user2")
        done = subprocess.run(cluster.client.command("sagemaker", "doctor"), env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.count(" works ")), (0, 5), done)
        self.assertIn(variables["AWS_ACCESS_KEY_ID"], done.stdout)
        with open(cluster.keys_file, "w", encoding="ascii") as file:
            json.dump([{**KEYS[0], "secret_access_key": "another secret of that key"}], file)
        found = cluster.client.json("sagemaker", "doctor", *flags, ok=(1,))
        self.assertEqual((len(found), found[0]["works"]), (1, False))
        self.assertIn("does not match", found[0]["says"])
        self.assertIn("--keys: /none cannot be read", subprocess.run(
            cluster.client.command("sagemaker", "env", "--keys", "/none"), capture_output=True, text=True, check=False).stderr)


if __name__ == "__main__":
    processes.main()
