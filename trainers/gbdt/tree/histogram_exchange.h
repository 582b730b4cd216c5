#pragma once

#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/split.h"

namespace winnow::gbdt {

// Distributes the work on a tree's histograms: each rank gets the sums over all rows of some of the slots,
// and searches splits there.
class HistogramExchange {
 public:
  // Keeps a reference to ranks.
  HistogramExchange(const HistogramShape& shape, Communicator* ranks);

  // This rank's slots of the shape: [first_slot, end_slot).
  int first_slot() const { return begins_[ranks_.rank()]; }
  int end_slot() const { return begins_[ranks_.rank() + 1]; }

  // Replaces this rank's slots and sparse features in each histogram by the sums over all ranks, and removes
  // the other sparse features. REQUIRES: histograms of the same nodes, in the same forms, on all ranks.
  absl::Status Sum(const std::vector<Histogram*>& histograms);

  // This rank's result for one node: the best split it has found, and its number of the node's rows.
  struct Finding {
    Split* split;
    int64_t rows;
  };
  // Replaces each split by the best that any rank has found for the node, and the rows by those of all ranks.
  absl::Status Agree(std::vector<Finding>* findings);

 private:
  absl::Status SumChunk(Histogram* const* histograms, std::size_t count);
  // The same for sparse features: sends no more than the bins that this rank's rows are in.
  absl::Status SumSparse(Histogram* const* histograms, std::size_t count);

  Communicator& ranks_;
  const int64_t pad_;
  std::vector<int> begins_;  // [rank + 1], slots of the shape
  std::vector<uint32_t>
      sparse_begins_;  // [rank + 1], numbers of bins of sparse features; empty: there are none
  std::vector<uint64_t> buffer_;
};

}  // namespace winnow::gbdt
