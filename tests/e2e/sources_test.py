"""Code travels with its job: an empty worker without a shared folder fetches it, sets it up once and runs it."""

import json
import os
import shutil
import stat
import subprocess
import unittest

import processes

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# Writes a line when it begins and when it ends, and waits in between until it may go on.
SETUP = """
echo begun >> "$LOG"
while [ ! -e "$GO" ]; do sleep 0.05; done
echo 'SEEN = 7' > made.py
echo ended >> "$LOG"
"""
# Unlike anything that the worker has: it needs its own helper, and what the setup made.
TRAIN = """
import argparse, json, os
import helper, made
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
x = parser.parse_args().x
for epoch in range(1, 4):
    print(json.dumps({"epoch": epoch, "loss": helper.loss(x, epoch) + 0 * made.SEEN}), flush=True)
print("in", os.getcwd(), flush=True)
with open(os.path.join(os.environ["SM_MODEL_DIR"], "rank" + os.environ["RANK"]), "w") as file:
    file.write(os.environ["WORLD_SIZE"])
"""


def write(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def files_of(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder)
                  for name in names)


def spec(name, trainer, trials=6, **more):
    return {"name": name,
            "trainer": {"source": ".", "command": ["/usr/bin/python3", "train.py"], "resumes": False,
                        "metrics": [{"name": "loss"}], **trainer},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
            "limits": {"max_trials": trials}, **more}


