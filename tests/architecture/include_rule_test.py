#!/usr/bin/env python3
"""The include rule: a folder includes only from folders and libraries that the table below allows it, and its
CMake link lines ask for nothing else. Run from the repository root."""

import collections
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder -> (our folders it may include, outside headers by first path component or name).
# The standard library is allowed everywhere; "posix" stands for the system's own headers.
COMMON = {"absl", "fmt", "posix"}
SERVER = COMMON | {"google", "spdlog"}
TRAINER = COMMON | {"nlohmann", "CLI"}
SCHEDULER = {"scheduler", "scheduler/state", "scheduler/space"}  # what other folders may include of it
STORE = {"store", "store/database"}
ENGINE = SCHEDULER | STORE | {"server/engine", "spec", "proto", "artifact"}
HYPERPARAMETERS = {"trainers/hyperparameters", "trainers/gbdt/hyperparameters", "trainers/mlp/hyperparameters"}
TRAINERS = {"trainers/hyperparameters", "trainers/common", "trainers/data", "trainers/data/cache", "trainers/collective"}
RULE = {  # base is everybody's
    "base": ({"base"}, {"absl", "nlohmann", "posix"}),
    "scheduler/models": ({"scheduler/models"}, {"Eigen", "boost", "nlopt.h"}),
    "scheduler/space": ({"scheduler/space"}, set()),
    "scheduler/state": ({"scheduler/state", "scheduler/space", "scheduler/models"}, set()),
    "scheduler/pruners": ({"scheduler/pruners", "scheduler/state", "scheduler/space"}, {"boost"}),
    "scheduler/samplers": ({"scheduler/samplers", "scheduler/pruners", "scheduler/state", "scheduler/space",
                            "scheduler/models"}, {"Eigen", "boost"}),
    "scheduler": ({"scheduler", "scheduler/samplers", "scheduler/pruners", "scheduler/state", "scheduler/space"}, set()),
    "insight": (SCHEDULER | {"insight"}, {"absl", "Eigen"}),
    "flags": ({"flags"}, {"CLI", "fmt", "posix", "toml++"}),
    "json": ({"json", "proto"}, {"absl", "google", "fmt"}),
    "rpc": ({"rpc"}, COMMON | {"grpc", "grpcpp", "openssl"}),
    "artifact": ({"artifact", "proto"}, COMMON | {"openssl"}),
    "aws": ({"aws"}, COMMON | {"curl", "nlohmann"}),
    "spec": (SCHEDULER | HYPERPARAMETERS | {"spec", "proto"}, COMMON | {"google", "nlohmann", "re2"}),
    "store/database": ({"store/database"}, COMMON | {"libpq-fe.h", "sqlite3.h"}),
    "store": (SCHEDULER | STORE, COMMON | {"libpq-fe.h", "sqlite3.h", "nlohmann"}),
    "server/engine": (ENGINE, SERVER | {"prometheus"}),  # no transport
    "server/reads/imports": (SCHEDULER | {"server/reads/imports", "store/database"}, COMMON | {"csv.h", "nlohmann"}),
    "server/reads": (ENGINE | {"server/reads", "server/reads/imports"}, SERVER),
    "server/insights": (ENGINE | {"server/reads", "server/insights", "insight"}, SERVER),
    "server/host/blobs": ({"server/host/blobs", "server/host/pools", "artifact", "aws"}, SERVER | {"curl"}),
    "server/host": (ENGINE | {"server/host", "server/host/blobs"}, SERVER | {"openssl"}),
    "server/host/pools/kubernetes": ({"server/host/pools", "server/host/pools/kubernetes"},
                                     SERVER | {"curl", "nlohmann", "yaml-cpp"}),
    "server/host/pools": ({"server/host/pools"}, SERVER | {"curl", "nlohmann"}),
    "server/pools": (ENGINE | {"server/pools", "server/host/pools", "server/host/pools/kubernetes"},
                     SERVER | {"prometheus"}),
    "server/webhooks": (ENGINE | {"server/webhooks", "server/host/pools", "json"}, SERVER | {"curl", "nlohmann", "openssl"}),
    "server/grpc": (ENGINE | {"server/grpc", "server/host", "server/host/blobs", "server/reads", "server/insights", "insight", "rpc"},
                    SERVER | {"grpc", "grpcpp", "openssl", "prometheus"}),
    "server/oidc": (ENGINE | {"server/oidc", "server/grpc", "server/host/pools", "rpc"},
                    SERVER | {"cjose", "curl", "nlohmann", "openssl"}),
    "server/http": ({"server/http", "server/oidc", "server/grpc", "server/host", "server/reads", "server/engine", "rpc", "json", "proto", "spec"},
                    SERVER | {"boost", "grpc", "grpcpp", "nlohmann", "openssl", "zlib.h"}),
    "server/sagemaker": (STORE | {"server/sagemaker", "server/http", "server/grpc", "artifact",
                                  "trainers/gbdt/hyperparameters", "proto"},
                         SERVER | {"archive.h", "archive_entry.h", "boost", "grpcpp", "libxml", "nlohmann", "openssl", "re2", "zlib.h"}),
    "server": (STORE | {"server", "server/pools", "server/webhooks", "server/host/blobs", "server/host/pools", "server/sagemaker", "server/http", "server/oidc", "server/grpc", "server/host", "server/reads", "server/engine", "flags"},
               SERVER | {"CLI", "grpcpp"}),
    "worker/host": ({"worker/host", "artifact", "rpc", "proto"}, SERVER | {"nlohmann"}),
    "worker/checkpoints": ({"worker/checkpoints", "worker/host", "artifact", "proto"}, SERVER | {"grpc", "grpcpp"}),
    "worker/metrics": ({"worker/metrics", "worker/host", "artifact"}, COMMON | {"boost", "google", "nlohmann"}),
    "worker/sources": ({"worker/sources", "worker/checkpoints", "worker/containers", "worker/host", "artifact", "proto"}, SERVER),
    "worker/containers": ({"worker/containers", "worker/host", "artifact", "proto"}, SERVER),
    "worker/data": ({"worker/data", "worker/checkpoints", "worker/host", "artifact", "aws", "proto"},
                    SERVER | {"curl", "nlohmann", "openssl"}),
    "worker/runs": ({"worker/runs", "worker/host", "worker/checkpoints", "worker/containers", "worker/data", "worker/metrics",
                     "worker/sources", "proto", "artifact"}, SERVER | {"nlohmann", "re2"}),
    "worker": ({"worker", "worker/runs", "worker/host", "worker/checkpoints", "worker/containers", "worker/data", "worker/sources",
                "flags", "proto", "rpc", "artifact", "aws"}, SERVER | {"grpc", "grpcpp", "CLI"}),
    "trainers/data/cache": ({"trainers/data/cache"}, COMMON),
    "trainers/data": ({"trainers/data", "trainers/data/cache"}, COMMON | {"openssl", "zlib.h"}),
    "trainers/collective": ({"trainers/collective"}, COMMON | {"openssl"}),
    "trainers/common": (TRAINERS | {"flags"}, TRAINER),
    "trainers/hyperparameters": ({"trainers/hyperparameters"}, COMMON | {"nlohmann"}),  # job checks link these three
    "trainers/gbdt/hyperparameters": ({"trainers/hyperparameters", "trainers/gbdt/hyperparameters"}, COMMON | {"nlohmann"}),
    "trainers/mlp/hyperparameters": ({"trainers/hyperparameters", "trainers/mlp/hyperparameters"}, COMMON | {"nlohmann"}),
    "trainers/gbdt": (TRAINERS | {"trainers/gbdt", "trainers/gbdt/hyperparameters"}, TRAINER),
    "trainers/mlp": (TRAINERS | {"trainers/mlp", "trainers/mlp/hyperparameters"}, TRAINER),
    "cli/output": (SCHEDULER | {"cli/output", "flags", "spec", "proto", "json"}, COMMON | {"google", "nlohmann"}),
    "cli/session": ({"cli/session", "cli/output", "proto", "rpc"}, COMMON | {"google", "grpc", "grpcpp", "nlohmann"}),
    "cli/imports": ({"cli/imports"}, COMMON | {"nlohmann", "yaml-cpp"}),
    "cli/commands": (SCHEDULER | {"cli/commands", "cli/imports", "cli/session", "cli/output", "flags", "spec", "proto", "rpc", "json", "artifact"},
                     COMMON | {"curl", "google", "grpc", "grpcpp", "nlohmann"}),
    "cli": ({"cli", "cli/commands", "cli/session", "cli/output", "flags", "proto", "rpc"}, COMMON | {"CLI", "nlohmann", "grpcpp"}),
}

