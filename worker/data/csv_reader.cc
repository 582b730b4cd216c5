#include "worker/data/csv_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/column_plan.h"
#include "worker/data/csv_column.h"
#include "worker/data/csv_table.h"
#include "worker/data/groups.h"

namespace winnow {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

CsvColumn MakeColumn(const CsvTable& table, int position) {
  return {table.names()[static_cast<size_t>(position)], static_cast<size_t>(position)};
}

// The columns that are wanted, filled by the two passes over the table.
struct Columns {
  std::vector<CsvColumn> features;
  std::vector<CsvColumn> label;   // one or none
  std::vector<CsvColumn> weight;  // one or none
  std::vector<CsvColumn> group;   // one or none
  std::vector<GroupStart> group_starts;
  int64_t rows = 0;

  absl::Status AddNumbers(CellPlace place, const std::vector<std::string_view>& fields) {
    ++rows;
    for (CsvColumn& column : features) column.AddNumber(fields[column.position()], place);
    for (CsvColumn& column : label) {
      if (column.AddNumber(fields[column.position()], place) == CellKind::kMissing) {
        return column.Error(place, fmt::format("the label is missing (\"{}\"); expected one in every row",
                                               Excerpt(fields[column.position()])));
      }
    }
    for (CsvColumn& column : weight) {
      const std::string_view cell = fields[column.position()];
      if (column.AddNumber(cell, place) != CellKind::kNumber || cell[0] == '-') {
        return column.Error(
            place, fmt::format("the weight is \"{}\"; expected a number of 0 or more", Excerpt(cell)));
      }
    }
    for (CsvColumn& column : group) {
      const std::string_view cell = fields[column.position()];
      if (IsMissingCell(cell))
        return column.Error(place, "the query id is missing; expected one in every row");
      if (group_starts.empty() || group_starts.back().id != cell)
        group_starts.push_back({std::string(cell), rows - 1, place});
    }
    return absl::OkStatus();
  }

  absl::Status AddTexts(CellPlace place, const std::vector<std::string_view>& fields) {
    for (std::vector<CsvColumn>* kind : {&features, &label}) {
      for (CsvColumn& column : *kind) {
        if (column.is_text()) column.AddText(fields[column.position()], place);
      }
    }
    return absl::OkStatus();
  }

