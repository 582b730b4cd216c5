"""Trainers that run as other users than their worker: what they cannot read, open, stop or replace, and that jobs do all
the same what they do otherwise: checkpoints, a worker's death, gangs, the model. Needs root.
"""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

import processes
from processes import BIN, Program, wait_until

USERS = "61184-61247"
FIRST, LAST = 61184, 61247

# A trainer that tries what it is told to try, and prints what it could do.
SPY = r'''
import ctypes, json, os, signal, socket, sys

def could(what):
    try:
        return what()
    except OSError:
        return None

def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        return True

def into_model(path):
    folder = os.environ["SM_MODEL_DIR"]
    os.rmdir(folder)
    os.symlink(path, folder)
    return True

libc = ctypes.CDLL(None, use_errno=True)
tries = {
    "read": lambda path: could(lambda: open(path, "rb").read() or True),
    "list": lambda path: could(lambda: os.listdir(path) or True),
    "write": lambda path: could(lambda: open(path, "ab") and True),
    "make": lambda path: could(lambda: open(path + "/planted", "wb") and True),
    "connect": lambda path: could(lambda: connect(path)),
    "signal": lambda pid: could(lambda: os.kill(pid, signal.SIGCONT) or True),
    "ptrace": lambda pid: libc.ptrace(16, pid, None, None) == 0,
    "link": lambda path: could(lambda: os.link(path, os.environ["SM_MODEL_DIR"] + "/linked") or True),
    "replace": lambda path: could(lambda: into_model(path)),
}
with open(sys.argv[1]) as file:
    for kind, target in json.load(file):
        print("tried", kind, target, "OPEN" if tries[kind](target) else "shut", flush=True)
with open(os.environ["SM_MODEL_DIR"] + "/model", "w") as file:
    file.write("of the spy\n")
print("user", os.getuid(), *os.getgroups(), flush=True)
print("secrets", [name for name in os.environ if "TOKEN" in name], flush=True)
print("loss=1", flush=True)
'''

# Writes secrets, says who it is, and waits for its gate.
VICTIM = r"""
set -eu
echo secret > "$WINNOW_CHECKPOINT_DIR/secret"; echo secret > "$SM_MODEL_DIR/model"; echo secret > "$SM_OUTPUT_DATA_DIR/secret"
echo secret > "$HOME/secret"
chmod 666 "$WINNOW_CHECKPOINT_DIR/secret" "$SM_MODEL_DIR/model"
echo "is $$ home $HOME uid $(id -u)"
while [ ! -e "$1" ]; do sleep 0.05; done
echo "loss=2"
"""

# Counts to WINNOW_RESOURCE_TO and keeps the count; at level 5 it leaves a process behind and waits for its gate.
COUNTER = r"""
set -eu
count=0
if [ -e "$WINNOW_CHECKPOINT_DIR/count" ]; then count=$(cat "$WINNOW_CHECKPOINT_DIR/count"); fi
echo "begins at $count as $(id -u)"
if [ ! -e "$1" ]; then env -i setsid sleep 1000 & echo "left $!"; fi
while [ "$count" -lt "$WINNOW_RESOURCE_TO" ]; do
  count=$((count + 1))
  echo "$count" > "$WINNOW_CHECKPOINT_DIR/count.part"
  mv "$WINNOW_CHECKPOINT_DIR/count.part" "$WINNOW_CHECKPOINT_DIR/count"
  chmod 600 "$WINNOW_CHECKPOINT_DIR/count"
  echo "level=$count loss=$((100 - count))"
  while [ "$count" -eq 5 ] && [ ! -e "$1" ]; do sleep 0.05; done
done
cp "$WINNOW_CHECKPOINT_DIR/count" "$SM_MODEL_DIR/model"
"""


# Nests folders in each folder that it has.
NEST = r"""
import os
for root in ("HOME", "SM_MODEL_DIR", "WINNOW_CHECKPOINT_DIR"):
    if root not in os.environ: continue
    os.chdir(os.environ[root])
    for _ in range(2000):
        os.mkdir("nested")
        os.chdir("nested")
        open("file", "w").close()
print("loss=1", flush=True)
"""


