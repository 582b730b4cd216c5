#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/column_facts.h"

namespace winnow {

// Sends this rank's text to all ranks of a group and returns all texts, by rank: Communicator::AllGather.
using Exchange = std::function<absl::StatusOr<std::vector<std::string>>(std::string_view mine)>;

// The exchange of a single rank.
absl::StatusOr<std::vector<std::string>> ExchangeAlone(std::string_view mine);

// Facts needed of all parts of a table before one of them can be read: a part's own, or those of all parts.
struct TableFacts {
  int64_t rows = 0;
  bool weighs = false;  // a weight above 0 was seen
  bool weighted = false, grouped = false;
  std::string first_group, last_group;  // query ids, if grouped
  std::vector<ColumnFacts> columns;     // for CSV: the features, and the label if there is one
  // For LIBSVM: the smallest and the largest index.
  int64_t smallest = std::numeric_limits<int64_t>::max(), largest = -1;

  int64_t first_row = 0;  // of this rank's part; set by the agreement
};

// Returns the facts of the whole table from each rank's facts about its part. InvalidArgument, beginning with
// `path`, if the parts do not have the same columns. All ranks get the same result, except first_row.
absl::StatusOr<TableFacts> AgreeOnFacts(const std::string& path, const TableFacts& mine, int rank,
                                        const Exchange& exchange);

// Returns the union of the ranks' sorted texts, sorted. REQUIRES: the same number of lists on all ranks.
absl::StatusOr<std::vector<std::vector<std::string>>> AgreeOnLevels(
    const std::vector<std::vector<std::string>>& mine, const Exchange& exchange);

// Merges the facts of parts. Pure; the order affects only first_text and the like.
absl::StatusOr<TableFacts> MergeFacts(const std::string& path, const std::vector<TableFacts>& parts);

}  // namespace winnow
