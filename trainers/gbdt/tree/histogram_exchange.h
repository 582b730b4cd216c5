#pragma once

#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// How the ranks share the work on a tree's histograms: each gets the sums over all rows of some of the slots,
// and looks for splits there.
class HistogramExchange {
 public:
  // Keeps a reference to ranks.
  HistogramExchange(const HistogramShape& shape, Communicator* ranks);

  // This rank's slots of the shape: [first_slot, end_slot).
  int first_slot() const { return begins_[ranks_.rank()]; }
  int end_slot() const { return begins_[ranks_.rank() + 1]; }

  // Replaces this rank's slots in each histogram by the sums over all ranks. The histograms are those of the
  // same nodes, in the same forms, on all ranks.
  absl::Status Sum(const std::vector<Histogram*>& histograms);

  // What is known of one node: the best split that this rank has found, and how many of the rows it has.
  struct Finding {
    Split* split;
    int64_t rows;
  };
  // Each split becomes the best that any rank has found for its node, and its rows those of all ranks.
  absl::Status Agree(std::vector<Finding>* findings);

 private:
  absl::Status SumChunk(Histogram* const* histograms, std::size_t count);

  Communicator& ranks_;
  const int64_t pad_;
  std::vector<int> begins_;  // [rank + 1], slots of the shape
  std::vector<uint64_t> buffer_;
};

}  // namespace winnow::gbdt
