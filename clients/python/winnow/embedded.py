"""A winnow-server of this process's own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from typing import Any, Optional, Union

from winnow import errors
from winnow.client import Client, connect
from winnow.transport import Transport

_PROGRAM = "winnow-server"
_START = 60.0  # seconds in which a server must listen; an earlier one of the same directory may still be stopping
_STOP = 30.0  # seconds in which it must stop
_LOOK = 0.005  # seconds
_PDEATHSIG = 1  # PR_SET_PDEATHSIG
_GONE = "the server of winnow.serve has been stopped; its database is in its directory, if it was given one"
_LAST = 400  # bytes of the log that an error shows
# glibc's malloc keeps freed memory. A Gaussian process frees and allocates the same matrices for every suggestion, and
# the page faults took a tenth of its time.
_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(256 << 20), "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
           "MALLOC_TOP_PAD_": str(4 << 20)}

_OF_OTHERS = ("WINNOW_SERVER_", "WINNOW_TLS_", "WINNOW_TOKEN", "WINNOW_PROJECT", "WINNOW_CONTEXT")


def find_program(name: str = _PROGRAM) -> str:
    """The path of a program: in $WINNOW_BIN_DIR, in this package, or on the PATH."""
    places = [os.environ.get("WINNOW_BIN_DIR"), os.path.join(os.path.dirname(__file__), "bin")]
    for place in places:
        if place and os.access(os.path.join(place, name), os.X_OK):
            return os.path.join(place, name)
    found = shutil.which(name)
    if found is None:
        other = ', or name a running server: server="HOST:PORT"' if name == _PROGRAM else ""
        raise errors.ServerNotStarted(f"{name} is not in $WINNOW_BIN_DIR, in this package or on the PATH; install Winnow"
                                      + other)
    return found


def _environment() -> dict[str, str]:
    """Of an embedded server: without settings and credentials, which are those of another server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OTHERS)}
    return {**_MALLOC, **kept}


def end_with_parent(number: int) -> None:
    """This process gets the signal when the thread that started it has ended."""
    if sys.platform == "linux":
        _LIBC.prctl(_PDEATHSIG, number, 0, 0, 0)


_LIBC: Any = ctypes.CDLL(None) if sys.platform == "linux" else None


class Server:
    """winnow-server with its database in a directory, on free ports of loopback, without workers.

    It stops with `stop`, at the latest with this process, however that ends. If it dies it is started again, on the same
    port. Use it in `with`, which gives its Client and stops it at the end.
    """

    def __init__(self, directory: Union[str, "os.PathLike[str]", None] = None, *, local_workers: int = 0) -> None:
        self._program = find_program()
        self._own = tempfile.mkdtemp(prefix="winnow-") if directory is None else None
        self.directory = pathlib.Path(self._own or directory or ".").absolute()
        if any(other._serves(self.directory) for other in list(_OF_THIS_PROCESS)):
            raise errors.ServerNotStarted(f"directory: {self.directory} has a server of this process already; expected its "
                                          "stop() first, or another directory")
        self.directory.mkdir(parents=True, exist_ok=True)
        self._workers = local_workers
        self._port_file = self.directory / f"http-port.{os.getpid()}"
        self._log = self.directory / "server.log"
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._clients: weakref.WeakSet[Transport] = weakref.WeakSet()
        self._port = 0
        self._stopping = False
        self._failure = ""
        self._listens = threading.Event()
        # Linux's parent-death signal is sent when the *thread* that started the process ends, so one thread does all.
        self._thread = threading.Thread(target=self._keep, name="winnow-server", daemon=True)
        _OF_THIS_PROCESS.add(self)
        try:
            self._thread.start()
            self._listens.wait()
        except BaseException:  # such as Ctrl-C
            self.stop()
            raise
        if self._failure:
            self.stop()
            raise errors.ServerNotStarted(self._failure)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Of the server's process."""
        return self._process.pid if self._process else 0

    @property
    def client(self) -> Client:
        # What the environment names, such as a team's project and its authority, is of another server.
        found = Client(connect(f"http://{self.address}", token="")._calls, project="")
        self._clients.add(found._calls)
        return found

    def stop(self) -> None:
        """Stops the server; all that was acknowledged is recorded."""
        self._stopping = True
        for calls in list(self._clients):  # nothing will answer at this address
            calls.gone = calls.gone or _GONE
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
        self._join()
        if process is not None and process.poll() is None:
            process.kill()
        self._join()
        if self._own:
            shutil.rmtree(self._own, ignore_errors=True)

    def _join(self) -> None:
        """Waits for the thread. One whose start was interrupted will start no server."""
        with contextlib.suppress(RuntimeError):
            self._thread.join(_STOP)

    def __deepcopy__(self, _: dict[int, Any]) -> Server:
        return self

    def __enter__(self) -> Client:
        return self.client

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serves(self, directory: pathlib.Path) -> bool:
        return self.directory == directory and self._thread.is_alive() and not self._stopping

    def _keep(self) -> None:
        """What the thread does."""
        try:
            self._run()
        except OSError as error:  # such as a directory that may not be written to
            self._failure = f"{self._program} did not start: {error}"
        self._listens.set()

    def _run(self) -> None:
        """Starts the server, and again when it has died."""
        until = time.monotonic() + _START
        while not self._stopping:
            self._port_file.unlink(missing_ok=True)
            with open(self._log, "ab") as log:
                self._process = subprocess.Popen(
                    [self._program, "--db", str(self.directory / "winnow.db"), "--listen", "127.0.0.1:0", "--http",
                     f"127.0.0.1:{self._port}", "--http-port-file", str(self._port_file), "--local-workers",
                     str(self._workers), "--rate-limit", "0"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment(),
                    preexec_fn=lambda: end_with_parent(signal.SIGTERM))
            if self._stopping:  # `stop` may have looked before it was there
                self._process.terminate()
            while self._process.poll() is None and not self._port_file.exists():
                time.sleep(_LOOK)
            if self._port_file.exists():
                self._port = int(self._port_file.read_text("ascii"))
                self._port_file.unlink(missing_ok=True)
                self._listens.set()
                self._process.wait()
                until = time.monotonic() + _START
            elif self._process.returncode == 2 or time.monotonic() > until:
                self._failure = f"{self._program} did not start: {self._said()}"
                return
            else:
                time.sleep(0.1)  # the directory's earlier server may still be stopping

    def _said(self) -> str:
        with open(self._log, "rb") as log:
            log.seek(self._log_start)
            return log.read()[-_LAST:].decode("utf-8", "replace").strip()


_OF_THIS_PROCESS: weakref.WeakSet[Server] = weakref.WeakSet()


def serve(directory: Union[str, "os.PathLike[str]", None] = None, *, local_workers: int = 0) -> Server:
    """Starts a winnow-server of this process's own; `directory` has its database (default: a temporary one, which is
    removed at the end)."""
    return Server(directory, local_workers=local_workers)
