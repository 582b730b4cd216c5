#!/usr/bin/env python3
"""What scripts/package.sh makes, in a clean Debian 12: installed, used, upgraded under a running job, removed and purged.

systemd does not run in such a root: the test starts the services by the command lines of their units, and a systemctl that
only records says what the package asks of systemd.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import clean_root  # noqa: E402
from processes import wait_until  # noqa: E402

OLDER = "0.0.1"
VERSION = re.search(r"^project\(winnow VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
PROXIES = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
SOCKET = "unix:/var/lib/winnow/winnow.db.d/server.sock"
EXAMPLE_PROGRAMS = [str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("*.*") if path.is_file() and
                    path.stat().st_mode & 0o100 and "data" not in path.parts]
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/systemctl.log
case "$*" in
  *list-units*) echo winnow-worker@1.service loaded active running Winnow ;;
  *is-enabled*) echo enabled ;;
esac
"""
# Writes its epoch into its checkpoint, and goes on from there.
TRAINER = """
epoch=$(cat "$WINNOW_CHECKPOINT_DIR/epoch" 2>/dev/null || echo 0)
while [ "$epoch" -lt 60 ] || [ ! -e /tmp/finish ]; do
  epoch=$((epoch + 1)); echo "epoch=$epoch loss=$1"; echo $epoch >"$WINNOW_CHECKPOINT_DIR/part"
  mv "$WINNOW_CHECKPOINT_DIR/part" "$WINNOW_CHECKPOINT_DIR/epoch"; sleep 0.05
done
"""
LONG = {"name": "long", "trainer": {"command": ["sh", "/srv/train.sh", "{{x}}"], "resource_regex": "epoch=([0-9]+)",
                                    "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
        "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": 1},
        "working_directory": "/srv"}
AT_HOME = {**LONG, "name": "at-home", "trainer": {**LONG["trainer"], "source": ".", "command": ["sh", "train.sh", "{{x}}"]}}
del AT_HOME["working_directory"]
TUNE = """
import sys
import time
begin = time.monotonic()
import winnow

def f(x, y):
    return (x - 2) ** 2 + (y + 1) ** 2

if __name__ == "__main__":
    result = winnow.tune(f, {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}, max_trials=30, n_jobs=int(sys.argv[1]))
    print(len(result.trials), result.best_value < 1, time.monotonic() - begin)
"""


class Service:
    """A unit's command line, run as its user in its directory."""

    def __init__(self, root, unit, instance=""):
        text = (root.path / f"usr/lib/systemd/system/{unit}").read_text().replace("%i", instance).replace("%l", "host")
        said = dict(re.findall(r"^(User|WorkingDirectory|StateDirectory|ExecStart)=(.*)$", text, re.M))
        for name in said["StateDirectory"].split():
            folder = root.path / "var/lib" / name
            if not folder.exists():  # as systemd does
                folder.mkdir(mode=0o711)
        self.command = root.command(f"cd {said['WorkingDirectory']} && exec {said['ExecStart']}", said.get("User", "root"))
        self.log = root.path / f"{unit}.log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(120)


def made(pattern):
    """What make_packages.py has made."""
    found = list(pathlib.Path(clean_root.BUILD, "packages").glob(pattern))
    if not found:
        raise unittest.SkipTest(f"no packages/{pattern} was made")
    return found[0]


def older_package(deb):
    """The same programs under an older version."""
    tree = FOLDER / "older"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {OLDER}", control.read_text(), flags=re.M))
    subprocess.run(["dpkg-deb", "-Znone", "-b", tree, FOLDER / "older.deb"], check=True, stdout=subprocess.DEVNULL)
    return FOLDER / "older.deb"


def setUpModule():
    global FOLDER
    FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="winnow-packages-"))
    unittest.addModuleCleanup(shutil.rmtree, FOLDER, ignore_errors=True)
    os.chmod(FOLDER, 0o755)


