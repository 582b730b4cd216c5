#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/trainers/collective/thread_ranks.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// Returns the results of `work` on each of `ranks` ranks, which are threads of this process.
template <typename Work>
auto OnRanks(int ranks, const Work& work) {
  using Result = decltype(work(0, static_cast<Communicator*>(nullptr)));
  std::vector<std::unique_ptr<Communicator>> communicators = MakeThreadRanks(ranks);
  std::vector<Result> results(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] { results[r] = work(r, communicators[r].get()); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

// The labels, weights and groups of rows, and one rank's part of them.
struct OwnedTargets {
  std::vector<float> label, weight;
  std::vector<int64_t> group_begin;

  Targets all() const { return {static_cast<int64_t>(label.size()), label, weight, group_begin, 0}; }

  // Units are rows, or groups if there are some: takes [begin, end) of them.
  OwnedTargets Part(std::size_t begin, std::size_t end) const {
    OwnedTargets part;
    const bool grouped = !group_begin.empty();
    const std::size_t from = grouped ? group_begin[begin] : begin, to = grouped ? group_begin[end] : end;
    part.label.assign(label.begin() + from, label.begin() + to);
    if (!weight.empty()) part.weight.assign(weight.begin() + begin, weight.begin() + end);
    for (std::size_t g = begin; grouped && g <= end; ++g)
      part.group_begin.push_back(group_begin[g] - group_begin[begin]);
    return part;
  }
  std::size_t units() const { return group_begin.empty() ? label.size() : group_begin.size() - 1; }

  // Returns the start of rank r's part of `ranks`: uneven parts, the last one empty with more than two.
  std::size_t PartBegin(int r, int ranks) const {
    if (r == ranks || (ranks > 2 && r == ranks - 1)) return units();
    return units() * r * (r + 1) / (ranks * (ranks + 1));
  }
  std::size_t RowOf(std::size_t unit) const { return group_begin.empty() ? unit : group_begin[unit]; }
};

}  // namespace winnow::gbdt
