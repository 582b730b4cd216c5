"""Trials in containers, with real podman: the contract inside, limits, users, ends, and images that cannot be had."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import processes
from processes import wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
TOOLS = ["podman", "runc", "conmon"]
IMAGE = "localhost/winnow-trial:1"
PROGRAMS = ["sh", "cat", "sleep", "ls", "id", "mkdir", "mv", "tail", "head"]

# It resumes, saves at SIGTERM, and writes what it sees of its surroundings.
TRAIN = """
trap 'echo terminated > "$SM_OUTPUT_DATA_DIR/terminated"; exit 0' TERM
level=0
[ -e "$WINNOW_CHECKPOINT_DIR/level" ] && level=$(cat "$WINNOW_CHECKPOINT_DIR/level")
echo "in $(cat /image-name) as $(id -u) from $level with $X and $API_KEY and $(cat "$SM_CHANNEL_TRAIN")"
while [ $level -lt ${WINNOW_RESOURCE_TO:-0} ] || [ "$FOREVER" = 1 ]; do
  level=$((level + 1))
  echo $level > "$WINNOW_CHECKPOINT_DIR/level.part"
  mv "$WINNOW_CHECKPOINT_DIR/level.part" "$WINNOW_CHECKPOINT_DIR/level"
  echo "epoch $level: loss=0.$((1000 - level))"
  [ "$FOREVER" = 1 ] && sleep 0.05
done
echo model > "$SM_MODEL_DIR/model"
exit 0
"""

# It waits for its next part on its control socket, and keeps its level in memory alone.
WAIT = """
level=0 to=$WINNOW_RESOURCE_TO
while :; do
  while [ $level -lt $to ]; do level=$((level + 1)); echo "epoch $level: loss=0.$((1000 - level))"; done
  echo $level > "$WINNOW_CHECKPOINT_DIR/level"
  [ -n "$WINNOW_CONTROL_FD" ] || exit 3
  echo "waiting $level" >&$WINNOW_CONTROL_FD
  read order to rest <&$WINNOW_CONTROL_FD || exit 0
  [ "$order" = continue ] || exit 0
done
"""


def why_not():
    if os.geteuid() != 0:
        return "containers are run as root here"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"{', '.join(missing)} not installed (scripts/install-packages.sh --containers)" if missing else ""


def zombies_of(parent):
    """Children of the process that have ended and were not reaped."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
                state, its_parent = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(its_parent) == parent:
            found.append(pid)
    return found


