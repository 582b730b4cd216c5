#include "trainers/common/agreement.h"

#include <memory>
#include <thread>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/collective/thread_ranks.h"

namespace winnow {
namespace {

// What `work` returns on each of three ranks.
template <typename Work>
auto OnThreeRanks(const Work& work) {
  using Result = decltype(work(0, static_cast<Communicator*>(nullptr)));
  std::vector<std::unique_ptr<Communicator>> communicators = MakeThreadRanks(3);
  std::vector<Result> results(3);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) threads.emplace_back([&, r] { results[r] = work(r, communicators[r].get()); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST_CASE("AgreeOnRequest: every rank learns which one was started with what", "[trainer]") {
  const auto statuses = OnThreeRanks([](int rank, Communicator* ranks) {
    return AgreeOnRequest({{"depth", "6"}, {"eta", rank == 2 ? "0.1" : "0.3"}}, ranks);
  });
  for (const absl::Status& status : statuses)
    CHECK(MessageOf(status) ==
          "rank 2 was started with eta = 0.1, rank 0 with eta = 0.3: expected the same on all");
  for (const absl::Status& status : OnThreeRanks([](int, Communicator* ranks) {
         return AgreeOnRequest({{"eta", "0.3"}}, ranks);
       }))
    CHECK(status.ok());
}

TEST_CASE("AnyoneStops: one rank that has to stop is enough, and all learn of it", "[trainer]") {
  for (const bool told : {false, true}) {
    const std::vector<bool> answers = [&] {
      std::vector<bool> list;
      for (const absl::StatusOr<bool>&answer : OnThreeRanks([&](int rank, Communicator*ranks) {
             const std::atomic<bool> stop{told && rank == 1};
             return AnyoneStops(stop, ranks);
           }))
        list.push_back(answer.ok() && *answer == told);
      return list;
    }();
    CHECK(answers == std::vector<bool>{true, true, true});
  }
}

}  // namespace
}  // namespace winnow
