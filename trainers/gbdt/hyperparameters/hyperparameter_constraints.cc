#include "trainers/gbdt/hyperparameters/hyperparameter_constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace winnow::gbdt {
namespace {

int FindFeature(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

}  // namespace

absl::StatusOr<std::vector<int>> MonotoneDirections(const GbdtParameters& parameters,
                                                    const std::vector<std::string>& feature_names) {
  std::vector<int> directions = parameters.monotone_constraints;
  if (directions.size() > feature_names.size())
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter monotone_constraints = a list of {}: expected at most {}, one per feature",
        directions.size(), feature_names.size()));
  directions.resize(feature_names.size());
  for (const auto& [name, direction] : parameters.monotone_by_name) {
    const int feature = FindFeature(feature_names, name);
    if (feature < 0)
      return absl::InvalidArgumentError(
          fmt::format("hyperparameter monotone_constraints: {}: expected the name of a feature, as {}", name,
                      feature_names.empty() ? "there is none" : feature_names.front()));
    directions[feature] = direction;
  }
  const bool any = std::any_of(directions.begin(), directions.end(), [](int d) { return d != 0; });
  return any ? directions : std::vector<int>{};
}

absl::StatusOr<std::vector<std::vector<int>>> InteractionGroups(
    const GbdtParameters& parameters, const std::vector<std::string>& feature_names) {
  std::vector<std::vector<int>> groups;
  for (const std::vector<std::string>& given : parameters.interaction_constraints) {
    std::vector<int>& group = groups.emplace_back();
    for (const std::string& entry : given) {
      int feature = FindFeature(feature_names, entry);
      if (feature < 0) {
        const char* end = entry.data() + entry.size();
        const auto [read, error] = std::from_chars(entry.data(), end, feature);
        if (error != std::errc() || read != end) feature = -1;
      }
      if (feature < 0 || feature >= static_cast<int>(feature_names.size()))
        return absl::InvalidArgumentError(fmt::format(
            "hyperparameter interaction_constraints: {}: expected the name of a feature or a number below {}",
            entry, feature_names.size()));
      group.push_back(feature);
    }
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
  }
  return groups;
}

}  // namespace winnow::gbdt
