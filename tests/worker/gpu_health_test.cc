#include "worker/gpu_health.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/unkillable.h"
#include "worker/gpu_use.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

std::vector<v1::Gpu> Named(const std::vector<std::string>& ids) {
  std::vector<v1::Gpu> gpus;
  for (const std::string& id : ids) gpus.emplace_back().set_id(id);
  return gpus;
}

std::vector<std::string> FaultsOf(const std::vector<v1::Gpu>& gpus) {
  std::vector<std::string> faults;
  for (const v1::Gpu& gpu : gpus) faults.push_back(gpu.fault());
  return faults;
}

// The faults after each change, until `until` is true of them or 60 s are over.
std::vector<std::vector<std::string>> Watch(
    const GpuCheck& check, const std::vector<std::string>& ids,
    const std::function<bool(const std::vector<std::string>&)>& until) {
  EventLoop loop;
  std::vector<std::vector<std::string>> changes;
  const std::vector<v1::Gpu> gpus = BeforeCheck(check, Named(ids));
  const GpuHealth health(&loop, check, gpus, [&](const std::vector<v1::Gpu>& now) {
    changes.push_back(FaultsOf(now));
    if (until(changes.back())) loop.Quit();
  });
  loop.After(std::chrono::seconds(60), [&loop] { loop.Quit(); });
  loop.Run();
  return changes;
}

}  // namespace

TEST_CASE("GPU health: a device counts once its check has passed, with variables of its own", "[worker]") {
  GpuCheck check;
  check.interval = milliseconds(10);
  check.command =
      "test $CUDA_VISIBLE_DEVICES$ROCR_VISIBLE_DEVICES$NVIDIA_VISIBLE_DEVICES = 000 && exit 0; "
      "echo \"GPU $CUDA_VISIBLE_DEVICES: row remapping failed\" >&2; exit 3";
  CHECK(FaultsOf(BeforeCheck(check, Named({"0", "1"}))) == std::vector<std::string>{kUnchecked, kUnchecked});
  const auto changes = Watch(check, {"0", "1"}, [](const auto& faults) { return faults[1] != kUnchecked; });
  CHECK(changes ==
        std::vector<std::vector<std::string>>{{"", kUnchecked}, {"", "GPU 1: row remapping failed"}});
}

TEST_CASE("GPU health: a fault that ends is taken back", "[worker]") {
  TempFolder folder;
  GpuCheck check;
  check.interval = milliseconds(10);
  const std::string runs = (folder / "runs").string();
  check.command = "echo run >> " + runs + "; test $(wc -l < " + runs + ") -ge 3";
  const auto changes = Watch(check, {"7"}, [](const auto& faults) { return faults[0].empty(); });
  CHECK(changes ==
        std::vector<std::vector<std::string>>{{"the health command failed with exit code 1"}, {""}});
}

TEST_CASE("GPU health: a command that hangs, is killed or does not exist is a fault", "[worker]") {
  GpuCheck check;
  check.interval = milliseconds(10);
  const auto [command, fault] = GENERATE(
      std::pair<std::string, std::string>{"exec sleep 1000", "the health command did not end within 0.3 s"},
      std::pair<std::string, std::string>{"kill -9 $$", "the health command was killed by signal 9"},
      std::pair<std::string, std::string>{"exec 2>/dev/null; /no/such/command",
                                          "the health command failed with exit code 127"});
  check.command = command;
  if (command == "exec sleep 1000") check.patience = milliseconds(300);
  const auto changes = Watch(check, {"0"}, [](const auto&) { return true; });
  REQUIRE(changes.size() == 1);
  CHECK(changes[0][0] == fault);
}

TEST_CASE("GPU health: a command that cannot be killed is a fault, and the other devices are checked",
          "[worker]") {
  TempFolder folder;
  const Unkillable hangs(folder / "pid");
  const std::string again = (folder / "again").string(), runs = (folder / "runs").string();
  GpuCheck check;
  check.interval = milliseconds(10);
  check.patience = milliseconds(2000);
  // The second device fails in its third check.
  check.command = "if [ $CUDA_VISIBLE_DEVICES = 1 ]; then echo run >> " + runs + "; test $(wc -l < " + runs +
                  ") -lt 3; exit; fi; test -e " + hangs.file().string() + " && touch " + again + "; " +
                  hangs.command();
  const auto changes = Watch(check, {"0", "1"}, [](const auto& faults) {
    return faults[1] == "the health command failed with exit code 1";
  });
  const std::string fault = "the health command did not end within 2 s";
  const std::string failed = "the health command failed with exit code 1";
  CHECK(changes == std::vector<std::vector<std::string>>{{fault, kUnchecked}, {fault, ""}, {fault, failed}});
  CHECK_FALSE(std::filesystem::exists(again));
}

TEST_CASE("GPU use: it is not known any more when a program that cannot be killed is asked", "[worker]") {
  TempFolder folder;
  const Unkillable hangs(folder / "pid");
  const std::filesystem::path program = folder / "nvidia-smi", asked = folder / "asked";
  std::ofstream(program) << "#!/bin/sh\nif ! [ -e " << asked.string() << " ]; then touch " << asked.string()
                         << "; echo 0, GPU-1, 40, 1, 2; exit; fi\n"
                         << hangs.command() << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  EventLoop loop;
  std::vector<double> uses;  // -1: not known
  {
    const GpuUseMeter meter(
        &loop, Named({"0"}), milliseconds(1),
        [&](const std::vector<v1::Gpu>& now) {
          uses.push_back(now[0].has_utilization() ? now[0].utilization() : -1);
          if (uses.size() == 2) loop.Quit();
        },
        milliseconds(5000));
    loop.After(std::chrono::seconds(60), [&loop] { loop.Quit(); });
    loop.Run();
  }
  setenv("PATH", path.c_str(), 1);
  CHECK(uses == std::vector<double>{0.4, -1});
}

TEST_CASE("GPU health: without a command every device is healthy", "[worker]") {
  CHECK(FaultsOf(BeforeCheck({}, Named({"0"}))) == std::vector<std::string>{""});
}

}  // namespace winnow
