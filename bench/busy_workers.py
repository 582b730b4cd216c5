"""Workers that train nothing and are always busy (bench-busy-worker), for benches that harm the servers or their PostgreSQL: when
their reports were acknowledged, whether all of these are recorded, once, and whether a server that no longer led committed any.
"""

import subprocess
import threading
import time

import processes

REPORTS = 1    # of a Sync
PAUSE_MS = 100  # after each
GOAL_SECONDS = 5.0  # of the 95 % quantile of a worker's gap

# What each transaction that writes reports says of its writer, and when leaders changed. PostgreSQL has track_commit_timestamp on.
WITNESS = """
CREATE TABLE witness_writes (epoch BIGINT NOT NULL, xid XID NOT NULL);
CREATE TABLE witness_epochs (epoch BIGINT NOT NULL, xid XID NOT NULL);
CREATE FUNCTION witness_write() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_writes VALUES (substring(current_setting('application_name') FROM '[0-9]+$')::bigint,
                                     pg_current_xact_id()::xid);
  RETURN NULL; END $$;
CREATE FUNCTION witness_epoch() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO witness_epochs VALUES (NEW.epoch, pg_current_xact_id()::xid);
  RETURN NULL; END $$;
CREATE TRIGGER witness AFTER INSERT ON reports FOR EACH STATEMENT EXECUTE FUNCTION witness_write();
CREATE TRIGGER witness AFTER UPDATE OF epoch ON leader FOR EACH ROW EXECUTE FUNCTION witness_epoch();
"""
FENCED_COMMITS = """
SELECT COUNT(*) FROM witness_writes w JOIN witness_epochs e ON e.epoch = w.epoch + 1
WHERE pg_xact_commit_timestamp(w.xid) > pg_xact_commit_timestamp(e.xid)
"""


