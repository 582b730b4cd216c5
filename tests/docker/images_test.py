"""Builds the images from docker/Dockerfile, runs what docker/compose.yaml describes, and finishes a job there.

The base image is made by mmdebstrap from Debian's packages, the programs are those that were built already
(WINNOW_BIN_DIR); containers are run one by one by podman, in a storage of their own. Needs root.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/packages"))

import clean_root  # noqa: E402

BIN = os.environ.get("WINNOW_BIN_DIR", "")
COMPOSE = os.path.join(ROOT, "docker/compose.yaml")
BASE = "debian:bookworm-slim"
PROGRAMS = ["winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp"]
TOOLS = ["buildah", "podman", "runc", "mmdebstrap", "iptables"]
PATIENCE = 120  # seconds
LARGEST = 250   # MB of an image, of which Debian's base is some 150
SKIPPED = 77


def why_not():
    if os.geteuid() != 0:
        return "images are built as root here"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} not installed (scripts/install-packages.sh --containers)"
    if not all(os.path.exists(os.path.join(BIN, program)) for program in PROGRAMS):
        return "WINNOW_BIN_DIR names no folder with all programs"
    return ""


def run(*arguments, ok=(0,), **options):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode not in ok:
        raise AssertionError(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


class Topology:
    """The services of a compose file as containers of podman's."""

    def __init__(self, folder, examples):
        self.folder, self.examples = folder, examples
        with open(COMPOSE, encoding="utf-8") as file:
            self.compose = yaml.safe_load(file)
        self.services = self.compose["services"]
        # Podman takes at most 50 characters for this one.
        self.run_root = tempfile.mkdtemp(prefix="wnw-", dir="/tmp")
        self.storage = ["--storage-driver", "overlay", "--root", f"{folder}/root", "--runroot", self.run_root]
        self.tag = f"winnow{os.getpid()}"
        self.started = []
        self.addresses = {name: service["networks"]["winnow"]["ipv4_address"]
                          for name, service in self.services.items() if isinstance(service["networks"], dict)}

    def podman(self, *arguments, **options):
        return run("podman", *self.storage, "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend",
                   "file", "--network-config-dir", f"{self.folder}/networks", *arguments, **options)

    def build(self):
        """Every image that a service is built from, and their sizes in MB."""
        base = clean_root.debian()
        os.makedirs(f"{self.folder}/networks", exist_ok=True)
        self.podman("import", str(base), f"localhost/{BASE}")
        context = f"{self.folder}/context"
        os.makedirs(f"{context}/bin")
        for program in PROGRAMS:
            run("strip", "-o", f"{context}/bin/{program}", os.path.join(BIN, program))
        shutil.copytree(f"{ROOT}/docker", f"{context}/docker")
        os.makedirs(f"{context}/worker")
        shutil.copy(f"{ROOT}/worker/winnow-mpirun", f"{context}/worker")
        run("chmod", "-R", "go=", context)  # as under umask 077
        targets = {service["image"]: service["build"]["target"] for service in self.services.values()
                   if "build" in service}
        for image, target in targets.items():
            run("buildah", *self.storage, "bud", "--isolation", "chroot", "--network", "host", "--pull-never", "--layers",
                "--format", "docker", "--build-arg", "PREBUILT=bin", "--target", target, "--tag", image, "--file",
                f"{context}/docker/Dockerfile", context)
        return {image: json.loads(self.podman("image", "inspect", image))[0]["Size"] / 1e6 for image in targets}

    def create_network(self):
        subnet = self.compose["networks"]["winnow"]["ipam"]["config"][0]["subnet"]
        self.podman("network", "create", "--disable-dns", "--subnet", subnet, self.tag)

    def run_service(self, name, *command, detach=False, ok=(0,)):
        service = self.services[name]
        arguments = ["--name", f"{self.tag}-{name}", "--network", self.tag,
                     "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
        if name in self.addresses:
            arguments += ["--ip", self.addresses[name]]
        for other, address in self.addresses.items():
            arguments += ["--add-host", f"{other}:{address}"]
        if "hostname" in service:
            arguments += ["--hostname", service["hostname"]]
        for variable, value in service.get("environment", {}).items():
            arguments += ["--env", f"{variable}={value}"]
        for volume in service.get("volumes", []):
            source, target = volume.split(":", 1)
            source = self.examples if source == "../examples" else f"{self.tag}-{source}"
            arguments += ["--volume", f"{source}:{target}"]
        for flag, key in (("--cap-drop", "cap_drop"), ("--cap-add", "cap_add"), ("--tmpfs", "tmpfs")):
            for value in service.get(key, []):
                arguments += [flag, value]
        for option in service.get("security_opt", []):
            arguments += ["--security-opt", option.replace(":true", "")]
        if service.get("read_only"):
            arguments += ["--read-only"]
        if "entrypoint" in service:
            arguments += ["--entrypoint", json.dumps(service["entrypoint"])]
        self.started.append(f"{self.tag}-{name}")
        return self.podman("run", "--detach" if detach else "--rm", *arguments, service["image"],
                           *(command or service.get("command", [])), ok=ok)

    def start(self, name):
        """A service of the file, once those that it depends on are as far as it says."""
        if any(started == f"{self.tag}-{name}" for started in self.started):
            return
        awaited = {}
        for other, how in self.services[name].get("depends_on", {}).items():
            self.start(other)
            awaited[other] = how["condition"]
        for other, condition in awaited.items():
            if condition == "service_healthy":
                self.await_health(other)
        once = any(service.get("depends_on", {}).get(name, {}).get("condition") == "service_completed_successfully"
                   for service in self.services.values())
        self.run_service(name, detach=not once)

    def await_health(self, name):
        end = time.monotonic() + PATIENCE
        while True:
            done = subprocess.run(["podman", *self.storage, "--runtime", "runc", "--cgroup-manager", "cgroupfs",
                                   "healthcheck", "run", f"{self.tag}-{name}"], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise AssertionError(f"{name} is not healthy: {done.stdout}{done.stderr}\n" + self.logs(name))
            time.sleep(0.5)

    def logs(self, name):
        return self.podman("logs", "--tail", "40", f"{self.tag}-{name}", ok=(0, 125))

    def remove(self):
        for name in reversed(self.started):
            self.podman("rm", "--force", "--time", "0", "--ignore", name, ok=(0, 1, 125))
        self.podman("network", "rm", "--force", self.tag, ok=(0, 1, 125))
        self.podman("volume", "rm", "--all", "--force", ok=(0, 1, 125))
        self.podman("rmi", "--all", "--force", ok=(0, 1, 125))
        with open("/proc/mounts", encoding="utf-8") as file:
            mounts = [line.split()[1] for line in file if f" {self.folder}/" in line]
        for mount in reversed(mounts):
            subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


class ImagesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-images-", dir=clean_root.BUILD or None)
        self.examples = f"{self.folder}/examples"
        os.makedirs(self.examples)
        self.topology = Topology(self.folder, self.examples)
        self.addCleanup(self.topology.remove)

    def write_example(self):
        run(f"{ROOT}/scripts/get-data.sh", f"{self.examples}/data",
            env={**os.environ, "WINNOW_DATA_URL": "file:///nowhere"})  # generated, unless the real data are here
        with open(f"{ROOT}/examples/direct-marketing.json", encoding="utf-8") as file:
            job = json.load(file)
        job["cluster"]["nodes"] = 3
        with open(f"{self.examples}/job.json", "w", encoding="utf-8") as file:
            json.dump(job, file)
        run("chmod", "-R", "a+rX", self.examples)

    def assert_a_job_reads_no_secret(self):
        """A submitter's own command looks for whatever could be a token, wherever its container has files."""
        topology = self.topology
        secrets = {}
        for name, folder in (("worker-1", "/worker-credentials"), ("cli", "/user-credentials")):
            self.assertIn(f"{folder[1:]}:{folder}:ro", topology.services[name]["volumes"])
        for service, volumes in ((name, service["volumes"]) for name, service in topology.services.items()):
            held = {volume.split(":")[0] for volume in volumes}
            if service.startswith("worker-"):  # neither the people's tokens nor the server's keys
                self.assertFalse(held & {"user-credentials", "server-credentials", "server"}, service)
            secrets[service] = held
        self.assertNotIn("worker-credentials", secrets["cli"] | secrets["server"])

        script = ("id -u; cat /worker-credentials/worker.token /proc/1/environ; ls /worker-credentials /var/lib/winnow "
                  "/var/lib/winnow/jobs /proc/1/fd; grep -rls wnw_ / --exclude-dir=sys --exclude-dir=proc --exclude-dir=usr; "
                  "grep -ls wnw_ /proc/[0-9]*/environ; env | grep -i token; touch /var/lib/winnow/planted /planted; "
                  "echo loss=1")
        spec = {"name": "spy", "strategy": "RANDOM", "limits": {"max_trials": 1},
                "trainer": {"command": ["/bin/sh", "-c", script],
                            "metrics": [{"name": "loss", "regex": "loss=([0-9]+)"}]},
                "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
                "objective": {"metric": "loss", "goal": "MINIMIZE"}}
        with open(f"{self.examples}/spy.json", "w", encoding="utf-8") as file:
            json.dump(spec, file)
        os.chmod(f"{self.examples}/spy.json", 0o644)
        shown = topology.run_service("cli", "submit", "/examples/spy.json", "--watch")
        self.assertIn("spy COMPLETED:", shown)
        printed = topology.run_service("cli", "logs", "latest", "1").split()
        self.assertTrue(61184 <= int(printed[0]) <= 61247, printed)
        # The spy's own job file, which all may read, is what it finds.
        self.assertEqual(set(printed[1:]) - {"/examples/spy.json"}, {"loss=1"})

    def test_the_topology_finishes_the_quickstart_job_on_clusters_of_three(self):
        topology = self.topology
        sizes = topology.build()
        print("images: " + ", ".join(f"{image} {size:.0f} MB" for image, size in sizes.items()))
        for image, size in sizes.items():
            self.assertLess(size, LARGEST, image)
            settings = json.loads(topology.podman("image", "inspect", image))[0]["Config"]
            self.assertEqual(settings.get("User", ""), "" if image == "winnow/worker" else "winnow", image)

        topology.podman("run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024",
                        "--entrypoint", '["test", "-x", "/usr/local/bin/winnow-mpirun"]', "winnow/worker")

        self.write_example()
        topology.create_network()
        workers = [name for name in topology.services if name.startswith("worker-")]
        self.assertEqual(len(workers), 3)
        for name in ["server", *workers]:
            topology.start(name)
        for name in workers:
            topology.await_health(name)

        shown = topology.run_service("cli", "submit", "/examples/job.json", "--watch")
        self.assertIn("direct-marketing COMPLETED:", shown)
        trials = json.loads(topology.run_service("cli", "analytics", "latest", "--output", "json"))["trials"]
        self.assertEqual(len(trials), 30)
        self.assertEqual({trial["state"] for trial in trials} - {"COMPLETED", "PRUNED"}, set())
        for name in workers:  # a rank of each trial was on each of them
            self.assertIn("started", topology.logs(name))
        self.assert_a_job_reads_no_secret()
        # Without a token nothing is told.
        refused = topology.podman("run", "--rm", "--network", topology.tag, "--add-host",
                                  f"server:{topology.addresses['server']}", "--ulimit", "nofile=1024:1024", "--ulimit",
                                  "nproc=1024:1024", "--volume", f"{topology.tag}-credentials:/credentials:ro",
                                  "winnow/cli", "--server", "server:7070", "--tls-ca", "/credentials/ca.pem", "list",
                                  ok=(1,))
        self.assertIn("token", refused)


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
