#include "trainers/gbdt/model_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "trainers/common/csv_output.h"
#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {

bool ModelCommands::IsName(std::string_view argument) {
  return argument == "predict" || argument == "importance" || argument == "convert" ||
         argument == "hyperparameters";
}

ModelCommands::ModelCommands(CLI::App* app) {
  AddPredict(app);
  constexpr const char* kModel = "Model of a training, or of XGBoost (JSON or UBJSON)";
  importance_ =
      app->add_subcommand("importance", "Importance of each feature in a model, as XGBoost's get_score");
  importance_->add_option("--model", model_path_, kModel)->type_name("FILE")->required();
  importance_->add_option("--type", type_, "weight, gain, cover, total_gain or total_cover")
      ->capture_default_str();
  importance_->add_option("--output", format_, "csv or json")
      ->check(CLI::IsMember({"csv", "json"}))
      ->capture_default_str();
  convert_ = app->add_subcommand("convert", "Writes a model in XGBoost's other format");
  convert_->add_option("--model", model_path_, kModel)->type_name("FILE")->required();
  convert_->add_option("--output", output_path_, "File to write: UBJSON if its name ends in .ubj, else JSON")
      ->type_name("FILE")
      ->required();
  hyperparameters_ = app->add_subcommand(
      "hyperparameters", "Every hyperparameter with its values, default and meaning, as a Markdown table");
}

void ModelCommands::AddPredict(CLI::App* app) {
  predict_ = app->add_subcommand("predict", "Predict each row of a file, as CSV");
  predict_->add_option("--model", request_.model_path, "Model of a training, or of XGBoost (JSON or UBJSON)")
      ->type_name("FILE")
      ->required();
  predict_->add_option("--data", request_.data_path, "File or directory with the model's feature columns")
      ->type_name("PATH")
      ->required();
  predict_->add_option("--output", request_.output_path, "File to write (default: standard output)")
      ->type_name("FILE");
  predict_->add_option("--label", request_.label, "Column to ignore, if it is not the model's label column")
      ->type_name("COLUMN");
  predict_->add_option("--rounds", request_.rounds,
                       "Use the model as of this round (default: as it was trained)");
  predict_->add_option("--threads", request_.threads, "Threads; 0: number of CPUs")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  CLI::Option_group* what = predict_->add_option_group("What to write", "Instead of predictions");
  what->add_flag("--margin", request_.margin, "Margins, before the objective's transformation");
  what->add_flag("--contribs", request_.contributions,
                 "Contribution of each feature to a row's margin (SHAP values), and the base value");
  what->add_flag("--leaf", request_.leaves, "The leaf of each row in each tree");
  what->require_option(0, 1);
}

bool ModelCommands::asked() const {
  return predict_->parsed() || importance_->parsed() || convert_->parsed() || hyperparameters_->parsed();
}

absl::Status ModelCommands::PrintImportance() const {
  const absl::StatusOr<ImportanceKind> kind = ImportanceKindOf(type_);
  if (!kind.ok()) return kind.status();
  const absl::StatusOr<Model> model = ReadModel(model_path_);
  if (!model.ok()) return model.status();
  nlohmann::ordered_json scores = nlohmann::ordered_json::object();
  std::string csv = "feature,score\n";
  for (const Importance& entry : FeatureImportance(*model, *kind)) {
    const std::string& name = model->feature_names[entry.feature];
    scores[name] = entry.score;
    csv += fmt::format("{},{}\n", CsvQuoted(name), entry.score);
  }
  const std::string json =
      scores.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return WriteOutput("", format_ == "json" ? json : csv);
}

absl::Status ModelCommands::Run() const {
  if (predict_->parsed()) return Predict(request_);
  if (importance_->parsed()) return PrintImportance();
  if (hyperparameters_->parsed()) return WriteOutput("", GbdtDeclaration().Table());
  const absl::StatusOr<Model> model = ReadModel(model_path_);
  return model.ok() ? WriteModel(output_path_, *model) : model.status();
}

}  // namespace winnow::gbdt
