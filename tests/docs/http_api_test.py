"""The calls of docs/http-api.md, made as they stand there, in their order: every one must succeed.

WINNOW_BIN_DIR names the folder with the programs.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from tutorial_test import BIN, ROOT, blocks_of, free_address

sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from processes import wait_until  # noqa: E402

PAGE = os.path.join(ROOT, "docs/http-api.md")
WRITTEN = "127.0.0.1:8080"  # the server of the page
PATIENCE = 240  # seconds
WORKER = b'"LIVE"'
PRELUDE = f"set -euo pipefail\ncurl() {{ command curl --fail-with-body --max-time {PATIENCE} \"$@\"; echo; }}\n"


class HttpApiPage(unittest.TestCase):
    def test_every_call_succeeds(self):
        with open(PAGE, encoding="utf-8") as file:
            blocks = blocks_of(file.read())
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="winnow-http-api-"))
        listen = free_address()
        server = subprocess.Popen([f"{BIN}/winnow-server", "--db", f"{folder}/winnow.db", "--listen", listen, "--http",
                                   listen.split(":", maxsplit=1)[0] + ":0", "--http-port-file", f"{folder}/port",
                                   "--local-workers", "1"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        for line in server.stderr:
            if " listens on " in line:
                break
        with open(f"{folder}/port", encoding="utf-8") as file:
            address = f"{listen.split(':', maxsplit=1)[0]}:{file.read().strip()}"
        # The page's first job has a trial as soon as there is a worker.
        wait_until(lambda: WORKER in urllib.request.urlopen(f"http://{address}/v1/workers").read(), "the worker is there")
        script = PRELUDE + "echo none >token\n"  # this server requires no token
        for language, _, text in blocks:
            if language == "bash":
                script += text
            elif language == "python" and "winnow.connect" in text:
                script += f"python3 -B - <<'END'\n{text}END\n"
        done = subprocess.run(["bash", "-c", script.replace(WRITTEN, address)], cwd=folder, capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env={"PATH": "/usr/bin:/bin", "HOME": folder,
                                                                  "PYTHONPATH": os.path.join(ROOT, "clients/python")})
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        self.assertTrue(re.search(r"^event: end$", done.stdout, re.MULTILINE), done.stdout[-2000:])
        self.assertTrue(os.listdir(f"{folder}/model"))


if __name__ == "__main__":
    unittest.main()
