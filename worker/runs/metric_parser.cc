#include "worker/runs/metric_parser.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "fmt/format.h"
#include "worker/metrics/text_records.h"

namespace winnow {
namespace {

// Largest level that a double holds exactly.
constexpr double kMaxLevel = 9007199254740992.0;
// Values of which it is known that they were read. Beyond that many it begins to forget, and the server
// ignores what it has.
constexpr size_t kMostSeen = 1 << 18;
constexpr size_t kMostCompiled = 64;    // expressions that are kept
constexpr size_t kMostShown = 100;      // bytes of a text that is no number
constexpr size_t kMostShownLine = 200;  // bytes of a line with two numbers
// How programs name a level, where the job does not say it.
constexpr const char* kLevelKeys[] = {"step", "epoch", "round", "iteration", "level"};

// Parts of one job have the same expressions, and one takes longer to compile than a short part to start.
absl::StatusOr<std::shared_ptr<const RE2>> Compile(const std::string& what, const std::string& expression) {
  thread_local std::map<std::string, std::shared_ptr<const RE2>> compiled;
  if (const auto known = compiled.find(expression); known != compiled.end()) return known->second;
  RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const RE2>(expression, options);
  if (!regex->ok()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: expression \"{}\": {}", what, expression, regex->error()));
  }
  if (regex->NumberOfCapturingGroups() != 1) {
    return absl::InvalidArgumentError(
        fmt::format("{}: expression \"{}\" has {} groups, expected exactly 1 (write "
                    "(?:...) for a group that holds no value)",
                    what, expression, regex->NumberOfCapturingGroups()));
  }
  if (compiled.size() >= kMostCompiled) compiled.clear();
  compiled[expression] = regex;
  return std::shared_ptr<const RE2>(std::move(regex));
}

// "loss=0.25." and "loss=0.25," are common ends of a sentence.
std::optional<double> ParseNumber(absl::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ',' || text.back() == ';'))
    text.remove_suffix(1);
  double value;
  if (text.find_first_of("xX") != absl::string_view::npos)
    return std::nullopt;  // Abseil would read hexadecimal
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return value;
}

// What an expression's group matched in a line.
struct Match {
  std::string_view group;
  std::string_view rest;        // of the line, behind the group
  bool ends_with_group = true;  // else the expression matched some of the rest too
};
// `from`: where the search begins in the line.
std::optional<Match> FindGroup(std::string_view line, const RE2& regex, size_t from = 0) {
  re2::StringPiece found[2];  // all, and the group
  const re2::StringPiece text(line.data(), line.size());
  if (!regex.Match(text, from, text.size(), RE2::UNANCHORED, found, 2)) return std::nullopt;
  if (found[1].data() == nullptr) return Match{};
  const char* const end = found[1].data() + found[1].size();
  return Match{std::string_view(found[1].data(), found[1].size()),
               line.substr(static_cast<size_t>(end - line.data())), found[0].data() + found[0].size() == end};
}

std::optional<double> ParseNumber(std::string_view text) {
  return ParseNumber(absl::string_view(text.data(), text.size()));
}

std::optional<double> Find(std::string_view line, const RE2& regex) {
  const std::optional<Match> match = FindGroup(line, regex);
  return match ? ParseNumber(match->group) : std::nullopt;
}

bool BeginsWithDigit(std::string_view text) { return !text.empty() && absl::ascii_isdigit(text.front()); }

// Returns how many characters of the rest go on with the number of the group: a fraction, an exponent, or
// digits behind a decimal comma. Several numbers with commas between them are a list.
size_t NumberGoesOn(const Match& match) {
  const std::string_view number = match.group, rest = match.rest;
  if (!absl::ascii_isdigit(number.back())) return 0;
  size_t end = 0;
  const auto skip_digits = [&] {
    while (BeginsWithDigit(rest.substr(end))) ++end;
  };
  skip_digits();
  const bool is_whole = number.find_first_not_of("+-0123456789") == std::string_view::npos;
  const char sign = end < rest.size() ? rest[end] : '\0';
  const bool has_fraction = sign == '.' || (sign == ',' && match.ends_with_group);
  if (is_whole && has_fraction && BeginsWithDigit(rest.substr(end + 1))) {
    ++end;
    skip_digits();
    if (sign == ',' && rest.substr(end).starts_with(',')) return 0;
  }
  const std::string_view exponent = rest.substr(end);
  if (!exponent.starts_with('e') && !exponent.starts_with('E')) return end;
  const size_t digits = exponent.substr(1).starts_with('-') || exponent.substr(1).starts_with('+') ? 2 : 1;
  if (!BeginsWithDigit(exponent.substr(digits))) return end;
  end += digits;
  skip_digits();
  return end;
}

