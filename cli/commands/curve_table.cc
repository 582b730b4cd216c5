#include "cli/commands/curve_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "spec/values.h"

namespace winnow::cli {
namespace {

std::vector<std::string> Split(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> cells;
  while (true) {
    const size_t comma = line.find(',');
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::optional<double> Number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The content of each column.
struct Columns {
  std::vector<int> of_parameter;  // by parameter; -1: none
  int seconds = -1;
  int first_level = 0;
  size_t count = 0;
};

bool NeedsNoColumn(const SearchSpec& spec, size_t parameter) {
  return static_cast<int>(parameter) == spec.own_end_parameter && !spec.parameters[parameter].condition;
}

absl::StatusOr<Columns> ReadHeader(const std::string& where, const std::string& line,
                                   const SearchSpec& spec) {
  const auto wrong = [&where](const std::string& what) {
    return absl::InvalidArgumentError(fmt::format("{}, line 1: {}", where, what));
  };
  const std::vector<std::string> headings = Split(line);
  Columns columns;
  columns.count = headings.size();
  columns.of_parameter.assign(spec.parameters.size(), -1);
  size_t at = 0;
  for (; at < headings.size() && headings[at] != "1"; ++at) {
    const std::string name = headings[at].substr(0, headings[at].find(':'));
    if (name == "seconds_per_unit" || name == "seconds_per_round") {
      columns.seconds = static_cast<int>(at);
      continue;
    }
    const auto named = [&spec](const std::string& text) {
      return std::find_if(spec.parameters.begin(), spec.parameters.end(),
                          [&text](const Parameter& p) { return p.name == text; });
    };
    auto parameter = named(headings[at]);  // a name may have ':' itself
    for (size_t end = headings[at].rfind(':'); end != std::string::npos && end > 0;
         end = headings[at].rfind(':', end - 1)) {
      if (parameter != spec.parameters.end()) break;
      parameter = named(headings[at].substr(0, end));
    }
    if (parameter == spec.parameters.end()) {
      return wrong(
          fmt::format("column \"{}\" is not a hyperparameter that the job tunes; expected those, "
                      "seconds_per_unit, and then levels 1, 2, …",
                      Clean(headings[at])));
    }
    columns.of_parameter[static_cast<size_t>(parameter - spec.parameters.begin())] = static_cast<int>(at);
  }
  columns.first_level = static_cast<int>(at);
  for (size_t level = 1; at < headings.size(); ++at, ++level) {
    if (headings[at] == std::to_string(level)) continue;
    return wrong(fmt::format("column {} is \"{}\"; expected level {}", at + 1, Clean(headings[at]), level));
  }
  if (columns.first_level == static_cast<int>(headings.size()))
    return wrong("no level; expected columns 1, 2, …");
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    if (columns.of_parameter[i] >= 0 || NeedsNoColumn(spec, i)) continue;
    return wrong(fmt::format("no column \"{}\"; expected one for every hyperparameter of the job",
                             Clean(spec.parameters[i].name)));
  }
  return columns;
}

}  // namespace

absl::StatusOr<CurveTable> CurveTable::Read(const std::string& path, const SearchSpec& spec) {
  const std::string where = Clean(path);
  std::ifstream file(path);
  if (!file)
    return absl::NotFoundError(fmt::format("cannot open the table {}: {}", where, std::strerror(errno)));
  std::string line;
  std::getline(file, line);
  const auto columns = ReadHeader(where, line, spec);
  if (!columns.ok()) return columns.status();
  const int own_end = spec.own_end_parameter;
  const bool skips = own_end >= 0 && columns->of_parameter[static_cast<size_t>(own_end)] < 0;
  CurveTable table(spec, skips ? own_end : -1);
  table.has_seconds_ = columns->seconds >= 0;
  table.levels_ = static_cast<int64_t>(columns->count) - columns->first_level;

  for (int64_t number = 2; std::getline(file, line); ++number) {
    if (line.empty() || line == "\r") continue;
    const auto wrong = [&](const std::string& what) {
      return absl::InvalidArgumentError(fmt::format("{}, line {}: {}", where, number, what));
    };
    const std::vector<std::string> cells = Split(line);
    if (cells.size() != columns->count) {
      return wrong(
          fmt::format("{}; expected {}", Count(static_cast<int64_t>(cells.size()), "cell"), columns->count));
    }
    Row row;
    for (size_t i = 0; i < spec.parameters.size(); ++i) {
      const Range& range = spec.parameters[i].range;
      if (static_cast<int>(i) == table.skipped_) {
        row.configuration.push_back(std::get<IntegerRange>(range).min);
        continue;
      }
      const std::string& cell = cells[static_cast<size_t>(columns->of_parameter[i])];
      auto value =
          cell.empty() && spec.parameters[i].condition ? winnow::Value(Inactive{}) : ReadValue(range, cell);
      if (!value) {
        return wrong(fmt::format("{} is \"{}\"; expected {}", Clean(spec.parameters[i].name), Clean(cell),
                                 Clean(ExpectedValue(range))));
      }
      row.configuration.push_back(*std::move(value));
    }
    for (size_t at = 0; at < cells.size(); ++at) {
      const bool level = static_cast<int>(at) >= columns->first_level;
      if (!level && static_cast<int>(at) != columns->seconds) continue;
      const auto value = Number(cells[at]);
      if (!value)
        return wrong(fmt::format("column {} is \"{}\"; expected a number", at + 1, Clean(cells[at])));
      if (level) {
        row.curve.push_back(*value);
      } else if (*value > 0 && std::isfinite(*value)) {
        row.seconds = *value;
      } else {
        return wrong(fmt::format("column {} is \"{}\"; expected seconds above 0", at + 1, Clean(cells[at])));
      }
    }
    if (!table.space_.Holds(row.configuration)) {
      ++table.left_out_;
      continue;
    }
    row.at = table.space_.ToUnit(row.configuration);
    table.rows_.push_back(std::move(row));
  }
  if (table.rows_.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{} has no row inside the job's search space ({} outside); expected "
                    "at least one",
                    where, table.left_out_));
  }
  return table;
}

double CurveTable::mean_seconds() const {
  double sum = 0;
  for (const Row& row : rows_) sum += row.seconds;
  return sum / static_cast<double>(rows_.size());
}

double CurveTable::Distance(const Configuration& configuration, const std::vector<double>& at,
                            const Row& row) const {
  double sum = 0;
  for (size_t i = 0; i < configuration.size(); ++i) {
    if (static_cast<int>(i) == skipped_) continue;
    const auto* categories = std::get_if<CategoricalRange>(&space_.parameters()[i].range);
    const bool apart = (categories != nullptr && !categories->ordered) ||
                       configuration[i].index() != row.configuration[i].index();
    const double difference = apart ? (configuration[i] == row.configuration[i] ? 0 : 1) : at[i] - row.at[i];
    sum += difference * difference;
  }
  return sum;
}

const std::vector<double>& CurveTable::CurveOf(const Configuration& configuration) const {
  const std::vector<double> at = space_.ToUnit(configuration);
  const Row* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Row& row : rows_) {
    const double distance = Distance(configuration, at, row);
    if (nearest != nullptr && distance >= least) continue;
    least = distance;
    nearest = &row;
  }
  return nearest->curve;
}

}  // namespace winnow::cli
