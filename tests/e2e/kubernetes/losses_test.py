"""A Kubernetes pool of winnow-server, of which parts are taken away. The control plane is real; nodes are stand-ins for
kubelets, which run the pods' workers as processes of this machine."""

import os
import sys
import unittest

import control_plane
import processes
from pod_server import Site
from processes import wait_until
from proxy import Proxy


class KubernetesLosses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = control_plane.start_for(cls)
        cls.proxy = Proxy(cls.plane.port, cls.plane.path("certs/apiserver.crt"))
        cls.addClassCleanup(cls.proxy.close)
        cls.site = Site(cls.plane, cls.plane.write_kubeconfig("proxied", {"token": cls.plane.token}, server=cls.proxy.url))
        cls.site.__enter__()
        cls.addClassCleanup(cls.site.__exit__, None)

    def begin(self, name):
        """Submits a job; it trains when this returns, until `end`."""
        self.site.submit_held(name, 3)
        wait_until(lambda: self.site.client.json("metrics", name).get("points"), "it trains")

    def end(self, name):
        self.site.open_gate()
        self.addCleanup(os.remove, self.site.gate)
        self.site.wait_for_end(name)
        self.site.expect_exact(self, name)
        self.site.wait_for_nothing()

    def reasons(self):
        return " ".join(each.get("reason", "") for each in self.site.allocations())

    def a_pod(self):
        """A pod in which a worker runs."""
        return wait_until(lambda: next((pod for pod in self.plane.pods() if pod["status"].get("phase") == "Running"), None),
                          "a pod runs")

    def test_a_pod_is_deleted_while_watches_are_dropped(self):
        self.begin("deleted")
        pod = self.a_pod()["metadata"]["name"]
        self.assertGreater(self.proxy.cut_watches(), 0)
        self.plane.api.delete(f"/api/v1/namespaces/default/pods/{pod}")
        self.end("deleted")

    def test_a_node_is_lost(self):
        self.begin("lost")
        node = self.a_pod()["spec"]["nodeName"]
        self.plane.lose_node(node)
        self.addCleanup(self.plane.wait_for_nodes)
        self.addCleanup(self.plane.add_node, node)
        self.end("lost")

    def test_the_api_server_is_killed_and_started_again(self):
        self.begin("restarted")
        self.plane.kill_api()
        wait_until(lambda: "could not be asked" in self.site.state().get("state_reason", ""), "the pool has noticed it")
        self.plane.start_api()
        self.end("restarted")

    def test_requests_are_too_many(self):
        refused = []

        def too_many(method, path):
            if method != "POST" or not path.endswith("/jobs") or len(refused) == 2:
                return None
            refused.append(path)
            return 429, "TooManyRequests", "too many requests", {"Retry-After": "1"}
        self.proxy.rules = too_many
        self.addCleanup(setattr, self.proxy, "rules", lambda method, path: None)
        self.site.submit("later", 1)
        self.end("later")
        self.assertEqual(len(refused), 2)

    def test_admission_is_refused_and_the_job_that_waits_says_so(self):
        quotas = "/api/v1/namespaces/default/resourcequotas"
        hard = {"count/jobs.batch": "0"}
        quota = self.plane.api.call("POST", quotas, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
                                                     "spec": {"hard": hard}})
        quota["status"] = {"hard": hard, "used": hard}  # no controller counts it here
        self.plane.api.call("PUT", f"{quotas}/none/status", quota)
        self.addCleanup(self.plane.api.delete, f"{quotas}/none")
        self.site.submit("refused", 1)
        wait_until(lambda: "quota" in self.site.client.json("describe", "refused").get("state_reason", ""),
                   "the job says what the engine says")
        self.plane.api.delete(f"{quotas}/none")
        self.end("refused")


if __name__ == "__main__":
    if control_plane.why_not():
        print(f"skipped: {control_plane.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
