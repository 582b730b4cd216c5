#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/column_plan.h"
#include "trainers/data/csv_parse.h"
#include "trainers/data/csv_table.h"
#include "trainers/data/groups.h"
#include "trainers/data/part_reading.h"

namespace winnow {
namespace {

constexpr float kNoValue = std::numeric_limits<float>::quiet_NaN();

class CsvReading {
 public:
  CsvReading(const PartReading& reading, CsvTable table, const ColumnPlan& plan)
      : reading_(reading), like_(reading.like), table_(std::move(table)) {
    layout_.separator = table_.separator();
    layout_.width = table_.names().size();
    layout_.first_path = table_.path();
    for (const int position : plan.features) AddSlot(position, CsvSlot::kFeature);
    features_ = layout_.slots.size();
    label_ = AddSlot(plan.label, CsvSlot::kLabel);
    weight_ = AddSlot(plan.weight, CsvSlot::kWeight);
    group_ = AddSlot(plan.group, CsvSlot::kGroup);
    for (size_t i = 0; i < kinds(); ++i) {
      CsvSlot& slot = layout_.slots[i];
      slot.as_text = like_ != nullptr ? LikeIsText(i) : table_.begins_with_text(slot.position);
    }
  }

  absl::StatusOr<DataSet> Read(const std::vector<std::string>& paths);

 private:
  // Feature columns and the label, which may be texts. The label is the slot after the features.
  size_t kinds() const { return features_ + label_.has_value(); }
  bool LikeIsText(size_t slot) const {
    return slot < features_ ? like_->columns[slot].text : !like_->label_levels.empty();
  }
  std::optional<size_t> AddSlot(int position, CsvSlot::Role role) {
    if (position < 0) return std::nullopt;
    layout_.slots.push_back(
        {table_.names()[static_cast<size_t>(position)], static_cast<size_t>(position), role});
    return layout_.slots.size() - 1;
  }

  absl::Status Parse(const std::vector<std::string>& paths);
  absl::Status AgreeOnKinds();
  absl::Status AgreeOnAllLevels();
  absl::Status SetFeatures();
  void AppendText(const std::vector<int32_t>& row_levels, const ColumnSchema& schema,
                  const ColumnFacts& facts);
  absl::Status SetLabel();
  absl::Status SetWeightAndGroups();
  absl::Status CheckFeatureNames() const;

