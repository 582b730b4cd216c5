#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/metrics/metric_record.h"

namespace winnow {

// The numbers of a line that is one JSON object; absent: it is not. An object in an object gives names with
// dots
// ("eval.loss"). NaN, Infinity and -Infinity, which Python writes, are numbers, also as strings in any case;
// other strings, lists and truth values are left out. At most 1000 values, to a depth of 8.
std::optional<MetricRecord> ReadJsonRecord(std::string_view line);
// The same of a text that is one JSON object, or a list of objects. Empty: it is neither.
std::vector<MetricRecord> ReadJsonRecords(std::string_view text);

// The cells of a line of a CSV file: separated by commas, quoted by "…", where "" is one quotation mark.
std::vector<std::string> ReadCsvCells(std::string_view line);
// The numbers of a line under a header. Cells that are no numbers are left out.
MetricRecord ReadCsvRecord(const std::vector<std::string>& header, std::string_view line);

}  // namespace winnow
