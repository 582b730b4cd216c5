// Ranks as processes that are killed and stopped.
#include <string>

#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/trainers/collective/rank_process.h"

namespace winnow {
namespace {

TEST_CASE("TcpRanks: processes find each other by their environment", "[collective]") {
  for (const auto& rank : StartRanks("rank_program", 3, {"10000", "1000", "50"}))
    CHECK(rank->ReadLine() == "ok");
}

TEST_CASE("TcpRanks: every survivor hears at once which rank was killed", "[collective]") {
  const int size = GENERATE(2, 4), words = GENERATE(1, 2000, 2000000);
  const RankProcesses ranks = StartRanks("rank_program", size, {"3600000", std::to_string(words), "-1"});
  ranks[1]->Signal(SIGKILL);
  for (int r = 0; r < size; ++r) {
    if (r != 1) CHECK(ranks[r]->ReadLine() == "UNAVAILABLE: rank 1 is gone: connection closed");
  }
}

TEST_CASE("TcpRanks: survivors hear which rank was stopped, when patience has run out", "[collective]") {
  const int words = GENERATE(1, 2000000);
  const RankProcesses ranks = StartRanks("rank_program", 4, {"800", std::to_string(words), "-1"});
  ranks[1]->Signal(SIGSTOP);
  const std::string reason = fmt::format(
      "DEADLINE_EXCEEDED: rank 1 stands still: nothing from it for 0.8 s in AllReduceSum of {} words", words);
  for (const int r : {0, 2, 3}) CHECK(ranks[r]->ReadLine() == reason);
  ranks[1]->Signal(SIGCONT);
  CHECK(ranks[1]->ReadLine().find(": rank ") != std::string::npos);
}

}  // namespace
}  // namespace winnow
