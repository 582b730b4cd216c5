"""Members that say ABSL_GUARDED_BY are used with their lock only, as clang's -Wthread-safety sees it."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("WINNOW_BUILD_DIR", "")
CLANG = shutil.which("clang++-16") or shutil.which("clang++")
SKIPPED = 77
TOGETHER = 8
FOLDERS = ["base", "artifact", "cli", "insight", "rpc", "server", "store", "trainers", "worker"]


def flags():
    """What the files of the build are compiled with: where headers are, and what is defined. (A file that is compiled together
    with others has no command of its own.)"""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as file:
        commands = [shlex.split(entry["command"]) for entry in json.load(file)]
    # clang 16 knows coroutines, but does not say so to the libraries that look for them.
    found = dict.fromkeys(["-std=c++20", "-D__cpp_impl_coroutine=201902L", "-DBOOST_ASIO_HAS_CO_AWAIT=1",
                           "-DBOOST_ASIO_HAS_STD_COROUTINE=1"])
    for words in commands:
        for before, word in zip(words, words[1:]):
            if word.startswith("-I") or word.startswith("-D") and "TEST" not in word and "_DIR=" not in word:
                found[word] = None
            elif before == "-isystem":
                found[f"-isystem{word}"] = None
    return list(found)


def locking():
    """The .cc files with a lock of their own, or with one in the header of the same name."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.cc")):
            header = path.with_suffix(".h")
            text = path.read_text() + (header.read_text() if header.exists() else "")
            if re.search(r"\bMutex\b|\bTaskThreads\b", text):
                yield path


def problems(path, text=None):
    """What clang says of the file, or of `text` in its place; empty: nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as other:
        if text is not None:
            other.write(text)
            other.flush()
        result = subprocess.run(
            [CLANG, *flags(), "-Wno-everything", "-Werror=thread-safety",
             "-fsyntax-only", other.name if text is not None else str(path)], capture_output=True, text=True, check=False)
    return result.stderr if result.returncode != 0 else ""


def problems_of_some(paths):
    """What clang says of the files. It reads them as one, so that it reads what they include once; what it refuses as one,
    perhaps for equal names, it reads in halves."""
    if len(paths) == 1:
        return problems(paths[0])
    if not problems(None, "".join(f'#include "{path}"\n' for path in paths)):
        return ""
    middle = len(paths) // 2
    return problems_of_some(paths[:middle]) + problems_of_some(paths[middle:])


class ThreadSafety(unittest.TestCase):
    def test_locks_are_held(self):
        paths = list(locking())
        self.assertGreater(len(paths), 20)
        some = [paths[begin:begin + TOGETHER] for begin in range(0, len(paths), TOGETHER)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = [text for text in pool.map(problems_of_some, some) if text]
        self.assertEqual(found, [], "".join(found))

    def test_a_lock_that_is_missing_is_found(self):
        path = ROOT / "base/task_threads.cc"
        without = path.read_text().replace("MutexLock lock(mutex_);", "", 1)
        self.assertRegex(problems(path, without), "requires holding mutex 'mutex_'")
        others = "".join(f'#include "{other}"\n' for other in locking() if other.parent == path.parent and other != path)
        self.assertEqual(problems(None, others + path.read_text()), "")
        self.assertRegex(problems(None, others + without), "requires holding mutex 'mutex_'")


if __name__ == "__main__":
    if CLANG is None:
        print("skipped: clang is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
