"""What every part is given."""

import dataclasses
import functools
import pathlib

import data
import jobs
from service import Service


@dataclasses.dataclass
class Setting:
    bank: data.Bank
    files: data.Files
    service: Service
    mnist: pathlib.Path  # folder of the four published files
    work: pathlib.Path
    quick: bool          # proves that the part works: one seed, little training
    most_seeds: int      # that any part takes; 0: as many as it wants

    def seeds(self, count):
        most = 1 if self.quick else self.most_seeds or count
        return list(range(1, min(count, most) + 1))

    def few(self, whole, quick):
        return quick if self.quick else whole

    @functools.lru_cache(maxsize=None)
    def split(self, name):
        return self.bank.split(name)

    @functools.lru_cache(maxsize=None)
    def warm(self, split):
        """Has the trainers' cache filled with the split's data by a training that does not count."""
        self.service.run(jobs.single("warm-up", self.files.channels(split), {**jobs.UNTUNED, "num_round": 1}, 1, 1))

    def __hash__(self):
        return id(self)

    def say(self, text):
        print(f"  {text}", flush=True)