std::optional<CutNumber> FindCut(const std::string& metric, const Match& match) {
  const size_t more = NumberGoesOn(match);
  if (more == 0) return std::nullopt;
  const std::string taken(match.group);
  return CutNumber{metric, taken, taken + std::string(match.rest.substr(0, more)),
                   match.rest.starts_with(',')};
}

bool AreSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Looks for another number behind the one that the expression found in the line, which counts.
std::optional<TwoInALine> FindAnother(const std::string& metric, std::string_view line, const RE2& regex,
                                      const Match& first, double counts) {
  const auto another = FindGroup(line, regex, line.size() - first.rest.size());
  const std::optional<double> value = another ? ParseNumber(another->group) : std::nullopt;
  if (!value || AreSame(*value, counts)) return std::nullopt;
  const size_t end = line.size() - another->rest.size();
  return TwoInALine{metric, counts, *value, std::string(line.substr(0, std::min(end, kMostShownLine)))};
}

}  // namespace

MetricRules RulesOf(const v1::Assignment& assignment) {
  const bool all = assignment.rank() == 0;
  MetricRules rules;
  for (const v1::MetricDefinition& metric : assignment.metrics()) {
    if (all || metric.name() == assignment.objective_metric())
      rules.metrics.push_back({metric.name(), metric.regex(), metric.key()});
  }
  rules.reads_json_lines = assignment.metrics_file().empty();
  rules.objective = assignment.objective_metric();
  if (!all) return rules;
  rules.resource_key = assignment.resource_key();
  rules.resource_regex = assignment.resource_regex();
  rules.resource_offset = assignment.resource_offset();
  rules.counted_from = assignment.resumes() ? assignment.resource_from() : 0;
  return rules;
}

absl::StatusOr<MetricParser> MetricParser::Create(const MetricRules& rules) {
  MetricParser parser;
  for (const MetricRules::Metric& metric : rules.metrics) {
    Metric& added = parser.metrics_.emplace_back();
    added.name = metric.name;
    added.key = metric.key.empty() ? metric.name : metric.key;
    added.is_objective = metric.name == rules.objective;
    if (metric.regex.empty()) {
      parser.reads_json_ = rules.reads_json_lines;
      continue;
    }
    auto regex = Compile(fmt::format("metric {}", metric.name), metric.regex);
    if (!regex.ok()) return regex.status();
    added.regex = *std::move(regex);
  }
  if (!rules.resource_regex.empty()) {
    auto regex = Compile("resource_regex", rules.resource_regex);
    if (!regex.ok()) return regex.status();
    parser.resource_regex_ = *std::move(regex);
  } else {
    const bool known = std::any_of(parser.metrics_.begin(), parser.metrics_.end(),
                                   [](const Metric& metric) { return metric.is_objective; });
    if (!known) {
      return absl::InvalidArgumentError(fmt::format(
          "objective \"{}\" is not among the metric definitions, so there is nothing to count levels by; "
          "expected a definition of it or a resource_regex",
          rules.objective));
    }
    parser.level_ = rules.counted_from;
  }
  parser.resource_offset_ = rules.resource_offset;
  parser.resource_key_ = rules.resource_key;
  parser.comes_before_.assign(parser.metrics_.size(), false);
  return parser;
}

std::optional<MetricReading> MetricParser::Parse(std::string_view line) {
  std::vector<Value> values = FindValues(line);
  const std::optional<MetricRecord> record = reads_json_ ? ReadJsonRecord(line) : std::nullopt;
  if (record) FindKeys(*record, values);
  if (resource_regex_ != nullptr) {
    const std::optional<double> found = Find(line, *resource_regex_);
    if (found && std::abs(*found) <= kMaxLevel && *found == std::floor(*found)) {
      level_ = static_cast<int64_t>(*found) + resource_offset_;
      has_level_ = true;
    } else if (found && !no_level_) {
      no_level_ = *found;
    }
    return has_level_ ? TakeNew(values) : std::nullopt;
  }
  if (record && !TakeLevel(*record)) return std::nullopt;
  return Place(std::move(values));
}