class Podman:
    """A storage of its own, and an image in it that is made of some programs of this host."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wnp-")
        self.environment = {"CONTAINERS_CONF": f"{self.folder}/containers.conf",
                            "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf"}
        with open(self.environment["CONTAINERS_CONF"], "w", encoding="ascii") as file:
            file.write('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "runc"\n'
                       'cgroup_manager = "cgroupfs"\nevents_logger = "none"\n')
        with open(self.environment["CONTAINERS_STORAGE_CONF"], "w", encoding="ascii") as file:
            file.write(f'[storage]\ndriver = "overlay"\ngraphroot = "{self.folder}/store"\nrunroot = "{self.folder}/run"\n')

    def run(self, *arguments, check=True):
        return subprocess.run(["podman", "--log-level=error", *arguments], env={**os.environ, **self.environment},
                              capture_output=True, text=True, check=check, timeout=processes.PATIENCE).stdout

    def make_image(self):
        root = f"{self.folder}/root"
        for folder in ("bin", "tmp", "etc", "proc", "sys", "dev"):
            os.makedirs(f"{root}/{folder}")
        os.chmod(f"{root}/tmp", 0o1777)
        for program in PROGRAMS:
            path = shutil.which(program)
            shutil.copy(os.path.realpath(path), f"{root}/bin/{program}")
            for word in subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split():
                if word.startswith("/") and not os.path.exists(root + word):
                    os.makedirs(os.path.dirname(root + word), exist_ok=True)
                    shutil.copy(os.path.realpath(word), root + word)
        with open(f"{root}/image-name", "w", encoding="ascii") as file:
            file.write("the-image\n")
        subprocess.run(["tar", "-C", root, "-cf", f"{self.folder}/image.tar", "."], check=True)
        self.run("import", f"{self.folder}/image.tar", IMAGE)

    def make_debian(self, tag):
        """An image of Debian with Python."""
        packages = "python3-minimal,libpython3.11-stdlib,dash,coreutils"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", f"--include={packages}", "bookworm",
                        f"{self.folder}/debian.tar"], check=True, capture_output=True, timeout=processes.PATIENCE)
        self.run("import", f"{self.folder}/debian.tar", tag)

    def containers(self):
        return self.run("ps", "--all", "--quiet").split()

    def remove(self):
        self.run("rm", "--force", "--all", "--time=0", check=False)
        with open("/proc/mounts", encoding="utf-8") as file:
            mounts = [line.split()[1] for line in file if f" {self.folder}/" in line]
        for mount in reversed(mounts):
            subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why_not():
            raise unittest.SkipTest(why_not())
        cls.podman = Podman()
        cls.addClassCleanup(cls.podman.remove)
        try:
            cls.podman.make_image()
            cls.podman.run("run", "--rm", "--network=host", IMAGE, "id")
        except subprocess.CalledProcessError as error:
            raise unittest.SkipTest(f"podman runs no container here: {error.stderr.strip()[-500:]}") from error
        os.environ.update(cls.podman.environment)

    @contextlib.contextmanager
    def cluster(self, **options):
        with processes.Cluster(**options) as cluster:
            self.code = os.path.join(cluster.folder, "code")
            os.makedirs(self.code)
            with open(f"{self.code}/train.sh", "w", encoding="ascii") as file:
                file.write(TRAIN)
            with open(f"{cluster.folder}/table", "w", encoding="ascii") as file:
                file.write("the-table\n")
            yield cluster
        # The process that the worker started for it removes what a waiting program leaves.
        processes.wait_until(lambda: not self.podman.containers(), "no container is left")

    def submit(self, running, trainer=None, container=None, **more):
        spec = {"name": "contained",
                "trainer": {"source": ".", "command": ["sh", "train.sh"], "grace_period": "5s",
                            "environment": {"X": "a 'word' = $HOME"},
                            "container": {"image": IMAGE, "engine": "podman", **(container or {})},
                            "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}],
                            "resource_regex": "epoch ([0-9]+)", **(trainer or {})},
                "channels": {"train": {"path": f"{running.folder}/table"}},
                "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
                "limits": {"max_trials": 2, "max_trial_resource": 5}, **more}
        path = f"{self.code}/job.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        return running.client.json("submit", path)["id"]

    def describe(self, cluster, job, *trial):
        return cluster.client.json("describe", job, *trial)

    def test_the_contract_holds_and_files_belong_to_the_trials_user(self):
        # Users of a range of its own, so that those of other tests are not touched.
        first = 61184 + os.getpid() % 1000 * 4
        secrets = tempfile.mkdtemp(prefix="winnow-secrets-")
        self.addCleanup(shutil.rmtree, secrets)
        os.makedirs(f"{secrets}/everyone")
        with open(f"{secrets}/everyone/key", "w", encoding="ascii") as file:
            file.write("hidden-word")
        flags = ["--run-as", f"{first}-{first + 3}", "--secrets-dir", secrets]
        with self.cluster(workers=1, worker_flags=flags) as cluster:
            os.chmod(cluster.folder, 0o755)
            job = self.submit(cluster, {"secrets": {"API_KEY": "key"}}, strategy="HYPERBAND",
                              hyperband={"max_resource": 4, "reduction_factor": 2},
                              cluster={"memory_gib": 0.25, "cpus": 1}, limits={"max_trials": 4})
            self.assertEqual(cluster.watch(job).to_end(), 0)
            told = [text.splitlines()[0] for text in cluster.workers[0].printed().values()]
            self.assertGreater(len(told), 4, "some trials were resumed")
            for line in told:
                self.assertRegex(line, r"^in the-image as \d+ from \d+ with a 'word' = \$HOME and \(secret\) and the-table$")
                self.assertIn(int(line.split()[3]), range(first, first + 4))
            self.assertEqual({line.split()[5] for line in told}, {"0", "2"}, "a part goes on from its checkpoint")
            for trial in range(1, 5):
                model = f"{cluster.workers[0].shared}/jobs/{job}/trials/{trial}/model/model"
                self.assertIn(os.stat(model).st_uid, range(first, first + 4))
            self.assertNotIn("hidden-word", cluster.workers[0].log())

    @unittest.skipUnless(shutil.which("mmdebstrap"), "mmdebstrap is not installed")
    def test_the_example_runs_in_an_image_that_is_made_of_debian(self):
        with open(f"{EXAMPLES}/container.json", encoding="utf-8") as file:
            self.podman.make_debian(json.load(file)["trainer"]["container"]["image"])
        with self.cluster(workers=1) as cluster:
            job = cluster.client.json("submit", f"{EXAMPLES}/container.json")["id"]
            self.assertEqual(cluster.watch(job).to_end(), 0)
            self.assertEqual(int(self.describe(cluster, job)["trial_counts"]["completed"]), 6)

    def test_a_setup_runs_once_in_the_image_and_trials_find_what_it_made(self):
        first = 61184 + os.getpid() % 1000 * 4 + 2
        for flags in ([], ["--run-as", f"{first}-{first + 1}"]):
            with self.subTest(flags), self.cluster(workers=1, worker_flags=flags) as cluster:
                os.chmod(cluster.folder, 0o755)
                with open(f"{self.code}/setup.sh", "w", encoding="ascii") as file:
                    file.write('echo "made in $(cat /image-name) with $X" > made\n[ -z "$RANK$SM_HPS" ]\n')
                job = self.submit(cluster, {"setup": ["sh", "setup.sh"],
                                            "command": ["sh", "-c", "cat made && ! echo x > planted && echo epoch 1: loss=1"]},
                                  limits={"max_trials": 3})
                self.assertEqual(cluster.watch(job).to_end(), 0)
                for text in cluster.workers[0].printed().values():
                    self.assertEqual(text.splitlines()[0], "made in the-image with a 'word' = $HOME")
                self.assertEqual(cluster.workers[0].log().count("setup of source"), 1)
                with open(f"{self.code}/setup.sh", "w", encoding="ascii") as file:
                    file.write("echo no such package: torhc in $(cat /image-name)\nexit 4\n")
                job = self.submit(cluster, {"setup": ["sh", "setup.sh"]}, limits={"max_trials": 30})
                self.assertEqual(cluster.watch(job).to_end(), 1)
                described = self.describe(cluster, job)
                self.assertIn("`sh setup.sh` failed with exit code 4: no such package: torhc in the-image",
                              described["state_reason"])
                self.assertEqual(int(described["trial_counts"].get("failed", 0)), 0)

    def test_each_rank_finds_its_files_of_a_folder(self):
        with self.cluster(workers=2) as cluster:
            files = f"{cluster.folder}/files"
            os.makedirs(files)
            for name in ("a", "b"):
                with open(f"{files}/{name}", "w", encoding="ascii") as file:
                    file.write(f"the-{name}\n")
            job = self.submit(cluster, {"command": ["sh", "-c", 'cat "$SM_CHANNEL_TRAIN"/* && echo epoch 1: loss=1']},
                              channels={"train": {"path": files, "distribution": "sharded"}}, cluster={"nodes": 2},
                              limits={"max_trials": 1})
            self.assertEqual(cluster.watch(job).to_end(), 0)
            # The other rank's program would have failed, too.
            told = [text.splitlines()[0] for worker in cluster.workers for text in worker.printed().values()]
            self.assertEqual(told, ["the-a"])

    def test_a_program_waits_in_its_container_for_its_next_part(self):
        with self.cluster(workers=1) as cluster:
            with open(f"{self.code}/wait.sh", "w", encoding="ascii") as file:
                file.write(WAIT)
            job = self.submit(cluster, {"command": ["sh", "wait.sh"]}, strategy="HYPERBAND",
                              hyperband={"max_resource": 4, "reduction_factor": 2}, limits={"max_trials": 4})
            self.assertEqual(cluster.watch(job).to_end(), 0)
            attempts = [attempt for trial in range(1, 5)
                        for attempt in self.describe(cluster, job, str(trial))["attempts"]]
            self.assertEqual({attempt["outcome"] for attempt in attempts}, {"finished"})
            self.assertIn("continued contained.", cluster.workers[0].log())

    def test_a_container_dies_with_its_worker_and_its_trial_goes_on(self):
        with self.cluster(workers=1, slots=1) as cluster:
            worker = cluster.workers[0]
            job = self.submit(cluster, {"environment": {"FOREVER": "1"}, "grace_period": "60s"}, limits={"max_trials": 1})
            levels = lambda: cluster.client.json("metrics", job).get("points", [])  # noqa: E731
            wait_until(lambda: len(levels()) > 3, "it trains")
            self.assertEqual(len(self.podman.containers()), 1)
            worker.kill()
            wait_until(lambda: not self.podman.containers(), "the container dies without another worker")
            before = len(levels())
            worker.start()
            wait_until(lambda: len(levels()) > before + 3, "it goes on")
            cluster.client.run("stop", job)
            wait_until(lambda: not self.podman.containers(), "it ends with its job")
            trial = f"{worker.shared}/jobs/{job}/trials/1/output/terminated"
            self.assertTrue(os.path.exists(trial), "SIGTERM reached the program")
            printed = worker.printed()
            self.assertGreater(int(printed[max(printed)].split(" from ")[1].split()[0]), 0)
            wait_until(lambda: not zombies_of(worker.pid), "the monitors of containers are reaped")

    def test_a_program_beyond_its_memory_is_told_so(self):
        with self.cluster(workers=1) as cluster:
            command = "head -c 400M /dev/zero | tail -n 1 > /dev/null && echo epoch 1: loss=1"
            job = self.submit(cluster, {"command": ["sh", "-c", command], "resumes": False},
                              cluster={"memory_gib": 0.05}, limits={"max_trials": 1, "max_first_failures": 1})
            self.assertEqual(cluster.watch(job).to_end(), 1)
            attempt = self.describe(cluster, job, "1")["attempts"][0]
            self.assertIn("out of memory: killed at its limit of 0.05 GiB", attempt["reason"])
            self.assertNotIn("oom", os.listdir(), "podman's monitor leaves no file where the worker was started")

    def test_what_cannot_be_had_ends_the_job_and_not_its_trials(self):
        with self.cluster(workers=1) as cluster:
            for container, why in (({"image": "127.0.0.1:1/nowhere:1"}, 'trainer.container.image "127.0.0.1:1/nowhere:1": '
                                                                      "`podman pull` failed with exit code 125"),
                                   ({"image": "docker-archive:/nowhere.tar"}, "/nowhere.tar"),
                                   ({"engine": "apptainer", "image": "a.sif"},
                                    'trainer.container.engine is "apptainer", which this worker does not have')):
                job = self.submit(cluster, container=container, limits={"max_trials": 30})
                self.assertEqual(cluster.watch(job).to_end(), 1)
                described = self.describe(cluster, job)
                self.assertIn("The job's container could not be had, so that no trial could be started. On worker w1: ",
                              described["state_reason"])
                self.assertIn(why, described["state_reason"])
                self.assertEqual(int(described["trial_counts"].get("failed", 0)), 0)

    def test_a_program_that_is_not_in_the_image_fails_with_its_name(self):
        with self.cluster(workers=1) as cluster:
            job = self.submit(cluster, {"command": ["no-such-program"]},
                              limits={"max_trials": 3, "max_first_failures": 1})
            self.assertEqual(cluster.watch(job).to_end(), 1)
            self.assertIn("no-such-program", self.describe(cluster, job, "1")["attempts"][0]["reason"])


if __name__ == "__main__":
    sys.exit(processes.main())
