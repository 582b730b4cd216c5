#include "worker/gbdt/predictor.h"

#include <fmt/format.h>

#include <cstdio>

#include "worker/data/reader.h"
#include "worker/gbdt/model_file.h"
#include "worker/gbdt/objective.h"

namespace winnow {
namespace {

std::string Header(const GbdtModel& model) {
  const int classes = model.parameters.classes();
  if (classes == 1) return "prediction\n";
  std::string header;
  for (int k = 0; k < classes; ++k) {
    const bool named = k < static_cast<int>(model.schema.label_levels.size());
    header += fmt::format("{}\"class_", k > 0 ? "," : "");
    for (char c : named ? model.schema.label_levels[k] : std::to_string(k))
      header += c == '"' ? "\"\"" : std::string(1, c);
    header += '"';
  }
  return header + "\n";
}

}  // namespace

absl::Status Predict(const PredictRequest& request) {
  absl::StatusOr<GbdtModel> model = ReadModel(request.model_path);
  if (!model.ok()) return model.status();
  if (request.rounds < 0 || request.rounds > model->rounds()) {
    return absl::InvalidArgumentError(fmt::format(
        "--rounds {}: expected 1 to {}, the rounds that {} was trained, or 0 for all that it uses",
        request.rounds, model->rounds(), request.model_path));
  }
  absl::StatusOr<DataSet> data = ReadDataSet(request.data_path, model->reading, &model->schema);
  if (!data.ok()) return data.status();
  if (data->columns.size() != model->feature_names.size())
    return absl::InvalidArgumentError(fmt::format("{}: {} feature columns: expected {}, as in the model",
                                                  request.data_path, data->columns.size(),
                                                  model->feature_names.size()));
  const int64_t rounds = request.rounds > 0 ? request.rounds : model->used_rounds();
  std::vector<float> values = PredictMargins(*model, *data, rounds);
  if (!request.margin) values = PredictionsFrom(model->parameters, values, data->rows);
  fmt::memory_buffer text;
  const std::string header = Header(*model);
  text.append(header.data(), header.data() + header.size());
  for (int64_t i = 0; i < data->rows; ++i) {
    for (int k = 0; k < model->parameters.classes(); ++k)
      fmt::format_to(std::back_inserter(text), "{}{}", k > 0 ? "," : "", values[k * data->rows + i]);
    text.push_back('\n');
  }
  if (!request.output_path.empty()) return WriteFileWhole(request.output_path, fmt::to_string(text));
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? absl::OkStatus() : absl::UnavailableError("standard output: cannot write");
}

}  // namespace winnow
