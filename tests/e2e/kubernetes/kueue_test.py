"""A Kubernetes pool of winnow-server whose Jobs wait in a queue of Kueue. The control plane is real; nodes are stand-ins for
kubelets, which run the pods' workers as processes of this machine, and Kueue is a stand-in too (kueue.py)."""

import sys
import unittest

import control_plane
import pool_server
import processes
from kueue import QUEUE, Kueue, SuspendingProxy
from pod_server import Site
from processes import wait_until

WAITS = "it waits in Kueue's queue team-a"


class KubernetesKueue(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = control_plane.start_for(cls)
        cls.proxy = SuspendingProxy(cls.plane.port, cls.plane.path("certs/apiserver.crt"))
        cls.addClassCleanup(cls.proxy.close)
        cls.kubeconfig = cls.plane.write_kubeconfig("proxied", {"token": cls.plane.token}, server=cls.proxy.url)

    def test_a_job_waits_until_kueue_admits_it_and_again_when_it_was_evicted(self):
        with Kueue(self.plane, "team-a") as kueue, Site(self.plane, self.kubeconfig, max_nodes=1, queue="team-a") as site:
            name = site.submit_single("queued", 3, pool_server.held(site.gate))
            wait_until(lambda: WAITS in site.client.json("describe", name).get("state_reason", ""),
                       "the job that waits says in which queue")
            [allocation] = site.open()
            self.assertEqual((allocation["state"], self.plane.pods()), ("QUEUED", []))
            self.assertEqual(self.plane.jobs()[allocation["name"]]["metadata"]["labels"][QUEUE], "team-a")
            kueue.open = True
            wait_until(lambda: site.client.json("metrics", name).get("points"), "it trains")
            kueue.evict()
            wait_until(lambda: any(WAITS in each.get("reason", "") for each in site.open()), "it waits again")
            kueue.open = True
            site.open_gate()
            site.wait_for_end(name)
            site.expect_exact(self, name)
            site.wait_for_nothing()


if __name__ == "__main__":
    if control_plane.why_not():
        print(f"skipped: {control_plane.why_not()}")
        sys.exit(processes.SKIPPED)
    processes.main()
