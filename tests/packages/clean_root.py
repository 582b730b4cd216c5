"""Clean systems as directories: made by mmdebstrap once, unpacked for each test, entered with chroot.

WINNOW_BUILD_DIR/roots keeps them, for all tests. The test is in a mount namespace of its own, so that nothing stays mounted, and
what it starts in a network namespace, so that its ports are free.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

BUILD = os.environ.get("WINNOW_BUILD_DIR", "")
NAMESPACE = "WINNOW_TEST_NAMESPACE"  # set where the namespaces are this test's own
SKIPPED = 77  # exit code by which ctest knows a skipped test
NEEDED = ["mmdebstrap", "unshare", "nsenter", "chroot", "ip"]


class NoRoot(Exception):
    """There can be no root here; says why."""


def debian():
    """The archive of a Debian 12 with apt and ca-certificates, without documentation. Also the base of the images."""
    slim = [f"--dpkgopt=path-exclude=/usr/share/{part}/*" for part in ("doc", "man", "locale", "info")]
    return _kept("bookworm", "--variant=minbase", "--include=ca-certificates", "--dpkgopt=force-unsafe-io", *slim, "bookworm")


def python_alone(suite):
    """The archive of a release of Debian with python3 and little else: its packages are unpacked, not configured."""
    return _kept(f"{suite}-python", "--variant=extract", "--include=python3,base-files,coreutils,dash", suite)


def _kept(name, *arguments):
    if not BUILD:
        raise NoRoot("WINNOW_BUILD_DIR names no build directory")
    kept = pathlib.Path(BUILD, "roots", f"{name}.tar")
    kept.parent.mkdir(exist_ok=True)
    with open(kept.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test may be making it
        if not kept.exists():
            part = kept.with_suffix(".part.tar")
            made = subprocess.run(["mmdebstrap", "--quiet", "--format=tar", *arguments, part], capture_output=True, text=True,
                                  check=False)
            if made.returncode != 0:
                part.unlink(missing_ok=True)
                raise NoRoot(f"mmdebstrap has made no {name}: {made.stderr[-300:]}")
            part.rename(kept)
    return kept


def why_not():
    """Why there can be no root here; "" if there can."""
    if os.geteuid() != 0:
        return "only root can make a root directory"
    if missing := [name for name in NEEDED if not shutil.which(name)]:
        return f"not installed: {', '.join(missing)}"
    if subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, check=False).returncode != 0:
        return "no namespaces here"
    return ""


def enter_namespace():
    """Goes on in a mount namespace of its own; skips the test where there can be none."""
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    if not os.environ.get(NAMESPACE):
        os.environ[NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv])


class Root:
    """A root directory with /proc and /dev. What runs there has a loopback of its own, unless it asks for the host's network."""

    def __init__(self, folder, archive):
        self.path = pathlib.Path(folder)
        self.path.mkdir()
        subprocess.run(["tar", "-xf", archive, "-C", self.path, "--exclude=./dev/*"], check=True)
        os.chmod(self.path, 0o755)  # trainers of other users pass through it
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        subprocess.run(["mount", "--bind", "/dev", self.path / "dev"], check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.path / "etc")
        # A process that holds the network namespace.
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()

    def close(self):
        self.holder.communicate()
        for name in ("dev", "proc"):
            subprocess.run(["umount", "--lazy", self.path / name], check=False)

    def command(self, command, user="root", network="own", **variables):
        """The words that run a shell command there."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", **variables}
        enter = [] if network == "host" else ["nsenter", "--net", "--target", str(self.holder.pid)]
        return [*enter, "env", "-i", *(f"{name}={value}" for name, value in environment.items()), "chroot",
                f"--userspec={self.ids(user)}", str(self.path), "/bin/sh", "-c", command]

    def ids(self, user):
        if user == "root":
            return "0:0"
        for line in (self.path / "etc/passwd").read_text().splitlines():
            name, _, uid, gid = line.split(":")[:4]
            if name == user:
                return f"{uid}:{gid}"
        raise AssertionError(f"there is no user {user}")

    def run(self, command, ok=True, timeout=240, **options):
        """What a shell command prints there."""
        done = subprocess.run(self.command(command, **options), capture_output=True, text=True, timeout=timeout, check=False)
        if ok and done.returncode != 0:
            raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def exists(self, path):
        return os.path.lexists(self.path / path.lstrip("/"))
