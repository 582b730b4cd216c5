// winnow run: a job without a job file.

#include <re2/re2.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kNoServer[] = "127.0.0.1:1";

Result RunPrinted(std::vector<std::string> words) {
  words.insert(words.begin(), {"run", "--print", "--metric", "loss"});
  return RunWinnow(words, kNoServer);
}

}  // namespace

TEST_CASE("run: 0:1 is two integers, and a note says how to write the numbers between them", "[cli]") {
  for (const std::string range : {"--dropout=0:1", "0:1"}) {
    const Result result = RunPrinted({"--", "train", "--dropout", range});
    CHECK(result.code == 0);
    CHECK(result.err == "note: 0:1 is the integers 0 and 1; the numbers between them are 0:1:real\n");
    CHECK(json::parse(result.out)["parameters"][0]["integer"]["max"] == 1);
  }
  CHECK(RunPrinted({"--", "train", "--dropout", "0:1:real"}).err.empty());
}

TEST_CASE("run: a list of words is no range, and a note says how to write a choice", "[cli]") {
  for (const std::string list : {"--penalty=l1,l2", "l1,l2"}) {
    const Result result = RunPrinted({"--", "train", "--rate", "0:2:real", "--penalty", list});
    CHECK(result.code == 0);
    CHECK(result.err == "note: the program gets l1,l2 as it is; to try each value, write choice:l1,l2\n");
    CHECK(json::parse(result.out)["parameters"].size() == 1);
  }
  for (const std::string other : {"choice:l1,l2", "64,64", "a/b,c", "l1,", "l1"})
    CHECK(RunPrinted({"--", "train", "--rate", "0:2:real", "--penalty", other}).err.empty());
}

