"""DEHB, asked and told, on the unit cube, as it searches itself. A configuration that is asked for again at a higher
fidelity goes on from where it was."""

import tempfile

from loguru import logger

logger.remove()

import dehb  # noqa: E402

from trajectory import REDUCTION_FACTOR


def run(_strategy, family, seed, meter):
    with tempfile.TemporaryDirectory() as folder:
        search = dehb.DEHB(dimensions=len(family.parameters), configspace=False, min_fidelity=1,
                           max_fidelity=family.max_resource, eta=REDUCTION_FACTOR, n_workers=1, seed=seed,
                           save_freq="end", output_path=folder, log_level="CRITICAL")
        known = {}  # point -> what is trained, and what was observed at levels 1, 2, ...
        while True:
            job = search.ask()
            point, level = tuple(job["config"]), round(job["fidelity"])
            if point not in known:
                known[point] = meter.start_at(point), []
            trained, observed = known[point]
            while trained.level < level:
                observed.append(trained.advance())
            search.tell(job, {"fitness": -observed[level - 1], "cost": level})
