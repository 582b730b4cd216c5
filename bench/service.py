"""A real winnow-server with local workers, and the command line, for benches: submit, wait, look, download."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import time

PROGRAMS = ("winnow", "winnow-server", "winnow-worker", "winnow-gbdt", "winnow-mlp")
START_SECONDS = 60
JOB_SECONDS = 1800  # longer than any job of a bench takes on one slow processor


class JobFailed(Exception):
    """The text is the job's own reason."""


def require_programs(folder):
    """Ends the program with what is missing."""
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        sys.exit(f"--bin {folder}: no {', '.join(missing)} there")


class Service:
    """Everything it makes lies in `folder`, the trainers' cache included. Use it in `with`."""

    def __init__(self, binaries, folder, workers=2, slots=2, flags=()):
        self.binaries, self.folder = pathlib.Path(binaries).resolve(), pathlib.Path(folder)
        self.workers, self.slots, self.server_flags = workers, slots, flags
        self.state = self.folder / "winnow.db.d"

    def __enter__(self):
        port_file = self.folder / "port"
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.binaries / "winnow-server", "--db", self.folder / "winnow.db", "--listen", "127.0.0.1:0",
                 "--http", "off", "--local-workers", str(self.workers), "--slots", str(self.slots),
                 "--state-dir", self.state, "--port-file", port_file, *self.server_flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "WINNOW_CACHE_DIR": str(self.folder / "cache")})
        try:
            self._wait_for_start(port_file)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_for_start(self, port_file):
        end = time.monotonic() + START_SECONDS
        while not (port_file.exists() and port_file.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("winnow-server did not start:\n" + (self.folder / "log").read_text(errors="replace"))
            time.sleep(0.05)
        self.address = f"127.0.0.1:{port_file.read_text().strip()}"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def winnow(self, *arguments, ok=(0,), patience=JOB_SECONDS):
        """What the command printed. JobFailed with what it said if its exit code is not one of `ok`."""
        done = subprocess.run([self.binaries / "winnow", *map(str, arguments), "--server", self.address],
                              capture_output=True, text=True, timeout=patience, check=False)
        if done.returncode not in ok:
            raise JobFailed(f"winnow {' '.join(map(str, arguments))}: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.winnow(*arguments, "--output", "json"))

    def submit(self, spec):
        """The job's id."""
        job_file = self.folder / "job.json"
        job_file.write_text(json.dumps(spec))
        return self.json("submit", job_file)["id"]

    def wait(self, job, patience=JOB_SECONDS):
        """The job's description once it has ended, however it ended."""
        self.winnow("watch", job, "--output", "json", ok=(0, 1), patience=patience)
        return self.json("describe", job)

    def run(self, spec, failure_is_an_answer=False):
        """Submits and waits. JobFailed if the job did not complete, unless that is an answer."""
        job = self.wait(self.submit(spec))
        if job["state"] != "COMPLETED" and not failure_is_an_answer:
            raise JobFailed(f"{job['id']} {job['state']}: {job['state_reason']}")
        return job

    def trials(self, job):
        return self.json("trials", job)["trials"]

    def curves(self, job):
        """{trial: {metric: values at levels 1, 2, …}}."""
        points = sorted(self.json("metrics", job)["points"], key=lambda point: int(point["resource"]))
        curves = collections.defaultdict(lambda: collections.defaultdict(list))
        for point in points:
            curves[int(point["trial"])][point["metric"]].append(point["value"])
        return curves

    def download(self, job, folder):
        """The folder of the best trial's model, as the server hands it out."""
        self.winnow("best", job, "--download", folder)
        return pathlib.Path(folder)

    def model_on_this_host(self, job, trial):
        """The folder of any trial's model, where the workers share this host's disk."""
        return self.state / "shared" / "jobs" / job / "trials" / str(trial) / "model"


def resources_of(job):
    """(best objective, units trained, elapsed seconds) of a description."""
    return job["best"]["objective"], int(job["spend"]["resource"]), job["spend"]["elapsed_seconds"]
