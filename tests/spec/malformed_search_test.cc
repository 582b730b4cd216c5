#include "tests/catch.h"
#include "tests/spec/job_files.h"
#include "tests/spec/malformed.h"

namespace winnow {
namespace {

std::string With(const std::string& members) { return ExternalJob(members); }

// A job with two objectives and these members.
std::string Front(const std::string& members) {
  return ExternalJob(
      "", R"("objective": {"metric": "loss", "goal": "MINIMIZE"})",
      R"("strategy": "RANDOM", "objectives": [{"metric": "loss", "goal": "MINIMIZE"}, {"metric": "size", "goal": "MINIMIZE"}])" +
          (members.empty() ? "" : ", " + members));
}

TEST_CASE("Malformed job files: several objectives and metric constraints", "[spec]") {
  CHECK(Violations(Front("")).empty());
  CHECK(Violations(Front(R"("metric_constraints": [{"metric": "memory", "at_most": 8}])")).empty());
  CHECK(
      Violations(With(R"("strategy": "RANDOM", "metric_constraints": [{"metric": "loss", "at_least": 0.1}])"))
          .empty());
  CheckCases({
      {Front(R"("objective": {"metric": "loss", "goal": "MINIMIZE"})"),
       "objective",
       {"beside objectives", "one of the two"}},
      {Front(R"("completion": {"target_objective": 1})"), "completion.target_objective", {"one objective"}},
      {Front(R"("completion": {"target_hypervolume": 1})"),
       "completion.target_hypervolume",
       {"expected a threshold for every objective"}},
      {Front(R"("pruner": {"kind": "LEARNING_CURVE"})"), "pruner.kind", {"curve of one objective"}},
      {Front(R"("pruner": {"kind": "HYPERBAND", "max_resource": 9, "stop_weak_brackets": true})"),
       "pruner.stop_weak_brackets",
       {"true", "expected false"}},
      {Front(R"("warm_start": {"jobs": ["old"]})"), "warm_start", {"one objective", "with objectives"}},
      {Front(R"("metric_constraints": [{"metric": "memory"}])"),
       "metric_constraints[0]",
       {"no bound", "at_most or at_least"}},
      {With(R"("strategy": "RANDOM", "metric_constraints": [{"at_most": 1}])"),
       "metric_constraints[0].metric",
       {"is empty"}},
      {BuiltinJob(
           R"("objective": {"metric": "validation:auc", "goal": "MAXIMIZE"})",
           R"("objectives": [{"metric": "validation:auc", "goal": "MAXIMIZE"}, {"metric": "speed", "goal": "MAXIMIZE"}])"),
       "objectives[1].metric",
       {"\"speed\" is not printed by the trainer"}},
      {BuiltinJob(
           R"("objective": {"metric": "validation:auc", "goal": "MAXIMIZE"})",
           R"("objectives": [{"metric": "validation:auc", "goal": "MAXIMIZE"}, {"metric": "train:auc"}])"),
       "objectives[1].goal",
       {"is missing", "MAXIMIZE or MINIMIZE"}},
  });
}

TEST_CASE("Malformed job files: lists that would take long to check are refused for their length", "[spec]") {
  std::string entries;
  for (int i = 0; i < 30'000; ++i)
    entries += std::string(i == 0 ? "" : ",") + R"({"metric": "a", ")" +
               (i % 2 == 0 ? "at_least" : "at_most") + R"(": )" + (i % 2 == 0 ? "1}" : "0}");
  const auto violations =
      Violations(With(R"("strategy": "RANDOM", "metric_constraints": [)" + entries + "]"));
  REQUIRE(violations.size() == 1);
  CHECK(violations[0].field == "metric_constraints");
  CHECK(violations[0].description == "has 30000 entries; expected at most 1000");
}

