#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "re2/re2.h"
#include "winnow/v1/worker.pb.h"
#include "worker/metrics/metric_record.h"

namespace winnow {

// How to read a trainer's lines. Expressions are RE2 with exactly one group, searched anywhere in a line.
struct MetricRules {
  struct Metric {
    std::string name;
    std::string regex;     // empty: it is read by its key
    std::string key = {};  // of JSON lines and records; empty: the name
  };
  std::vector<Metric> metrics;
  std::string objective;       // the name of one of them
  std::string resource_regex;  // empty: each line with the objective counts as a level
  int64_t resource_offset = 0;
  int64_t counted_from = 0;       // the level before the first counted line
  std::string resource_key = {};  // of levels in records; empty: step, epoch, round, iteration or level
  bool reads_json_lines = true;   // false: records come from elsewhere
};

// All that is read of rank 0; of another rank, whose lines are not reported, the objective alone.
MetricRules RulesOf(const v1::Assignment& assignment);

// A number in a line of which an expression took only the beginning: 1.2 of "1.2e-05", 0 of "0,5".
struct CutNumber {
  std::string metric;
  std::string taken;
  std::string whole;
  bool has_comma = false;  // where it was cut
};

// A line in which an expression found two different numbers: 0.5 and 0.7 in "train loss: 0.5, loss: 0.7".
struct TwoInALine {
  std::string metric;
  double first = 0;  // the number that counts
  double second = 0;
  std::string line;  // its beginning, to the second number; at most 200 bytes
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
//
// Metrics without an expression are read by their keys, from lines that are JSON objects and from records.
// The level is the record's value of the resource key. If the program names none in any line, lines are
// counted as above. If it names one, a record without it belongs to the newest level; one whose level is no
// whole number is ignored.
class MetricParser {
 public:
  // INVALID_ARGUMENT names the metric and the error in its expression.
  static absl::StatusOr<MetricParser> Create(const MetricRules& rules);

  // Returns the values that the line adds, if any.
  std::optional<MetricReading> Parse(std::string_view line);

  // The same for a record of a file.
  std::optional<MetricReading> Add(const MetricRecord& record);

  // Returns the positions in the rules of the metrics whose expression has matched no number so far.
  std::vector<size_t> Unmatched() const;
  // Whether levels are counted: no line has named one so far.
  bool counts() const { return resource_regex_ == nullptr && resource_key_.empty() && !named_level_; }
  // Whether any line has given a level, or produced one by counting.
  bool has_level() const { return has_level_; }
  // The first level below 1 that had a value, which was ignored. Absent: none.
  std::optional<int64_t> below_one() const { return below_one_; }
  // The first number that the level's expression found and that is no level, such as 1.5. Absent: none.
  std::optional<double> no_level() const { return no_level_; }

  // The first number of which the expression of its metric took only the beginning. Absent: none.
  const std::optional<CutNumber>& cut() const { return cut_; }
  // The first line in which an expression of a metric found two different numbers. Absent: none.
  const std::optional<TwoInALine>& two_in_a_line() const { return two_in_a_line_; }
  // The first text that the metric's expression took and that is no number, such as "0,5". "": none.
  const std::string& no_number(size_t metric) const { return metrics_[metric].no_number; }
  // The first value that was ignored because its metric had another one at the level: "loss twice at level 2:
  // 0.1, then 0.3". "": none.
  const std::string& told_twice() const { return told_twice_; }

 private:
  struct Metric {
    std::string name;
    std::shared_ptr<const RE2> regex;  // null: read by its key
    std::string key;
    bool is_objective = false;
    bool matched = false;
    std::string no_number;  // the first text that the expression took and that is none
  };
  struct Value {
    int metric;  // index
    double value;
  };

  MetricParser() = default;
  std::vector<Value> FindValues(std::string_view line);
  void FindKeys(const MetricRecord& record, std::vector<Value>& values);
  // False: the record names a level that is none.
  bool TakeLevel(const MetricRecord& record);
  std::optional<MetricReading> Place(std::vector<Value> values);
  std::optional<MetricReading> Count(std::vector<Value> values);
  std::optional<MetricReading> TakeNew(const std::vector<Value>& values);
  void Ignore(const Value& second, int64_t level, double first);

  std::vector<Metric> metrics_;
  std::shared_ptr<const RE2> resource_regex_;  // null: levels are named by a key, or lines are counted
  std::string resource_key_;
  bool named_level_ = false;  // a record has named a level by a key
  bool reads_json_ = false;   // lines may be records
  int64_t resource_offset_ = 0;
  int64_t level_ = 0;  // the newest; without has_level_, values are ignored
  bool has_level_ = false;
  std::optional<int64_t> below_one_;
  std::optional<double> no_level_;
  std::vector<Value> early_;        // if counting: values that wait for the next objective
  std::vector<bool> comes_before_;  // if counting, by metric: whether its lines precede the objective's
  std::string told_twice_;
  std::optional<CutNumber> cut_;
  std::optional<TwoInALine> two_in_a_line_;
  absl::flat_hash_map<std::pair<int, int64_t>, double> seen_;  // the value of a metric at a level
};

}  // namespace winnow
