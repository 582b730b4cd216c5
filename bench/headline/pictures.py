"""The page's pictures, as SVG: the same bytes for the same results."""

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "winnow", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "figure.constrained_layout.use": True})

import matplotlib.pyplot as plt  # noqa: E402

import data  # noqa: E402
import jobs  # noqa: E402
import verdicts  # noqa: E402

GREY, BLUE, ORANGE, GREEN, RED = "#888888", "#1f5fa8", "#d9822b", "#2e8b57", "#b03a3a"


def _save(figure, folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"results-{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"results-{name}.svg"


def curves(part, folder):
    """Over-fitting after the peak, and what a shard by date does."""
    of = part["splits"][data.BLOG]
    xgboost, winnow = of["xgboost"]["curves"], of["winnow"]["curves"]
    figure, axes = plt.subplots(figsize=(7, 3.8))
    drawn = [("XGBoost, 1 node: training", xgboost["one node"]["train"], GREY),
             ("XGBoost, 1 node", xgboost["one node"]["validation"], BLUE),
             ("XGBoost, 3 nodes", xgboost[f"three nodes, {data.SHUFFLED}"]["validation"], ORANGE),
             ("Winnow, 3 nodes", winnow["three nodes, shuffled copies"]["validation"], GREEN),
             ("XGBoost, first third by date alone", xgboost[f"one shard, {data.BY_DATE}"]["validation"], RED)]
    for title, values, colour in drawn:
        axes.plot(range(1, len(values) + 1), values, color=colour, label=title)
    for published, text in ((0.78, "published, 1 node"), (0.63, "published, 3 nodes")):
        axes.axhline(published, color="black", linewidth=0.7, linestyle=":")
        axes.annotate(text, (part["rounds"], published), xytext=(0, 2), textcoords="offset points", fontsize=8,
                      ha="right")
    axes.set(xlabel="round", ylabel="AUC (validation unless said)")
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 0.08))
    return _save(figure, folder, "curves")


def mnist(part, folder):
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for rows, colour in zip(part["mnist"]["rows"].values(), (BLUE, RED, GREEN, ORANGE)):
        for number, row in enumerate(rows):
            title = f"{row['title']}, {row['ranks']} node{'s' * (row['ranks'] > 1)}"
            axes.plot(range(1, len(row["curve"]) + 1), row["curve"], color=colour, alpha=0.8, marker=".",
                      label=title if number == 0 else None)
    axes.set(xlabel="epoch", ylabel="accuracy on the test images", ylim=(0, 1))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, fontsize=8, loc="center right")
    return _save(figure, folder, "mnist")


def savings(part, folder):
    """Each seed's change against the run-through job, the mean, what was published and what was wanted."""
    rows, figure = part["rows"], plt.figure(figsize=(7, 2.6))
    for place, (title, name, published, goal) in enumerate((
            ("node-seconds billed", "node_seconds", verdicts.PUBLISHED_COST, verdicts.COST_GOAL),
            ("elapsed time", "elapsed", verdicts.PUBLISHED_ELAPSED, verdicts.ELAPSED_GOAL)), 1):
        axes = figure.add_subplot(1, 2, place)
        for height, (kind, colour) in enumerate(((jobs.DEFAULT, GREEN), (jobs.HYPERBAND, BLUE))):
            values = [100 * (ours[name] / theirs[name] - 1) for ours, theirs in zip(rows[kind], rows[jobs.THROUGH])]
            axes.barh(height, sum(values) / len(values), color=colour, alpha=0.35, height=0.6)
            axes.plot(values, [height] * len(values), ".", color=colour)
        for value, style, text, side in ((published, ":", " published", "left"), (goal, "--", "wanted ", "right")):
            axes.axvline(100 * value, color="black", linewidth=0.8, linestyle=style)
            axes.annotate(text, (100 * value, 1.45), fontsize=8, ha=side)
        axes.set(xlim=(-100, 0), ylim=(-0.5, 1.7), title=title, xlabel="% of the run-through job's")
        axes.set_yticks([0, 1], ["Winnow's default", "Hyperband"] if place == 1 else ["", ""])
    return _save(figure, folder, "savings")


def test_differences(part, folder):
    figure, axes = plt.subplots(figsize=(7, 2))
    for height, (kind, colour) in enumerate(((jobs.DEFAULT, GREEN), (jobs.HYPERBAND, BLUE))):
        differences = [ours["test"] - theirs["test"]
                       for ours, theirs in zip(part["rows"][kind], part["rows"][jobs.THROUGH])]
        axes.plot(differences, [height + 0.18] * len(differences), ".", color=colour, alpha=0.5)
        mean, low, high = verdicts.against_run_through(part["rows"], kind)["test"]
        axes.plot([low, high], [height, height], color=colour, linewidth=3)
        axes.plot(mean, height, "o", color=colour)
    axes.axvline(0, color="black", linewidth=0.7)
    axes.set(xlabel="test AUC minus the run-through search's: each seed, mean and 95 % interval", ylim=(-0.5, 1.6))
    axes.set_yticks([0, 1], ["Winnow's default", "Hyperband"])
    return _save(figure, folder, "test-auc")


def sizes(part, folder):
    rows, figure = part["trainings"]["rows"], plt.figure(figsize=(7, 2.6))
    nodes = [int(row["nodes"]) for row in rows]
    for place, (name, title) in enumerate((("elapsed_seconds", "elapsed, s"), ("node_seconds", "node-seconds")), 1):
        axes = figure.add_subplot(1, 2, place)
        axes.bar(nodes, [row[name] for row in rows], color=[GREEN if row["pareto"] else GREY for row in rows])
        axes.set(xlabel="nodes", title=f"a training: {title}", xticks=nodes)
    return _save(figure, folder, "sizes")


def peers(part, folder):
    """Each seed's test AUC against elapsed time."""
    figure, axes = plt.subplots(figsize=(7, 3))
    for (name, rows), colour in zip(part["rows"].items(), (ORANGE, BLUE, GREEN)):
        title = "Optuna over XGBoost" if name == "optuna" else f"Winnow, {name}"
        axes.plot([row["elapsed"] for row in rows], [row["test"] for row in rows], "o", color=colour, alpha=0.7,
                  label=title)
    axes.set(xlabel="elapsed, s", ylabel="test AUC")
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize=8)
    return _save(figure, folder, "others")
