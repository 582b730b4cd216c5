#!/usr/bin/env python3
"""Workers on a Grid Engine: the three programs of a pool of the kind COMMAND (docs/pools.md).

    "command": {"submit": ["/opt/winnow/grid-engine.py", "submit", "--pe", "winnow", "--", "-q", "all.q"],
                "list": ["/opt/winnow/grid-engine.py", "list"], "cancel": ["/opt/winnow/grid-engine.py", "cancel"],
                "shared_dir": "/shared/winnow"}

--pe names a parallel environment with `control_slaves TRUE`, whose `allocation_rule` gives each host as many slots as the
pool's `worker.cpus`. What follows -- goes to qsub. The hosts of the queue need this file under the same path, and the
submitting host is a submit host. One job an allocation, with its name; on each of its nodes runs ALLOCATION_SCRIPT.
"""

import argparse
import getpass
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree

NOT_KNOWN, LIMIT_REACHED = 75, 76  # exit codes, see docs/pools.md
AGAIN = 25  # of qsub: a limit on jobs was reached


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    words = (done.stderr or done.stdout).strip()
    if done.returncode == AGAIN:
        print(words, file=sys.stderr)
        sys.exit(LIMIT_REACHED)
    if done.returncode != 0:
        print(words, file=sys.stderr)
        sys.exit(NOT_KNOWN if "unable to contact qmaster" in words or "commlib error" in words else 1)
    return done.stdout


def submit(pe, options):
    this = os.path.abspath(__file__)
    cpus = max(1, round(float(os.environ["ALLOCATION_CPUS"])))
    variables = {"WINNOW_NODE_SCRIPT": os.environ["ALLOCATION_SCRIPT"], "WINNOW_NODE_CPUS": str(cpus)}
    # -notify: before it is killed, a job gets SIGUSR2, and then the queue's time `notify` to leave.
    command = ["qsub", "-terse", "-notify", "-r", "no", "-S", "/bin/sh", "-b", "y", "-j", "yes",
               "-N", os.environ["ALLOCATION_NAME"], "-o", os.environ["ALLOCATION_OUTPUT"],
               "-pe", pe, str(int(os.environ["ALLOCATION_NODES"]) * cpus),
               "-v", ",".join(f"{name}={value}" for name, value in variables.items())]
    if int(os.environ["ALLOCATION_SECONDS"]) > 0:
        command += ["-l", f"h_rt={os.environ['ALLOCATION_SECONDS']}"]
    print(run(*command, *options, sys.executable, this, "nodes").strip())


def nodes():
    """In the job, on its first host: starts the worker of each node and waits for all."""
    # Grid Engine signals each process of the job. Workers are asked to leave by SIGTERM instead, once.
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    number, children = 0, []
    with open(os.environ["PE_HOSTFILE"], encoding="ascii") as file:
        for line in file:
            host, slots = line.split()[:2]
            for _ in range(int(slots) // int(os.environ["WINNOW_NODE_CPUS"])):
                children.append(subprocess.Popen(["qrsh", "-inherit", "-nostdin", host, sys.executable, os.path.abspath(__file__),
                                                  "node", os.environ["WINNOW_NODE_SCRIPT"], str(number)]))
                number += 1
    sys.exit(max(child.wait() for child in children))


def node(script, number):
    """On a node: runs its worker, in a process group of its own."""
    child = None

    def leave(*_):
        if child is not None:
            os.killpg(child.pid, signal.SIGTERM)
    for each in (signal.SIGUSR2, signal.SIGTERM):
        signal.signal(each, leave)
    child = subprocess.Popen(["sh", script, number], stdin=subprocess.DEVNULL, start_new_session=True)
    sys.exit(max(0, child.wait()))


def known_jobs():
    """(name, id) -> (state, queue) of this user's jobs, also of those that have ended, as far as they are remembered."""
    text = run("qstat", "-s", "prsz", "-r", "-xml", "-u", getpass.getuser())
    jobs = {}
    for job in xml.etree.ElementTree.fromstring(text).iter("job_list"):
        name = job.findtext("full_job_name") or job.findtext("JB_name")
        jobs[name, job.findtext("JB_job_number")] = job.findtext("state"), job.findtext("queue_name") or ""
    return jobs


def of_pairs(pairs):
    """The known jobs of the allocations that are given as name, id, name, id, ... Without an id the name says which."""
    wanted = dict(zip(pairs[::2], pairs[1::2]))
    return {key: value for key, value in known_jobs().items() if key[0] in wanted and wanted[key[0]] in ("", key[1])}


def list_all(pairs):
    for (name, number), (state, queue) in of_pairs(pairs).items():
        if state == "z":
            print(name, number, "ENDED", "its workers have left, or were removed", sep="\t")
        elif "E" in state:
            reason = next((line for line in run("qstat", "-j", number).splitlines() if line.startswith("error reason")), "")
            # It would wait for an administrator for ever.
            deleted = subprocess.run(["qdel", number], capture_output=True, check=False).returncode == 0
            print(name, number, "ENDED" if deleted else "QUEUED", f"{state}: Grid Engine could not start it. {reason}", sep="\t")
        elif "q" in state:
            print(name, number, "QUEUED", state, sep="\t")
        else:
            print(name, number, "RUNNING", "" if state == "r" else state, queue.rpartition("@")[2], sep="\t")


def cancel(pairs):
    for (_, number), (state, _) in of_pairs(pairs).items():
        if state != "z":
            run("qdel", number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    submits = actions.add_parser("submit")
    submits.add_argument("--pe", required=True)
    submits.add_argument("options", nargs="*")
    actions.add_parser("nodes")
    one = actions.add_parser("node")
    one.add_argument("script")
    one.add_argument("number")
    for name in ("list", "cancel"):
        actions.add_parser(name).add_argument("pairs", nargs="*")
    given = parser.parse_args()
    if given.action == "submit":
        submit(given.pe, given.options)
    elif given.action == "nodes":
        nodes()
    elif given.action == "node":
        node(given.script, given.number)
    else:
        {"list": list_all, "cancel": cancel}[given.action](given.pairs)


if __name__ == "__main__":
    main()
