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

// How a trainer's lines are read. Expressions are RE2 with exactly one group, found anywhere in a line.
struct MetricRules {
  struct Metric {
    std::string name;
    std::string regex;
  };
  std::vector<Metric> metrics;
  std::string objective;       // the name of one of them
  std::string resource_regex;  // empty: lines that hold the objective are counted
  int64_t resource_offset = 0;
  int64_t counted_from = 0;  // the level before the first counted line
};

// Metric values at a resource level; at least one.
struct MetricReading {
  int64_t resource = 0;  // at least 1
  std::vector<std::pair<std::string, double>> metrics;
};

// Reads resource levels and metric values from the lines of one process, in their order.
//
// With a resource expression, a value belongs to the level of its own line, or else to the newest level seen;
// values before any level are ignored. Without one, each line that holds the objective is the next level;
// other metrics belong to the line before them, or, if they come before the first objective, to the line
// after them. The first value of a metric at a level counts and later ones are ignored. What a group holds
// must be a number ("nan" and "inf" are), optionally followed by punctuation; anything else is ignored.
class MetricParser {
 public:
  // INVALID_ARGUMENT that names the metric and what is wrong with its expression.
  static absl::StatusOr<MetricParser> Create(const MetricRules& rules);

  // What the line adds, if anything.
  std::optional<MetricReading> Parse(std::string_view line);

  // Of the lines so far: the metrics, by their position in the rules, whose expression has found no number.
  std::vector<size_t> Unmatched() const;
  // Whether any line has said, or by counting has made, a level.
  bool has_level() const { return has_level_; }
  // The first level below 1 to which a value belonged, which is therefore ignored. Absent: there was none.
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
  std::unique_ptr<RE2> resource_regex_;  // null: counted
  int64_t resource_offset_ = 0;
  int64_t level_ = 0;  // the newest; values before the first are ignored when has_level_ is false
  bool has_level_ = false;
  std::optional<int64_t> below_one_;
  std::vector<Value> early_;        // counting: values that wait for the next objective
  std::vector<bool> comes_before_;  // counting, by metric: whether its lines precede the objective's
  absl::flat_hash_set<std::pair<int, int64_t>> seen_;  // metric, level
};

}  // namespace winnow