std::optional<MetricReading> MetricParser::Add(const MetricRecord& record) {
  std::vector<Value> values;
  FindKeys(record, values);
  return TakeLevel(record) ? Place(std::move(values)) : std::nullopt;
}

std::vector<MetricParser::Value> MetricParser::FindValues(std::string_view line) {
  std::vector<Value> values;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].regex == nullptr) continue;
    const std::optional<Match> match = FindGroup(line, *metrics_[i].regex);
    const std::optional<double> value = match ? ParseNumber(match->group) : std::nullopt;
    if (match && !value && metrics_[i].no_number.empty())
      metrics_[i].no_number = match->group.substr(0, kMostShown);
    if (!value.has_value()) continue;
    if (!cut_) cut_ = FindCut(metrics_[i].name, *match);
    if (!cut_ && !two_in_a_line_)
      two_in_a_line_ = FindAnother(metrics_[i].name, line, *metrics_[i].regex, *match, *value);
    metrics_[i].matched = true;
    values.push_back({static_cast<int>(i), *value});
  }
  return values;
}

void MetricParser::FindKeys(const MetricRecord& record, std::vector<Value>& values) {
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].regex != nullptr) continue;
    const std::optional<double> value = record.Find(metrics_[i].key);
    if (!value.has_value()) continue;
    metrics_[i].matched = true;
    values.push_back({static_cast<int>(i), *value});
  }
}

bool MetricParser::TakeLevel(const MetricRecord& record) {
  std::optional<double> found;
  if (!resource_key_.empty()) {
    found = record.Find(resource_key_);
  } else {
    for (const char* key : kLevelKeys) {
      if (found = record.Find(key); found.has_value()) break;
    }
  }
  if (!found.has_value()) return true;
  if (!(std::abs(*found) <= kMaxLevel) || *found != std::floor(*found)) return false;
  level_ = static_cast<int64_t>(*found) + resource_offset_;
  has_level_ = named_level_ = true;
  return true;
}

std::vector<size_t> MetricParser::Unmatched() const {
  std::vector<size_t> unmatched;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (!metrics_[i].matched) unmatched.push_back(i);
  }
  return unmatched;
}

std::optional<MetricReading> MetricParser::Place(std::vector<Value> values) {
  if (counts()) return Count(std::move(values));
  return has_level_ ? TakeNew(values) : std::nullopt;
}

std::optional<MetricReading> MetricParser::Count(std::vector<Value> values) {
  const bool counts = std::any_of(values.begin(), values.end(),
                                  [this](const Value& value) { return metrics_[value.metric].is_objective; });
  if (counts) {
    for (const Value& value : early_) comes_before_[value.metric] = true;
    values.insert(values.begin(), early_.begin(), early_.end());
    early_.clear();
    ++level_;
    has_level_ = true;
    return TakeNew(values);
  }
  const auto waits = [this](const Value& value) { return !has_level_ || comes_before_[value.metric]; };
  for (const Value& value : values) {
    if (!waits(value)) continue;
    const auto known = std::find_if(early_.begin(), early_.end(),
                                    [&value](const Value& early) { return early.metric == value.metric; });
    if (known == early_.end()) {
      early_.push_back(value);
    } else {
      Ignore(value, level_ + 1, known->value);
    }
  }
  values.erase(std::remove_if(values.begin(), values.end(), waits), values.end());
  return TakeNew(values);
}

std::optional<MetricReading> MetricParser::TakeNew(const std::vector<Value>& values) {
  if (level_ < 1) {
    if (!values.empty() && !below_one_) below_one_ = level_;
    return std::nullopt;
  }
  MetricReading reading{level_, {}};
  for (const Value& value : values) {
    if (seen_.size() >= kMostSeen) seen_.clear();
    const auto [known, is_new] = seen_.try_emplace({value.metric, level_}, value.value);
    if (is_new) {
      reading.metrics.emplace_back(metrics_[value.metric].name, value.value);
    } else {
      Ignore(value, level_, known->second);
    }
  }
  if (reading.metrics.empty()) return std::nullopt;
  return reading;
}

void MetricParser::Ignore(const Value& second, int64_t level, double first) {
  if (AreSame(second.value, first) || !told_twice_.empty()) return;
  told_twice_ = fmt::format("{} twice at level {}: {:.6g}, then {:.6g}", metrics_[second.metric].name, level,
                            first, second.value);
}

}  // namespace winnow