  absl::Status DecideKinds(const CsvTable& table, const DataSchema* like) {
    for (size_t i = 0; i < features.size(); ++i) {
      const absl::Status status =
          like == nullptr ? features[i].DecideKind() : features[i].SetKind(like->columns[i].text);
      if (!status.ok()) return status;
    }
    if (like == nullptr) {  // what a separator at the end of every line makes
      std::erase_if(features,
                    [&](const CsvColumn& c) { return table.unnamed(c.position()) && c.all_missing(); });
    }
    for (CsvColumn& column : label) {
      const absl::Status status =
          like == nullptr ? column.DecideKind() : column.SetKind(!like->label_levels.empty());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  bool any_text() const {
    const auto is_text = [](const CsvColumn& column) { return column.is_text(); };
    return std::any_of(features.begin(), features.end(), is_text) ||
           std::any_of(label.begin(), label.end(), is_text);
  }
};

// Adds one column of 0 and 1 for each of the schema's levels; NaN in all of them where the text is missing.
void AppendOneHot(const CsvColumn& column, const ColumnSchema& schema, DataSet* data) {
  const size_t first = data->columns.size();
  for (const std::string& level : schema.levels) {
    data->feature_names.push_back(schema.name + "_" + level);
    data->columns.emplace_back(static_cast<size_t>(data->rows), 0.0f);
  }
  const std::vector<int32_t> levels = column.LevelsOfRows(schema.levels);
  for (size_t row = 0; row < levels.size(); ++row) {
    if (levels[row] >= 0) {
      data->columns[first + static_cast<size_t>(levels[row])][row] = 1;
    } else if (levels[row] == CsvColumn::kMissingLevel) {
      for (size_t i = 0; i < schema.levels.size(); ++i) data->columns[first + i][row] = kNaN;
    }
  }
}

void AppendCategorical(const CsvColumn& column, const ColumnSchema& schema, DataSet* data) {
  data->feature_names.push_back(schema.name);
  std::vector<float>& values = data->columns.emplace_back();
  for (const int32_t level : column.LevelsOfRows(schema.levels))
    values.push_back(level >= 0 ? static_cast<float>(level) : kNaN);
}

absl::Status AppendFeature(CsvColumn& column, const ColumnSchema* like, const DataOptions& options,
                           DataSet* data) {
  ColumnSchema schema{like != nullptr ? like->name : column.name(), column.is_text(), {}};
  schema.categorical = column.is_text() && (like != nullptr ? like->categorical : options.categorical);
  if (!column.is_text()) {
    data->feature_names.push_back(schema.name);
    data->columns.push_back(column.TakeNumbers());
  } else {
    schema.levels = like != nullptr ? like->levels : column.SortedLevels();
    if (like == nullptr) {
      if (absl::Status status = column.CheckLevelCount(schema.levels.size(), options.max_levels);
          !status.ok())
        return status;
    }
    if (schema.categorical)
      AppendCategorical(column, schema, data);
    else
      AppendOneHot(column, schema, data);
  }
  data->categorical.resize(data->columns.size(), schema.categorical);
  data->schema.columns.push_back(std::move(schema));
  return absl::OkStatus();
}

absl::Status SetLabel(CsvColumn& column, const DataSchema* like, int max_levels, DataSet* data) {
  if (!column.is_text()) {
    data->label = column.TakeNumbers();
    return absl::OkStatus();
  }
  std::vector<std::string> levels = like != nullptr ? like->label_levels : column.SortedLevels();
  if (like == nullptr) {
    if (absl::Status status = column.CheckLevelCount(levels.size(), max_levels); !status.ok()) return status;
  }
  for (const int32_t level : column.LevelsOfRows(levels)) {
    if (level < 0) {
      const auto [place, text] = column.FirstUnknown(levels);
      return column.Error(place,
                          fmt::format("label \"{}\" is not a class of the training data; expected one of {}",
                                      Excerpt(text), fmt::join(levels, ", ")));
    }
    data->label.push_back(static_cast<float>(level));
  }
  data->schema.label_levels = std::move(levels);
  return absl::OkStatus();
}

absl::Status CheckFeatureNames(const std::string& path, const DataSet& data) {
  std::set<std::string_view> seen;
  for (const std::string& name : data.feature_names) {
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: two features would be named \"{}\", one of them a level of a text column; rename a column",
          path, name));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DataSet> ReadCsv(const std::vector<SourceFile>& files, const DataOptions& options,
                                const DataSchema* like) {
  const absl::StatusOr<CsvTable> table = CsvTable::Open(&files, options, like);
  if (!table.ok()) return table.status();
  const std::string& path = table->path();
  const absl::StatusOr<ColumnPlan> plan =
      PlanColumns(path, table->names(), table->has_header(), options, like);
  if (!plan.ok()) return plan.status();

  Columns columns;
  for (const int position : plan->features) columns.features.push_back(MakeColumn(*table, position));
  if (plan->label >= 0) columns.label.push_back(MakeColumn(*table, plan->label));
  if (plan->weight >= 0) columns.weight.push_back(MakeColumn(*table, plan->weight));
  if (plan->group >= 0) columns.group.push_back(MakeColumn(*table, plan->group));
  absl::Status status =
      table->ForEachRecord([&](CellPlace place, const std::vector<std::string_view>& fields) {
        return columns.AddNumbers(place, fields);
      });
  if (!status.ok()) return status;
  if (columns.rows == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: a header but no rows; expected at least one line of data below it", path));
  }
  if (status = columns.DecideKinds(*table, like); !status.ok()) return status;
  if (columns.features.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: no feature column holds a value; expected at least one", path));
  }
  if (columns.any_text()) {
    status = table->ForEachRecord([&](CellPlace place, const std::vector<std::string_view>& fields) {
      return columns.AddTexts(place, fields);
    });
    if (!status.ok()) return status;
  }

  DataSet data;
  data.rows = columns.rows;
  for (size_t i = 0; i < columns.features.size(); ++i) {
    const ColumnSchema* column_like = like != nullptr ? &like->columns[i] : nullptr;
    status = AppendFeature(columns.features[i], column_like, options, &data);
    if (!status.ok()) return status;
  }
  for (CsvColumn& column : columns.label) {
    if (status = SetLabel(column, like, options.max_levels, &data); !status.ok()) return status;
  }
  if (like != nullptr) data.schema.label_levels = like->label_levels;
  for (CsvColumn& column : columns.weight) data.weight = column.TakeNumbers();
  if (!data.weight.empty() && *std::max_element(data.weight.begin(), data.weight.end()) == 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: column \"{}\": every weight is 0; expected some above 0", path, columns.weight[0].name()));
  }
  if (!columns.group.empty()) {
    absl::StatusOr<std::vector<int64_t>> begins = GroupBegins(columns.group_starts, data.rows);
    if (!begins.ok()) return begins.status();
    data.group_begin = *std::move(begins);
    if (status = WeighGroups(path, data.group_begin, &data.weight); !status.ok()) return status;
  }
  if (status = CheckFeatureNames(path, data); !status.ok()) return status;
  return data;
}

}  // namespace winnow
