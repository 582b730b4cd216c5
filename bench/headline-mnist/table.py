"""The results as text, line by line as they come, and as Markdown."""

import statistics

MODE, ACCURACY = "mode", "test accuracy, each seed"
COLUMNS = [MODE, "workers", ACCURACY, "s", "CPU s", "staleness mean / most", "MB sent", "on the wire",
           "one worker's model"]
LEFT = {MODE: 40, ACCURACY: len("diverges diverges diverges")}  # widths of what stands at the left of its column
LEAST = 6
MEGA = 1e6


def accuracy_word(row):
    if "accuracy" in row:
        return f"{row['accuracy']:.4f}"
    return "diverges" if "diverged" in row else "failed"


def staleness(rows):
    """Mean over epochs, all of which have as many updates, and the largest; of all seeds. None: not asynchronous."""
    epochs = [epoch for row in rows for epoch in row["epochs"] if "staleness-mean" in epoch]
    if not epochs:
        return None
    return (statistics.fmean(epoch["staleness-mean"] for epoch in epochs),
            max(epoch["staleness-max"] for epoch in epochs))


def same_model(rows, one_worker):
    """Whether each seed's weights are one worker's with that seed."""
    return bool(one_worker) and all("model" in row and row["model"] == one.get("model")
                                    for row, one in zip(rows, one_worker))


def cells(case, rows, one_worker, counts_wire):
    """Seconds and bytes: the median of the seeds that came to an end."""
    ended = [row for row in rows if "accuracy" in row]

    def median(name, of=ended):
        return statistics.median(row[name] for row in of) if of else None

    def shown(value, text):
        return "-" if value is None else text.format(value)

    stale, sent = staleness(rows), median("sent")
    wire = median("wire") if counts_wire else None
    same = "-"
    if one_worker and case.ranks > 1 and ended:
        same = "yes" if same_model(rows, one_worker) else "no"
    return [case.full_title, str(case.ranks), " ".join(map(accuracy_word, rows)), shown(median("seconds"), "{:.1f}"),
            shown(median("cpu"), "{:.1f}"), "-" if stale is None else f"{stale[0]:.2f} / {stale[1]:.0f}",
            "-" if sent is None else f"{sent / MEGA:.0f}", "-" if wire is None else f"{wire / MEGA:.0f}", same]


def text_line(values, title=None):
    """`title`: another first cell."""
    words = []
    for name, value in zip(COLUMNS, [title or values[0], *values[1:]]):
        words.append(value.ljust(LEFT[name]) if name in LEFT else value.rjust(max(len(name), LEAST)))
    return "  ".join(words).rstrip()


def header_lines():
    names = text_line(COLUMNS)
    return f"{names}\n{'-' * len(names)}"


def markdown(lines):
    aligned = ["---" if name in LEFT else "---:" for name in COLUMNS]
    return "\n".join("| " + " | ".join(values) + " |" for values in [COLUMNS, aligned, *lines])


def reasons(case, rows):
    """Why runs have no accuracy, a line each."""
    return [f"{case.full_title}, seed {seed}: {row.get('diverged') or row['failed']}"
            for seed, row in enumerate(rows, 1) if "accuracy" not in row]
