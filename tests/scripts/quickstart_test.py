"""scripts/quickstart.sh where another server has its ports, such as the one of the Debian package.

WINNOW_BIN_DIR names the folder with the programs.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BIN = os.environ["WINNOW_BIN_DIR"]
PATIENCE = 240  # seconds


class Quickstart(unittest.TestCase):
    def test_a_port_that_is_in_use_is_replaced_by_a_free_one(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="winnow-quickstart-"))
        for name in ("scripts", "examples"):
            shutil.copytree(f"{ROOT}/{name}", f"{folder}/{name}", ignore=lambda path, names: ["data"])
        shutil.copy(f"{ROOT}/CMakeLists.txt", folder)
        for port in (7070, 8080):
            with contextlib.suppress(OSError):  # in use already
                self.enterContext(socket.create_server(("127.0.0.1", port)))
        environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8",
                       "WINNOW_DATA_URL": f"file://{folder}/not-there.zip"}  # no network: then the data are generated
        quickstart = ["bash", f"{folder}/scripts/quickstart.sh"]
        self.addCleanup(subprocess.run, [*quickstart, "--stop"], env=environment, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(quickstart, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("127.0.0.1:7070 is in use, so this server takes a free port.", done.stdout)
        self.assertIn("direct-marketing COMPLETED", done.stdout)
        for name, taken in (("WINNOW_SERVER=", "7070"), ("web page: http://", "8080")):
            port = re.search(rf"{name}127\.0\.0\.1:(\d+)", done.stdout)
            self.assertTrue(port, done.stdout)
            self.assertNotEqual(port[1], taken)


if __name__ == "__main__":
    unittest.main()
