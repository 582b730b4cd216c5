#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// The named numbers of one line or record that a program wrote.
struct MetricRecord {
  std::vector<std::pair<std::string, double>> values;

  // The first value of that name.
  std::optional<double> Find(std::string_view name) const {
    for (const auto& [known, value] : values) {
      if (known == name) return value;
    }
    return std::nullopt;
  }
};

}  // namespace winnow
