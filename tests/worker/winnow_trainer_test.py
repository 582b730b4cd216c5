#!/usr/bin/env python3
"""The module that every trial finds: with Winnow's variables around it, and without."""

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

MODULE = pathlib.Path(__file__).resolve().parents[2] / "worker"


def run(program, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WINNOW_", "SM_"))}
    return subprocess.run([sys.executable, "-B", "-c", "import winnow_trainer as winnow\n" + program],
                          env={**environment, "PYTHONPATH": str(MODULE), **variables}, capture_output=True, text=True,
                          check=False, timeout=60)


SERVED = """
import os, sys
print("imports", flush=True)
import winnow_trainer as winnow
imported = os.getpid()
def main():
    print(imported == os.getpid(), sys.argv[1:], os.environ.get("COLOUR"), os.getcwd(), os.environ.get("WINNOW_CONTROL_FD"),
          winnow.hyperparameters(), os.getsid(0) == os.getpid(), flush=True)
    sys.exit(int(os.environ.get("CODE", "0")))
winnow.serve(main)
"""
PADDING = "WINNOW_ASSIGNMENT=job.parent" + "-" * 100


class Forked:
    """A process that a parent has forked, as its worker, which this process is, has it."""

    def __init__(self, parent, command, environment, directory="", order=b"go\n"):
        reads, writes = zip(os.pipe(), os.pipe())
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with tempfile.TemporaryFile() as plan:
            fields = [str(os.getpid()), directory, str(len(command)), *command,
                      *(f"{name}={value}" for name, value in environment.items())]
            plan.write(b"".join(field.encode() + b"\0" for field in fields))
            plan.seek(0)
            socket.send_fds(parent.requests, [b"fork"], [plan.fileno(), *writes, theirs.fileno()])
        for end in writes:
            os.close(end)
        theirs.close()
        self.control, (self.out, self.err) = ours, reads
        assert select.select([ours], [], [], 30)[0], "no answer"
        self.answer, extra, _, _ = ours.recvmsg(1000, socket.CMSG_SPACE(12))
        self.pid = int.from_bytes(extra[0][2][:4], sys.byteorder) if extra else 0
        if self.answer == b"forked\n":
            ours.send(order)

    def end(self):
        """Its output and its exit code, when it has ended."""
        texts = []
        for end in (self.out, self.err):
            with os.fdopen(end) as file:
                texts.append(file.read())
        self.control.close()
        return texts[0], os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Parent:
    """A parent of trainers. Use it in `with`."""

    def __init__(self, program, *arguments, **variables):
        self.program, self.arguments, self.variables = program, arguments, variables

    def __enter__(self):
        assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
        self.folder = tempfile.TemporaryDirectory()
        script = pathlib.Path(self.folder.name, "train.py")
        script.write_text(self.program, encoding="ascii")
        self.command = [sys.executable, "-B", str(script)]
        self.requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        name, value = PADDING.split("=")
        self.process = subprocess.Popen(
            [*self.command, *self.arguments], pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PYTHONPATH": str(MODULE), "PATH": os.environ["PATH"], "WINNOW_PARENT_FD": str(theirs.fileno()),
                 name: value, **self.variables})
        theirs.close()
        return self

    def ready(self):
        return self.requests.recv(100)

    def __exit__(self, *_):
        self.requests.close()  # the parent ends with it
        self.words = [text.decode() for text in self.process.communicate(timeout=30)]
        self.folder.cleanup()


