#include "trainers/data/column_plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "base/names.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"

namespace winnow {
namespace {

std::string Suggestion(const std::string& wanted, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(wanted, names);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", Excerpt(nearest));
}

class Planner {
 public:
  Planner(const std::string& path, const std::vector<std::string>& names, bool has_header)
      : path_(path), names_(names), has_header_(has_header) {
    for (size_t i = 0; i < names.size(); ++i) by_name_.emplace(names[i], static_cast<int>(i));
  }

  absl::Status CheckUnique() const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (const int first = by_name_.at(names_[i]); first != static_cast<int>(i)) {
        return absl::InvalidArgumentError(
            fmt::format("{}:1: column \"{}\" comes twice, as columns {} and {}; expected each name once",
                        path_, Excerpt(names_[i]), first + 1, i + 1));
      }
    }
    return absl::OkStatus();
  }

  // -1 if it is not there.
  int Find(const std::string& name) const {
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    int number = -1;
    if (!has_header_) {
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
      const bool fits = error == std::errc() && end == name.data() + name.size() && number >= 0;
      if (!fits || number >= static_cast<int>(names_.size())) return -1;
    }
    return number;
  }

  absl::Status NotThere(const char* option, const std::string& name) const {
    if (!has_header_) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: {} column \"{}\" is not there: no header was found, so columns go by number, 0 to {} (if "
          "the first line holds names, set header to \"yes\")",
          path_, option, Excerpt(name), names_.size() - 1));
    }
    return absl::InvalidArgumentError(fmt::format("{}: {} column \"{}\" is not there{} Columns: {}", path_,
                                                  option, Excerpt(name), PunctuatedSuggestion(name),
                                                  Listed(names_)));
  }

  const std::string& path() const { return path_; }

 private:
  std::string PunctuatedSuggestion(const std::string& name) const {
    const std::string suggestion = Suggestion(name, names_);
    return suggestion.empty() ? "." : suggestion;
  }

  const std::string& path_;
  const std::vector<std::string>& names_;
  bool has_header_;
  std::unordered_map<std::string, int> by_name_;
};

bool HadHeader(const DataSchema& schema) {
  return !std::all_of(schema.columns.begin(), schema.columns.end(), [](const ColumnSchema& column) {
    return column.name.starts_with("column_") && column.name.size() > 7 &&
           column.name.find_first_not_of("0123456789", 7) == std::string::npos;
  });
}

bool HasColumn(const DataSchema& schema, const std::string& name) {
  return std::any_of(schema.columns.begin(), schema.columns.end(),
                     [&](const ColumnSchema& column) { return column.name == name; });
}

}  // namespace

std::string PositionName(size_t position) { return fmt::format("column_{}", position); }

absl::StatusOr<ColumnPlan> PlanColumns(const std::string& path, const std::vector<std::string>& names,
                                       bool has_header, const DataOptions& options, const DataSchema* like) {
  const Planner planner(path, names, has_header);
  if (absl::Status status = planner.CheckUnique(); !status.ok()) return status;
  const bool by_name = like != nullptr && has_header && HadHeader(*like);
  ColumnPlan plan;

  if (options.label_must_be_there && planner.Find(options.label) < 0)
    return planner.NotThere("label", options.label);

  // Without names, a file with only as many columns as features is data to predict.
  const bool only_features = like != nullptr && !by_name && names.size() == like->columns.size();
  if (only_features) {
    for (size_t i = 0; i < names.size(); ++i) plan.features.push_back(static_cast<int>(i));
    return plan;
  }

  plan.label = options.label.empty() ? 0 : planner.Find(options.label);
  if (by_name && options.label.empty() && HasColumn(*like, names[0])) plan.label = -1;
  if (plan.label < 0 && like == nullptr) return planner.NotThere("label", options.label);
  const bool to_predict =
      options.to_predict || (like != nullptr && plan.label < 0);  // may lack the others too
  if (!options.weight.empty()) {
    plan.weight = planner.Find(options.weight);
    if (plan.weight < 0 && !to_predict) return planner.NotThere("weight", options.weight);
  }
  if (!options.group.empty()) {
    plan.group = planner.Find(options.group);
    if (plan.group < 0 && !to_predict) return planner.NotThere("group", options.group);
  }
  std::map<int, const char*> roles;
  for (const auto& [position, role] :
       {std::pair(plan.label, "label"), {plan.weight, "weight"}, {plan.group, "group"}}) {
    if (position < 0) continue;
    const auto [before, is_new] = roles.emplace(position, role);
    if (is_new) continue;
    return absl::InvalidArgumentError(fmt::format("{}: column \"{}\" is both {} and {}; expected two columns",
                                                  path, Excerpt(names[static_cast<size_t>(position)]),
                                                  before->second, role));
  }
  std::set<int> taken = {plan.label, plan.weight, plan.group};
  for (const std::string& drop : options.drop) {
    const int position = planner.Find(drop);
    if (position < 0 && like == nullptr) return planner.NotThere("drop", drop);
    if (const auto role = roles.find(position); role != roles.end()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: column \"{}\" is in drop, but it is the {}", path, Excerpt(drop), role->second));
    }
    taken.insert(position);
  }

  if (by_name) {
    for (const ColumnSchema& column : like->columns) {
      const int position = planner.Find(column.name);
      if (position < 0) return planner.NotThere("feature", column.name);
      plan.features.push_back(position);
    }
    return plan;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (taken.count(static_cast<int>(i)) == 0) plan.features.push_back(static_cast<int>(i));
  }
  // One more column than features: the weights, in a file with the layout of the training data.
  if (like != nullptr && !options.training_weight.empty() && plan.features.size() == like->columns.size() + 1)
    std::erase(plan.features, planner.Find(options.training_weight));
  if (plan.features.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no feature column is left beside label, weight, group and drop; expected at least "
                    "one. Columns: {}",
                    path, Listed(names)));
  }
  if (like != nullptr && plan.features.size() != like->columns.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} feature columns, but the training data has {}; expected the same columns", path,
                    plan.features.size(), like->columns.size()));
  }
  return plan;
}

}  // namespace winnow
