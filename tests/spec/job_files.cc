#include "tests/spec/job_files.h"

#include <stdexcept>

#include "spec/checks/check_spec.h"
#include "spec/job_file.h"

namespace winnow {
namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the job file does not hold " + from);
  return text.replace(at, from.size(), to);
}

}  // namespace

std::string BuiltinJob(const std::string& from, const std::string& to) {
  return Replaced(R"json({
  "name": "bank",
  "trainer": {"builtin": "gbdt"},
  "channels": {"train": {"path": "train.csv", "label": "y"}, "validation": {"path": "validation.csv", "label": "y"}},
  "static_hyperparameters": {"objective": "binary:logistic", "eval_metric": "auc"},
  "parameters": [
    {"name": "num_round", "integer": {"min": 100, "max": 200}},
    {"name": "eta", "continuous": {"min": 0, "max": 1}},
    {"name": "tree_method", "categorical": {"values": ["hist", "exact"]}}
  ],
  "objective": {"metric": "validation:auc", "goal": "MAXIMIZE"},
  "strategy": "HYPERBAND",
  "hyperband": {"min_resource": 1, "max_resource": 30, "reduction_factor": 3},
  "limits": {"max_trials": 30, "max_parallel_trials": 4},
  "cluster": {"nodes": 1},
  "seed": 1729
})json",
                  from, to);
}

std::string CommandJob(const std::string& from, const std::string& to) {
  return Replaced(R"json({
  "name": "script",
  "trainer": {
    "command": ["python3", "train.py"],
    "metrics": [{"name": "loss", "regex": "loss=([0-9.e+-]+)"}],
    "resource_regex": "epoch ([0-9]+)",
    "environment": {"OMP_NUM_THREADS": "1"},
    "grace_period": "5s"
  },
  "static_hyperparameters": {"batch": 32},
  "parameters": [{"name": "rate", "continuous": {"min": 0.001, "max": 1, "scaling": "LOG"}}],
  "objective": {"metric": "loss", "goal": "MINIMIZE"},
  "strategy": "RANDOM",
  "limits": {"max_trials": 10}
})json",
                  from, to);
}

std::string ExternalJob(const std::string& more, const std::string& from, const std::string& to) {
  return Replaced(R"json({
  "name": "outside",
  "trainer": {"external": true, "lease": "30s"},
  "parameters": [
    {"name": "kind", "categorical": {"values": ["sgd", "adam"]}},
    {"name": "momentum", "continuous": {"min": 0, "max": 0.9}, "condition": {"parameter": "kind", "values": ["sgd"]}},
    {"name": "layers", "integer": {"min": 1, "max": 4}},
    {"name": "width", "discrete": {"values": [16, 32, 64, 128, 256, 512]}}
  ],
  "objective": {"metric": "loss", "goal": "MINIMIZE"},
  "limits": {"max_trials": 10})json" +
                      (more.empty() ? "" : ", " + more) + "}",
                  from, to);
}

std::vector<Violation> Violations(const std::string& job_file) {
  ParsedJobFile parsed = ParseJobFile(job_file);
  if (!parsed.violations.empty()) return parsed.violations;
  return CheckSpec(parsed.spec);
}

std::string Listed(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += violation.field + ": " + violation.description + "\n";
  return text;
}

}  // namespace winnow
