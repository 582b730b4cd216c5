"""What the endpoint does about jobs that it cannot follow for a while."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import glob  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sqlite3  # noqa: E402
import tarfile  # noqa: E402
import unittest  # noqa: E402

from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402

KEYS = [{"access_key_id": f"WNWTESTKEY{number:06}", "secret_access_key": f"secret-of-test-key-{number}", "account": "000000000001"}
        for number in range(3)]


def ended(sagemaker, name):
    return processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] not in ("InProgress", "Stopping") else None)(
        sagemaker.describe_training_job(TrainingJobName=name)), f"{name} ends")


class Following(unittest.TestCase):
    def test_a_model_that_cannot_be_read_leaves_no_files_and_is_put_there_later(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint())
        s3, sagemaker = cluster.boto3("s3"), cluster.boto3("sagemaker")
        sagemaker_clients.put_tables(cluster, s3)
        sagemaker.create_training_job(**sagemaker_clients.training_job("job", "bucket", rounds=2))
        self.assertEqual(ended(sagemaker, "job")["TrainingJobStatus"], "Completed")
        state = os.path.join(cluster.folder, "winnow.db.d")
        # The server is as it was before it had put the model there, and cannot read the model's blobs.
        s3.delete_object(Bucket="bucket", Key="output/job/output/model.tar.gz")
        blobs = [name for name in glob.glob(os.path.join(state, "artifacts", "**", "*"), recursive=True) if os.path.isfile(name)]
        self.assertTrue(blobs)
        for blob in blobs:
            os.rename(blob, blob + ".away")
            os.symlink(blob, blob)
        with sqlite3.connect(os.path.join(state, "sagemaker", "jobs.db"), timeout=60) as database:
            database.execute("UPDATE jobs SET status = 'InProgress', ended_us = 0 WHERE name = 'job'")
        database.close()
        for number in range(3):  # the server looks at all jobs as soon as there is a new one, or one is to stop
            other = f"other-{number}"
            sagemaker.create_training_job(**sagemaker_clients.training_job(other, "bucket", rounds=100_000))
            sagemaker.stop_training_job(TrainingJobName=other)
            ended(sagemaker, other)
        processes.wait_until(lambda: "the job job cannot be followed" in cluster.server.log(), "the log says it")
        self.assertEqual(sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"], "InProgress")
        drafts = os.path.join(state, "sagemaker", "objects", "drafts")
        processes.wait_until(lambda: not os.listdir(drafts), "no draft is left")
        for blob in blobs:
            os.rename(blob + ".away", blob)
        self.assertEqual(ended(sagemaker, "job")["TrainingJobStatus"], "Completed")
        self.assertEqual(cluster.server.log().count("the job job cannot be followed"), 1)
        s3.head_object(Bucket="bucket", Key="output/job/output/model.tar.gz")
        self.assertEqual(os.listdir(drafts), [])

    def test_the_log_says_once_that_a_token_was_revoked(self):
        cluster = self.enterContext(sagemaker_clients.Endpoint(workers=0, keys=KEYS[:1]))
        token = {name: cluster.client.run("token", "create", "--role", "submitter", "--name", name).strip() for name in ("ana", "ben")}
        with open(cluster.keys_file, "w", encoding="ascii") as file:
            json.dump([{**KEYS[0], "token": token["ana"]}, {**KEYS[1], "token": token["ben"]}], file)
        cluster.flags.append("--require-tokens")
        cluster.restart()
        cluster.found()
        admin = processes.Client(cluster.server, "unix:" + os.path.join(cluster.folder, "winnow.db.d", "server.sock"))
        ana, ben = cluster.boto3("sagemaker", 0), cluster.boto3("sagemaker", 1)
        sagemaker_clients.put_tables(cluster, cluster.boto3("s3", 0))
        ana.create_training_job(**sagemaker_clients.training_job("of-ana", "bucket"))
        admin.run("token", "revoke", next(each["id"] for each in admin.json("token", "list")["tokens"] if each["name"] == "ana"))
        with self.assertRaises(ClientError):
            ana.list_training_jobs()
        for number in range(3):  # at each of which the server looks at all jobs
            ben.create_training_job(**sagemaker_clients.training_job(f"of-ben-{number}", "bucket"))
            ben.stop_training_job(TrainingJobName=f"of-ben-{number}")
            self.assertEqual(ended(ben, f"of-ben-{number}")["TrainingJobStatus"], "Stopped")
        self.assertEqual(cluster.server.log().count("the job of-ana cannot be followed"), 1)

    def test_a_definition_that_a_quota_refuses_is_trained_when_there_is_room(self):
        cluster = sagemaker_clients.Endpoint(workers=0, keys=KEYS[:1])
        cluster.images = {"pytorch-training": {"command": ["/usr/bin/python3"]}}
        self.enterContext(cluster)
        cluster.client.run("projects", "create", "vision")
        cluster.client.run("projects", "add-member", "vision", "ana")
        token = cluster.client.run("token", "create", "--role", "submitter", "--name", "ana").strip()
        with open(cluster.keys_file, "w", encoding="ascii") as file:
            json.dump([{**KEYS[0], "project": "vision", "token": token}], file)
        cluster.flags.append("--require-tokens")
        cluster.restart()
        admin = processes.Client(cluster.server, "unix:" + os.path.join(cluster.folder, "winnow.db.d", "server.sock"))
        s3, sagemaker = cluster.boto3("s3"), cluster.boto3("sagemaker")
        sagemaker_clients.put_tables(cluster, s3)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            tar.add(__file__, "train.py")
        s3.put_object(Bucket="bucket", Key="code/sourcedir.tar.gz", Body=archive.getvalue())

        def definition(name):
            training = sagemaker_clients.training_job("unused", "bucket")
            del training["TrainingJobName"], training["HyperParameters"]
            return {**training, "DefinitionName": name, "TuningObjective": {"Type": "Maximize", "MetricName": "accuracy"},
                    "AlgorithmSpecification": {"TrainingImage": "pytorch-training:1", "TrainingInputMode": "File",
                                               "MetricDefinitions": [{"Name": "accuracy", "Regex": "accuracy=([0-9.]+)"}]},
                    "StaticHyperParameters": {"sagemaker_program": '"train.py"',
                                              "sagemaker_submit_directory": '"s3://bucket/code/sourcedir.tar.gz"'},
                    "HyperParameterRanges": {"ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0.1", "MaxValue": "0.9"}]}}
        sagemaker.create_hyper_parameter_tuning_job(
            HyperParameterTuningJobName="two", TrainingJobDefinitions=[definition("a"), definition("b")], HyperParameterTuningJobConfig={
                "Strategy": "Random", "ResourceLimits": {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 1}})

        def jobs():
            return {job["id"]: job["state"] for job in admin.json("list", "--project", "vision")["jobs"]}
        first, = jobs()
        admin.run("projects", "set", "vision", "--max-storage-gib", "0.000000001")
        admin.run("stop", first)
        processes.wait_until(lambda: "cannot be" in cluster.server.log(), "the second definition is refused")
        self.assertIn("the job two cannot be followed: source: it has", cluster.server.log())
        self.assertEqual(jobs(), {first: "STOPPED"})
        admin.run("projects", "set", "vision", "--max-storage-gib", "1")
        processes.wait_until(lambda: len(jobs()) == 2, "the second definition has begun")
        sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="two")
        processes.wait_until(lambda: set(jobs().values()) == {"STOPPED"}, "it is stopped")


if __name__ == "__main__":
    processes.main()