# What may never be included although it is part of the standard library: the scheduler is pure.
PURE = {"thread", "mutex", "condition_variable", "shared_mutex", "atomic", "future", "fstream", "filesystem",
        "iostream", "chrono", "ctime", "random", "cstdio"}
FORBIDDEN = {folder: PURE for folder in RULE if folder.split("/")[0] in ("scheduler", "insight")}
FORBIDDEN_PREFIXES = {folder: ("absl/time", "absl/synchronization", "absl/random", "base/mutex", "base/task_threads")
                      for folder in FORBIDDEN}

STANDARD = set("""algorithm any array atomic barrier cassert bit bitset cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio
cstdlib cstring ctime cwchar deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex
new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view strstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version""".split())

# Link names in CMake -> the folder or library they stand for.
LINK = {
    "winnow_proto": "proto", "winnow_rpc": "rpc", "winnow_json": "json", "winnow_flags": "flags", "winnow_artifact": "artifact", "winnow_aws": "aws", "winnow_blobs": "server/host/blobs",
    "winnow_scheduler": "scheduler", "winnow_models": "scheduler/models", "winnow_spec": "spec", "winnow_insight": "insight",
    "winnow_database": "store/database", "winnow_store": "store", "winnow_engine": "server/engine", "winnow_reads": "server/reads", "winnow_imports": "server/reads/imports", "winnow_insights": "server/insights",
    "winnow_host": "server/host", "winnow_rank_authority": "server/host", "winnow_pools": "server/host/pools",
    "winnow_pool_keeper": "server/pools", "winnow_webhooks": "server/webhooks", "winnow_kubernetes": "server/host/pools/kubernetes", "winnow_grpc": "server/grpc", "winnow_http": "server/http", "winnow_oidc": "server/oidc", "winnow_sagemaker": "server/sagemaker", "winnow_dashboard": "server/http",
    "winnow_agent": "worker", "winnow_data": "trainers/data", "winnow_collective": "trainers/collective",
    "winnow_hyperparameters": "trainers/hyperparameters",
    "winnow_gbdt_hyperparameters": "trainers/gbdt/hyperparameters",
    "winnow_mlp_hyperparameters": "trainers/mlp/hyperparameters", "winnow_trainer": "trainers/common", "winnow_trainer_program": "trainers/common", "winnow_gbdt": "trainers/gbdt",
    "winnow_gbdt_objectives": "trainers/gbdt", "winnow_gbdt_kernels": "trainers/gbdt", "winnow_mlp": "trainers/mlp",
    "winnow_mlp_kernels": "trainers/mlp", "winnow_cli": "cli",
    "SQLite::SQLite3": "sqlite3.h", "PostgreSQL::PostgreSQL": "libpq-fe.h", "nlohmann_json::nlohmann_json": "nlohmann", "ZLIB::ZLIB": "zlib.h", "OpenSSL::SSL": "openssl",
    "OpenSSL::Crypto": "openssl", "PkgConfig::RE2": "re2", "CLI11::CLI11": "CLI", "fmt::fmt": "fmt", "spdlog::spdlog": "spdlog",
    "gRPC::grpc++": "grpcpp", "gRPC::grpc++_reflection": "grpcpp", "protobuf::libprotobuf": "google",
    "Threads::Threads": None, "Eigen3::Eigen": "Eigen", "Boost::headers": "boost",
    "PkgConfig::NLOPT": "nlopt.h", "PkgConfig::CJOSE": "cjose", "PkgConfig::PROMETHEUS": "prometheus", "CSV::CSV": "csv.h", "TOML::TOML": "toml++",
    "CURL::libcurl": "curl", "LibXml2::LibXml2": "libxml", "LibArchive::LibArchive": "archive.h", "YAML::YAML": "yaml-cpp",
}