def job(name, command, **more):
    return {"name": name, "strategy": "RANDOM", "limits": {"max_trials": 1}, "seed": 3,
            "trainer": {"command": command, "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}} | more


def program_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read()


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


class RunAsTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root runs trainers as other users")
        self.scripts = tempfile.mkdtemp(prefix="winnow-run-as-")
        os.chmod(self.scripts, 0o755)
        self.addCleanup(shutil.rmtree, self.scripts)
        self.spy = write(f"{self.scripts}/spy.py", SPY)
        self.victim = write(f"{self.scripts}/victim.sh", VICTIM)
        self.counter = write(f"{self.scripts}/counter.sh", COUNTER)
        self.gate = f"{self.scripts}/gate"

    def cluster(self, **options):
        options.setdefault("worker_flags", ["--run-as", USERS])
        cluster = processes.Cluster(**options)
        os.chmod(cluster.folder, 0o755)  # as a site's own folders are
        self.addCleanup(lambda: cluster.__exit__(*sys.exc_info()[:1] or (None,)))
        cluster.__enter__()
        return cluster

    def worker(self, cluster, flags, name, **options):
        cluster.worker_flags = flags
        return cluster.add_worker(name, **options)

    def open_gate(self):
        write(self.gate, "")

    def tried(self, printed):
        self.assertIn("loss=1", printed)
        return dict(re.findall(r"tried (.*) (OPEN|shut)\n", printed))

    def spy_job(self, targets):
        path = write(f"{self.scripts}/targets.json", json.dumps(targets))
        return job("spy", ["/usr/bin/python3", self.spy, path])

    def assert_shut(self, printed, targets):
        tried = self.tried(printed)
        self.assertEqual(len(tried), len({f"{kind} {target}" for kind, target in targets}))
        self.assertEqual([what for what, how in tried.items() if how == "OPEN"], [])

    def test_a_trainer_sees_neither_tokens_nor_sockets_nor_other_trials_nor_its_worker(self):
        cluster = self.cluster(workers=0, server_flags=["--require-tokens", "--declare-workers", "1 x slots=2"])
        state = cluster.server.database + ".d"
        cluster.client.address = f"unix:{state}/server.sock"
        secret = json.loads(cluster.client.run("token", "create", "--role", "worker", "-o", "json"))["secret"]
        token = write(f"{cluster.folder}/worker.token", secret + "\n", 0o600)
        worker = self.worker(cluster, ["--run-as", USERS, "--token-file", token], "w1", slots=2)
        cluster.watch(cluster.client.submit(job("done", ["/bin/sh", self.victim, self.scripts]), self.scripts)).to_end()
        running = cluster.client.submit(job("running", ["/bin/sh", self.victim, self.gate]), self.scripts)
        watch = cluster.watch(running)
        shown = lambda: re.search(r"is (\d+) home (\S+) uid (\d+)", cluster.client.run("logs", running, "1", ok=(0, 1)))  # noqa: E731
        pid, home, uid = wait_until(shown, "the other trial runs").groups()

        work, jobs = worker.work, f"{worker.shared}/jobs"
        done = next(name for name in os.listdir(jobs) if name != running)
        targets = [("read", token), ("read", cluster.server.database), ("read", cluster.server.database + "-wal"),
                   ("connect", f"{state}/server.sock"), ("list", state), ("list", work), ("list", f"{work}/jobs"),
                   ("read", f"{work}/lock"), ("read", f"{work}/worker-id"), ("list", f"{work}/homes"),
                   ("read", f"{work}/jobs/{done}/1/attempt-1-rank-0.stdout.log"), ("write", f"{work}/lock"),
                   ("read", f"{home}/secret"), ("make", home), ("list", jobs), ("make", worker.shared), ("make", work),
                   ("list", "/var/lib/winnow-trainers"), ("make", "/var/lib/winnow-trainers")]
        for name in (done, running):
            trial = f"{jobs}/{name}/trials/1"
            targets += [("list", f"{jobs}/{name}"), ("list", trial), ("make", trial), ("list", f"{trial}/model"),
                        ("make", f"{trial}/checkpoint"), ("read", f"{trial}/checkpoint/secret"),
                        ("read", f"{trial}/model/model"), ("write", f"{trial}/model/model"),
                        ("read", f"{trial}/output/secret"), ("link", f"{trial}/model/model")]
        for process in (worker.pid, int(pid), cluster.server.pid):
            targets += [("read", f"/proc/{process}/environ"), ("read", f"/proc/{process}/mem"),
                        ("list", f"/proc/{process}/fd"), ("read", f"/proc/{process}/cwd/secret"),
                        ("signal", process), ("ptrace", process)]
        targets += [("link", "/etc/shadow"), ("replace", "/etc")]

        spy = cluster.client.submit(self.spy_job(targets), self.scripts)
        self.assertEqual(cluster.watch(spy).to_end(), 0)
        printed = cluster.client.run("logs", spy, "1")
        self.assert_shut(printed, targets)
        mine, *groups = map(int, re.search(r"user (.*)", printed)[1].split())
        self.assertTrue(FIRST <= mine <= LAST and FIRST <= int(uid) <= LAST and mine != int(uid), printed)
        self.assertEqual(groups or [mine], [mine])
        self.assertIn("secrets []", printed)

        self.open_gate()
        self.assertEqual(watch.to_end(), 0)
        for name, expected in ((spy, "of the spy\n"), (running, "secret\n")):
            cluster.client.run("best", name, "--download", f"{self.scripts}/best-{name}")
            self.assertEqual(os.listdir(f"{self.scripts}/best-{name}"), ["model"])
            with open(f"{self.scripts}/best-{name}/model", encoding="ascii") as file:
                self.assertEqual(file.read(), expected)
        wait_until(lambda: not os.listdir(f"{work}/homes"), "the homes of trials that have ended are removed")

    def test_a_trial_goes_on_after_its_worker_was_killed_and_what_it_left_is_ended(self):
        cluster = self.cluster(workers=0, server_flags=["--lease", "2", "--declare-workers", "1 x slots=1"])
        worker = self.worker(cluster, ["--run-as", USERS], "w1", slots=1)
        spec = job("counter", ["/bin/sh", self.counter, self.gate], limits={"max_trials": 1, "max_trial_resource": 9})
        spec["trainer"]["resource_regex"] = "level=([0-9]+)"
        counter = cluster.client.submit(spec, self.scripts)
        watch = cluster.watch(counter)
        wait_until(lambda: "level=5" in str(worker.printed()), "it waits at level 5")
        left = int(re.search(r"left (\d+)", worker.printed()[1, 1])[1])
        wait_until(lambda: "sleep" in program_of(left), "it has shed its marks")
        worker.kill()
        self.open_gate()
        worker.start()
        self.assertEqual(watch.to_end(), 0)
        self.assertEqual(processes.parent_of(left), -1)
        printed = worker.printed()
        last = printed[max(printed)]
        self.assertIn("begins at 5 as ", last)
        first_user, last_user = (re.search(r" as (\d+)", printed[key])[1] for key in (min(printed), max(printed)))
        self.assertEqual(first_user, last_user)
        cluster.client.run("best", counter, "--download", f"{self.scripts}/best")
        with open(f"{self.scripts}/best/model", encoding="ascii") as file:
            self.assertEqual(file.read(), "9\n")
        trial = f"{worker.shared}/jobs/{counter}/trials/1"
        wait_until(lambda: stat.S_IMODE(os.stat(trial).st_mode) == 0o700, "the trial's folder is closed")

    def test_folders_nested_deeper_than_a_worker_has_descriptors_are_removed_and_keep_no_worker_from_starting(self):
        nest = write(f"{self.scripts}/nest.py", NEST)
        cluster = self.cluster(workers=0)
        worker = self.worker(cluster, ["--run-as", USERS], "w1", slots=1, prefix=["prlimit", "--nofile=512"])
        nested = cluster.client.submit(job("nested", ["/usr/bin/python3", nest]), self.scripts)
        self.assertEqual(cluster.watch(nested).to_end(), 0)
        self.assertIn("loss=1", worker.printed()[1, 1])
        homes = f"{worker.work}/homes"
        wait_until(lambda: not os.listdir(homes), "the trial's home is removed")
        subprocess.run(["/usr/bin/python3", nest], env={"HOME": homes}, check=True)  # as a worker leaves them that is killed
        self.assertEqual(worker.stop(), 0)
        worker.start()
        cluster.client.run("delete", nested)
        self.assertEqual(cluster.watch(cluster.client.submit(job("next", ["/bin/echo", "loss=1"]), self.scripts)).to_end(), 0)
        wait_until(lambda: not (os.path.exists(homes) and os.listdir(homes)), "what the worker left is removed")
        for folder in (f"{worker.shared}/jobs", f"{worker.work}/jobs"):
            wait_until(lambda: not any(nested in name for name in os.listdir(folder)), "the job's folders are removed")  # noqa: B023

    def test_another_worker_goes_on_from_the_checkpoint_in_the_store(self):
        cluster = self.cluster(workers=0, server_flags=["--lease", "2"])
        for name, users in (("w1", "61184-61187"), ("w2", "61250-61253")):
            self.worker(cluster, ["--run-as", users], name, slots=1, shared=f"{cluster.folder}/{name}-shared")
        wait_until(lambda: len(cluster.client.workers()) == 2, "both workers are there")
        spec = job("counter", ["/bin/sh", self.counter, self.gate], limits={"max_trials": 1, "max_trial_resource": 9})
        spec["trainer"]["resource_regex"] = "level=([0-9]+)"
        counter = cluster.client.submit(spec, self.scripts)
        watch = cluster.watch(counter)
        first = wait_until(lambda: next((w for w in cluster.workers if "level=5" in str(w.printed())), None), "it waits")
        second = next(w for w in cluster.workers if w is not first)
        self.assertEqual(first.stop(), 0)
        self.open_gate()
        self.assertEqual(watch.to_end(), 0)
        self.assertIn(": its checkpoint has been fetched", second.log(), first.log())
        users = [re.search(r"begins at \d as (\d+)\n", w.printed()[1, attempt])[1]
                 for attempt, w in ((1, first), (2, second))]
        self.assertIn("begins at 5 as ", second.printed()[1, 2])
        self.assertEqual({user[:4] for user in users}, {"6118", "6125"})

    def test_local_workers_and_a_gang_over_two_of_them(self):
        folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        os.chmod(folder, 0o755)
        self.addCleanup(shutil.rmtree, folder)
        port_file = f"{folder}/port"
        server = Program([f"{BIN}/winnow-server", "--db", f"{folder}/w.db", "--listen", "127.0.0.1:0", "--port-file",
                          port_file, "--http", "off", "--local-workers", "2", "--slots", "1", "--require-tokens",
                          "--run-as", USERS], f"{folder}/server.log")
        server.start()
        self.addCleanup(server.stop)
        wait_until(lambda: os.path.exists(port_file) or not server.alive(), "the server listens")
        self.assertTrue(server.alive(), server.log())
        state = f"{folder}/w.db.d"
        client = processes.Client(server, f"unix:{state}/server.sock")
        for name, rows, seed in (("train", 2000, 1), ("validation", 500, 2)):
            processes.write_table(f"{folder}/{name}.csv", rows, seed)
        channels = {name: {"path": f"{folder}/{name}.csv", "label": "y"} for name in ("train", "validation")}
        few = subprocess.run([f"{BIN}/winnow-server", "--db", f"{folder}/few.db", "--listen", "127.0.0.1:0", "--http", "off",
                              "--local-workers", "2", "--slots", "2", "--run-as", "61184-61186"], capture_output=True,
                             text=True, timeout=processes.PATIENCE, check=False)
        self.assertEqual(few.returncode, 1)
        self.assertIn("are 3 users; expected one for each of the 4 slots", few.stderr)
        gang = client.submit(
            {"name": "gang", "trainer": {"builtin": "gbdt"}, "channels": channels, "strategy": "RANDOM", "seed": 3,
             "limits": {"max_trials": 2}, "cluster": {"nodes": 2},
             "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc", "num_round": "20"},
             "parameters": [{"name": "eta", "continuous": {"min": 0.01, "max": 0.1}}],
             "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"}}, self.scripts)
        client.run("watch", gang)
        client.run("best", gang, "--download", f"{self.scripts}/best")
        self.assertTrue(os.listdir(f"{self.scripts}/best"))

        targets = [("connect", f"{state}/server.sock"), ("list", state), ("list", f"{state}/artifacts"),
                   ("read", f"{state}/database"), ("read", f"{folder}/w.db"), ("list", f"{state}/workers"),
                   ("read", f"{state}/workers/local-1/worker.log"), ("read", f"{state}/workers/local-2/arguments"),
                   ("list", f"{state}/shared/jobs/{gang}/trials/1/model"), ("read", f"/proc/{server.pid}/environ"),
                   ("ptrace", server.pid), ("signal", server.pid)]
        spy = client.submit(self.spy_job(targets), self.scripts)
        client.run("watch", spy)
        self.assert_shut(client.run("logs", spy, "1"), targets)

    def test_one_user_for_all_trainers(self):
        cluster = self.cluster(workers=0, server_flags=["--declare-workers", "1 x slots=2"])
        worker = self.worker(cluster, ["--run-as", "daemon"], "w1", slots=2)
        targets = [("read", f"/proc/{worker.pid}/environ"), ("list", worker.work), ("ptrace", worker.pid),
                   ("read", f"{worker.work}/worker-id")]
        spy = cluster.client.submit(self.spy_job(targets), self.scripts)
        self.assertEqual(cluster.watch(spy).to_end(), 0)
        printed = cluster.client.run("logs", spy, "1")
        self.assert_shut(printed, targets)
        self.assertIn("user 1 ", printed)

    def test_a_worker_that_would_leave_a_secret_open_does_not_start(self):
        folder = f"{self.scripts}/worker"
        token = write(f"{self.scripts}/token", "wnw_01234567_" + "a" * 43 + "\n", 0o644)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{self.scripts}/open.sock")
        os.chmod(f"{self.scripts}/open.sock", 0o666)
        self.addCleanup(listener.close)

        def refused(*flags, run_as=USERS, **options):
            where = [] if "--work-dir" in flags else ["--work-dir", folder]
            done = subprocess.run([f"{BIN}/winnow-worker", *where, "--run-as", run_as, *flags],
                                  capture_output=True, text=True, timeout=processes.PATIENCE, check=False, **options)
            self.assertIn(done.returncode, (1, 2))
            return done.stderr

        self.assertRegex(refused("--token-file", token), r"/token can be read by user 61184, .*chmod go-rwx")
        secrets = f"{self.scripts}/secrets"
        os.mkdir(secrets, 0o755)
        self.assertRegex(refused("--secrets-dir", secrets), "/secrets can be read by user 61184")
        self.assertRegex(refused("--server", f"unix:{self.scripts}/open.sock"), "open.sock can be read by user 61184")
        self.assertIn("are 2 users; expected one for each of the 3 slots", refused("--slots", "3", run_as="61184-61185"))
        self.assertIn("trainers may not run as root", refused(run_as="root"))
        closed = f"{self.scripts}/closed"
        os.mkdir(closed, 0o700)
        self.assertRegex(refused("--work-dir", f"{closed}/work"), "has no access to .*/closed, which is above .*/closed/work")
        shutil.copy(f"{BIN}/winnow-worker", f"{self.scripts}/winnow-worker")
        done = subprocess.run([f"{self.scripts}/winnow-worker", "--run-as", USERS], user=61260, capture_output=True, text=True,
                              timeout=processes.PATIENCE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it lacks CAP_CHOWN", done.stderr)

    def test_root_without_run_as_is_warned_once(self):
        cluster = self.cluster(workers=1, slots=1, worker_flags=[])
        worker = cluster.workers[0]
        wait_until(lambda: "registered as worker" in worker.log(), "it has registered")
        self.assertEqual(worker.log().count("trainers run as root"), 1)

    def test_a_token_in_the_environment_is_not_there_any_more_for_who_reads_it(self):
        folder = f"{self.scripts}/worker"
        token = "wnw_01234567_" + "a" * 43
        worker = Program([f"{BIN}/winnow-worker", "--server", "127.0.0.1:9", "--work-dir", folder, "--slots", "1"],
                         f"{self.scripts}/worker.log", prefix=["/usr/bin/env", f"WINNOW_TOKEN={token}"])
        worker.start()
        self.addCleanup(worker.kill)
        wait_until(lambda: "for 127.0.0.1:9" in worker.log(), "it has begun")
        with open(f"/proc/{worker.pid}/environ", "rb") as file:
            self.assertNotIn(token.encode(), file.read())
        # Another process of the same user, without root's rights over others, may not look into it.
        copy = shutil.copy(f"{BIN}/winnow-worker", f"{self.scripts}/winnow-worker")
        other = f"{self.scripts}/other"
        work = f"{other}/work"
        os.mkdir(other)
        os.chown(other, 61260, 61260)
        with open(f"{self.scripts}/other.log", "wb") as log:
            second = subprocess.Popen([copy, "--server", "127.0.0.1:9", "--work-dir", work, "--slots", "1"],
                                      user=61260, group=61260, stdout=log, stderr=log,
                                      env={"PATH": "/usr/bin:/bin", "WINNOW_TOKEN": token})
        self.addCleanup(second.wait)
        self.addCleanup(second.kill)
        wait_until(lambda: os.path.exists(f"{work}/worker-id"), "it has begun")
        looked = subprocess.run(["cat", f"/proc/{second.pid}/environ"], user=61260, group=61260, capture_output=True,
                                check=False)
        self.assertEqual((looked.returncode, looked.stdout), (1, b""))


if __name__ == "__main__":
    processes.main()
