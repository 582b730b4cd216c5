#include "worker/preemption.h"

#include <fstream>
#include <optional>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/unkillable.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

// Returns the notice that comes within 60 s; "" if none does. `meanwhile` runs every 10 ms.
std::string AwaitNotice(const PreemptionSource& source, const std::function<void()>& meanwhile = {}) {
  EventLoop loop;
  std::string notice;
  const PreemptionWatch watch(&loop, source, [&](std::string reason) {
    notice = std::move(reason);
    loop.Quit();
  });
  std::function<void()> tick = [&] {
    meanwhile();
    loop.After(milliseconds(10), tick);
  };
  if (meanwhile) tick();
  loop.After(std::chrono::seconds(60), [&loop] { loop.Quit(); });
  loop.Run();
  return notice;
}

}  // namespace

TEST_CASE("Preemption: a command gives notice by exit code 0, with its first line", "[worker]") {
  TempFolder folder;
  const std::string runs = (folder / "runs").string();
  // The first two runs fail.
  const std::string command = "echo run >> " + runs + "; test $(wc -l < " + runs +
                              ") -ge 3 && echo 'terminate at 12:00' && echo more";
  CHECK(AwaitNotice({command, "", milliseconds(10)}) == "preempted: terminate at 12:00");
  CHECK(ReadAll(runs) == "run\nrun\nrun\n");
}

TEST_CASE("Preemption: a command that prints nothing gives notice all the same", "[worker]") {
  CHECK(AwaitNotice({"true", "", milliseconds(10)}) == "preempted: notice by its command");
}

TEST_CASE("Preemption: a command that hangs is killed and run again", "[worker]") {
  TempFolder folder;
  const std::string mark = (folder / "hung").string();
  const std::string command = "test -e " + mark + " || { touch " + mark + "; exec sleep 1000; }; echo second";
  CHECK(AwaitNotice({command, "", milliseconds(10), milliseconds(200)}) == "preempted: second");
}

TEST_CASE("Preemption: beside a command that cannot be killed another is run", "[worker]") {
  TempFolder folder;
  const Unkillable hangs(folder / "pid");
  const std::string command =
      "test -e " + hangs.file().string() + " && echo second && exit 0; " + hangs.command();
  CHECK(AwaitNotice({command, "", milliseconds(10), milliseconds(500)}) == "preempted: second");
}

TEST_CASE("Preemption: a command that cannot be run, or floods, disturbs nothing", "[worker]") {
  TempFolder folder;
  const std::string command =
      GENERATE("/no/such/command", "head -c 10000000 /dev/zero; exit 1", "kill -9 $$");
  int ticks = 0;
  const std::string file = (folder / "notice").string();
  const std::string notice = AwaitNotice({command, file, milliseconds(1)}, [&] {
    if (++ticks == 20) std::ofstream(file) << "end of the test\n";
  });
  CHECK(notice == "preempted: end of the test");
}

TEST_CASE("Preemption: a file that appears is a notice", "[worker]") {
  TempFolder folder;
  const std::string file = (folder / "later/notice").string();
  int ticks = 0;
  const auto appear = [&] {
    if (++ticks == 5) std::filesystem::create_directories(file);
  };
  CHECK(AwaitNotice({"", file, milliseconds(10)}, appear) == "preempted: notice by " + file);
  CHECK(ticks >= 5);
}

TEST_CASE("Preemption: a watch that is gone runs nothing any more", "[worker]") {
  TempFolder folder;
  EventLoop loop;
  std::optional<PreemptionWatch> watch;
  watch.emplace(&loop, PreemptionSource{"sleep 1000", folder / "notice", milliseconds(10)},
                [](const std::string&) { FAIL("a notice"); });
  loop.After(milliseconds(50), [&] {
    watch.reset();
    std::ofstream(folder / "notice") << "late";
    loop.After(milliseconds(50), [&loop] { loop.Quit(); });
  });
  loop.Run();
  CHECK(!watch.has_value());
}

}  // namespace winnow
