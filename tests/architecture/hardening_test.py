"""The programs have the hardening that cmake/targets.cmake asks for, as readelf shows."""

import json
import os
import platform
import shutil
import subprocess
import sys
import unittest

BUILD = os.environ.get("WINNOW_BUILD_DIR", "")
PROGRAMS = ["winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp"]
SKIPPED = 77


def commands():
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        return [entry["command"] for entry in json.load(file)]


def why_not():
    if not shutil.which("readelf"):
        return "readelf is not installed"
    if not all(os.path.exists(f"{BUILD}/bin/{program}") for program in PROGRAMS):
        return "WINNOW_BUILD_DIR is not a build with all programs"
    if any("-fsanitize" in command for command in commands()):
        return "a build with sanitizers is not hardened"
    return ""


def read(program, *flags):
    return subprocess.run(["readelf", "--wide", *flags, f"{BUILD}/bin/{program}"], capture_output=True, text=True,
                          check=True).stdout


class HardeningTest(unittest.TestCase):
    def each(self, check, *flags):
        for program in PROGRAMS:
            with self.subTest(program):
                check(read(program, *flags))

    def test_programs_are_loaded_anywhere(self):
        def check(text):
            self.assertRegex(text, r"Type: +DYN \(Position-Independent Executable")
            self.assertRegex(text, r"FLAGS_1.*PIE")
        self.each(check, "--file-header", "--dynamic")

    def test_tables_of_functions_are_read_only_from_the_start(self):
        def check(text):
            self.assertIn("GNU_RELRO", text)
            self.assertRegex(text, r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW")
        self.each(check, "--dynamic", "--program-headers")

    def test_the_stack_is_not_executed_and_no_path_to_libraries_is_built_in(self):
        def check(text):
            self.assertRegex(text, r"GNU_STACK +(\S+ +){5}RW ")
            self.assertNotRegex(text, r"\((RPATH|RUNPATH)\)")
        self.each(check, "--dynamic", "--program-headers")

    def test_programs_that_fork_for_each_trial_have_few_libraries(self):
        with open(f"{BUILD}/CMakeCache.txt", encoding="utf-8") as file:
            if "MOLD_PROGRAM:FILEPATH=MOLD_PROGRAM-NOTFOUND" in file.read():
                self.skipTest("only mold takes archives that are named before what needs them")
        for program in ("winnow-gbdt", "winnow-mlp"):
            with self.subTest(program):
                self.assertNotIn("libabsl", read(program, "--dynamic"))

    def test_stacks_are_guarded(self):
        self.each(lambda text: self.assertIn("__stack_chk_fail", text), "--dyn-syms")

    def test_calls_of_the_library_are_checked(self):
        with open(f"{BUILD}/CMakeCache.txt", encoding="utf-8") as file:
            if "CMAKE_BUILD_TYPE:STRING=Debug" in file.read():
                self.skipTest("only where the compiler optimises")
        self.each(lambda text: self.assertRegex(text, r"__(?!stack)\w+_chk\b"), "--dyn-syms")

    def test_every_file_is_compiled_so(self):
        flags = ["-fstack-protector-strong", "-fstack-clash-protection"]
        if platform.machine() == "x86_64":
            flags.append("-fcf-protection")
        for command in commands():
            for flag in flags:
                self.assertIn(f" {flag} ", command)

    def test_indirect_jumps_are_checked_where_all_that_is_linked_was_made_for_it(self):
        def check(text):
            if "x86 feature:" in text:  # absent as soon as one object file lacks it
                self.assertRegex(text, r"x86 feature: .*IBT.*SHSTK")
        self.each(check, "--notes")


if __name__ == "__main__":
    if why_not():
        print(f"skipped: {why_not()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
