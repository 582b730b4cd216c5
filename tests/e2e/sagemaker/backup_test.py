"""`winnow backup` has the endpoint's jobs, keys and objects; --restore brings them back, and --check finds what is wrong with them."""

import sagemaker_clients

sagemaker_clients.with_newest_boto3()

import glob  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import sqlite3  # noqa: E402
import subprocess  # noqa: E402
import threading  # noqa: E402
import unittest  # noqa: E402

from botocore.exceptions import ClientError  # noqa: E402

import processes  # noqa: E402

MIB = 1 << 20


class Backup(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(sagemaker_clients.Endpoint(slots=2))
        self.s3 = self.cluster.boto3("s3")
        self.s3.create_bucket(Bucket="bucket")
        self.backup = os.path.join(self.cluster.folder, "backup.db")
        self.endpoint = os.path.join(self.cluster.folder, "winnow.db.d", "sagemaker")

    def server(self, *arguments, ok=0):
        done = subprocess.run([f"{processes.BIN}/winnow-server", *arguments], capture_output=True, text=True, timeout=processes.PATIENCE, check=False)
        self.assertEqual(done.returncode, ok, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def keys(self):
        return [each["Key"] for each in self.s3.list_objects_v2(Bucket="bucket").get("Contents", [])]

    def content(self, key):
        return self.s3.get_object(Bucket="bucket", Key=key)["Body"].read()

    def test_what_was_backed_up_is_there_again(self):
        for name, rows in (("train", 300), ("validation", 200)):
            table = os.path.join(self.cluster.folder, name + ".csv")
            sagemaker_clients.write_table(table, rows, rows)
            self.s3.upload_file(table, "bucket", f"data/{name}/{name}.csv")
        large = os.path.join(self.cluster.folder, "large")
        with open(large, "wb") as file:
            file.write(os.urandom(MIB) * 20 + b"end")
        self.s3.upload_file(large, "bucket", "large")  # in parts
        self.s3.put_object(Bucket="bucket", Key="empty", Body=b"")
        sagemaker = self.cluster.boto3("sagemaker")
        sagemaker.create_training_job(**sagemaker_clients.training_job("kept", "bucket"), Tags=[{"Key": "a", "Value": "1"}])
        before = processes.wait_until(lambda: (lambda said: said if said["TrainingJobStatus"] == "Completed" else None)(
            sagemaker.describe_training_job(TrainingJobName="kept")), "it has trained")
        kept = self.keys()
        self.cluster.client.run("backup", self.backup)
        self.assertIn("5 objects of S3", self.server("--check", "--db", self.backup))
        self.assertIn("5 objects of S3", self.server("--check", "--db", self.cluster.server.database))
        self.assertFalse(os.path.exists(os.path.join(self.endpoint, "backup")))
        # What came later is not in it, and what went is.
        self.s3.put_object(Bucket="bucket", Key="later", Body=b"later")
        self.s3.delete_object(Bucket="bucket", Key="large")
        self.cluster.server.kill()
        self.assertIn("its 5 objects of S3 again", self.server("--restore", self.backup, "--db", self.cluster.server.database))
        self.assertTrue(os.path.exists(os.path.join(self.endpoint + ".before-restore", "jobs.db")))
        self.cluster.restart()
        self.assertEqual(self.keys(), kept)
        with open(large, "rb") as file:
            self.assertEqual(self.content("large"), file.read())
        self.assertEqual(self.content("empty"), b"")
        for answer in (before, after := sagemaker.describe_training_job(TrainingJobName="kept")):
            answer.pop("ResponseMetadata")
        self.assertEqual(after, before)
        self.assertEqual(sagemaker.list_tags(ResourceArn=before["TrainingJobArn"])["Tags"], [{"Key": "a", "Value": "1"}])
        # On another machine the backup is all there is.
        self.cluster.server.kill()
        other = os.path.join(self.cluster.folder, "other")
        os.mkdir(other)
        self.server("--restore", self.backup, "--db", os.path.join(other, "winnow.db"))
        said = self.server("--check", "--db", os.path.join(other, "winnow.db"), ok=1)  # the model is not in a backup
        self.assertEqual([line.split()[0] for line in said.splitlines()[:-1]], ["blob"])
        self.assertIn("5 objects of S3", said)
        self.cluster.restart()

    def test_a_backup_while_objects_come_and_go_has_whole_objects(self):
        going, failures = threading.Event(), []

        def write(n):
            s3 = self.cluster.boto3("s3")
            count = 0
            while not going.is_set():
                body = os.urandom(2000)
                try:
                    s3.put_object(Bucket="bucket", Key=f"key-{n}", Body=body)
                    if count % 7 == 0:
                        s3.delete_object(Bucket="bucket", Key=f"key-{n}")
                except ClientError as error:
                    failures.append(error)
                count += 1

        self.s3.put_object(Bucket="bucket", Key="still", Body=b"still")
        threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                self.cluster.client.run("backup", self.backup, "--force")
                self.assertIn("is sound", self.server("--check", "--db", self.backup))
                self.assertIn("is sound", self.server("--check", "--db", self.cluster.server.database))
        finally:
            going.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_damage_is_found_and_not_restored(self):
        for key, body in (("a", b"a" * 1000), ("b", b"b" * 1000)):
            self.s3.put_object(Bucket="bucket", Key=key, Body=body)
        self.cluster.client.run("backup", self.backup)
        damaged = os.path.join(self.cluster.folder, "damaged.db")
        shutil.copy(self.backup, damaged)
        with sqlite3.connect(damaged) as database:
            database.execute("UPDATE endpoint_files SET bytes = replace(bytes, 'bbb', 'xyz') WHERE CAST(bytes AS TEXT) LIKE 'bbb%'")
        database.close()
        self.cluster.server.kill()
        said = self.server("--check", "--db", damaged, ok=1)
        self.assertIn("object s3://bucket/b: its content is another", said)
        self.assertNotIn("s3://bucket/a", said)
        said = self.server("--restore", damaged, "--db", self.cluster.server.database, ok=1)
        self.assertIn("nothing was changed", said)
        self.assertFalse(os.path.exists(self.endpoint + ".before-restore"))
        # And in the folder: one file is missing, one is another.
        files = {}
        for path in glob.glob(self.endpoint + "/objects/files/*/*"):
            with open(path, "rb") as file:
                files[file.read(1)] = path
        os.remove(files[b"a"])
        with open(files[b"b"], "r+b") as file:
            file.write(b"x")
        said = self.server("--check", "--db", self.cluster.server.database, ok=1)
        self.assertIn("object s3://bucket/a: its file", said)
        self.assertIn("object s3://bucket/b: its content is another", said)
        self.server("--restore", self.backup, "--db", self.cluster.server.database)
        self.cluster.restart()
        self.assertEqual((self.content("a"), self.content("b")), (b"a" * 1000, b"b" * 1000))


if __name__ == "__main__":
    processes.main()
