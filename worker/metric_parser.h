#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "re2/re2.h"

namespace winnow {

// How to read a trainer's lines. Expressions are RE2 with exactly one group, searched anywhere in a line.
struct MetricRules {
  struct Metric {
    std::string name;
    std::string regex;
  };
  std::vector<Metric> metrics;
  std::string objective;       // the name of one of them
  std::string resource_regex;  // empty: each line with the objective counts as a level
  int64_t resource_offset = 0;
  int64_t counted_from = 0;  // the level before the first counted line
};

// Metric values at a resource level; at least one value.
struct MetricReading {
  int64_t resource = 0;  // at least 1
  std::vector<std::pair<std::string, double>> metrics;
};

// Reads resource levels and metric values from the lines of one process, in order.
//
// With a resource expression, a value belongs to the level in its own line, or else to the newest level;
// values before any level are ignored. Without one, each line with the objective is the next level; other
// metrics belong to the line before them, or, if they come before the first objective, to the line after
// them. The first value of a metric at a level counts; later ones are ignored. A group must match a number
// ("nan" and "inf" are), optionally followed by punctuation; other text is ignored.
class MetricParser {
 public:
  // INVALID_ARGUMENT names the metric and the error in its expression.
  static absl::StatusOr<MetricParser> Create(const MetricRules& rules);

  // Returns the values that the line adds, if any.
  std::optional<MetricReading> Parse(std::string_view line);

  // Returns the positions in the rules of the metrics whose expression has matched no number so far.
  std::vector<size_t> Unmatched() const;
  // Whether any line has given a level, or produced one by counting.
  bool has_level() const { return has_level_; }
  // The first level below 1 that had a value, which was ignored. Absent: none.
  std::optional<int64_t> below_one() const { return below_one_; }

 private:
  struct Metric {
    std::string name;
    std::unique_ptr<RE2> regex;
    bool is_objective;
    bool matched = false;
  };
  struct Value {
    int metric;  // index
    double value;
  };

  MetricParser() = default;
  std::vector<Value> FindValues(std::string_view line);
  std::optional<MetricReading> ReadByExpression(std::string_view line);
  std::optional<MetricReading> ReadByCounting(std::string_view line);
  std::optional<MetricReading> TakeNew(const std::vector<Value>& values);

  std::vector<Metric> metrics_;
  std::unique_ptr<RE2> resource_regex_;  // null: lines are counted
  int64_t resource_offset_ = 0;
  int64_t level_ = 0;  // the newest; without has_level_, values are ignored
  bool has_level_ = false;
  std::optional<int64_t> below_one_;
  std::vector<Value> early_;        // if counting: values that wait for the next objective
  std::vector<bool> comes_before_;  // if counting, by metric: whether its lines precede the objective's
  absl::flat_hash_set<std::pair<int, int64_t>> seen_;  // metric, level
};

}  // namespace winnow
