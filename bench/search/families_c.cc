#include "bench/search/families_c.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/search/families.h"

struct winnow_family {
  std::unique_ptr<winnow::Family> family;

  const winnow::FamilyParameter& At(int parameter) const { return family->parameters()[parameter]; }
  std::vector<double> Vector(const double* point) const {
    return {point, point + family->parameters().size()};
  }
};

winnow_family* winnow_family_open(const char* name, char* error, size_t error_size) {
  auto family = winnow::MakeFamily(name);
  if (family.ok()) return new winnow_family{*std::move(family)};
  if (error_size > 0) {
    const std::string message(family.status().message());
    const size_t length = std::min(error_size - 1, message.size());
    std::memcpy(error, message.data(), length);
    error[length] = 0;
  }
  return nullptr;
}

void winnow_family_close(winnow_family* family) { delete family; }

const char* winnow_family_names() {
  static const std::string names = [] {
    std::string joined;
    for (const std::string& name : winnow::FamilyNames()) joined += (joined.empty() ? "" : ",") + name;
    return joined;
  }();
  return names.c_str();
}

int winnow_family_max_resource(const winnow_family* family) { return family->family->max_resource(); }
double winnow_family_optimum(const winnow_family* family) { return family->family->optimum(); }

int winnow_family_parameters(const winnow_family* family) {
  return static_cast<int>(family->family->parameters().size());
}
const char* winnow_family_parameter_name(const winnow_family* family, int parameter) {
  return family->At(parameter).name.c_str();
}
const char* winnow_family_parameter_kind(const winnow_family* family, int parameter) {
  switch (family->At(parameter).kind) {
    case winnow::FamilyKind::kInteger:
      return "integer";
    case winnow::FamilyKind::kCategorical:
      return "categorical";
    default:
      return "continuous";
  }
}
double winnow_family_parameter_min(const winnow_family* family, int parameter) {
  return family->At(parameter).min;
}
double winnow_family_parameter_max(const winnow_family* family, int parameter) {
  return family->At(parameter).max;
}
int winnow_family_parameter_log(const winnow_family* family, int parameter) {
  return family->At(parameter).log;
}

void winnow_family_to_unit(const winnow_family* family, const double* native, double* unit) {
  const std::vector<double> coordinates = family->family->ToUnit(family->Vector(native));
  std::copy(coordinates.begin(), coordinates.end(), unit);
}

double winnow_family_value(const winnow_family* family, const double* unit, int level) {
  return family->family->Value(family->Vector(unit), level);
}
double winnow_family_observed(const winnow_family* family, const double* unit, int level, uint64_t seed) {
  return family->family->Observed(family->Vector(unit), level, seed);
}

void winnow_family_curve(const winnow_family* family, const double* unit, uint64_t seed, double* values,
                         double* observed) {
  const winnow::Family::Curve curve = family->family->WholeCurve(family->Vector(unit), seed);
  std::copy(curve.values.begin(), curve.values.end(), values);
  std::copy(curve.observed.begin(), curve.observed.end(), observed);
}
