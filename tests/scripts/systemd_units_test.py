"""The unit files of packaging/systemd: systemd takes them without a word, and the programs take the flags in them."""

import glob
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
        self.assertEqual(sorted(units()), ["winnow-server.service", "winnow-worker.service"])
        for name, text in units().items():
            path = f"{self.folder}/{name}"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)

    def test_what_keeps_a_service_apart_and_alive_is_there(self):
        for name, text in units().items():
            for line in ("Restart=always", "NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes"):
                self.assertIn(f"\n{line}\n", text, name)
            self.assertRegex(text, r"\nLimitNOFILE=\d+\n", name)
        self.assertIn("\nDelegate=yes\n", units()["winnow-worker.service"])
        self.assertIn("--run-as", units()["winnow-worker.service"])

    def test_the_programs_take_the_flags(self):
        for name, text in units().items():
            command = shlex.split(re.search("ExecStart=(.*)", text.replace("\\\n", " "))[1])
            if "worker" in name:
                if os.geteuid() != 0:
                    continue
                os.chmod(self.folder, 0o755)
                command = [word.replace("/var/lib", self.folder) for word in command] + ["--check", "--slots", "1"]
            else:
                command = [word.replace("/var/lib", "/nonexistent") for word in command]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            if "worker" in name:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
            else:  # all flags are known; what is wrong is what they name
                self.assertRegex(done.stderr, "/etc/winnow/server|/nonexistent/winnow")


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
