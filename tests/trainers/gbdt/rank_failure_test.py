#!/usr/bin/env python3
"""Three processes of winnow-gbdt train together, and one of them comes to harm: it is killed, cannot read its files,
reads other data or other hyperparameters than the others, or is told to stop. The others must end too, at once, with
the reason and the rank it is of; one that is told to stop stops all after the same round, and nothing is lost.

Usage: rank_failure_test.py WINNOW_GBDT."""

import json
import os
import pathlib
import re
import shutil
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
ENOUGH_ROUNDS = 1_000_000  # more than any test waits for
DEADLINE = 60  # seconds after which a run is a hang and its ranks are killed; it takes less than one
BINARY = None


def table(rows, seed=1):
    """The lines of a table of two features that explain its label, the last column."""
    lines = ["a,b,y"]
    for i in range(rows):
        a, b = (i * 7919 + seed) % 101, (i * 104729) % 53
        lines.append(f"{a},{b},{int(a + b > 70)}")
    return lines


class RankFailure(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="winnow-ranks-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.running, self.watchdog = [], None
        self.addCleanup(self.end_all)
        self.hyperparameters = {"objective": "binary:logistic", "eval_metric": "logloss", "max_depth": 3,
                                "subsample": 0.8, "num_round": ENOUGH_ROUNDS}
        self.write("train.csv", table(600))

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

    def write(self, name, lines):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return path

    def write_shards(self):
        for rank in range(RANKS):
            self.write(f"shards/part-{rank}.csv", table(200, rank))
        return self.folder / "shards"

    def start(self, *flags, ranks=RANKS, train=None, of_rank=None, only=None, port=None, label=("--label", "y")):
        """Starts all ranks, or one; of_rank gives single ranks other hyperparameters or another training file."""
        self.end_all()
        port, self.running = port or free_port(), []
        for rank in range(ranks) if only is None else [only]:
            own = {"train": train or self.folder / "train.csv", "hyperparameters": self.hyperparameters,
                   **(of_rank or {}).get(rank, {})}
            hyperparameters = self.write(f"hp-{rank}.json", [json.dumps(own["hyperparameters"])])
            command = [BINARY, "--train", own["train"], *label, "--model-dir", self.folder / "model",
                       "--hyperparameters", hyperparameters, *flags]
            with open(self.folder / f"err-{rank}", "w", encoding="utf-8") as errors:
                self.running.append(subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=errors, text=True,
                    env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                         "MASTER_PORT": str(port), "WINNOW_CACHE_DIR": "off"}))
        self.watchdog = threading.Timer(DEADLINE, self.kill_all, [self.running])
        self.watchdog.start()

    def read_until(self, round_number):
        """What rank 0 prints, up to that round."""
        lines = []
        for line in self.running[0].stdout:
            lines.append(line)
            if line.startswith(f"[{round_number}]\t"):
                return lines
        self.fail(f"rank 0 ended before round {round_number}: {self.errors(0)}")

    def finish(self):
        """The rest of rank 0's lines, and all exit codes."""
        rest = list(self.running[0].stdout)
        return rest, [process.wait() for process in self.running]

    def errors(self, rank):
        return (self.folder / f"err-{rank}").read_text()

    def code_of(self, rank):
        blamed = re.match(r"winnow-\w+: rank (\d+)(: | is gone: | stands still: | sends what is no message)",
                          self.errors(rank))
        return 1 if blamed is None or int(blamed[1]) == rank else 75

    def expect_all_failed(self, reason, except_rank=None):
        """All ranks, but the one that is gone, end with one line that has this reason, and with code 1, or 75 where it
        blames another rank."""
        _, codes = self.finish()
        for rank in range(RANKS):
            if rank == except_rank:
                continue
            with self.subTest(rank=rank):
                self.assertEqual(codes[rank], self.code_of(rank))
                self.assertRegex(self.errors(rank), reason)
                self.assertEqual(self.errors(rank).count("\n"), 1, self.errors(rank))
        self.assertFalse((self.folder / "model/model.json").exists())

    def test_of_a_killed_rank_the_others_say_that_it_is_gone(self):
        for victim in range(RANKS):
            with self.subTest(victim=victim):
                self.start()
                self.read_until(3)
                self.running[victim].kill()
                self.expect_all_failed(f"^winnow-gbdt: rank {victim} is gone: ", victim)

    def test_a_damaged_shard_is_told_by_all_with_its_file_and_line(self):
        shards = self.write_shards()
        self.write("shards/part-2.csv", table(50) + ["1,2"] + table(20)[1:])
        self.start("--sharded", train=shards)
        _, codes = self.finish()
        self.assertEqual(codes, [75, 75, 1])
        for rank in range(RANKS):
            origin = "" if rank == 2 else "rank 2: "
            self.assertRegex(self.errors(rank), rf"^winnow-gbdt: {origin}--train: [^ ]*part-2\.csv:52: 2 fields found, .*\n$")

    def test_a_label_out_of_range_in_one_shard_is_told_by_all(self):
        shards = self.write_shards()
        self.write("shards/part-1.csv", table(50) + ["1,2,3"])
        self.start("--sharded", train=shards)
        self.expect_all_failed(r"label = 3: expected 0 to 1 with objective binary:logistic")
        self.assertIn("rank 1: ", self.errors(0))
        self.assertIn("rank 1: ", self.errors(2))

    def test_a_rank_without_its_file_ends_all(self):
        self.start(of_rank={1: {"train": self.folder / "absent.csv"}})
        self.expect_all_failed(r"absent\.csv")
        self.assertIn("rank 1: ", self.errors(0))

    def test_fewer_files_than_ranks_are_refused(self):
        shards = self.write_shards()
        (shards / "part-2.csv").unlink()
        self.start("--sharded", train=shards)
        self.expect_all_failed("2 files for 3 ranks; expected at least one file for each")

    def expect_the_model_of_all_rows(self, *flags, **options):
        """Ranks that read their own shards print and write what one rank does that reads all."""
        results = []
        for ranks in (1, RANKS):
            (self.folder / "model/model.json").unlink(missing_ok=True)
            self.start("--sharded", *flags, ranks=ranks, train=self.folder / "shards", **options)
            lines, codes = self.finish()
            self.assertEqual(codes, [0] * ranks, [self.errors(rank) for rank in range(ranks)])
            results.append((lines, (self.folder / "model/model.json").read_bytes()))
        self.assertEqual(results[0], results[1])

    def test_a_shard_without_rows_or_without_rows_of_one_part_is_as_good_as_any(self):
        self.hyperparameters.update({"num_round": 4, "eval_metric": "auc,logloss"})
        # Of the third shard no row validates, of the second there is none.
        self.write("shards/part-0.csv", table(300))
        self.write("shards/part-1.csv", ["a,b,y"])
        self.write("shards/part-2.csv", table(2, 3))
        for flags in ([], ["--validation-fraction", "0.2"], ["--validation", self.folder / "shards"]):
            with self.subTest(flags=flags):
                self.expect_the_model_of_all_rows(*flags)
        shutil.copytree(self.folder / "model", self.folder / "given")
        self.expect_the_model_of_all_rows("--validation-fraction", "0.2", "--continue-from", self.folder / "given/model.json")

    def test_a_shard_without_queries_of_one_part_is_as_good_as_any(self):
        self.hyperparameters.update({"num_round": 4, "objective": "rank:ndcg", "eval_metric": "ndcg@3,map"})
        for rank, queries in enumerate((range(12), [], [12])):
            lines = [f"{int((i * q) % 3 == 1)}:{1 + q % 2} qid:{q} 1:{(i * 7 + q) % 5} 2:{i % 3}" for q in queries for i in range(6)]
            self.write(f"shards/part-{rank}.libsvm", lines)
        for flags in ([], ["--validation-fraction", "0.3"]):
            with self.subTest(flags=flags):
                self.expect_the_model_of_all_rows(*flags, label=())

    def test_a_part_without_rows_on_any_rank_is_refused(self):
        for rank in range(RANKS):
            self.write(f"shards/part-{rank}.csv", table(2, rank))
        self.start("--sharded", "--validation-fraction", "0.000001", train=self.folder / "shards")
        self.expect_all_failed("--train: validation_fraction 1e-06 leaves 0 of 6 rows for validation; expected at least")

    def test_a_part_that_weighs_nothing_is_refused_where_some_rank_has_no_row_of_it(self):
        """Only the last row weighs something, and it does not validate."""
        self.hyperparameters["num_round"] = 4
        for rank, rows in enumerate((40, 0, 2)):
            self.write(f"shards/part-{rank}.csv", ["a,b,y,w", *(f"{line},0" for line in table(rows, rank)[1:])])
        self.write("shards/part-2.csv", ["a,b,y,w", "1,2,1,0", "3,4,0,5"])
        self.start("--sharded", "--weight", "w", "--validation-fraction", "0.2", train=self.folder / "shards")
        self.expect_all_failed("every weight of the rows to validate on is 0, with validation_fraction 0.2")

    def test_a_rank_that_reads_other_data_ends_all(self):
        other = self.write("other.csv", table(600, 2))
        self.start(of_rank={2: {"train": other}})
        self.expect_all_failed("rank 2 reads other data there than rank 0")

    def test_a_rank_with_other_hyperparameters_ends_all(self):
        for name, value in (("eta", 0.1), ("seed", 5), ("num_round", 3)):
            with self.subTest(hyperparameter=name):
                self.start(of_rank={1: {"hyperparameters": {**self.hyperparameters, name: value}}})
                self.expect_all_failed(f"rank 1 .*{name} = ")

    def test_a_checkpoint_folder_that_cannot_be_written_ends_all(self):
        self.write("file", [""])
        self.start("--checkpoint-dir", self.folder / "file")
        self.read_until(0)
        self.running[1].send_signal(signal.SIGTERM)
        self.expect_all_failed(re.escape(str(self.folder / "file")))

    def test_told_to_stop_one_rank_stops_all_after_one_round_and_nothing_is_lost(self):
        checkpoints = self.folder / "checkpoints"
        for victim in range(RANKS):
            with self.subTest(victim=victim):
                self.start("--checkpoint-dir", checkpoints)
                lines = self.read_until(2 + 3 * victim)
                self.running[victim].send_signal(signal.SIGTERM)
                rest, codes = self.finish()
                lines += rest
                self.assertEqual(codes, [0, 0, 0])
                self.assertEqual([self.errors(rank) for rank in range(RANKS)], ["", "", ""])
                self.assertFalse((self.folder / "model/model.json").exists())
        # All rounds again from the newest checkpoint, on another number of ranks and one round further.
        self.hyperparameters["num_round"] = len(lines) + 1
        self.start("--checkpoint-dir", checkpoints, ranks=2)
        resumed, codes = self.finish()
        self.assertEqual(codes, [0, 0])
        self.assertEqual(resumed[:-1], lines)
        model = (self.folder / "model/model.json").read_bytes()
        self.start(ranks=1)
        whole, codes = self.finish()
        self.assertEqual(codes, [0])
        self.assertEqual(whole, resumed)
        self.assertEqual((self.folder / "model/model.json").read_bytes(), model)

    def test_told_to_stop_without_a_checkpoint_folder_all_say_what_is_lost(self):
        self.start()
        self.read_until(2)
        self.running[2].send_signal(signal.SIGTERM)
        self.expect_all_failed("told to stop after [0-9]+ of 1000000 rounds, and without a checkpoint folder")

    def test_told_to_stop_while_others_have_not_come_a_rank_ends_at_once(self):
        for flags, code, reason in (([], 1, "winnow-gbdt: told to stop before all ranks had come\n"),
                                    (["--checkpoint-dir", self.folder / "checkpoints"], 0, "")):
            with self.subTest(flags=flags), socket.socket() as master:
                master.bind(("127.0.0.1", 0))
                master.listen()
                self.start(*flags, only=1, port=master.getsockname()[1])
                waiting, _ = master.accept()  # rank 1 is here, and nobody answers it
                self.running[0].send_signal(signal.SIGTERM)
                self.assertEqual(self.finish()[1], [code])
                self.assertEqual(self.errors(1), reason)
                waiting.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