TEST_CASE("Malformed job files: strategy, sampler and pruner", "[spec]") {
  CheckCases({
      {ExternalJob(R"("strategy": "tpe")"),
       "strategy",
       {"expected one of RANDOM", "TPE is a sampler, which is chosen by sampler: {kind: TPE}"}},
      {ExternalJob(R"("strategy": "MEDIAN")"),
       "strategy",
       {"MEDIAN is a pruner, which is chosen by pruner: {kind: MEDIAN}"}},
      {BuiltinJob("\"hyperband\": {", "\"pruner\": {\"kind\": \"ASHA\"}, \"hyperband\": {"),
       "hyperband",
       {"beside pruner {kind: ASHA}", "one of the two"}},
      {ExternalJob("", R"("limits": {"max_trials": 10})",
                   R"("hyperband": {"max_resource": 9}, "pruner": {"kind": "ASHA", "max_resource": 9})"),
       "hyperband",
       {"one of the two"}},
      {With(R"("strategy": "BAYESIAN", "hyperband": {"max_resource": 9})"),
       "hyperband",
       {"BAYESIAN", "HYPERBAND"}},
      {With(R"("pruner": {"kind": "NONE", "max_resource": 9})"),
       "pruner.max_resource",
       {"NONE pruner does not use it", "HYPERBAND", "ASHA"}},
      {With(R"("pruner": {"kind": "MEDIAN", "form": "STOPPING"})"),
       "pruner.form",
       {"MEDIAN", "expected it with ASHA"}},
      {With(R"("strategy": "HYPERBAND", "pruner": {"max_resource": 9, "warm_up_trials": 0})"),
       "pruner.warm_up_trials",
       {"HYPERBAND pruner", "expected it with MEDIAN, LEARNING_CURVE"}},
      {With(R"("strategy": "ASHA")"), "pruner.max_resource", {"missing", "expected 1 to 1000000000"}},
      {With(R"("strategy": "ASHA", "pruner": {"max_resource": 9, "brackets": -1})"),
       "pruner.brackets",
       {"-1"}},
      {With(R"("pruner": {"kind": "FAST"})"),
       "pruner.kind",
       {"\"FAST\"", "expected one of NONE, MEDIAN, HYPERBAND"}},
      {With(R"("sampler": {"kind": "CMA"})"),
       "sampler.kind",
       {"\"CMA\"", "expected one of RANDOM, SOBOL, GRID, GP, TPE"}},
      {With(R"("sampler": {"kind": "SOBOL", "startup_trials": 5})"),
       "sampler.startup_trials",
       {"5", "SOBOL", "GP or TPE"}},
      {With(R"("sampler": {"kind": "TPE", "grid_points": {"momentum": 3}})"),
       "sampler.grid_points",
       {"TPE sampler", "expected it with GRID"}},
      {With(R"("sampler": {"kind": "GRID", "grid_points": {"momentun": 3}})"),
       "sampler.grid_points.momentun",
       {"not a tuned hyperparameter", "did you mean momentum?"}},
      {With(R"("sampler": {"kind": "GRID", "grid_points": {"kind": 2}})"),
       "sampler.grid_points.kind",
       {"2", "all values of kind", "continuous"}},
      {With(R"("sampler": {"kind": "GRID", "grid_points": {"momentum": 2.5}})"),
       "sampler.grid_points.momentum",
       {"2.5", "whole number"}},
      {With(R"("repeats": {})"), "repeats", {"neither", "expected one of the two"}},
      {With(R"("repeats": {"seeds": 3, "folds": 3})"), "repeats", {"both", "expected one of the two"}},
      {With(R"("repeats": {"seeds": 1})"), "repeats.seeds", {"1", "2 to 100"}},
      {With(R"("repeats": {"folds": 101})"), "repeats.folds", {"101", "2 to 100"}},
      {With(R"("repeats": {"seeds": -2})"), "repeats.seeds", {"-2", "2 to 100"}},
      {With(R"("repeats": {"seeds": 3}, "strategy": "ASHA", "pruner": {"max_resource": 9})"),
       "repeats",
       {"ASHA pruner", "RANDOM, GRID or BAYESIAN"}},
      {With(R"("repeats": {"seeds": 3}, "metric_constraints": [{"metric": "size", "at_most": 1}])"),
       "repeats",
       {"metric_constraints", "one objective alone"}},
      {With(R"("pruner": {"kind": "PAIRED_TEST"})"), "pruner.kind", {"PAIRED_TEST", "expected repeats"}},
      {ExternalJob("", R"("limits": {"max_trials": 10})",
                   R"("repeats": {"seeds": 3}, "limits": {"max_trials": 10, "max_trial_resource": 5})"),
       "limits.max_trial_resource",
       {"5 beside repeats", "expected none"}},
      {BuiltinJob(R"("strategy": "HYPERBAND",
  "hyperband": {"min_resource": 1, "max_resource": 30, "reduction_factor": 3})",
                  R"("strategy": "RANDOM", "repeats": {"folds": 3})"),
       "repeats.folds",
       {"built-in trainer", "WINNOW_FOLD"}},
      {With(R"("use_portfolio": true)"), "use_portfolio", {"true", "built-in trainer"}},
  });
}

