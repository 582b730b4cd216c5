"""What the endpoint for SageMaker's clients costs.

A file of 1 GiB through upload_file and download_file of boto3 with its default settings (parts of 8 MiB, ten threads), beside the same
calls to a static file server that is written with the same HTTP library; the goal is at least half its speed. Beside it, for
comparison, the same parts sent to that file server by plain HTTP, where the client computes no digests either. Then each page of 100 of
List with 10,000 jobs; the goal is at most 50 ms a page.

Usage: bench/sagemaker.py [MIB]; WINNOW_BIN_DIR names the programs.
"""

import concurrent.futures
import gc
import hashlib
import http.client
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/e2e"))
import processes  # noqa: E402
import sagemaker_clients  # noqa: E402

MIB = 1 << 20
PART, THREADS = 8 * MIB, 10
ROUNDS = 5
JOBS, PAGE = 10_000, 100


def digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(MIB):
            sha.update(part)
    return sha.hexdigest()


class FileServer:
    """A static file server in a new folder; it and its files are gone afterwards."""

    def __init__(self, folder):
        os.makedirs(folder)
        self.folder = folder
        self.process = subprocess.Popen([os.path.join(processes.BIN, "bench-file-server"), folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder)


def by_boto3(s3, source, back):
    """The seconds of sending and of fetching a file."""
    begin = time.monotonic()
    s3.upload_file(source, "bucket", "large")
    middle = time.monotonic()
    s3.download_file("bucket", "large", back)
    return [middle - begin, time.monotonic() - middle]


def by_plain_http(port, source, back):
    """The same by parts of the same size over as many connections, without a signature or a digest."""
    size = os.path.getsize(source)
    offsets = range(0, size, PART)
    connections = {}

    def call(method, name, body=None, headers=None):
        mine = threading.get_ident()
        if mine not in connections:
            connections[mine] = http.client.HTTPConnection("127.0.0.1", port)
        connections[mine].request(method, name, body, headers or {})
        answer = connections[mine].getresponse()
        content = answer.read()
        assert answer.status in (200, 206), answer.status
        return content

    def send(at):
        with open(source, "rb") as file:
            file.seek(at)
            call("PUT", f"/part-{at}", file.read(PART))

    with open(back, "wb") as result:
        def fetch(at):
            length = min(PART, size - at)
            os.pwrite(result.fileno(), call("GET", f"/part-{at}", headers={"Range": f"bytes=0-{length - 1}"}), at)

        times = []
        for work in (send, fetch):
            begin = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
                list(threads.map(work, offsets))
            times.append(time.monotonic() - begin)
    return times


def files(cluster, mib):
    source, back = (os.path.join(cluster.folder, name) for name in ("source", "back"))
    with open(source, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
    expected = digest(source)
    s3 = cluster.boto3("s3")
    s3.create_bucket(Bucket="bucket")
    ways = {name: [] for name in ("here", "file server", "file server by plain HTTP")}
    # In turns, and each removes what it stored: memory that a virtual machine has not used before costs whoever gets it first.
    for _ in range(ROUNDS):
        for name, times in ways.items():
            if name == "here":
                times.append(by_boto3(s3, source, back))
                s3.delete_object(Bucket="bucket", Key="large")
            else:
                with FileServer(os.path.join(cluster.folder, "peer")) as peer:
                    times.append(by_plain_http(peer.port, source, back) if "plain" in name else
                                 by_boto3(cluster.boto3("s3", url=f"http://127.0.0.1:{peer.port}"), source, back))
            assert digest(back) == expected
            os.remove(back)
    for at, name in enumerate(("upload_file", "download_file")):
        print(f"{name}, {mib} MiB, medians of {ROUNDS}:", "; ".join(
            f"{way} {statistics.median(each[at] for each in times):.2f} s" for way, times in ways.items()))
        for way, goal in (("file server", "; goal 0.50"), ("file server by plain HTTP", "")):
            ratios = [its[at] / our[at] for its, our in zip(ways[way], ways["here"])]
            print(f"  {statistics.median(ratios):.2f} of the speed of the {way} ({', '.join(f'{ratio:.2f}' for ratio in ratios)}{goal})", flush=True)


def fill(cluster):
    """Makes 10,000 jobs of each kind out of one."""
    cluster.server.kill()
    database = sqlite3.connect(os.path.join(cluster.folder, "winnow.db.d", "sagemaker", "jobs.db"))
    columns = [row[1] for row in database.execute("PRAGMA table_info(jobs)")]
    for kind in (0, 1):
        row = dict(zip(columns, database.execute("SELECT * FROM jobs WHERE kind = ? AND parent = '' LIMIT 1", (kind,)).fetchone()))
        many = []
        for n in range(JOBS):
            changed = {**row, "name": f"job-{n * 7919 % JOBS:05}", "status": ("Completed", "Failed", "Stopped")[n % 3], "created_us": row["created_us"] + n,
                       "modified_us": row["created_us"] + 1000 + n, "ended_us": row["created_us"] + 1000 + n}
            many.append([changed[column] for column in columns])
        with database:
            database.executemany(f"INSERT INTO jobs VALUES ({', '.join('?' * len(columns))})", many)
    database.close()
    cluster.restart()


def pages(call, **request):
    """The milliseconds of each page."""
    gc.collect()
    gc.disable()  # a whole collection of the client's garbage takes it 40 ms
    times, token, rows = [], {}, 0
    while True:
        begin = time.monotonic()
        answer = call(MaxResults=PAGE, **request, **token)
        times.append(1000 * (time.monotonic() - begin))
        rows += sum(len(value) for name, value in answer.items() if name.endswith("Summaries"))
        if "NextToken" not in answer:
            gc.enable()
            return sorted(times), rows
        token = {"NextToken": answer["NextToken"]}


def lists(cluster):
    s3, sagemaker = cluster.boto3("s3"), cluster.boto3("sagemaker")
    table = os.path.join(cluster.folder, "table.csv")
    sagemaker_clients.write_table(table, 50, 1)
    if "bucket" not in [each["Name"] for each in s3.list_buckets()["Buckets"]]:
        s3.create_bucket(Bucket="bucket")
    for name in ("train/train.csv", "validation/validation.csv"):
        s3.upload_file(table, "bucket", "data/" + name)
    sagemaker.create_training_job(**sagemaker_clients.training_job("first", "bucket"))
    sagemaker.create_hyper_parameter_tuning_job(**sagemaker_clients.tuning_job("first", "bucket"))
    sagemaker.stop_training_job(TrainingJobName="first")
    sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="first")
    processes.wait_until(lambda: sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="first")[
        "HyperParameterTuningJobStatus"] == "Stopped", "the job has stopped")
    fill(cluster)
    for name, call in (("ListTrainingJobs", sagemaker.list_training_jobs), ("ListHyperParameterTuningJobs", sagemaker.list_hyper_parameter_tuning_jobs)):
        call()  # the first call of a client opens its connection
        for more in ({"SortBy": "CreationTime"}, {"SortBy": "Name"}, {"SortBy": "Status"}, {"SortBy": "CreationTime", "StatusEquals": "Failed"},
                     {"SortBy": "Name", "NameContains": "99", "StatusEquals": "Completed"}):
            times, rows = pages(call, SortOrder="Descending", **more)
            assert rows == JOBS + 1 or len(more) > 1, rows
            print(f"{name} of {JOBS} by {more}, {rows} in pages of {PAGE}: median {times[len(times) // 2]:.1f} ms, longest {times[-1]:.1f} ms; "
                  f"{50 / times[-1]:.1f} times as fast as the goal of 50 ms a page")


def main():
    mib = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with sagemaker_clients.Endpoint(workers=0) as cluster:
        files(cluster, mib)
        lists(cluster)


if __name__ == "__main__":
    sagemaker_clients.with_newest_boto3()
    main()
