"""Random search: every configuration is trained through."""

import numpy


def run(_strategy, family, seed, meter):
    source = numpy.random.default_rng(seed)
    while True:
        trial = meter.start_at(source.random(len(family.parameters)))
        for _ in range(family.max_resource):
            trial.advance()
