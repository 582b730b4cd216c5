#!/usr/bin/env python3
"""Builds the web page in a copy of its sources, so that nothing is written beside them: `npm ci` where the lock file
changed, then `npm run bundle`. What cannot be built is said with a way on."""

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys

FILES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
FOLDERS = ("src", "public")


def copy(source: pathlib.Path, work: pathlib.Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, work / name)
    for name in FOLDERS:
        shutil.rmtree(work / name, ignore_errors=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, work / name)


def run(npm: str, *arguments: str, work: pathlib.Path) -> None:
    ran = subprocess.run([npm, *arguments], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout}\nnpm {' '.join(arguments)} failed in {work}. A server without the web page is built "
                 "with: cmake -DWINNOW_DASHBOARD=OFF")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    copy(flags.source, flags.work)
    wanted = hashlib.sha256((flags.work / "package-lock.json").read_bytes()).hexdigest()
    mark = flags.work / "node_modules" / ".of-lock-file"
    if not mark.exists() or mark.read_text() != wanted:
        run(flags.npm, "ci", "--no-audit", "--no-fund", "--loglevel=error", work=flags.work)
        mark.write_text(wanted)
    run(flags.npm, "run", "--silent", "bundle", work=flags.work)


if __name__ == "__main__":
    main()
