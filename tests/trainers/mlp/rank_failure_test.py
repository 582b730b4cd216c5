#!/usr/bin/env python3
"""Three processes of winnow-mlp train together, and one of them comes to harm in the middle of it: it is killed, stands
still, sends garbage, is told to stop, or was started with something else. The others must end too, each with the
reason and the rank it is of, in every way of sharing the work; then the ranks, started again, go on from the
checkpoint, and where the way of sharing promises it end with the bytes of a training that nothing disturbed.

Usage: rank_failure_test.py WINNOW_MLP."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from free_port import free_port  # noqa: E402

RANKS = 3
FIRST_EPOCHS = 3  # are done and saved when harm comes
ENOUGH_EPOCHS = 1_000_000  # more than any test waits for
PATIENCE = 2  # seconds after which a silent rank is given up
DEADLINE = 60  # seconds after which a run is a hang and its ranks are killed; it takes a few
DISTRIBUTIONS = {"ALL_REDUCE": {}, "ZERO": {"optimizer": "adam", "learning_rate": 0.01},
                 "PIPELINE": {"virtual_shards": 6}, "LOCAL_SGD": {"local_steps": 3}, "PARAMETER_SERVER": {}}
REPEATABLE = ("ALL_REDUCE", "ZERO", "PIPELINE", "LOCAL_SGD")
GARBAGE = b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n" * 200
BINARY = None


def connect(port):
    """A connection to rank 0, which may still have to open its port."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            continue


