#include "trainers/gbdt/bins/quantile_cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/hash.h"
#include "trainers/gbdt/bins/cut_column.h"
#include "trainers/gbdt/bins/radix_sort.h"

namespace winnow::gbdt {
int FeatureCuts::bins() const {
  return categorical ? std::max(1, static_cast<int>(categories.size()))
                     : static_cast<int>(thresholds.size()) + 1;
}

int FeatureCuts::BinOf(float value) const {
  if (!categorical)
    return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), value) -
                            thresholds.begin());
  const auto at =
      std::lower_bound(categories.begin(), categories.end(), value,
                       [](int32_t category, float v) { return static_cast<float>(category) < v; });
  const bool found = at != categories.end() && static_cast<float>(*at) == value;
  return found ? static_cast<int>(at - categories.begin()) : bins();
}

bool IsCutRow(int64_t row, int64_t all_rows) {
  constexpr uint64_t kPurpose = 0x637574726f7773;  // separates these draws from all others
  if (all_rows <= kCutRows) return true;
  const auto below = static_cast<uint64_t>((static_cast<unsigned __int128>(kCutRows) << 64) /
                                           static_cast<unsigned __int128>(all_rows));
  return HashOf(kPurpose, static_cast<uint64_t>(row)) < below;
}

FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin) {
  const ColumnScan scan = ScanColumn(column, max_bin);
  if (scan.few && static_cast<int>(scan.keys.size()) <= MostBins(max_bin, scan.has_missing))
    return CutsOfEach(scan.keys, scan.has_missing);
  const float heaviest = weight.empty() ? 1 : *std::max_element(weight.begin(), weight.end());
  ColumnSample sample = SampleColumn(column, {}, WholeWeights(weight, {}, heaviest));
  return CutsOfSample(&sample, max_bin, scan.has_missing);
}

std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool) {
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  return MakeCuts(data, 0, data.rows, max_bin, pool, sole.get()).value();
}

// Cuts of a table distributed over several ranks: each feature is gathered on one rank, which makes its cuts
// and sends them to all.

namespace {

// Samples in memory at once, on each rank.
constexpr int64_t kBatchBytes = 128 << 20;
constexpr int64_t kLeastBytes = 256;  // of a feature, which may be empty

template <typename T>
void Put(const std::vector<T>& values, std::string* bytes) {
  const uint64_t size = values.size();
  bytes->append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes->append(reinterpret_cast<const char*>(values.data()), size * sizeof(T));
}

// Reads what ranks have put, in the same order.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  void Append(std::vector<T>* values) {
    uint64_t size = 0;
    std::memcpy(&size, bytes_.data(), sizeof size);
    const std::size_t before = values->size();
    values->resize(before + size);
    if (size > 0) std::memcpy(values->data() + before, bytes_.data() + sizeof size, size * sizeof(T));
    bytes_.remove_prefix(sizeof size + size * sizeof(T));
  }
  template <typename T>
  std::vector<T> Take() {
    std::vector<T> values;
    Append(&values);
    return values;
  }

 private:
  std::string_view bytes_;
};

enum Flag : uint8_t { kHasMissing = 1, kFew = 2 };

absl::Status TooManyCategories(const std::string& feature) {
  return absl::InvalidArgumentError(fmt::format(
      "feature {} has more than {} categories: expected at most that; join rare ones, or drop the column",
      feature, kMostCategories));
}

class CutMaker {
 public:
  CutMaker(const DataSet& local, int64_t first_row, int64_t all_rows, int max_bin, ThreadPool* pool,
           Communicator* communicator)
      : data_(local),
        first_row_(first_row),
        all_rows_(all_rows),
        max_bin_(max_bin),
        pool_(pool),
        communicator_(communicator),
        cuts_(local.columns.size()) {}

  absl::StatusOr<std::vector<FeatureCuts>> Make();

 private:
  bool IsCategorical(int f) const {
    return static_cast<std::size_t>(f) < data_.categorical.size() && data_.categorical[f];
  }
  int Owner(int f) const { return f % communicator_->size(); }

  absl::Status AgreeOnWeights();
  absl::Status CheckCategories(const std::vector<int>& features, const std::vector<ColumnScan>& scans);
  absl::Status MakeBatch(const std::vector<int>& features);
  absl::Status MakeSampled(const std::vector<int>& features);

  // Sends the output of put(i, bytes) for features[i] to the feature's owner, calls make(output of each rank)
  // for the cuts of this rank's own features, and distributes these.
  template <typename PutFeature, typename MakeFeature>
  absl::Status BringTogether(const std::vector<int>& features, PutFeature put, MakeFeature make);
  absl::Status Spread(const std::vector<int>& features);

  const DataSet& data_;
  const int64_t first_row_, all_rows_;
  const int max_bin_;
  ThreadPool* const pool_;
  Communicator* const communicator_;
  std::vector<uint32_t> rows_;      // rows of this rank used for cuts; empty: all
  std::vector<int32_t> positions_;  // [row] in rows_, or -1; empty if all are used, or no feature is sparse
  bool none_ = false;               // this rank has no such row
  std::vector<uint32_t> weights_;   // of each of them; empty: all 1
  std::vector<FeatureCuts> cuts_;
  std::vector<uint8_t> few_;  // [feature]: its cuts need no sample
};

