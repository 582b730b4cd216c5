"""winnow_sagemaker: the levels of metrics, the end at a level, the exit code, and checkpoints in a bucket; winnow_buckets: answers that
are lost. What scripts are given is tested with real jobs."""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import urllib.parse

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "worker")
sys.path.insert(0, WORKER)
import winnow_buckets  # noqa: E402
import winnow_sagemaker  # noqa: E402

# It saves each epoch after it has printed it, goes on from there, and never ends by itself before epoch 50.
TRAIN = """
import os, sys, time
state = os.environ["SAGEMAKER_BASE_DIR"] + "/checkpoints/epoch"
epoch = int(open(state).read()) if os.path.exists(state) else 0
while epoch < 50:
    epoch += 1
    print(f"epoch {epoch}: score={epoch}", flush=True)
    with open(state + ".tmp", "w") as file:
        file.write(str(epoch))
    os.rename(state + ".tmp", state)
    time.sleep(0.6)
"""


class Module(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        for name in ("code", "model", "output", "checkpoint"):
            os.mkdir(os.path.join(self.folder, name))

    def run_script(self, script, metrics, attempt=1, to=0, trial=1, since=0, **more):
        with open(os.path.join(self.folder, "code", "train.py"), "w", encoding="ascii") as file:
            file.write(script)
        plan = {"job": "job", "tuning": True, "arn": "arn:", "instance_type": "ml.m5.xlarge", "channels": {}, "static": {},
                "metrics": [{"Name": name, "Regex": regex} for name, regex in metrics], "objective": metrics[0][0], "program": "train.py", **more}
        environment = {**os.environ, "PYTHONPATH": WORKER, "RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": "1", "SM_HOSTS": '["here"]', "SM_HPS": "{}",
                       "SM_MODEL_DIR": self.folder + "/model", "SM_OUTPUT_DATA_DIR": self.folder + "/output",
                       "WINNOW_CHECKPOINT_DIR": self.folder + "/checkpoint", "WINNOW_TRIAL": str(trial), "WINNOW_ATTEMPT": str(attempt),
                       "WINNOW_RESOURCE_FROM": str(since), "WINNOW_RESOURCE_TO": str(to)}
        done = subprocess.run([sys.executable, "-B", "-m", "winnow_sagemaker", json.dumps(plan), "--ignored", "1"], env=environment,
                              cwd=self.folder + "/code", capture_output=True, text=True, timeout=300, check=False)
        self.records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        self.assertEqual([name for name in os.listdir(self.folder + "/output") if name.startswith(".sagemaker")], [])
        return done

    def test_each_line_with_the_objective_is_a_level_and_other_metrics_belong_to_it(self):
        before = "print('loss=3')\nprint('score=0.5')\nprint('loss=2')\nprint('score=0.75 noise score=nan')\n"
        self.assertEqual(self.run_script(before, [("score", "score=([0-9.]+)"), ("loss", "loss=([0-9]+)")]).returncode, 0)
        self.assertEqual(self.records, [{"step": 1, "loss": 3, "score": 0.5}, {"step": 2, "loss": 2, "score": 0.75}])
        after = "print('score=0.5')\nprint('loss=3')\nprint('score=0.75')\nprint('loss=2')\n"
        self.run_script(after, [("score", "score=([0-9.]+)"), ("loss", "loss=([0-9]+)")])
        self.assertEqual(self.records, [{"step": 1, "score": 0.5}, {"step": 1, "loss": 3}, {"step": 2, "score": 0.75}, {"step": 2, "loss": 2}])
        self.run_script("import sys; sys.stdout.write('score=0.5')", [("score", "score=([0-9.]+)")])  # without a line end
        self.assertEqual(self.records, [{"step": 1, "score": 0.5}])
        # As AWS writes a tab, and on standard error.
        self.run_script("import sys; print('[0]\\ttrain-auc:0.5\\tvalidation-auc:0.25', file=sys.stderr)",
                        [("validation:auc", ".*\\[[0-9]+\\].*#011validation-auc:([-+]?[0-9]*\\.?[0-9]+).*")])
        self.assertEqual(self.records, [{"step": 1, "validation:auc": 0.25}])

    def test_a_script_with_checkpoints_ends_at_the_level_and_goes_on_from_there(self):
        metrics = [("score", "score=([0-9]+)")]
        for attempt, (since, to, levels) in enumerate(((0, 2, [1, 2]), (2, 4, [3, 4])), start=1):
            done = self.run_script(TRAIN, metrics, attempt=attempt, since=since, to=to, checkpoints="/opt/ml/checkpoints")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([record["step"] for record in self.records], levels)
        with open(self.folder + "/checkpoint/files/epoch", encoding="ascii") as file:
            self.assertGreaterEqual(int(file.read()), 4)  # what the last level needs was saved
        self.assertEqual(self.records[-1]["step"], 4)

    def test_values_that_were_lost_with_their_worker_are_reported_from_the_checkpoint(self):
        for attempt in (1, 2):  # the second has everything in its checkpoint, and the server nothing
            self.run_script(TRAIN, [("score", "score=([0-9]+)")], attempt=attempt, to=2, checkpoints="/opt/ml/checkpoints")
            self.assertEqual(self.records[-1]["step"], 2)
            self.assertIn("score", self.records[-1])
            self.assertEqual(len(self.records), 3 - attempt)

    def test_the_definitions_of_a_tuning_job_number_their_training_jobs_in_turns(self):
        for reused in ({}, {"reused": 77}):  # the name of a deleted tuning job
            done = self.run_script("import os; print(os.environ['TRAINING_JOB_NAME'])", [("score", "score=(.)")], trial=2, numbers=[1, 3], **reused)
            name = "job-005"
            of = name + "/77" if reused else name
            self.assertIn(f"{name}-{hashlib.sha256(of.encode()).hexdigest()[:8]}", done.stdout.splitlines())

    def test_the_exit_code_and_the_reason_are_the_scripts(self):
        fails = "import os, sys\nopen(os.environ['SM_OUTPUT_FAILURE'], 'w').write('no\\ngood')\nsys.exit(%d)\n"
        for code, expected in ((3, 3), (75, 1)):
            done = self.run_script(fails % code, [("score", "score=(.)")])
            self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (expected, "no good"))
        done = self.run_script("import os; os.kill(os.getpid(), 9)", [("score", "score=(.)")])
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (137, "the script was ended by signal 9"))

    def test_a_script_without_the_objective_is_told_which_expression_took_nothing(self):
        for script in ("print('hello')", "print('score=high')"):
            done = self.run_script(script, [("score", "score=(.+)"), ("loss", "loss=(.+)")])
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.splitlines()[-1], r"objective metric score takes: score=\(\.\+\)$")
        self.assertEqual(self.run_script("print('loss=1')", [("score", "score=(.+)"), ("loss", "loss=(.+)")], objective="").returncode, 0)


    def test_an_expression_that_is_none_of_python_ends_the_training_with_one_sentence(self):
        done = self.run_script("print('score=1')", [("score", "score=([0-9]+")])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("the Regex of the metric score is score=([0-9]+", done.stderr)


