#include "insight/ordering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

namespace winnow {
namespace {

constexpr double kLast = std::numeric_limits<double>::quiet_NaN();

// Returns the alphabetical rank of each of the values.
std::vector<double> AlphabeticalPlaces(const std::vector<std::string>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> places(values.size());
  for (size_t i = 0; i < order.size(); ++i) places[order[i]] = static_cast<double>(i);
  return places;
}

// Returns a key per row, rising in the order; NaN: no value.
absl::StatusOr<std::vector<double>> KeysOf(const TrialColumns& columns, const std::string& order_by,
                                           const std::string& column, bool& descending) {
  std::vector<double> keys(columns.size());
  const auto fill = [&](const auto& value) {
    for (size_t row = 0; row < keys.size(); ++row) keys[row] = static_cast<double>(value(row));
    return keys;
  };
  if (column.empty() || column == "number") return fill([](size_t row) { return row; });
  if (column == "objective") {
    if (columns.completed_first()) {  // the scores alone do not determine the order
      std::fill(keys.begin(), keys.end(), kLast);
      for (size_t i = 0; i < columns.ranked(); ++i) keys[columns.Ranking()[i]] = static_cast<double>(i);
      return keys;
    }
    descending = (columns.goal() == Goal::kMaximize) != descending;
    return columns.best;
  }
  if (column == "resource") return fill([&](size_t row) { return columns.resource[row]; });
  if (column == "training_seconds") return fill([&](size_t row) { return columns.training_us[row]; });
  if (column == "violation") return columns.violation;
  if (column == "state") return fill([&](size_t row) { return static_cast<int>(columns.phase[row]); });
  if (column == "bracket") return fill([&](size_t row) { return columns.bracket[row]; });
  if (column == "nodes") return fill([&](size_t row) { return columns.nodes[row]; });
  if (column == "end_time") {
    return fill([&](size_t row) {
      return columns.end_us[row] == 0 ? kLast : static_cast<double>(columns.end_us[row]);
    });
  }
  std::string names =
      "number, objective, resource, training_seconds, violation, state, bracket, nodes, end_time";
  for (size_t i = 0; i < columns.axes().size(); ++i) {
    names += ", " + columns.axes()[i].name();
    if (columns.axes()[i].name() != column) continue;
    if (!columns.axes()[i].categorical()) return columns.number[i];
    const std::vector<double> places = AlphabeticalPlaces(columns.axes()[i].values());
    return fill([&](size_t row) {
      const double value = columns.number[i][row];
      return std::isnan(value) ? kLast : places[static_cast<size_t>(value)];
    });
  }
  return absl::InvalidArgumentError("order_by: \"" + order_by + "\" is unknown; expected one of " + names);
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> OrderedRows(const TrialColumns& columns,
                                                  const std::vector<uint8_t>& marked,
                                                  const std::string& order_by, size_t offset, size_t limit) {
  std::string column = order_by;
  bool descending = false;
  for (const std::string_view suffix : {" desc", " asc"}) {
    if (!column.ends_with(suffix)) continue;
    descending = suffix == " desc";
    column.resize(column.size() - suffix.size());
    break;
  }
  absl::StatusOr<std::vector<double>> keys = KeysOf(columns, order_by, column, descending);
  if (!keys.ok()) return keys.status();
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < marked.size(); ++row) {
    if (marked[row] != 0) rows.push_back(row);
  }
  const auto before = [&](uint32_t a, uint32_t b) {
    const double x = (*keys)[a], y = (*keys)[b];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    if (x != y) return descending ? x > y : x < y;
    return a < b;
  };
  const size_t begin = std::min(offset, rows.size()),
               end = std::min(rows.size(), begin + std::min(limit, rows.size()));
  // Sorts only the page: the rest is partitioned before and after it.
  if (begin > 0 && begin < rows.size())
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(begin), rows.end(), before);
  std::partial_sort(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                    rows.begin() + static_cast<std::ptrdiff_t>(end), rows.end(), before);
  return std::vector<uint32_t>(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                               rows.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace winnow