  const PartReading& reading_;
  const DataSchema* const like_;
  const CsvTable table_;
  CsvLayout layout_;
  size_t features_ = 0;
  std::optional<size_t> label_, weight_, group_;
  std::optional<CsvParse> parse_;
  TableFacts facts_;                              // over all ranks
  std::vector<std::vector<std::string>> levels_;  // [slot that may be text]; empty if it is not
  std::vector<std::vector<float>> numbers_;       // [slot][row]
  DataSet data_;
};

// Reads the cells, if necessary twice: a column that begins with numbers may have a text later.
absl::Status CsvReading::Parse(const std::vector<std::string>& paths) {
  absl::StatusOr<CsvParse> parse = CsvParse::Of(table_, paths, layout_, reading_.threads);
  if (!parse.ok()) return parse.status();
  parse_ = *std::move(parse);
  if (absl::Status status = AgreeOnKinds(); !status.ok()) return status;
  const std::vector<CsvSlot>& guessed = parse_->layout().slots;
  const bool right = std::equal(guessed.begin(), guessed.end(), layout_.slots.begin(),
                                [](const CsvSlot& a, const CsvSlot& b) { return a.as_text == b.as_text; });
  if (right) return absl::OkStatus();
  const int64_t rows = parse_->rows();
  parse = CsvParse::Of(table_, paths, layout_, reading_.threads);
  if (!parse.ok()) return parse.status();
  parse_ = *std::move(parse);
  bool same = parse_->rows() == rows;
  for (size_t i = 0; i < kinds(); ++i)
    same = same && (layout_.slots[i].as_text || parse_->Facts(i).texts == 0);
  if (same) return absl::OkStatus();
  return absl::AbortedError(reading_.path + ": changed while being read; expected it to stay unchanged");
}

absl::Status CsvReading::AgreeOnKinds() {
  TableFacts mine;
  mine.rows = parse_->rows();
  mine.weighted = weight_.has_value();
  mine.grouped = group_.has_value();
  if (const std::vector<GroupStart> groups = parse_->Groups(); !groups.empty()) {
    mine.first_group = groups.front().id;
    mine.last_group = groups.back().id;
  }
  mine.weighs = weight_ && parse_->HasPositive(*weight_);
  for (size_t i = 0; i < kinds(); ++i) mine.columns.push_back(parse_->Facts(i));
  absl::StatusOr<TableFacts> all = AgreeOnFacts(reading_.path, mine, reading_.rank, reading_.exchange);
  if (!all.ok()) return all.status();
  facts_ = *std::move(all);
  if (facts_.rows == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: a header but no rows; expected at least one line of data below it", table_.path()));
  }
  bool any_feature = like_ != nullptr;
  for (size_t i = 0; i < kinds(); ++i) {
    const ColumnFacts& column = facts_.columns[i];
    absl::StatusOr<bool> is_text = like_ == nullptr ? DecideIsText(column) : LikeIsText(i);
    if (like_ != nullptr) {
      if (absl::Status status = CheckIsText(column, *is_text); !status.ok()) return status;
    }
    if (!is_text.ok()) return is_text.status();
    layout_.slots[i].as_text = *is_text;
    any_feature = any_feature || (i < features_ && column.numbers + column.texts > 0) ||
                  (i < features_ && !table_.unnamed(layout_.slots[i].position));
  }
  if (any_feature) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: no feature column holds a value; expected at least one", table_.path()));
}

absl::Status CsvReading::AgreeOnAllLevels() {
  levels_.resize(kinds());
  if (like_ != nullptr) {
    for (size_t i = 0; i < features_; ++i) levels_[i] = like_->columns[i].levels;
    if (label_) levels_[*label_] = like_->label_levels;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < kinds(); ++i) {
    if (layout_.slots[i].as_text) levels_[i] = parse_->Levels(i);
  }
  absl::StatusOr<std::vector<std::vector<std::string>>> all = AgreeOnLevels(levels_, reading_.exchange);
  if (!all.ok()) return all.status();
  levels_ = *std::move(all);
  for (size_t i = 0; i < kinds(); ++i) {
    const absl::Status status = CheckLevels(facts_.columns[i], levels_[i], reading_.options);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Adds one column of 0 and 1 for each of the schema's levels; NaN in all of them if the text is missing.
void AppendOneHot(const std::vector<int32_t>& row_levels, const ColumnSchema& schema, DataSet* data) {
  const size_t first = data->columns.size();
  for (const std::string& level : schema.levels) {
    data->feature_names.push_back(schema.name + "_" + level);
    data->columns.emplace_back(row_levels.size(), 0.0f);
  }
  for (size_t row = 0; row < row_levels.size(); ++row) {
    if (row_levels[row] >= 0) {
      data->columns[first + static_cast<size_t>(row_levels[row])][row] = 1;
    } else if (row_levels[row] == CsvParse::kMissingLevel) {
      for (size_t i = 0; i < schema.levels.size(); ++i) data->columns[first + i][row] = kNoValue;
    }
  }
}

// The same as sparse columns.
void AppendSparseOneHot(const std::vector<int32_t>& row_levels, const ColumnSchema& schema, bool stays_sparse,
                        DataSet* data) {
  const size_t first = data->columns.size(), end = first + schema.levels.size();
  for (const std::string& level : schema.levels) data->feature_names.push_back(schema.name + "_" + level);
  data->columns.resize(end);
  data->sparse.resize(end);
  for (size_t i = first; i < end; ++i) {
    data->sparse[i].used = true;
    data->sparse[i].dense_later = !stays_sparse;
    data->sparse[i].rest = 0;
  }
  for (size_t row = 0; row < row_levels.size(); ++row) {
    if (row_levels[row] >= 0) {
      data->sparse[first + static_cast<size_t>(row_levels[row])].Add(static_cast<int64_t>(row), 1);
    } else if (row_levels[row] == CsvParse::kMissingLevel) {
      for (size_t i = first; i < end; ++i) data->sparse[i].Add(static_cast<int64_t>(row), kNoValue);
    }
  }
}

int64_t RowsOf(const ColumnFacts& facts) { return facts.numbers + facts.texts + facts.missing; }

// Whether a text column's one-hot columns are kept sparse. A row without a text has an entry in each of them.
bool IsSparseText(const ColumnFacts& facts, int64_t levels) {
  const int64_t rows = RowsOf(facts);
  return levels > kManySparseColumns && IsNearlyEmpty(rows / levels + facts.missing, rows);
}

// Whether they take less memory so: an entry has 8 bytes, and twice that while it is added; a cell has 4.
bool IsSmallerSparse(const ColumnFacts& facts, int64_t levels) {
  constexpr int64_t kFewest = 16;
  return levels >= kFewest && facts.missing <= RowsOf(facts) / kFewest;
}

void AppendCategorical(const std::vector<int32_t>& row_levels, const ColumnSchema& schema, DataSet* data) {
  data->feature_names.push_back(schema.name);
  std::vector<float>& values = data->columns.emplace_back();
  values.reserve(row_levels.size());
  for (const int32_t level : row_levels) values.push_back(level >= 0 ? static_cast<float>(level) : kNoValue);
}

void CsvReading::AppendText(const std::vector<int32_t>& row_levels, const ColumnSchema& schema,
                            const ColumnFacts& facts) {
  const auto levels = static_cast<int64_t>(schema.levels.size());
  const bool stays_sparse = reading_.form != TableForm::kDense && IsSparseText(facts, levels);
  const bool smaller = reading_.form == TableForm::kSparseWhereSmaller && IsSmallerSparse(facts, levels);
  if (schema.categorical)
    AppendCategorical(row_levels, schema, &data_);
  else if (stays_sparse || smaller)
    AppendSparseOneHot(row_levels, schema, stays_sparse, &data_);
  else
    AppendOneHot(row_levels, schema, &data_);
}

absl::Status CsvReading::SetFeatures() {
  for (size_t i = 0; i < features_; ++i) {
    const CsvSlot& slot = layout_.slots[i];
    const ColumnFacts& facts = facts_.columns[i];
    // The result of a separator at the end of every line.
    if (like_ == nullptr && table_.unnamed(slot.position) && facts.numbers + facts.texts == 0) continue;
    ColumnSchema schema{like_ != nullptr ? like_->columns[i].name : slot.name, slot.as_text, {}};
    if (!slot.as_text) {
      data_.feature_names.push_back(schema.name);
      data_.columns.push_back(std::move(numbers_[i]));
    } else {
      schema.levels = levels_[i];
      schema.categorical = like_ != nullptr ? like_->columns[i].categorical : reading_.options.categorical;
      AppendText(parse_->RowLevels(i, schema.levels), schema, facts);
    }
    data_.categorical.resize(data_.columns.size(), schema.categorical);
    data_.schema.columns.push_back(std::move(schema));
  }
  return CheckFeatureNames();
}

absl::Status CsvReading::CheckFeatureNames() const {
  std::set<std::string_view> seen;
  for (const std::string& name : data_.feature_names) {
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: two features would be named \"{}\", one of them a level of a text column; rename a column",
          table_.path(), Excerpt(name)));
    }
  }
  return absl::OkStatus();
}

absl::Status CsvReading::SetLabel() {
  if (like_ != nullptr) data_.schema.label_levels = like_->label_levels;
  if (!label_) return absl::OkStatus();
  if (!layout_.slots[*label_].as_text) {
    data_.label = std::move(numbers_[*label_]);
    return absl::OkStatus();
  }
  const std::vector<std::string>& levels = levels_[*label_];
  for (const int32_t level : parse_->RowLevels(*label_, levels)) {
    if (level < 0) {
      const auto [place, text] = parse_->FirstUnknown(*label_, levels);
      return facts_.columns[*label_].Error(
          place, fmt::format("label \"{}\" is not a class of the training data; expected one of {}",
                             Excerpt(text), Listed(levels)));
    }
    data_.label.push_back(static_cast<float>(level));
  }
  data_.schema.label_levels = levels;
  return absl::OkStatus();
}

absl::Status CsvReading::SetWeightAndGroups() {
  if (weight_) {
    if (!facts_.weighs) {
      return absl::InvalidArgumentError(
          fmt::format("{}: column \"{}\": every weight is 0; expected some above 0", table_.path(),
                      Excerpt(layout_.slots[*weight_].name)));
    }
    data_.weight = std::move(numbers_[*weight_]);
  }
  if (!group_) return absl::OkStatus();
  absl::StatusOr<std::vector<int64_t>> begins = GroupBegins(parse_->Groups(), data_.rows);
  if (!begins.ok()) return begins.status();
  data_.group_begin = *std::move(begins);
  return WeighGroups(table_.path(), data_.group_begin, &data_.weight);
}

absl::StatusOr<DataSet> CsvReading::Read(const std::vector<std::string>& paths) {
  if (absl::Status status = Parse(paths); !status.ok()) return status;
  if (absl::Status status = AgreeOnAllLevels(); !status.ok()) return status;
  numbers_ = parse_->TakeNumbers(reading_.threads);
  data_.rows = parse_->rows();
  data_.first_row = facts_.first_row;
  for (const auto& step :
       {&CsvReading::SetFeatures, &CsvReading::SetLabel, &CsvReading::SetWeightAndGroups}) {
    if (absl::Status status = (this->*step)(); !status.ok()) return status;
  }
  return std::move(data_);
}

}  // namespace

absl::StatusOr<DataSet> ReadCsv(const std::vector<std::string>& paths, const SourceFile& head,
                                const PartReading& reading) {
  absl::StatusOr<CsvTable> table = CsvTable::Open(head, reading.options, reading.like);
  if (!table.ok()) return table.status();
  absl::StatusOr<ColumnPlan> plan =
      PlanColumns(table->path(), table->names(), table->has_header(), reading.options, reading.like);
  if (!plan.ok()) return plan.status();
  if (reading.options.to_predict) plan->label = plan->weight = plan->group = -1;
  return CsvReading(reading, *std::move(table), *plan).Read(paths);
}

}  // namespace winnow
