#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/search/families.h"

namespace winnow {

// A problem with several objectives, all of them to be minimised, whose whole hypervolume is known.
struct FrontProblem {
  std::vector<FamilyParameter> parameters;
  int levels = 1;
  std::vector<double> reference;  // as many as there are objectives
  double whole = 0;               // the hypervolume of the best front, at the last level
  // At a point of the unit cube and a level of 1 to `levels`.
  std::function<std::vector<double>(const std::vector<double>& unit, int level)> values;
};

// ZDT1 and ZDT2 (Zitzler, Deb and Thiele 2000) over 6 variables, DTLZ2 (Deb et al. 2002) with three
// objectives over 5, and Branin with Currin (as in Daulton et al. 2020).
std::vector<std::string> ClosedFrontProblems();

// One of these, or "FILE+FILE": two recorded tables (recorded_table.h) with the same rows, one for each
// objective. kNotFound: no such name or file. kInvalidArgument: not such a table.
absl::StatusOr<FrontProblem> MakeFrontProblem(const std::string& name);

}  // namespace winnow
