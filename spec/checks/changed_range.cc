#include "spec/checks/changed_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/changes.h"
#include "scheduler/space/range_change.h"
#include "spec/checks/check_spec.h"
#include "spec/search_spec.h"
#include "spec/values.h"

namespace winnow {
namespace {

using RangeRead = std::variant<RangeChanged, std::vector<Violation>>;

// Violations that the changed spec has and the present one has not.
std::vector<Violation> ViolationsCausedBy(const v1::TuningJobSpec& now, const v1::TuningJobSpec& changed) {
  const std::vector<Violation> before = CheckSpec(now);
  std::vector<Violation> caused;
  for (Violation& violation : CheckSpec(changed)) {
    const bool known = std::any_of(before.begin(), before.end(), [&violation](const Violation& other) {
      return other.field == violation.field && other.description == violation.description;
    });
    // A condition may name values that its parameter does not have any more: then it never holds.
    const bool condition = violation.field.find(".condition.values") != std::string::npos;
    if (!known && !condition) caused.push_back(std::move(violation));
  }
  return caused;
}

// The range of a request, in place of the present one.
class RangeReader {
 public:
  RangeReader(const v1::ChangedRange& given, const v1::TuningJobSpec& spec, const JobState& state)
      : given_(given), spec_(spec), state_(state) {}

