#!/usr/bin/env python3
"""The Python client against a real server: jobs, errors, ask and tell, TLS and tokens, restarts."""

import datetime
import errno
import http.client
import http.server
import importlib
import json
import multiprocessing
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest
import unittest.mock

from servers import BIN, EXTERNAL, PATIENCE, SHELL, WithFolder, main, wait_until
from certificates import make_certificates
import winnow
from winnow import model_files, transport


def train(job_id, address, values):
    """What one of several processes does."""
    for trial in winnow.connect(address).job(job_id).asked():
        with trial:
            trial.report(1, trial.params["x"] ** 2)
            values.put((os.getpid(), trial.number))


class Jobs(WithFolder):
    def test_a_job_from_its_file_to_its_model(self):
        server = self.serve(local_workers=1)
        client = winnow.connect(server.http)
        path = pathlib.Path(self.folder, "job.json")
        path.write_text('\ufeff// "three" trials\n' +
                        json.dumps({**SHELL, "limits": {"max_trials": 3, "max_first_failures": 0}}, indent=1) + "/* // */")
        job = client.submit(path)
        described = job.watch(show=False)
        self.assertEqual(described["state"], "COMPLETED")
        self.assertEqual(client.jobs()[0]["id"], job.id)

        trials = job.trials(order_by="objective")
        best = job.best()
        self.assertEqual((best.trial, best.value, best.params), (trials[0].number, trials[0].value, trials[0].params))
        self.assertEqual(best.value, min(trial.value for trial in trials))
        self.assertEqual(job.curves()[1], [(step, job.trial(1).value) for step in (1, 2, 3)])
        self.assertEqual(job.logs(1).count("step="), 3)
        self.assertEqual(job.logs(1, stream="stderr"), "done\n")
        self.assertTrue(job.history())
        self.assertIn("loss =", job._repr_html_())

    def test_of_several_addresses_the_one_that_listens_is_used(self):
        server = self.serve(local_workers=1)
        client = winnow.connect(f"127.0.0.1:1,{server.http}")  # nothing listens at port 1
        self.assertEqual(client.jobs(), [])
        job = winnow.connect(f"{server.http},127.0.0.1:1").submit(SHELL)
        self.assertEqual(client.job(job.id).watch(show=False)["state"], "COMPLETED")
        self.assertEqual(str(client), f"<winnow.Client of http://{server.http}>")
        client.close(gone="it is over")
        with self.assertRaisesRegex(winnow.Unavailable, "it is over"):
            client.jobs()

    def test_a_change_whose_answer_is_lost_is_made_once(self):
        server = self.serve()
        client = winnow.connect(server.http, patience=30)
        job = client.submit(EXTERNAL)
        once, lost = transport.Transport._once, []

        def cut_off(calls, address, request, limit):
            answer = once(calls, address, request, limit)
            if lost:
                lost.pop()
                raise ConnectionResetError("the answer is lost")
            return answer

        with unittest.mock.patch.object(transport.Transport, "_once", cut_off):
            for change in (job.pause, job.resume, lambda: job.enqueue({"x": 0.5, "n": 1}), lambda: job.limit(max_trials=7), job.stop):
                lost.append(1)
                change()
                self.assertEqual(lost, [])
            self.assertEqual(len(job.describe()["changes"]), 4)
            job.watch(show=False)
            lost.append(1)
            job.delete()
            with self.assertRaises(winnow.NotFound):
                job.delete()

    def test_the_best_model_is_downloaded(self):
        server = self.serve(local_workers=1)
        job = winnow.connect(server.http).submit(SHELL)
        job.watch(show=False)
        target = pathlib.Path(self.folder, "model")
        files = job.download_best(target)
        self.assertEqual(sorted(files), [str(target / "deep/weights.bin"), str(target / "model.txt")])
        self.assertEqual((target / "deep/weights.bin").read_bytes(), bytes(5_000_000))
        self.assertAlmostEqual(float((target / "model.txt").read_text().split()[-1]), job.best().value)
        with self.assertRaisesRegex(FileExistsError, "not an empty directory"):
            job.download_best(target)
        none = winnow.connect(server.http).submit(EXTERNAL)
        none.stop()
        with unittest.mock.patch.object(model_files.time, "sleep", side_effect=AssertionError("waits for a model that cannot come")):
            with self.assertRaisesRegex(winnow.NotFound, "has no best trial"):
                none.download_best(pathlib.Path(self.folder, "none"))

    def test_a_download_survives_a_cut_connection_and_can_be_repeated(self):
        server = self.serve(local_workers=1)
        job = winnow.connect(server.http, patience=5).submit(SHELL)
        job.watch(show=False)
        events, cuts = transport.Transport.events, []

        def cut_off(calls, path, *arguments, **options):
            for part in events(calls, path, *arguments, **options):
                yield part
                if path.startswith("/v1/blobs/") and cuts:
                    cuts.pop()
                    raise winnow.Unavailable("UNAVAILABLE", "the stream was cut off")

        target = pathlib.Path(self.folder, "model")
        with unittest.mock.patch.object(transport.Transport, "events", cut_off):
            cuts += [1, 2]
            self.assertEqual(len(job.download_best(target)), 2)
            self.assertEqual((target / "deep/weights.bin").read_bytes(), bytes(5_000_000))
            empty = pathlib.Path(self.folder, "empty")
            empty.mkdir()
            job._calls.patience = 0
            for place in (empty, pathlib.Path(self.folder, "new/one")):
                cuts.append(1)
                with self.subTest(place), self.assertRaisesRegex(winnow.Unavailable, "cut off"):
                    job.download_best(place)
                self.assertEqual(list(empty.iterdir()), [])
                self.assertEqual(sorted(job.download_best(place)), [str(place / "deep/weights.bin"), str(place / "model.txt")])
                self.assertEqual(sorted(child.name for child in place.iterdir()), ["deep", "model.txt"])
                shutil.rmtree(empty)
                empty.mkdir()

    def test_to_pandas_has_typed_columns(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        server = self.serve()
        spec = {**EXTERNAL, "parameters": EXTERNAL["parameters"] + [
            {"name": "kind", "categorical": {"values": ["a", "b"]}},
            {"name": "depth", "integer": {"min": 1, "max": 3}, "condition": {"parameter": "kind", "values": ["a"]}}]}
        job = winnow.connect(server.http).submit(spec)
        for trial in job.asked():
            trial.complete(trial.params["x"])
        table = job.to_pandas()
        self.assertEqual([str(kind) for kind in table[["number", "value", "x", "n", "depth", "kind"]].dtypes],
                         ["int64", "float64", "float64", "Int64", "Int64", "category"])
        self.assertEqual(len(table), 4)
        self.assertTrue((table["depth"].isna() == (table["kind"] != "a")).all())
        self.assertTrue((table["value"] == table["x"]).all())

    def test_plan_and_stop(self):
        server = self.serve()
        client = winnow.connect(server.http)
        plan = client.plan({**EXTERNAL, "strategy": "HYPERBAND", "pruner": {"max_resource": 9}, "limits": {}})
        self.assertEqual([bracket["rungs"][0]["trials"] for bracket in plan["brackets"]], [9, 5, 3])
        job = client.submit(EXTERNAL)
        job.stop()
        self.assertEqual(job.watch(show=False)["state"], "STOPPED")
        job.delete()
        with self.assertRaises(winnow.NotFound):
            job.describe()

    def test_priority_and_weight_of_a_job_that_waits_for_slots_are_changed(self):
        waits = {key: value for key, value in EXTERNAL.items() if key != "trainer"}
        command = {"command": ["/bin/true"], "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}]}
        job = winnow.connect(self.serve().http).submit({**waits, "working_directory": "/", "trainer": command})
        changed = job.change_priority("a deadline", priority=5)
        self.assertEqual(changed["scheduling"]["priority"], 5)
        self.assertEqual(job.change_priority(weight=2.5)["scheduling"], {"priority": 5, "weight": 2.5})
        with self.assertRaises(winnow.WinnowError) as refused:
            job.change_priority(weight=2.5)
        self.assertIn("expected another priority or weight", str(refused.exception))

    def test_values_of_notebooks_are_taken_as_they_are(self):
        numpy = importlib.import_module("numpy")
        spec = {**EXTERNAL, "static_hyperparameters": {"seed": numpy.int64(7), "rate": numpy.float32(0.5), "on": numpy.bool_(True)},
                "parameters": [{"name": "n", "integer": {"min": numpy.int64(1), "max": numpy.int32(9)}},
                               {"name": "size", "discrete": {"values": numpy.array([16, 32])}},
                               {"name": "bias", "categorical": {"values": ["true", "false"]}}],
                "initial_configurations": [{"hyperparameters": {"n": numpy.int64(3), "size": numpy.float64(16), "bias": True}}]}
        job = winnow.connect(self.serve().http).submit(spec)
        self.assertEqual(job.spec["static_hyperparameters"], {"seed": "7", "rate": "0.5", "on": "true"})
        job.enqueue({"n": numpy.int64(4), "size": 32, "bias": numpy.bool_(False)})
        for params in {"n": 3, "size": 16, "bias": "true"}, {"n": 4, "size": 32, "bias": "false"}:
            with job.ask() as trial:
                self.assertEqual(trial.params, params)
                trial.report(numpy.int64(1), numpy.float32(0.25))

    def test_a_job_is_changed_while_it_runs_and_after_its_end(self):
        job = winnow.connect(self.serve().http).submit({**EXTERNAL, "limits": {"max_trials": 2}})
        self.assertTrue(job.pause("a check")["paused"])
        self.assertIsNone(job.ask(wait=0))
        job.resume()
        job.enqueue({"x": 0.25, "n": 3})
        job.change_range("n", "fewer", max=3)
        with self.assertRaises(winnow.WinnowError) as refused:
            job.change_range("x", min=0.5)
        self.assertIn("leaves out a configuration that is enqueued", str(refused.exception))
        self.assertEqual(job.limit(max_trials=3)["limits"]["max_trials"], 3)
        with job.ask() as first:
            self.assertEqual(first.params, {"x": 0.25, "n": 3})
            first.complete(0.5)
        asked = job.ask().number
        job.keep_trial(asked, "it starts slowly")
        job.release_trial(asked)
        job.stop_trial(asked, "too slow")
        for trial in job.asked():
            trial.complete(0.5)
        self.assertEqual(job.describe()["state"], "COMPLETED")
        with self.assertRaises(winnow.WinnowError) as refused:
            job.continue_with(max_trials=3)
        self.assertIn("leaves nothing to train", str(refused.exception))
        job.continue_with("one more", max_trials=4)
        for trial in job.asked():
            trial.complete(0.5)
        described = job.describe()
        self.assertEqual((described["state"], described["trial_counts"]["completed"]), ("COMPLETED", 3))
        self.assertEqual(len(described["changes"]), 10)


class Errors(WithFolder):
    def test_every_violation_is_told(self):
        client = winnow.connect(self.serve().http)
        with self.assertRaises(winnow.InvalidArgument) as caught:
            client.submit({**EXTERNAL, "objective": {"metric": "loss"}, "limits": {"max_trials": -1}})
        self.assertEqual({found.field for found in caught.exception.violations}, {"objective.goal", "limits.max_trials"})
        self.assertIn("limits.max_trials: ", str(caught.exception))
        with self.assertRaisesRegex(ValueError, "spec: is 5; expected a job file's path, or its content as a dict"):
            client.submit(5)
        with self.assertRaisesRegex(winnow.InvalidArgument, 'states: "DONE"; expected one of RUNNING, STOPPING, '):
            client.jobs(states=["DONE"])

    def test_a_server_that_was_stopped_is_not_waited_for(self):
        with winnow.serve() as client:
            job = client.submit(EXTERNAL)
            trial = job.ask()
        for call in (client.jobs, job.describe, lambda: trial.complete(1.0), lambda: next(job.events())):
            with self.assertRaisesRegex(winnow.Unavailable, "the server of winnow.serve has been stopped"):
                call()

    def test_what_a_job_file_cannot_have_is_named(self):
        client = winnow.connect("127.0.0.1:1", patience=0)  # nothing is sent
        file = pathlib.Path(self.folder, "job.json")
        file.write_text('{"name": "a", "limits": {"max_trials": 1, "max_trials": 2}}')
        with self.assertRaisesRegex(ValueError, "job.json: is not a job file: 'max_trials' is given twice"):
            client.submit(file)
        for spec, why in (({"note": datetime.date(2026, 1, 1)}, r"spec.note: is datetime.date\(2026, 1, 1\), of type date"),
                          ({"parameters": [{"name": {1}}]}, r"spec.parameters\[0\].name: is \{1\}, of type set; expected what JSON has")):
            with self.assertRaisesRegex(TypeError, why):
                client.submit(spec)

    def test_a_server_that_is_not_there(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        with self.assertRaisesRegex(winnow.Unavailable, address):
            winnow.connect(address, patience=0).jobs()

    def test_the_address_for_grpc_is_told_at_once(self):
        port_file = f"{self.folder}/port"
        server = self.serve(["--port-file", port_file])
        address = f"127.0.0.1:{int(pathlib.Path(port_file).read_text('ascii'))}"
        begin = time.monotonic()
        with self.assertRaisesRegex(winnow.Unavailable, f"{address}: does not speak HTTP; expected .* --http"):
            winnow.connect(address, patience=60).jobs()
        self.assertLess(time.monotonic() - begin, 30)
        other = subprocess.run([f"{BIN}/winnow", "--server", server.http, "list"], capture_output=True, text=True, check=False)
        self.assertIn("expected the address of --listen", other.stderr)

    def test_another_program_that_speaks_http_is_told(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "6")
                self.end_headers()
                self.wfile.write(b"<html>")

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            client = winnow.connect(f"127.0.0.1:{other.server_address[1]}")
            with self.assertRaisesRegex(winnow.Unavailable, "is no winnow-server, as GET /v1/tuning-jobs has no JSON object"):
                client.jobs()
            self.assertEqual(client.call("GET", "/page"), "<html>")
            client.close()
            other.shutdown()
            thread.join()

    def test_a_connection_that_cannot_be_closed_at_the_end_of_python_is_left(self):
        client = winnow.connect(self.serve().http)
        client.jobs()
        held = client._calls._here.held
        with unittest.mock.patch.object(held, "close", side_effect=AttributeError("of a module that is gone")):
            held.__del__(at_exit=lambda: True)
            with self.assertRaises(AttributeError):
                held.__del__()
        held.__del__()
        self.assertIsNone(held.connection.sock)

    def test_a_server_that_does_not_answer(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            client = winnow.connect(f"127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
            with self.assertRaisesRegex(winnow.CallTimeout, "no answer of"):
                client.jobs()

    def test_a_network_that_is_away_for_a_while_is_waited_for(self):
        client = winnow.connect(self.serve().http)
        job = client.submit(EXTERNAL)
        job.stop()
        connect = transport._NoDelay.connect
        for problem in (OSError(errno.ENETUNREACH, "Network is unreachable"), OSError(errno.EHOSTUNREACH, "No route to host"),
                        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
                        ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "EOF occurred in violation of protocol")):
            left = [problem, problem]

            def refuse_twice(connection):
                if left:
                    raise left.pop()
                connect(connection)

            with self.subTest(problem), unittest.mock.patch.object(transport._NoDelay, "connect", refuse_twice):
                client.close()
                self.assertEqual(len(client.jobs()), 1)
                left += [problem, problem]
                self.assertTrue(list(job.events()))
        with self.subTest("at once"), unittest.mock.patch.object(transport._NoDelay, "connect", side_effect=ssl.SSLCertVerificationError("is not trusted")):
            client.close()
            with self.assertRaisesRegex(winnow.Unavailable, "is not trusted"):
                client.jobs()
            with self.assertRaisesRegex(winnow.Unavailable, "is not trusted"):
                list(job.events())

    def test_wrong_addresses(self):
        for wrong in ("host", "ftp://host:1", "unix:relative", "host:port", "a b:1", "höst:1"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "is not an address"):
                winnow.connect(wrong)

    def test_a_token_is_sent_over_tls_or_within_this_machine_only(self):
        for unsafe in ("http://tuner.example:8080", "http://192.0.2.1:8080", "127.0.0.1:1,http://[2001:db8::1]:8080"):
            with self.subTest(unsafe), self.assertRaisesRegex(ValueError, "would be sent the token unencrypted"):
                winnow.connect(unsafe, token="wnw_x")
            winnow.connect(unsafe, token="")
        for text, asked in (("tuner.example:8080", "https://tuner.example:8080"), ("[2001:db8::1]:1", "https://[2001:db8::1]:1"),
                            ("localhost:1", "http://localhost:1"), ("127.1.2.3:1", "http://127.1.2.3:1"),
                            ("http://[::1]:1", "http://[::1]:1"), ("unix:/run/proxy", "unix:/run/proxy")):
            with self.subTest(text):
                self.assertEqual(winnow.connect(text, token="wnw_x").address, asked)


def relay(listener, port):
    """Hands what one caller after the other sends to a local port, and what comes back."""
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection(("127.0.0.1", port))

        def pump(source, sink):
            try:
                for data in iter(lambda: source.recv(65536), b""):
                    sink.sendall(data)
            except OSError:
                pass
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        for ends in ((caller, server), (server, caller)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


class Way:
    """To a local port; connections on it may die without a word, as behind a router that forgets them."""

    def __init__(self, listener, port):
        self.listener, self.port, self.callers, self.lost = listener, port, 0, 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.callers += 1
            far = socket.create_connection(("127.0.0.1", self.port))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(*ends, self.callers), daemon=True).start()

    def pump(self, source, sink, caller):
        for data in iter(lambda: source.recv(65536), b""):
            if caller > self.lost:
                sink.sendall(data)
        sink.close()

    def lose_all(self):
        self.lost = self.callers


class Sockets(WithFolder):
    def test_a_socket_of_this_host_leads_to_the_server(self):
        server = self.serve()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{self.folder}/proxy.sock")
            listener.listen()
            threading.Thread(target=relay, args=(listener, server.http_port), daemon=True).start()
            with winnow.connect(f"unix:{self.folder}/proxy.sock") as client:
                job = client.submit(EXTERNAL)
                job.ask().complete(0.5)
                self.assertEqual(job.best().value, 0.5)
                self.assertEqual(job.stop()["state"], "STOPPED")


class Responses(unittest.TestCase):
    """What a server or a proxy before it may answer, read from a socket."""

    def held(self, sent):
        ours, theirs = socket.socketpair()
        self.addCleanup(theirs.close)
        connection = http.client.HTTPConnection("localhost")
        connection.connect, connection.sock = lambda: None, ours
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        return transport._Held(connection, transport.Address("127.0.0.1:1", tls=False))

    def test_one_after_the_other_by_length_and_in_chunks(self):
        held = self.held(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
                         b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\ntransfer-encoding: Chunked\r\n\r\n"
                         b"3;x=y\r\n{\"b\r\n4\r\n\":2}\r\n0\r\nTrailer: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n[3]")
        self.assertEqual(held.receive(), (200, {"a": 1}))
        self.assertEqual(held.receive(), (404, {"b": 2}))
        self.assertIsNotNone(held.connection.sock)
        self.assertEqual(held.receive(), (200, [3]))  # to the end of the connection, which is of no more use
        self.assertIsNone(held.connection.sock)

    def test_a_server_that_closes_says_so(self):
        held = self.held(b"HTTP/1.1 503 x\r\nConnection: Close\r\nContent-Length: 2\r\n\r\n{}")
        self.assertEqual(held.receive(), (503, {}))
        self.assertIsNone(held.connection.sock)

    def test_what_is_no_response_is_an_error_of_the_connection(self):
        long = b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000
        many = b"HTTP/1.1 200 OK\r\n" + b"".join(b"x%d: y\r\n" % i for i in range(200)) + b"\r\n"
        for sent in (b"", b"\x16\x03\x01", b"SSH-2.0\r\n", b"HTTP/1.1 OK\r\n\r\n", long, many,
                     b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"):
            with self.subTest(sent=sent[:40]), self.assertRaises(http.client.HTTPException):
                self.held(sent).receive()


class AskAndTell(WithFolder):
    def test_several_processes_share_a_job(self):
        server = self.serve()
        job = winnow.connect(server.http).submit({**EXTERNAL, "limits": {"max_trials": 12}})
        context = multiprocessing.get_context("spawn")
        values = context.Queue()
        workers = [context.Process(target=train, args=(job.id, server.http, values)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE)
            self.assertEqual(worker.exitcode, 0)
        trials = job.trials(states=["COMPLETED"])
        self.assertEqual(len(trials), 12)
        self.assertEqual(sorted(values.get()[1] for _ in trials), [trial.number for trial in trials])

    def test_a_weak_trial_is_pruned(self):
        server = self.serve()
        spec = {**EXTERNAL, "limits": {"max_trials": 4, "max_trial_resource": 4},
                "pruner": {"kind": "MEDIAN", "warm_up_trials": 2}}
        del spec["strategy"]
        job = winnow.connect(server.http).submit(spec)
        for number, trial in enumerate(job.asked()):
            with trial:
                for step in trial.steps():
                    trial.report(step, 1.0 if number < 2 else 5.0)
        self.assertEqual([trial.state for trial in job.trials()], ["COMPLETED"] * 2 + ["PRUNED"] * 2)
        self.assertEqual({len(curve) for number, curve in job.curves().items() if number > 2}, {1})

    def test_empty_answers_that_come_early_are_asked_for_again_after_a_pause(self):
        job = winnow.connect(self.serve().http).submit(EXTERNAL)
        with unittest.mock.patch.object(type(job), "ask_many", return_value=([], True)) as asked:
            self.assertIsNone(job.ask(wait=0.5))
        self.assertIn(asked.call_count, range(2, 6))

    def test_an_exception_fails_the_trial_with_its_text(self):
        job = winnow.connect(self.serve().http).submit(EXTERNAL)
        with self.assertRaises(ZeroDivisionError), job.ask():
            1 / 0
        self.assertEqual((job.trial(1).state, job.trial(1).reason), ("FAILED", "ZeroDivisionError: division by zero"))

    def test_a_call_that_is_refused_fails_the_trial_and_one_without_an_answer_lets_it_begin_again(self):
        job = winnow.connect(self.serve().http).submit({**EXTERNAL, "limits": {"max_trials": 2, "max_parallel_trials": 1}})
        with self.assertRaises(winnow.NotFound), job.ask() as refused:
            winnow.connect(job._calls.address.text).job("of-no-one")
        self.assertEqual((job.trial(1).state, job.trial(1).reason), ("FAILED", 'NotFound: there is no job "of-no-one"'))
        with self.assertRaises(winnow.Unavailable), job.ask() as kept:
            raise winnow.Unavailable("UNAVAILABLE", "the server is away")
        away = unittest.mock.Mock(side_effect=winnow.Unavailable("UNAVAILABLE", "the server is away"))
        with self.assertRaises(winnow.Unavailable), job.ask(wait=PATIENCE) as untold:  # though `kept` is not collected, as in a notebook
            untold.complete = away
        again = job.ask(wait=PATIENCE)
        self.assertEqual((refused.number, kept.number, untold.number, untold.attempt, again.number, again.attempt), (1, 2, 2, 2, 2, 3))
        again.complete(0.5)

    def test_a_lease_is_renewed_when_its_connection_has_died_unnoticed(self):
        server = self.serve()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            through = Way(listener, server.http_port)
            job = winnow.connect(f"127.0.0.1:{listener.getsockname()[1]}").submit({**EXTERNAL, "trainer": {"external": True, "lease": "8s"}})
            trial = job.ask()
            wait_until(lambda: through.callers == 2, "the lease is renewed, on a connection of its own")
            through.lose_all()
            wait_until(lambda: through.callers == 3, "the lease is renewed on another connection")
            trial.job = winnow.connect(server.http).job(job.id)
            trial.complete(0.5)
            self.assertEqual(trial.job.trial(1).state, "COMPLETED")

    def test_a_silent_function_keeps_its_lease(self):
        server = self.serve()
        # The lease of the second job is shorter than the time between two renewals of the first.
        patient = winnow.connect(server.http).submit({**EXTERNAL, "trainer": {"external": True, "lease": "60s"}}).ask()
        job = winnow.connect(server.http).submit({**EXTERNAL, "trainer": {"external": True, "lease": "2s"}})
        trial = job.ask()
        # A trial of another client, whose lease runs out: then those of this one were renewed several times.
        other = winnow.connect(server.http).call("POST", f"/v1/tuning-jobs/{job.id}/suggest")["trials"][0]
        again = job.ask(wait=PATIENCE)
        while again.number != other["trial"]:
            again = job.ask(wait=PATIENCE)
        with self.assertRaisesRegex(TypeError, "loss: is 'low'; expected a number"):
            trial.complete("low")
        for step in ("first", None, float("nan")):
            with self.assertRaisesRegex((TypeError, ValueError), f"step: is {step!r}; expected a whole number"):
                trial.report(step, 0.5)
        trial.complete(0.5)
        with self.assertRaisesRegex(ValueError, "has been completed, or has failed, already"):
            trial.complete(0.25)
        self.assertEqual(job.trial(trial.number).state, "COMPLETED")
        with self.assertRaises(winnow.AttemptLost):
            trial.report(1, 0.5)
        patient.complete(0.5)

    def test_a_restart_of_the_server_goes_unnoticed(self):
        server = self.serve()
        job = winnow.connect(server.http).submit({**EXTERNAL, "trainer": {"external": True, "lease": "5s"}})
        seen = []
        watch = threading.Thread(target=lambda: seen.append(job.watch(show=False)))
        watch.start()
        for trial in job.asked():
            trial.report(1, 0.5)
            if trial.number in (1, 3):
                server.kill()
                threading.Thread(target=server.start).start()
            trial.report(2, 0.4)
            trial.complete(0.3, step=3)
        watch.join(PATIENCE)
        self.assertEqual(seen[0]["state"], "COMPLETED")
        curves = job.curves()
        self.assertEqual({tuple(curves[number]) for number in (1, 2, 3, 4)}, {((1, 0.5), (2, 0.4), (3, 0.3))})


class Guarded(WithFolder):
    def test_tls_and_tokens(self):
        make_certificates(self.folder)
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        server = self.serve(["--tls-cert", at("server.pem"), "--tls-key", at("server.key")])
        made = subprocess.run([f"{BIN}/winnow", "--server", f"unix:{server.database}.d/server.sock", "token", "create",
                               "--role", "submitter", "-o", "json"], capture_output=True, check=True, timeout=PATIENCE)
        pathlib.Path(at("token")).write_text(json.loads(made.stdout)["secret"] + "\n")

        client = winnow.connect(f"https://{server.http}", tls_ca=at("ca.pem"), token_file=at("token"))
        self.assertEqual(client.caller()["role"], "SUBMITTER")
        job = client.submit(EXTERNAL)
        for trial in job.asked():
            trial.complete(trial.params["x"])
        self.assertEqual(job.watch(show=False)["state"], "COMPLETED")
        with self.assertRaises(winnow.NotPermitted):
            client.call("GET", "/v1/tokens")
        with self.assertRaises(winnow.NotAuthenticated):
            winnow.connect(f"https://{server.http}", tls_ca=at("ca.pem"), token="").jobs()
        with self.assertRaisesRegex(winnow.Unavailable, "CERTIFICATE_VERIFY_FAILED"):
            winnow.connect(f"https://{server.http}", token="x").jobs()
        with self.assertRaisesRegex(winnow.Unavailable, "closed the connection without a response; if it has TLS, expected https"):
            winnow.connect(server.http, token_file=at("token"), patience=0).jobs()
        with self.assertRaisesRegex(ValueError, "tls_ca: .*none.pem' is not a file"):
            winnow.connect(f"https://{server.http}", tls_ca=at("none.pem"))
        with self.assertRaisesRegex(ValueError, "id: is empty"):
            client.job("")


if __name__ == "__main__":
    main()
