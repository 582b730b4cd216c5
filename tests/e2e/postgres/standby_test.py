"""A standby of one PostgreSQL database: it answers reads, passes changes on to the leader, refuses a revoked token, and leads at the
same address once the leader is gone.
"""

import json
import os
import shutil
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import processes
from processes import wait_until

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
import with_postgres  # noqa: E402

EXTERNAL = {"name": "asked", "trainer": {"external": True}, "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": 3}}


class Server(processes.Program):
    """start does not wait, since it may be a standby."""

    def __init__(self, folder, database):
        os.makedirs(folder)
        self.folder, self.state = folder, os.path.join(folder, "state")
        super().__init__([f"{processes.BIN}/winnow-server", "--db", database, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                          "--local-workers", "0", "--require-tokens", "--state-dir", self.state, "--port-file", f"{folder}/port",
                          "--http-port-file", f"{folder}/http"], os.path.join(folder, "log"))

    def port(self, kind="port"):
        with open(os.path.join(self.folder, kind), encoding="ascii") as file:
            return int(file.read())

    def leads(self):
        return " listens on " in self.log()

    def is_standby(self):
        return "answers reads at" in self.log()

    def client(self):
        return processes.Client(None, f"127.0.0.1:{self.port()}")

    def admin(self):
        return processes.Client(None, f"unix:{self.state}/server.sock")

    def http(self, path, token, body=None):
        """The status and the answer."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port('http')}{path}", headers=headers,
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


class StandbyTest(unittest.TestCase):
    def setUp(self):
        self.database = with_postgres.Cluster()
        self.addCleanup(self.database.remove)
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.leader = Server(f"{self.folder}/a", self.database.address())
        self.standby = Server(f"{self.folder}/b", self.database.address())
        for server in (self.leader, self.standby):
            self.addCleanup(server.kill)
        self.leader.start()
        wait_until(self.leader.leads, "the first server leads")
        self.standby.start()
        wait_until(self.standby.is_standby, "the second is a standby")
        self.addCleanup(os.environ.pop, "WINNOW_TOKEN", None)

    def token(self, role):
        """Known to the standby."""
        made = self.leader.admin().json("token", "create", "--role", role, "--name", role)
        wait_until(lambda: self.standby.http("/v1/caller", made["secret"])[0] == 200, "the standby knows the token")
        return made

    def test_it_answers_reads_passes_changes_on_and_leads_later(self):
        submitter = self.token("submitter")
        os.environ["WINNOW_TOKEN"] = submitter["secret"]
        name = self.standby.client().submit(EXTERNAL, self.folder)
        self.assertEqual([job["id"] for job in self.leader.client().json("list")["jobs"]], [name])
        self.assertEqual(self.standby.client().json("describe", name)["owner"], "submitter")
        # Over HTTP: a suggestion and its result, which the leader records, and what follows is read here.
        path = f"/v1/tuning-jobs/{name}"
        status, asked = self.standby.http(f"{path}/suggest", submitter["secret"], {"count": 1, "client": "c", "wait": "30s"})
        self.assertEqual(status, 200, asked)
        trial = asked["trials"][0]
        done = {"attempt": trial["attempt"], "points": [{"resource": 1, "metric": "loss", "value": 0.25}]}
        status, ended = self.standby.http(f"{path}/trials/{trial['trial']}/complete", submitter["secret"], done)
        self.assertEqual(status, 200, ended)
        self.assertEqual(self.standby.client().json("describe", name)["best"]["objective"], 0.25)
        self.assertEqual(self.standby.http("/readyz", "")[0], 503)
        self.assertEqual(self.standby.http("/healthz", "")[0], 200)
        self.assertEqual(self.leader.http("/readyz", "")[0], 200)
        # A token that is revoked by the leader.
        viewer = self.token("viewer")
        self.leader.admin().run("token", "revoke", viewer["token"]["id"])
        wait_until(lambda: self.standby.http("/v1/caller", viewer["secret"])[0] == 401, "the standby refuses the token")
        # The leader is gone: the standby leads at the address that it has had.
        port = self.standby.port()
        self.leader.kill()
        wait_until(self.standby.leads, "the standby leads")
        self.assertEqual(self.standby.port(), port)
        wait_until(lambda: self.standby.http("/readyz", "")[0] == 200, "it is ready")
        self.standby.client().run("stop", name)
        self.assertEqual(self.standby.client().json("describe", name)["best"]["objective"], 0.25)


if __name__ == "__main__":
    if with_postgres.programs() is None:
        print("skipped here: PostgreSQL's server (Debian's package postgresql) is not installed")
        sys.exit(processes.SKIPPED)
    processes.main()
