"""The page: every number of it comes from the JSON beside it."""

import data
import machine
import page_published
import page_tuned
import pictures
import verdicts

COMMAND = "bench/headline/run.py --bin build/bin"
SECTIONS = [
    ("published", "What was published, reproduced", page_published.published),
    ("identity", "Convergence kept by construction", page_published.identity),
    ("tuned", "Tuned on clusters of 3 nodes", page_tuned.tuned_section),
    ("others", "Other optimisers with the same budget", page_tuned.others_section),
    ("sizes", "The size of the cluster", page_tuned.sizes_section),
]
DRAWN = {"published": {"curves": pictures.curves, "mnist": pictures.mnist},
         "tuned": {"savings": pictures.savings, "test-auc": pictures.test_differences},
         "others": {"others": pictures.peers}, "sizes": {"sizes": pictures.sizes}}
INTRODUCTION = [
    "# Results: a published tuning experiment, and what Winnow makes of it", "",
    "A post of 2023 about a managed tuning service trained two models on one and on several nodes, saw distribution",
    "break their convergence, and repaired it by tuning with Hyperband. This page has that experiment as described,",
    "run on one machine through a real winnow-server with workers and trial clusters, and what Winnow does instead. One",
    "command makes it:", "",
    "```\nscripts/headline.sh    # installs, builds, gets the published data, and runs bench/headline/run.py\n```", "",
    "`--only PART` repeats one part; [results.json](results.json) has the data behind each number."]


def _made(parts):
    """A line a part: command, time, machine."""
    lines = ["", "## How it was made", ""]
    for name, part in parts.items():
        rows = f", rows repeated {part['repetition']} times with weight {data.COPIES / part['repetition']:g}"
        lines.append(f"- `--only {name}`: {part['seconds']:.0f} s on {part['date']}{rows}; load average before "
                     f"{part['machine']['load_before']}. {machine.words(part)}.")
    return [*lines, "",
            f"{sum(part['seconds'] for part in parts.values()) / 60:.0f} minutes in all. The post repeats every row "
            f"{data.COPIES} times; fewer copies with more weight give the same sums and the same AUC, and only "
            "shorten a round."]


def _short(parts):
    """What fell short, of what was run."""
    lines = ["", "## Limitations", ""]
    if "tuned" in parts:
        rows = parts["tuned"]["result"]["rows"]
        words = {"cost": "node-seconds -80 %", "elapsed": "elapsed -65 %", "test": "a test AUC that is not lower"}
        for kind in (page_tuned.jobs.DEFAULT, page_tuned.jobs.HYPERBAND):
            missed = [f"{words[goal]} ({verdict})"
                      for goal, verdict in verdicts.goals(verdicts.against_run_through(rows, kind)).items()
                      if verdict != verdicts.REACHED]
            if missed:
                lines.append(f"- {page_tuned.TITLES[kind]}: {'; '.join(missed)}.")
        # Half of the wider interval.
        half = max(abs(end - mean) for kind in (page_tuned.jobs.DEFAULT, page_tuned.jobs.HYPERBAND)
                   for mean, *ends in [verdicts.against_run_through(rows, kind)["test"]] for end in ends)
        lines.append(f"- With this number of seeds, differences in test AUC below about {half:.3f} cannot be "
                     "distinguished; an interval that contains 0 does not mean that the AUCs are equal. More seeds would not "
                     "help: every search chooses by the same "
                     f"{page_published.VALIDATION_POSITIVES} positive validation rows, whose AUC has a standard error of "
                     f"{page_published.VALIDATION_ERROR}, many times the differences between searches. An "
                     "advantage on these rows need not appear on the test rows.")
    return [*lines,
            "- The post's container had an XGBoost older than 1.7.4, which was not run.",
            "- One machine: nodes are processes that share its processors and memory, so several nodes are slower here "
            "than they would be as machines, and there is no network between them.",
            "- The test rows are the last tenth of one shuffle; seeds change searches and models, not that."]


def write(out, parts):
    """Page and pictures of the parts that there are."""
    parts = {name: parts[name] for name, *_ in SECTIONS if name in parts}
    lines = list(INTRODUCTION)
    quick = [name for name, part in parts.items() if part["quick"]]
    if quick:
        lines += ["", f"**Made with `--quick` ({', '.join(quick)}): it shows that the program works, and measures "
                      "nothing.**"]
    for name, title, section in SECTIONS:
        lines += ["", f"## {title}", ""]
        if name not in parts:
            lines.append(f"Not run: `{COMMAND} --only {name}`.")
            continue
        result = parts[name]["result"]
        drawn = {picture: f"images/{draw(result, out.parent / 'images')}"
                 for picture, draw in DRAWN.get(name, {}).items()}
        lines += [f"`{COMMAND} --only {name}`", "", *section(result, drawn)]
    lines += [*_made(parts), *_short(parts)]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")