class SpoilingRelay:
    """Stands between a rank and rank 0's port, and hands on what both say until it is told to talk garbage to rank 0."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target = self.listener.getsockname()[1], port
        self.lock, self.to_master, self.spoiled = threading.Lock(), None, False
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:  # each attempt of the rank to reach rank 0
            try:
                rank = self.listener.accept()[0]
                master = connect(self.target)
            except OSError:
                return
            self.to_master = master
            threading.Thread(target=self.hand_on, args=(master, rank, False), daemon=True).start()
            threading.Thread(target=self.hand_on, args=(rank, master, True), daemon=True).start()

    def hand_on(self, source, sink, to_master):
        try:
            while data := source.recv(1 << 16):
                with self.lock:
                    if not (to_master and self.spoiled):
                        sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def spoil(self):
        with self.lock:
            self.spoiled = True
            self.to_master.sendall(GARBAGE)


class RankFailure(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="winnow-mlp-ranks-", ignore_cleanup_errors=True)
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.running, self.watchdog, self.warnings = [], None, ()
        self.addCleanup(self.end_all)
        self.write_table(600)

    def write_table(self, rows):
        lines = ["a,b,y"]
        for i in range(rows):
            a, b = (i * 7919 + 1) % 101, (i * 104729) % 53
            lines.append(f"{a},{b},{int(a + b > 70)}")
        (self.folder / "train.csv").write_text("\n".join(lines) + "\n")

    @staticmethod
    def kill_all(running):
        for process in running:
            process.kill()

    def end_all(self):
        if self.watchdog:
            self.watchdog.cancel()
        self.kill_all(self.running)
        for process in self.running:
            process.wait()
            process.stdout.close()
        self.running = []

    def begin(self, distribution):
        """Trains and saves the first epochs of a way of sharing."""
        self.hyperparameters = {"hidden_layers": "16,8", "batch_size": 48, "learning_rate": 0.02, "seed": 3,
                                "distribution": distribution, "epochs": ENOUGH_EPOCHS, **DISTRIBUTIONS[distribution]}
        self.checkpoints = pathlib.Path(tempfile.mkdtemp(prefix="checkpoints-", dir=self.folder))
        self.warnings = ()
        self.start(to=FIRST_EPOCHS)
        self.first_lines, codes = self.finish()
        self.assertEqual(codes, [0] * RANKS, self.errors(0))
        self.assertEqual(len(self.first_lines), FIRST_EPOCHS)
        self.warnings = tuple(self.errors(0).splitlines())

    def start(self, to=0, of_rank=None, checkpoints=None, model="model", port=None, only=None):
        """Starts all ranks, or those named in `only` beside the ones that run; of_rank gives single ranks other
        variables."""
        if not only:
            self.end_all()
        port = port or free_port()
        for rank in only or range(RANKS):
            with open(self.folder / f"err-{rank}", "w", encoding="utf-8") as errors:
                self.running.append(subprocess.Popen(
                    [BINARY], stdout=subprocess.PIPE, stderr=errors, text=True,
                    env={"PATH": os.environ["PATH"], "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WINNOW_CACHE_DIR": "off",
                         "WINNOW_RANK_PATIENCE_SECONDS": str(PATIENCE), "SM_HPS": json.dumps(self.hyperparameters),
                         "SM_CHANNEL_TRAIN": str(self.folder / "train.csv"),
                         "SM_INPUT_DATA_CONFIG": '{"train": {"label": "y"}}', "SM_MODEL_DIR": str(self.folder / model),
                         "WINNOW_CHECKPOINT_DIR": str(checkpoints or self.checkpoints), "WINNOW_RESOURCE_FROM": "0",
                         "WINNOW_RESOURCE_TO": str(to), **(of_rank or {}).get(rank, {})}))
        if self.watchdog:
            self.watchdog.cancel()
        self.watchdog = threading.Timer(DEADLINE, self.kill_all, [self.running])
        self.watchdog.start()

    def read_until(self, epoch):
        """What rank 0 prints, up to that epoch."""
        lines = []
        for line in self.running[0].stdout:
            lines.append(line)
            if line.startswith(f"[{epoch}]\t"):
                return lines
        self.fail(f"rank 0 ended before epoch {epoch}: {self.errors(0)}")

    def finish(self, except_rank=None):
        """The rest of rank 0's lines, and all exit codes but that of one that is not waited for."""
        rest = [] if except_rank == 0 else list(self.running[0].stdout)
        return rest, [None if rank == except_rank else process.wait() for rank, process in enumerate(self.running)]

    def errors(self, rank):
        """What a rank says on standard error, without the warnings that are given anyway."""
        lines = (self.folder / f"err-{rank}").read_text().splitlines(keepends=True)
        return "".join(line for line in lines if line.rstrip("\n") not in self.warnings)

    def code_of(self, rank):
        blamed = re.match(r"winnow-\w+: rank (\d+)(: | is gone: | stands still: | sends what is no message)",
                          self.errors(rank))
        return 1 if blamed is None or int(blamed[1]) == rank else 75

    def expect_all_failed(self, reason, except_rank=None):
        """All ranks, but the one that came to harm, end with one line that has this reason, and with code 1, or 75 where it
        blames another rank."""
        _, codes = self.finish(except_rank)
        for rank in range(RANKS):
            if rank == except_rank:
                continue
            self.assertEqual(codes[rank], self.code_of(rank), f"rank {rank}: {self.errors(rank)}")
            self.assertRegex(self.errors(rank), reason, f"rank {rank}")
            self.assertEqual(self.errors(rank).count("\n"), 1, self.errors(rank))
            self.assertTrue(self.errors(rank).startswith("winnow-mlp: "))

    def expect_to_go_on(self):
        """All ranks again: they go on from the checkpoint to what a training without harm ends with."""
        saved = max(int(path.stem.split("-")[1]) for path in self.checkpoints.glob("checkpoint-*.mlp"))
        self.assertGreaterEqual(saved, FIRST_EPOCHS)
        self.start(to=saved + 3)
        lines, codes = self.finish()
        self.assertEqual(codes, [0] * RANKS, self.errors(0))
        self.assertEqual([self.errors(rank) for rank in range(RANKS)], [""] * RANKS)
        # Their speed too: these epochs were not trained again.
        self.assertEqual(lines[:FIRST_EPOCHS], self.first_lines)
        self.assertEqual(len(lines), saved + 3)
        if self.hyperparameters["distribution"] not in REPEATABLE:
            return
        self.start(to=saved + 3, checkpoints=self.checkpoints / "undisturbed", model="undisturbed-model")
        _, codes = self.finish()
        self.assertEqual(codes, [0] * RANKS)
        self.assertEqual((self.folder / "model/model.safetensors").read_bytes(),
                         (self.folder / "undisturbed-model/model.safetensors").read_bytes())

    def test_of_a_killed_rank_the_others_say_that_it_is_gone(self):
        for victim, distribution in enumerate([*DISTRIBUTIONS, *DISTRIBUTIONS, *DISTRIBUTIONS]):
            victim = victim // len(DISTRIBUTIONS)
            with self.subTest(victim=victim, distribution=distribution):
                self.begin(distribution)
                self.start()
                self.read_until(FIRST_EPOCHS + 1)
                self.running[victim].kill()
                self.expect_all_failed(f"^winnow-mlp: rank {victim} is gone: ", victim)
                self.expect_to_go_on()

    def test_a_stopped_rank_is_given_up_and_hears_of_it(self):
        for number, distribution in enumerate(DISTRIBUTIONS):
            victim = number % RANKS
            with self.subTest(victim=victim, distribution=distribution):
                self.begin(distribution)
                self.start()
                self.read_until(FIRST_EPOCHS + 1)
                self.running[victim].send_signal(signal.SIGSTOP)
                self.expect_all_failed(f"rank {victim} stands still: nothing from it for {PATIENCE} s", victim)
                self.running[victim].send_signal(signal.SIGCONT)
                self.assertEqual(self.running[victim].wait(), 1, self.errors(victim))
                self.assertRegex(self.errors(victim), r"^winnow-mlp: .*rank \d.*\n$")
                self.expect_to_go_on()

    def test_a_rank_that_sends_garbage_is_named_by_all(self):
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution=distribution):
                self.begin(distribution)
                port = free_port()
                relay = SpoilingRelay(port)
                self.addCleanup(relay.listener.close)
                self.start(of_rank={2: {"MASTER_PORT": str(relay.port)}}, port=port)
                self.read_until(FIRST_EPOCHS + 1)
                relay.spoil()
                self.expect_all_failed("rank 2 sends ")
                self.expect_to_go_on()

    def test_a_stranger_that_sends_garbage_disturbs_nobody(self):
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution=distribution):
                self.begin(distribution)
                self.end_all()
                port = free_port()
                self.start(to=FIRST_EPOCHS + 2, port=port, only=[0, 1])
                with connect(port) as early:
                    early.sendall(GARBAGE)
                    self.start(to=FIRST_EPOCHS + 2, port=port, only=[2])
                    lines, codes = self.finish()
                self.assertEqual(codes, [0] * RANKS, self.errors(0))
                self.assertEqual([self.errors(rank) for rank in range(RANKS)], [""] * RANKS)
                self.assertEqual(lines[:FIRST_EPOCHS], self.first_lines)
                self.expect_to_go_on()

    def test_in_the_middle_of_training_a_stranger_finds_no_port(self):
        self.begin("ALL_REDUCE")
        port = free_port()
        self.start(port=port)
        self.read_until(FIRST_EPOCHS + 1)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        self.read_until(FIRST_EPOCHS + 9)

    def test_a_rank_that_was_started_with_something_else_ends_all(self):
        for distribution in DISTRIBUTIONS:
            for name, value in (("learning_rate", 0.25), ("seed", 5), ("batch_size", 60), ("epochs", 50)):
                with self.subTest(hyperparameter=name, distribution=distribution):
                    self.begin(distribution)
                    other = {"SM_HPS": json.dumps({**self.hyperparameters, name: value})}
                    self.start(of_rank={1: other})
                    self.expect_all_failed(f"rank 1 was started with {name} = {value}, rank 0 with {name} = ")
        self.expect_to_go_on()

    def test_a_rank_that_reads_other_data_ends_all(self):
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution=distribution):
                self.begin(distribution)
                text = (self.folder / "train.csv").read_text()
                (self.folder / "other.csv").write_text(text.replace("\n1,", "\n2,"))
                self.start(of_rank={2: {"SM_CHANNEL_TRAIN": str(self.folder / "other.csv")}})
                self.expect_all_failed("rank 2 .*other data")
                self.expect_to_go_on()

    def test_a_checkpoint_folder_that_cannot_be_written_ends_all(self):
        (self.folder / "file").write_text("")
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution=distribution):
                self.begin(distribution)
                self.start(checkpoints=self.folder / "file")
                self.read_until(0)
                self.running[1].send_signal(signal.SIGTERM)
                self.expect_all_failed(re.escape(str(self.folder / "file")))

    def test_told_to_stop_one_rank_stops_all_and_nothing_is_lost(self):
        for number, distribution in enumerate(DISTRIBUTIONS):
            victim = number % RANKS
            with self.subTest(victim=victim, distribution=distribution):
                self.begin(distribution)
                self.start()
                self.read_until(FIRST_EPOCHS + 1)
                self.running[victim].send_signal(signal.SIGTERM)
                _, codes = self.finish()
                self.assertEqual(codes, [0] * RANKS, self.errors(0))
                self.assertEqual([self.errors(rank) for rank in range(RANKS)], [""] * RANKS)
                self.expect_to_go_on()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
