#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/trainers/collective/thread_ranks.h"
#include "trainers/collective/communicator.h"

namespace winnow {

// Calls work(Communicator*) on a thread for each rank and returns the results by rank. Catch2's assertions
// are for one thread only: `work` returns what the test then checks. A rank that is done leaves the group.
template <typename Work>
auto RunRanks(std::vector<std::unique_ptr<Communicator>> ranks, Work work) {
  using Answer = std::invoke_result_t<Work, Communicator*>;
  std::vector<std::optional<Answer>> answers(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      answers[r].emplace(work(ranks[r].get()));
      ranks[r].reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Answer> all;
  for (std::optional<Answer>& answer : answers) all.push_back(*std::move(answer));
  return all;
}

// RunRanks over ranks in memory. REQUIRES: size >= 1.
template <typename Work>
auto RunRanks(int size, Work work) {
  return RunRanks(MakeThreadRanks(size), work);
}

}  // namespace winnow
