"""docker/make-credentials.sh: what it makes, and what it says and leaves where it cannot."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docker/make-credentials.sh"
FILES = ["ca.key", "ca.pem", "server.key", "server.pem"]
SKIPPED = 77


class CredentialsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="winnow-credentials-")
        self.addCleanup(temporary.cleanup)
        self.scratch = pathlib.Path(temporary.name)
        self.folder = self.scratch / "credentials"

    def make(self, *names, **variables):
        return subprocess.run([SCRIPT, self.folder, *names], capture_output=True, text=True, check=False,
                              env={**os.environ, **variables})

    def files(self):
        return sorted(os.listdir(self.folder)) if self.folder.exists() else []

    def refuse(self, reason, *names, **variables):
        """It fails with one line, and the folder has what it had."""
        before = self.files()
        done = self.make(*names, **variables)
        self.assertEqual((done.returncode, done.stderr), (1, f"make-credentials.sh: {reason}\n"))
        self.assertEqual(self.files(), before)

    def with_programs(self, *names):
        """A PATH that has these programs and no other."""
        folder = self.scratch / "programs"
        folder.mkdir()
        for name in names:
            (folder / name).symlink_to(shutil.which(name))
        return folder

    def test_the_certificate_is_of_the_names_and_of_the_authority(self):
        long_name = "a" * 63 + ".example"
        done = self.make(long_name, "server", "*.winnow.svc", "10.0.0.5", "::1", "fe80::1:2", "::ffff:10.0.0.5")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.files(), FILES)
        shown = subprocess.run(["openssl", "x509", "-in", self.folder / "server.pem", "-noout", "-ext", "subjectAltName"],
                               capture_output=True, text=True, check=True).stdout
        for name in (f"DNS:{long_name}", "DNS:server", "DNS:*.winnow.svc", "IP Address:10.0.0.5", "IP Address:0:0:0:0:0:0:0:1",
                     "DNS:localhost"):
            self.assertIn(name, shown)
        subprocess.run(["openssl", "verify", "-CAfile", self.folder / "ca.pem", self.folder / "server.pem"], check=True,
                       stdout=subprocess.DEVNULL)
        for name in FILES:
            self.assertEqual((self.folder / name).stat().st_mode & 0o777, 0o600 if name.endswith("key") else 0o644, name)

    def test_files_that_are_there_stay(self):
        self.make("server")
        before = {name: (self.folder / name).read_bytes() for name in FILES}
        self.assertEqual(self.make("other").returncode, 0)
        self.assertEqual({name: (self.folder / name).read_bytes() for name in FILES}, before)

    def test_what_is_no_name_is_refused(self):
        for name in ("10.0.0", "300.1.1.1", "[::1]", "1:2", "1::2::3", "a b", "a,DNS:b", "-x", "server.", ""):
            with self.subTest(name=name):
                self.refuse(f'name "{name}": expected a host name or an address, such as server.example, 10.0.0.5 or ::1',
                            "server", name)
        self.assertFalse(self.folder.exists())

    def test_without_openssl_it_says_so(self):
        path = self.with_programs("bash", "mkdir", "mktemp", "rm", "rmdir", "mv", "chmod", "cat")
        self.refuse("there is no program openssl: expected it to be installed", "server", PATH=str(path))
        self.assertFalse(self.folder.exists())

    def test_where_openssl_fails_its_words_are_told_and_nothing_stays(self):
        path = self.with_programs("bash", "mkdir", "mktemp", "rm", "rmdir", "mv", "chmod", "cat")
        (path / "openssl").write_text('#!/bin/bash\nif [ "$1" = x509 ]; then echo "no room" >&2; exit 1; fi\n'
                                      f'exec {shutil.which("openssl")} "$@"\n')
        (path / "openssl").chmod(0o755)
        self.refuse("openssl x509 failed: no room", "server", PATH=str(path))
        self.assertFalse(self.folder.exists())

    def test_without_the_key_of_the_authority_nothing_is_signed(self):
        self.make("server")
        (self.folder / "ca.key").unlink()
        (self.folder / "server.pem").unlink()
        self.refuse(f"{self.folder}/ca.key is not there: expected the key of ca.pem beside it, to sign the server's certificate",
                    "server")


if __name__ == "__main__":
    if not shutil.which("openssl"):
        print("skipped: openssl is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
