"""cmake --install puts the programs where it is told, and they start there."""

import os
import subprocess
import tempfile
import unittest

BUILD = os.environ["WINNOW_BUILD_DIR"]
PROGRAMS = ["winnow", "winnow-gbdt", "winnow-mlp", "winnow-mpirun", "winnow-server", "winnow-worker"]


class InstallTest(unittest.TestCase):
    def test_installed_programs_start(self):
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(sorted(os.listdir(f"{prefix}/bin")), PROGRAMS)
            for program in PROGRAMS:
                shown = subprocess.run([f"{prefix}/bin/{program}", "--help"], capture_output=True, text=True, check=True)
                self.assertIn(program, shown.stdout)


if __name__ == "__main__":
    unittest.main()
