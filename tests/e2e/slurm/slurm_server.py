"""A server with a pool of a Slurm of this machine, for tests."""

import os
import sys

import pool_server
import processes
import slurm_site
from pool_server import job
from processes import wait_until


class Site(pool_server.PoolServer):
    """A Slurm and a server with one pool of it, "slurm". Use it in `with`."""

    def __init__(self, slurm=None, settings=None, wrapper=None, fault="", processes_flags=(), workers=0, **pool):
        super().__init__({"name": "slurm", "kind": "SLURM", "idle_timeout_seconds": 2, "poll_seconds": 0.2,
                          "slurm": dict(settings or {})} | pool,
                         processes_flags, workers, fault)
        self.slurm = slurm or slurm_site.Slurm(nodes=4)
        self.wrapper = wrapper

    def __enter__(self):
        self.slurm.__enter__()
        try:
            folder = self.cluster.folder
            self.pool["slurm"].setdefault("scratch_dir", folder)
            if self.wrapper:
                self.wrap_commands(f"{folder}/bin")
            super().__enter__()
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def wrap_commands(self, folder):
        os.makedirs(folder)
        for name, text in self.wrapper.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        for name in {"sbatch", "squeue", "scancel"} - set(self.wrapper):
            os.symlink(f"/usr/bin/{name}", f"{folder}/{name}")
        self.pool["slurm"]["bin_dir"] = folder

    def __exit__(self, kind, *_):
        super().__exit__(kind)
        self.slurm.__exit__()

    def submit(self, *arguments, **more):
        return super().submit(job(*arguments, **more))

    def submit_held(self, *arguments, trainer=pool_server.TRAINER, **more):
        """A job whose trials train one level, and the others once the gate is open."""
        return self.submit(*arguments, trainer=pool_server.held(self.gate, trainer), **more)

    def expect_whole(self, test, name):
        """The job ends with all that it should have, and leaves nothing."""
        self.wait_for_end(name)
        self.expect_exact(test, name)
        self.wait_for_nothing()

    def wait_for_nothing(self):
        """Nothing is left at the engine, in the tables and on the disk."""
        self.wait_until_given_back()
        try:
            wait_until(lambda: not self.slurm.jobs(), "Slurm has no job")
        except AssertionError as error:
            nodes = self.slurm.command("sinfo", "-h", "-N", "-o", "%N %t %E")
            raise AssertionError(f"{error}: {self.slurm.jobs()}\n{nodes}") from None
        folder = f"{self.cluster.folder}/winnow.db.d/pools/slurm"
        wait_until(lambda: not os.path.isdir(folder) or not os.listdir(folder), "no files are left")


def main():
    """Runs the tests of the calling script, if a Slurm can run here."""
    why = slurm_site.why_not()
    if why:
        print("skipped:", why)
        sys.exit(processes.SKIPPED)
    processes.main()
