#include "spec/builtin_trainers.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include "tests/catch.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow {
using namespace gbdt;
namespace {

bool GbdtTakes(const std::string& name, const std::string& value) {
  std::vector<std::string> warnings;
  const std::string classes = value.rfind("multi:", 0) == 0 ? R"(, "num_class": 3)" : "";
  // num_class alone is refused by other objectives.
  const std::string objective = name == "num_class" ? R"(, "objective": "multi:softprob")" : "";
  return ParseHyperparameters(fmt::format(R"({{"{}": "{}"{}{}}})", name, value, classes, objective),
                              &warnings)
      .ok();
}

// The server refuses what the trainer would refuse, but knows no trainer's code: so each states its ranges.
TEST_CASE("Built-in trainers: winnow-gbdt takes every value that the server lets pass", "[spec]") {
  const BuiltinTrainer* gbdt = FindBuiltinTrainer("gbdt");
  REQUIRE(gbdt != nullptr);
  for (const BuiltinHyperparameter& known : gbdt->hyperparameters) {
    INFO(known.name);
    for (const std::string& choice : known.choices) CHECK(GbdtTakes(known.name, choice));
    if (known.kind == HyperparameterKind::kText) continue;
    const double inside =
        known.name == "num_class" ? 3 : 0.5 * (known.min.value_or(0) + known.max.value_or(2));
    CHECK(GbdtTakes(known.name, fmt::format("{}", known.kind == HyperparameterKind::kInteger
                                                      ? static_cast<int64_t>(inside)
                                                      : inside)));
    if (known.min && !known.above_min && known.name != "num_class")
      CHECK(GbdtTakes(known.name, fmt::format("{:.0f}", *known.min)));
    // A training of no rounds makes sense alone, but not as a trial.
    if (known.min && known.name != "num_round")
      CHECK_FALSE(GbdtTakes(known.name, fmt::format("{}", *known.min - 1)));
    if (known.min && known.above_min) CHECK_FALSE(GbdtTakes(known.name, fmt::format("{}", *known.min)));
    if (known.max && known.name == "eta") CHECK(GbdtTakes(known.name, fmt::format("{}", *known.max)));
    if (known.max && *known.max <= 1) CHECK_FALSE(GbdtTakes(known.name, fmt::format("{}", *known.max + 1)));
  }
  for (const auto& [alias, meant] : gbdt->aliases) CHECK(GbdtTakes(alias, "1"));
}

std::vector<Metric> GbdtMetrics(const std::string& metric, const std::string& objective) {
  std::vector<std::string> warnings;
  const auto parsed = ParseHyperparameters(
      fmt::format(R"({{{}"objective": "{}"{}}})",
                  metric.empty() ? "" : fmt::format(R"("eval_metric": "{}", )", metric), objective,
                  objective.rfind("multi:", 0) == 0 ? R"(, "num_class": 3)" : ""),
      &warnings);
  return parsed.ok() ? parsed->metrics : std::vector<Metric>{};
}

TEST_CASE("Built-in trainers: every metric that the server knows is one that winnow-gbdt prints", "[spec]") {
  const BuiltinTrainer& gbdt = *FindBuiltinTrainer("gbdt");
  std::vector<std::string> metrics = gbdt.metrics;
  metrics.insert(metrics.end(), gbdt.metric_examples.begin(), gbdt.metric_examples.end());
  for (const std::string& metric : metrics) {
    INFO(metric);
    CHECK(IsMetric(gbdt, metric));
    const bool multi = metric == "mlogloss" || metric == "merror";
    const auto parsed = GbdtMetrics(metric, multi ? "multi:softprob" : "binary:logistic");
    REQUIRE(parsed.size() == 1);
    CHECK(MetricName(parsed[0]) == metric);
  }
  for (const char* metric : {"error@", "error@0.70", "error@x", "auc@5", "auc-", "pre@5-", "ndcg@0",
                             "ndcg@2.5", "tweedie-nloglik@2", ""}) {
    INFO(metric);
    CHECK_FALSE(IsMetric(gbdt, metric));
    if (*metric != '\0') CHECK(GbdtMetrics(metric, "reg:squarederror").empty());
  }
}

TEST_CASE("Built-in trainers: a printed metric is found by its whole name", "[spec]") {
  std::string value;
  const std::string regex = PrintedMetricRegex("train", "error@0.7");
  REQUIRE(RE2::PartialMatch("[3]\ttrain-error@0.75:0.5\ttrain-error@0.7:0.25", regex, &value));
  CHECK(value == "0.25");
  CHECK_FALSE(RE2::PartialMatch("[3]\ttrain-error@0x7:0.25", regex, &value));
}

TEST_CASE("Built-in trainers: every objective has the metric of its own that winnow-gbdt prints", "[spec]") {
  for (const std::string& objective : FindBuiltinTrainer("gbdt")->Find("objective")->choices) {
    INFO(objective);
    const auto own = GbdtMetrics("", objective);
    REQUIRE(own.size() == 1);
    CHECK(EvaluatedMetrics(*FindBuiltinTrainer("gbdt"), "", objective) ==
          std::vector<std::string>{MetricName(own[0])});
  }
}

}  // namespace
}  // namespace winnow