TEST_CASE("run: ranges of a command line become hyperparameters of a job file", "[cli]") {
  const Result result = RunPrinted({"--trials",
                                    "7",
                                    "--max-resource",
                                    "27",
                                    "--",
                                    "python3",
                                    "some/train.py",
                                    "--lr",
                                    "1e-4:0.1:log",
                                    "--layers=1:6",
                                    "momentum=0:0.99",
                                    "--dropout",
                                    "0:1:real",
                                    "--optimizer",
                                    "choice:adam,sgd",
                                    "--data",
                                    "a:b",
                                    "--seed",
                                    "7",
                                    "-v"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json job = json::parse(result.out);
  CHECK(job["name"] == "train");
  CHECK(job["trainer"]["command"] ==
        json({"python3", "some/train.py", "--lr", "{{lr}}", "--layers={{layers}}", "momentum={{momentum}}",
              "--dropout", "{{dropout}}", "--optimizer", "{{optimizer}}", "--data", "a:b", "--seed", "7",
              "-v"}));
  CHECK(job["parameters"] ==
        json::parse(R"([{"name": "lr", "continuous": {"min": 1e-4, "max": 0.1, "scaling": "LOG"}},
                        {"name": "layers", "integer": {"min": 1, "max": 6}},
                        {"name": "momentum", "continuous": {"min": 0.0, "max": 0.99}},
                        {"name": "dropout", "continuous": {"min": 0.0, "max": 1.0}},
                        {"name": "optimizer", "categorical": {"values": ["adam", "sgd"]}}])"));
  CHECK(job["objective"] == json({{"metric", "loss"}, {"goal", "MINIMIZE"}}));
  CHECK(job["limits"]["max_trials"] == 7);
  CHECK(job["hyperband"]["max_resource"] == 27);
}

TEST_CASE("run: a value that is no finite number is found as R, Java and Python's JSON write it", "[cli]") {
  const json job = json::parse(RunPrinted({"--", "train", "--lr", "0.1:1"}).out);
  const RE2 expression(job["trainer"]["metrics"][0]["regex"].get<std::string>());
  for (const char* value : {"nan", "-nan", "NaN", "inf", "-Inf", "Infinity", "0.5", "-1e-05"}) {
    std::string found;
    CHECK(RE2::PartialMatch(std::string("{\"epoch\": 1, \"loss\": ") + value + ", \"acc\": 1}", expression,
                            &found));
    CHECK(found == value);
  }
  CHECK_FALSE(RE2::PartialMatch("loss: information", expression));
}

TEST_CASE("run: a metric is not found at the end of a longer name", "[cli]") {
  const json job = json::parse(RunPrinted({"--", "train", "--lr", "0.1:1"}).out);
  const RE2 expression(job["trainer"]["metrics"][0]["regex"].get<std::string>());
  for (const char* line : {"[3]\ttrain-loss:0.9\tloss:0.5", "{'train/loss': 0.9, 'loss': 0.5}",
                           "train_loss=0.9 train.loss=0.9 loss=0.5", "(loss: 0.5)", "loss 0.9 [loss=0.5]"}) {
    INFO(line);
    std::string found;
    CHECK(RE2::PartialMatch(line, expression, &found));
    CHECK(found == "0.5");
  }
}

TEST_CASE("run: the job is sent, with the directory in which it was typed", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const Result result = RunWinnow({"run", "--metric", "acc", "--maximize", "--detach", "--name", "mine", "--",
                                   "/bin/true", "--lr", "0.1:1"},
                                  service.address());
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Catch::Contains("Watch it with: winnow watch"));
  CHECK(service.created.spec().name() == "mine");
  CHECK(service.created.spec().objective().goal() == v1::MAXIMIZE);
  CHECK(service.created.spec().working_directory() == std::filesystem::current_path().string());
}

TEST_CASE("run: into the project of the flag, else of the environment", "[cli]") {
  FakeService service;
  service.jobs = {RunningJob()};
  const auto project = [&](std::vector<std::string> words, const std::vector<std::string>& environment) {
    words.insert(words.begin(), {"run", "--metric", "acc", "--detach"});
    words.insert(words.end(), {"--", "/bin/true", "--lr", "0.1:1"});
    Process process(words, service.address(), Process::Io::kPipes, environment);
    CHECK(process.Wait() == 0);
    INFO(process.err());
    return service.created.project();
  };
  CHECK(project({}, {"WINNOW_PROJECT=vision"}) == "vision");
  CHECK(project({"--project", "speech"}, {"WINNOW_PROJECT=vision"}) == "speech");
  CHECK(project({}, {}).empty());
}

TEST_CASE("run: what is no job is refused before the server is asked", "[cli]") {
  struct Case {
    std::vector<std::string> words;
    const char* told;
  };
  const std::vector<Case> cases = {
      {{"--", "train.py", "--lr", "1:6", "--rate=0:1:lin"}, "\"lin\" is neither log nor real"},
      {{"--", "train.py", "--lr", "1:6", "--rate", "0:1:Log"}, "\"Log\" is neither log nor real"},
      {{"--", "train.py", "--lr", "0.1"}, "no argument of the program is a range"},
      {{"--", "train.py", "0.1:1"}, "0.1:1 is a range without a name"},
      {{"--", "train.py", "--lr", "0:1", "--lr", "1:2"}, "two ranges are named lr"},
      {{"--", "train.py", "--kind", "choice:"}, "choice: has no values; expected a range such as choice:a"},
      {{"--", "train.py", "kind=choice:"}, "kind=choice: has no values"},
      {{"--", "train.py", "--lr", "1:0.5"}, "the job has 1 problem; nothing was sent"},
      {{"--", "train.py", "--lr", "0:1:log"}, "the job has"},
      {{}, "PROGRAM is required"},
  };
  for (const Case& c : cases) {
    INFO(c.told);
    const Result result = RunPrinted(c.words);
    INFO(result.err);
    CHECK(result.code != 0);
    CHECK(result.out.empty());
    CHECK(result.err.find(c.told) != std::string::npos);
  }
  CHECK_THAT(RunWinnow({"run", "--", "a", "--lr", "0:1"}, kNoServer).err,
             Catch::Contains("--metric is required"));
}

}  // namespace winnow
