"""A stand-in for Kueue, for tests, and the field `suspend` of Jobs, which API servers have since 1.21, for one that is older.

What a suspended Job is to Kubernetes, one without parallelism is to an older server: its controller makes no pods, and removes
those that are there. So the proxy stores a Job that is to be suspended without its parallelism, which it keeps in an
annotation, and tells its clients that the Job is suspended."""

import threading

from proxy import Proxy

QUEUE = "kueue.x-k8s.io/queue-name"
KEPT = "winnow.test/parallelism"


class SuspendingProxy(Proxy):
    """For Jobs that its clients create suspended."""

    def sent(self, item):
        if item.get("kind") == "Job" and item["spec"].pop("suspend", False):
            item["metadata"].setdefault("annotations", {})[KEPT] = str(item["spec"]["parallelism"])
            item["spec"]["parallelism"] = 0
        return item

    def told(self, item):
        kept = item.get("metadata", {}).get("annotations", {}).get(KEPT)
        if kept is not None:
            item["spec"].update(suspend=True, parallelism=int(kept))
        return item


class Kueue:
    """Use it in `with`: it admits the Jobs of a queue, one after another, as long as it is `open`."""

    def __init__(self, plane, queue):
        self.plane, self.queue, self.open = plane, queue, False
        self.ending, self.thread = threading.Event(), threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def jobs(self):
        return [job for job in self.plane.jobs().values() if job["metadata"]["labels"].get(QUEUE) == self.queue]

    def change(self, job, kept, parallelism):
        self.plane.api.merge(f"/apis/batch/v1/namespaces/default/jobs/{job['metadata']['name']}",
                             {"metadata": {"annotations": {KEPT: kept}}, "spec": {"parallelism": parallelism}})

    def run(self):
        while not self.ending.wait(0.1):
            for job in self.jobs() if self.open else []:
                kept = job["metadata"].get("annotations", {}).get(KEPT)
                if kept is not None:
                    self.change(job, None, int(kept))

    def evict(self):
        """Suspends the Jobs that are admitted, and admits none until it is `open` again."""
        self.open = False
        for job in self.jobs():
            if KEPT not in job["metadata"].get("annotations", {}):
                self.change(job, str(job["spec"]["parallelism"]), 0)
