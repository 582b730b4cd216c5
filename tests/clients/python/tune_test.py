#!/usr/bin/env python3
"""winnow.tune with real functions, processes and an embedded server: results, pruning, interruptions."""

import importlib.util
import math
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings

from servers import PACKAGE, PATIENCE, WithFolder, main, processes, wait_until
import winnow
from winnow import embedded, tuning, tuning_spec

SPACE = {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}

SCRIPT = """
import os, pathlib, sys, time
import winnow
folder = pathlib.Path(sys.argv[1])

def f(x, y):
    with open(folder / "calls", "a") as file:
        file.write("call\\n")
    if len((folder / "calls").read_text().split()) >= 7 and not (folder / "second").exists():
        (folder / "here").write_text("here")
        time.sleep(600)
    return x * x + y * y

space = {"x": winnow.uniform(-10, 10), "y": winnow.uniform(-10, 10)}
result = winnow.tune(f, space, max_trials=12, directory=folder / "tuning", n_jobs=int(sys.argv[2]), strategy="random")
print(len(result.trials), result.best_value)
"""


def bowl(x, y):
    return (x - 2) ** 2 + (y + 1) ** 2


def process_of(database):
    """The process of the server with this database; 0: there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(database) in pathlib.Path("/proc", pid, "cmdline").read_text().split("\0")[:4]:
                return int(pid)
        except OSError:
            continue
    return 0


class Results(WithFolder):
    def test_a_bowl_is_found_here_and_by_processes(self):
        for n_jobs in (1, 4):
            with self.subTest(n_jobs=n_jobs):
                result = winnow.tune(bowl, SPACE, max_trials=25, n_jobs=n_jobs)
                self.assertLess(result.best_value, 1.0)
                self.assertAlmostEqual(result.best_value, bowl(**result.best_params))
                self.assertEqual([trial.state for trial in result.trials], ["COMPLETED"] * 25)

    def test_a_seed_repeats_and_a_direction_turns(self):
        first, second = (winnow.tune(lambda x: x, {"x": winnow.uniform(0, 1)}, max_trials=6, seed=3, direction="maximize")
                         for _ in range(2))
        self.assertEqual([trial.params for trial in first.trials], [trial.params for trial in second.trials])
        self.assertEqual(first.best_value, max(trial.value for trial in first.trials))

    def test_every_kind_of_range_and_conditions(self):
        seen = []

        def f(rate, layers, kind, width, flag, momentum=None):
            seen.append((rate, layers, kind, width, flag, momentum))
            return rate

        space = {"rate": winnow.log_uniform(1e-4, 1), "layers": winnow.integers(1, 4), "kind": ["sgd", "adam", None],
                 "width": winnow.discrete([16, 32, 64]), "flag": winnow.choice([True, False]),
                 "momentum": winnow.uniform(0.5, 0.9).when("kind", "sgd")}
        self.assertEqual(winnow.uniform(0, 1).when("kind", ["sgd", "adam"]), winnow.uniform(0, 1).when("kind", "sgd", "adam"))
        winnow.tune(f, space, max_trials=20, strategy="random",
                    first=[{"rate": 0.5, "layers": 2, "kind": None, "width": 32, "flag": False}])
        self.assertEqual(seen[0], (0.5, 2, None, 32, False, None))
        for rate, layers, kind, width, flag, momentum in seen:
            self.assertTrue(1e-4 <= rate <= 1 and layers in range(1, 5) and type(layers) is int and width in (16, 32, 64))
            self.assertIn(flag, (True, False))
            self.assertIs(type(flag), bool)
            self.assertEqual(momentum is not None, kind == "sgd")

    def test_reports_prune_and_the_last_value_can_count(self):
        def f(x, trial):
            for step in range(1, 11):
                trial.report(step, x + step)

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=20, max_steps=10, value="last")
        self.assertEqual({trial.state for trial in result.trials}, {"COMPLETED", "PRUNED"})
        self.assertEqual((result.best_step, result.best_value), (10, result.best_params["x"] + 10))
        self.assertTrue(all(trial.step < 10 for trial in result.trials if trial.state == "PRUNED"))

    def test_rungs_train_a_function_to_their_levels(self):
        levels = []

        def f(x, trial):
            for step in range(1, 10):
                levels.append((trial.number, step))
                trial.report(step, x)

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, strategy="hyperband", max_steps=9, max_trials=9)
        steps = {trial.number: trial.step for trial in result.trials}
        self.assertLess({9}, set(steps.values()))
        self.assertTrue(all(step <= steps[number] for number, step in levels))


class Mistakes(WithFolder):
    def test_after_the_end_the_result_has_the_trials_and_its_job_says_that_its_server_is_gone(self):
        result = winnow.tune(bowl, SPACE, max_trials=3)
        for call in (result.job.to_pandas, result.job.describe, lambda: next(result.job.events())):
            with self.assertRaisesRegex(winnow.Unavailable, "has stopped with it; the Result has the trials"):
                call()
        if importlib.util.find_spec("pandas") is not None:
            result = winnow.tune(lambda x, n, k: x, {"x": winnow.uniform(0, 1), "n": winnow.integers(1, 4), "k": [[1], None]},
                                 max_trials=4)
            table = result.to_pandas()
            self.assertEqual(list(table["value"]), [trial.value for trial in result.trials])
            self.assertEqual([str(table.dtypes[name]) for name in ("x", "n", "k")], ["float64", "Int64", "object"])

    def test_a_failing_function_fails_its_trial_with_its_text(self):
        def f(x):
            if x < 0.5:
                raise ValueError("too small")
            return x

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=8, strategy="random",
                             spec={"limits": {"max_first_failures": 0}})
        self.assertEqual({trial.reason for trial in result.trials if trial.state == "FAILED"}, {"ValueError: too small"})

    def test_steps_that_are_wrong_or_unknown_and_a_dictionary_without_the_value_fail_with_what_is_expected(self):
        for f, why in ((lambda x, trial: trial.report(0, x), "step: is 0; expected 1 or more: steps count from 1"),
                       (lambda x, trial: trial.report(1.5, x), "step: is 1.5; expected a whole number"),
                       (lambda x, trial: [trial.report(step, x) for step in trial.steps()],
                        r"trial 1 has no last level; .* \(in winnow.tune: max_steps=…\)"),
                       (lambda x: {"loss": x}, "without 'value'; expected a number, or one with 'value'")):
            with self.subTest(why), self.assertRaisesRegex(winnow.TuningFailed, why):
                winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=5)

    def test_a_step_beyond_the_part_fails_its_trial_and_not_the_search(self):
        def f(x, trial):
            for step in range(5, 28, 5):
                trial.report(step, x)

        for n_jobs in (1, 2):
            with self.subTest(n_jobs=n_jobs), \
                 self.assertRaisesRegex(winnow.TuningFailed, "step: is 5; this part ends at [13]; report every step up to it"):
                winnow.tune(f, {"x": winnow.uniform(0, 1)}, strategy="hyperband", max_steps=27, max_trials=40, n_jobs=n_jobs)

    def test_what_the_server_refuses_in_a_report_fails_its_trial_and_not_the_search(self):
        def f(x, trial):
            trial.report(1, x, **({} if x < 0.5 else {"m" * 256: 1}))

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=8, strategy="random",
                             spec={"limits": {"max_first_failures": 0}})
        self.assertEqual({(trial.state, trial.params["x"] < 0.5) for trial in result.trials}, {("COMPLETED", True), ("FAILED", False)})
        self.assertEqual({trial.reason for trial in result.trials if trial.state == "FAILED"},
                         {"InvalidArgument: points[1].metric: has 256 bytes; expected at most 255"})

    def test_half_a_character_in_the_text_of_an_exception_fails_the_trial_alone(self):
        def f(x):
            if x < 0.5:
                raise FileNotFoundError("no file caf\udce9")
            return x

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=8, strategy="random",
                             spec={"limits": {"max_first_failures": 0}})
        self.assertEqual({trial.reason for trial in result.trials if trial.state == "FAILED"},
                         {r"FileNotFoundError: no file caf\udce9"})

    def test_the_shortest_time_is_a_limit(self):
        def f(x):
            time.sleep(0.2)  # longer than the search may take
            return x

        with self.assertRaises(winnow.TuningFailed):
            winnow.tune(f, {"x": winnow.uniform(0, 1)}, timeout=1e-6)

    def test_a_number_beyond_a_float_fails_its_trial(self):
        for f, why in ((lambda x: 10**400, "expected a number"), (lambda x, trial: trial.report(1, 10**400), "beyond what a float can be")):
            with self.subTest(why), self.assertRaisesRegex(winnow.TuningFailed, why):
                winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=3)

    def test_nan_that_was_reported_and_is_returned_is_no_contradiction(self):
        def f(x, trial):
            value = math.nan if x < 0.5 else x
            trial.report(1, value)
            return value

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=8, strategy="random")
        self.assertGreaterEqual(result.best_value, 0.5)

    def test_a_function_that_always_fails_ends_the_search_and_is_told(self):
        def f(x):
            return {}["missing"]

        with self.assertRaisesRegex(winnow.TuningFailed, "missing") as caught:
            winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=50)
        self.assertIsInstance(caught.exception.__cause__, KeyError)

    def test_a_function_that_always_fails_after_a_report_is_told(self):
        def f(x, trial):
            trial.report(1, x)
            raise KeyError("late")

        with self.assertRaisesRegex(winnow.TuningFailed, "All 4 trials failed. Trial 1: KeyError: 'late'"):
            winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=4)

    def test_a_result_is_pickled_without_its_server(self):
        result = winnow.tune(bowl, SPACE, max_trials=3)
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual((again.best_params, again.trials), (result.best_params, result.trials))
        with self.assertRaisesRegex(winnow.Unavailable, "has stopped with it; the Result has the trials"):
            again.job.describe()

    def test_wrong_calls_are_refused_before_anything_starts(self):
        for wrong, why, call in (
                (TypeError, "no parameter 'z'", lambda: winnow.tune(bowl, {**SPACE, "z": [1, 2]})),
                (TypeError, "'y' is not in the space", lambda: winnow.tune(bowl, {"x": [1, 2]})),
                (ValueError, "max_trials: is 0; expected 1 or more", lambda: winnow.tune(bowl, SPACE, max_trials=0)),
                (ValueError, "max_steps: is -1; expected 1 or more", lambda: winnow.tune(bowl, SPACE, max_steps=-1)),
                (TypeError, "max_trials: is '3', of type str; expected an int", lambda: winnow.tune(bowl, SPACE, max_trials="3")),
                (TypeError, "max_trials: is 10.0, of type float; expected an int, such as 10",
                 lambda: winnow.tune(bowl, SPACE, max_trials=10.0)),
                (TypeError, "n_jobs: is '2', of type str", lambda: winnow.tune(bowl, SPACE, n_jobs="2")),
                (TypeError, "seed: is None, of type NoneType", lambda: winnow.tune(bowl, SPACE, seed=None)),
                (ValueError, "timeout: is '10s'; expected seconds", lambda: winnow.tune(bowl, SPACE, timeout="10s")),
                (TypeError, "objectives: is \\['a', 'b'\\]; expected a dictionary by metric",
                 lambda: winnow.tune(bowl, SPACE, objectives=["a", "b"])),
                (TypeError, "first: has 'x'; expected a list of dictionaries", lambda: winnow.tune(bowl, SPACE, first={"x": 1})),
                (ValueError, "space: 'x': choice: no value is given", lambda: winnow.tune(bowl, {"x": [], "y": [1]})),
                (ValueError, "choice: is 'abc'; expected a list", lambda: winnow.choice("abc")),
                (ValueError, "low is '0'; expected a finite number", lambda: winnow.uniform("0", 1)),
                (ValueError, "low is '1'; expected an integer", lambda: winnow.integers("1", 3, log=True)),
                (ValueError, "discrete: 'a' is not a number", lambda: winnow.discrete(["a", "b"])),
                (ValueError, "max_steps: is not given; expected the last step of the function, which ASHA needs",
                 lambda: winnow.tune(bowl, SPACE, pruner="asha")),
                (ValueError, "direction: is 'up'", lambda: winnow.tune(bowl, SPACE, direction="up")),
                (ValueError, "high is 1000.*; expected a finite number", lambda: winnow.uniform(0, 10**400)),
                (ValueError, "high is 1000.*; expected an integer", lambda: winnow.integers(0, 10**400)),
                (ValueError, "discrete: 1000.* is not a number", lambda: winnow.discrete([1, 10**400])),
                (ValueError, "low is 3 and high is 2", lambda: winnow.uniform(3, 2)),
                (ValueError, "low is 0; expected a number above 0", lambda: winnow.log_uniform(0, 2)),
                (ValueError, "space: 'x' is 3; expected", lambda: winnow.tune(bowl, {"x": 3, "y": [1]})),
                (ValueError, r"space: 'x' is \(0, 1\), which may mean a range or two values; expected winnow.uniform\(0, 1\) or "
                             r"winnow.integers\(0, 1\), or the list \[0, 1\] for these two values alone",
                 lambda: winnow.tune(bowl, {"x": (0, 1), "y": [1]})),
                (ValueError, r"expected winnow.uniform\(0.5, 1\), or the list",
                 lambda: winnow.tune(bowl, {"x": (0.5, 1), "y": [1]}))):
            with self.subTest(why), self.assertRaisesRegex(wrong, why):
                call()

    def test_the_server_refuses_with_its_violations(self):
        with self.assertRaises(winnow.InvalidArgument) as caught:
            winnow.tune(bowl, SPACE, max_trials=5, spec={"completion": {"convergence_tolerance": 7}})
        self.assertEqual([found.field for found in caught.exception.violations], ["completion.convergence_tolerance"])


class Interruptions(WithFolder):
    def begin(self, n_jobs):
        script = pathlib.Path(self.folder, "script.py")
        script.write_text(textwrap.dedent(SCRIPT))
        process = subprocess.Popen([sys.executable, "-B", str(script), self.folder, str(n_jobs)], text=True,
                                   env={**os.environ, "PYTHONPATH": str(PACKAGE)}, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def killed_and_gone_on(self, n_jobs):
        database = pathlib.Path(self.folder, "tuning/winnow.db")
        first = self.begin(n_jobs)
        wait_until(pathlib.Path(self.folder, "here").exists, "the seventh call begins")
        children = processes.children_of(first.pid)
        self.assertIn(process_of(database), children)
        first.kill()
        first.communicate()
        wait_until(lambda: all(processes.parent_of(child) == -1 for child in children), "all that it started has ended")
        pathlib.Path(self.folder, "second").write_text("")
        printed, errors = self.begin(n_jobs).communicate(timeout=PATIENCE)
        self.assertTrue(printed.startswith("12 "), errors)
        self.assertEqual(process_of(database), 0)
        return pathlib.Path(self.folder, "calls").read_text().count("call")

    def test_kill_9_and_a_second_call_that_goes_on(self):
        self.assertEqual(self.killed_and_gone_on(1), 13)  # the interrupted one twice

    def test_kill_9_of_four_processes(self):
        self.assertLessEqual(self.killed_and_gone_on(4), 16)

    def test_ctrl_c_stops_all_and_a_second_call_goes_on(self):
        process = self.begin(1)
        wait_until(pathlib.Path(self.folder, "here").exists, "the seventh call begins")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)
        self.assertEqual(process_of(pathlib.Path(self.folder, "tuning/winnow.db")), 0)
        pathlib.Path(self.folder, "second").write_text("")
        printed, errors = self.begin(1).communicate(timeout=PATIENCE)
        self.assertTrue(printed.startswith("12 "), errors)

    def test_a_killed_worker_process_fails_only_its_trial(self):
        here = os.getpid()

        def f(x):
            if x > 0.6:
                assert os.getpid() != here
                os.kill(os.getpid(), signal.SIGKILL)
            return x

        result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=12, n_jobs=2, strategy="random")
        failed = [trial for trial in result.trials if trial.state == "FAILED"]
        self.assertEqual({trial.reason for trial in failed}, {"its process was killed by SIGKILL"})
        self.assertEqual({trial.number for trial in failed},
                         {trial.number for trial in result.trials if trial.params["x"] > 0.6})

    def test_settings_of_a_team_are_of_another_server(self):
        authority = pathlib.Path(self.folder, "ca.pem")
        authority.write_text("none")
        team = {"WINNOW_PROJECT": "vision", "WINNOW_TLS_CA": str(authority), "WINNOW_TOKEN": "wnw_x", "WINNOW_CONTEXT": "team",
                "WINNOW_SERVER_REQUIRE_TOKENS": "true"}
        with unittest.mock.patch.dict(os.environ, team):
            result = winnow.tune(bowl, SPACE, max_trials=3, strategy="random")
            self.assertEqual([len(result.trials), "@" in result.job.id], [3, False])
            with winnow.serve(self.folder) as client:
                self.assertEqual(winnow.tune(bowl, SPACE, max_trials=2, strategy="random", server=client).state, "COMPLETED")

    def test_a_search_that_failed_begins_anew_and_one_that_is_complete_does_not(self):
        calls = []

        def search(function):
            return winnow.tune(function, {"x": winnow.uniform(0, 1)}, max_trials=5, strategy="random", directory=self.folder, name="search")

        def broken(x):
            raise KeyError("missing")

        def repaired(x):
            calls.append(x)
            return x

        with self.assertRaisesRegex(winnow.TuningFailed, "missing"):
            search(broken)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first = search(repaired)
        self.assertEqual((first.state, len(first.trials), len(calls)), ("COMPLETED", 5, 5))
        with self.assertWarnsRegex(UserWarning, "the search 'search' in .* has ended, .*; choose another name to search again"):
            second = search(repaired)
        self.assertEqual((second.trials, second.job.id, len(calls)), (first.trials, first.job.id, 5))

    def test_a_failure_before_the_first_trial_leaves_no_server(self):
        with unittest.mock.patch.object(embedded, "connect", side_effect=ValueError("no connection")), \
             self.assertRaisesRegex(ValueError, "no connection"):
            winnow.tune(bowl, SPACE, max_trials=3, directory=self.folder)
        self.assertEqual(process_of(pathlib.Path(self.folder, "winnow.db")), 0)

    def test_while_a_job_stops_no_process_takes_the_place_of_one_that_has_ended(self):
        folder = pathlib.Path(self.folder)
        states = ["STOPPING"] * 6 + ["STOPPED"]

        class Stopping:
            id, spec = "stopping", {"limits": {}}

            def describe(self):
                wait_until(lambda: len(list(folder.glob("asked-*"))) >= 2, "both processes ask")
                return {"state": states.pop(0)}

            def ask(self):  # in a process
                (folder / f"asked-{os.getpid()}").touch()

        run = tuning._Run(Stopping(), bowl, SPACE, False, tuning_spec.Goals("minimize"), 2, folder / "taken", True)
        with unittest.mock.patch.object(tuning, "_POLL", 0.1):
            run.all(2, False)
        self.assertEqual((states, len(list(folder.glob("asked-*")))), ([], 2))

    def test_a_server_that_cannot_start_says_why_at_once(self):
        with self.assertRaisesRegex(winnow.ServerNotStarted, "did not start: .*/proc/server.log"):
            winnow.serve("/proc")
        with winnow.serve(self.folder):
            with self.assertRaisesRegex(winnow.ServerNotStarted, "has a server of this process already; expected its stop"):
                winnow.serve(self.folder)
        with winnow.serve(self.folder) as client:
            self.assertEqual(client.jobs(), [])

    def test_a_start_that_is_interrupted_leaves_no_server(self):
        popen, start, begun = subprocess.Popen, threading.Thread.start, []

        def interrupted(*args, **options):
            begun.append(popen(*args, **options))
            os.kill(os.getpid(), signal.SIGINT)
            return begun[0]

        def interrupted_start(thread):
            start(thread)
            if thread.name == "winnow-server":  # this thread comes late to what the other does
                wait_until(lambda: begun, "the server's process has begun")

        for late in (False, True):
            with self.subTest(late=late), \
                 unittest.mock.patch.object(embedded.subprocess, "Popen", interrupted), \
                 unittest.mock.patch.object(threading.Thread, "start", interrupted_start if late else start), \
                 self.assertRaises(KeyboardInterrupt):
                winnow.serve(self.folder)
            self.assertIsNotNone(begun.pop().poll())
            self.assertEqual([thread.name for thread in threading.enumerate() if thread.name == "winnow-server"], [])

    def test_a_killed_embedded_server_is_started_again(self):
        with winnow.serve(self.folder) as client:
            database = pathlib.Path(self.folder, "winnow.db")

            def f(x, trial):
                trial.report(1, x)
                if trial.number == 3:
                    os.kill(process_of(database), signal.SIGKILL)
                trial.report(2, x / 2)

            result = winnow.tune(f, {"x": winnow.uniform(0, 1)}, max_trials=5, strategy="random", server=client)
            self.assertEqual([trial.step for trial in result.trials], [2] * 5)
        self.assertEqual(process_of(database), 0)


if __name__ == "__main__":
    main()
