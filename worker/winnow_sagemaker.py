"""Runs a training script or program as SageMaker's images do.

winnow-worker starts it as `python3 -m winnow_sagemaker PLAN …` under the trainer contract; what follows PLAN is ignored. PLAN is
a JSON object that the server makes of a training job (server/sagemaker/jobs/script_spec.cc). The program gets the folders of
/opt/ml below a base folder of its own, the variables SM_*, and the hyperparameters as arguments. Where the system lets a process
have mounts of its own, the base folder is also at /opt/ml, if the host has that folder, and the names algo-1, algo-2 … resolve.

Every line of the program's two streams is passed on and searched for the metrics; what is found is printed as JSON lines, with
a level each. A program that is to stop at a level is ended once it has saved a checkpoint. What it leaves in output/data is put into
a bucket at its end, and what it leaves in checkpoints while it runs. Needs Python 3.7.
"""

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time

import winnow_buckets

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
SAVE_SECONDS = 30  # how long a program may take to save its checkpoint after the last line of a level
SYNC_SECONDS = 2.0  # between two looks at the checkpoints
SETTLE_SECONDS = 0.3  # between the last two
KILL_SECONDS = 110  # after SIGTERM; the worker kills after 120


def decoded(text):
    """A hyperparameter's value: SDKs write JSON, or plain text."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_text(value):
    """A value in hyperparameters.json and in ranges."""
    return value if isinstance(value, str) else json.dumps(value)


def as_variable(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=(",", ":"))


def as_argument(value):
    if isinstance(value, dict):
        return ",".join(f"{name}={value[name]}" for name in sorted(value))
    return value if isinstance(value, str) else str(value)


def write(path, text):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".part", path)


def kept(path):
    """The level that an earlier attempt has reached, and its values, if they are known."""
    try:
        with open(path, encoding="ascii") as file:
            level, *values = file.read().splitlines()
    except FileNotFoundError:
        return 0, {}
    return int(level), json.loads(values[0]) if values else {}


class Place:
    """The folders of a training, and its hosts."""

    def __init__(self, plan, environment):
        self.plan, self.given = plan, environment
        access = environment.pop("SAGEMAKER_ACCESS", "")
        self.buckets = winnow_buckets.Buckets(access, environment.get("AWS_REGION", "us-east-1")) if access else None
        self.rank, self.size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
        self.base = os.path.join(environment["SM_OUTPUT_DATA_DIR"], f".sagemaker-{self.rank}-{environment['WINNOW_ATTEMPT']}")
        self.checkpoints = os.path.join(environment["WINNOW_CHECKPOINT_DIR"], "files")
        self.levels = os.path.join(environment["WINNOW_CHECKPOINT_DIR"], "levels")
        self.real_hosts = json.loads(environment["SM_HOSTS"])
        self.hosts = [f"algo-{n + 1}" for n in range(self.size)]
        self.hyperparameters = {**{name: as_text(value) for name, value in json.loads(environment["SM_HPS"]).items()
                                   if not name.startswith("sagemaker_")}, **plan["static"]}
        self.name = plan["job"]
        if plan.get("tuning"):
            # Several definitions of a tuning job have a job each, and number their training jobs in turns.
            definition, definitions = plan.get("numbers", (0, 1))
            self.name = f"{plan['job']}-{(int(environment['WINNOW_TRIAL']) - 1) * definitions + definition + 1:03}"
            of = f"{self.name}/{plan['reused']}" if "reused" in plan else self.name  # the name of a deleted tuning job
            self.name += "-" + hashlib.sha256(of.encode()).hexdigest()[:8]
        self.prefix = self.base
        # Each instance has its own, as on a machine of its own.
        self.output = os.path.join(environment["SM_OUTPUT_DATA_DIR"], "data" if self.rank == 0 else "data-" + self.hosts[self.rank])

    def make(self):
        shutil.rmtree(self.base, ignore_errors=True)
        for folder in ("input/config", "input/data", "output"):
            os.makedirs(os.path.join(self.base, folder))
        os.makedirs(self.checkpoints, exist_ok=True)
        os.makedirs(self.output, exist_ok=True)
        for name, target in (("model", self.given["SM_MODEL_DIR"]), ("output/data", self.output),
                             ("checkpoints", self.checkpoints), ("code", os.getcwd() if "program" in self.plan else "")):
            if target:
                os.symlink(target, os.path.join(self.base, name))
        for name in self.plan["channels"]:
            path = self.given["SM_CHANNEL_" + variable_part(name)]
            at = os.path.join(self.base, "input/data", name)
            if os.path.isdir(path):
                os.symlink(path, at)
            elif os.path.exists(path):  # one object: SageMaker has a folder around it
                os.mkdir(at)
                os.symlink(path, os.path.join(at, os.path.basename(path)))
            else:  # the begin of the names of pipes
                os.symlink(path, at)
        self.resolve()
        config = os.path.join(self.base, "input/config")
        write(os.path.join(config, "hyperparameters.json"), json.dumps(self.hyperparameters))
        write(os.path.join(config, "inputdataconfig.json"), json.dumps(self.plan["channels"]))
        write(os.path.join(config, "resourceconfig.json"), json.dumps(self.resources()))
        if self.plan.get("checkpoints"):
            write(os.path.join(config, "checkpointconfig.json"), json.dumps({"LocalPath": self.plan["checkpoints"]}))

    def resources(self):
        kind = self.plan["instance_type"]
        return {"current_host": self.hosts[self.rank], "hosts": self.hosts, "network_interface_name": "eth0",
                "current_instance_type": kind, "current_group_name": "homogeneousCluster",
                "instance_groups": [{"instance_group_name": "homogeneousCluster", "instance_type": kind, "hosts": self.hosts}]}

    def resolve(self):
        """Gives this process mounts of its own: /opt/ml, and a file of hosts. If that fails, hosts have their real names, unless
        two have one."""
        if self.plan.get("container"):
            return self.resolve_within_container()
        wants_base = os.path.isdir("/opt/ml")
        if not wants_base and self.size == 1:
            return
        try:
            own_mounts()
            if wants_base:
                mount(self.base, "/opt/ml")
                self.prefix = "/opt/ml"
            addresses = [socket.gethostbyname(host) for host in self.real_hosts]
            with open("/etc/hosts", encoding="utf-8", errors="replace") as file:
                known = file.read()
            hosts = os.path.join(self.base, "hosts")
            write(hosts, known + "\n" + "".join(f"{address} {host}\n" for address, host in zip(addresses, self.hosts)))
            mount(hosts, "/etc/hosts")
        except OSError as error:
            if len(set(self.real_hosts)) == self.size:
                self.hosts = self.real_hosts
            elif self.size > 1:
                print(f"winnow: the names algo-1 … algo-{self.size} do not resolve on this host: {error}", file=sys.stderr)

    def resolve_within_container(self):
        """The file system is the container's own, so /opt/ml and the names may be written into it."""
        try:
            os.makedirs("/opt/ml", exist_ok=True)
            for name in os.listdir(self.base):
                at = os.path.join("/opt/ml", name)
                if os.path.isdir(at) and not os.path.islink(at) and not os.listdir(at):
                    os.rmdir(at)
                if not os.path.lexists(at):  # what the image has stays
                    os.symlink(os.path.join(self.base, name), at)
            self.prefix = "/opt/ml"
            with open("/etc/hosts", "a", encoding="ascii") as file:
                file.writelines(f"{socket.gethostbyname(real)} {host}\n" for real, host in zip(self.real_hosts, self.hosts))
        except OSError as error:
            print(f"winnow: /opt/ml or the names of instances are not there in this container: {error}", file=sys.stderr)

    def variables(self):
        at = self.prefix
        parameters = {name: decoded(value) for name, value in self.hyperparameters.items()
                      if not name.startswith("sagemaker_") and name != "_tuning_objective_metric"}
        arguments = []
        for name in sorted(parameters):
            arguments += [("--" if len(name) > 1 else "-") + name, as_argument(parameters[name])]
        values = {
            "SM_HOSTS": self.hosts, "SM_CURRENT_HOST": self.hosts[self.rank], "SM_CURRENT_INSTANCE_TYPE": self.plan["instance_type"],
            "SM_CURRENT_INSTANCE_GROUP": "homogeneousCluster", "SM_CURRENT_INSTANCE_GROUP_HOSTS": self.hosts,
            "SM_INSTANCE_GROUPS": ["homogeneousCluster"],
            "SM_INSTANCE_GROUPS_DICT": {"homogeneousCluster": self.resources()["instance_groups"][0]},
            "SM_DISTRIBUTION_INSTANCE_GROUPS": [], "SM_IS_HETERO": False, "SM_NETWORK_INTERFACE_NAME": "eth0", "SM_HPS": parameters,
            "SM_USER_ARGS": arguments, "SM_USER_ENTRY_POINT": self.plan.get("program", ""),
            "SM_MODULE_NAME": self.plan.get("program", "").rsplit(".", 1)[0], "SM_MODULE_DIR": self.plan.get("directory", ""),
            "SM_FRAMEWORK_MODULE": "", "SM_FRAMEWORK_PARAMS": {}, "SM_CHANNELS": sorted(self.plan["channels"]),
            "SM_INPUT_DIR": at + "/input", "SM_INPUT_CONFIG_DIR": at + "/input/config", "SM_INPUT_DATA_DIR": at + "/input/data",
            "SM_INPUT_DATA_CONFIG": self.plan["channels"], "SM_RESOURCE_CONFIG": self.resources(), "SM_MODEL_DIR": at + "/model",
            "SM_OUTPUT_DIR": at + "/output", "SM_OUTPUT_DATA_DIR": at + "/output/data",
            "SM_OUTPUT_INTERMEDIATE_DIR": at + "/output/intermediate", "SM_OUTPUT_FAILURE": at + "/output/failure",
            "SM_SOURCE_DIR": at + "/code", "SM_ENTRY_SCRIPT": self.plan.get("program", ""), "SM_HOST_COUNT": self.size,
            "SM_CURRENT_HOST_RANK": self.rank, "SM_MASTER_ADDR": self.hosts[0], "SM_MASTER_PORT": self.given["MASTER_PORT"],
            "SM_NUM_CPUS": len(os.sched_getaffinity(0)), "SM_NUM_NEURONS": 0, "SM_LOG_LEVEL": self.plan.get("log_level", 20),
            "SM_NUM_GPUS": len([each for each in self.given.get("CUDA_VISIBLE_DEVICES", "").split(",") if each])}
        values["SM_TRAINING_ENV"] = {
            "additional_framework_parameters": {}, "channel_input_dirs": {name: f"{at}/input/data/{name}" for name in self.plan["channels"]},
            "current_host": values["SM_CURRENT_HOST"], "hosts": self.hosts, "hyperparameters": parameters, "input_config_dir": values["SM_INPUT_CONFIG_DIR"],
            "input_data_config": self.plan["channels"], "input_dir": values["SM_INPUT_DIR"], "is_master": self.rank == 0,
            "job_name": self.name, "master_hostname": self.hosts[0], "model_dir": values["SM_MODEL_DIR"],
            "module_dir": values["SM_MODULE_DIR"], "module_name": values["SM_MODULE_NAME"], "network_interface_name": "eth0",
            "num_cpus": values["SM_NUM_CPUS"], "num_gpus": values["SM_NUM_GPUS"], "output_data_dir": values["SM_OUTPUT_DATA_DIR"],
            "output_dir": values["SM_OUTPUT_DIR"], "resource_config": self.resources(), "user_entry_point": values["SM_USER_ENTRY_POINT"]}
        for name, value in parameters.items():
            values["SM_HP_" + name.upper()] = value
        for name in self.plan["channels"]:
            values["SM_CHANNEL_" + name.upper()] = f"{at}/input/data/{name}"
        environment = {name: value for name, value in self.given.items() if not name.startswith("SM_")}
        environment.update({name: as_variable(value) for name, value in values.items()})
        environment.update({"TRAINING_JOB_NAME": self.name, "TRAINING_JOB_ARN": self.plan["arn"] + self.name.lower(),
                            "SAGEMAKER_BASE_DIR": at, "SM_CHECKPOINT_CONFIG_FILE": at + "/input/config/checkpointconfig.json"})
        environment["PYTHONPATH"] = os.getcwd() + os.pathsep + environment.get("PYTHONPATH", "")
        return environment, arguments

    def put_output(self):
        """Puts what the program left in output/data into the bucket."""
        if self.buckets is None or not self.plan.get("output") or not os.listdir(self.output):
            return
        archive = os.path.join(self.base, "output.tar.gz")
        with tarfile.open(archive, "w:gz") as tar:
            for name in sorted(os.listdir(self.output)):
                tar.add(os.path.join(self.output, name), name)
        name = "output.tar.gz" if self.rank == 0 else f"output-algo-{self.rank + 1}.tar.gz"
        self.buckets.put(f"{self.plan['output'].rstrip('/')}/{self.name}/output/{name}", archive)


