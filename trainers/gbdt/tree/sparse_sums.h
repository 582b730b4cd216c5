#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainers/gbdt/bins/sparse_matrix.h"
#include "trainers/gbdt/tree/fixed_gradients.h"
#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {

// A node's sums of those bins of sparse features that its rows are in: all others are 0.
struct SparseSums {
  std::vector<uint32_t> bins;   // numbers as in SparseMatrix, ascending
  std::vector<uint64_t> words;  // of each a PackedSum, or a GradientSum (two words)

  // REQUIRES: the sums are in that form.
  const PackedSum* Packed() const { return words.data(); }
  const GradientSum* Wide() const { return reinterpret_cast<const GradientSum*>(words.data()); }
};

// Memory of one thread, which counting leaves at 0.
struct SparseScratch {
  std::vector<uint64_t> words;    // of every bin
  std::vector<uint64_t> touched;  // one bit a bin
};

// Returns the sums of `count` rows, in packed form or not. bins: the number of all bins of sparse features.
// REQUIRES, for packed sums: as CountRows.
SparseSums CountSparse(const SparseMatrix& matrix, std::size_t bins, const FixedGradients& gradients,
                       const uint32_t* rows, int64_t count, bool packed, SparseScratch* scratch);

// *to += from. REQUIRES: both packed, or neither.
void AddSparse(const SparseSums& from, bool packed, SparseSums* to);

// Returns parent - child in the form `out_packed`, without bins that become 0: so a child of them may have
// bins that its parent has not, whose sums are 0. REQUIRES: out_packed if parent is packed.
SparseSums SubtractSparse(const SparseSums& parent, bool parent_packed, const SparseSums& child,
                          bool child_packed, bool out_packed);

// Appends the sums of bins [begin, end) to a message, and takes them out of one: *at moves behind them.
void PutSparse(const SparseSums& sums, bool packed, uint32_t begin, uint32_t end, std::string* out);
SparseSums TakeSparse(bool packed, const char** at);

}  // namespace winnow::gbdt
