#include "trainers/mlp/model_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "trainers/common/csv_output.h"
#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kModel = "Model file of a training, model.safetensors";

OrderedJson LayerJson(const Layer& layer, const std::string& activation) {
  OrderedJson json = {{"inputs", layer.inputs}, {"outputs", layer.outputs}, {"batch_norm", layer.batch_norm}};
  json["activation"] = layer.activated ? OrderedJson(activation) : OrderedJson(nullptr);
  return json;
}

OrderedJson Description(const Model& model) {
  OrderedJson hyperparameters = OrderedJson::object();
  for (const auto& [name, value] : ModelHyperparameters(model.parameters)) hyperparameters[name] = value;
  const std::string activation = hyperparameters["activation"];
  OrderedJson layers = OrderedJson::array();
  for (const Layer& layer : model.network.layers) layers.push_back(LayerJson(layer, activation));
  return {{"inputs", model.network.inputs()},     {"outputs", model.network.outputs()},
          {"classes", model.schema.label_levels}, {"parameters", model.network.TrainableCount()},
          {"layers", std::move(layers)},          {"hyperparameters", std::move(hyperparameters)}};
}

std::string InputsText(const FeatureSchema& schema) {
  if (schema.image_rows > 0)
    return fmt::format("images of {} x {} pixels", schema.image_rows, schema.image_columns);
  if (schema.names.empty()) return fmt::format("arrays of {} numbers", schema.features);
  return fmt::format("{} features from {} columns", schema.features, schema.table.columns.size());
}

std::string DescriptionText(const Model& model) {
  const OrderedJson description = Description(model);
  std::string text = fmt::format("inputs       {}\n", InputsText(model.schema));
  const std::vector<Layer>& layers = model.network.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    std::string line = fmt::format("layer {}      {} x {}", i, layers[i].inputs, layers[i].outputs);
    if (layers[i].batch_norm) line += ", batch norm";
    if (layers[i].activated) line += ", " + description["layers"][i]["activation"].get<std::string>();
    text += line + '\n';
  }
  if (!model.schema.label_levels.empty())
    text += fmt::format("classes      {}\n", fmt::join(model.schema.label_levels, ", "));
  text += fmt::format("parameters   {}\nhyperparameters\n", model.network.TrainableCount());
  for (const auto& [name, value] : ModelHyperparameters(model.parameters)) {
    if (!value.empty()) text += fmt::format("  {} = {}\n", name, value);
  }
  return text;
}

}  // namespace

bool ModelCommands::IsName(std::string_view argument) {
  return argument == "predict" || argument == "export-onnx" || argument == "show" ||
         argument == "hyperparameters";
}

ModelCommands::ModelCommands(CLI::App* app) {
  AddPredict(app);
  export_ = app->add_subcommand("export-onnx", "Writes a model as ONNX, operator set 13");
  export_->add_option("--model", model_path_, kModel)->type_name("FILE")->required();
  export_->add_option("--output,--out", output_path_, "File to write")->type_name("FILE")->required();
  show_ = app->add_subcommand("show", "Show a model's network and hyperparameters");
  show_->add_option("--model", model_path_, kModel)->type_name("FILE")->required();
  show_->add_flag("--json", json_, "As JSON");
  hyperparameters_ = app->add_subcommand(
      "hyperparameters", "Every hyperparameter with its values, default and meaning, as a Markdown table");
}

void ModelCommands::AddPredict(CLI::App* app) {
  predict_ = app->add_subcommand("predict", "Predict each row of a file, as CSV");
  predict_->add_option("--model", request_.model_path, kModel)->type_name("FILE")->required();
  predict_->add_option("--data", request_.data_path, "Images, or a table with the model's feature columns")
      ->type_name("PATH")
      ->required();
  predict_->add_option("--output,--out", request_.output_path, "File to write (default: standard output)")
      ->type_name("FILE");
  predict_->add_option("--label", request_.label, "Column to ignore, if it is not the model's label column")
      ->type_name("COLUMN");
  predict_->add_option("--threads", request_.threads, "Threads; 0: number of CPUs")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  CLI::Option_group* what = predict_->add_option_group("What to write", "Instead of predictions");
  what->add_flag("--probabilities", request_.probabilities, "The probability of each class");
  what->add_flag("--logits", request_.logits, "Outputs of the last layer, before softmax or logistic");
  what->require_option(0, 1);
}

bool ModelCommands::asked() const {
  return predict_->parsed() || export_->parsed() || show_->parsed() || hyperparameters_->parsed();
}

absl::Status ModelCommands::Run() const {
  if (predict_->parsed()) return Predict(request_);
  if (hyperparameters_->parsed()) return WriteOutput("", MlpDeclaration().Table());
  const absl::StatusOr<Model> model = ReadModel(model_path_);
  if (!model.ok()) return model.status();
  if (export_->parsed()) return WriteOnnx(output_path_, *model);
  constexpr auto kReplace = OrderedJson::error_handler_t::replace;  // texts that are not UTF-8
  return WriteOutput(
      "", json_ ? Description(*model).dump(2, ' ', false, kReplace) + "\n" : DescriptionText(*model));
}

}  // namespace winnow::mlp