std::vector<float> RowWeights(const DataSet& data) {
  if (data.weight.empty() || data.group_begin.empty()) return data.weight;
  std::vector<float> weights(data.rows);
  for (std::size_t g = 0; g + 1 < data.group_begin.size(); ++g)
    std::fill(weights.begin() + data.group_begin[g], weights.begin() + data.group_begin[g + 1],
              data.weight[g]);
  return weights;
}

// Converts weights to whole numbers by the largest of all ranks, and draws rows.
absl::Status CutMaker::AgreeOnWeights() {
  const std::vector<float> weight = RowWeights(data_);
  // Non-negative floats are ordered like their bits; adds 1 if there are weights at all.
  uint64_t heaviest = 0;
  for (const float w : weight)
    heaviest = std::max<uint64_t>(heaviest, std::bit_cast<uint32_t>(w + 0.0f) + 1ull);
  if (absl::Status status = communicator_->AllReduceMax({&heaviest, 1}); !status.ok()) return status;
  if (all_rows_ > kCutRows) {
    for (int64_t i = 0; i < data_.rows; ++i) {
      if (IsCutRow(first_row_ + i, all_rows_)) rows_.push_back(static_cast<uint32_t>(i));
    }
    none_ = rows_.empty();
    if (!data_.sparse.empty()) positions_.assign(data_.rows, -1);
    for (std::size_t i = 0; i < rows_.size() && !positions_.empty(); ++i)
      positions_[rows_[i]] = static_cast<int32_t>(i);
  }
  if (heaviest > 0)
    weights_ = WholeWeights(weight, rows_, std::bit_cast<float>(static_cast<uint32_t>(heaviest - 1)));
  return absl::OkStatus();
}

template <typename PutFeature, typename MakeFeature>
absl::Status CutMaker::BringTogether(const std::vector<int>& features, PutFeature put, MakeFeature make) {
  std::vector<std::string> parts(features.size()), to(communicator_->size());
  pool_->Run(static_cast<int>(features.size()), [&](int i, int) { put(i, &parts[i]); });
  for (std::size_t i = 0; i < features.size(); ++i) to[Owner(features[i])] += std::exchange(parts[i], {});
  const absl::StatusOr<std::vector<std::string>> from = communicator_->AllToAll(std::exchange(to, {}));
  if (!from.ok()) return from.status();
  std::vector<Taker> takers;
  for (const std::string& bytes : *from) takers.emplace_back(bytes);
  make(&takers);
  return Spread(features);
}

absl::Status CutMaker::Spread(const std::vector<int>& features) {
  if (communicator_->size() == 1) return absl::OkStatus();
  std::string mine;
  for (const int f : features) {
    if (Owner(f) != communicator_->rank()) continue;
    const FeatureCuts& cuts = cuts_[f];
    const int flags = (cuts.has_missing ? kHasMissing : 0) | (few_[f] ? kFew : 0);
    Put(std::vector<uint8_t>{static_cast<uint8_t>(flags)}, &mine);
    Put(cuts.thresholds, &mine);
    Put(cuts.categories, &mine);
  }
  const absl::StatusOr<std::vector<std::string>> all = communicator_->AllGather(mine);
  if (!all.ok()) return all.status();
  std::vector<Taker> takers;
  for (const std::string& bytes : *all) takers.emplace_back(bytes);
  for (const int f : features) {
    Taker& taker = takers[Owner(f)];
    const uint8_t flags = taker.Take<uint8_t>()[0];
    few_[f] = (flags & kFew) != 0;
    cuts_[f].has_missing = (flags & kHasMissing) != 0;
    cuts_[f].thresholds = taker.Take<float>();
    cuts_[f].categories = taker.Take<int32_t>();
  }
  return absl::OkStatus();
}

absl::Status CutMaker::CheckCategories(const std::vector<int>& features,
                                       const std::vector<ColumnScan>& scans) {
  constexpr float kEnd = 1 << 24;  // all smaller whole numbers are floats
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!IsCategorical(features[i])) continue;
    const std::string& name = data_.feature_names[features[i]];
    if (!scans[i].few) return TooManyCategories(name);
    for (const uint32_t key : scans[i].keys) {
      const float value = KeyedFloat(key);
      if (!(value >= 0 && value < kEnd && value == static_cast<float>(static_cast<int32_t>(value))))
        return absl::InvalidArgumentError(
            fmt::format("feature {}: {} is no category: expected a whole number from 0", name, value));
    }
  }
  return absl::OkStatus();
}

