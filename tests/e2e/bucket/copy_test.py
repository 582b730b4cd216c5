"""Checkpoints and models are copied from a folder to a bucket and back, also by copies that are killed in the middle, and damaged
objects are found and named.
"""

import filecmp
import os
import re
import shutil
import subprocess
import threading

import scene  # which makes the modules beside this folder known
from scene import PREFIX, job
import processes
from processes import rows, wait_until

SIZE = 20 << 20
NOT_HELD = 2  # blobs that a copy has copied when it is killed


class CopyTest(scene.Scene):
    def setUp(self):
        """A state directory whose artifacts have the model of a job."""
        super().setUp()
        self.state = f"{self.folder}/a"
        os.makedirs(self.state)
        server = processes.Server(self.state)
        self.addCleanup(server.kill)
        server.start()
        self.worker(server, "w1")
        open(f"{self.folder}/gate", "w", encoding="ascii").close()
        processes.Client(server).submit(job(self.folder, size=SIZE), self.folder)
        self.database = server.database
        wait_until(lambda: rows(server.database, "SELECT 1 FROM artifacts WHERE kind = 'model'"), "the model is kept")
        code, said = self.task(self.state, *self.copy())
        self.assertEqual(code, 1)
        self.assertIn("winnow.db", said)  # a server has it
        self.assertEqual(server.stop(), 0)
        self.blobs = [digest for digest, in rows(server.database, "SELECT digest FROM blobs ORDER BY digest")]
        self.artifacts = f"{self.state}/winnow.db.d/artifacts"

    def copy(self):
        """Flags of a copy from the folder to the bucket."""
        flags = self.flags()
        return [*flags[2:], "--copy-artifacts", flags[1]]

    def key(self, digest):
        return f"{PREFIX}/blobs/{digest[:2]}/{digest}"

    def file(self, digest, folder=None):
        return f"{folder or self.artifacts}/blobs/{digest[:2]}/{digest}"

    def kill_in_the_middle(self, method, *flags):
        """Kills a copy by SIGKILL when the gate has let NOT_HELD blobs through by this method."""
        self.bucket.held_method, self.bucket.not_held, self.bucket.hold = method, NOT_HELD, threading.Event()
        copy = subprocess.Popen([f"{processes.BIN}/winnow-server", "--db", self.database, *flags], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        self.addCleanup(copy.kill)
        self.assertTrue(self.bucket.held.wait(processes.PATIENCE))
        if method == "PUT":
            wait_until(lambda: len(self.bucket.keys(PREFIX + "/blobs/")) == NOT_HELD, "some are copied")
        copy.kill()
        copy.wait()
        hold, self.bucket.hold = self.bucket.hold, None
        hold.set()
        self.bucket.held.clear()

    def copied(self, said):
        """How many blobs are in the target, and how many of them were copied now."""
        return [int(number) for number in re.search(r"(\d+) blobs .* are in .*; (\d+) of them were copied now", said).groups()]

    def test_there_and_back_again(self):
        number = len(self.blobs)
        self.assertGreater(number, NOT_HELD)
        self.kill_in_the_middle("PUT", *self.copy())
        code, said = self.task(self.state, *self.flags(), "--check")
        self.assertEqual(code, 1)
        self.assertEqual(said.count(f"bucket models at {self.bucket.url}: there is no object "), number - NOT_HELD)
        code, said = self.task(self.state, *self.copy())
        self.assertEqual((code, self.copied(said)), (0, [number, number - NOT_HELD]), said)
        self.assertIn(f"Start with --artifacts s3://models/{PREFIX}", said)
        code, said = self.task(self.state, *self.flags(), "--check")
        self.assertEqual(code, 0, said)
        self.assertIn(f"{number} blobs in bucket models at {self.bucket.url}", said)
        back = f"{self.folder}/back"
        there = [*self.flags(), "--copy-artifacts", back]
        self.kill_in_the_middle("GET", *there)
        code, said = self.task(self.state, *there)
        self.assertEqual((code, self.copied(said)[0]), (0, number), said)
        for digest in self.blobs:
            self.assertTrue(filecmp.cmp(self.file(digest), self.file(digest, back), shallow=False))
        code, said = self.task(self.state, "--artifacts", back, "--check")
        self.assertEqual(code, 0, said)

    def test_damaged_objects_are_named_and_mended(self):
        code, said = self.task(self.state, *self.copy())
        self.assertEqual(code, 0, said)
        changed, gone, short = sorted(self.blobs, key=lambda digest: os.path.getsize(self.file(digest)))[-3:]
        with open(self.file(changed), "rb") as file:
            content = file.read()
        self.bucket.put(self.key(changed), bytes([content[0] ^ 1]) + content[1:])
        self.bucket.remove(self.key(gone))
        self.bucket.put(self.key(short), b"short")
        code, said = self.task(self.state, *self.flags(), "--check")
        self.assertEqual(code, 1)
        for digest, wrong in [(changed, "has other content than its name says"), (short, "has 5 bytes, expected"),
                              (gone, "there is no object")]:
            line = next(line for line in said.splitlines() if line.startswith(f"blob {digest}: "))
            self.assertIn(wrong, line)
            self.assertIn(self.key(digest), line)
        back = f"{self.folder}/back"
        code, said = self.task(self.state, *self.flags(), "--copy-artifacts", back)
        self.assertEqual((code, self.copied(said)[0]), (1, len(self.blobs) - 3), said)
        for digest in (changed, gone, short):
            self.assertIn(f"blob {digest} is missing or damaged: bucket models at {self.bucket.url}, object {self.key(digest)}", said)
            self.assertFalse(os.path.exists(self.file(digest, back)))
        # The folder still has them; a second copy mends the bucket, and a folder without them does not harm it.
        code, said = self.task(self.state, *self.copy())
        self.assertEqual((code, self.copied(said)), (0, [len(self.blobs), 3]), said)
        shutil.rmtree(self.artifacts)
        code, said = self.task(self.state, *self.copy())
        self.assertEqual((code, self.copied(said)), (0, [len(self.blobs), 0]), said)
        # A prefix that is nobody's yet has nothing of what the database lists.
        start = ["--listen", "127.0.0.1:0", "--http", "off", "--local-workers", "0"]
        for _ in range(2):
            code, said = self.task(self.state, *self.flags(place="s3://models/wrong"), *start)
            self.assertEqual(code, 1)
            self.assertIn('under "wrong/" has none of their files', said)
        # Another database's are not mixed with them.
        os.makedirs(f"{self.folder}/b")
        other = processes.Server(f"{self.folder}/b")
        self.addCleanup(other.kill)
        other.start()
        self.assertEqual(other.stop(), 0)
        code, said = self.task(f"{self.folder}/b", *self.copy())
        self.assertEqual(code, 1)
        self.assertIn("has the artifacts of another database", said)


if __name__ == "__main__":
    scene.run()
