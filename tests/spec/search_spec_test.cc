#include "spec/search_spec.h"

#include "spec/builtin_trainers.h"
#include "spec/job_file.h"
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
  CHECK_FALSE(Search(R"({"trainer": {"resumes": false}})").resumes);
}

TEST_CASE("Search spec: where a trainer ends", "[spec]") {
  CHECK(Search(R"({"trainer": {"builtin": "gbdt"}})").own_end == 10);
  CHECK(Search(R"({"trainer": {"builtin": "gbdt"}, "static_hyperparameters": {"num_round": 1e2}})").own_end ==
        100);
  CHECK(Search(CommandJob()).own_end == 0);
  CHECK(Search(CommandJob()).own_end_parameter == -1);
}

TEST_CASE("Search spec: the shortest wall time is still a limit", "[spec]") {
  CHECK(Search(R"({"limits": {"max_wall_time": "0.000000001s"}})").limits.max_wall_time_us == 1);
  CHECK(Search(R"({"limits": {"max_wall_time": "90s"}})").limits.max_wall_time_us == 90'000'000);
}

TEST_CASE("Built-in trainers: what gbdt evaluates follows eval_metric, else the objective", "[spec]") {
  using Names = std::vector<std::string>;
  CHECK(EvaluatedMetrics("auc, logloss,auc", "binary:logistic") == Names{"auc", "logloss"});
  CHECK(EvaluatedMetrics("[\"auc\", \"error\"]", "binary:logistic") == Names{"auc", "error"});
  CHECK(EvaluatedMetrics("", "binary:logitraw") == Names{"logloss"});
  CHECK(EvaluatedMetrics("", "multi:softprob") == Names{"mlogloss"});
  CHECK(EvaluatedMetrics("", "") == Names{"rmse"});
}

TEST_CASE("Values: kept through the wire form", "[spec]") {
  for (const Value& value : {Value(int64_t{-5}), Value(0.1), Value(std::string("gbtree"))}) {
    const v1::HyperparameterValue proto = ToProto("x", value);
    CHECK(proto.name() == "x");
    CHECK(FromProto(proto) == value);
  }
}

}  // namespace
}  // namespace winnow