  RangeRead Read() {
    const std::vector<Parameter>& parameters = state_.spec().parameters;
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [this](const Parameter& one) { return one.name == given_.parameter(); });
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const Parameter& one : parameters) names.push_back(one.name);
      Add("parameter",
          fmt::format("is \"{}\"; expected one of {}", given_.parameter(), fmt::join(names, ", ")));
      return violations_;
    }
    if (state_.grid() != nullptr) {
      Add("", "is given for a job that tries every point of its grid; expected a job without GRID");
      return violations_;
    }
    const auto index = static_cast<size_t>(found - parameters.begin());
    if (static_cast<int>(index) == state_.spec().nodes_parameter) {
      Add("parameter",
          fmt::format("is \"{}\", which says how many nodes a trial has; expected another parameter",
                      given_.parameter()));
      return violations_;
    }
    Range range = found->range;
    IsListed(range) ? ReadList(range) : ReadEnds(range);
    if (violations_.empty() && range == found->range)
      Add("", "changes nothing; expected another min or max, or values to add or drop");
    if (!violations_.empty()) return violations_;
    const RangeChanged change{"", "", given_.parameter(), ValuesOf(range), IsListed(range)};
    Check(index, range);
    if (!violations_.empty()) return violations_;
    if (std::vector<Violation> wrong = CheckRange(state_, change); !wrong.empty()) return wrong;
    return change;
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field.empty() ? "range" : "range." + field, description});
  }

  template <typename T, typename Ends>
  void ReadEnd(const char* field, const std::string& text, const Range& range, T Ends::*end, Ends& ends) {
    if (text.empty()) return;
    const std::optional<Value> value = ReadValue(range, text);
    const T* const number = value ? std::get_if<T>(&*value) : nullptr;
    if (number == nullptr) {
      Add(field, fmt::format("is \"{}\"; expected {}", text,
                             std::is_same_v<T, int64_t> ? "an integer" : "a number"));
    } else {
      ends.*end = *number;
    }
  }

  void ReadEnds(Range& range) {
    if (given_.add_size() > 0 || given_.drop_size() > 0) {
      Add(given_.add_size() > 0 ? "add" : "drop",
          fmt::format("is given, and {} has a min and a max; expected those", given_.parameter()));
    }
    if (auto* integer = std::get_if<IntegerRange>(&range)) {
      ReadEnd("min", given_.min(), range, &IntegerRange::min, *integer);
      ReadEnd("max", given_.max(), range, &IntegerRange::max, *integer);
      if (violations_.empty()) CheckEnds(integer->min, integer->max, integer->scaling, true);
    } else {
      auto& real = std::get<ContinuousRange>(range);
      ReadEnd("min", given_.min(), range, &ContinuousRange::min, real);
      ReadEnd("max", given_.max(), range, &ContinuousRange::max, real);
      if (violations_.empty()) CheckEnds(real.min, real.max, real.scaling, false);
    }
  }

  template <typename T>
  void CheckEnds(T min, T max, Scaling scaling, bool integer) {
    if (min > max) Add("min", fmt::format("is {}; expected at most the max, {}", min, max));
    if (scaling == Scaling::kLog && !(min > 0))
      Add("min", fmt::format("is {}; expected more than 0, since the scaling is LOG", min));
    if (scaling != Scaling::kReverseLog || integer) return;
    if (!(min >= 0))
      Add("min", fmt::format("is {}; expected at least 0, since the scaling is REVERSE_LOG", min));
    if (!(max < 1))
      Add("max", fmt::format("is {}; expected less than 1, since the scaling is REVERSE_LOG", max));
  }

  void ReadList(Range& range) {
    if (!given_.min().empty() || !given_.max().empty()) {
      Add(given_.min().empty() ? "max" : "min",
          fmt::format("is given, and {} has a list of values; expected add or drop", given_.parameter()));
    }
    std::vector<Value> values = ValuesOf(range);
    const bool numbers = std::holds_alternative<DiscreteRange>(range);
    const auto each = [&](const char* field, const auto& texts, auto take) {
      for (int i = 0; i < texts.size(); ++i) {
        const std::string& text = texts.Get(i);
        const std::string at = fmt::format("{}[{}]", field, i);
        std::optional<Value> value = numbers ? ReadValue(range, text) : std::optional<Value>(text);
        if (!value) {
          Add(at, fmt::format("is \"{}\"; expected a number", text));
        } else {
          take(at, text, *std::move(value));
        }
      }
    };
    each("drop", given_.drop(), [&](const std::string& at, const std::string& text, const Value& value) {
      if (std::erase(values, value) == 0)
        Add(at, fmt::format("is \"{}\"; expected one of {}", text, RangeText(ValuesOf(range), true)));
    });
    each("add", given_.add(), [&](const std::string& at, const std::string& text, Value value) {
      if (std::find(values.begin(), values.end(), value) != values.end()) {
        Add(at, fmt::format("is \"{}\", which {} has already", text, given_.parameter()));
      } else {
        values.push_back(std::move(value));
      }
    });
    if (numbers) std::sort(values.begin(), values.end());
    if (values.empty()) Add("drop", "leaves no value; expected at least one");
    if (!violations_.empty()) return;
    if (auto changed = WithValues(range, values)) range = *std::move(changed);
  }

  // The job would be created with this range.
  void Check(size_t index, const Range& range) {
    v1::TuningJobSpec now = spec_;
    // An initial configuration may be outside the new range: it was tried before, or it is left out.
    now.clear_initial_configurations();
    for (int i = 0; i < now.parameters_size(); ++i)
      WriteRange(state_.spec().parameters[static_cast<size_t>(i)].range, *now.mutable_parameters(i));
    v1::TuningJobSpec changed = now;
    v1::ParameterSpec& parameter = *changed.mutable_parameters(static_cast<int>(index));
    WriteRange(range, parameter);
    const std::optional<Prior>& prior = state_.spec().parameters[index].prior;
    if (!prior || !Contains(range, prior->value)) parameter.clear_prior();
    for (const Violation& violation : ViolationsCausedBy(now, changed))
      Add("", fmt::format("would make the job wrong: {} {}", violation.field, violation.description));
  }

  const v1::ChangedRange& given_;
  const v1::TuningJobSpec& spec_;
  const JobState& state_;
  std::vector<Violation> violations_;
};

}  // namespace

RangeRead ReadRange(const v1::ChangedRange& given, const v1::TuningJobSpec& spec, const JobState& state) {
  return RangeReader(given, spec, state).Read();
}

}  // namespace winnow
