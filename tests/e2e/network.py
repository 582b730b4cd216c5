"""Hosts as network namespaces on one bridge, with addresses of their own, and harm to what goes between them.

The bridge is in a namespace too, so that nothing of this machine's own network changes. Needs root, `ip` and `nft`.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys

SUBNET = "10.77.0"


def why_not():
    """What is missing to make hosts here; "": nothing."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "nft"):
        if not shutil.which(program):
            return f"{program} is not installed"
    probe = f"winnow-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"no network namespace can be made: {made.stderr.strip()}"
    table = subprocess.run(["ip", "netns", "exec", probe, "nft", "add", "table", "inet", "probe"], capture_output=True,
                           text=True, check=False)
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return "" if table.returncode == 0 else f"nft cannot be used: {table.stderr.strip()}"


def run(*arguments, text=None):
    done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(arguments)}: {done.stderr.strip()}")


class Host:
    """A network namespace with one address; what is started with `prefix` runs on it."""

    def __init__(self, network, number, name):
        self.network, self.name = network, name
        self.namespace, self.port = f"{network.tag}-{name}", f"v{number}"  # the port is the bridge's end
        self.address = f"{SUBNET}.{number}"
        # "ip netns exec" would hide the control groups too.
        self.prefix = ["nsenter", f"--net=/run/netns/{self.namespace}"]
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "add", "eth0", "netns", self.namespace, "type", "veth", "peer", "name", self.port, "netns",
            network.hub)
        run("ip", "-n", self.namespace, "link", "set", "lo", "up")
        run("ip", "-n", self.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
        run("ip", "-n", self.namespace, "link", "set", "eth0", "up")
        run("ip", "-n", network.hub, "link", "set", self.port, "master", "bridge")
        run("ip", "-n", network.hub, "link", "set", self.port, "up")

    def cut(self):
        """As if its cable were pulled."""
        run("ip", "-n", self.network.hub, "link", "set", self.port, "down")

    def mend(self):
        """The cable is in again, and nothing is dropped."""
        run("ip", "-n", self.network.hub, "link", "set", self.port, "up")
        subprocess.run([*self.prefix, "nft", "delete", "table", "inet", "harm"], capture_output=True, check=False)

    def harm(self, *rules):
        """nftables rules for what comes in and goes out, such as "input ip saddr 10.77.0.2 drop"."""
        lines = ["table inet harm {}", "delete table inet harm", "add table inet harm"]
        lines += [f"add chain inet harm {chain} {{ type filter hook {chain} priority 0; }}"
                  for chain in ("input", "output")]
        lines += [f"add rule inet harm {rule}" for rule in rules]
        run(*self.prefix, "nft", "-f", "-", text="\n".join(lines) + "\n")

    def deafen(self, other):
        """What `other` sends does not arrive; the way there stays open."""
        self.harm(f"input ip saddr {other.address} drop")

    def lose(self, percent):
        """That part of its packets, in and out, is lost."""
        self.harm(*(f"{chain} meta oifname != lo numgen random mod 100 < {percent} drop" if chain == "output" else
                    f"{chain} meta iifname != lo numgen random mod 100 < {percent} drop" for chain in ("input", "output")))

    def reset(self, other):
        """Every connection with `other` is reset at its next packet, and so are new ones."""
        self.harm("output tcp flags & rst == rst accept", "input tcp flags & rst == rst accept",
                  f"output ip daddr {other.address} meta l4proto tcp reject with tcp reset",
                  f"input ip saddr {other.address} meta l4proto tcp reject with tcp reset")


class Network:
    """Use it in `with`; namespaces go at the end, however it comes."""

    def __init__(self, names):
        self.tag = f"winnow{os.getpid()}"
        self.hub = f"{self.tag}-hub"
        self.names, self.hosts = list(names), {}

    def __enter__(self):
        atexit.register(self.remove)
        self.handlers = {number: signal.signal(number, lambda *_: sys.exit(1))
                         for number in (signal.SIGTERM, signal.SIGHUP)}
        run("ip", "netns", "add", self.hub)
        run("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.hub, "link", "set", "bridge", "up")
        for number, name in enumerate(self.names, start=1):
            self.hosts[name] = Host(self, number, name)
        return self

    def __getitem__(self, name):
        return self.hosts[name]

    def remove(self):
        for namespace in [*(f"{self.tag}-{name}" for name in self.names), self.hub]:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def __exit__(self, *_):
        self.remove()
        atexit.unregister(self.remove)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
