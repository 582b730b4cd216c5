#!/usr/bin/env python3
"""The wheel: made, installed into a virtual environment, and used, without the repository."""

import os
import pathlib
import re
import subprocess
import unittest
import zipfile

from servers import BIN, PATIENCE, ROOT, WithFolder, main, wait_until

SIX_LINES = """
import winnow

def f(x, y):
    return (x - 2) ** 2 + (y + 1) ** 2

result = winnow.tune(f, {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}, max_trials=25)
print(winnow.__file__, result.best_value < 0.5, len(result.trials))
"""

# Its fourth trial waits for a file.
WAITING = """
import os, time, winnow

def f(x):
    with open("calls", "a") as file:
        file.write("x")
    while os.path.getsize("calls") > 3 and not os.path.exists("go"):
        time.sleep(0.01)
    return x

result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=12, directory="study")
print(result.state, len(result.trials), {trial.state for trial in result.trials})
"""
OLDER = "0.0.1"


def older(wheel, folder):
    """The same wheel under an older version."""
    version = re.match(r"winnow-([0-9.]+)-", wheel.name)[1]
    made = folder / wheel.name.replace(version, OLDER)
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(made, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith(".dist-info/METADATA"):
                data = data.replace(f"\nVersion: {version}\n".encode(), f"\nVersion: {OLDER}\n".encode())
            if entry.filename.endswith(".dist-info/RECORD"):
                data = data.replace(f"winnow-{version}.dist-info".encode(), f"winnow-{OLDER}.dist-info".encode())
            entry.filename = entry.filename.replace(f"winnow-{version}.dist-info", f"winnow-{OLDER}.dist-info")
            entry.compress_type = zipfile.ZIP_STORED
            target.writestr(entry, data)
    return made, version


class Wheel(WithFolder):
    def run_in(self, *command, **environment):
        done = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, timeout=PATIENCE, check=False,
                              env={"PATH": "/usr/bin:/bin", "HOME": self.folder, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def pip(self, environment, *arguments):
        self.run_in("/usr/bin/python3", "-m", "pip", "--python", str(environment / "bin/python"), *arguments)

    def installed(self, wheel):
        """A virtual environment with the wheel."""
        environment = pathlib.Path(self.folder, "venv")
        self.run_in("/usr/bin/python3", "-m", "venv", "--without-pip", str(environment))
        self.pip(environment, "install", "--no-index", "--quiet", str(wheel))
        return environment

    def with_programs(self):
        wheels = list(pathlib.Path(os.environ["WINNOW_BUILD_DIR"], "packages").glob("*.whl"))
        if not wheels:
            self.skipTest("no wheel with the programs was made: see the test \"packages: make\"")
        return wheels[0]

    def setUp(self):
        super().setUp()
        try:
            import pip  # noqa: F401
            import venv  # noqa: F401
            import wheel  # noqa: F401
        except ImportError as error:
            self.skipTest(f"Debian's python3-venv, python3-pip and python3-wheel are needed: {error}")

    def test_with_the_programs_it_is_the_whole_installation(self):
        environment = self.installed(self.with_programs())
        file, good, trials = self.run_in(str(environment / "bin/python"), "-c", SIX_LINES).split()
        self.assertTrue(file.startswith(str(environment)))
        self.assertEqual((good, trials), ("True", "25"))

    def test_it_is_upgraded_while_a_function_is_tuned_and_removed(self):
        wheel = self.with_programs()
        before, version = older(wheel, pathlib.Path(self.folder))
        environment = self.installed(before)
        python = str(environment / "bin/python")
        installed = "import importlib.metadata as m; print(m.version('winnow'))"
        self.assertEqual(self.run_in(python, "-c", installed), f"{OLDER}\n")

        tuning = subprocess.Popen([python, "-c", WAITING], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "HOME": self.folder})
        self.addCleanup(tuning.communicate)
        self.addCleanup(tuning.kill)
        calls = pathlib.Path(self.folder, "calls")
        wait_until(lambda: tuning.poll() is not None or calls.exists() and calls.stat().st_size == 4, "the fourth trial trains")
        self.assertIsNone(tuning.poll())
        self.pip(environment, "install", "--no-index", "--quiet", "--upgrade", str(wheel))
        self.assertEqual(self.run_in(python, "-c", installed), f"{version}\n")
        pathlib.Path(self.folder, "go").touch()
        self.assertEqual(tuning.communicate(timeout=PATIENCE)[0], "COMPLETED 12 {'COMPLETED'}\n")
        # The new programs go on with the old ones' database.
        self.assertEqual(self.run_in(python, "-c", WAITING), "COMPLETED 12 {'COMPLETED'}\n")
        self.assertEqual(calls.stat().st_size, 12, "the search was over")

        self.pip(environment, "uninstall", "--quiet", "--yes", "winnow")
        left = [path for path in environment.rglob("*winnow*") if path.is_file()]
        self.assertEqual(left, [])
        self.assertEqual(list(environment.glob("lib/python3*/site-packages/winnow")), [])

    def test_without_them_it_says_what_is_missing(self):
        environment = self.installed(self.run_in(str(ROOT / "scripts/package-wheel.sh"), "--out", self.folder).strip())
        script = "import winnow\ntry: winnow.serve()\nexcept winnow.ServerNotStarted as e: print(e)"
        self.assertIn("winnow-server is not in $WINNOW_BIN_DIR", self.run_in(str(environment / "bin/python"), "-c", script))
        _, good, _ = self.run_in(str(environment / "bin/python"), "-c", SIX_LINES,
                                    WINNOW_BIN_DIR=os.path.abspath(BIN)).split()
        self.assertEqual(good, "True")


if __name__ == "__main__":
    main()
