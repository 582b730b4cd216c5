#pragma once

#include <cstdint>
#include <vector>

#include "trainers/mlp/network/crew.h"

namespace winnow::mlp {

// Returns the rows of an epoch in training order: a permutation of [0, rows), a function of (seed, epoch).
std::vector<int64_t> EpochOrder(uint64_t seed, int64_t epoch, int64_t rows);

// Returns the start of virtual shard s of a batch of `rows`, s in [0, shards]. Shards are of nearly equal
// size; all but the last have an even number of rows, so that pairs of rows (bf16) stay together.
inline int64_t ShardBegin(int64_t rows, int shards, int s) {
  return s == shards ? rows : (rows / 2) * s / shards * 2;
}

// Returns the shards [begin, end) of rank `rank` of `size`: contiguous, in order of rank, for any number of
// ranks.
inline Part ShardsOf(int shards, int rank, int size) { return PartOf(shards, rank, size); }

}  // namespace winnow::mlp
