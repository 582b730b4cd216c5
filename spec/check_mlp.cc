#include "spec/check_mlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/cluster.h"
#include "spec/names.h"

namespace winnow {
namespace {

constexpr size_t kMostLayers = 64;
constexpr double kMostLayerWidth = 65'536;

const BuiltinTrainer& Mlp() { return *FindBuiltinTrainer("mlp"); }

std::optional<double> Number(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t") + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "256,128" or "[256, 128]"
bool AreLayers(const std::string& text) {
  std::string list = text;
  if (const auto json = nlohmann::json::parse(text, nullptr, false); json.is_array()) {
    list = text.substr(text.find('[') + 1, text.rfind(']') - text.find('[') - 1);
    std::erase(list, '"');
  }
  size_t count = 0;
  for (size_t from = 0; from <= list.size(); ++count) {
    const size_t comma = std::min(list.find(',', from), list.size());
    const auto width = Number(list.substr(from, comma - from));
    if (!width || *width < 1 || *width > kMostLayerWidth || std::floor(*width) != *width) return false;
    from = comma + 1;
  }
  return count <= kMostLayers;
}

class MlpChecker {
 public:
  explicit MlpChecker(const v1::TuningJobSpec& spec) : spec_(spec), settings_(spec) {}

  std::vector<Violation> Run() {
    Layers();
    Metrics();
    Steps();
    Ranks();
    Sifting();
    return std::move(violations_);
  }

 private:
  void Add(const char* name, const std::string& description) {
    violations_.push_back({"static_hyperparameters." + std::string(name), description});
  }
  bool Is(const char* name, const std::string& otherwise, const std::string& value) const {
    return settings_.FixedIs(name, otherwise, value);
  }
  double NumberOr(const char* name, double otherwise, double if_tuned) const {
    return settings_.FixedNumber(name, otherwise).value_or(if_tuned);
  }

  void Layers() {
    const std::string expected =
        fmt::format("; expected 1 to {} widths from 1 to {}, as 256,128", kMostLayers, kMostLayerWidth);
    const std::string layers = StaticValue(spec_, "hidden_layers");
    if (!layers.empty() && !AreLayers(layers)) Add("hidden_layers", "is \"" + layers + "\"" + expected);
    for (int i = 0; i < spec_.parameters_size(); ++i) {
      const v1::ParameterSpec& parameter = spec_.parameters(i);
      if (Mlp().FirstName(parameter.name()) != "hidden_layers") continue;
      for (int j = 0; j < parameter.categorical().values_size(); ++j) {
        const std::string& value = parameter.categorical().values(j);
        if (!AreLayers(value))
          violations_.push_back({fmt::format("parameters[{}].categorical.values[{}]", i, j),
                                 "is \"" + value + "\"" + expected});
      }
    }
    if (!settings_.IsGiven("hidden_layers")) return;
    for (const char* other : {"num_layers", "layer_width"}) {
      if (settings_.IsGiven(other))
        violations_.push_back({"parameters", fmt::format("hidden_layers and {} are both given; expected "
                                                         "either the one, or num_layers and layer_width",
                                                         other)});
    }
  }

  void Metrics() {
    const std::string loss = settings_.Fixed("loss", "cross_entropy").value_or("cross_entropy");
    const bool classes = loss == "cross_entropy" || loss == "logistic";
    const double count = NumberOr("num_class", 0, 0);
    if (loss == "cross_entropy" ? count == 1 : count > 1)
      Add("num_class", fmt::format("is {}; expected {} with loss {}", count,
                                   count == 1 ? "0 or at least 2" : "none", loss));
    const std::string given = StaticValue(spec_, "eval_metric");
    if (given.empty()) return;
    for (const std::string& metric : EvaluatedMetrics(Mlp(), given, loss)) {
      const bool top = metric.rfind("top", 0) == 0, of_numbers = metric == "rmse" || metric == "mae";
      if (!IsMetric(Mlp(), metric)) {
        Add("eval_metric", "\"" + metric + "\" is not a metric of mlp" +
                               (top ? "; expected one like top5" : DidYouMean(metric, Mlp().metrics)));
      } else if (metric != "loss" && (of_numbers == classes || (top && loss != "cross_entropy"))) {
        Add("eval_metric", "\"" + metric + "\" does not go with loss " + loss + "; expected " +
                               (classes ? "another than topK, rmse and mae" : "loss, rmse or mae"));
      }
    }
  }

  void Steps() {
    if (Is("nesterov", "false", "true") && Is("optimizer", "sgd", "sgd") && NumberOr("momentum", 0, 1) == 0)
      Add("nesterov", "is true; expected momentum above 0");
    const double batch = NumberOr("batch_size", 128, 1e9);
    if (batch < 2 && (Is("batch_norm", "none", "synchronised") || Is("batch_norm", "none", "per_rank")))
      Add("batch_size", fmt::format("is {}; expected at least 2 with batch_norm", batch));
    const double shards = NumberOr("virtual_shards", 0, 0);
    if (shards > batch)
      Add("virtual_shards", fmt::format("is {}; expected at most batch_size, {}", shards, batch));
    const double micro = NumberOr("micro_batches", 0, 0);
    if (micro > batch && Is("distribution", "ALL_REDUCE", "PIPELINE"))
      Add("micro_batches", fmt::format("is {}; expected at most batch_size, {}", micro, batch));
    const double lowest = NumberOr("min_learning_rate", 0, 0), rate = NumberOr("learning_rate", 0.1, 1e9);
    if (Is("schedule", "constant", "cosine") && lowest > rate)
      Add("min_learning_rate", fmt::format("is {}; expected at most learning_rate, {}", lowest, rate));
  }

  void Ranks() {
    if (Is("scale_learning_rate", "false", "true") && Is("batch_scaling", "NONE", "NONE"))
      Add("scale_learning_rate", "is true; expected batch_scaling LINEAR");
    const std::string distribution = settings_.Fixed("distribution", "ALL_REDUCE").value_or("");
    const bool asynchronous = distribution == "PARAMETER_SERVER", averages = distribution == "LOCAL_SGD";
    const std::string compression = settings_.Fixed("compression", "none").value_or("none");
    if (compression != "none" && !distribution.empty() && distribution != "ALL_REDUCE")
      Add("compression", fmt::format("is {}; expected none with distribution {}", compression, distribution));
    const std::string batch_norm = settings_.Fixed("batch_norm", "none").value_or("none");
    if (batch_norm != "none" && distribution == "PIPELINE")
      Add("batch_norm", fmt::format("is {}; expected none with distribution PIPELINE", batch_norm));
    if (batch_norm == "synchronised" && settings_.nodes() > 1 && (asynchronous || averages))
      Add("batch_norm",
          fmt::format("is synchronised; expected none or per_rank with distribution {}", distribution));
    if (asynchronous && Is("optimizer", "sgd", "lamb"))
      Add("optimizer", "is lamb; expected sgd, adam or adamw with distribution PARAMETER_SERVER");
    const bool sifts = settings_.IsTuned("sift_beta") || NumberOr("sift_beta", 0, 0) > 0;
    if (sifts && (asynchronous || averages))
      Add("distribution", "is " + distribution + "; expected ALL_REDUCE, ZERO or PIPELINE with sift_beta");
    EnoughShards(distribution);
    const double stages = NumberOr("pipeline_stages", 0, 0);
    if (distribution != "PIPELINE" || stages <= 0) return;
    for (const int32_t nodes : NodeCounts(spec_)) {
      if (nodes == 1 || std::fmod(nodes, stages) == 0) continue;
      Add("pipeline_stages", fmt::format("is {}; expected a divisor of {}, {}", stages, NodesField(), nodes));
    }
  }

  // A rank takes whole parts of a batch: 12 of 8 rows or more, else 4, 2 or 1.
  void EnoughShards(const std::string& distribution) {
    if ((distribution != "ALL_REDUCE" && distribution != "ZERO") || !Is("batch_scaling", "NONE", "NONE"))
      return;
    constexpr double kLeastRows = 8, kEnough = 1e9;
    const double batch = NumberOr("batch_size", 128, kEnough);
    double shards = NumberOr("virtual_shards", 0, kEnough);
    if (shards == 0) {
      shards = 1;
      for (const double parts : {2, 4, 12}) shards = batch >= parts * kLeastRows ? parts : shards;
    }
    if (static_cast<double>(settings_.nodes()) <= shards) return;
    violations_.push_back({NodesField(), fmt::format("is {}; expected at most virtual_shards, which is {}: "
                                                     "each rank takes whole parts of a batch",
                                                     settings_.nodes(), shards)});
  }

  std::string NodesField() const {
    return spec_.cluster().nodes_parameter().empty() ? "cluster.nodes" : "cluster.nodes_parameter";
  }

  void Sifting() {
    for (const char* name : {"sift_delay", "loss_history_length", "sift_reuse_epochs"}) {
      if (settings_.IsGiven(name) && !settings_.IsGiven("sift_beta"))
        Add(name, "is given without sift_beta; expected both or none");
    }
  }

  const v1::TuningJobSpec& spec_;
  const MlpSettings settings_;
  std::vector<Violation> violations_;
};

}  // namespace

bool MlpSettings::IsTuned(const char* name) const {
  return std::any_of(spec_.parameters().begin(), spec_.parameters().end(),
                     [name](const auto& p) { return Mlp().FirstName(p.name()) == name; });
}

bool MlpSettings::IsGiven(const char* name) const {
  return IsTuned(name) || !StaticValue(spec_, name).empty();
}

std::optional<std::string> MlpSettings::Fixed(const char* name, const std::string& otherwise) const {
  if (IsTuned(name)) return std::nullopt;
  const std::string text = StaticValue(spec_, name);
  return text.empty() ? otherwise : ChoiceOf(*Mlp().Find(name), text);
}

std::optional<double> MlpSettings::FixedNumber(const char* name, double otherwise) const {
  if (IsTuned(name)) return std::nullopt;
  const std::string text = StaticValue(spec_, name);
  return text.empty() ? otherwise : Number(text).value_or(otherwise);
}

int64_t MlpSettings::nodes() const {
  const std::vector<int32_t> counts = NodeCounts(spec_);
  return counts.empty() ? 1 : counts.back();
}

std::vector<Violation> CheckMlp(const v1::TuningJobSpec& spec) { return MlpChecker(spec).Run(); }

}  // namespace winnow
