#include "tests/spec/malformed.h"

#include <algorithm>

#include "spec/checks/check_spec.h"
#include "spec/job_file.h"
#include "tests/catch.h"
#include "tests/spec/job_files.h"

namespace winnow {
namespace {

TEST_CASE("Malformed job files: syntax", "[spec]") {
  CheckCases({
      {"", "job file", {"line 1, column 1", "empty", "expected a JSON object"}},
      {"[1, 2]", "job file", {"[1, 2]", "expected an object"}},
      {"\"job\"", "job file", {"\"job\"", "expected an object"}},
      {"{\n  \"name\": \"a\"\n  \"seed\": 1\n}", "job file", {"line 3, column ", "syntax error", "expected"}},
      {"{\"name\": \"a\",}", "job file", {"line 1, column 14", "syntax error"}},
      {"{\"name\": 'a'}", "job file", {"line 1, column 10", "syntax error"}},
      {"{\"name\": \"a\"", "job file", {"line 1", "end of input"}},
      {"{\"name\": \"\xff\"}", "job file", {"line 1", "UTF-8"}},
      {std::string(100000, '['), "job file", {"nested deeper than 64 levels"}},
      {"{\"name\": \"a\"} {}", "job file", {"line 1", "expected end of input"}},
  });
}

TEST_CASE("Malformed job files: fields and their types", "[spec]") {
  CheckCases({
      {BuiltinJob("\"limits\"", "\"limit\""),
       "limit",
       {"unknown field in the job file", "did you mean limits?"}},
      {BuiltinJob("\"max_trials\"", "\"trials\""),
       "limits.trials",
       {"unknown field in limits; did you mean max_trials?"}},
      {BuiltinJob("\"max_trials\"", "\"max_trails\""), "limits.max_trails", {"did you mean max_trials?"}},
      {BuiltinJob("\"nodes\": 1", "\"cpu\": 1"),
       "cluster.cpu",
       {"unknown field in cluster", "did you mean cpus?"}},
      {BuiltinJob("{\"min\": 0, \"max\": 1}", "{\"min\": 0, \"maximum\": 1}"),
       "parameters[1].continuous.maximum",
       {"unknown field in", "expected one of min, max, scaling"}},
      {BuiltinJob("\"seed\": 1729", "\"seed\": 1729, \"seed\": 5"), "seed", {"twice", "5", "expected once"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": 30, \"maxTrials\": 31"),
       "limits.maxTrials",
       {"twice", "31"}},
      {BuiltinJob("\"objective\": \"binary:logistic\"", "\"eta\": 1, \"eta\": 2"),
       "static_hyperparameters.eta",
       {"twice", "2", "expected once"}},
      {BuiltinJob("\"name\": \"bank\"", "\"name\": 7"), "name", {"7", "expected a string"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": \"many\""),
       "limits.max_trials",
       {"\"many\"", "expected a whole number"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": 30.5"),
       "limits.max_trials",
       {"30.5", "expected a whole number"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": true"),
       "limits.max_trials",
       {"true", "whole number"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": 9223372036854775808"),
       "limits.max_trials",
       {"9223372036854775808", "to 9223372036854775807"}},
      {BuiltinJob("\"nodes\": 1", "\"nodes\": 3000000000"), "cluster.nodes", {"3000000000", "to 2147483647"}},
      {BuiltinJob("\"seed\": 1729", "\"seed\": -1"), "seed", {"-1", "whole number from 0"}},
      {BuiltinJob("{\"min\": 0, \"max\": 1}", "{\"min\": \"low\", \"max\": 1}"),
       "parameters[1].continuous.min",
       {"\"low\"", "expected a number"}},
      {BuiltinJob("{\"min\": 0, \"max\": 1}", "[0, 1]"), "parameters[1].continuous", {"[0, 1]", "an object"}},
      {BuiltinJob("\"max\": 1}", "\"max\": 1e999}"), "job file", {"line 8", "number overflow", "1e999"}},
      {BuiltinJob("\"cluster\": {\"nodes\": 1}", "\"cluster\": 1"), "cluster", {"1", "expected an object"}},
      {BuiltinJob("[\"hist\", \"exact\"]", "\"hist\""),
       "parameters[2].categorical.values",
       {"\"hist\"", "expected a list"}},
      {BuiltinJob("[\"hist\", \"exact\"]", "[\"hist\", 3]"),
       "parameters[2].categorical.values[1]",
       {"3", "expected a string"}},
      {BuiltinJob("\"strategy\": \"HYPERBAND\"", "\"strategy\": \"BEST\""),
       "strategy",
       {"\"BEST\"", "expected one of RANDOM, HYPERBAND, GRID, BAYESIAN, ASHA, BOHB, FREEZE_THAW, PBT"}},
      {BuiltinJob("\"goal\": \"MAXIMIZE\"", "\"goal\": \"maximise\""),
       "objective.goal",
       {"\"maximise\"", "expected one of MAXIMIZE, MINIMIZE"}},
      {BuiltinJob("\"goal\": \"MAXIMIZE\"", "\"goal\": \"MAXIMIZE\", \"value\": \"MEDIAN\""),
       "objective.value",
       {"\"MEDIAN\"", "expected one of BEST, LAST, MEAN"}},
      {CommandJob("\"LOG\"", "\"EXP\""),
       "parameters[0].continuous.scaling",
       {"\"EXP\"", "expected one of LINEAR, LOG, REVERSE_LOG"}},
      {CommandJob("\"LOG\"", "9"), "parameters[0].continuous.scaling", {"9", "LINEAR"}},
      {CommandJob("\"continuous\": {", "\"integer\": {\"min\": 1, \"max\": 2}, \"continuous\": {"),
       "parameters[0]",
       {"both integer and continuous", "only one of integer, continuous, categorical, discrete"}},
      {CommandJob("\"5s\"", "5"), "trainer.grace_period", {"5", "duration in seconds such as"}},
      {CommandJob("\"5s\"", "\"5m\""), "trainer.grace_period", {"\"5m\"", "duration"}},
      {CommandJob("\"max_trials\": 10", "\"max_wall_time\": \"1.0000000001s\""),
       "limits.max_wall_time",
       {"1.0000000001s", "duration"}},
      {CommandJob("[\"python3\", \"train.py\"]", "\"python3 train.py\""),
       "trainer.command",
       {"python3 train.py", "expected a list"}},
      {CommandJob("\"batch\": 32", "\"batch\": [32]"), "static_hyperparameters.batch", {"[32]", "a string"}},
      {CommandJob("\"resource_regex\"", "\"resumes\": \"no\", \"resource_regex\""),
       "trainer.resumes",
       {"\"no\"", "true or false"}},
  });
}

TEST_CASE("Malformed job files: code that travels, and metrics by keys", "[spec]") {
  const auto with = [](const std::string& more) {
    return CommandJob("\"environment\"", more + ", \"environment\"");
  };
  CheckCases({
      {with(R"("exclude": ["*.pt"])"), "trainer.exclude", {"with trainer.source only"}},
      {with(R"("setup": ["true"])"), "trainer.setup", {"with trainer.source only"}},
      {with(R"("source": ".", "exclude": [""])"), "trainer.exclude[0]", {"empty", "as in a .gitignore"}},
      {with(R"("source": ".", "setup": [""])"), "trainer.setup[0]", {"empty", "a program"}},
      {with(R"("source": ".", "setup": ["x", "{{rate}}"])"),
       "trainer.setup[1]",
       {"placeholder", "once for all"}},
      {BuiltinJob("\"builtin\": \"gbdt\"", "\"builtin\": \"gbdt\", \"source\": \".\""),
       "trainer.source",
       {"with trainer.command only"}},
      {CommandJob("\"regex\": \"loss=([0-9.e+-]+)\"", "\"regex\": \"(.)\", \"key\": \"l\""),
       "trainer.metrics[0]",
       {"the key \"l\"", "expected one of them"}},
      {with(R"("resource_key": "epoch")"), "trainer.resource_key", {"every metric has a regex"}},
      {CommandJob("\"resource_regex\": \"epoch ([0-9]+)\"", R"("metrics_file": "m.jsonl")"),
       "trainer.metrics[0].regex",
       {"with trainer.metrics_file", "expected a key"}},
  });
  CHECK(Listed(Violations(CommandJob(", \"regex\": \"loss=([0-9.e+-]+)\"", ""))) == "");
  CHECK(Listed(Violations(with(R"("source": ".", "exclude": ["*.pt"], "setup": ["pip", "install", "x"])"))) ==
        "");
}

TEST_CASE("Malformed job files: containers", "[spec]") {
  const auto with = [](const std::string& container) {
    return CommandJob("\"environment\"", "\"container\": " + container + ", \"environment\"");
  };
  const std::string image = "trainer.container.image", options = "trainer.container.options[0]";
  CheckCases({
      {with("{}"), image, {"missing", "such as python:3.12"}},
      {with(R"({"image": "python 3"})"), image, {"\"python 3\"", "the name of an image"}},
      {with(R"({"image": "--privileged"})"), image, {"\"--privileged\"", "the name of an image"}},
      {with(R"({"image": "a:{{rate}}"})"), image, {"the name of an image"}},
      {with("{\"image\": \"" + std::string(1025, 'a') + "\"}"), image, {"1025 bytes", "at most 1024"}},
      {with(R"({"image": "a", "engine": "lxc"})"),
       "trainer.container.engine",
       {"\"lxc\"", "podman, docker or apptainer"}},
      {with(R"({"image": "a", "options": ["/data:/data"]})"),
       options,
       {"\"/data:/data\"", "one option with its value"}},
      {with(R"({"image": "a", "options": ["--"]})"), options, {"one option with its value"}},
      {with(R"({"image": "a", "options": ["--cpus={{rate}}"]})"), options, {"placeholder"}},
      {BuiltinJob("\"builtin\": \"gbdt\"", R"("builtin": "gbdt", "container": {"image": "a"})"),
       "trainer.container",
       {"with trainer.command only"}},
  });
  CHECK(Listed(Violations(with(
            R"({"image": "docker-archive:/a.tar", "engine": "podman", "options": ["-v=/a:/a"]})"))) == "");
}

TEST_CASE("Malformed job files: names, trainers and data", "[spec]") {
  const std::string metrics = R"json("metrics": [{"name": "loss", "regex": "loss=([0-9.e+-]+)"}])json";
  CheckCases({
      {BuiltinJob("\"bank\"", "\"\""), "name", {"missing", "expected a name"}},
      {BuiltinJob("\"bank\"", "\"latest\""), "name", {"means the newest job"}},
      {BuiltinJob("\"bank\"", "\"bank data\""), "name", {"\"bank data\"", "expected at most 63 letters"}},
      {BuiltinJob("\"bank\"", "\"" + std::string(64, 'a') + "\""), "name", {"at most 63"}},
      {BuiltinJob("\"seed\"", "\"working_directory\": \"here\", \"seed\""),
       "working_directory",
       {"\"here\"", "absolute"}},
      {CommandJob("\"command\": [\"python3\", \"train.py\"],", ""),
       "trainer",
       {"no program", "builtin, command or external"}},
      {CommandJob("[\"python3\", \"train.py\"]", "[\"\"]"),
       "trainer.command[0]",
       {"empty", "expected a program"}},
      {CommandJob("\"train.py\"", "\"{{rat}}\""), "trainer.command[1]", {"{{rat}}", "did you mean rate?"}},
      {CommandJob(metrics, "\"metrics\": []"),
       "trainer.metrics",
       {"missing", "expected at least one metric"}},
      {CommandJob("loss=([0-9.e+-]+)", "loss=([0-9"), "trainer.metrics[0].regex", {"loss=([0-9", "RE2"}},
      {CommandJob("loss=([0-9.e+-]+)", "loss="), "trainer.metrics[0].regex", {"0 groups", "exactly one"}},
      {CommandJob("loss=([0-9.e+-]+)", "(l)oss=(.)"),
       "trainer.metrics[0].regex",
       {"2 groups", "exactly one"}},
      {CommandJob("epoch ([0-9]+)", "epoch [0-9]+"),
       "trainer.resource_regex",
       {"0 groups", "resource level"}},
      {CommandJob("[{\"name\": \"loss\"", "[{\"name\": \"loss\", \"regex\": \"(.)\"}, {\"name\": \"loss\""),
       "trainer.metrics[1].name",
       {"\"loss\"", "defined twice"}},
      {CommandJob("OMP_NUM_THREADS", "WINNOW_SEED"), "trainer.environment.WINNOW_SEED", {"Winnow itself"}},
      {CommandJob("OMP_NUM_THREADS", "RANK"), "trainer.environment.RANK", {"set by Winnow itself"}},
      {CommandJob("OMP_NUM_THREADS", "1X"), "trainer.environment.1X", {"not a variable's name"}},
      {CommandJob(R"("OMP_NUM_THREADS": "1")", "\"API_KEY\": \"(hidden)\""),
       "trainer.environment.API_KEY",
       {"\"(hidden)\"", "expected its value"}},
      {CommandJob("\"environment\"", R"("secrets": {"RANK": "key"}, "environment")"),
       "trainer.secrets.RANK",
       {"set by Winnow itself"}},
      {CommandJob("\"environment\"", R"("secrets": {"WINNOW_RENDEZVOUS_SECONDS": "key"}, "environment")"),
       "trainer.secrets.WINNOW_RENDEZVOUS_SECONDS",
       {"set by Winnow itself"}},
      {CommandJob("\"environment\"", R"("secrets": {"OMP_NUM_THREADS": "key"}, "environment")"),
       "trainer.secrets.OMP_NUM_THREADS",
       {"is in trainer.environment too"}},
      {CommandJob("\"environment\"", R"("secrets": {"KEY": "../key"}, "environment")"),
       "trainer.secrets.KEY",
       {"\"../key\"", "letters, digits"}},
      {CommandJob("\"5s\"", "\"-5s\""), "trainer.grace_period", {"-5s", "expected 0s to 3600s"}},
      {BuiltinJob("\"builtin\": \"gbdt\"", "\"builtin\": \"gbdt\", \"resource_offset\": 1"),
       "trainer.resource_offset",
       {"expected none"}},
      {BuiltinJob("{\"path\": \"train.csv\", \"label\": \"y\"}", "{}"), "channels.train.path", {"missing"}},
      {BuiltinJob("\"train\": {", "\"test\": {\"path\": \"a\"}, \"train\": {"),
       "channels.test",
       {"not a channel of gbdt", "expected train, validation"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"format\": \"xls\", "),
       "channels.train.format",
       {"\"xls\"", "expected one of auto, csv, libsvm"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"header\": \"maybe\", "),
       "channels.train.header",
       {"\"maybe\"", "yes"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"separator\": \"x\", "),
       "channels.train.separator",
       {"\"x\"", "tab"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"distribution\": \"split\", "),
       "channels.train.distribution",
       {"\"split\"", "expected one of replicated, sharded"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"mode\": \"stream\", "),
       "channels.train.mode",
       {"\"stream\"", "expected one of file, pipe"}},
      {BuiltinJob("train.csv", "gs://bucket/train.csv"),
       "channels.train.path",
       {"another scheme", "expected http://, https:// or s3://"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"sha256\": \"12\", "),
       "channels.train.sha256",
       {"only with the URL of one file"}},
      {BuiltinJob("\"path\": \"train.csv\"", R"("path": "https://host/a.csv", "sha256": "12")"),
       "channels.train.sha256",
       {"\"12\"", "64 lower-case"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"endpoint\": \"https://host\", "),
       "channels.train.endpoint",
       {"only with a path that begins with s3://"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"max_levels\": -1, "),
       "channels.train.max_levels",
       {"-1", "at least 1"}},
      {BuiltinJob("\"train\": {", "\"train\": {\"validation_fraction\": 0.2, "),
       "channels.train.validation_fraction",
       {"0.2", "channel validation", "one of the two"}},
      {BuiltinJob("\"validation\": {", "\"validation\": {\"validation_fraction\": 1.5, "),
       "channels.validation.validation_fraction",
       {"1.5", "less than 1"}},
      {CommandJob("\"static", "\"channels\": {\"a b\": {\"path\": \"x\"}}, \"static"),
       "channels.a b",
       {"\"a b\"", "not a channel's name"}},
  });
}

TEST_CASE("Malformed job files: hyperparameters and ranges", "[spec]") {
  const std::string eta = "\"name\": \"eta\", \"continuous\": {\"min\": 0, \"max\": 1}";
  CheckCases({
      {CommandJob(
           "[{\"name\": \"rate\", \"continuous\": {\"min\": 0.001, \"max\": 1, \"scaling\": \"LOG\"}}]",
           "[]"),
       "parameters",
       {"empty", "at least one"}},
      {CommandJob("\"name\": \"rate\", ", ""), "parameters[0].name", {"empty"}},
      {CommandJob("\"rate\"", "\"my rate\""), "parameters[0].name", {"\"my rate\"", "letters, digits"}},
      {CommandJob("\"rate\"", "\"batch\""),
       "parameters[0].name",
       {"\"batch\"", "static_hyperparameters too"}},
      {CommandJob("[{\"name\": \"rate\"", "[{\"name\": \"rate\", \"integer\": {}}, {\"name\": \"rate\""),
       "parameters[1].name",
       {"\"rate\"", "declared twice"}},
      {BuiltinJob(", \"continuous\": {\"min\": 0, \"max\": 1}", ""),
       "parameters[1]",
       {"no range", "one of integer, continuous, discrete, categorical"}},
      {BuiltinJob("\"min\": 100, \"max\": 200", "\"min\": 200, \"max\": 100"),
       "parameters[0].integer.min",
       {"200", "max = 100", "min <= max"}},
      {BuiltinJob("{\"min\": 0, \"max\": 1}", "{\"min\": 0.9, \"max\": 0.1}"),
       "parameters[1].continuous.min",
       {"0.9", "max = 0.1", "min <= max"}},
      {CommandJob("\"min\": 0.001", "\"min\": 0"), "parameters[0].continuous.min", {"0", "LOG", "min > 0"}},
      {CommandJob("\"min\": 0.001", "\"min\": \"NaN\""), "parameters[0].continuous.min", {"nan", "finite"}},
      {CommandJob("\"max\": 1,", "\"max\": \"Infinity\","),
       "parameters[0].continuous.max",
       {"inf", "finite"}},
      {CommandJob("\"LOG\"", "\"REVERSE_LOG\""),
       "parameters[0].continuous.max",
       {"1", "REVERSE_LOG", "max < 1"}},
      {BuiltinJob("[\"hist\", \"exact\"]", "[]"),
       "parameters[2].categorical.values",
       {"empty", "at least one"}},
      {BuiltinJob("[\"hist\", \"exact\"]", "[\"hist\", \"hist\"]"),
       "parameters[2].categorical.values[1]",
       {"\"hist\"", "listed twice"}},
      {BuiltinJob("[\"hist\", \"exact\"]", "[\"hist\", \"gpu\"]"),
       "parameters[2].categorical.values[1]",
       {"\"gpu\"", "one of hist, exact"}},
      {BuiltinJob("\"eta\"", "\"etta\""), "parameters[1].name", {"\"etta\"", "did you mean eta?"}},
      {BuiltinJob("{\"min\": 0, \"max\": 1}", "{\"min\": 0, \"max\": 1.5}"),
       "parameters[1].continuous.max",
       {"1.5", "eta is a number of at least 0 and at most 1"}},
      {BuiltinJob(eta, "\"name\": \"learning_rate\", \"continuous\": {\"min\": 0, \"max\": 1.5}"),
       "parameters[1].continuous.max",
       {"1.5", "learning_rate is a number of at least 0 and at most 1"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"huber_slope\": 1e-300"),
       "static_hyperparameters.huber_slope",
       {"\"1e-300\"", "more than 0", "also when rounded to a 32-bit float"}},
      {BuiltinJob("\"eta\"", "\"subsample\""), "parameters[1].continuous.min", {"0", "more than 0"}},
      {BuiltinJob("\"eta\"", "\"max_depth\""),
       "parameters[1].continuous",
       {"\"max_depth\"", "whole number", "an integer range"}},
      {BuiltinJob("\"min\": 100", "\"min\": 0"),
       "parameters[0].integer.min",
       {"0", "num_round", "at least 1"}},
      {BuiltinJob(eta, "\"name\": \"num_class\", \"integer\": {}"),
       "parameters[1].name",
       {"\"num_class\"", "cannot be tuned"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"gama\": 1"),
       "static_hyperparameters.gama",
       {"\"gama\"", "did you mean gamma?"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"max_depth\": 6.5"),
       "static_hyperparameters.max_depth",
       {"\"6.5\"", "whole number"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"lambda\": -1"),
       "static_hyperparameters.lambda",
       {"\"-1\"", "at least 0"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"learning_rate\": 0.1"),
       "parameters[1].name",
       {"\"eta\"", "\"learning_rate\"", "one of the two"}},
      {BuiltinJob("\"binary:logistic\"", "\"survival:cox\""),
       "static_hyperparameters.objective",
       {"\"survival:cox\"", "binary:logistic"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc\", \"base_score\": 2"),
       "static_hyperparameters.base_score",
       {"\"2\"", "more than 0 and less than 1 with objective binary:logistic"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc,ams\""),
       "static_hyperparameters.eval_metric",
       {"\"ams\"", "expected one of auc, aucpr"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc,ndcg@0\""),
       "static_hyperparameters.eval_metric",
       {"\"ndcg@0\"", "expected a whole number in [1, 1000000] behind @"}},
      {BuiltinJob("\"eval_metric\": \"auc\"", "\"eval_metric\": \"auc,merror\""),
       "static_hyperparameters.eval_metric",
       {"\"merror\"", "expected another metric than mlogloss", "with objective binary:logistic"}},
  });
}

TEST_CASE("Malformed job files: objective, strategy and limits", "[spec]") {
  CheckCases({
      {BuiltinJob("\"validation:auc\"", "\"\""), "objective.metric", {"empty", "name of a metric"}},
      {BuiltinJob("\"validation:auc\"", "\"validation:rmse\""),
       "objective.metric",
       {"\"validation:rmse\"", "it prints train:auc, validation:auc", "eval_metric"}},
      {BuiltinJob(", \"validation\": {\"path\": \"validation.csv\", \"label\": \"y\"}", ""),
       "objective.metric",
       {"\"validation:auc\"", "expected a channel validation"}},
      {CommandJob("\"metric\": \"loss\"", "\"metric\": \"accuracy\""),
       "objective.metric",
       {"\"accuracy\"", "it prints loss"}},
      {BuiltinJob(", \"goal\": \"MAXIMIZE\"", ""), "objective.goal", {"missing", "MAXIMIZE or MINIMIZE"}},
      {BuiltinJob("\"HYPERBAND\"", "\"RANDOM\""),
       "hyperband",
       {"RANDOM", "expected strategy HYPERBAND or BOHB", "{kind: HYPERBAND}"}},
      {CommandJob("\"RANDOM\"", "\"HYPERBAND\""),
       "hyperband.max_resource",
       {"missing", "expected 1 to 1000000000"}},
      {BuiltinJob("\"max_resource\": 30", "\"max_resource\": -3"),
       "hyperband.max_resource",
       {"-3", "expected 1"}},
      {BuiltinJob("\"min_resource\": 1", "\"min_resource\": 31"),
       "hyperband.min_resource",
       {"31", "max_resource = 30"}},
      {BuiltinJob("\"min_resource\": 1", "\"min_resource\": -1"),
       "hyperband.min_resource",
       {"-1", "at least 1"}},
      {BuiltinJob("\"reduction_factor\": 3", "\"reduction_factor\": 1"),
       "hyperband.reduction_factor",
       {"1", "expected 2 to 1000000000"}},
      {BuiltinJob("\"reduction_factor\": 3", "\"reduction_factor\": 4611686018427387904"),
       "hyperband.reduction_factor",
       {"4611686018427387904", "expected 2 to 1000000000"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": -30"), "limits.max_trials", {"-30", "expected 0"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trials\": 2000000"),
       "limits.max_trials",
       {"2000000", "1000000"}},
      {BuiltinJob("\"max_parallel_trials\": 4", "\"max_parallel_trials\": -4"),
       "limits.max_parallel_trials",
       {"-4", "expected 0"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_trial_resource\": 20"),
       "limits.max_trial_resource",
       {"20", "hyperband.max_resource instead"}},
      {BuiltinJob("\"max_trials\": 30", "\"max_attempts\": 101"), "limits.max_attempts", {"101", "1 to 100"}},
      {CommandJob("\"max_trials\": 10", "\"max_parallel_trials\": 1"),
       "limits",
       {"would never end", "max_trials, max_total_resource, max_wall_time or max_node_seconds"}},
      {CommandJob("\"max_trials\": 10", "\"max_total_resource\": 10"),
       "limits.max_total_resource",
       {"10", "limits.max_trial_resource"}},
      {CommandJob("\"max_trials\": 10", "\"max_total_resource\": 10, \"max_trial_resource\": 20"),
       "limits.max_total_resource",
       {"10", "at least the 20 units"}},
      {CommandJob("\"max_trials\": 10", "\"max_trials\": 10, \"max_wall_time\": \"400000000s\""),
       "limits.max_wall_time",
       {"4", "expected 0s to 315360000s"}},
      {CommandJob("\"strategy\"", "\"cluster\": {\"nodes\": 65}, \"strategy\""),
       "cluster.nodes",
       {"65", "1 to 64"}},
      {BuiltinJob("\"seed\": 1729", "\"seed\": 9223372036854775808"),
       "seed",
       {"9223372036854775808", "at most 9223372036854775807"}},
  });
}

TEST_CASE("Malformed job files: no text of a job holds a NUL character, wherever it is", "[spec]") {
  const std::string metric = "{\"name\": \"loss\", ";
  CheckCases({
      {CommandJob("\"name\": \"script\"", "\"name\": \"script\", \"working_directory\": \"/w\\u0000\""),
       "working_directory",
       {"holds a NUL character; expected none"}},
      {CommandJob(metric, "{\"name\": \"a\\u0000b\", \"regex\": \"a=([0-9]+)\"}, " + metric),
       "trainer.metrics[0].name",
       {"holds a NUL character"}},
      {CommandJob("loss=(", "loss\\u0000=("), "trainer.metrics[0].regex", {"holds a NUL character"}},
      {CommandJob("\"train.py\"", "\"train\\u0000.py\""), "trainer.command[1]", {"holds a NUL character"}},
      {CommandJob("\"OMP_NUM_THREADS\": \"1\"", "\"OMP_NUM_THREADS\": \"\\u0000\""),
       "trainer.environment.OMP_NUM_THREADS",
       {"holds a NUL character"}},
      {CommandJob("\"batch\": 32", "\"batch\": \"3\\u00002\""),
       "static_hyperparameters.batch",
       {"holds a NUL character"}},
      {CommandJob("\"strategy\"", "\"channels\": {\"train\": {\"path\": \"/d\\u0000\"}}, \"strategy\""),
       "channels.train.path",
       {"holds a NUL character"}},
      {CommandJob("\"strategy\"", "\"note\": \"\\u0000\", \"strategy\""), "note", {"holds a NUL character"}},
  });
  for (const std::string& file :
       {CommandJob("\"command\"", "\"source\": \"s\\u0000\", \"command\""),
        CommandJob("\"strategy\"", "\"warm_start\": {\"jobs\": [\"a\\u0000\"]}, \"strategy\"")}) {
    const auto violations = Violations(file);
    CHECK(std::count_if(violations.begin(), violations.end(), [](const Violation& violation) {
            return violation.description == "holds a NUL character; expected none";
          }) == 1);
  }
  ParsedJobFile job = ParseJobFile(CommandJob());
  (*job.spec.mutable_channels())[std::string("a\0b", 3)].set_path("/d");
  const std::string listed = Listed(CheckSpec(job.spec));
  CHECK(listed.find("has a NUL character in its name; expected none") != std::string::npos);
}

// They are in a key of the reports, and no database has room for keys of any length.
TEST_CASE("Malformed job files: names of metrics are short", "[spec]") {
  const std::string metric = "{\"name\": \"loss\", ";
  const auto named = [&metric](size_t bytes) {
    return CommandJob(
        metric, "{\"name\": \"" + std::string(bytes, 'x') + "\", \"regex\": \"a=([0-9]+)\"}, " + metric);
  };
  const std::string endless(8000, 'x');
  CheckCases({
      {named(8000), "trainer.metrics[0].name", {"has 8000 bytes", "expected at most 255"}},
      {named(256), "trainer.metrics[0].name", {"has 256 bytes", "expected at most 255"}},
      {CommandJob("\"metric\": \"loss\"", "\"metric\": \"" + endless + "\""),
       "objective.metric",
       {"has 8000 bytes", "expected at most 255"}},
      {ExternalJob("\"strategy\": \"RANDOM\", \"metric_constraints\": [{\"metric\": \"" + endless +
                   "\", \"at_most\": 1}]"),
       "metric_constraints[0].metric",
       {"has 8000 bytes", "expected at most 255"}},
  });
  CHECK(Listed(Violations(named(255))) == "");
}

TEST_CASE("Malformed job files: everything wrong is said in one answer", "[spec]") {
  const auto violations = Violations(R"({
    "name": "two words",
    "trainer": {"builtin": "xgb", "command": ["x"]},
    "parameters": [
      {"name": "a", "integer": {"min": 2, "max": 1}},
      {"name": "a", "continuous": {"min": -1, "max": 1, "scaling": "LOG"}},
      {"name": "b"}
    ],
    "objective": {},
    "limits": {"max_trials": -1},
    "cluster": {"nodes": 100}
  })");
  const std::string listed = Listed(violations);
  CAPTURE(listed);
  for (const char* field :
       {"name", "trainer", "trainer.builtin", "trainer.metrics", "parameters[0].integer.min",
        "parameters[1].name", "parameters[1].continuous.min", "parameters[2]", "objective.metric",
        "objective.goal", "limits.max_trials", "cluster.nodes"}) {
    CAPTURE(field);
    CHECK(std::count_if(violations.begin(), violations.end(),
                        [field](const Violation& v) { return v.field == field; }) == 1);
  }
  CHECK(violations.size() == 12);
}

TEST_CASE("Malformed job files: every wrong type and field is said in one answer", "[spec]") {
  const auto violations = Violations(R"({"nam": 1, "seed": "x", "trainer": {"command": 5, "resumes": 1},
    "limits": {"max_trials": [], "max_wall_time": "soon"}, "strategy": "BEST"})");
  CHECK(Listed(violations) ==
        "nam: unknown field in the job file; did you mean name?\n"
        "seed: is \"x\"; expected a whole number\n"
        "trainer.command: is 5; expected a list […]\n"
        "trainer.resumes: is 1; expected true or false\n"
        "limits.max_trials: is []; expected a whole number\n"
        "limits.max_wall_time: is \"soon\"; expected a duration in seconds such as \"90s\" or \"0.5s\"\n"
        "strategy: is \"BEST\"; expected one of RANDOM, HYPERBAND, GRID, BAYESIAN, ASHA, BOHB, FREEZE_THAW, "
        "PBT\n");
}

}  // namespace
}  // namespace winnow
