"""A server with a pool of a Kubernetes control plane of this machine, for tests, and jobs for it."""

import pool_server
from processes import wait_until

SOON_GIVEN_UP = [{"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
                 for taint in ("unreachable", "not-ready")]
# Prints the same values for a configuration wherever it runs, and saves what it has.
TRAINER = ('i=$(cat "$WINNOW_CHECKPOINT_DIR/i" 2>/dev/null || echo 1); while [ $i -le {levels} ]; do '
           'echo "epoch $i: loss=$(( ({{{{x}}}} * 37 + i) % 101 ))"; i=$((i+1)); sleep {pause}; done')


def job(name, trials, trainer=TRAINER):
    """Trials of one node and of three."""
    spec = pool_server.job(name, trials, trainer=trainer, cluster={"nodes_parameter": "nodes"})
    spec["parameters"].append({"name": "nodes", "discrete": {"values": [1, 3]}})
    return spec


class Site(pool_server.PoolServer):
    """A server with one pool, "pods", of a control plane. Use it in `with`."""

    def __init__(self, plane, kubeconfig=None, fault="", max_nodes=4, **kubernetes):
        self.plane = plane
        super().__init__({"name": "pods", "kind": "KUBERNETES", "idle_timeout_seconds": 1, "poll_seconds": 0.1,
                          "grace_seconds": 3, "max_nodes": max_nodes,
                          "kubernetes": {"kubeconfig": kubeconfig or plane.kubeconfig, "image": "winnow/worker",
                                         "tolerations": SOON_GIVEN_UP, "lost_pod_seconds": 1, **kubernetes}},
                         ["--require-tokens", "--lease", "2"], fault=fault)

    def submit(self, *arguments, **more):
        return super().submit(job(*arguments, **more))

    def submit_held(self, name, trials):
        """The same, but trials train one level, and the others once the gate is open."""
        return super().submit(job(name, trials, trainer=pool_server.held(self.gate, TRAINER)))

    def submit_single(self, name, trials, trainer=TRAINER, **more):
        """A job of trials of one node."""
        return super().submit(pool_server.job(name, trials, trainer=trainer, **more))

    def wait_for_nothing(self):
        """Nothing is left in the tables and in the cluster."""
        self.wait_until_given_back()
        left = lambda: [*self.plane.jobs(), *self.plane.secrets(), *self.plane.pods()]  # noqa: E731
        try:
            wait_until(lambda: not left(), "nothing is left")
        except AssertionError as error:
            raise AssertionError(f"{error}: {left()}") from None
