#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainers/common/thread_pool.h"
#include "trainers/gbdt/bins/bin_matrix.h"

namespace winnow::gbdt {

// Rows of a matrix, ordered so that those of each node are contiguous and ascending.
class RowPartition {
 public:
  struct Range {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  // One node's cut.
  struct Cut {
    int node, left_node;  // the right one is left_node + 1
    int feature;
    std::vector<uint8_t> left_bins;  // [feature's bins, including missing]: 1 if they go left
  };

  // Keeps a reference to the matrix. Node 0 has no rows until Reset.
  explicit RowPartition(const BinMatrix& matrix) : matrix_(matrix) {}

  const BinMatrix& matrix() const { return matrix_; }

  // Starts a new tree with these rows (ascending) in node 0.
  void Reset(std::span<const uint32_t> rows);
  // Starts a new tree with rows 0 .. count - 1.
  void ResetToAll(int64_t count);
  // Reset in two steps: room for up to `most` rows, and, when `count` have been written there, the start.
  uint32_t* Room(int64_t most);
  void Start(int64_t count);

  const uint32_t* rows(int node) const { return rows_.data() + ranges_[node].begin; }
  int64_t count(int node) const { return ranges_[node].size(); }

  // Divides the rows of each cut's node between its children.
  void Apply(const std::vector<Cut>& cuts, ThreadPool* pool);

 private:
  // Orders [begin, end): the rows that go left first. Returns their number.
  int64_t Divide(const Cut& cut, const std::vector<uint8_t>& left, Range range);

  const BinMatrix& matrix_;
  std::vector<uint32_t> rows_, spare_;  // at least as long as there are rows
  std::vector<Range> ranges_;           // by node
};

}  // namespace winnow::gbdt