def folder_of(path):
    """The longest folder of RULE that holds `path` (relative to the root)."""
    parts = path.parent.as_posix().split("/")
    for length in range(len(parts), 0, -1):
        folder = "/".join(parts[:length])
        if folder in RULE:
            return folder
    return None


def outside_name(header):
    first = header.split("/")[0]
    if "/" not in header and header in STANDARD:
        return None
    if re.fullmatch(r"(sys|netinet|arpa|linux|net)", first) or (
            "/" not in header and header.endswith(".h") and header not in ("sqlite3.h", "csv.h", "zlib.h", "nlopt.h", "archive.h", "archive_entry.h")):
        return "posix"
    return first


def sources():
    for folder in RULE:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT)
            if path.suffix in (".h", ".cc") and folder_of(relative) == folder:
                yield folder, relative


class IncludeRule(unittest.TestCase):
    def test_sources_include_only_what_their_folder_may(self):
        wrong, seen = [], 0
        for folder, path in sources():
            ours, outside = RULE[folder]
            for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
                if not match:
                    continue
                seen += 1
                header = match.group(2)
                where = f"{path}:{number}: {header}"
                if match.group(1) == '"':
                    if header.startswith("winnow/v1/"):
                        target = "proto"
                    else:
                        target = folder_of(pathlib.Path(header))
                        if target is None and (name := outside_name(header)) in outside:
                            continue
                    if target not in ours | {"base"}:
                        wrong.append(where)
                    elif header.startswith(FORBIDDEN_PREFIXES.get(folder, ("\0",))):
                        wrong.append(where + " (must stay pure)")
                    continue
                name = outside_name(header)
                if name is not None and name not in outside:
                    wrong.append(where)
                if header in FORBIDDEN.get(folder, ()) or header.startswith(FORBIDDEN_PREFIXES.get(folder, ("\0",))):
                    wrong.append(where + " (must stay pure)")
        self.assertGreater(seen, 100)
        self.assertEqual(wrong, [], "includes that break the rule:\n" + "\n".join(wrong))

    def test_link_lines_ask_for_nothing_else(self):
        wrong = []
        for folder in RULE:
            lists = ROOT / folder / "CMakeLists.txt"
            if not lists.exists():
                continue
            rooms = [RULE[name] for name in RULE if name == folder or
                     name.startswith(folder + "/") and not (ROOT / name / "CMakeLists.txt").exists()]
            ours, outside = (set().union(*allowed) for allowed in zip(*rooms))
            text = re.sub(r"#.*", "", lists.read_text())
            for call in re.findall(r"winnow_(?:library|binary)\s*\(([^)]*)\)", text):
                if "LINK" not in call:
                    continue
                for target in call.split("LINK", 1)[1].split():
                    name = "absl" if target.startswith("absl::") else LINK.get(target, f"unknown target {target}")
                    if name is not None and name not in ours and name not in outside:
                        wrong.append(f"{folder}/CMakeLists.txt: {target}")
        self.assertEqual(wrong, [])

    def test_nobody_includes_tests_or_benches(self):
        for folder, path in sources():
            self.assertNotRegex((ROOT / path).read_text(), r'#include "(tests|bench)/', str(path))

    def test_files_and_folders_stay_small(self):
        big = [f"{path}: {count} lines" for _, path in sources()
               if (count := (ROOT / path).read_text().count("\n")) > 700]
        self.assertEqual(big, [], "split these; a file is one noun")
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        held = collections.Counter(pathlib.PurePosixPath(path).parent.as_posix() for path in listed)
        full = [f"{folder}: {count} files" for folder, count in held.items()
                if count > 60 and not re.match("proto|docs", folder)]
        self.assertEqual(full, [], "give these rooms")

    def test_images_are_built_from_every_folder_of_the_programs(self):
        folders = re.findall(r"^add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text(), re.M)
        self.assertIn("trainers", folders)
        kept = (ROOT / ".dockerignore").read_text().split()
        self.assertEqual([folder for folder in folders if "!" + folder not in kept], [], "name these in .dockerignore")

    def test_a_kind_of_pruner_is_named_in_few_files(self):
        listed = subprocess.run(["git", "ls-files", "*.h", "*.cc"], cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout.split()
        named = [path for path in listed
                 if not path.startswith("tests/") and "PrunerKind::" in (ROOT / path).read_text()]
        self.assertIn("scheduler/pruners/pruner.cc", named)
        self.assertLessEqual(len(named), 6, "say it by PrunerTraits: " + ", ".join(named))

    def test_no_circle_of_folders(self):
        arrows = collections.defaultdict(dict)  # folder -> folder -> an include that makes it
        for _, path in sources():
            for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', (ROOT / path).read_text(), re.M):
                target = pathlib.PurePosixPath(header).parent.as_posix()
                if target != path.parent.as_posix() and (ROOT / header).exists():
                    arrows[path.parent.as_posix()].setdefault(target, f"{path} -> {header}")
        self.assertGreater(len(arrows), 20)
        seen = {}  # folder -> whether all that it reaches was looked at

        def visit(folder, way):
            if seen.get(folder) is False:
                steps = way[way.index(folder):] + [folder]
                self.fail("a circle of folders:\n" + "\n".join(arrows[a][b] for a, b in zip(steps, steps[1:])))
            if folder in seen:
                return
            seen[folder] = False
            for target in arrows[folder]:
                visit(target, way + [folder])
            seen[folder] = True

        for folder in list(arrows):
            visit(folder, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
