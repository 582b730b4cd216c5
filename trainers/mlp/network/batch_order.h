#pragma once

#include <cstdint>
#include <vector>

#include "trainers/mlp/network/crew.h"

namespace winnow::mlp {

// The rows of an epoch in the order that they are trained in: a permutation of [0, rows), a function of
// (seed, epoch).
std::vector<int64_t> EpochOrder(uint64_t seed, int64_t epoch, int64_t rows);

// Where virtual shard s of a batch of `rows` begins, s in [0, shards]: parts of nearly equal size, all but
// the last of an even number of rows, so that pairs of rows (bf16) stay together.
inline int64_t ShardBegin(int64_t rows, int shards, int s) {
  return s == shards ? rows : (rows / 2) * s / shards * 2;
}

// The shards [begin, end) that rank `rank` of `size` takes: contiguous, in order of rank, whoever the ranks
// are.
inline Part ShardsOf(int shards, int rank, int size) { return PartOf(shards, rank, size); }

}  // namespace winnow::mlp
