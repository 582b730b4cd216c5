#include "trainers/mlp/model/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

#include "trainers/common/csv_output.h"
#include "trainers/common/portable_math.h"
#include "trainers/mlp/data/training_input.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {
namespace {

// Limits the rows whose outputs are in memory at once.
constexpr int64_t kRowsPredictedAtOnce = 1 << 16;

std::string LevelName(const Model& model, int k) {
  const std::vector<std::string>& levels = model.schema.label_levels;
  return k < static_cast<int>(levels.size()) ? levels[k] : std::to_string(k);
}

void AppendNumber(float value, fmt::memory_buffer* text) {
  fmt::format_to(std::back_inserter(*text), "{}", value);
}

void AppendText(const std::string& value, fmt::memory_buffer* text) {
  text->append(value.data(), value.data() + value.size());
}

// Appends numbers separated by commas.
void AppendNumbers(std::span<const float> values, fmt::memory_buffer* text) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text->push_back(',');
    AppendNumber(values[i], text);
  }
}

// The requested table: its header, and the conversion of a row's outputs to cells.
struct Table {
  std::vector<std::string> names;
  std::function<void(std::span<const float> outputs, fmt::memory_buffer* text)> append;
};

Table Logits(const Model& model) {
  Table table{{}, AppendNumbers};
  for (int k = 0; k < model.network.outputs(); ++k) table.names.push_back(fmt::format("logit_{}", k));
  return table;
}

bool HasClasses(const Model& model) {
  return model.parameters.loss == LossKind::kCrossEntropy || model.parameters.loss == LossKind::kLogistic;
}

int ClassCount(const Model& model) {
  return model.parameters.loss == LossKind::kLogistic ? 2 : model.network.outputs();
}

// The sum is 1; the same bits on every machine.
std::vector<float> SoftmaxOf(std::span<const float> outputs) {
  const float largest = *std::max_element(outputs.begin(), outputs.end());
  std::vector<float> shares;
  double sum = 0;
  for (float output : outputs) {
    shares.push_back(PortableExp(output - largest));
    sum += shares.back();
  }
  for (float& share : shares) share = static_cast<float>(share / sum);
  return shares;
}

Table Probabilities(const Model& model) {
  Table table;
  for (int k = 0; k < ClassCount(model); ++k)
    table.names.push_back(CsvQuoted("class_" + LevelName(model, k)));
  table.append = [one = model.parameters.loss == LossKind::kLogistic](std::span<const float> outputs,
                                                                      fmt::memory_buffer* text) {
    AppendNumbers(one ? std::vector<float>{Sigmoid(-outputs[0]), Sigmoid(outputs[0])} : SoftmaxOf(outputs),
                  text);
  };
  return table;
}

Table Predictions(const Model& model) {
  Table table{{"prediction"}, AppendNumbers};
  if (!HasClasses(model)) return table;
  std::vector<std::string> cells;
  for (int k = 0; k < ClassCount(model); ++k) {
    const std::string name = LevelName(model, k);
    cells.push_back(model.schema.label_levels.empty() ? name : CsvQuoted(name));
  }
  table.append = [cells = std::move(cells)](std::span<const float> outputs, fmt::memory_buffer* text) {
    const auto largest = std::max_element(outputs.begin(), outputs.end());
    const std::size_t k = outputs.size() == 1 ? outputs[0] > 0 : largest - outputs.begin();
    AppendText(cells[k], text);
  };
  return table;
}

absl::StatusOr<Table> Asked(const PredictRequest& request, const Model& model) {
  if (request.logits) return Logits(model);
  if (!request.probabilities) return Predictions(model);
  if (HasClasses(model)) return Probabilities(model);
  return absl::InvalidArgumentError(
      fmt::format("--probabilities: {} predicts values, not classes", request.model_path));
}

}  // namespace

absl::Status Predict(const PredictRequest& request) {
  absl::StatusOr<Model> model = ReadModel(request.model_path);
  if (!model.ok()) return model.status();
  const absl::StatusOr<Table> table = Asked(request, *model);
  if (!table.ok()) return table.status();
  if (!request.label.empty()) model->reading.label = request.label;
  model->reading.label_must_be_there = !request.label.empty();
  model->reading.to_predict = true;
  Crew crew(request.threads > 0 ? request.threads
                                : static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  const absl::StatusOr<DenseData> data =
      LoadDataToPredict(request.data_path, model->reading, model->schema, crew.threads());
  if (!data.ok()) return data.status();

  fmt::memory_buffer text;
  AppendText(fmt::format("{}\n", fmt::join(table->names, ",")), &text);
  const int width = model->network.outputs();
  for (int64_t begin = 0; begin < data->rows; begin += kRowsPredictedAtOnce) {
    const int64_t end = std::min(begin + kRowsPredictedAtOnce, data->rows);
    const std::vector<float> outputs =
        ForwardRows(model->network, model->parameters, model->state, *data, begin, end, &crew);
    for (int64_t row = 0; row < end - begin; ++row) {
      const std::span<const float> cells = std::span(outputs).subspan(row * width, width);
      if (!std::all_of(cells.begin(), cells.end(), [](float cell) { return std::isfinite(cell); }))
        return absl::InvalidArgumentError(
            fmt::format("{}: data row {}: what {} computes of it is beyond a float", request.data_path,
                        begin + row + 1, request.model_path));
      table->append(cells, &text);
      text.push_back('\n');
    }
  }
  return WriteOutput(request.output_path, fmt::to_string(text));
}

}  // namespace winnow::mlp
