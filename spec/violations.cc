#include "spec/violations.h"

#include <algorithm>
#include <string_view>

namespace winnow {
namespace {

// Whether `field` is `outer` or lies inside it: parameters[2].integer in parameters[2].
bool IsWithin(std::string_view field, std::string_view outer) {
  return field.starts_with(outer) &&
         (field.size() == outer.size() || field[outer.size()] == '.' || field[outer.size()] == '[');
}

// Whether a job ends without limits depends on what searches.
bool DependsOn(std::string_view field, std::string_view other) {
  return field == "limits" && (other == "strategy" || other == "pruner.kind" || other == "hyperband");
}

}  // namespace

void AddUnrelated(const std::vector<Violation>& found, std::vector<Violation>* violations) {
  const auto known = static_cast<std::ptrdiff_t>(violations->size());
  for (const Violation& violation : found) {
    const bool repeated =
        std::any_of(violations->begin(), violations->begin() + known, [&](const Violation& other) {
          return !other.field.empty() &&
                 (IsWithin(violation.field, other.field) || IsWithin(other.field, violation.field) ||
                  DependsOn(violation.field, other.field));
        });
    if (!repeated) violations->push_back(violation);
  }
}

}  // namespace winnow
