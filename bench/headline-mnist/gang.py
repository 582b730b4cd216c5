"""Trains with winnow-mlp, a process for each rank."""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from free_port import free_port  # noqa: E402

RENDEZVOUS_SECONDS = 30
PATIENCE_SECONDS = 60
DIVERGED = re.compile(r"loss is \S+ at epoch \d+, step \d+")


class Mnist:
    """The four files as they are published, in one folder."""

    def __init__(self, folder):
        self.train, self.test = (folder / f"{part}-images-idx3-ubyte.gz" for part in ("train", "t10k"))
        for part in ("train", "t10k"):
            for name in (f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz"):
                if not (folder / name).is_file():
                    raise SystemExit(f"--data {folder}: {name} is not there")


def loopback_bytes():
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[8])  # the ninth figure: bytes sent
    return 0


def weights_digest(path):
    """Of a safetensors file's tensors, not of the hyperparameters that stand in front of them."""
    content = path.read_bytes()
    return hashlib.sha256(content[8 + int.from_bytes(content[:8], "little"):]).hexdigest()


def metric_lines(text):
    """One dictionary for each epoch that was reported."""
    rows = []
    for line in text.splitlines():
        if re.match(r"\[\d+\]\t", line):
            rows.append({name: float(value) for name, value in
                         (field.rsplit(":", 1) for field in line.split("\t")[1:])})
    return rows


class Gang:
    def __init__(self, program, data, work):
        self.program, self.data, self.work = program, data, work

    def _command(self, rank):
        folder = self.work / f"rank{rank}"
        folder.mkdir(exist_ok=True)
        for left in folder.iterdir():
            left.unlink()
        return [self.program, "--train", self.data.train, "--validation", self.data.test,
                "--hyperparameters", self.work / "hyperparameters.json", "--model-dir", folder,
                "--timing", folder / "timing.json"]

    def _environment(self, rank, ranks, port):
        return {**os.environ, "WINNOW_CACHE_DIR": str(self.work / "cache"),
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "WINNOW_RENDEZVOUS_SECONDS": str(RENDEZVOUS_SECONDS),
                "WINNOW_RANK_PATIENCE_SECONDS": str(PATIENCE_SECONDS)}

    def train(self, hyperparameters, ranks, limit):
        """What came of it. "diverged" or "failed" hold the reason if there is no result; no rank outlives the call."""
        (self.work / "hyperparameters.json").write_text(json.dumps(hyperparameters))
        commands, port = [self._command(rank) for rank in range(ranks)], free_port()
        sent, start, running = loopback_bytes(), time.monotonic(), []
        too_long = threading.Event()

        def give_up():
            too_long.set()
            for process in running:
                if process.returncode is None:
                    # Popen.kill would take the exit code away from who waits for it.
                    os.kill(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit, give_up)
        row = {"cpu": 0.0}
        try:
            for rank, command in enumerate(commands):
                folder = self.work / f"rank{rank}"
                with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
                    running.append(subprocess.Popen(command, env=self._environment(rank, ranks, port), stdout=out,
                                                    stderr=err, stdin=subprocess.DEVNULL))
            timer.start()
            for process in running:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                row["cpu"] += usage.ru_utime + usage.ru_stime
        finally:
            timer.cancel()
            for process in running:
                if process.returncode is None:
                    process.kill()
                    process.wait()
        row.update(seconds=time.monotonic() - start, wire=loopback_bytes() - sent)
        return self._read(row, running, f"stopped after {limit:.0f} s" if too_long.is_set() else "")

    def _read(self, row, ended, given_up):
        folder = self.work / "rank0"
        row["epochs"] = metric_lines((folder / "out").read_text())
        if all(process.returncode == 0 for process in ended):
            row["accuracy"] = row["epochs"][-1]["validation-accuracy"]
            row["sent"] = json.loads((folder / "timing.json").read_text())["bytes_sent"]
            row["model"] = weights_digest(folder / "model.safetensors")
            return row
        said = [(self.work / f"rank{rank}/err").read_text() for rank in range(len(ended))]
        diverged = DIVERGED.search("\n".join(said))
        if diverged and not given_up:
            row["diverged"] = diverged.group()
            return row
        reasons = [text.strip().splitlines()[-1] for process, text in zip(ended, said)
                   if process.returncode != 0 and text.strip()]
        row["failed"] = given_up or (reasons or ["it said nothing"])[0].removeprefix("winnow-mlp: ")
        return row
