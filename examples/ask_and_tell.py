#!/usr/bin/env python3
"""Trains trials of a job: an example of an external trainer, which asks for configurations and tells values.

    winnow submit ask-and-tell.json
    python3 ask_and_tell.py ask-and-tell

Several may run at once, on any host that reaches the server. It uses the winnow program and its
JSON; the same calls (SuggestTrials, ReportMetrics, CompleteTrial of proto/winnow/v1/tuning.proto) can be made over gRPC
from any language.
"""

import argparse
import json
import subprocess

NO_MORE = 3  # exit code: the job has ended (ask), or the trial should not be trained further (tell)


class Winnow:
    def __init__(self, program, job):
        self.program, self.job = program, job

    def call(self, command, *arguments):
        """The exit code, 0 or NO_MORE, and the answer."""
        done = subprocess.run([self.program, command, self.job, *map(str, arguments), "--output", "json"],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode not in (0, NO_MORE):
            raise SystemExit(f"winnow {command} failed with exit code {done.returncode}")
        return done.returncode, json.loads(done.stdout)


def descend(state, learning_rate, momentum):
    """One step of gradient descent on x^2 + 3 (y - 1)^2: the new state and its loss."""
    x, y, vx, vy = state
    vx, vy = momentum * vx - learning_rate * 2 * x, momentum * vy - learning_rate * 6 * (y - 1)
    x, y = x + vx, y + vy
    return (x, y, vx, vy), x * x + 3 * (y - 1) ** 2


def train(winnow, trial, checkpoints):
    number, attempt = trial["trial"], trial["attempt"]
    level, last = trial["resource_from"], trial["resource_to"]
    state = checkpoints.get((number, level), (4.0, -2.0, 0.0, 0.0))
    if level > 0 and (number, level) not in checkpoints:
        level = 0  # another client trained it so far: begin again; a level that is told again does not count again
    for level in range(level + 1, last + 1):
        state, loss = descend(state, **trial["configuration"])
        code, answer = winnow.call("tell", number, attempt, "--metric", f"loss={loss!r}", "--resource", level)
        if code == NO_MORE:
            print(f"trial {number} stops at {level}: {answer['reason']}", flush=True)
            return
    checkpoints[number, last] = state
    _, answer = winnow.call("complete", number, attempt)
    print(f"trial {number} is trained to {last} and {answer['trial']['state']}", flush=True)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("job", help="id of a job with an external trainer, or latest")
    flags.add_argument("--winnow", default="winnow", help="the winnow program")
    options = flags.parse_args()
    winnow, checkpoints = Winnow(options.winnow, options.job), {}
    while True:
        code, answer = winnow.call("ask", "--wait", "30")
        if code == NO_MORE:
            break
        for trial in answer["trials"]:
            train(winnow, trial, checkpoints)
    print(f"the job has ended: {answer['job_state']}")


if __name__ == "__main__":
    main()
