"""The unit files of packaging/systemd and the configuration of packaging/config: systemd takes the units without a word, and the
programs take their flags and settings."""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BIN = os.environ.get("WINNOW_BIN_DIR", "")
SKIPPED = 77


def why_not():
    if not shutil.which("systemd-analyze"):
        return "systemd-analyze is not installed"
    if not all(os.path.exists(f"{BIN}/{name}") for name in ("winnow-server", "winnow-worker")):
        return "WINNOW_BIN_DIR names no folder with winnow-server and winnow-worker"
    return ""


def units():
    """Name -> text, with the programs that were built in the place of installed ones."""
    texts = {}
    for path in sorted(glob.glob(f"{ROOT}/packaging/systemd/*.service")):
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = file.read().replace("/usr/bin/winnow", f"{BIN}/winnow")
    return texts


class UnitsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-units-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_systemd_finds_nothing_to_say(self):
        self.assertEqual(sorted(units()), ["winnow-server.service", "winnow-worker@.service"])
        for name, text in units().items():
            path = f"{self.folder}/{name}"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)

    def test_what_keeps_a_service_apart_and_alive_is_there(self):
        for name, text in units().items():
            for line in ("Restart=always", "NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes", "StartLimitIntervalSec=0"):
                self.assertIn(f"\n{line}\n", text, name)
            self.assertRegex(text, r"\nLimitNOFILE=\d+\n", name)
        self.assertIn("\nDelegate=yes\n", units()["winnow-worker@.service"])
        with open(f"{ROOT}/packaging/config/worker.toml", encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\nrun-as = \"\d+-\d+\"\n")

    def test_trainers_reach_their_devices(self):
        text = units()["winnow-worker@.service"]
        for denies in ("PrivateDevices=yes", "ProtectClock=yes", "DevicePolicy=", "DeviceAllow="):
            self.assertNotIn("\n" + denies, text)
        self.assertNotIn("CAP_SYS_TIME", text.replace("# without CAP_SYS_TIME", ""))

    def test_systemd_takes_the_lines_by_which_a_worker_may_run_containers(self):
        with open(f"{ROOT}/docs/operations.md", encoding="utf-8") as file:
            loosened = re.search(r"`systemctl edit winnow-worker@`:\n\n```ini\n(.*?)```", file.read(), re.DOTALL)[1]
        path = f"{self.folder}/winnow-worker@.service"
        with open(path, "w", encoding="utf-8") as file:
            file.write(units()["winnow-worker@.service"])
        os.makedirs(f"{path}.d")
        with open(f"{path}.d/override.conf", "w", encoding="utf-8") as file:
            file.write(loosened)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_programs_take_the_flags_and_the_settings(self):
        for name, text in units().items():
            command = re.search("ExecStart=(.*)", text)[1].replace("%l", "host").replace("%i", "1")
            command = shlex.split(command.replace("/etc/winnow", f"{ROOT}/packaging/config").replace("/var/lib", self.folder))
            shown = subprocess.run([*command, "--show-config", "json"], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)
            values = {row["name"]: (row["value"], row["from"]) for row in json.loads(shown.stdout)}
            if "worker" in name:
                self.assertEqual(values["run-as"][0], "61184-61247")
                self.assertEqual(values["token-file"][0], "/etc/winnow/worker.token")
                self.assertEqual(values["work-dir"], (f"{self.folder}/winnow-worker/1", "command line"))
            else:
                self.assertEqual(values["require-tokens"][0], True)
                self.assertEqual(values["local-workers"][0], 0)
                self.assertTrue(values["db"][1].startswith(f"{ROOT}/packaging/config/server.toml:"))


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