TEST_CASE("Malformed job files: conditions and constraints", "[spec]") {
  CheckCases({
      {ExternalJob("", R"("parameter": "kind")", R"("parameter": "kinds")"),
       "parameters[1].condition.parameter",
       {"\"kinds\"", "did you mean kind?"}},
      {ExternalJob("", R"("parameter": "kind", )", ""),
       "parameters[1].condition.parameter",
       {"missing", "earlier hyperparameter"}},
      {With(R"("constraints": [{"coefficients": {"layer": 1}, "max": 3}])"),
       "constraints[0].coefficients.layer",
       {"\"layer\"", "did you mean layers?"}},
      {With(R"("constraints": [{"coefficients": {}, "max": 3}])"), "constraints[0].coefficients", {"empty"}},
      {With(R"("constraints": [{"coefficients": {"layers": 1}}])"),
       "constraints[0]",
       {"no bound", "min, max or both"}},
      {With(R"("constraints": [{"coefficients": {"layers": 1}, "min": "-Infinity"}])"),
       "constraints[0].min",
       {"-inf", "finite"}},
      {With(R"("constraints": [{"coefficients": {"layers": "one"}, "max": 3}])"),
       "constraints[0].coefficients.layers",
       {"\"one\"", "a number"}},
      {CommandJob("\"rate\", ", R"("rate", "condition": {"parameter": "rat", "values": [1]}, )"),
       "parameters[0].condition.parameter",
       {"\"rat\"", "did you mean rate?"}},
  });
}

TEST_CASE("Malformed job files: priors", "[spec]") {
  const auto prior = [](const std::string& members) {
    return CommandJob("\"rate\", ", R"("rate", "prior": {)" + members + "}, ");
  };
  CheckCases({
      {prior(R"("value": 2)"), "parameters[0].prior.value", {"\"2\"", "a number from 0.001 to 1"}},
      {prior(R"("value": "fast")"), "parameters[0].prior.value", {"\"fast\"", "a number from 0.001 to 1"}},
      {prior(R"("confidence": "LOW")"), "parameters[0].prior.value", {"missing", "a number from 0.001 to 1"}},
      {prior(R"("value": [0.1])"), "parameters[0].prior.value", {"a string"}},
      {prior(R"("value": 0.1, "confidence": "SURE")"),
       "parameters[0].prior.confidence",
       {"\"SURE\"", "one of LOW, MEDIUM, HIGH"}},
      {prior(R"("value": 0.1, "confidnce": "LOW")"),
       "parameters[0].prior.confidnce",
       {"did you mean confidence?"}},
      {CommandJob(R"([{"name": "rate", "continuous": {"min": 0.001, "max": 1, "scaling": "LOG"}}],
  "objective": {"metric": "loss", "goal": "MINIMIZE"},
  "strategy": "RANDOM")",
                  R"([{"name": "rate", "continuous": {"min": 0.001, "max": 1}, "prior": {"value": 0.1}}],
  "objective": {"metric": "loss", "goal": "MINIMIZE"},
  "strategy": "GRID")"),
       "parameters[0].prior",
       {"GRID sampler", "another sampler"}},
  });
}

TEST_CASE("Malformed job files: initial configurations", "[spec]") {
  const auto first = [](const std::string& values) {
    return With("\"initial_configurations\": [{\"hyperparameters\": {" + values + "}}]");
  };
  const std::string at = "initial_configurations[0].hyperparameters.";
  CheckCases({
      {first(R"("kind": "adam", "layers": 2)"), at + "width", {"missing", "one of 16, 32"}},
      {first(R"("kind": "adam", "layers": 2, "width": 32, "depth": 1)"),
       at + "depth",
       {"not a tuned hyperparameter"}},
      {first(R"("kind": "adam", "layers": 2.5, "width": 32)"),
       at + "layers",
       {"\"2.5\"", "whole number from 1 to 4"}},
      {first(R"("kind": "adam", "layers": 5, "width": 32)"), at + "layers", {"\"5\"", "from 1 to 4"}},
      {first(R"("kind": "adam", "layers": 2, "width": 33)"), at + "width", {"\"33\"", "one of 16, 32"}},
      {first(R"("kind": "lion", "layers": 2, "width": 32)"), at + "kind", {"\"lion\"", "one of sgd, adam"}},
      {first(R"("kind": "sgd", "layers": 2, "width": 32)"), at + "momentum", {"missing", "from 0 to 0.9"}},
      {first(R"("kind": "adam", "momentum": 0.5, "layers": 2, "width": 32)"),
       at + "momentum",
       {"\"0.5\"", "only where kind is one of sgd", "expected none"}},
  });
}

