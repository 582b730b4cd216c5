#!/usr/bin/env python3
"""The include rule: a folder includes only from folders and libraries that the table below allows it, and its
CMake link lines ask for nothing else. Run from the repository root."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folder -> (our folders it may include, outside headers by first path component or name).
# The standard library is allowed everywhere; "posix" stands for the system's own headers.
RULE = {
    "scheduler": ({"scheduler", "scheduler/models"}, {"absl", "Eigen", "boost"}),
    "scheduler/models": ({"scheduler/models", "scheduler"}, {"Eigen", "boost", "nlopt.h"}),
    "insight": ({"insight", "scheduler"}, {"absl", "Eigen"}),
    "flags": ({"flags"}, {"CLI", "fmt", "posix"}),
    "json": ({"json", "proto"}, {"absl", "google", "fmt"}),
    "rpc": ({"rpc"}, {"absl", "grpc", "grpcpp", "fmt", "posix"}),
    "artifact": ({"artifact", "proto"}, {"absl", "openssl", "fmt", "posix"}),
    "spec": ({"spec", "scheduler", "proto"}, {"absl", "google", "nlohmann", "fmt", "re2", "posix"}),
    "store": ({"store", "scheduler"}, {"absl", "sqlite3.h", "csv.h", "nlohmann", "fmt", "posix"}),
    "server": ({"flags", "server", "server/http", "store", "spec", "insight", "scheduler", "proto", "rpc", "artifact"},
               {"absl", "google", "grpc", "grpcpp", "nlohmann", "fmt", "spdlog", "openssl", "prometheus", "CLI", "posix"}),
    "server/http": ({"server/http", "server", "rpc", "json", "proto"},
                    {"absl", "boost", "google", "grpc", "grpcpp", "nlohmann", "fmt", "spdlog", "openssl", "zlib.h", "posix"}),
    "worker": ({"flags", "worker", "proto", "rpc", "artifact"}, {"absl", "google", "grpc", "grpcpp", "nlohmann", "fmt", "spdlog", "CLI", "re2", "posix"}),
    "worker/data": ({"worker/data"}, {"absl", "openssl", "zlib.h", "fmt", "posix"}),
    "worker/collective": ({"worker/collective"}, {"absl", "openssl", "fmt", "posix"}),
    "worker/trainer": ({"worker/trainer", "worker/data", "worker/collective"}, {"absl", "nlohmann", "fmt", "CLI", "posix"}),
    "worker/gbdt": ({"worker/gbdt", "worker/trainer", "worker/data", "worker/collective"},
                    {"absl", "nlohmann", "fmt", "CLI", "posix"}),
    "worker/mlp": ({"worker/mlp", "worker/trainer", "worker/data", "worker/collective"},
                   {"absl", "nlohmann", "fmt", "CLI", "posix"}),
    "cli": ({"cli", "flags", "spec", "scheduler", "proto", "rpc", "json", "artifact"},
            {"absl", "google", "grpc", "grpcpp", "nlohmann", "fmt", "CLI", "posix"}),
}

# What may never be included although it is part of the standard library: the scheduler is pure.
PURE = {"thread", "mutex", "condition_variable", "shared_mutex", "atomic", "future", "fstream", "filesystem",
        "iostream", "chrono", "ctime", "random", "cstdio"}
FORBIDDEN = {"scheduler": PURE, "scheduler/models": PURE, "insight": PURE}
FORBIDDEN_PREFIXES = {folder: ("absl/time", "absl/synchronization", "absl/random") for folder in FORBIDDEN}

STANDARD = set("""algorithm any array atomic barrier cassert bit bitset cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio
cstdlib cstring ctime cwchar deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex
new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view strstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version""".split())

# Link names in CMake -> the folder or library they stand for.
LINK = {
    "winnow_proto": "proto", "winnow_rpc": "rpc", "winnow_json": "json", "winnow_flags": "flags", "winnow_artifact": "artifact", "winnow_scheduler": "scheduler", "winnow_spec": "spec", "winnow_insight": "insight", "winnow_store": "store",
    "winnow_server_core": "server", "winnow_http": "server/http", "winnow_dashboard": "server/http", "OpenSSL::SSL": "openssl",
    "winnow_agent": "worker", "winnow_data": "worker/data",
    "winnow_collective": "worker/collective", "winnow_gbdt": "worker/gbdt",
    "winnow_trainer": "worker/trainer", "winnow_trainer_program": "worker/trainer", "winnow_mlp": "worker/mlp", "winnow_mlp_kernels": "worker/mlp",
    "winnow_gbdt_objectives": "worker/gbdt", "winnow_gbdt_kernels": "worker/gbdt", "winnow_cli": "cli",
    "SQLite::SQLite3": "sqlite3.h", "nlohmann_json::nlohmann_json": "nlohmann", "ZLIB::ZLIB": "zlib.h",
    "OpenSSL::Crypto": "openssl", "PkgConfig::RE2": "re2", "CLI11::CLI11": "CLI", "fmt::fmt": "fmt", "spdlog::spdlog": "spdlog",
    "gRPC::grpc++": "grpcpp", "gRPC::grpc++_reflection": "grpcpp", "protobuf::libprotobuf": "google",
    "Threads::Threads": None, "Eigen3::Eigen": "Eigen", "Boost::headers": "boost", "winnow_models": "scheduler/models",
    "PkgConfig::NLOPT": "nlopt.h", "PkgConfig::PROMETHEUS": "prometheus", "CSV::CSV": "csv.h",
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
            "/" not in header and header.endswith(".h") and header not in ("sqlite3.h", "csv.h", "zlib.h", "nlopt.h")):
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
                    if target not in ours:
                        wrong.append(where)
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
        for folder, (ours, outside) in RULE.items():
            lists = ROOT / folder / "CMakeLists.txt"
            if not lists.exists():
                continue
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

    def test_files_stay_small(self):
        big = [f"{path}: {count}" for _, path in sources()
               if (count := (ROOT / path).read_text().count("\n")) > 500]
        self.assertEqual(big, [], "split these; a file is one noun")


if __name__ == "__main__":
    sys.exit(unittest.main())
