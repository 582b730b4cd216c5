#include "trainers/data/split.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "base/hash.h"
#include "fmt/format.h"

namespace winnow {
namespace {

// Uniform in [0, 1): number `row` of the generator SplitMix64 that starts at MixBits(seed).
double RowUniform(uint64_t seed, int64_t row) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15ULL;  // of the generator's state
  return UnitOf(MixBits(MixBits(seed) + (static_cast<uint64_t>(row) - 1) * kStep));
}

// Keeps in `from` the rows not chosen and returns the chosen ones.
std::vector<float> TakeChosen(const std::vector<bool>& chosen, int64_t chosen_count,
                              std::vector<float>& from) {
  std::vector<float> taken, kept;
  if (from.empty()) return taken;
  taken.reserve(static_cast<size_t>(chosen_count));
  kept.reserve(from.size() - static_cast<size_t>(chosen_count));
  for (size_t row = 0; row < from.size(); ++row) (chosen[row] ? taken : kept).push_back(from[row]);
  from = std::move(kept);
  return taken;
}

// The same for a sparse column. number[row]: the row's number in its part.
SparseColumn TakeChosen(const std::vector<bool>& chosen, const std::vector<uint32_t>& number,
                        SparseColumn& from) {
  SparseColumn taken, kept;
  taken.used = kept.used = from.used;
  taken.dense_later = kept.dense_later = from.dense_later;
  taken.rest = kept.rest = from.rest;
  for (size_t i = 0; i < from.rows.size(); ++i)
    (chosen[from.rows[i]] ? taken : kept).Add(number[from.rows[i]], from.values[i]);
  from = std::move(kept);
  return taken;
}

}  // namespace

bool RowValidates(uint64_t seed, int64_t row, double validation_fraction) {
  return RowUniform(seed, row) < validation_fraction;
}

absl::StatusOr<std::pair<DataSet, DataSet>> SplitByFraction(DataSet all, double validation_fraction,
                                                            uint64_t seed) {
  if (!(validation_fraction > 0 && validation_fraction < 1)) {
    return absl::InvalidArgumentError(
        fmt::format("validation_fraction is {}; expected a number above 0 and below 1", validation_fraction));
  }
  std::vector<bool> chosen(static_cast<size_t>(all.rows)), chosen_groups;
  int64_t count = 0;
  const bool grouped = !all.group_begin.empty();
  const size_t units = grouped ? all.group_begin.size() - 1 : static_cast<size_t>(all.rows);
  std::vector<int64_t> begins[2] = {{0}, {0}};  // of the remaining groups and of the chosen ones
  for (size_t unit = 0; unit < units; ++unit) {
    const int64_t begin = grouped ? all.group_begin[unit] : static_cast<int64_t>(unit);
    const int64_t end = grouped ? all.group_begin[unit + 1] : begin + 1;
    const bool choose = RowValidates(seed, all.first_row + begin, validation_fraction);
    std::fill(chosen.begin() + begin, chosen.begin() + end, choose);
    if (choose) count += end - begin;
    if (!grouped) continue;
    chosen_groups.push_back(choose);
    begins[choose].push_back(begins[choose].back() + end - begin);
  }
  DataSet validation;
  validation.rows = count;
  validation.feature_names = all.feature_names;
  validation.categorical = all.categorical;
  validation.schema = all.schema;
  for (std::vector<float>& column : all.columns)
    validation.columns.push_back(TakeChosen(chosen, count, column));
  if (!all.sparse.empty()) {
    std::vector<uint32_t> number(chosen.size());
    uint32_t next[2] = {0, 0};
    for (size_t row = 0; row < chosen.size(); ++row) number[row] = next[chosen[row]]++;
    for (SparseColumn& column : all.sparse) validation.sparse.push_back(TakeChosen(chosen, number, column));
  }
  validation.label = TakeChosen(chosen, count, all.label);
  if (grouped) {
    const auto groups = static_cast<int64_t>(begins[1].size()) - 1;
    validation.weight = TakeChosen(chosen_groups, groups, all.weight);
    validation.group_begin = std::move(begins[1]);
    all.group_begin = std::move(begins[0]);
  } else {
    validation.weight = TakeChosen(chosen, count, all.weight);
  }
  all.rows -= count;
  all.first_row = 0;
  return std::make_pair(std::move(all), std::move(validation));
}

absl::Status CheckParts(double validation_fraction, int64_t train_rows, int64_t validation_rows) {
  if (train_rows > 0 && validation_rows > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "validation_fraction {} leaves {} of {} rows for validation; expected at least one row in each part",
      validation_fraction, validation_rows, train_rows + validation_rows));
}

}  // namespace winnow