def job(name, workers):
    return {"name": name, "trainer": {"command": ["/bin/true"], "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}], "objective": {"metric": "loss", "goal": "MINIMIZE"},
            "strategy": "RANDOM", "limits": {"max_trials": workers}}


def quantile(values, part):
    """By nearest rank."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def longest_gap(times, begin, end):
    """The longest time between two of the acknowledgements, from the last before `begin` to the first after `end`."""
    before = max((t for t in times if t <= begin), default=begin)
    after = min((t for t in times if t >= end), default=end)
    around = [before, *(t for t in times if begin < t < end), after]
    return max(b - a for a, b in zip(around, around[1:]))


class BusyWorker:
    """Its acknowledgements, as they come."""

    def __init__(self, number, addresses, ca, token, prefix):
        self.times, self.levels, self.assignment, self.problem = [], [], "", ""
        self.process = subprocess.Popen(
            [*prefix, f"{processes.BIN}/bench-busy-worker", addresses, ca, token, str(number), str(REPORTS), str(PAUSE_MS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "assignment":
                self.assignment = rest
            elif word in ("lost", "error"):
                self.problem = line.strip()
            else:
                self.levels.append(int(rest))
                self.times.append(int(word) / 1e6)

    def acknowledged_since(self, when):
        return bool(self.times) and self.times[-1] > when


class Crew:
    """The workers of one job. `number`: of the job, so that no two have the same workers."""

    def __init__(self, workers, number, addresses, ca="", token="", prefix=()):
        self.workers = [BusyWorker(1 + workers * number + i, addresses, ca, token, prefix) for i in range(workers)]

    def until_all_acknowledged(self, meanwhile=lambda: None):
        """Waits until each has got one that it has not now; `meanwhile` is called again and again."""
        def done():
            meanwhile()
            return all(worker.acknowledged_since(now) for worker in self.workers)

        now = time.monotonic()
        try:
            processes.wait_until(done, "each worker gets an acknowledgement")
        except AssertionError as error:
            late = [f"{worker.process.pid} ({worker.process.poll()}): {worker.problem}" for worker in self.workers
                    if not worker.acknowledged_since(now)]
            raise AssertionError("\n".join([str(error), *late])) from error

    def gaps(self, begin, end):
        """How long none of the workers, and how long each of them, had no acknowledgement."""
        recent = [worker.times[-3000:] for worker in self.workers]
        everyone = sorted(t for times in recent for t in times)
        return longest_gap(everyone, begin, end), [longest_gap(times, begin, end) for times in recent]

    def kill(self):
        for worker in self.workers:
            worker.process.kill()

    def end(self, psql, name):
        """Ends them; how many reports were acknowledged, how many of these are lost, and how many are recorded twice."""
        for worker in self.workers:
            worker.process.stdin.close()
            worker.process.wait(processes.PATIENCE)
            worker.reader.join()
        rows = psql("SELECT a.id, COUNT(*), COUNT(DISTINCT r.resource), MAX(r.resource), SUM(CASE WHEN abs(r.value * r.resource - 1)"
                    " < 1e-9 THEN 0 ELSE 1 END) FROM reports r JOIN assignments a USING (job, trial, attempt)"
                    f" JOIN jobs j USING (job) WHERE j.id = '{name}' GROUP BY a.id")
        stored = {row.split("|")[0]: [int(cell) for cell in row.split("|")[1:]] for row in rows.split("\n")}
        acknowledged = lost = repeated = 0
        for worker in self.workers:
            count, distinct, highest, wrong = stored.get(worker.assignment, (0, 0, 0, 0))
            acknowledged += worker.levels[-1]
            lost += max(0, worker.levels[-1] - distinct) + (highest - distinct) + wrong
            repeated += count - distinct
        # The facts of a job are numbered without a hole.
        holes, same = psql("SELECT MAX(s) - COUNT(DISTINCT s), COUNT(s) - COUNT(DISTINCT s) FROM (SELECT job, sequence AS s FROM"
                           " reports WHERE sequence > 0 UNION ALL SELECT job, sequence FROM events) f JOIN jobs j USING (job)"
                           f" WHERE j.id = '{name}'").split("|")
        return acknowledged, lost + int(holes), repeated + int(same)


class Counts:
    """What became of the reports of all jobs, and who wrote them. The tables are there before it is made, and no reports."""

    def __init__(self, psql):
        self.psql, self.acknowledged, self.lost, self.repeated, self.fenced, self.epochs = psql, 0, 0, 0, 0, 0
        psql(WITNESS)

    def end(self, crew, job):
        """Ends the job's workers and counts what they were told."""
        acknowledged, lost, repeated = crew.end(self.psql, job)
        self.acknowledged, self.lost, self.repeated = self.acknowledged + acknowledged, self.lost + lost, self.repeated + repeated
        self.fenced, self.epochs = int(self.psql(FENCED_COMMITS)), int(self.psql("SELECT epoch FROM leader"))

    def kept(self):
        """Prints them; whether all promises were kept."""
        print(f"\n{self.acknowledged} reports acknowledged: {self.lost} of them lost, {self.repeated} recorded twice; "
              f"{self.fenced} commits by a server that no longer led; {self.epochs} epochs")
        return self.acknowledged > 0 and self.lost == self.repeated == self.fenced == 0


def print_gaps(gaps):
    """By kind of trouble: the service's gaps, and the workers'."""
    print("seconds without an acknowledgement    to anyone: p50    p95    max    to a worker: p50    p95    max")

    def line(name, service, workers):
        print(f"  {name:<20} {len(service):>4} times" + 10 * " " +
              " ".join(f"{value:6.2f}" for value in (quantile(service, 0.5), quantile(service, 0.95), max(service))) + 13 * " " +
              " ".join(f"{value:6.2f}" for value in (quantile(workers, 0.5), quantile(workers, 0.95), max(workers))))

    for kind, (service, workers) in gaps.items():
        if service:
            line(kind, service, workers)
    service = [gap for one, _ in gaps.values() for gap in one]
    workers = [gap for _, several in gaps.values() for gap in several]
    line("all", service, workers)


def in_time(workers, of="", goal=GOAL_SECONDS):
    """Prints the 95 % quantile of these gaps of workers beside its goal; whether it is reached."""
    p95 = quantile(workers, 0.95)
    print(f"p95 of a worker's gap{of} {p95:.2f} s; goal {goal:g} s: {p95 / goal:.2f} of it")
    return p95 < goal