class Serving(unittest.TestCase):
    def test_each_child_is_a_process_of_its_own(self):
        with Parent(SERVED, "--rate", "1") as parent:
            self.assertEqual(parent.ready(), b"ready holds")
            common = {"PATH": os.environ["PATH"], "SM_HPS": '{"rate": 2}'}
            one = Forked(parent, [*parent.command, "--rate", "2"], {**common, "WINNOW_ASSIGNMENT": "job.1", "COLOUR": "red"},
                         directory="/")
            two = Forked(parent, [*parent.command, "--more", "x"], {**common, "WINNOW_ASSIGNMENT": "job.2", "CODE": "3",
                                                                   "WINNOW_CONTROL_FD": "9"})
            self.assertEqual(one.end(), ("False ['--rate', '2'] red / None {'rate': 2} True\n", 0))
            text, code = two.end()
            self.assertEqual(code, 3)
            self.assertTrue(text.startswith("False ['--more', 'x'] None "), text)
            self.assertNotIn(" None {'rate'", text)
        self.assertEqual(parent.words, ["imports\n", ""])
        self.assertEqual(parent.process.returncode, 0)

    def test_the_system_shows_the_childs_assignment(self):
        with Parent(SERVED.replace("sys.exit(", "input(), sys.exit(")) as parent:
            parent.ready()
            child = Forked(parent, parent.command, {"WINNOW_ASSIGNMENT": "job.7"}, order=b"")
            shown = pathlib.Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
            self.assertIn(b"WINNOW_ASSIGNMENT=job.7", shown)
            still = pathlib.Path(f"/proc/{parent.process.pid}/environ").read_bytes().split(b"\0")
            self.assertIn(PADDING.encode(), still)
            os.kill(parent.process.pid, signal.SIGKILL)  # which harms no child
            self.assertEqual(os.waitpid(child.pid, os.WNOHANG), (0, 0))
            child.control.close()  # the worker is gone
            self.assertEqual(child.end()[1], 126)

    def test_one_that_is_held_begins_when_it_is_told(self):
        with Parent(SERVED) as parent:
            parent.ready()
            variables = {"SM_HPS": "{}", "WINNOW_ASSIGNMENT": "job.1", "COLOUR": "red"}
            told, left = (Forked(parent, parent.command, variables, order=b"hold\n") for _ in range(2))
            self.assertEqual(select.select([told.out, told.err, left.out], [], [], 0.1)[0], [])
            told.control.send(b"go COLOUR=blue WINNOW_SLOT=3\n")
            text, code = told.end()
            self.assertEqual(code, 0)
            self.assertTrue(text.startswith("False [] blue "), text)
            left.control.close()  # the worker is gone
            self.assertEqual(left.end(), ("", 126))

    def test_another_command_is_refused(self):
        with Parent(SERVED) as parent:
            parent.ready()
            for command in (["sh", "-c", " ".join(parent.command)], [*parent.command[:2], "/other.py"], ["python3"]):
                child = Forked(parent, command, {"WINNOW_ASSIGNMENT": "job.1"})
                self.assertTrue(child.answer.startswith(b"refused RuntimeError: the command is not this program alone"))
                self.assertEqual(child.end()[1], 126)
            mark = Forked(parent, parent.command, {"WINNOW_ASSIGNMENT": "x" * 500})
            self.assertTrue(mark.answer.startswith(b"refused RuntimeError: WINNOW_ASSIGNMENT"))
            mark.end()

    def test_what_is_no_good_parent_says_so(self):
        thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        with Parent(thread + SERVED) as parent:
            self.assertEqual(parent.ready(), b"")
        self.assertIn("winnow_trainer.serve: a thread runs before serve", parent.words[1])
        self.assertEqual(parent.process.returncode, 1)

    def test_without_a_parent_it_is_a_call(self):
        ours, theirs = socket.socketpair()
        done = subprocess.run([sys.executable, "-B", "-c", SERVED, "a"], capture_output=True, text=True, check=False, timeout=60,
                              pass_fds=[theirs.fileno()],
                              env={"PYTHONPATH": str(MODULE), "WINNOW_CONTROL_FD": str(theirs.fileno())})
        self.assertIn("True ['a'] None", done.stdout)
        self.assertEqual(ours.recv(100), b"forks\n")
        ours.close()
        theirs.close()
        alone = run("winnow.serve(lambda: print('called'))")
        self.assertEqual((alone.stdout, alone.returncode), ("called\n", 0))


