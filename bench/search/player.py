"""Starts bench-search (bench/search/winnow.cc) for the programs of this folder."""

import hashlib
import subprocess

FILES = ("bench-search", "libwinnow_bench_families.so")


def digest(folder):
    """Changes with the program and its families."""
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in FILES)).hexdigest()[:12]


def play(folder, strategy, family, seeds, more=(), multiple=None):
    """The lines of seeds (first, last) of the program in `folder`. Raises RuntimeError with the program's reason."""
    return start([folder / "bench-search"], strategy, family, seeds, more, multiple)


def start(command, strategy, family, seeds, more=(), multiple=None):
    """The same with another program that has its flags."""
    budget = [] if multiple is None else ["--multiple", str(multiple)]
    done = subprocess.run([*command, "--strategy", strategy, "--family", family, "--seeds", f"{seeds[0]}..{seeds[1]}",
                           *budget, *more], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{strategy} on {family}: " + (done.stderr.strip() or f"exit code {done.returncode}"))
    return done.stdout.splitlines()


def kept(file, fresh, lines):
    """The lines in `file`; where it is not there, or with `fresh`, those that `lines` gives are put there first."""
    if fresh or not file.exists():
        text = "\n".join(lines()) + "\n"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".part").write_text(text)
        file.with_suffix(".part").rename(file)
    return file.read_text().splitlines()
