#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "insight/trial_columns.h"

namespace winnow {

// Selects trials by one of a request's `filters` (proto/winnow/v1/insight.proto).
class Filter {
 public:
  // INVALID_ARGUMENT says why the text is not a filter.
  static absl::StatusOr<Filter> Parse(std::string_view text, const TrialColumns& columns);

  bool Passes(const TrialColumns& columns, size_t row) const;

 private:
  enum class Field { kParameter, kObjective, kResource, kTraining, kNumber, kBracket, kRung, kNodes, kState };
  double ValueOf(const TrialColumns& columns, size_t row) const;

  Field field_ = Field::kNumber;
  size_t parameter_ = 0;
  bool is_range_ = false;
  double min_ = 0;
  double max_ = 0;
  std::vector<double> one_of_;
};

// INVALID_ARGUMENT names the first invalid one, or says that there are too many.
absl::StatusOr<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts,
                                                 const TrialColumns& columns);

// Returns the rows that pass all filters, rising.
std::vector<uint32_t> Select(const TrialColumns& columns, const std::vector<Filter>& filters);
// Returns Select as a mark for every row.
std::vector<uint8_t> Marks(const TrialColumns& columns, const std::vector<Filter>& filters);

}  // namespace winnow