TEST_CASE("Malformed job files: external trainers", "[spec]") {
  const auto trainer = [](const std::string& more) { return ExternalJob("", "\"lease\": \"30s\"", more); };
  CheckCases({
      {trainer(R"json("command": ["x"], "metrics": [{"name": "loss", "regex": "(.)"}])json"),
       "trainer",
       {"command and external", "exactly one"}},
      {trainer(R"json("metrics": [{"name": "loss", "regex": "(.)"}])json"),
       "trainer.metrics",
       {"expected none", "external"}},
      {trainer(R"json("resource_regex": "(.)")json"), "trainer.resource_regex", {"expected none"}},
      {trainer(R"("environment": {"A": "1"})"), "trainer.environment", {"expected none", "no process"}},
      {trainer(R"("secrets": {"A": "key"})"), "trainer.secrets", {"expected none", "no process"}},
      {trainer(R"("lease": "0.5s")"), "trainer.lease", {"shorter than a second", "expected 1s"}},
      {trainer(R"("lease": "100000s")"), "trainer.lease", {"100000s", "to 86400s"}},
      {With(R"("channels": {"train": {"path": "x"}})"), "channels", {"expected none"}},
      {With(R"("cluster": {"nodes": 2})"), "cluster", {"expected none"}},
      {CommandJob("\"grace_period\"", R"("lease": "30s", "grace_period")"),
       "trainer.lease",
       {"external trainer only"}},
  });
}

TEST_CASE("Malformed job files: limits, completion and warm start", "[spec]") {
  CheckCases({
      {CommandJob("\"max_trials\": 10", R"("max_trials": 10, "max_node_seconds": -1)"),
       "limits.max_node_seconds",
       {"-1", "expected 0"}},
      {CommandJob("\"max_trials\": 10", R"("max_trials": 10, "max_cost": -1)"),
       "limits.max_cost",
       {"-1", "expected 0"}},
      {CommandJob("\"max_trials\": 10", R"("max_trials": 10, "max_node_seconds": "NaN")"),
       "limits.max_node_seconds",
       {"nan", "expected 0"}},
      {With(R"("completion": {"no_improvement_tolerance": 0.1})"),
       "completion.no_improvement_tolerance",
       {"no_improvement_trials"}},
      {With(R"("warm_start": {"jobs": [""]})"), "warm_start.jobs[0]", {"empty", "id of a job"}},
      {With(R"("warm_start": {"csv_files": ["a.csv", "a.csv"]})"), "warm_start.csv_files[1]", {"twice"}},
      {With(R"("warm_start": {"optuna_studies": [{"study": "s"}]})"),
       "warm_start.optuna_studies[0].file",
       {"missing", "SQLite"}},
      {With(R"("warm_start": {"csvs": []})"),
       "warm_start.csvs",
       {"expected one of jobs, csv_files, optuna_studies"}},
  });
}

TEST_CASE("Malformed job files: a conditional hyperparameter needs an argument of its own", "[spec]") {
  const std::string conditional =
      R"([{"name": "a", "integer": {"min": 0, "max": 1}},
          {"name": "b", "integer": {"min": 0, "max": 9}, "condition": {"parameter": "a", "values": [1]}}, {"name": "rate")";
  const std::string job = CommandJob("[{\"name\": \"rate\"", conditional);
  const auto with = [&job](const std::string& argument) {
    std::string changed = job;
    return changed.replace(changed.find("\"train.py\""), 10, "\"" + argument + "\"");
  };
  CHECK(Listed(Violations(with("--b={{b}}"))) == "");
  CheckCases(
      {{with("{{a}}:{{b}}"), "trainer.command[1]", {"{{b}}", "conditional", "an argument of its own"}}});
}

}  // namespace
}  // namespace winnow
