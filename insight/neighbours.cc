#include "insight/neighbours.h"

#include <algorithm>
#include <cmath>

namespace winnow {

double Distance(const TrialColumns& columns, size_t a, size_t b) {
  double sum = 0;
  for (size_t i = 0; i < columns.axes().size(); ++i) {
    const double x = columns.position[i][a], y = columns.position[i][b];
    if (std::isnan(x) || std::isnan(y)) {
      sum += std::isnan(x) != std::isnan(y) ? 1 : 0;
    } else if (columns.axes()[i].categorical()) {
      sum += x != y ? 1 : 0;
    } else {
      sum += std::abs(x - y);
    }
  }
  return columns.axes().empty() ? 0 : sum / static_cast<double>(columns.axes().size());
}

std::vector<std::pair<double, uint32_t>> Nearest(const TrialColumns& columns, size_t row, size_t limit) {
  std::vector<std::pair<double, uint32_t>> others;
  others.reserve(columns.size());
  for (uint32_t other = 0; other < columns.size(); ++other) {
    if (other != row) others.emplace_back(Distance(columns, row, other), other);
  }
  const size_t count = std::min(limit, others.size());
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(count), others.end());
  others.resize(count);
  return others;
}

}  // namespace winnow
