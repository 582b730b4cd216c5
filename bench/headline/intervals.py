"""Medians, and what paired seeds say of a difference."""

import numpy

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 1729


def bootstrap(values, resamples=RESAMPLES, level=LEVEL):
    """Mean of the values and its percentile interval over resampled seeds: (mean, low, high). The same each time."""
    values = numpy.asarray(values, dtype=float)
    drawn = numpy.random.default_rng(SEED).integers(0, len(values), (resamples, len(values)))
    low, high = numpy.quantile(values[drawn].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(values.mean()), float(low), float(high)


def paired(ours, theirs):
    """Of ours - theirs, seed by seed: (mean, low, high)."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} values against {len(theirs)}: not paired")
    return bootstrap(numpy.subtract(ours, theirs))


def change(ours, theirs):
    """Of ours / theirs - 1, seed by seed: (mean, low, high); -0.8 is four fifths saved."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} values against {len(theirs)}: not paired")
    return bootstrap(numpy.divide(ours, theirs) - 1)


def median(values):
    return float(numpy.median(values))
