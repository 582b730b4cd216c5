#include "insight/filter.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/status_text.h"

namespace winnow {
namespace {

constexpr size_t kMostFilters = 100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// In the order of TrialPhase.
constexpr const char* kStates[kTrialPhases] = {"pending", "running", "paused",   "completed",
                                               "pruned",  "failed",  "cancelled"};

absl::Status Wrong(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError("\"" + std::string(text) + "\" is not a filter: " + why);
}

std::optional<double> Number(std::string_view text) {
  double number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(number)) return std::nullopt;
  return number;
}

// Returns the position of the first `mark` without a preceding '\'; npos: there is none.
size_t FindUnescaped(std::string_view text, char mark) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == mark) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

std::vector<std::string> Texts(std::string_view rest) {
  std::vector<std::string> texts;
  while (true) {
    const size_t bar = FindUnescaped(rest, '|');
    texts.push_back(Unescape(rest.substr(0, bar)));
    if (bar == std::string_view::npos) return texts;
    rest.remove_prefix(bar + 1);
  }
}

std::string OneOf(const std::vector<std::string>& names) {
  std::string text = "expected one of ";
  for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
  return text;
}

}  // namespace

absl::StatusOr<Filter> Filter::Parse(std::string_view text, const TrialColumns& columns) {
  static const std::vector<std::pair<std::string, Field>> kFields = {{"#objective", Field::kObjective},
                                                                     {"#resource", Field::kResource},
                                                                     {"#training_seconds", Field::kTraining},
                                                                     {"#number", Field::kNumber},
                                                                     {"#bracket", Field::kBracket},
                                                                     {"#rung", Field::kRung},
                                                                     {"#nodes", Field::kNodes},
                                                                     {"#state", Field::kState}};
  const size_t colon = FindUnescaped(text, ':');
  if (colon == std::string_view::npos) return Wrong(text, "expected FIELD:MIN..MAX or FIELD:A|B");
  const std::string name = Unescape(text.substr(0, colon));
  const std::string_view rest = text.substr(colon + 1);
  Filter filter;
  std::vector<std::string> names;
  bool known = false;
  const std::vector<std::string>* words = nullptr;  // allowed texts; null: a number
  // A hyperparameter takes precedence over a field of the same name.
  for (size_t i = 0; i < columns.axes().size() && !known; ++i) {
    names.push_back(columns.axes()[i].name());
    if (names.back() != name) continue;
    known = true;
    filter.field_ = Field::kParameter;
    filter.parameter_ = i;
    if (columns.axes()[i].categorical()) words = &columns.axes()[i].values();
  }
  for (const auto& [field_name, field] : kFields) {
    names.push_back(field_name);
    if (known || field_name != name) continue;
    known = true;
    filter.field_ = field;
  }
  if (!known) return Wrong(text, "there is no \"" + name + "\"; " + OneOf(names));
  static const std::vector<std::string> kStateNames(std::begin(kStates), std::end(kStates));
  if (filter.field_ == Field::kState) words = &kStateNames;

  const size_t dots = words == nullptr ? rest.find("..") : std::string_view::npos;
  if (dots != std::string_view::npos) {
    const std::string_view low = rest.substr(0, dots), high = rest.substr(dots + 2);
    const auto min = low.empty() ? -kInfinity : Number(low), max = high.empty() ? kInfinity : Number(high);
    if (!min || !max) return Wrong(text, "expected numbers before and after the dots, or nothing");
    filter.is_range_ = true;
    filter.min_ = *min;
    filter.max_ = *max;
    return filter;
  }
  for (const std::string& word : Texts(rest)) {
    if (words != nullptr) {
      const auto found = std::find(words->begin(), words->end(), word);
      if (found == words->end()) return Wrong(text, "\"" + word + "\" is unknown; " + OneOf(*words));
      filter.one_of_.push_back(static_cast<double>(found - words->begin()));
      continue;
    }
    const auto number = Number(word);
    if (!number) return Wrong(text, "\"" + word + "\" is not a number; expected MIN..MAX or numbers");
    filter.one_of_.push_back(*number);
  }
  return filter;
}

double Filter::ValueOf(const TrialColumns& columns, size_t row) const {
  switch (field_) {
    case Field::kParameter:
      return columns.number[parameter_][row];
    case Field::kObjective:
      return columns.best[row];
    case Field::kResource:
      return static_cast<double>(columns.resource[row]);
    case Field::kTraining:
      return static_cast<double>(columns.training_us[row]) / 1e6;
    case Field::kNumber:
      return static_cast<double>(row + 1);
    case Field::kBracket:
      return columns.bracket[row];
    case Field::kRung:
      return columns.rung[row];
    case Field::kNodes:
      return columns.nodes[row];
    case Field::kState:
      return static_cast<double>(columns.phase[row]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool Filter::Passes(const TrialColumns& columns, size_t row) const {
  const double value = ValueOf(columns, row);
  if (std::isnan(value)) return false;
  if (is_range_) return value >= min_ && value <= max_;
  return std::find(one_of_.begin(), one_of_.end(), value) != one_of_.end();
}

absl::StatusOr<std::vector<Filter>> ParseFilters(const std::vector<std::string>& texts,
                                                 const TrialColumns& columns) {
  if (texts.size() > kMostFilters) {
    return absl::InvalidArgumentError("filters: " + std::to_string(texts.size()) +
                                      " of them; expected at most " + std::to_string(kMostFilters));
  }
  std::vector<Filter> filters;
  for (size_t i = 0; i < texts.size(); ++i) {
    absl::StatusOr<Filter> filter = Filter::Parse(texts[i], columns);
    if (!filter.ok()) {
      return absl::InvalidArgumentError("filters[" + std::to_string(i) +
                                        "]: " + MessageOf(filter.status()));
    }
    filters.push_back(*std::move(filter));
  }
  return filters;
}

std::vector<uint8_t> Marks(const TrialColumns& columns, const std::vector<Filter>& filters) {
  std::vector<uint8_t> marks(columns.size(), 1);
  for (const Filter& filter : filters) {
    for (size_t row = 0; row < marks.size(); ++row) {
      if (marks[row] != 0 && !filter.Passes(columns, row)) marks[row] = 0;
    }
  }
  return marks;
}

std::vector<uint32_t> Select(const TrialColumns& columns, const std::vector<Filter>& filters) {
  const std::vector<uint8_t> marks = Marks(columns, filters);
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < marks.size(); ++row) {
    if (marks[row] != 0) rows.push_back(row);
  }
  return rows;
}

}  // namespace winnow
