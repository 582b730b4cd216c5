#!/usr/bin/python3
"""Writes the first inputs of tests/fuzz/corpus: small files as Winnow's own programs and its peers write them.

  tests/fuzz/make_corpus.py FOLDER_OF_BINARIES

What fuzzing has added beside them stays.
"""

import gzip
import io
import json
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/fuzz/corpus"

TABLE = "y,colour,size,q,w\n" + "".join(
    f"{'yes' if i % 3 else 'no'},{('red', 'blue', '')[i % 3]},{i * 0.25 - 1},{i // 4},{1 + i // 4}\n" for i in range(12))


def put(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def job_files():
    for path in sorted((ROOT / "examples").glob("*.json")):
        put("job_file", path.name, path.read_bytes())


def tables():
    # Of csv the first four bytes are options: header, separator, label, choices.
    options = bytes([0, 0, 0, 0])
    put("csv", "plain", options + TABLE.encode())
    put("csv", "grouped", bytes([1, 1, 1, 3]) + TABLE.encode())
    put("csv", "categorical", bytes([0, 0, 1, 8]) + TABLE.encode())
    put("csv", "no-header", bytes([2, 0, 2, 0]) + b"1,2.5,-3e4\n0,,nan\n1,7,0x10\n")
    put("csv", "quoted", bytes([0, 2, 1, 0]) + b'\xef\xbb\xbf"y";"a ""b""\nc"\r\n1;"2"\r\n\r\n 0 ;?\r')
    put("csv", "blanks", bytes([0, 5, 0, 0]) + b"1  2 3\n0 4   5 \n")
    put("csv", "packed", options + gzip.compress(b"y,a\n1,2\n0,3\n", mtime=0))
    put("libsvm", "plain", b"\0" + b"1 1:0.5 3:-2e3 # comment\n0 2:1\n1\n")
    put("libsvm", "ranking", b"\0" + b"2:1.5 qid:a 0:1 4:2\n0:1.5 qid:a 1:3\n1:2 qid:b 2:1\n")
    put("libsvm", "auto", b"\1" + b"0 1:1\r\n1 2:nan\r\n")
    images = struct.pack(">IIII", 0x803, 3, 2, 2) + bytes(range(12))
    put("idx", "images", images)
    put("idx", "packed", gzip.compress(images, mtime=0))
    put("idx", "labels", struct.pack(">II", 0x801, 3) + bytes([0, 1, 2]))
    put("idx", "doubles", struct.pack(">II2d", 0xE01, 2, 0.5, -1e300))
    put("idx", "shorts", struct.pack(">III4h", 0xB02, 2, 2, 1, -2, 3, -4))


def metric_lines():
    xgboost = r"validation-auc:([0-9.e+-]+|nan|inf)" + "\n" + r"train-auc:(\S+)" + "\n" + r"\[(\d+)\]"
    printed = "\n\n[0]\ttrain-auc:0.5\tvalidation-auc:0.25\r\n[1]\ttrain-auc:nan\tvalidation-auc:1e-3,\n"
    put("metric_lines", "xgboost", b"\0\xff" + (xgboost + printed).encode())
    put("metric_lines", "counted", b"\1\3" + b"loss=([^ ]+)\nother=(.*)\n\nother=1\nloss=0.5 .\rloss=0.5\rloss=inf")
    lines = b'{"epoch": 1, "eval": {"loss": NaN}}\n{"epoch": 2.5, "x": 1}\n{"eval": {"loss": "inf"}}\n{"a": "\\"NaN"}'
    put("metric_lines", "json", b"\1\x20" + b"key eval.loss\nkey x\n\n" + lines)
    put("metric_lines", "long", b"\1\x40" + b"l(.)\n\n" + b"x" * 300 + b"\nl1\n")


def trained(binaries, folder):
    """Models, checkpoints and the entries of the cache, of both trainers."""
    folder = pathlib.Path(folder)
    (folder / "table.csv").write_text(TABLE)

    def train(program, name, hyperparameters, *more):
        (folder / f"{name}.json").write_text(json.dumps(hyperparameters))
        subprocess.run(
            [f"{binaries}/{program}", "--train", folder / "table.csv", "--label", "y", "--hyperparameters",
             folder / f"{name}.json", "--model-dir", folder / name, "--checkpoint-dir", folder / f"{name}.kept", *more],
            check=True, stdout=subprocess.DEVNULL, env={"WINNOW_CACHE_DIR": "off"})
        put("hyperparameters", f"{program}-{name}", json.dumps(hyperparameters))
        return folder / name, next((folder / f"{name}.kept").glob("checkpoint-*"))

    gbdt = {"num_round": 2, "max_depth": 2, "objective": "binary:logistic", "eval_metric": "auc,logloss"}
    dart = dict(gbdt, booster="dart", rate_drop=0.5, enable_categorical=True, max_cat_to_onehot=1, min_child_weight=0,
                monotone_constraints="(0,1)", interaction_constraints="[[0,1]]")
    for name, hyperparameters in (("plain", gbdt), ("dart", dart)):
        model, checkpoint = train("winnow-gbdt", name, hyperparameters, "--drop", "q,w")
        written = next(model.iterdir())
        put("gbdt_model", f"{name}.json", written.read_bytes())
        subprocess.run([f"{binaries}/winnow-gbdt", "convert", "--model", written, "--output", folder / f"{name}.ubj"], check=True,
                       stdout=subprocess.DEVNULL)
        put("gbdt_model", f"{name}.ubj", (folder / f"{name}.ubj").read_bytes())
        put("gbdt_checkpoint", name, checkpoint.read_bytes())
    mlp = {"epochs": 2, "hidden_layers": "3", "batch_size": 4, "learning_rate": 0.1}
    norm = dict(mlp, hidden_layers="17,2", batch_norm="synchronised", optimizer="adam", loss="logistic")
    for name, hyperparameters in (("network", mlp), ("norm", norm)):
        model, checkpoint = train("winnow-mlp", name, hyperparameters, "--drop", "q,w")
        put("mlp_model", name, next(model.glob("*.safetensors")).read_bytes())
        content = checkpoint.read_bytes()
        put("mlp_checkpoint", name, content)
        put("mlp_checkpoint", f"{name}-mended", content if len(content) % 2 == 0 else content + b"\0")


def cache_entries(binaries, folder):
    """Entries of the cache of both trainers: one whole file, and the sections of each."""
    folder = pathlib.Path(folder)
    (folder / "table.csv").write_text(TABLE)
    for program, hyperparameters in (("winnow-gbdt", {"num_round": 1, "objective": "binary:logistic"}), ("winnow-mlp", {"epochs": 1, "batch_size": 4})):
        (folder / "hps.json").write_text(json.dumps(hyperparameters))
        subprocess.run([f"{binaries}/{program}", "--train", folder / "table.csv", "--label", "y", "--hyperparameters",
                        folder / "hps.json", "--model-dir", folder / f"{program}.model", "--validation-fraction", "0.3"],
                       check=True, stdout=subprocess.DEVNULL, env={"WINNOW_CACHE_DIR": folder / program})
        for path in (folder / program).glob("*.bin"):
            content = path.read_bytes()
            sections, _, table = struct.unpack_from("<IQQ", content, 12)
            if program == "winnow-mlp":
                put("cache_entry", "file", content)
            at = table + 8 + struct.unpack_from("<Q", content, table)[0]
            packed = b""
            for _ in range(sections):
                length, = struct.unpack_from("<Q", content, at)
                name = content[at + 8:at + 8 + length]
                offset, size, _ = struct.unpack_from("<QQQ", content, at + 8 + length)
                at += 8 + length + 24
                packed += bytes([length]) + name + struct.pack("<H", size) + content[offset:offset + size]
            put(f"{program[7:]}_training_file", "small", packed)


def ranks():
    hello = struct.pack("<QIIII128s", 0x6B6E61726E697701, 1, 2, 3, 40000, b"job-1/1")
    put("ranks", "hello", b"\0\xff" + hello)
    put("ranks", "hello-in-pieces", b"\0\1" + hello)

    def frame(kind, data=b"", total=0):
        return struct.pack("<BBHIQQQ", kind, 3, 0, 7, 0, total, len(data)) + data

    put("ranks", "sum", b"\1\xff" + bytes([2, 2, 3, 7]) + frame(1) + frame(0, b"\1" * 16, 16) + frame(3))
    put("ranks", "copy", b"\1\3" + bytes([0, 4, 3, 7]) + frame(0, b"x" * 16, 32) + frame(0, b"y" * 16, 32))
    put("ranks", "text", b"\1\xff" + bytes([4, 0, 3, 7]) + frame(0, b"hello", 5) + frame(2, b"no memory"))

    def head(kind, tag, data=b""):
        return struct.pack("<HBBIQ", 0xA74D, kind, 0, tag, len(data)) + data

    put("ranks", "messages", b"\2\2" + head(0, 1, b"gradients") + head(2, 0) + head(0, 1) + head(3, 13, b"lost") + head(4, 0))


def sync():
    # A turn: the worker, what it says of itself, what it leaves out, then a state and perhaps a report for each assignment.
    def turn(worker, *assignments):
        return bytes([worker, 0, 0]) + b"".join(assignments)

    def report(level, value):
        return bytes([0, 1, level, 0, value])

    prepared, done = bytes([5, 0]), bytes([9, 0, 0, 0])
    put("sync", "trains", turn(0) + b"".join(turn(0, report(level, 40 + level), report(level, 90 - level)) for level in (1, 2, 3, 4)) +
        turn(0, done, done) + turn(0))
    put("sync", "gang", turn(0) + turn(1) + (turn(0, prepared, prepared) + turn(1, prepared, prepared)) * 3 +
        turn(0, report(1, 8), report(1, 8)) + bytes([24, 255, 255]) + turn(1))
    put("sync", "usage", turn(0) + b"".join(bytes([0, 10, 255, 3]) + bytes(1 + (at + i) % 2 for i in range(60)) for at in range(6)))
    put("sync", "all", bytes(i * 37 % 256 for i in range(400)))


def checkpoint_folders():
    def text(content):
        return bytes([len(content)]) + content

    put("checkpoint_folder", "newest", struct.pack("<i", 3) + text(b"checkpoint-00000002.ubj") + text(b"whole") +
        text(b"checkpoint-00000012.ubj") + text(b"damaged"))
    put("checkpoint_folder", "others", struct.pack("<i", -1) + text(b"checkpoint-1.json") + text(b"w") +
        text(b"checkpoint-") + text(b"") + text(b"checkpoint-99999999999999999999.ubj") + text(b"x") + text(b"notes") + text(b""))


def manifests():
    def field(number, content):  # of Protobuf's wire format; none here is longer than 127 bytes but the whole file
        if isinstance(content, int):
            return bytes([number << 3, content])
        length = bytes([len(content)]) if len(content) < 128 else bytes([len(content) & 127 | 128, len(content) >> 7])
        return bytes([number << 3 | 2]) + length + content

    def file(path, size, *blobs, executable=0):
        return field(1, field(1, path) + field(2, size) + field(3, executable) +
                     b"".join(field(4, field(1, b"%064x" % digest) + field(2, of)) for digest, of in blobs))

    put("artifact_manifest", "checkpoint", file(b"checkpoint-00000003.ubj", 9, (1, 9)))
    put("artifact_manifest", "model", file(b"code/run.sh", 5, (2, 5), executable=1) + file(b"empty", 0) + file(b"model.json", 7, (3, 7)))
    put("artifact_manifest", "outside", file(b"../model.json", 7, (3, 7)))
    put("artifact_manifest", "file-is-folder", file(b"a", 1, (4, 1)) + file(b"a/b", 1, (4, 1)))


def facts():
    kinds = ("reported attempt_started attempt_ended checkpoint_lost stop_requested wall_time_reached prior_observed "
             "suggested trial_created trial_resumed trial_paused trial_ended rung_cut bracket_ended completion_met "
             "job_ended node_time_reached noticed").split()
    details = {
        "attempt_started": {"attempt": 2, "from": 9, "to": 27},
        "attempt_ended": {"attempt": 2, "outcome": "failed", "reason": "exit code 3", "started_us": 1, "ended_us": 2},
        "prior_observed": {"configuration": [5, 0.5, "sgd", None], "objective": {"bits": "7ff0000000000000"}, "resource": 27, "source": "job old"},
        "suggested": {"configuration": [7, 0.125, "adam"], "based_on": 6, "why": "it promises most", "model": [12.0, -0.1]},
        "trial_created": {"configuration": [7, 0.125, "adam"], "bracket": 1, "rung": 0, "to": 9, "why": "drawn"},
        "trial_resumed": {"rung": 1, "to": 27, "reason": "2nd of 9"},
        "trial_ended": {"end": "stopped", "reason": "ranked 5th of 9"},
        "completion_met": {"reason": "auc has reached 0.75", "nothing_left": False},
        "rung_cut": {"bracket": 0, "rung": 1, "resource": 9, "ranking": [3, 1, 2], "promoted": 1, "cutoff": {"bits": "7ff8000000000000"}},
        "job_ended": {"end": "completed", "reason": "all brackets are done"},
        "reported": {"attempt": 1, "resource": 9, "objective": 0.75},
        "trial_paused": {"resource": 9},
        "noticed": {"kind": 2, "text": "Trial 3 trains past its budget."},
    }
    for kind, detail in details.items():
        put("fact_codec", kind, bytes([kinds.index(kind), 3]) + json.dumps(detail).encode())


def warm_starts():
    put("warm_start_csv", "plain", '\ufeffx, name,objective\r\n1,"a, ""b""\nc",0.5\n\n 2 ,,""\r\n3,d,1')
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/study.db"
        database = sqlite3.connect(path)
        database.executescript("""PRAGMA page_size = 512;
CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE TABLE study_directions (study_direction_id INTEGER PRIMARY KEY, direction VARCHAR(8), study_id INTEGER, objective INTEGER);
CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR(8));
CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT);
CREATE TABLE trial_values (trial_value_id INTEGER PRIMARY KEY, trial_id INTEGER, objective INTEGER, value FLOAT, value_type VARCHAR(7));
CREATE TABLE trial_intermediate_values (id INTEGER PRIMARY KEY, trial_id INTEGER, step INTEGER, intermediate_value FLOAT);
INSERT INTO studies VALUES (1, 'one');
INSERT INTO study_directions VALUES (1, 'MAXIMIZE', 1, 0);
INSERT INTO trials VALUES (11, 1, 1, 'PRUNED'), (10, 0, 1, 'COMPLETE');
INSERT INTO trial_values VALUES (1, 10, 0, 0.75, 'FINITE'), (2, 11, 0, 0.5, 'FINITE');
INSERT INTO trial_intermediate_values VALUES (1, 10, 0, 0.1), (2, 10, 26, 0.75), (3, 11, 8, 0.5);
INSERT INTO trial_params VALUES (1, 10, 'lr', 0.125, '{"name":"FloatDistribution","attributes":{"low":0.1,"high":1}}'),
  (2, 10, 'kind', 1.0, '{"name":"CategoricalDistribution","attributes":{"choices":["a",true,null,3]}}'),
  (3, 11, 'depth', 7.0, '{"name":"IntDistribution","attributes":{"low":1,"high":9,"step":1}}');""")
        database.close()
        put("optuna_study", "study", pathlib.Path(path).read_bytes())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def event_files():
    """TensorBoard's record format, written here by hand. The first byte of an input is the length of its pieces."""
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720, B.4

    def field(number, kind, content):
        return bytes([number << 3 | kind]) + content

    def text(number, content):
        content = content.encode() if isinstance(content, str) else content
        assert len(content) < 128
        return field(number, 2, bytes([len(content)]) + content)

    def masked(data):
        crc = crc32c(data)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    def record(event):
        length = struct.pack("<Q", len(event))
        return length + masked(length) + event + masked(event)

    def scalar(tag, value):
        return text(1, text(1, tag) + field(2, 5, struct.pack("<f", value)))

    def tensor(tag, content):
        return text(1, text(1, tag) + text(8, content))

    def event(step, *values):
        return record(field(1, 1, struct.pack("<d", 1.5)) + field(2, 0, bytes([step])) + text(5, b"".join(values)))

    version = record(field(1, 1, struct.pack("<d", 1.5)) + text(3, "brain.Event:2"))
    double = field(1, 0, b"\x02") + text(2, b"") + text(4, struct.pack("<d", 0.125))  # tensor_content
    whole = field(1, 0, b"\x09") + text(10, b"\x07")                                  # int64_val
    several = field(1, 0, b"\x01") + text(4, struct.pack("<2f", 1, 2))                # no scalar
    file = (version + event(1, scalar("loss", 0.5)) + event(2, scalar("loss", 0.25), scalar("acc", 0.75)) +
            event(3, scalar("loss", float("nan"))) +
            event(4, tensor("loss", double), tensor("count", whole), tensor("pair", several)))
    put("event_file", "scalars", b"\x10" + file)
    put("event_file", "cut", b"\x02" + file[:-9])
    long = struct.pack("<Q", 5 << 20)
    put("event_file", "long", b"\xff" + version + long + masked(long) + b"x" * 100)


def aws_requests():
    """As botocore writes them: each protocol, an upload in chunks, and an archive of code. Without botocore the old ones stay."""
    try:
        import botocore.auth
        import botocore.awsrequest
        import botocore.credentials
        import botocore.serialize
        import botocore.session
    except ImportError:
        return
    session = botocore.session.get_session()
    keys = botocore.credentials.Credentials("AKIDEXAMPLE", "secret")

    def add(name, service, method, target, headers, body):
        request = botocore.awsrequest.AWSRequest(method, "http://127.0.0.1" + target, data=body, headers=headers)
        signer = botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth
        signer(keys, service, "us-east-1").add_auth(request)
        head = "".join(f"{header}: {value}\n" for header, value in request.headers.items())
        put("aws_request", name, f"{service} {method} {target}\n{head}\n".encode() + body)

    def call(name, signed, service, protocol, operation, **parameters):
        model = session.get_service_model(service).operation_model(operation)
        sent = botocore.serialize.create_serializer(protocol).serialize_to_request(parameters, model)
        body = sent["body"]
        if isinstance(body, dict):
            body = urllib.parse.urlencode(body)
        add(name, signed, "POST", sent["url_path"], sent["headers"], body.encode() if isinstance(body, str) else body)

    call("list_json", "sagemaker", "sagemaker", "json", "ListTrainingJobs", MaxResults=5, NameContains="a")
    call("tags_json", "sagemaker", "sagemaker", "json", "AddTags", ResourceArn="arn:aws:sagemaker:us-east-1:123456789012:training-job/x",
         Tags=[{"Key": "k", "Value": "v"}])
    call("logs_json", "logs", "logs", "json", "GetLogEvents", logGroupName="/aws/sagemaker/TrainingJobs", logStreamName="x/algo-1")
    metrics = {"Namespace": "n", "MetricName": "m", "Dimensions": [{"Name": "d", "Value": "v"}], "StartTime": 1700000000, "EndTime": 1700003600,
               "Period": 60, "Statistics": ["Average", "Sum"]}
    for protocol in ("query", "json", "smithy-rpc-v2-cbor"):
        if protocol in botocore.serialize.SERIALIZERS:
            call("metrics_" + protocol.rsplit("-", maxsplit=1)[-1], "monitoring", "cloudwatch", protocol, "GetMetricStatistics", **metrics)
    call("identity", "sts", "sts", "query", "GetCallerIdentity")
    add("put", "s3", "PUT", "/bucket/a%20b?x-id=PutObject", {"x-amz-checksum-crc32": "NSRBwg=="}, b"content")
    chunked = b"7\r\ncontent\r\n0\r\nx-amz-checksum-crc32:NSRBwg==\r\n\r\n"
    add("chunks", "s3", "PUT", "/bucket/key", {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "Content-Encoding": "aws-chunked",
                                               "X-Amz-Decoded-Content-Length": "7", "X-Amz-Trailer": "x-amz-checksum-crc32"}, chunked)
    add("complete", "s3", "POST", "/bucket/key?uploadId=u", {},
        b"<CompleteMultipartUpload><Part><ETag>&quot;e&quot;</ETag><PartNumber>1</PartNumber></Part></CompleteMultipartUpload>")
    code = io.BytesIO()
    with tarfile.open(fileobj=code, mode="w") as tar:
        for name, content in (("train.py", b"print(1)\n"), ("lib/util.py", b"")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    put("aws_request", "code", b"s3 PUT /bucket/sourcedir.tar.gz\n\n" + code.getvalue())
    put("aws_request", "nested_cbor", b"monitoring POST /service/S/operation/O\n\n" + b"\x81" * 5000)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    job_files()
    tables()
    metric_lines()
    event_files()
    checkpoint_folders()
    manifests()
    facts()
    warm_starts()
    ranks()
    sync()
    aws_requests()
    with tempfile.TemporaryDirectory() as folder:
        trained(pathlib.Path(sys.argv[1]).resolve(), folder)
        cache_entries(pathlib.Path(sys.argv[1]).resolve(), folder)
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    print(f"{len(files)} inputs of {sum(path.stat().st_size for path in files)} bytes")


if __name__ == "__main__":
    main()