class Objects(http.server.BaseHTTPRequestHandler):
    """An S3 with objects of one request each, by their encoded paths."""

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        self.server.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200)

    def do_GET(self):
        if "list-type" not in self.path:
            return self.answer(200, self.server.objects[self.path])
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        self.server.encoding = query.get("encoding-type")
        listed = "".join(f"<Contents><Key>{path[len('/bucket/'):]}</Key><Size>{len(body)}</Size></Contents>"
                         for path, body in self.server.objects.items())
        self.answer(200, f"<R xmlns='{winnow_buckets.SPACE[1:-1]}'>{listed}</R>".encode())

    def log_message(self, *_):
        pass


class CheckpointsInABucket(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Objects)
        self.server.objects = {}
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def checkpoints(self):
        """Those of a training in a new folder."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(folder + "/files")
        buckets = winnow_buckets.Buckets(f"ID:SECRET@http://127.0.0.1:{self.server.server_port}")
        place = unittest.mock.Mock(buckets=buckets, plan={"checkpoint_uri": "s3://bucket/kept"}, checkpoints=folder + "/files",
                                   levels=folder + "/levels")
        place.name = "job"
        return winnow_sagemaker.Checkpoints(place)

    def test_a_folder_that_has_only_empty_folders_is_restored(self):
        for objects in ({}, {"/bucket/kept/epoch-1/state": b"1"}):
            self.server.objects = objects
            checkpoints = self.checkpoints()
            os.mkdir(checkpoints.folder + "/epoch-0")
            checkpoints.restore()
            self.assertEqual([os.path.relpath(path, checkpoints.folder) for path in checkpoints.files()], ["epoch-1/state"] * len(objects))

    def test_a_rank_that_restores_nothing_leaves_what_another_has_begun(self):
        checkpoints = self.checkpoints()
        listed = checkpoints.place.buckets.list

        def list_late(uri):
            found = listed(uri)
            os.makedirs(checkpoints.folder + "/run")  # by the program of another rank
            return found

        checkpoints.place.buckets.list = list_late
        checkpoints.restore()
        self.assertEqual(os.listdir(checkpoints.folder), ["run"])

    def test_files_whose_names_are_no_text_are_put_and_restored_as_others(self):
        checkpoints = self.checkpoints()
        names = [b"a\xff b+%.bin", b"b.bin", "\u00e4".encode()]
        for name in names:
            with open(os.path.join(os.fsencode(checkpoints.folder), name), "wb") as file:
                file.write(name)
        for _ in range(2):
            checkpoints.look()
        self.assertEqual(sorted(self.server.objects),
                         ["/bucket/kept/%C3%A4", "/bucket/kept/a%FF%20b%2B%25.bin", "/bucket/kept/b.bin"])
        restored = self.checkpoints()
        restored.restore()
        self.assertEqual(self.server.encoding, ["url"])
        self.assertEqual(sorted(os.listdir(os.fsencode(restored.folder))), sorted(names))
        for name in names:
            with open(os.path.join(os.fsencode(restored.folder), name), "rb") as file:
                self.assertEqual(file.read(), name)


class OneUpload(http.server.BaseHTTPRequestHandler):
    """An S3 with one object and one upload of it, whose first completion it does not answer."""

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        bucket, query = self.server.bucket, urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query, keep_blank_values=True)
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        bucket.calls.append(self.command)
        if self.command == "HEAD":
            return self.answer(404) if bucket.content is None else self.answer(200, **{"Content-Length": len(bucket.content)})
        if "uploads" in query:
            return self.answer(200, f"<R xmlns='{winnow_buckets.SPACE[1:-1]}'><UploadId>u</UploadId></R>".encode())
        if bucket.parts is None:
            return self.answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
        if self.command == "PUT":
            bucket.parts.append(body)
            return self.answer(200, ETag="e")
        content, bucket.parts = b"".join(bucket.parts), None
        if bucket.completes:
            bucket.content = content
        if bucket.answers:
            return self.answer(404, b"<Error><Code>NoSuchUpload</Code></Error>")
        self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request

    def log_message(self, *_):
        pass


class LostAnswers(unittest.TestCase):
    def put(self, **bucket):
        """Puts a file of 25 bytes in parts of 10."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneUpload)
        server.bucket = self.bucket = unittest.mock.Mock(**{"parts": [], "calls": [], "content": None, "answers": False, **bucket})
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        with tempfile.NamedTemporaryFile() as file, unittest.mock.patch.object(winnow_buckets, "PART", 10):
            file.write(b"abcde" * 5)
            file.flush()
            winnow_buckets.Buckets(f"ID:SECRET@http://127.0.0.1:{server.server_port}").put("s3://bucket/key", file.name)

    def test_an_upload_whose_completion_was_not_answered_is_there(self):
        self.put(completes=True)
        self.assertEqual((self.bucket.content, self.bucket.calls[-3:]), (b"abcde" * 5, ["POST", "POST", "HEAD"]))

    def test_an_upload_that_is_gone_and_left_no_such_object_is_an_error(self):
        for content in (None, b"old"):
            with self.subTest(content=content), self.assertRaisesRegex(winnow_buckets.BucketError, "POST .*NoSuchUpload"):
                self.put(completes=False, content=content)

    def test_an_older_object_is_not_taken_for_an_upload_that_was_refused_at_once(self):
        with self.assertRaisesRegex(winnow_buckets.BucketError, "POST .*NoSuchUpload"):
            self.put(completes=False, content=b"other" * 5, answers=True)


if __name__ == "__main__":
    unittest.main()
