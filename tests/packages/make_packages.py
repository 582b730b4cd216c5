#!/usr/bin/env python3
"""Makes what scripts/package.sh makes, of the build directory WINNOW_BUILD_DIR, in its folder packages. Tests use it there."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["WINNOW_BUILD_DIR"])
NEEDED = ["cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "objdump", "patchelf", "zstd"]
SKIPPED = 77

if missing := [name for name in NEEDED if not shutil.which(name)]:
    print("skipped: not installed:", ", ".join(missing))
    sys.exit(SKIPPED)
os.umask(0o077)  # what is installed is readable all the same
folder = BUILD / "packages"
shutil.rmtree(folder, ignore_errors=True)
for kind in ("deb", "tar", "wheel"):
    begin = time.monotonic()
    made = subprocess.run([ROOT / "scripts/package.sh", "--build", BUILD, "--out", folder, kind], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    print(f"{made}: {os.path.getsize(made) >> 20} MiB, {time.monotonic() - begin:.1f} s")