def variable_part(name):
    """The part of a variable's name that the worker makes of a channel's."""
    return re.sub("[^A-Za-z0-9_]", "_", name).upper()


def libc():
    return ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target):
    checked(libc().mount(source.encode(), target.encode(), None, MS_BIND, None), f"mount {target}")


def own_mounts():
    user, group = os.geteuid(), os.getegid()
    if libc().unshare(CLONE_NEWNS) != 0:
        checked(libc().unshare(CLONE_NEWNS | CLONE_NEWUSER), "unshare")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open("/proc/self/" + name, "w", encoding="ascii") as file:
                file.write(text)
    checked(libc().mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")


class Metrics:
    """Finds values in lines, and prints them as JSON lines with their level: each line with the first metric is a level. A metric
    whose first value came before any level belongs to the line after it, else to the line before."""

    def __init__(self, plan, place, first_level, last_level, on_level):
        self.rules = [(each["Name"], re.compile(each["Regex"].encode())) for each in plan["metrics"]]
        self.counted = plan["objective"] or (self.rules[0][0] if self.rules else "")
        self.level, self.last_level, self.on_level = first_level, last_level, on_level
        self.keep = place.levels if plan.get("checkpoints") else ""
        self.early, self.waiting = {}, {}  # whether a metric's lines come before its level's; values of the next level
        self.is_first = place.rank == 0
        self.lock = threading.Lock()

    def read(self, line):
        found = {}
        for name, rule in self.rules:
            match = rule.search(line)
            if match is None and b"\t" in line:  # AWS's logs have control characters as octal numbers
                match = rule.search(line.replace(b"\t", b"#011"))
            if match is not None and match.groups():
                try:
                    found[name] = float(match.group(1))
                except (ValueError, TypeError):
                    pass
        if not found or not self.is_first:
            return
        with self.lock:
            for name in found:
                self.early.setdefault(name, self.level == 0 and self.counted not in found)
            if self.counted in found and self.last_level and self.level >= self.last_level:
                self.on_level(self.level + 1)  # it is about to be ended, and comes again in the next part
            elif self.counted in found:
                self.level += 1
                values = {**self.waiting, **found}
                self.say(values)
                self.waiting = {}
                if self.keep:
                    write(self.keep, f"{self.level}\n{json.dumps(values)}\n")
                self.on_level(self.level)
            elif any(self.early[name] for name in found) or self.level == 0:
                self.waiting.update(found)
            else:
                self.say(found)

    def say(self, found):
        print(json.dumps({"step": max(self.level, 1), **found}), flush=True)

    def end(self, own):
        with self.lock:
            if self.is_first and (self.waiting or own):
                self.say({**self.waiting, **own})

    def missing(self, objective):
        """Why there is no value of the objective; "" if there is one."""
        if not self.is_first or not objective or self.level > 0:
            return ""
        rules = " or ".join(rule.pattern.decode() for name, rule in self.rules if name == objective)
        return f"no line of the script's output has a number that the Regex of its objective metric {objective} takes: {rules}"


class Checkpoints:
    """Keeps the folder of checkpoints and CheckpointConfig.S3Uri alike."""

    def __init__(self, place):
        self.place, self.folder = place, place.checkpoints
        uri = place.plan.get("checkpoint_uri", "") if place.buckets else ""
        # The training jobs of a tuning job have one URI.
        self.uri = uri.rstrip("/") + (f"/{place.name}" if place.plan.get("tuning") else "") if uri.startswith("s3://") else ""
        self.put, self.seen = {}, {}  # by path: size and time of files as they were put, and at the last look
        self.ending, self.warned = threading.Event(), False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self):
        if self.uri:
            self.restore()
            self.thread.start()

    def end(self):
        if self.uri:
            self.ending.set()
            self.thread.join()
            self.look()
            time.sleep(SETTLE_SECONDS)  # another rank of this host may still be writing; it will put that itself
            self.look()

    def run(self):
        while not self.ending.wait(SYNC_SECONDS):
            self.look()

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:  # it has gone meanwhile
                    continue
                found[path] = (status.st_size, status.st_mtime_ns)
        return found

    def restore(self):
        """Brings the objects, unless there are files: those are of this training, and as new. All or none."""
        with self.alone():
            objects = {} if self.files() else self.place.buckets.list(self.uri + "/")
            if objects:
                incoming = os.path.join(os.path.dirname(self.folder), "incoming")
                shutil.rmtree(incoming, ignore_errors=True)
                os.mkdir(incoming)
                level = max(self.bring(key, size, incoming) for key, size in objects.items())
                for folder, _, _ in os.walk(self.folder, topdown=False):
                    os.rmdir(folder)  # it is empty, or the program of another rank writes already
                os.rename(incoming, self.folder)
                if level:
                    write(self.place.levels, str(level))
                self.put = self.files()

    @contextlib.contextmanager
    def alone(self):
        """Ranks on one host have one folder: each in its turn, so that no older file is put after a newer one."""
        lock = os.open(os.path.dirname(self.folder), os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def bring(self, key, size, incoming):
        """Returns the level that it is of; 0 if it is of another training job."""
        bucket, prefix = winnow_buckets.split(self.uri + "/")
        name = key[len(prefix):]
        if not name or name.endswith("/") or os.path.isabs(name) or ".." in name.split("/"):
            return 0
        path = os.path.join(incoming, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        metadata = self.place.buckets.get(f"s3://{bucket}/{key}", size, path)
        return int(metadata.get("winnow-level", "0")) if metadata.get("winnow-job") == self.place.name else 0

    def look(self):
        """Puts files that have changed since they were put, and not since the last look."""
        with self.alone():
            self.look_alone()

    def look_alone(self):
        files = self.files()
        try:
            level = str(kept(self.place.levels)[0])
            for path, state in sorted(files.items(), key=lambda each: each[1][1]):
                if self.put.get(path) == state or self.seen.get(path) != state:
                    continue
                name = os.path.relpath(path, self.folder)
                self.place.buckets.put(f"{self.uri}/{name}", path, {"winnow-job": self.place.name, "winnow-level": level})
                self.put[path] = state  # if it has changed meanwhile, the next look sees another state
        except FileNotFoundError:  # a file has gone meanwhile
            pass
        except (OSError, winnow_buckets.BucketError) as error:
            if not self.warned:
                print(f"winnow: checkpoints cannot be put to {self.uri}: {error}", file=sys.stderr, flush=True)
            self.warned = True
        self.seen = files


class Program:
    """The script or program, and its end."""

    def __init__(self, place, plan):
        self.place, self.plan = place, plan
        self.stop_at = int(place.given.get("WINNOW_RESOURCE_TO", "0")) if plan.get("checkpoints") else 0
        self.reached = None  # the time at which the level was
        self.ended_here = self.told = False
        level, values = kept(place.levels) if plan.get("checkpoints") else (0, {})
        self.metrics = Metrics(plan, place, level, self.stop_at, self.at_level)
        if values and place.rank == 0 and level > int(place.given.get("WINNOW_RESOURCE_FROM") or 0):
            self.metrics.say(values)  # what was printed was lost with its worker, and does not come again

    def at_level(self, level):
        if self.stop_at and level >= self.stop_at:
            if self.reached is None:
                self.reached = time.time()
            else:
                self.reached = 0.0  # it trains the next level, so it has saved

    def saved(self):
        """Whether the program has had the time to save what it reached."""
        if time.time() - self.reached > SAVE_SECONDS:
            return True
        newest = 0.0
        for folder, _, names in os.walk(self.place.checkpoints):
            for name in names:
                try:
                    newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime)
                except OSError:
                    return False
        return newest >= self.reached and time.time() - newest > 0.3

    def pump(self, stream, out):
        for line in stream:
            # A last line without an end would have what is printed next in it.
            out.write(line if line.endswith(b"\n") else line + b"\n")
            out.flush()
            self.metrics.read(line)

    def run(self, environment, arguments):
        if self.plan.get("program"):
            command = [sys.executable, self.plan["program"], *arguments]
            if self.plan["program"].endswith(".sh"):
                command = ["/bin/sh", self.plan["program"], *arguments]
        else:
            command = list(self.plan["entry"])
        self.child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The worker's SIGTERM reaches the whole process group, so the program too.
        signal.signal(signal.SIGTERM, self.terminated)
        threads = [threading.Thread(target=self.pump, args=each, daemon=True) for each in
                   ((self.child.stdout, sys.stdout.buffer), (self.child.stderr, sys.stderr.buffer))]
        for thread in threads:
            thread.start()
        while True:
            try:
                code = self.child.wait(0.2 if self.stop_at else None)
                break
            except subprocess.TimeoutExpired:
                if self.reached is not None and not self.ended_here and self.saved():
                    self.ended_here = True
                    self.child.terminate()
                    threading.Timer(KILL_SECONDS, self.child.kill).start()
        for thread in threads:
            thread.join(10)
        return code

    def terminated(self, *_):
        self.told = True


def failure(place):
    try:
        with open(os.path.join(place.base, "output/failure"), encoding="utf-8", errors="replace") as file:
            return " ".join(file.read(1024).split())
    except OSError:
        return ""


def main():
    plan = json.loads(sys.argv[1])
    for metric in plan["metrics"]:
        try:
            re.compile(metric["Regex"].encode())
        except re.error as error:
            sys.exit(f"the Regex of the metric {metric['Name']} is {metric['Regex']}: {error}; expected a regular expression of Python")
    place = Place(plan, dict(os.environ))
    checkpoints = Checkpoints(place)
    try:
        os.makedirs(place.checkpoints, exist_ok=True)
        checkpoints.begin()
    except (OSError, winnow_buckets.BucketError) as error:
        print(f"the checkpoints cannot be restored: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    place.make()
    begin = time.monotonic()
    program = Program(place, plan)
    environment, arguments = place.variables()
    code = program.run(environment, arguments)
    if program.ended_here or (program.told and code in (-signal.SIGTERM, 128 + signal.SIGTERM)):
        code = 0
    if code == 0 and not program.ended_here:
        program.metrics.end({plan["own"]: time.monotonic() - begin} if plan.get("own") else {})
    checkpoints.end()
    why = failure(place) if code != 0 else ""
    if code == 0 and not program.ended_here and not program.told:
        why = program.metrics.missing(plan["objective"])
        code = 1 if why else 0
    elif code < 0 and not why:
        why = f"the script was ended by signal {-code}"
    try:
        place.put_output()
    except (OSError, winnow_buckets.BucketError) as error:
        print(f"winnow: output.tar.gz cannot be put: {error}", file=sys.stderr, flush=True)
        if code == 0:
            code, why = 1, f"output.tar.gz cannot be put: {error}"
    shutil.rmtree(place.base, ignore_errors=True)
    if why:
        print(why, file=sys.stderr, flush=True)
    if code == 75:  # which would say that another rank was lost
        code = 1
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
