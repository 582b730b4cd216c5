#include "spec/search_spec.h"

#include <limits>

#include "spec/builtin_trainers.h"
#include "spec/job_file.h"
#include "spec/new_job.h"
#include "spec/values.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

SearchSpec Search(const std::string& job_file) { return ToSearchSpec(ParseJobFile(job_file).spec); }

TEST_CASE("Search spec: of a built-in trainer, whose end is a tuned parameter", "[spec]") {
  const SearchSpec search = Search(BuiltinJob());
  REQUIRE(search.parameters.size() == 3);
  CHECK(search.parameters[0].range == Range(IntegerRange{100, 200, Scaling::kLinear}));
  CHECK(search.parameters[1].range == Range(ContinuousRange{0, 1, Scaling::kLinear}));
  CHECK(search.parameters[2].range == Range(CategoricalRange{{"hist", "exact"}}));
  CHECK(search.objective_metric == "validation:auc");
  CHECK(search.goal == Goal::kMaximize);
  CHECK(search.pruner.kind == PrunerKind::kHyperband);
  CHECK(search.pruner.rungs == RungSettings{1, 30, 3});
  CHECK(search.limits.max_trials == 30);
  CHECK(search.limits.max_parallel_trials == 4);
  CHECK(search.nodes == 1);
  CHECK(search.seed == 1729);
  CHECK(search.resumes);
  CHECK(search.own_end_parameter == 0);
}

TEST_CASE("Search spec: defaults are filled in", "[spec]") {
  const SearchSpec search = Search(R"({"hyperband": {"max_resource": 9}})");
  CHECK(search.pruner.kind == PrunerKind::kHyperband);
  CHECK(search.pruner.rungs == RungSettings{1, 9, 3});
  CHECK(search.limits.max_attempts == 1);
  CHECK(search.nodes == 1);
  CHECK(search.resumes);
  CHECK(Search("{}").pruner.kind == PrunerKind::kNone);
  CHECK(Search("{}").completion == Completion());
  CHECK_FALSE(Search(R"({"trainer": {"resumes": false}})").resumes);
}

TEST_CASE("Search spec: what a trial counts, in capitals or not", "[spec]") {
  const auto counts = [](const std::string& value) {
    return Search(R"({"objective": {"metric": "m", "goal": "maximize", "value": ")" + value + "\"}}").objective_value;
  };
  CHECK(Search(R"({"objective": {"metric": "m", "goal": "MAXIMIZE"}})").objective_value == ObjectiveValue::kBest);
  CHECK(counts("BEST") == ObjectiveValue::kBest);
  CHECK(counts("LAST") == ObjectiveValue::kLast);
  CHECK(counts("MEAN") == ObjectiveValue::kMean);
  CHECK(counts("mean") == ObjectiveValue::kMean);
  CHECK(Search(R"({"objective": {"goal": "minimize"}})").goal == Goal::kMinimize);
}

TEST_CASE("Search spec: a new job gets defaults that a recorded one without them does not", "[spec]") {
  const auto first_failures = [](const std::string& job_file, bool is_new) {
    const v1::TuningJobSpec spec = ParseJobFile(job_file).spec;
    return ToSearchSpec(is_new ? NewJobSpec(spec) : spec).limits.max_first_failures;
  };
  CHECK(first_failures(CommandJob(), true) == 3);
  CHECK(first_failures(CommandJob(), false) == 0);
  CHECK(first_failures(R"({"limits": {"max_first_failures": 0}})", true) == 0);
  CHECK(first_failures(R"({"limits": {"max_first_failures": 7}})", true) == 7);
  CHECK(first_failures(R"({"trainer": {"external": true}})", true) == 0);
}

TEST_CASE("Search spec: where a trainer ends", "[spec]") {
  CHECK(Search(R"({"trainer": {"builtin": "gbdt"}})").own_end == 10);
  CHECK(Search(R"({"trainer": {"builtin": "gbdt"}, "static_hyperparameters": {"num_round": 1e2}})").own_end ==
        100);
  CHECK(Search(CommandJob()).own_end == 0);
  CHECK(Search(CommandJob()).own_end_parameter == -1);
}