class Sources(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(processes.Cluster(
            workers=0, server_flags=["--declare-workers", "3 x slots=2"]))
        self.client = self.cluster.client
        self.code = os.path.join(self.cluster.folder, "code")
        write(self.code, {"train.py": TRAIN, "helper.py": "def loss(x, epoch):\n    return (x - 0.5) ** 2 + 1 / epoch\n",
                          "setup.sh": SETUP, "data/huge.bin": "0" * 1000, "notes.txt": "left out",
                          ".winnowignore": "*.txt\n/data/\n"})
        self.log, self.go = os.path.join(self.cluster.folder, "log"), os.path.join(self.cluster.folder, "go")

    def worker(self, name, **options):
        """A worker whose folders are its own."""
        return self.cluster.add_worker(name, shared=os.path.join(self.cluster.folder, name, "own"), slots=2, **options)

    def submit(self, job):
        path = os.path.join(self.cluster.folder, "code", job["name"] + ".txt")  # left out itself
        with open(path, "w", encoding="utf-8") as file:
            json.dump(job, file)
        return self.client.json("submit", path)["id"]

    def logged(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="ascii") as file:
            return file.read().split()

    def test_a_setup_that_is_killed_is_done_again_and_then_kept(self):
        trainer = {"setup": ["sh", "setup.sh"], "environment": {"LOG": self.log, "GO": self.go}}
        worker = self.worker("w1")
        job = self.submit(spec("travels", trainer))
        processes.wait_until(lambda: self.logged() == ["begun"], "the setup begins")
        processes.wait_until(lambda: "runs the setup `sh setup.sh`" in self.client.run("describe", job, "1"), "it is told")
        worker.kill()
        write(self.cluster.folder, {"go": ""})
        worker.start()
        self.assertEqual(self.cluster.watch(job).to_end(), 0)
        self.assertEqual(self.logged(), ["begun", "begun", "ended"])
        described = self.client.json("describe", job)
        self.assertEqual(int(described["trial_counts"]["completed"]), 6)

        # A second job with the same code, after a restart of the worker, finds the result.
        worker.kill()
        worker.start()
        again = self.submit(spec("again", trainer, trials=2))
        self.assertEqual(self.cluster.watch(again).to_end(), 0)
        self.assertEqual(self.logged(), ["begun", "begun", "ended"])

        # It is where no program can change it.
        folders = {text.split("in ")[1].strip() for text in worker.printed().values()}
        self.assertEqual(len(folders), 1)
        folder = folders.pop()
        self.assertEqual(os.path.dirname(folder), os.path.realpath(os.path.join(worker.work, "sources")))
        for name in files_of(folder):
            if "__pycache__" in name:
                continue  # written by root, whom no permission stops
            self.assertEqual(os.lstat(os.path.join(folder, name)).st_mode & 0o222, 0, name)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o555)

        # It is told and given back as it was sent.
        source = described["source"]
        self.assertEqual(source["digest"], self.client.json("describe", again)["source"]["digest"])
        self.assertIn(source["digest"], self.client.run("describe", job))
        back = os.path.join(self.cluster.folder, "back")
        self.client.run("source", job, "--download", back)
        self.assertEqual(files_of(back), [".winnowignore", "helper.py", "setup.sh", "train.py"])
        for name in files_of(back):
            with open(os.path.join(back, name), "rb") as one, open(os.path.join(self.code, name), "rb") as other:
                self.assertEqual(one.read(), other.read())

        # Its files stay as long as a job has them, and no longer.
        store = os.path.join(self.cluster.server.database + ".d", "artifacts", "blobs")
        self.client.run("delete", job)
        self.client.run("source", again, "--download", back + "2")
        self.assertEqual(files_of(back + "2"), files_of(back))
        self.cluster.server.stop()
        checked = subprocess.run([f"{processes.BIN}/winnow-server", "--check", "--db", self.cluster.server.database],
                                 capture_output=True, text=True, timeout=processes.PATIENCE, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.cluster.server.start()
        self.assertGreater(len(files_of(store)), 0)
        self.client.run("delete", again)
        processes.wait_until(lambda: files_of(store) == [], "the store is empty")

    def test_a_setup_with_another_environment_is_another(self):
        self.worker("w1")
        write(self.code, {"setup.sh": 'echo "SEEN = $SEEN" > made.py\n', "train.py": TRAIN + 'print("seen", made.SEEN)\n'})
        for seen in ("3", "4"):
            trainer = {"setup": ["sh", "setup.sh"], "environment": {"SEEN": seen}}
            job = self.submit(spec("seen-" + seen, trainer, trials=1))
            self.assertEqual(self.cluster.watch(job).to_end(), 0)
            self.assertIn(f"seen {seen}\n", self.client.run("logs", job, "1"))

    def test_ranks_on_three_nodes_have_the_same_code(self):
        write(self.cluster.folder, {"go": ""})
        for number in range(3):
            self.worker(f"w{number + 1}")
        job = self.submit(spec("nodes", {"setup": ["sh", "setup.sh"], "environment": {"LOG": self.log, "GO": self.go}},
                               trials=2, cluster={"nodes": 3}))
        self.assertEqual(self.cluster.watch(job).to_end(), 0)
        self.assertEqual(int(self.client.json("describe", job)["trial_counts"]["completed"]), 2)
        self.assertLessEqual(self.logged().count("ended"), 3)
        self.assertEqual(self.logged().count("begun"), self.logged().count("ended"))

    def test_a_setup_that_fails_ends_the_job_with_its_last_lines_and_fails_no_trial(self):
        self.worker("w1")
        write(self.code, {"setup.sh": "echo looking for a wheel\necho no such package: torhc >&2\nexit 4\n"})
        job = self.submit(spec("broken", {"setup": ["sh", "setup.sh"]}, trials=30))
        self.assertEqual(self.cluster.watch(job).to_end(), 1)
        described = self.client.json("describe", job)
        self.assertEqual(described["state"], "FAILED")
        self.assertIn("The setup of the job's source failed", described["state_reason"])
        self.assertIn("`sh setup.sh` failed with exit code 4: looking for a wheel | no such package: torhc",
                      described["state_reason"])
        self.assertEqual(int(described["trial_counts"].get("failed", 0)), 0)
        self.assertLess(int(described["trial_counts"].get("cancelled", 0)), 30)

    def test_what_cannot_travel_is_refused_by_name_before_anything_is_sent(self):
        job = spec("refused", {})
        path = os.path.join(self.code, "job.txt")

        def refused(job):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(job, file)
            done = subprocess.run(self.client.command("submit", path), capture_output=True, text=True,
                                  timeout=processes.PATIENCE, check=False)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            return done.stderr

        link = os.path.join(self.code, "link")
        os.symlink("/etc/hostname", link)
        self.assertRegex(refused(job), "link is a symbolic link to /etc/hostname, outside of the folder")
        os.remove(link)
        os.symlink("missing", link)
        self.assertRegex(refused(job), "link is a symbolic link to missing, which does not exist")
        os.remove(link)
        os.mkfifo(link)
        self.assertRegex(refused(job), "link is neither a file nor a folder")
        os.remove(link)
        latin = os.path.join(os.fsencode(self.code), b"caf\xe9.txt.bak")
        with open(latin, "wb"):
            pass
        self.assertRegex(refused(job), "caf\ufffd.txt.bak has a name that is not UTF-8; expected one that is")
        os.remove(latin)
        with open(os.path.join(self.code, "weights"), "wb") as file:
            file.truncate((1 << 30) + 1)
        self.assertRegex(refused(job), r"expected at most 10000 files of 1073.7 MB together. The largest parts are weights")
        os.remove(os.path.join(self.code, "weights"))
        self.assertRegex(refused(spec("refused", {"source": "nowhere"})), "nowhere does not exist; expected a folder")
        self.assertRegex(refused(spec("refused", {"exclude": ["*"]})), "has no file to send")
        self.assertEqual(self.client.json("list")["jobs"] if self.client.json("list") else [], [])

    def test_more_trials_with_other_code_are_warned_of(self):
        self.worker("w1")
        write(self.code, {"made.py": "SEEN = 1\n"})
        job = self.submit(spec("first", {}, trials=1))
        self.assertEqual(self.cluster.watch(job).to_end(), 0)
        for code, warned in ((None, False), ("def loss(x, epoch):\n    return x\n", True)):
            if code:
                write(self.code, {"helper.py": code})
            done = subprocess.run(self.client.command("submit", "--like", job, "--max-trials", "1"), capture_output=True,
                                  text=True, timeout=processes.PATIENCE, check=True)
            told = "trainer.source: the folder is not any more as first had it" in done.stderr
            self.assertEqual(told, warned, done.stderr)

    def test_a_commit_is_told_and_whether_the_folder_differs_from_it(self):
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@localhost", "-C", self.code]
        if shutil.which("git") is None:
            self.skipTest("there is no git")
        subprocess.run(["git", "init", "-q", self.code], check=True)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", "c"], check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        write(self.code, {".git/info/exclude": "*.txt\n"})
        clean = self.client.json("describe", self.submit(spec("clean", {})))["source"]
        write(self.code, {"helper.py": "def loss(x, epoch):\n    return x\n"})
        dirty = self.client.json("describe", self.submit(spec("dirty", {})))["source"]
        self.assertEqual((clean["git_commit"], clean.get("git_dirty", False)), (commit, False))
        self.assertEqual((dirty["git_commit"], dirty.get("git_dirty", False)), (commit, True))
        self.assertNotEqual(clean["digest"], dirty["digest"])


# Reads its code, and tries to change it in every way.
CHANGE = """
import json, os
import made, winnow_trainer as winnow
changed = []
for name, change in {"write": lambda: open("train.py", "a"), "make": lambda: open("planted", "w"),
                     "mode": lambda: os.chmod("train.py", 0o777), "remove": lambda: os.remove("made.py"),
                     "rename": lambda: os.rename(os.getcwd(), os.getcwd() + ".old"),
                     "list": lambda: os.listdir("..")}.items():
    try:
        change()
        changed.append(name)
    except OSError:
        pass
print("by", os.getuid(), "changed", changed, "set up by", made.USER, flush=True)
winnow.report(1, loss=0.5)
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OtherUsers(unittest.TestCase):
    def test_trainers_of_other_users_read_the_source_and_cannot_change_it(self):
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"]) as cluster:
            os.chmod(cluster.folder, 0o711)
            worker = processes.Worker(cluster.server, cluster.folder, "w1", slots=2,
                                      shared=os.path.join(cluster.folder, "own"), flags=["--run-as", "61184-61247"])
            cluster.workers.append(worker)
            worker.start()
            code = os.path.join(cluster.folder, "code")
            write(code, {"train.py": CHANGE, "setup.sh": 'echo "USER = $(id -u)" > made.py\nmkdir d\nchmod 0 d\n'})
            path = os.path.join(code, "job.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(spec("users", {"setup": ["sh", "setup.sh"]}, trials=2), file)
            job = cluster.client.json("submit", path)["id"]
            self.assertEqual(cluster.watch(job).to_end(), 0)
            for text in worker.printed().values():
                said = [line for line in text.splitlines() if line.startswith("by ")][0]
                self.assertRegex(said, r"by 61(18[4-9]|19\d|2[0-4]\d) changed \[\] set up by 61(18[4-9]|19\d|2[0-4]\d)")


# Trains in parts: goes on from what it saved, and writes every level of its part to a file that it never empties.
WRITE = """
import json, os, sys
import winnow_trainer as winnow
x = winnow.hyperparameters()["x"]
state, first = winnow.resume(), 1
if state:
    with open(os.path.join(state[0], "state")) as file:
        first = int(file.read()) + 1
last = int(os.environ["WINNOW_RESOURCE_TO"])
path = os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], sys.argv[1])
new = not os.path.exists(path)
with open(path, "a") as file:
    if new and path.endswith(".csv"):
        print("note,epoch,loss", file=file)
    for epoch in range(first, last + 1):
        loss = (x - 0.5) ** 2 + 1 / epoch
        print(f"a,{epoch},{loss}" if path.endswith(".csv") else json.dumps({"epoch": epoch, "loss": loss}), file=file, flush=True)
        with open("/tmp/" + os.environ["WINNOW_ASSIGNMENT"], "w") as saved:
            saved.write(str(epoch))
        os.remove(winnow.save(saved.name, "state") and saved.name)
