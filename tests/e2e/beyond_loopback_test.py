"""Programs that speak TLS and show tokens: a job from its submission to its end, and who is turned away."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import types
import unittest

import processes
from certificates import make_certificates
from processes import BIN, PATIENCE, Program, Server, Worker, wait_until

# Fails if a token or the name of its file came along with the environment.
SCRIPT = 'test -z "${WINNOW_TOKEN:-}${WINNOW_TOKEN_FILE:-}" || exit 9; echo "loss=$1"'


def job(name):
    return {"name": name, "strategy": "RANDOM", "limits": {"max_trials": 3}, "seed": 3,
            "trainer": {"command": ["/bin/sh", "-c", SCRIPT, "trainer", "{{x}}"],
                        "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}]},
            "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}}


class BeyondLoopback(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.programs = []

    def tearDown(self):
        for program in reversed(self.programs):
            if program.alive():
                program.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, program):
        self.programs.append(program)
        program.start()
        return program

    def winnow(self, *arguments, environment=None):
        return subprocess.run([f"{BIN}/winnow", *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              check=False, env={"PATH": "/usr/bin:/bin", **(environment or {})})

    def token(self, socket, role, name=""):
        """A file with a new token."""
        named = ["--name", name] if name else []
        made = self.winnow("--server", f"unix:{socket}", "token", "create", "--role", role, *named, "-o", "json")
        self.assertEqual(made.returncode, 0, made.stderr)
        path = os.path.join(self.folder, f"{role}{name}")
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(json.loads(made.stdout)["secret"] + "\n")
        return path

    def submit_and_watch(self, spec, reach):
        path = os.path.join(self.folder, "job.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(spec, file)
        submitted = self.winnow(*reach, "submit", path)
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        watched = self.winnow(*reach, "watch", "latest")
        self.assertEqual(watched.returncode, 0, watched.stdout + watched.stderr)
        return path

    def test_a_job_over_tls_with_tokens(self):
        make_certificates(self.folder)
        ca = f"{self.folder}/ca.pem"
        server = self.begin(Server(self.folder, listen="0.0.0.0:0",
                                   flags=["--tls-cert", f"{self.folder}/server.pem", "--tls-key",
                                          f"{self.folder}/server.key", "--declare-workers", "1 x slots=2",
                                          "--http", "127.0.0.1:0", "--http-port-file", f"{self.folder}/http"]))
        socket = server.database + ".d/server.sock"
        self.assertEqual(stat.S_IMODE(os.stat(socket).st_mode), 0o600)
        tokens = {role: self.token(socket, role) for role in ("viewer", "submitter", "worker")}
        address = f"127.0.0.1:{server.port}"
        worker = self.begin(Worker(types.SimpleNamespace(address=address), self.folder, "w1", slots=2,
                                   flags=["--tls-ca", ca, "--token-file", tokens["worker"]]))
        reach = ["--server", address, "--tls-ca", ca, "--token-file"]
        path = self.submit_and_watch(job("over-tls"), [*reach, tokens["submitter"]])

        for program in (server, worker):  # what `ps` shows
            with open(f"/proc/{program.pid}/cmdline", encoding="ascii") as file:
                self.assertNotIn("wnw_", file.read())
        self.assertEqual(self.winnow(*reach, tokens["viewer"], "list").returncode, 0)
        refused = self.winnow(*reach, tokens["viewer"], "submit", path, "--name", "another")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("role viewer may not submit jobs; expected a token of role submitter or admin", refused.stderr)
        self.assertIn("requires a token", self.winnow(*reach[:-1], "list").stderr)
        plain = self.winnow("--server", address, "--token-file", tokens["viewer"], "list")
        self.assertIn("--tls-ca", plain.stderr)
        # gRPC's own lines are not for readers.
        os.mkdir(f"{self.folder}/others")
        make_certificates(f"{self.folder}/others")
        unknown = self.winnow("--server", address, "--tls-ca", f"{self.folder}/others/ca.pem", "list")
        self.assertRegex(unknown.stderr, r"\Awinnow: .*its certificate is not trusted.*\n\Z")
        with open(f"{self.folder}/http", encoding="ascii") as file:
            page = self.winnow("--server", f"127.0.0.1:{int(file.read())}", *reach[2:], tokens["viewer"], "list")
        self.assertIn("A web server listens there, such as that of --http; expected the address of --listen", page.stderr)

        listed = json.loads(self.winnow("--server", f"unix:{socket}", "token", "list", "-o", "json").stdout)["tokens"]
        viewer = next(token["id"] for token in listed if token["role"] == "VIEWER")
        self.assertEqual(self.winnow("--server", f"unix:{socket}", "token", "revoke", viewer).returncode, 0)
        self.assertIn("was revoked", self.winnow(*reach, tokens["viewer"], "list").stderr)

        stranger = self.begin(Worker(types.SimpleNamespace(address=address), self.folder, "w2",
                                     flags=["--tls-ca", ca, "--token-file", tokens["submitter"]]))
        wait_until(lambda: not stranger.alive(), "a worker with a submitter's token gives up")
        self.assertEqual(stranger.process.returncode, 1)
        self.assertIn("role submitter may not run trials as a worker; expected a token of role worker or admin", stranger.log())

    def test_local_workers_of_a_server_that_asks_for_tokens(self):
        port_file = f"{self.folder}/port"
        server = self.begin(Program([f"{BIN}/winnow-server", "--db", f"{self.folder}/w.db", "--listen", "127.0.0.1:0",
                                     "--port-file", port_file, "--http", "off", "--local-workers", "1", "--slots", "2",
                                     "--require-tokens"], f"{self.folder}/server.log"))
        wait_until(lambda: os.path.exists(port_file) or not server.alive(), "the server listens")
        self.assertTrue(server.alive(), server.log())
        with open(port_file, encoding="ascii") as file:
            address = f"127.0.0.1:{int(file.read())}"
        reach = ["--server", address, "--token-file", self.token(f"{self.folder}/w.db.d/server.sock", "submitter")]
        self.submit_and_watch(job("over-the-socket"), reach)
        self.assertIn("requires a token", self.winnow("--server", address, "list").stderr)

    def test_a_source_is_read_by_its_owner_and_by_workers_alone(self):
        server = self.begin(Server(self.folder, flags=["--require-tokens", "--declare-workers", "1 x slots=2"]))
        socket = server.database + ".d/server.sock"
        tokens = {name: self.token(socket, "viewer" if name == "eve" else "submitter", name)
                  for name in ("ana", "bo", "eve")}
        self.begin(Worker(server, self.folder, "w1", slots=2, flags=["--token-file", self.token(socket, "worker", "w")]))
        code = os.path.join(self.folder, "code")
        os.mkdir(code)
        with open(os.path.join(code, "train.sh"), "w", encoding="ascii") as file:
            file.write(SCRIPT)
        spec = job("with-source")
        spec["trainer"].update(source="code", command=["/bin/sh", "train.sh", "{{x}}"])
        reach = ["--server", server.address, "--token-file"]
        self.submit_and_watch(spec, [*reach, tokens["ana"]])
        told = json.loads(self.winnow(*reach, tokens["eve"], "describe", "latest", "-o", "json").stdout)
        self.assertEqual(told["source"]["files"], 1)
        for name in ("bo", "eve"):
            refused = self.winnow(*reach, tokens[name], "source", "latest", "--download", f"{self.folder}/{name}")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("belongs to ana; only ana or an admin may do this", refused.stderr)
            self.assertFalse(os.path.exists(f"{self.folder}/{name}"))
        given = self.winnow(*reach, tokens["ana"], "source", "latest", "--download", f"{self.folder}/ana")
        self.assertEqual(given.returncode, 0, given.stderr)
        with open(f"{self.folder}/ana/train.sh", encoding="ascii") as file:
            self.assertEqual(file.read(), SCRIPT)

    def test_secrets_reach_their_owners_trainers_and_nothing_else(self):
        server = self.begin(Server(self.folder, flags=["--require-tokens"]))
        socket = server.database + ".d/server.sock"
        secrets = tempfile.mkdtemp(prefix="winnow-e2e-")
        self.addCleanup(shutil.rmtree, secrets)
        os.mkdir(f"{secrets}/ana")
        with open(f"{secrets}/ana/wandb", "w", encoding="ascii") as file:
            file.write("canary-4711\n")
        self.begin(Worker(types.SimpleNamespace(address=server.address), self.folder, "w1", slots=2,
                          flags=["--token-file", self.token(socket, "worker"), "--secrets-dir", secrets]))
        tokens = {name: self.token(socket, "submitter", name) for name in ("ana", "ben")}
        # The value is compared, printed, printed in two parts, and stands in the reason of a failure.
        script = ('test "$KEY" = "canary-"4711 && echo loss=1; echo "I have $KEY"; printf "canary"; '
                  'printf "%s" -4711; echo "error $KEY" >&2; exit 7')
        spec = {**job("secrets"), "limits": {"max_trials": 1}}
        spec["trainer"] = {**spec["trainer"], "command": ["/bin/sh", "-c", script, "{{x}}"],
                           "secrets": {"KEY": "wandb"}}
        path = os.path.join(self.folder, "job.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(spec, file)
        told = {}
        for name, token in tokens.items():
            reach = ["--server", server.address, "--token-file", token]
            self.assertEqual(self.winnow(*reach, "submit", path, "--name", name).returncode, 0)
            self.winnow(*reach, "watch", name)
            described = self.winnow(*reach, "describe", name, "1")
            logs = [self.winnow(*reach, "logs", name, "1", *which) for which in ([], ["--stderr"])]
            told[name] = "".join(ran.stdout + ran.stderr for ran in [described, *logs])
        self.assertIn("I have (secret)", told["ana"])
        self.assertIn("error (secret)", told["ana"])
        self.assertIn('worker w1 has no secret "wandb"', told["ben"])
        self.assertNotIn("canary-4711", told["ana"] + told["ben"])
        for place, _, files in os.walk(self.folder):
            for name in files:
                path = os.path.join(place, name)
                if os.path.isfile(path):  # no sockets
                    with open(path, "rb") as file:
                        self.assertNotIn(b"canary-4711", file.read(), path)

    def test_tokens_on_the_command_line(self):
        server = self.begin(Server(self.folder, flags=["--require-tokens"]))
        admin = ["--server", f"unix:{server.database}.d/server.sock", "token"]
        self.assertIn("There are no tokens", self.winnow(*admin, "list").stdout)
        made = self.winnow(*admin, "create", "--role", "viewer", "--name", "ana", "--days", "30")
        self.assertRegex(made.stdout, r"\Awnw_[0-9a-f]{8}_[-_0-9A-Za-z]{43}\n\Z")  # alone, for a file
        token = made.stdout[4:12]
        self.assertIn(f"Token {token}, role viewer", made.stderr)
        self.assertRegex(self.winnow(*admin, "list").stdout, rf"{token} +ana +viewer .*valid")
        environment = {"WINNOW_SERVER": server.address, "WINNOW_TOKEN": made.stdout.strip()}
        self.assertEqual(self.winnow("list", environment=environment).returncode, 0)
        self.assertIn("refused from now on", self.winnow(*admin, "revoke", token).stdout)
        self.assertRegex(self.winnow(*admin, "list").stdout, rf"{token} +ana +viewer .*revoked")
        self.assertIn("was revoked", self.winnow("list", environment=environment).stderr)
        self.assertIn("there is no token", self.winnow(*admin, "revoke", "0badc0de").stderr)

    def test_nothing_listens_beyond_loopback_without_tls(self):
        for flags in ([], ["--require-tokens"], ["--tls-client-ca", "ca.pem"]):
            ran = subprocess.run([f"{BIN}/winnow-server", "--db", f"{self.folder}/w.db", "--listen", "0.0.0.0:0",
                                  "--local-workers", "0", *flags], capture_output=True, text=True, timeout=PATIENCE,
                                 check=False)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            self.assertIn("TLS", ran.stderr)


if __name__ == "__main__":
    processes.main()
