#!/usr/bin/env python3
"""The wheel: made, installed into a virtual environment, and used, without the repository."""

import os
import pathlib
import subprocess
import unittest

from servers import BIN, PATIENCE, ROOT, WithFolder, main

SIX_LINES = """
import winnow

def f(x, y):
    return (x - 2) ** 2 + (y + 1) ** 2

result = winnow.tune(f, {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}, max_trials=25)
print(winnow.__file__, result.best_value < 0.5, len(result.trials))
"""


class Wheel(WithFolder):
    def run_in(self, *command, **environment):
        done = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, timeout=PATIENCE, check=False,
                              env={"PATH": "/usr/bin:/bin", "HOME": self.folder, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def installed(self, wheel):
        """A virtual environment with the wheel."""
        environment = pathlib.Path(self.folder, "venv")
        self.run_in("/usr/bin/python3", "-m", "venv", "--without-pip", str(environment))
        self.run_in("/usr/bin/python3", "-m", "pip", "--python", str(environment / "bin/python"), "install", "--no-index",
                    "--quiet", wheel)
        return environment

    def setUp(self):
        super().setUp()
        try:
            import pip  # noqa: F401
            import venv  # noqa: F401
            import wheel  # noqa: F401
        except ImportError as error:
            self.skipTest(f"Debian's python3-venv, python3-pip and python3-wheel are needed: {error}")

    def test_with_the_programs_it_is_the_whole_installation(self):
        wheels = list(pathlib.Path(os.environ["WINNOW_BUILD_DIR"], "packages").glob("*.whl"))
        if not wheels:
            self.skipTest("no wheel with the programs was made: see the test \"packages: make\"")
        environment = self.installed(str(wheels[0]))
        file, good, trials = self.run_in(str(environment / "bin/python"), "-c", SIX_LINES).split()
        self.assertTrue(file.startswith(str(environment)))
        self.assertEqual((good, trials), ("True", "25"))

    def test_without_them_it_says_what_is_missing(self):
        environment = self.installed(self.run_in(str(ROOT / "scripts/package-wheel.sh"), "--out", self.folder).strip())
        script = "import winnow\ntry: winnow.serve()\nexcept winnow.ServerNotStarted as e: print(e)"
        self.assertIn("winnow-server is not in $WINNOW_BIN_DIR", self.run_in(str(environment / "bin/python"), "-c", script))
        _, good, _ = self.run_in(str(environment / "bin/python"), "-c", SIX_LINES,
                                    WINNOW_BIN_DIR=os.path.abspath(BIN)).split()
        self.assertEqual(good, "True")


if __name__ == "__main__":
    main()
