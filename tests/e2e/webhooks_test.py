"""What webhooks are told of jobs: signed, again until it is taken, in order, also by the server that comes after a kill -9; and
what `winnow watch --exec` runs for the same events."""

import email
import email.policy
import hashlib
import hmac
import http.server
import json
import os
import socketserver
import subprocess
import threading
import unittest

import processes
from processes import wait_until

SECRET = "a secret of this test"

# Prints two levels.
LEVELS = "for level in 1 2; do echo \"epoch $level loss={{x}}\"; done"


def job(name, command=LEVELS, trials=4):
    return {
        "name": name,
        "trainer": {"command": ["/bin/sh", "-c", command], "resource_regex": "epoch ([0-9]+)",
                    "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]},
        "parameters": [{"name": "x", "continuous": {"min": 0.1, "max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "working_directory": "/tmp",
        "limits": {"max_trials": trials, "max_trial_resource": 2, "max_first_failures": 2}}


class Receiver:
    """An HTTP server that takes what webhooks are told, and checks that it is signed. `answer` gives the status of each,
    and `write_rest` writes what comes after it."""

    def __init__(self, answer=lambda request: 200, write_rest=lambda file: None):
        self.answer, self.lock, self.requests, self.wrong = answer, threading.Lock(), [], []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                signed = f"{self.headers['Winnow-Timestamp']}.".encode() + body
                mac = "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
                event = json.loads(body)
                request = {"delivery": int(self.headers["Winnow-Delivery"]), "kind": event["kind"],
                           "job": event["job_id"], "event": event, "status": 0}
                with receiver.lock:
                    if mac != self.headers["Winnow-Signature"] or event["kind"] != self.headers["Winnow-Event"]:
                        receiver.wrong.append(dict(self.headers))
                    receiver.requests.append(request)
                request["status"] = receiver.answer(request)
                try:
                    self.send_response(request["status"])
                    if request["status"] == 301:
                        self.send_header("Location", "https://elsewhere.example/hooks/T0")
                    self.end_headers()
                    write_rest(self.wfile)
                except OSError:
                    pass  # the server is gone

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def seen(self, kind=None, taken=False):
        with self.lock:
            return [request for request in self.requests
                    if kind in (None, request["kind"]) and (not taken or request["status"] == 200)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Mailbox:
    """An SMTP server that keeps what it takes. `refuses` says whether a message is refused for now."""

    def __init__(self, refuses=lambda mail: False):
        self.lock, self.mails, self.refused = threading.Lock(), [], 0
        mailbox = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 test")
                receivers = []
                for line in self.rfile:
                    verb = line.split(b":")[0].strip().upper()
                    if verb == b"QUIT":
                        return self.say("221 bye")
                    if verb == b"RCPT TO":
                        receivers.append(line.decode().split("<")[1].split(">")[0])
                    if verb != b"DATA":
                        self.say("250 ok")
                        continue
                    self.say("354 go on")
                    text = b""
                    for part in self.rfile:
                        if part == b".\r\n":
                            break
                        text += part[1:] if part.startswith(b".") else part
                    mail = email.message_from_bytes(text, policy=email.policy.default)
                    refused = refuses(mail)
                    with mailbox.lock:
                        mailbox.refused += refused
                        if not refused:
                            mailbox.mails.append((receivers, mail))
                    self.say("451 not now" if refused else "250 taken")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def seen(self):
        with self.lock:
            return list(self.mails)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class WebhooksTest(unittest.TestCase):
    def start(self, receiver, **fields):
        """A cluster whose server tells the receiver."""
        cluster = processes.Cluster(workers=1, slots=1)
        self.hooks = os.path.join(cluster.folder, "hooks.json")
        self.declare(cluster, "test", receiver, **fields)
        cluster.server.flags += ["--webhooks", self.hooks]
        return self.enterContext(cluster)

    def declare(self, cluster, name, receiver, **fields):
        secret = os.path.join(cluster.folder, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write(SECRET + "\n")
        with open(self.hooks, "w", encoding="ascii") as file:
            json.dump({"webhooks": [{"name": name, "secret_file": secret, "first_wait_seconds": 0.05,
                                     "url": f"http://127.0.0.1:{receiver.server.server_port}/hook", **fields}]}, file)

    def deliveries(self, cluster, *flags):
        return cluster.client.json("webhooks", "deliveries", *flags)["deliveries"]

    def test_a_receiver_that_fails_at_first_and_a_killed_server_lose_nothing_and_change_no_order(self):
        held, killed = threading.Event(), threading.Event()

        def answer(request):
            if len(receiver.seen()) <= 3:
                return 500
            if request["kind"] == "JOB_ENDED" and not held.is_set():
                held.set()
                killed.wait(processes.PATIENCE)
                return 503
            return 200

        receiver = self.enterContext(Receiver(answer))
        cluster = self.start(receiver)
        name = cluster.client.submit(job("told"), cluster.folder)
        self.assertTrue(held.wait(processes.PATIENCE))
        cluster.server.restart()  # kill -9 while the end of the job is being sent
        killed.set()
        wait_until(lambda: receiver.seen("JOB_ENDED", taken=True), "the end of the job is told by the next server")
        told = receiver.seen(taken=True)
        self.assertEqual(receiver.wrong, [])
        self.assertEqual([request["kind"] for request in told], ["BEST_IMPROVED"] * (len(told) - 1) + ["JOB_ENDED"])
        numbers = [request["delivery"] for request in told]
        self.assertEqual(numbers, sorted(numbers))
        values = [request["event"]["value"] for request in told[:-1]]
        self.assertEqual(values, sorted(values, reverse=True))
        described = cluster.client.json("describe", name)
        self.assertEqual(told[-1]["event"]["state"], "completed")
        self.assertEqual(told[-1]["event"]["value"], described["best"]["objective"])
        self.assertEqual(told[-1]["event"]["trial"], described["best"]["trial"])
        ends = receiver.seen("JOB_ENDED")
        self.assertGreaterEqual(len(ends), 2)  # at least once
        self.assertEqual(len({request["delivery"] for request in ends}), 1)
        wait_until(lambda: not self.deliveries(cluster, "--state", "waiting"), "all is recorded as delivered")
        log = self.deliveries(cluster, "--job", name)
        self.assertEqual(log[0]["event"]["kind"], "JOB_ENDED")
        self.assertEqual({delivery["state"] for delivery in log}, {"DELIVERED"})
        self.assertGreaterEqual(log[0]["attempts"], 2)
        self.assertEqual(log[0]["answer"], "status 200")

    def test_first_trials_that_fail_and_tests_are_told_and_only_of_the_jobs_that_are_asked_for(self):
        receiver = self.enterContext(Receiver())
        cluster = self.start(receiver, jobs="bad*", events=["JOB_FAILING_EARLY", "JOB_ENDED"])
        good = cluster.client.submit(job("good"), cluster.folder)
        cluster.watch(good).to_end()
        bad = cluster.client.submit(job("bad", "echo no such file >&2; exit 3"), cluster.folder)
        cluster.watch(bad).to_end()
        number = cluster.client.json("webhooks", "test", "test")["number"]
        wait_until(lambda: receiver.seen("TEST") and receiver.seen("JOB_ENDED"), "the test and the job's end are told")
        told = receiver.seen()
        self.assertEqual({request["job"] for request in told}, {bad, ""})
        self.assertEqual([request["kind"] for request in told if request["job"]], ["JOB_FAILING_EARLY", "JOB_ENDED"])
        early = receiver.seen("JOB_FAILING_EARLY")[0]["event"]
        self.assertIn("max_first_failures", early["text"])
        self.assertEqual(receiver.seen("JOB_ENDED")[0]["event"]["state"], "failed")
        self.assertEqual(receiver.seen("TEST")[0]["delivery"], number)
        entries = cluster.client.json("audit", "--method", "TestWebhook")["entries"]
        self.assertEqual([(entry["subject"], entry["outcome"]) for entry in entries], [("test", "OK")])
        unknown = subprocess.run(cluster.client.command("webhooks", "test", "other"), capture_output=True, text=True,
                                 timeout=processes.PATIENCE, check=False)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn('there is no webhook "other"; expected test', unknown.stderr)
        hooks = cluster.client.json("webhooks")["webhooks"]
        self.assertEqual([hook["address"] for hook in hooks], [f"http://127.0.0.1:{receiver.server.server_port}"])

    def test_a_status_counts_also_if_the_answer_after_it_does_not_end_or_comes_to_a_halt(self):
        def write_forever(file):
            while True:
                file.write(b"x" * 65536)

        end = threading.Event()
        self.addCleanup(end.set)
        for write_rest, timeout in ((write_forever, 300), (lambda file: end.wait(), 1)):
            receiver = self.enterContext(Receiver(write_rest=write_rest))
            cluster = self.start(receiver, timeout_seconds=timeout)
            cluster.client.run("webhooks", "test", "test")
            # One that is too slow to answer in that time is asked again.
            log = wait_until(lambda: [one for one in self.deliveries(cluster) if one["state"] == "DELIVERED"], "it is delivered")
            self.assertEqual([one["answer"] for one in log], ["status 200"])

    def test_a_redirection_is_named_and_what_waits_is_tried_at_once_by_the_next_server(self):
        receiver = self.enterContext(Receiver(lambda request: 301 if len(receiver.seen()) == 1 else 200))
        cluster = self.start(receiver, first_wait_seconds=3600)
        cluster.client.run("webhooks", "test", "test")
        answer = wait_until(lambda: self.deliveries(cluster)[0]["answer"], "it is tried")
        self.assertEqual(answer, "status 301: a redirection to https://elsewhere.example, which is not followed; expected the "
                                 "final URL")
        cluster.server.restart()
        wait_until(lambda: receiver.seen("TEST", taken=True), "it is tried again")

    def test_what_waits_for_a_webhook_that_is_not_declared_any_more_is_given_up(self):
        receiver = self.enterContext(Receiver(lambda request: 500))
        cluster = self.start(receiver)
        cluster.client.run("webhooks", "test", "test")
        wait_until(lambda: len(receiver.seen("TEST")) >= 2, "it is tried again")
        cluster.server.stop()
        self.declare(cluster, "other", receiver)
        cluster.server.start()
        log = self.deliveries(cluster)
        self.assertEqual([(delivery["webhook"], delivery["state"]) for delivery in log], [("test", "GIVEN_UP")])

    @unittest.skipUnless(os.path.exists("/usr/bin/msmtp"), "msmtp is not installed")
    def test_mail_is_handed_to_a_real_sendmail_until_it_takes_it_also_by_the_server_after_a_kill(self):
        refusing = threading.Event()
        refusing.set()
        mailbox = self.enterContext(Mailbox(lambda mail: refusing.is_set()))
        cluster = processes.Cluster(workers=1, slots=1)
        self.hooks = os.path.join(cluster.folder, "hooks.json")
        settings = os.path.join(cluster.folder, "msmtprc")
        with open(settings, "w", encoding="ascii") as file:
            file.write(f"account default\nhost 127.0.0.1\nport {mailbox.server.server_address[1]}\nauth off\ntls off\n")
        with open(self.hooks, "w", encoding="ascii") as file:
            json.dump({"mail": [{"name": "ana", "to": ["ana@lab.example", "ben@lab.example"], "from": "winnow@lab.example",
                                 "sendmail": ["/usr/bin/msmtp", "-C", settings], "first_wait_seconds": 0.05,
                                 "events": ["BEST_IMPROVED", "JOB_ENDED"]}]}, file)
        cluster.server.flags += ["--webhooks", self.hooks]
        self.enterContext(cluster)
        name = cluster.client.submit(job("told"), cluster.folder)
        cluster.watch(name).to_end()
        wait_until(lambda: mailbox.refused >= 2, "it is tried again")
        answer = self.deliveries(cluster, "--job", name)[-1]["answer"]
        self.assertRegex(answer, "exit code [1-9]")
        cluster.server.restart()  # kill -9
        refusing.clear()
        wait_until(lambda: not self.deliveries(cluster, "--state", "waiting"), "all is recorded as delivered")
        subjects = [mail["Subject"] for _, mail in mailbox.seen()]
        self.assertEqual(subjects[-1], f"[winnow] {name} is completed")
        self.assertTrue(all(subject.startswith(f"[winnow] {name}: best loss is ") for subject in subjects[:-1]), subjects)
        receivers, ended = mailbox.seen()[-1]
        self.assertEqual(receivers, ["ana@lab.example", "ben@lab.example"])
        self.assertEqual((ended["From"], ended["Auto-Submitted"]), ("Winnow <winnow@lab.example>", "auto-generated"))
        self.assertIn(f"job     {name}\n", ended.get_content().replace("\r\n", "\n"))
        hooks = cluster.client.json("webhooks")["webhooks"]
        self.assertEqual([hook["address"] for hook in hooks], ["mailto:ana@lab.example,ben@lab.example"])

    def test_a_command_is_run_for_the_events_of_a_watched_job_in_their_order(self):
        cluster = self.enterContext(processes.Cluster(workers=1, slots=1))
        told = os.path.join(cluster.folder, "told")
        begin = os.path.join(cluster.folder, "begin")
        name = cluster.client.submit(job("watched", f"until [ -e {begin} ]; do sleep 0.05; done; {LEVELS}"),
                                     cluster.folder)
        command = f'echo "$WINNOW_EVENT $WINNOW_JOB $WINNOW_STATE" >> {told}; cat >> {told}; ' \
                  'test "$WINNOW_EVENT" != JOB_ENDED'
        with subprocess.Popen(cluster.client.command("watch", name, "--exec", command), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as watch:
            open(begin, "w", encoding="ascii").close()
            errors = watch.communicate(timeout=processes.PATIENCE)[1]
            self.assertEqual(watch.returncode, 0, errors)
        with open(told, encoding="utf-8") as file:
            lines = file.read().splitlines()
        heads, bodies = lines[0::2], [json.loads(line) for line in lines[1::2]]
        self.assertEqual(heads[-1], f"JOB_ENDED {name} completed")
        self.assertEqual([head.split()[0] for head in heads], [body["kind"] for body in bodies])
        self.assertEqual(bodies[-1]["value"], cluster.client.json("describe", name)["best"]["objective"])
        self.assertEqual([body["kind"] for body in bodies].count("JOB_ENDED"), 1)
        self.assertIn("the command of --exec for JOB_ENDED ended with exit code 1", errors)


if __name__ == "__main__":
    processes.main()
