#include "trainers/gbdt/model/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "trainers/common/csv_output.h"
#include "trainers/data/reader.h"
#include "trainers/gbdt/model/model_file.h"
#include "trainers/gbdt/model/tree_shap.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// Cells in row order: cell(row, column).
struct Table {
  std::vector<std::string> names;
  std::function<void(int64_t row, std::size_t column, fmt::memory_buffer*)> append;
};

std::string TextOfClass(const Model& model, int k) {
  const bool named = k < static_cast<int>(model.schema.label_levels.size());
  return named ? model.schema.label_levels[k] : std::to_string(k);
}

std::string ClassName(const Model& model, int k) { return "class_" + TextOfClass(model, k); }

template <typename Value>
void Append(Value value, fmt::memory_buffer* text) {
  fmt::format_to(std::back_inserter(*text), "{}", value);
}

// of_classes: each value is the number of a class.
Table Predictions(const Model& model, std::vector<float> values, int64_t rows, bool of_classes) {
  Table table;
  const int columns = static_cast<int>(static_cast<int64_t>(values.size()) / std::max<int64_t>(1, rows));
  for (int k = 0; k < columns; ++k) table.names.push_back(CsvQuoted(ClassName(model, k)));
  if (columns <= 1) table.names = {"prediction"};
  // The texts of multi:softmax's classes.
  if (of_classes && !model.schema.label_levels.empty()) {
    std::vector<std::string> texts;
    for (int k = 0; k < model.parameters.classes(); ++k) texts.push_back(CsvQuoted(TextOfClass(model, k)));
    table.append = [values = std::move(values), texts = std::move(texts)](int64_t row, std::size_t,
                                                                          fmt::memory_buffer* text) {
      text->append(texts[static_cast<std::size_t>(values[row])]);
    };
    return table;
  }
  table.append = [values = std::move(values), rows](int64_t row, std::size_t column,
                                                    fmt::memory_buffer* text) {
    Append(values[column * rows + row], text);
  };
  return table;
}

Table Contributions(const Model& model, const DataSet& data, int64_t rounds, ThreadPool* pool) {
  Table table;
  for (int k = 0; k < model.parameters.classes(); ++k) {
    const std::string prefix = model.parameters.classes() > 1 ? ClassName(model, k) + ":" : "";
    for (const std::string& name : model.feature_names) table.names.push_back(CsvQuoted(prefix + name));
    table.names.push_back(CsvQuoted(prefix + "bias"));
  }
  table.append = [values = PredictContributions(model, data, rounds, pool), width = table.names.size()](
                     int64_t row, std::size_t column, fmt::memory_buffer* text) {
    Append(values[row * width + column], text);
  };
  return table;
}

Table Leaves(const Model& model, const DataSet& data, int64_t rounds, ThreadPool* pool) {
  Table table;
  for (int64_t t = 0; t < rounds * model.trees_per_round(); ++t)
    table.names.push_back(fmt::format("tree_{}", t));
  table.append = [values = PredictLeaves(model, data, rounds, pool), rows = data.rows](
                     int64_t row, std::size_t column, fmt::memory_buffer* text) {
    Append(values[column * rows + row], text);
  };
  return table;
}

// XGBoost's unnamed features are matched by position in CSV, and are f0, f1, … in LIBSVM.
absl::StatusOr<DataSet> ReadFor(const Model& model, const std::string& path, TableForm form, int threads) {
  absl::StatusOr<DataSet> data = ReadDataSet(path, model.reading, &model.schema, threads, form);
  const bool unnamed = !model.schema.columns.empty() && model.schema.columns[0].name == "column_0" &&
                       model.feature_names[0] == "f0";
  if (data.ok() || !absl::IsInvalidArgument(data.status()) || !unnamed) return data;
  DataSchema numbered;
  for (const std::string& name : model.feature_names) numbered.columns.push_back({name, false, {}, false});
  absl::StatusOr<DataSet> of_libsvm = ReadDataSet(path, model.reading, &numbered, threads, form);
  return of_libsvm.ok() ? of_libsvm : data;
}

Table Asked(const PredictRequest& request, const Model& model, const DataSet& data, ThreadPool* pool) {
  const int64_t rounds = request.rounds > 0 ? request.rounds : model.used_rounds();
  if (request.contributions) return Contributions(model, data, rounds, pool);
  if (request.leaves) return Leaves(model, data, rounds, pool);
  std::vector<float> values = PredictMargins(model, data, rounds, pool);
  if (!request.margin) values = PredictionsFrom(model.parameters, values, data.rows);
  const bool of_classes = !request.margin && model.parameters.objective == ObjectiveKind::kSoftMax;
  return Predictions(model, std::move(values), data.rows, of_classes);
}

}  // namespace

absl::Status Predict(const PredictRequest& request) {
  absl::StatusOr<Model> model = ReadModel(request.model_path);
  if (!model.ok()) return model.status();
  if (request.rounds < 0 || request.rounds > model->rounds()) {
    return absl::InvalidArgumentError(fmt::format(
        "--rounds {}: expected 1 to {}, the rounds that {} was trained, or 0 for all that it uses",
        request.rounds, model->rounds(), request.model_path));
  }
  if (!request.label.empty()) model->reading.label = request.label;
  model->reading.label_must_be_there = !request.label.empty();
  model->reading.to_predict = true;
  ThreadPool pool(request.threads > 0 ? request.threads
                                      : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  // Contributions look up single values, which takes longer in a sparse column.
  const TableForm form =
      request.contributions ? TableForm::kSparseWherePossible : TableForm::kSparseWhereSmaller;
  absl::StatusOr<DataSet> data = ReadFor(*model, request.data_path, form, pool.threads());
  if (!data.ok()) return data.status();
  if (data->columns.size() != model->feature_names.size())
    return absl::InvalidArgumentError(fmt::format("{}: {} feature columns: expected {}, as in the model",
                                                  request.data_path, data->columns.size(),
                                                  model->feature_names.size()));
  const Table table = Asked(request, *model, *data, &pool);
  std::string text;
  fmt::memory_buffer line;
  for (std::size_t c = 0; c < table.names.size(); ++c)
    fmt::format_to(std::back_inserter(line), "{}{}", c > 0 ? "," : "", table.names[c]);
  for (int64_t i = 0; i <= data->rows; ++i) {
    line.push_back('\n');
    text.append(line.data(), line.size());
    if (i == data->rows) break;
    line.clear();
    for (std::size_t c = 0; c < table.names.size(); ++c) {
      if (c > 0) line.push_back(',');
      table.append(i, c, &line);
    }
  }
  return WriteOutput(request.output_path, text);
}

}  // namespace winnow::gbdt