class Packages(unittest.TestCase):
    def setUp(self):
        self.services = []

    def unpacked(self, archive, *arguments):
        """A root of its own."""
        try:
            root = clean_root.Root(tempfile.mkdtemp(dir=FOLDER) + "/root", archive(*arguments))
        except clean_root.NoRoot as reason:
            self.skipTest(str(reason))
        self.addCleanup(root.close)
        self.addCleanup(lambda: [service.stop() for service in reversed(self.services)])
        return root

    def service(self, unit, instance=""):
        service = Service(self.root, unit, instance)
        self.services.append(service)
        service.start()
        return service

    def winnow(self, command, ok=True):
        return self.root.run(f"winnow {command}", ok, WINNOW_TOKEN_FILE="/root/token", WINNOW_SERVER="127.0.0.1:7070")

    def token(self, server, role, file):
        wait_until(lambda: server.process.poll() is not None or self.root.exists("/var/lib/winnow/winnow.db.d/server.sock"),
                   "the server listens")
        self.assertIsNone(server.process.poll(), server.log.read_text())
        self.root.run(f"umask 077; winnow --server {SOCKET} token create --role {role} >{file}")

    def epochs(self, ok=True):
        """Of the long job, each as often as it was reported; empty if there is none yet, or without `ok` if nothing answers."""
        said = self.winnow("metrics long --output json", ok)
        return [int(point["resource"]) for point in json.loads(said)["points"]] if said else []

    def asked_of_systemd(self):
        log = self.root.path / "systemctl.log"
        said = log.read_text() if log.exists() else ""
        log.unlink(missing_ok=True)
        return said

    def test_the_debian_package_is_installed_upgraded_removed_and_purged(self):
        deb = made("*.deb")
        root = self.root = self.unpacked(clean_root.debian)
        shutil.copy(older_package(deb), root.path / "older.deb")
        shutil.copy(deb, root.path / "winnow.deb")
        try:
            root.run("apt-get update -qq", network="host", **PROXIES)
            root.run("DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /older.deb", network="host",
                     **PROXIES)
        except AssertionError as error:
            if "exit code 100" in str(error) and "Failed to fetch" in str(error):
                self.skipTest(f"no mirror: {error}")
            raise
        self.check_what_is_installed()

        # The services run, and the quickstart's job is tuned.
        server = self.service("winnow-server.service")
        self.token(server, "worker", "/etc/winnow/worker.token")
        self.token(server, "submitter", "/root/token")
        worker = self.service("winnow-worker@.service", "1")
        examples = root.path / "srv/examples"
        shutil.copytree(ROOT / "examples", examples, ignore=shutil.ignore_patterns("data"))
        subprocess.run([ROOT / "scripts/get-data.sh", examples / "data"], check=True, capture_output=True)
        said = self.winnow("submit /srv/examples/direct-marketing.json --watch")
        self.assertIn("direct-marketing COMPLETED: All 30 trials have ended.", said)

        # A person's job trains from a home directory that others may not enter, as docs/operations.md says.
        root.run("useradd --create-home -K HOME_MODE=0700 alice")
        root.run(f"winnow --server {SOCKET} token create --role submitter --name alice | su alice -c "
                 "'winnow context add local --server 127.0.0.1:7070 --token-stdin'")
        (root.path / "home/alice/train.sh").write_text('echo "epoch=1 loss=$1"\n')
        (root.path / "home/alice/job.json").write_text(json.dumps(AT_HOME))
        self.assertIn("at-home COMPLETED", root.run("su alice -c 'winnow submit ~/job.json --watch'"))

        # Upgraded while a trial runs: the services are restarted, and the trial goes on from its checkpoint.
        (root.path / "srv/train.sh").write_text(TRAINER)
        (root.path / "srv/long.json").write_text(json.dumps(LONG))
        self.winnow("submit /srv/long.json")
        wait_until(lambda: len(self.epochs(ok=False)) >= 5, "the long trial has begun")
        (root.path / "run/systemd/system").mkdir(parents=True)
        stand_in = root.path / "usr/bin/systemctl"
        stand_in.write_text(SYSTEMCTL)
        stand_in.chmod(0o755)
        root.run("dpkg -i /winnow.deb")
        self.assertEqual(root.run("winnow --version"), f"winnow {VERSION}\n")
        asked = self.asked_of_systemd()
        for unit in ("winnow-server.service", "winnow-worker@1.service"):
            self.assertRegex(asked, f"try-restart {unit}")
            self.assertNotRegex(asked, f" start {unit}", "what an administrator has stopped stays so")
        self.assertIsNone(server.process.poll(), "the upgrade itself stops nothing")
        for service in (server, worker):
            before = max(self.epochs())
            service.stop()
            service.start()
            wait_until(lambda: (found := self.epochs(ok=False)) and max(found) > before, "the trial goes on")
        (root.path / "tmp/finish").touch()
        self.assertIn("long COMPLETED", self.winnow("watch long"))
        epochs = self.epochs()
        self.assertEqual(sorted(epochs), list(range(1, max(epochs) + 1)), "each epoch is there once: none was lost")

        # Removed: state and configuration stay. Purged: nothing does.
        root.run("dpkg -r winnow")
        self.assertRegex(self.asked_of_systemd(), "stop winnow-server.service")
        for service in (worker, server):
            service.stop()
        self.assertFalse(root.exists("/usr/bin/winnow-server"))
        for path in ("/var/lib/winnow/winnow.db", "/etc/winnow/server.toml", "/etc/winnow/worker.token"):
            self.assertTrue(root.exists(path), path)

        # Installed again: the server starts, and the workers that were enabled.
        wants = root.path / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        for unit in ("winnow-worker@2.service", "other@1.service"):
            (wants / unit).symlink_to("/usr/lib/systemd/system/" + unit.replace("2", "").replace("1", ""))
        root.run("dpkg -i /winnow.deb")
        asked = self.asked_of_systemd()
        for unit in ("winnow-server.service", "winnow-worker@2.service"):
            self.assertRegex(asked, f" start {unit}")
        root.run("dpkg -i /winnow.deb")
        self.assertNotRegex(self.asked_of_systemd(), " start winnow")

        root.run("dpkg -P winnow")
        for path in ("/var/lib/winnow", "/var/lib/winnow-worker", "/etc/winnow"):
            self.assertFalse(root.exists(path), path)
        links = {link.name for link in wants.iterdir()}
        self.assertIn("other@1.service", links)
        self.assertNotIn("winnow-worker@2.service", links)

    def check_what_is_installed(self):
        root = self.root
        self.assertEqual(root.run("dpkg-query -W -f '${Status} ${Version}' winnow"), f"install ok installed {OLDER}")
        self.assertEqual(root.run("stat -c '%U %a' /var/lib/winnow").strip(), "winnow 700")
        self.assertEqual(root.run("dpkg-query -W -f '${Conffiles}' winnow | awk '{print $1}'").split(),
                         ["/etc/winnow/server.toml", "/etc/winnow/worker.toml"])
        for path in ("bash-completion/completions/winnow", "zsh/vendor-completions/_winnow", "fish/vendor_completions.d/winnow.fish",
                     "doc/winnow/copyright", "doc/winnow/examples/mnist.json"):
            # dpkg of a minimal root may leave documentation out
            self.assertIn(f"/usr/share/{path}", root.run("dpkg -L winnow"))
        for program in ("winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp"):
            self.assertEqual(root.run(f"{program} --version").split(), [program, VERSION])
        linked = root.run("for p in /usr/bin/winnow*; do ldd $p 2>/dev/null; done")
        self.assertNotIn("not found", linked)

    def test_everyone_may_read_what_is_installed(self):
        """Whatever the umask was where it was packed."""
        listings = (["dpkg-deb", "-c", made("*.deb")], ["tar", "--zstd", "-tvf", made("*.tar.zst")])
        for listing in listings:
            said = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
            self.assertEqual({line.split()[0] for line in said.splitlines()}, {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"}, listing)
            programs = re.findall(r"^-rwx.*/doc/winnow/(examples/.*)$", said, re.M)
            self.assertEqual(sorted(programs), sorted(EXAMPLE_PROGRAMS), listing)
        with zipfile.ZipFile(made("*.whl")) as wheel:
            modes = {member.filename: member.external_attr >> 16 & 0o777 for member in wheel.infolist()
                     if not member.filename.startswith(f"winnow-{VERSION}.dist-info/")}
        self.assertEqual({name: oct(mode) for name, mode in modes.items() if mode not in (0o644, 0o755)}, {})

    def test_the_wheel_is_the_whole_installation(self):
        """On the C library that it was made on, and on a newer one with a newer Python."""
        wheel = made("*.whl")
        for suite in ("bookworm", "trixie"):
            with self.subTest(suite=suite):
                root = self.unpacked(clean_root.python_alone, suite)
                self.assertEqual(self.pip("--no-deps", "--target", root.path / "opt/winnow", wheel), "")
                (root.path / "tune.py").write_text(TUNE)
                for processes in (1, 4):
                    begin = time.monotonic()
                    trials, good, inside = root.run(f"cd /tmp && python3 /tune.py {processes}", PYTHONPATH="/opt/winnow").split()
                    wall = time.monotonic() - begin
                    print(f"{suite}: six lines, {processes} processes: {wall:.2f} s, {float(inside):.2f} s from the import on")
                    self.assertEqual((trials, good), ("30", "True"))
                self.assertEqual(root.run("/opt/winnow/bin/winnow --version", PYTHONPATH="/opt/winnow"), f"winnow {VERSION}\n")

    def test_pip_refuses_the_wheel_where_the_c_library_is_older(self):
        wheel = made("*.whl")
        older = ["--platform", "manylinux_2_31_x86_64", "--only-binary=:all:", "--target", FOLDER / "none"]
        self.assertIn("No matching distribution found for winnow", self.pip("--find-links", wheel.parent, *older, "winnow"))

    def pip(self, *arguments):
        """What `pip install` says; "" if all went well."""
        command = ["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-index", "--root-user-action=ignore", *arguments]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
        if "No module named pip" in said:
            self.skipTest("Debian's python3-pip is not installed")
        return said

    def test_the_archive_runs_where_it_is_unpacked(self):
        folder = FOLDER / "unpacked"
        folder.mkdir()
        subprocess.run(["tar", "--zstd", "-xf", made("*.tar.zst"), "-C", folder], check=True)
        (tree,) = folder.iterdir()
        for path in ("bin/winnow-mpirun", "lib/systemd/system/winnow-worker@.service", "etc/winnow/server.toml",
                     "share/man/man1/winnow-submit.1", "share/doc/winnow/LICENSE"):
            self.assertTrue((tree / path).exists(), path)
        self.assertEqual(subprocess.run([tree / "bin/winnow", "--version"], capture_output=True, text=True, check=True).stdout,
                         f"winnow {VERSION}\n")
        # The quickstart takes what is installed instead of building.
        environment = {**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}", "WINNOW_QUICKSTART_DIR": str(FOLDER / "quickstart"),
                       "WINNOW_LISTEN": "127.0.0.1:0", "WINNOW_HTTP": "127.0.0.1:0"}
        quickstart = [ROOT / "scripts/quickstart.sh"]
        self.addCleanup(subprocess.run, [*quickstart, "--stop"], env=environment, check=True, stdout=subprocess.DEVNULL)
        said = subprocess.run(quickstart, env=environment, check=True, capture_output=True, text=True, timeout=240).stdout
        self.assertIn(f"with the Winnow that is installed in {tree}/bin", said)
        self.assertIn("build: nothing to do", said)
        self.assertIn("direct-marketing COMPLETED: All 30 trials have ended.", said)


if __name__ == "__main__":
    clean_root.enter_namespace()
    program = unittest.main(exit=False, verbosity=2)
    if program.result.wasSuccessful() and program.result.testsRun == len(program.result.skipped):
        sys.exit(clean_root.SKIPPED)
    sys.exit(0 if program.result.wasSuccessful() else 1)
