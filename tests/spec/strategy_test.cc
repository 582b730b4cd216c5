#include "spec/strategy.h"

#include "spec/job_file.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

Strategy Chosen(const std::string& job_file) { return StrategyOf(ParseJobFile(job_file).spec); }

std::string Named(const std::string& job_file) {
  const Strategy strategy = Chosen(job_file);
  return StrategyName(strategy.sampler.kind, strategy.pruner.kind);
}

TEST_CASE("Strategy: every name stands for its sampler and pruner", "[spec]") {
  for (int s = v1::RANDOM; s <= v1::Strategy_MAX; ++s) {
    const std::string name = v1::Strategy_Name(static_cast<v1::Strategy>(s));
    CHECK(Named("{\"strategy\": \"" + name + "\"}") == name);
  }
  CHECK(Chosen(R"({"strategy": "BOHB"})").sampler.kind == SamplerKind::kTpe);
  CHECK(Chosen(R"({"strategy": "BOHB"})").pruner.kind == PrunerKind::kHyperband);
}

TEST_CASE("Strategy: left out, it is FREEZE_THAW where trials go equally far and resume, else BAYESIAN",
          "[spec]") {
  const std::string builtin = R"({"trainer": {"builtin": "gbdt"})";
  CHECK(Named("{}") == "BAYESIAN");
  CHECK(Named(R"({"limits": {"max_trial_resource": 27}})") == "FREEZE_THAW");
  CHECK(Named(R"({"pruner": {"max_resource": 27}})") == "FREEZE_THAW");
  CHECK(Named(R"({"limits": {"max_trial_resource": 27}, "trainer": {"resumes": false}})") == "BAYESIAN");
  CHECK(Named(builtin + "}") == "FREEZE_THAW");
  CHECK(Named(builtin + R"(, "static_hyperparameters": {"num_round": 50}})") == "FREEZE_THAW");
  CHECK(Named(builtin + R"(, "parameters": [{"name": "num_round", "integer": {"min": 1, "max": 9}}]})") ==
        "BAYESIAN");
  CHECK(Named(R"({"hyperband": {"max_resource": 27}})") == "HYPERBAND");
}

TEST_CASE("Strategy: a sampler or a pruner of one's own takes the other's place", "[spec]") {
  CHECK(Named(R"({"sampler": {"kind": "TPE"}})") == "TPE sampler, NONE pruner");
  CHECK(Named(R"({"pruner": {"kind": "ASHA", "max_resource": 9}})") == "GP sampler, ASHA pruner");
  CHECK(Named(R"({"strategy": "ASHA", "sampler": {"kind": "TPE"}})") == "TPE sampler, ASHA pruner");
  CHECK(Named(R"({"strategy": "RANDOM", "pruner": {"kind": "MEDIAN"}})") == "RANDOM sampler, MEDIAN pruner");
  CHECK(Named(R"({"hyperband": {"max_resource": 9}, "sampler": {"kind": "TPE"}})") == "BOHB");
  CHECK(Named(R"({"sampler": {"startup_trials": 9}, "limits": {"max_trial_resource": 9}})") == "FREEZE_THAW");
}

TEST_CASE("Strategy: R is the pruner's, else the trial's limit, else where the built-in trainer ends",
          "[spec]") {
  const auto r = [](const std::string& members) {
    return Chosen(R"({"strategy": "ASHA", "trainer": {"builtin": "gbdt"})" + members + "}")
        .pruner.rungs.max_resource;
  };
  CHECK(r("") == 10);
  CHECK(r(R"(, "static_hyperparameters": {"num_round": "2e2"})") == 200);
  CHECK(r(R"(, "parameters": [{"name": "num_round", "integer": {"min": 50, "max": 150}}])") == 150);
  CHECK(r(R"(, "limits": {"max_trial_resource": 27})") == 27);
  CHECK(r(R"(, "limits": {"max_trial_resource": 27}, "pruner": {"max_resource": 81})") == 81);
  CHECK(Chosen(R"({"strategy": "ASHA"})").pruner.rungs.max_resource == 0);
}

TEST_CASE("Strategy: PBT has a population, and rungs a tenth of the end apart", "[spec]") {
  const PrunerSettings pbt = Chosen(R"({"strategy": "PBT", "pruner": {"max_resource": 50}})").pruner;
  CHECK(pbt.bracket_trials == 20);
  CHECK(pbt.rungs == RungSettings{5, 50, 4});
  const PrunerSettings own =
      Chosen(
          R"({"strategy": "PBT", "pruner": {"max_resource": 50, "min_resource": 2, "trials": 8, "reduction_factor": 2}})")
          .pruner;
  CHECK(own.bracket_trials == 8);
  CHECK(own.rungs == RungSettings{2, 50, 2});
  CHECK(Chosen(R"({"strategy": "ASHA", "pruner": {"max_resource": 50}})").pruner.rungs ==
        RungSettings{1, 50, 3});
}

TEST_CASE("Strategy: settings and their defaults", "[spec]") {
  const PrunerSettings asha = Chosen(R"({"strategy": "ASHA"})").pruner;
  CHECK(asha.asha_form == AshaForm::kPromotion);
  CHECK(asha.asha_brackets == 1);
  CHECK(asha.min_chance == 0);
  CHECK(Chosen(R"({"strategy": "ASHA", "trainer": {"resumes": false}})").pruner.asha_form ==
        AshaForm::kStopping);
  CHECK(Chosen(R"({"strategy": "FREEZE_THAW", "trainer": {"resumes": false}})").pruner.asha_form ==
        AshaForm::kPromotion);
  CHECK(Chosen(R"({"pruner": {"kind": "LEARNING_CURVE"}})").pruner.min_chance == 0.05);
  CHECK(Chosen(R"({"pruner": {"kind": "LEARNING_CURVE", "min_chance": 0}})").pruner.min_chance == 0);
  const PrunerSettings bands =
      Chosen(R"({"pruner": {"kind": "HYPERBAND", "min_resource": 3, "max_resource": 27,
    "reduction_factor": 4, "stop_weak_brackets": false, "weak_bracket_level": 0.01}})")
          .pruner;
  CHECK(bands.rungs == RungSettings{3, 27, 4});
  CHECK_FALSE(bands.stop_weak_brackets);
  CHECK(bands.weak_bracket_level == 0.01);
  const PrunerSettings median =
      Chosen(R"({"pruner": {"kind": "MEDIAN", "warm_up_resource": 4, "warm_up_trials": 0}})").pruner;
  CHECK(median.warm_up_resource == 4);
  CHECK(median.warm_up_trials == 0);
  CHECK(Chosen(R"({"sampler": {"kind": "GP", "startup_trials": 7}})").sampler.startup_trials == 7);
}

}  // namespace
}  // namespace winnow
