#include "spec/builtin_trainers.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {
namespace {

bool GbdtTakes(const std::string& name, const std::string& value) {
  std::vector<std::string> warnings;
  const std::string classes = value == "multi:softprob" ? R"(, "num_class": 3)" : "";
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

TEST_CASE("Built-in trainers: every metric that the server knows is one that winnow-gbdt prints", "[spec]") {
  for (const std::string& metric : FindBuiltinTrainer("gbdt")->metrics) {
    INFO(metric);
    std::vector<std::string> warnings;
    const bool multi = metric[0] == 'm' && metric != "mae";
    CHECK(ParseHyperparameters(
              fmt::format(R"({{"eval_metric": "{}", "objective": "{}"{}}})", metric,
                          multi ? "multi:softprob" : "binary:logistic", multi ? R"(, "num_class": 3)" : ""),
              &warnings)
              .ok());
  }
}

}  // namespace
}  // namespace winnow
