#!/usr/bin/env python3
"""Submits a job over gRPC, watches it to its end, and prints its best trial: for programs that speak gRPC themselves.

    mkdir stubs
    protoc -I proto --python_out=stubs --grpc_out=stubs --plugin=protoc-gen-grpc=/usr/bin/grpc_python_plugin \\
        proto/winnow/v1/*.proto
    PYTHONPATH=stubs python3 examples/grpc_client.py --server 127.0.0.1:7070

Debian has protoc and the plugin in protobuf-compiler-grpc, and the libraries in python3-grpcio and python3-protobuf. The
comments in proto/winnow/v1/tuning.proto are the manual. The stubs are a package winnow.v1, so they cannot be used in one
program with the package winnow of clients/python.
"""

import argparse
import pathlib
import sys
import uuid

import grpc
from google.protobuf import json_format
from winnow.v1 import tuning_pb2, tuning_pb2_grpc

JOB = {
    "name": "grpc", "strategy": "RANDOM", "limits": {"max_trials": 8}, "working_directory": "/tmp",
    "trainer": {"command": ["/bin/sh", "-c", "for i in 1 2 3; do echo round $i loss=0.{{x}}; done"],
                "metrics": [{"name": "loss", "regex": "loss=([0-9.]+)"}], "resumes": False},
    "parameters": [{"name": "x", "integer": {"min": 100, "max": 999}}],
    "objective": {"metric": "loss", "goal": "MINIMIZE"},
}
ENDED = (tuning_pb2.TuningJob.COMPLETED, tuning_pb2.TuningJob.STOPPED, tuning_pb2.TuningJob.FAILED)
TIMEOUT = 60  # seconds of one call


def connect(options):
    """The channel, and what each call carries."""
    metadata = ()
    if options.token_file:
        metadata = (("authorization", "Bearer " + pathlib.Path(options.token_file).read_text().strip()),)
    if not options.tls_ca:
        return grpc.insecure_channel(options.server), metadata
    credentials = grpc.ssl_channel_credentials(pathlib.Path(options.tls_ca).read_bytes())
    return grpc.secure_channel(options.server, credentials), metadata


def watch(service, job, metadata):
    """Prints what happens until the job has ended. The stream is opened again where it was, if the server restarts."""
    seen = 0
    while True:
        request = tuning_pb2.WatchTuningJobRequest(id=job, after_sequence=seen)
        try:
            for event in service.WatchTuningJob(request, metadata=metadata, wait_for_ready=True):
                seen = event.sequence or seen
                if event.text:
                    print(event.text, flush=True)
                if event.job.state in ENDED:
                    return
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--server", default="127.0.0.1:7070", help="the server's --listen address")
    flags.add_argument("--tls-ca", help="CA certificate that signed the server's certificate (PEM)")
    flags.add_argument("--token-file", help="file with an access token")
    options = flags.parse_args()
    channel, metadata = connect(options)
    with channel:
        service = tuning_pb2_grpc.TuningServiceStub(channel)
        spec = json_format.ParseDict(JOB, tuning_pb2.TuningJobSpec())
        # A call that is sent again with the same request_id starts no second job.
        request = tuning_pb2.CreateTuningJobRequest(spec=spec, request_id=uuid.uuid4().hex)
        try:
            job = service.CreateTuningJob(request, metadata=metadata, timeout=TIMEOUT)
            watch(service, job.id, metadata)
            job = service.DescribeTuningJob(tuning_pb2.DescribeTuningJobRequest(id=job.id), metadata=metadata,
                                            timeout=TIMEOUT)
            state = tuning_pb2.TuningJob.State.Name(job.state)
            if not job.HasField("best"):
                sys.exit(f"{state}: {job.state_reason}")
            best = service.DescribeTrial(tuning_pb2.DescribeTrialRequest(job_id=job.id, trial=job.best.trial),
                                         metadata=metadata, timeout=TIMEOUT).trial
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
    values = {one.name: getattr(one, one.WhichOneof("value")) for one in best.hyperparameters}
    print(f"{state}: trial {best.number} has {job.spec.objective.metric} "
          f"{job.best.objective:.6g} with {values}")


if __name__ == "__main__":
    main()