TEST_CASE("Search spec: names become indices, texts the parent's values", "[spec]") {
  const SearchSpec search = Search(R"({"parameters": [
      {"name": "a", "integer": {"min": 1, "max": 9, "scaling": "REVERSE_LOG"}},
      {"name": "b", "discrete": {"values": [0.5, 1]}, "condition": {"parameter": "a", "values": [1, "2"]}},
      {"name": "c", "categorical": {"values": ["s", "m"], "ordered": true},
       "condition": {"parameter": "b", "values": [0.50]}, "prior": {"value": "m", "confidence": "LOW"}},
      {"name": "d", "continuous": {"min": 0, "max": 1}, "prior": {"value": 1e-1}}],
    "constraints": [{"coefficients": {"b": -2, "a": 1}, "max": 3}, {"coefficients": {"a": 1}, "min": 2, "max": 4}]})");
  CHECK(search.parameters[0].range == Range(IntegerRange{1, 9, Scaling::kReverseLog}));
  CHECK(search.parameters[1].range == Range(DiscreteRange{{0.5, 1}}));
  CHECK(search.parameters[1].condition == Condition{0, {int64_t{1}, int64_t{2}}});
  CHECK(search.parameters[2].range == Range(CategoricalRange{{"s", "m"}, true}));
  CHECK(search.parameters[2].condition == Condition{1, {0.5}});
  CHECK(search.parameters[1].prior == std::nullopt);
  CHECK(search.parameters[2].prior == Prior{std::string("m"), Confidence::kLow});
  CHECK(search.parameters[3].prior == Prior{0.1, Confidence::kMedium});
  const double none = std::numeric_limits<double>::infinity();
  REQUIRE(search.constraints.size() == 2);
  CHECK(search.constraints[0] == LinearConstraint{{{0, 1}, {1, -2}}, -none, 3});
  CHECK(search.constraints[1] == LinearConstraint{{{0, 1}}, 2, 4});
}

TEST_CASE("Search spec: completion, node time and the number of a grid's points", "[spec]") {
  const SearchSpec search = Search(R"({"limits": {"max_node_seconds": 0.0000015, "max_trial_resource": 7},
    "completion": {"target_objective": 0, "no_improvement_trials": 9, "convergence_tolerance": 0.02},
    "sampler": {"kind": "GRID", "grid_points": {"x": 3, "n": 4}}, "parameters": [
      {"name": "few", "integer": {"min": 1, "max": 3}}, {"name": "n", "integer": {"min": 1, "max": 100}},
      {"name": "y", "continuous": {"max": 1}}, {"name": "x", "continuous": {"max": 1}}]})");
  CHECK(search.limits.max_node_time_us == 2);
  CHECK(search.limits.max_trial_resource == 7);
  CHECK(search.completion.target_objective == 0.0);
  CHECK(search.completion.no_improvement_trials == 9);
  CHECK(search.completion.no_improvement_tolerance == 0.01);
  CHECK(search.completion.convergence_tolerance == 0.02);
  CHECK(search.sampler.grid_points == std::vector<int64_t>{4, 0, 3});
}

TEST_CASE("Search spec: a trial's limit is R under rungs that have none of their own, or the same",
          "[spec]") {
  for (const char* pruner : {"", R"(, "pruner": {"max_resource": 27})"}) {
    const SearchSpec search =
        Search(R"({"strategy": "ASHA", "limits": {"max_trial_resource": 27})" + std::string(pruner) + "}");
    CHECK(search.pruner.rungs.max_resource == 27);
    CHECK(search.limits.max_trial_resource == 0);
  }
}

TEST_CASE("Search spec: the shortest wall time is still a limit", "[spec]") {
  CHECK(Search(R"({"limits": {"max_wall_time": "0.000000001s"}})").limits.max_wall_time_us == 1);
  CHECK(Search(R"({"limits": {"max_wall_time": "90s"}})").limits.max_wall_time_us == 90'000'000);
}

TEST_CASE("Built-in trainers: what gbdt evaluates follows eval_metric, else the objective", "[spec]") {
  using Names = std::vector<std::string>;
  const auto evaluated = [](const std::map<std::string, std::string, std::less<>>& values) {
    return FindBuiltinTrainer("gbdt")->declaration->metrics({values, {}});
  };
  CHECK(evaluated({{"eval_metric", "auc, logloss,auc"}}) == Names{"auc", "logloss"});
  CHECK(evaluated({{"eval_metric", "[\"auc\", \"error\"]"}}) == Names{"auc", "error"});
  CHECK(evaluated({{"objective", "binary:logitraw"}}) == Names{"logloss"});
  CHECK(evaluated({{"objective", "multi:softprob"}}) == Names{"mlogloss"});
  CHECK(evaluated({}) == Names{"rmse"});
}

TEST_CASE("Values: kept through the wire form", "[spec]") {
  for (const Value& value :
       {Value(int64_t{-5}), Value(0.1), Value(std::string("gbtree")), Value(Inactive{})}) {
    const v1::HyperparameterValue proto = ToProto("x", value);
    CHECK(proto.name() == "x");
    CHECK(FromProto(proto) == value);
  }
}

}  // namespace
}  // namespace winnow
