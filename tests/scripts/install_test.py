"""cmake --install puts everything where it belongs, and the programs start there. scripts/package.sh gets what it needs."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["WINNOW_BUILD_DIR"]
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PROGRAMS = ["winnow", "winnow-gbdt", "winnow-mlp", "winnow-mpirun", "winnow-server", "winnow-worker"]
WITH_VERSION = [program for program in PROGRAMS if program != "winnow-mpirun"]


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = tempfile.mkdtemp(prefix="winnow-install-")
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)

    def text(self, path):
        with open(f"{self.prefix}/{path}", encoding="utf-8") as file:
            return file.read()

    def test_installed_programs_start(self):
        self.assertEqual(sorted(os.listdir(f"{self.prefix}/bin")), PROGRAMS)
        for program in PROGRAMS:
            shown = subprocess.run([f"{self.prefix}/bin/{program}", "--help"], capture_output=True, text=True, check=True)
            self.assertIn(program, shown.stdout)

    def test_every_program_has_the_one_version(self):
        with open(f"{ROOT}/CMakeLists.txt", encoding="utf-8") as file:
            version = re.search(r"^project\(winnow VERSION ([0-9.]+)", file.read(), re.M)[1]
        for program in WITH_VERSION:
            shown = subprocess.run([f"{self.prefix}/bin/{program}", "--version"], capture_output=True, text=True, check=True)
            self.assertEqual(shown.stdout.split(), [program, version])
        self.assertIn(f'"Winnow {version}"', self.text("share/man/man1/winnow.1"))
        with open(f"{BUILD}/CPackConfig.cmake", encoding="utf-8") as file:
            self.assertIn(f'set(CPACK_PACKAGE_VERSION "{version}")', file.read())

    def test_every_program_and_command_has_its_manual_page(self):
        pages = os.listdir(f"{self.prefix}/share/man/man1")
        for name in [*WITH_VERSION, "winnow-submit", "winnow-run", "winnow-context-add", "winnow-token-create"]:
            self.assertIn(f"{name}.1", pages)
        for page in pages:
            text = self.text(f"share/man/man1/{page}")
            self.assertRegex(text, r"(?s)^\.TH .*\n\.SH NAME\n.* \\- .*\n\.SH SYNOPSIS\n", page)
        self.assertIn("\\fB\\-\\-sort\\fR \\fICOLUMN\\fR", self.text("share/man/man1/winnow-trials.1"))
        if shutil.which("groff"):
            said = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", f"{self.prefix}/share/man/man1/winnow-trials.1"],
                                  capture_output=True, text=True, check=True)
            self.assertEqual(said.stderr, "")

    def test_completions_units_configuration_examples_and_licence_are_there(self):
        self.assertIn("complete -o filenames -F _winnow winnow", self.text("share/bash-completion/completions/winnow"))
        self.assertIn("#compdef winnow", self.text("share/zsh/vendor-completions/_winnow"))
        self.assertIn("complete -c winnow", self.text("share/fish/vendor_completions.d/winnow.fish"))
        for unit in ("winnow-server.service", "winnow-worker@.service"):
            self.assertIn("ExecStart=/usr/bin/winnow-", self.text(f"lib/systemd/system/{unit}"))
        self.assertIn('db = "/var/lib/winnow/winnow.db"', self.text("etc/winnow/server.toml"))
        self.assertIn("Apache License", self.text("share/doc/winnow/LICENSE"))
        self.assertTrue(os.path.exists(f"{self.prefix}/share/doc/winnow/examples/direct-marketing.json"))
        self.assertFalse(os.path.exists(f"{self.prefix}/share/doc/winnow/examples/data"))


# A system without Debian packages, whose apt-get says what it is asked for and fails.
STAND_INS = {"dpkg-query": "exit 1", "sudo": 'exec "$@"', "apt-get": 'echo "$*" >>"$ASKED"; test "$1" = update'}


class PackageScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="winnow-package-"))

    def package(self, path, *arguments):
        """(exit code, what it says)"""
        environment = {"PATH": path, "HOME": self.folder, "ASKED": f"{self.folder}/asked"}
        done = subprocess.run(["bash", f"{ROOT}/scripts/package.sh", "--out", f"{self.folder}/dist", *arguments],
                              env=environment, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_what_it_makes_packages_with_is_installed(self):
        for name, does in STAND_INS.items():
            with open(f"{self.folder}/{name}", "w", encoding="utf-8", opener=lambda at, how: os.open(at, how, 0o755)) as file:
                file.write(f"#!/bin/sh\n{does}\n")
        code, said = self.package(f"{self.folder}:{os.environ['PATH']}")
        self.assertNotEqual(code, 0, said)
        with open(f"{self.folder}/asked", encoding="utf-8") as file:
            asked = file.read().split()
        for package in ("g++", "dpkg-dev", "file", "patchelf", "python3-setuptools", "python3-wheel"):
            self.assertIn(package, asked)
        self.assertNotIn("catch2", asked)

    def test_no_package_without_its_dependencies_is_made(self):
        for missing in ("dpkg-shlibdeps", "file"):
            tools = f"{self.folder}/without-{missing}"
            os.mkdir(tools)
            for name in os.listdir("/usr/bin"):
                if name != missing:
                    os.symlink(f"/usr/bin/{name}", f"{tools}/{name}")
            code, said = self.package(tools, "--build", BUILD, "deb")
            self.assertEqual(code, 1, said)
            self.assertIn(f"{missing} is missing; expected Debian's package", said)


if __name__ == "__main__":
    unittest.main()
