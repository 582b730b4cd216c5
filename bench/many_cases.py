"""A trainer beside a peer in many cases, most of which change one thing (bench/gbdt/hyperparameters.py and
bench/mlp/hyperparameters.py)."""

import pathlib
import statistics
import sys
import tempfile


def compare(cases, only, repeats, peer, times_of):
    """Prints a line for each case whose name contains one of `only`, parts that commas separate: the least milliseconds of
    both over the repeats, which take turns, and the ratio. times_of(case, folder): two functions without arguments that
    return milliseconds, ours and the peer's; a RuntimeError leaves the case out."""
    ratios = {}
    for case in cases:
        if not any(part in case.name for part in only.split(",")):
            continue
        with tempfile.TemporaryDirectory(prefix="winnow-bench-") as folder:
            ours, theirs = times_of(case, pathlib.Path(folder))
            try:
                pairs = [(ours(), theirs()) for _ in range(repeats)]
            except RuntimeError as error:
                print(f"{case.name:42} left out: {str(error).splitlines()[0]}", flush=True)
                continue
        mine, other = map(min, zip(*pairs))
        ratios[case.name] = other / mine
        print(f"{case.name:42} {mine:8.2f} {other:8.2f} {other / mine:6.2f}", flush=True)
    if not ratios:
        sys.exit(f"--only {only}: no case was measured whose name contains one of these")
    print(f"geometric mean of {len(ratios)} cases: {statistics.geometric_mean(ratios.values()):.2f}")
    for name, ratio in sorted(ratios.items(), key=lambda item: item[1]):
        if ratio < 1:
            print(f"{peer} is faster: {name}, {ratio:.2f}")