absl::Status CutMaker::MakeBatch(const std::vector<int>& features) {
  std::vector<ColumnScan> scans(features.size());
  pool_->Run(static_cast<int>(features.size()), [&](int i, int) {
    const int f = features[i];
    const int most = IsCategorical(f) ? kMostCategories : max_bin_;
    scans[i] = data_.IsSparse(f) ? ScanColumn(data_.sparse[f], data_.rows, most)
                                 : ScanColumn(data_.columns[f], most);
  });
  // Reports an error in the data to all ranks before they wait for this one.
  if (absl::Status status = CheckCategories(features, scans); !status.ok()) {
    communicator_->Fail(status);
    return status;
  }
  const auto put = [&](int i, std::string* bytes) {
    const int flags = (scans[i].has_missing ? kHasMissing : 0) | (scans[i].few ? kFew : 0);
    Put(std::vector<uint8_t>{static_cast<uint8_t>(flags)}, bytes);
    Put(scans[i].keys, bytes);
  };
  const auto make = [&](std::vector<Taker>* takers) {
    for (const int f : features) {
      if (Owner(f) != communicator_->rank()) continue;
      ColumnScan all;
      for (Taker& taker : *takers) {
        const uint8_t flags = taker.Take<uint8_t>()[0];
        all.has_missing |= (flags & kHasMissing) != 0;
        all.few &= (flags & kFew) != 0;
        taker.Append(&all.keys);
      }
      std::sort(all.keys.begin(), all.keys.end());
      all.keys.erase(std::unique(all.keys.begin(), all.keys.end()), all.keys.end());
      const auto count = static_cast<int>(all.keys.size());
      few_[f] = IsCategorical(f) || (all.few && count <= MostBins(max_bin_, all.has_missing));
      cuts_[f].has_missing = all.has_missing;
      if (IsCategorical(f)) {
        for (const uint32_t key : all.keys)
          cuts_[f].categories.push_back(static_cast<int32_t>(KeyedFloat(key)));
      } else if (few_[f]) {
        cuts_[f] = CutsOfEach(all.keys, all.has_missing);
      }
    }
  };
  if (absl::Status status = BringTogether(features, put, make); !status.ok()) return status;
  for (const int f : features) {
    if (static_cast<int>(cuts_[f].categories.size()) > kMostCategories)
      return TooManyCategories(data_.feature_names[f]);
  }
  std::vector<int> sampled;
  std::copy_if(features.begin(), features.end(), std::back_inserter(sampled),
               [&](int f) { return !few_[f]; });
  return sampled.empty() ? absl::OkStatus() : MakeSampled(sampled);
}

absl::Status CutMaker::MakeSampled(const std::vector<int>& features) {
  const auto sample_of = [&](int f) {
    if (none_) return ColumnSample();
    if (!data_.IsSparse(f)) return SampleColumn(data_.columns[f], rows_, weights_);
    return SampleColumn(data_.sparse[f], positions_,
                        rows_.empty() ? data_.rows : static_cast<int64_t>(rows_.size()), weights_);
  };
  if (communicator_->size() == 1) {
    pool_->Run(static_cast<int>(features.size()), [&](int i, int) {
      ColumnSample sample = sample_of(features[i]);
      cuts_[features[i]] = CutsOfSample(&sample, max_bin_, cuts_[features[i]].has_missing);
    });
    return absl::OkStatus();
  }
  const auto put = [&](int i, std::string* bytes) {
    const ColumnSample sample = sample_of(features[i]);
    Put(sample.keys, bytes);
    Put(sample.weighted, bytes);
  };
  const auto make = [&](std::vector<Taker>* takers) {
    std::vector<int> mine;
    for (const int f : features) {
      if (Owner(f) == communicator_->rank()) mine.push_back(f);
    }
    std::vector<ColumnSample> samples(mine.size());
    for (ColumnSample& sample : samples) {
      for (Taker& taker : *takers) {
        taker.Append(&sample.keys);
        taker.Append(&sample.weighted);
      }
    }
    pool_->Run(static_cast<int>(mine.size()), [&](int i, int) {
      cuts_[mine[i]] = CutsOfSample(&samples[i], max_bin_, cuts_[mine[i]].has_missing);
    });
  };
  return BringTogether(features, put, make);
}

absl::StatusOr<std::vector<FeatureCuts>> CutMaker::Make() {
  if (absl::Status status = AgreeOnWeights(); !status.ok()) return status;
  const auto count = static_cast<int>(data_.columns.size());
  few_.assign(count, 0);
  for (int f = 0; f < count; ++f) cuts_[f].categorical = IsCategorical(f);
  const int64_t feature_bytes =
      std::max<int64_t>(kLeastBytes, std::min(all_rows_, kCutRows) * static_cast<int64_t>(sizeof(uint64_t)));
  const int64_t at_once = std::max<int64_t>(1, kBatchBytes / feature_bytes) * communicator_->size();
  for (int64_t begin = 0; begin < count; begin += at_once) {
    std::vector<int> features;
    for (int64_t f = begin; f < std::min<int64_t>(count, begin + at_once); ++f)
      features.push_back(static_cast<int>(f));
    if (absl::Status status = MakeBatch(features); !status.ok()) return status;
  }
  return std::move(cuts_);
}

}  // namespace

absl::StatusOr<std::vector<FeatureCuts>> MakeCuts(const DataSet& local, int64_t first_row, int64_t all_rows,
                                                  int max_bin, ThreadPool* pool, Communicator* communicator) {
  return CutMaker(local, first_row, all_rows, max_bin, pool, communicator).Make();
}

}  // namespace winnow::gbdt
