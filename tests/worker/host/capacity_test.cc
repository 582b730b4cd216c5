#include "worker/host/capacity.h"

#include <filesystem>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/host/cgroup.h"
#include "worker/host/own_address.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kUnified[] = "/unified";

// A machine of 8 GiB whose process is in the group a/b of the unified tree.
class FakeMachine {
 public:
  FakeMachine() {
    Write("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
    Write("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/c\n0::/a/b\n");
    Write("proc/self/mountinfo", "30 23 0:26 / " + Path(kUnified) + " rw shared:4 - cgroup2 cgroup2 rw\n" +
                                     "31 23 0:27 / " + Path("/memory") + " rw - cgroup cgroup rw,memory\n" +
                                     "32 23 0:28 /c " + Path("/cpu") +
                                     " rw - cgroup cgroup rw,cpu,cpuacct\n");
    fs::create_directories(folder_ / "unified/a/b");
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  HostCapacity Capacity() const { return ReadHostCapacity(folder_ / "proc"); }
  std::string Path(const std::string& below) const { return folder_.path().string() + below; }
  fs::path proc_self() const { return folder_ / "proc/self"; }

 private:
  TempFolder folder_;
};

}  // namespace

TEST_CASE("Capacity: without limits, what the machine has", "[worker]") {
  FakeMachine machine;
  machine.Write("unified/a/cpu.max", "max 100000\n");
  machine.Write("unified/a/memory.max", "max\n");
  CHECK(machine.Capacity().memory_gib == 8);
  CHECK(machine.Capacity().cpus >= 1);
  CHECK(machine.Capacity().cpus == ReadHostCapacity(machine.Path("/nothing")).cpus);
  CHECK(ReadHostCapacity(machine.Path("/nothing")).memory_gib == 0);
}

TEST_CASE("Capacity: the least limit of the group and those above it", "[worker]") {
  FakeMachine machine;
  machine.Write("unified/a/b/cpu.max", "80000 100000\n");
  machine.Write("unified/a/cpu.max", "50000 100000\n");
  machine.Write("unified/a/b/memory.max", "2147483648\n");
  machine.Write("unified/a/memory.max", "4294967296\n");
  CHECK(machine.Capacity().cpus == 0.5);
  CHECK(machine.Capacity().memory_gib == 2);
}

TEST_CASE("Capacity: limits of the first version of control groups hold too", "[worker]") {
  FakeMachine machine;
  machine.Write("cpu/cpu.cfs_quota_us", "25000\n");
  machine.Write("cpu/cpu.cfs_period_us", "100000\n");
  machine.Write("memory/m/memory.limit_in_bytes", "1073741824\n");
  CHECK(machine.Capacity().cpus == 0.25);
  CHECK(machine.Capacity().memory_gib == 1);
  machine.Write("cpu/cpu.cfs_quota_us", "-1\n");
  machine.Write("memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.Capacity().cpus >= 1);
  CHECK(machine.Capacity().memory_gib == 8);
}

TEST_CASE("Cgroup: a process's position, also where a container sees a part of the tree", "[worker]") {
  FakeMachine machine;
  CHECK(FindCgroup("", machine.proc_self())->group == machine.Path("/unified/a/b"));
  CHECK(FindCgroup("cpu", machine.proc_self())->group == machine.Path("/cpu"));
  CHECK(FindCgroup("memory", machine.proc_self())->group == machine.Path("/memory/m"));
  CHECK(!FindCgroup("pids", machine.proc_self()).has_value());
  CHECK(!FindCgroup("", machine.Path("/nothing")).has_value());
}

TEST_CASE("Capacity: labels are names with or without a value", "[worker]") {
  std::map<std::string, std::string> labels;
  for (const char* text : {"gpu=2", "zone=eu-west/1", "fast", "gpu=3", "empty="})
    CHECK(AddLabel(text, &labels).empty());
  CHECK(labels ==
        std::map<std::string, std::string>{{"empty", ""}, {"fast", ""}, {"gpu", "3"}, {"zone", "eu-west/1"}});
  const std::string bad = GENERATE("", "=1", "a b", "a=b c", "a=b=c", "é", std::string(64, 'a'));
  CHECK_THAT(AddLabel(bad, &labels), Catch::StartsWith("\"" + bad + "\": expected NAME or NAME=VALUE"));
  CHECK(labels.size() == 4);
}

TEST_CASE("OwnAddress: loopback for a server on this machine, nothing for one that nobody knows",
          "[worker]") {
  CHECK(OwnAddressTowards("127.0.0.1:7070") == "127.0.0.1");
  CHECK(OwnAddressTowards("localhost:7070") == "127.0.0.1");
  CHECK(OwnAddressTowards("unix:/run/winnow.sock") == "127.0.0.1");
  CHECK(OwnAddressTowards("no-such-host.invalid:7070").empty());
  CHECK(OwnAddressTowards("no address").empty());
}

TEST_CASE("OwnAddress: a loopback host has the identity of its network namespace, another host has none",
          "[worker]") {
  const std::string here = LoopbackOf("127.0.0.1");
  CHECK_THAT(here, Catch::Contains("net:["));
  for (const char* host : {"localhost", "127.0.0.2", "::1"}) CHECK(LoopbackOf(host) == here);
  for (const char* host : {"", "10.0.0.1", "128.0.0.1", "fe80::1", "node7", "localhost.example"})
    CHECK(LoopbackOf(host).empty());
}

}  // namespace winnow