"""


class MetricsFiles(unittest.TestCase):
    def test_every_level_of_a_file_counts_once_over_the_parts_of_a_trial(self):
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"]) as cluster:
            cluster.add_worker("w1", slots=2)
            for name in ("metrics.jsonl", "metrics.csv"):
                with self.subTest(name):
                    job = {**spec(name.replace(".", "-"), {"command": ["/usr/bin/python3", "write.py", name, "{{x}}"],
                                                           "resumes": True, "metrics_file": name}, trials=9),
                           "strategy": "HYPERBAND", "hyperband": {"max_resource": 9}, "limits": {}}
                    write(cluster.folder, {"write.py": WRITE, ".winnowignore": "*\n!write.py\n"})
                    name = cluster.client.submit(job, cluster.folder)
                    self.assertEqual(cluster.watch(name).to_end(), 0)
                    described = cluster.client.json("describe", name)
                    curves = {}
                    for point in cluster.client.json("metrics", name)["points"]:
                        curves.setdefault(int(point["trial"]), []).append(int(point["resource"]))
                    self.assertIn(9, [len(levels) for levels in curves.values()])
                    for levels in curves.values():
                        self.assertEqual(sorted(levels), list(range(1, len(levels) + 1)))
                    self.assertEqual(described.get("notices", []), [])

    def test_values_that_are_no_numbers_are_shown_as_what_they_were_and_are_never_the_best(self):
        with processes.Cluster(workers=1, slots=2) as cluster:
            job = cluster.client.submit(
                {"name": "numbers", "strategy": "GRID",
                 "trainer": {"command": ["sh", "-c", 'printf \'{"epoch": 1, "loss": %s}\\n\' {{loss}}'], "resumes": False,
                             "metrics": [{"name": "loss"}]},
                 "parameters": [{"name": "loss", "categorical": {"values": ["NaN", "Infinity", "-Infinity", "0.7"]}}],
                 "objective": {"metric": "loss", "goal": "MINIMIZE"}}, cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 0)
            shown = [line.split() for line in cluster.client.run("trials", job).splitlines()[1:]]
            self.assertEqual([(line[1], line[-5]) for line in shown],
                             [("FAILED", "nan"), ("FAILED", "inf"), ("FAILED", "-inf"), ("COMPLETED", "0.7")])
            self.assertEqual(int(cluster.client.json("describe", job)["best"]["trial"]), 4)

    def test_a_file_that_is_not_written_is_told_by_its_name(self):
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"]) as cluster:
            cluster.add_worker("w1", slots=2)
            write(cluster.folder, {"train.py": "", ".winnowignore": "*\n!train.py\n"})
            job = cluster.client.submit(spec("silent", {"metrics_file": "runs"}), cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 1)
            reason = cluster.client.json("describe", job)["state_reason"]
            self.assertIn("The program exited without writing `loss` (key `loss`): the folder runs in "
                          "SM_OUTPUT_DATA_DIR has no TensorBoard event file", reason)

    def test_an_event_file_that_cannot_be_read_ends_the_job_before_all_its_trials_fail(self):
        damaged = ("import os\nruns = os.path.join(os.environ['SM_OUTPUT_DATA_DIR'], 'runs')\nos.makedirs(runs)\n"
                   "open(runs + '/events.out.tfevents.1', 'wb').write(b'not an event file ' * 9)\n")
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"]) as cluster:
            cluster.add_worker("w1", slots=2)
            write(cluster.folder, {"train.py": damaged, ".winnowignore": "*\n!train.py\n"})
            job = cluster.client.submit(spec("damaged", {"metrics_file": "runs"}, trials=30), cluster.folder)
            self.assertEqual(cluster.watch(job).to_end(), 1)
            described = cluster.client.json("describe", job)
            self.assertIn("The program exited without writing `loss` (key `loss`): runs cannot be read: ",
                          described["state_reason"])
            self.assertLess(int(described["trial_counts"]["failed"]), 10)


class YourOwnCode(unittest.TestCase):
    """The examples with "source": "."."""

    def test_examples_run_on_an_empty_worker(self):
        with processes.Cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"]) as cluster:
            cluster.add_worker("w1", shared=os.path.join(cluster.folder, "own"), slots=2)
            for name, needs, trials in (("script-mode", "sys", 6), ("json-lines", "sys", 6), ("cross-validation", "sklearn", 6),
                                        ("xgboost", "xgboost, sklearn", 9), ("pytorch", "torch", 4)):
                with self.subTest(name):
                    have = subprocess.run(["/usr/bin/python3", "-c", f"import {needs}"], capture_output=True, check=False)
                    if have.returncode != 0:
                        continue
                    job = cluster.client.json("submit", os.path.join(ROOT, "examples", name, "job.json"))["id"]
                    self.assertEqual(cluster.watch(job).to_end(), 0)
                    described = cluster.client.json("describe", job)
                    counts = described["trial_counts"]
                    self.assertEqual(sum(int(counts.get(state, 0)) for state in ("completed", "failed", "pruned")), trials)
                    self.assertIn("objective", described["best"])
                    self.assertEqual(described.get("notices", []), [])

    def test_examples_are_short(self):
        for name, program in (("script-mode/job.json", "script-mode/train.py"), ("json-lines/job.json", "json-lines/run.py"),
                              ("cross-validation/job.json", "cross-validation/cv.py"), ("xgboost/job.json", "xgboost/train.py"),
                              ("pytorch/job.json", "pytorch/train.py"), ("ddp.json", "python/ddp.py"),
                              ("torchrun.json", "python/ddp.py"), ("mpi.json", "mpi/train.c"), ("sockets.json", "python/sockets.py"),
                              ("container.json", "script-mode/train.py"), ("cannot-resume.json", "cannot-resume/train.sh")):
            lines = 0
            for each in (name, program):
                with open(os.path.join(ROOT, "examples", each), encoding="utf-8") as file:
                    lines += len(file.readlines())
            self.assertLessEqual(lines, 40, f"{name} with {program}")


if __name__ == "__main__":
    processes.main()
