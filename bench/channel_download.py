#!/usr/bin/env python3
"""What a channel costs that is downloaded: over HTTP and from an S3-compatible service, for thirty trials on two workers.

    python3 bench/channel_download.py --bin build/bin [--mib 1024] [--trials 30] [--files 1000] [--latency 0.02]

A server of this host has one file, and cuts three connections in the middle. Of each kind it prints how many bytes were sent,
relative to the size of the file (the limit is 1.0), where each connection began, and the time from the job's start until the
channel was there, beside the time of `curl` for the same file from the same server without cuts. Then a job names a wrong
SHA-256. The S3-compatible service checks signatures with botocore.

Last it downloads a prefix of --files objects of 20 kB from a service that answers after --latency seconds, beside `curl` for the
same objects, one after the other and eight at a time.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/e2e")]
import data_server  # noqa: E402  (the path must be set first)
import service  # noqa: E402

MIB = 1 << 20
KEY = data_server.Key("AKIDEXAMPLE", "a/secret+with=signs", "a token/with+signs==", "eu-test-1")
LOOK = 'set -e; test "$(stat -L -c %s "$SM_CHANNEL_TRAIN")" = {size}; date +%s.%N; echo "epoch 1: loss={{{{x}}}}"'


def spec(name, channel, trials, size):
    return {"name": name,
            "trainer": {"command": ["sh", "-c", LOOK.format(size=size)], "resumes": False, "resource_regex": "epoch ([0-9]+)",
                        "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}]},
            "channels": {"train": channel}, "parameters": [{"name": "x", "continuous": {"min": 0, "max": 1}}],
            "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM", "limits": {"max_trials": trials}}


def of_curl(url):
    begin = time.monotonic()
    subprocess.run(["curl", "--silent", "--fail", "--noproxy", "*", "--output", "/dev/null", url], check=True)
    return time.monotonic() - begin


def measure(running, kind, channel, server, path, options, size):
    server.answered.clear()
    server.cuts = [(path, at) for at in (size // 5 + 7, size // 2 + 1, size - 3)]
    begin = time.time()
    job = running.run(spec(kind, channel, options.trials, size))
    first = min(float(running.winnow("logs", job["id"], trial["number"]).split()[0]) for trial in running.trials(job["id"]))
    begins = [each.begin for each in server.sent(path)]
    sent = server.bytes_sent(path)
    print(f"{kind}: {job['trial_counts']['completed']} trials, {sent:,} bytes sent for a file of {size:,} ({sent / size:.6f}); "
          f"connections began at {begins}; channel there after {first - begin:.1f} s", flush=True)


class DistantServer(data_server.DataServer):
    """One that answers each request of a file after `latency` seconds."""

    def file(self, *arguments, **options):
        time.sleep(self.latency)
        return super().file(*arguments, **options)


def measure_many(running, options):
    objects = {f"set/{number % 10}/{number}.bin": os.urandom(20_000) for number in range(options.files)}
    with DistantServer(buckets={"bucket": objects}) as server, \
            tempfile.TemporaryDirectory(prefix="winnow-curl-") as folder:
        server.latency, server.listed = options.latency, 1000
        config = os.path.join(folder, "config")
        with open(config, "w", encoding="ascii") as file:
            for number, key in enumerate(objects):
                file.write(f'url = "{server.url}/bucket/{key}"\noutput = "{folder}/{number}"\n')
        times = {}
        for name, flags in (("one after the other", []), ("eight at a time", ["--parallel", "--parallel-max", "8"])):
            begin = time.monotonic()
            subprocess.run(["curl", "--silent", "--fail", "--noproxy", "*", *flags, "--config", config], check=True,
                           stderr=subprocess.DEVNULL)
            times[name] = time.monotonic() - begin
        begin = time.time()
        channel = {"path": "s3://bucket/set/", "endpoint": server.url}
        script = "date +%s.%N; ls -R $SM_CHANNEL_TRAIN | grep -c bin; echo 'epoch 1: loss={{x}}'"
        job = running.run(spec("many", channel, 1, 0) | {"trainer": {
            "command": ["sh", "-c", script], "resumes": False, "resource_regex": "epoch ([0-9]+)",
            "metrics": [{"name": "loss", "regex": "loss=([-+0-9.e]+)"}]}})
        there, count = running.winnow("logs", job["id"], "1").split()[:2]
        taken = float(there) - begin
        print(f"prefix of {count} objects of 20 kB, {options.latency * 1000:g} ms each: {taken:.1f} s; " +
              ", ".join(f"curl {name} {seconds:.1f} s ({taken / seconds:.2f})" for name, seconds in times.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.02)
    options = parser.parse_args()
    service.require_programs(options.bin)
    if data_server.botocore is None:
        sys.exit("needs python3-botocore, which checks signatures")
    content = os.urandom(MIB) * options.mib
    digest = hashlib.sha256(content).hexdigest()
    os.environ.update(AWS_ACCESS_KEY_ID=KEY.id, AWS_SECRET_ACCESS_KEY=KEY.secret, AWS_SESSION_TOKEN=KEY.token,
                      AWS_REGION=KEY.region)
    with tempfile.TemporaryDirectory(prefix="winnow-data-") as folder, \
            data_server.DataServer(files={"/train.bin": content}) as files, \
            data_server.DataServer(buckets={"bucket": {"train.bin": content}}, keys=[KEY]) as bucket, \
            service.Service(options.bin, folder, workers=2, slots=2) as running:
        print(f"curl: {of_curl(files.url + '/train.bin'):.1f} s", flush=True)
        measure(running, "http", {"path": files.url + "/train.bin", "sha256": digest}, files, "/train.bin", options, len(content))
        measure(running, "s3", {"path": "s3://bucket/train.bin", "endpoint": bucket.url}, bucket, "bucket/train.bin", options,
                len(content))
        wrong = running.run(spec("wrong", {"path": files.url + "/train.bin", "sha256": "0" * 64}, options.trials, len(content)),
                            failure_is_an_answer=True)
        print(f"wrong bytes: {wrong['state']}, {wrong['trial_counts'].get('failed', 0)} trials failed: {wrong['state_reason']}")
        measure_many(running, options)


if __name__ == "__main__":
    main()