class WinnowTrainer(unittest.TestCase):
    def test_without_winnow_it_prints_and_never_stops(self):
        done = run("winnow.report(1, loss=0.5)\nprint(winnow.resume(), winnow.should_stop(), winnow.hyperparameters())\n"
                   "open('/dev/null')\nprint(winnow.save('/dev/null'))")
        self.assertEqual(done.stdout, '{"step": 1, "loss": 0.5}\nNone False {}\n/dev/null\n', done.stderr)

    def test_a_report_is_a_line_of_json(self):
        done = run("winnow.report(2, loss=float('nan'), acc=1)")
        self.assertEqual(done.stdout, '{"step": 2, "loss": NaN, "acc": 1.0}\n')
        for wrong in ("winnow.report(1.5, loss=1)", "winnow.report(1)", "winnow.report(1, loss='x')"):
            self.assertNotEqual(run(wrong).returncode, 0, wrong)
        for wrong in ("None", "'x'"):
            self.assertIn(f"Error: loss is {wrong}; expected a number\n", run(f"winnow.report(1, acc=1, loss={wrong})").stderr)

    def test_a_report_has_a_line_of_its_own_beside_a_progress_bar(self):
        # Keras calls callbacks while the bar of the epoch is in a line without an end.
        for library in ("keras", "tqdm"):
            done = run(f"import sys, types\nsys.modules['{library}'] = types.ModuleType('{library}')\n"
                       "sys.stdout.write('\\b\\b\\r10/10 ---- 0s 9ms/step - loss: 0.7')\nwinnow.report(1, loss=0.5)")
            self.assertEqual(done.stdout.splitlines()[-1], '{"step": 1, "loss": 0.5}', library)

    def test_a_program_waits_for_its_next_part_if_it_may(self):
        program = ("import os\nfor level in range(1, 9):\n    winnow.report(level, loss=1)\n"
                   "    if winnow.should_stop(wait=True):\n        break\nprint(os.environ['WINNOW_ATTEMPT'])\n")
        ours, theirs = socket.socketpair()
        ours.settimeout(30)
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", "import winnow_trainer as winnow\n" + program], pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(MODULE), "WINNOW_CONTROL_FD": str(theirs.fileno()),
                 "WINNOW_RESOURCE_TO": "2", "WINNOW_ATTEMPT": "1"})
        theirs.close()
        self.assertEqual(ours.recv(100), b"waiting 2\n")
        ours.send(b"continue 5 WINNOW_RESOURCE_FROM=2 WINNOW_RESOURCE_TO=5 WINNOW_ATTEMPT=2\n")
        self.assertEqual(ours.recv(100), b"waiting 5\n")
        ours.send(b"end\n")
        lines = process.communicate(timeout=30)[0].split("\n")
        self.assertEqual([json.loads(line)["step"] for line in lines[:-2]], [1, 2, 3, 4, 5])
        self.assertEqual(lines[-2], "2")
        self.assertEqual(process.returncode, 0)
        ours.close()

    def test_it_stops_at_its_level(self):
        done = run("for level in range(1, 9):\n    winnow.report(level, loss=1)\n    if winnow.should_stop():\n        break",
                   WINNOW_RESOURCE_TO="3", WINNOW_ASSIGNMENT="a")
        self.assertEqual([json.loads(line)["step"] for line in done.stdout.splitlines()], [1, 2, 3])

    def test_a_program_that_counts_from_0_stops_at_its_level_too(self):
        program = "for step in range(%d, 9):\n    winnow.report(step, loss=1)\n    if winnow.should_stop():\n        break"
        for first, offset in ((0, "1"), (-4, "5"), (3, "-2")):
            done = run(program % first, WINNOW_RESOURCE_TO="3", WINNOW_RESOURCE_OFFSET=offset, WINNOW_ASSIGNMENT="a")
            self.assertEqual([json.loads(line)["step"] for line in done.stdout.splitlines()], list(range(first, 3 - int(offset) + 1)))

    def test_every_rank_stops_at_the_level_and_the_first_one_prints(self):
        program = ("import sys\nfor level in range(1, 9):\n    winnow.report(level, loss=1)\n    print(level, file=sys.stderr)\n"
                   "    if winnow.should_stop():\n        break")
        for ranks, prints in (({"RANK": "0"}, True), ({"RANK": "1"}, False), ({"RANK": "0", "OMPI_COMM_WORLD_RANK": "0"}, True),
                              ({"RANK": "0", "OMPI_COMM_WORLD_RANK": "1"}, False), ({"RANK": "1", "OMPI_COMM_WORLD_RANK": "2"}, False)):
            with self.subTest(**ranks):
                done = run(program, WINNOW_RESOURCE_TO="3", WINNOW_ASSIGNMENT="a", **ranks)
                self.assertEqual(done.stderr, "1\n2\n3\n")
                self.assertEqual([json.loads(line)["step"] for line in done.stdout.splitlines()], [1, 2, 3] if prints else [])

    def test_it_stops_when_it_is_asked_to(self):
        for asks, said in (("should_stop", "False"), ("resume", "None")):  # the latter: in its first epoch
            done = run(f"import os, signal\nprint(winnow.{asks}())\nos.kill(os.getpid(), signal.SIGTERM)\n"
                       "print(winnow.should_stop())", WINNOW_ASSIGNMENT="a")
            self.assertEqual(done.stdout, f"{said}\nTrue\n", done.stderr)
        # A program's own handler stays.
        own = run("import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: print('mine'))\n"
                  "os.kill(os.getpid(), signal.SIGTERM)\nprint(winnow.should_stop())", WINNOW_ASSIGNMENT="a")
        self.assertEqual(own.stdout, "mine\nFalse\n", own.stderr)
        self.assertEqual(run("import os\nos.kill(os.getpid(), 15)").returncode, -signal.SIGTERM)

    def test_one_that_never_asks_ends_by_the_signal(self):
        done = run("import os, signal\nfor level in range(1, 9):\n    winnow.report(level, loss=1)\n"
                   "    if level == 2:\n        os.kill(os.getpid(), signal.SIGTERM)", WINNOW_ASSIGNMENT="a")
        self.assertEqual(done.returncode, -signal.SIGTERM)
        self.assertEqual([json.loads(line)["step"] for line in done.stdout.splitlines()], [1, 2])

    def test_a_directory_is_replaced_at_once_and_is_found_again_if_the_program_is_killed_meanwhile(self):
        program = """
import os
def show():
    print(sorted(os.listdir(os.environ["WINNOW_CHECKPOINT_DIR"])), open(os.path.join(winnow.resume()[0], "model/step")).read())
os.makedirs("model")
renames = []
rename = os.rename
def killed_at_the_second(one, other):
    if renames:
        raise KeyboardInterrupt
    renames.append(one)
    rename(one, other)
for step, exchange in ("1", None), ("2", None), ("3", lambda one, other: False):
    with open("model/step", "w") as file:
        file.write(step)
    if exchange:
        winnow._exchange, os.rename = exchange, killed_at_the_second
    try:
        winnow.save("model")
    except KeyboardInterrupt:
        os.rename = rename
    show()
winnow.save("model")
show()
"""
        with tempfile.TemporaryDirectory() as folder:
            checkpoint = os.path.join(folder, "checkpoint")
            os.makedirs(checkpoint)
            done = run(f"import os\nos.chdir({folder!r})\n" + program, WINNOW_CHECKPOINT_DIR=checkpoint)
        self.assertEqual(done.stdout.splitlines(), ["['model'] 1", "['model'] 2", "['model.old.tmp', 'model.part'] 2",
                                                    "['model'] 3"], done.stderr)

    def test_ranks_that_share_a_directory_may_save_at_once(self):
        program = """
import os, shutil
def save(): winnow.save(os.environ["SAVED"], "state")
for word in ("copyfile", "copytree"):
    copy = getattr(shutil, word)
    def meanwhile(*arguments, word=word, copy=copy, **options):
        copy(*arguments, **options)
        setattr(shutil, word, copy)
        os.environ["RANK"] = "1"
        save()
    setattr(shutil, word, meanwhile)
os.environ["RANK"] = "0"
save()
print(os.listdir(os.environ["WINNOW_CHECKPOINT_DIR"]))
"""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "file").write_text("x")
            (root / "folder/inner").mkdir(parents=True)
            for name in ("file", "folder"):
                checkpoint = root / f"checkpoint-{name}"
                checkpoint.mkdir()
                done = run(program, WINNOW_CHECKPOINT_DIR=str(checkpoint), SAVED=str(root / name), WINNOW_ASSIGNMENT="a")
                self.assertEqual(done.stdout, "['state']\n", done.stderr)

    def test_what_is_saved_is_found_again_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, work = os.path.join(folder, "kept"), os.path.join(folder, "work")
            os.makedirs(os.path.join(work, "model", "inner"))
            os.makedirs(kept)
            variables = {"WINNOW_CHECKPOINT_DIR": kept, "WINNOW_RESOURCE_FROM": "4", "WINNOW_ASSIGNMENT": "a"}
            self.assertEqual(run("print(winnow.resume())", **variables).stdout, "None\n")
            for text in ("one", "two"):
                pathlib.Path(work, "state").write_text(text, encoding="ascii")
                pathlib.Path(work, "model", "inner", "w").write_text(text, encoding="ascii")
                done = run("print(winnow.save('state'))\nprint(winnow.save('model/', 'best'))".replace(
                    "'state'", repr(work + "/state")).replace("'model/'", repr(work + "/model/")), **variables)
                self.assertEqual(done.stdout, f"{kept}/state\n{kept}/best\n", done.stderr)
                self.assertEqual(pathlib.Path(kept, "state").read_text(encoding="ascii"), text)
                self.assertEqual(pathlib.Path(kept, "best", "inner", "w").read_text(encoding="ascii"), text)
            self.assertEqual(sorted(os.listdir(kept)), ["best", "state"])
            self.assertEqual(run("print(winnow.resume())", **variables).stdout, f"('{kept}', 4)\n")
            self.assertNotEqual(run("winnow.save('/nowhere/x')", **variables).returncode, 0)


if __name__ == "__main__":
    unittest.main()
