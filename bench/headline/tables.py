"""Numbers and tables as Markdown."""

import statistics


def table(header, rows):
    """Lines; the first column is text, the others are numbers."""
    aligned = ["---", *["---:"] * (len(header) - 1)]
    return ["| " + " | ".join(map(str, cells)) + " |" for cells in (header, aligned, *rows)]


def mean_range(values, digits=3):
    """"0.754 (0.744 to 0.761)"; of one value just that."""
    values = list(values)
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def with_interval(found, text="{:+.4f}"):
    """Of (mean, low, high); of a single seed, which has no interval, the mean."""
    mean, low, high = (text.format(value) for value in found)
    return mean if found[1] == found[2] else f"{mean} [{low}, {high}]"


def count(number, word):
    return f"{number} {word}{'' if number == 1 else 's'}"


def percent(found):
    """Of (mean, low, high), as parts of 1."""
    return with_interval([100 * value for value in found], "{:+.0f}") + " %"
