#include "trainers/gbdt/training_data.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"
#include "trainers/data/shard.h"

namespace winnow::gbdt {
namespace {

// Rows with bins and targets in memory.
BinnedRows InMemory(DataSet data, BinMatrix matrix, int64_t all_rows) {
  auto owner = std::make_shared<DataSet>();
  owner->label = std::move(data.label);
  owner->weight = std::move(data.weight);
  owner->group_begin = std::move(data.group_begin);
  BinnedRows rows;
  rows.matrix = std::move(matrix);
  rows.targets = {data.rows, owner->label, owner->weight, owner->group_begin, data.first_row};
  rows.all_rows = all_rows;
  rows.owner = std::move(owner);
  return rows;
}

// A sum over rows of hashes of the row's number, bins and targets, so that it is independent of the rows'
// distribution over ranks.
uint64_t RowsFingerprint(const FeatureBins& bins, const DataSet& data, uint64_t salt) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
  std::vector<uint64_t> hashes(data.rows);
  for (const std::vector<uint16_t>& column : bins) {
    for (int64_t i = 0; i < data.rows; ++i) hashes[i] = (hashes[i] + column[i] + 1) * kFactor;
  }
  const auto bits = [](float value) { return static_cast<uint64_t>(std::bit_cast<uint32_t>(value)); };
  const bool row_weights = !data.weight.empty() && data.group_begin.empty();
  uint64_t sum = 0;
  for (int64_t i = 0; i < data.rows; ++i) {
    const uint64_t target = bits(data.label[i]) << 32 | (row_weights ? bits(data.weight[i]) : 0);
    sum += HashOf(salt, hashes[i], target, static_cast<uint64_t>(data.first_row + i));
  }
  for (std::size_t g = 0; g + 1 < data.group_begin.size(); ++g)
    sum += HashOf(salt, static_cast<uint64_t>(data.first_row + data.group_begin[g]),
                  data.weight.empty() ? 0 : bits(data.weight[g]));
  return sum;
}

uint64_t CutsFingerprint(const std::vector<FeatureCuts>& cuts) {
  uint64_t hash = cuts.size();
  for (const FeatureCuts& one : cuts) {
    hash = HashOf(hash, one.thresholds.size(), one.categorical);
    for (float threshold : one.thresholds) hash = MixBits(hash ^ std::bit_cast<uint32_t>(threshold));
    for (int32_t category : one.categories) hash = MixBits(hash ^ static_cast<uint64_t>(category));
  }
  return hash;
}

absl::Status SumUp(Communicator* ranks, int64_t* number) {
  uint64_t word = static_cast<uint64_t>(*number);
  const absl::Status status = ranks->AllReduceSum({&word, 1});
  *number = static_cast<int64_t>(word);
  return status;
}

// A group is on one rank. Its first row is relative to the rank's first one.
BinnedRows PartOf(const BinnedRows& all, int rank, int size) {
  struct Owner {
    std::shared_ptr<const void> whole;
    std::vector<int64_t> group_begin;
  };
  const Targets& from = all.targets;
  const bool grouped = !from.group_begin.empty();
  const auto [begin, end] =
      grouped ? GroupRowRange(from.group_begin, rank, size) : RowRange(from.rows, rank, size);
  const auto rows = static_cast<std::size_t>(end - begin);
  auto owner = std::make_shared<Owner>();
  owner->whole = all.owner;
  BinnedRows part;
  part.matrix = all.matrix.Part(begin, end);
  part.targets.rows = end - begin;
  part.targets.first_row = from.first_row + begin;
  part.targets.label = from.label.subspan(begin, rows);
  if (grouped) {
    const auto first = std::lower_bound(from.group_begin.begin(), from.group_begin.end(), begin);
    const auto last = std::lower_bound(first, from.group_begin.end(), end);
    for (auto at = first; at != last; ++at) owner->group_begin.push_back(*at - begin);
    owner->group_begin.push_back(end - begin);
    if (!from.weight.empty())
      part.targets.weight = from.weight.subspan(first - from.group_begin.begin(), last - first);
    part.targets.group_begin = owner->group_begin;
  } else if (!from.weight.empty()) {
    part.targets.weight = from.weight.subspan(begin, rows);
  }
  part.all_rows = all.all_rows;
  part.owner = std::move(owner);
  return part;
}

}  // namespace

absl::StatusOr<TrainingData> MakeTrainingData(DataSet train, std::optional<DataSet> validation, int max_bin,
                                              Communicator* ranks, ThreadPool* pool) {
  TrainingData data;
  data.feature_names = train.feature_names;
  data.schema = train.schema;
  int64_t all_rows = train.rows;
  if (absl::Status status = SumUp(ranks, &all_rows); !status.ok()) return status;
  absl::StatusOr<std::vector<FeatureCuts>> cuts =
      MakeCuts(train, train.first_row, all_rows, max_bin, pool, ranks);
  if (!cuts.ok()) return cuts.status();
  data.cuts = *std::move(cuts);
  const FeatureBins bins = BinsOf(train, data.cuts, pool);
  data.fingerprint = RowsFingerprint(bins, train, 0);
  absl::StatusOr<BinMatrix> matrix = BinMatrix::OfTraining(bins, data.cuts, ranks, pool);
  if (!matrix.ok()) return matrix.status();
  data.train = InMemory(std::move(train), *std::move(matrix), all_rows);
  if (validation) {
    const FeatureBins other_bins = BinsOf(*validation, data.cuts, pool);
    data.fingerprint += RowsFingerprint(other_bins, *validation, 1);
    BinMatrix other = BinMatrix::OfOther(other_bins, data.cuts, pool);
    int64_t all_validation_rows = validation->rows;
    if (absl::Status status = SumUp(ranks, &all_validation_rows); !status.ok()) return status;
    data.validation = InMemory(*std::move(validation), std::move(other), all_validation_rows);
  }
  if (absl::Status status = ranks->AllReduceSum({&data.fingerprint, 1}); !status.ok()) return status;
  data.fingerprint = HashOf(data.fingerprint, CutsFingerprint(data.cuts));
  return data;
}

TrainingData PartOf(TrainingData all, int rank, int size) {
  all.train = PartOf(all.train, rank, size);
  if (all.validation) all.validation = PartOf(*all.validation, rank, size);
  return all;
}

}  // namespace winnow::gbdt
