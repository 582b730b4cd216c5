#include "scheduler/state/completion_index.h"

#include <algorithm>
#include <numeric>

namespace winnow {
namespace {

constexpr size_t kMostInRun = 1024;

double SumOf(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

void OrderedSums::Add(double value) {
  ++size_;
  auto block = std::lower_bound(blocks_.begin(), blocks_.end(), value,
                                [](const Block& b, double v) { return b.values.back() < v; });
  if (block == blocks_.end()) {
    if (blocks_.empty()) blocks_.emplace_back();
    block = std::prev(blocks_.end());
  }
  std::vector<double>& values = block->values;
  values.insert(std::upper_bound(values.begin(), values.end(), value), value);
  if (values.size() > kMostInRun) {
    Block upper{{values.begin() + kMostInRun / 2, values.end()}, 0};
    upper.sum = SumOf(upper.values);
    values.resize(kMostInRun / 2);
    block = std::prev(blocks_.insert(std::next(block), std::move(upper)));
  }
  block->sum = SumOf(block->values);
}

double OrderedSums::SumOfLeast(int64_t count) const {
  double sum = 0;
  auto block = blocks_.begin();
  for (; block != blocks_.end() && static_cast<int64_t>(block->values.size()) <= count; ++block) {
    sum += block->sum;
    count -= static_cast<int64_t>(block->values.size());
  }
  return count > 0 ? std::accumulate(block->values.begin(), block->values.begin() + count, sum) : sum;
}

double OrderedSums::Nth(int64_t index) const {
  auto block = blocks_.begin();
  for (; static_cast<int64_t>(block->values.size()) <= index; ++block) {
    index -= static_cast<int64_t>(block->values.size());
  }
  return block->values[index];
}

void CompletionIndex::Add(std::optional<double> key) {
  ++ended_;
  if (rules_.no_improvement_trials > 0) {
    best_.push_back(std::min(best_.empty() ? kNone : best_.back(), key.value_or(kNone)));
  }
  if (rules_.convergence_tolerance > 0 && key) keys_.Add(*key);
}

}  // namespace winnow
