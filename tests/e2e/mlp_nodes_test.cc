// A job of winnow-mlp on images under HYPERBAND, on one node and on two: learning rates that diverge fail
// with where they did and count as the worst, and both jobs report the same to the last digit.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/hash.h"
#include "checkout.h"
#include "tests/catch.h"
#include "tests/cli/process.h"
#include "tests/e2e/job_client.h"
#include "tests/support/server_process.h"
#include "tests/trainers/data/idx_samples.h"

namespace winnow {
namespace {

constexpr int kSide = 6, kClasses = 3;

// Images of noise, of which the rows of a third are lighter: which third is the label.
void WriteImages(const std::string& folder, uint32_t images) {
  std::string pixels, labels;
  for (uint32_t image = 0; image < images; ++image) {
    const auto label = static_cast<int>(HashOf(1, image) % kClasses);
    labels += static_cast<char>(label);
    for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
      const bool light = pixel / (kSide * kSide / kClasses) == label;
      pixels += static_cast<char>(HashOf(2, image, static_cast<uint64_t>(pixel)) % 128 + (light ? 100 : 0));
    }
  }
  std::ofstream(folder + "/train-images-idx3-ubyte", std::ios::binary)
      << Idx(8, {images, kSide, kSide}, pixels);
  std::ofstream(folder + "/train-labels-idx1-ubyte", std::ios::binary) << Idx(8, {images}, labels);
}

struct Outcome {
  v1::TuningJob job;
  JobRecord record;
  std::map<int64_t, std::string> reasons;  // by number of a trial that failed
};

Outcome RunJob(int nodes) {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "2", "--slots", "1"});
  WriteImages(server.folder(), 400);
  v1::TuningJobSpec spec = SpecFromJson(R"({
    "name": "images", "trainer": {"builtin": "mlp"},
    "channels": {"train": {"path": "train-images-idx3-ubyte", "validationFraction": 0.25}},
    "static_hyperparameters": {"loss": "mse", "hidden_layers": "16", "batch_size": "48", "momentum": "0.5"},
    "parameters": [{"name": "learning_rate", "continuous": {"min": 0.001, "max": 1000, "scaling": "LOG"}}],
    "objective": {"metric": "validation:loss", "goal": "MINIMIZE"},
    "strategy": "HYPERBAND", "hyperband": {"min_resource": 1, "max_resource": 9, "reduction_factor": 3},
    "limits": {"max_parallel_trials": 1}, "seed": 5})");
  spec.set_working_directory(server.folder());
  spec.mutable_cluster()->set_nodes(nodes);
  JobClient client(server.Client());
  const std::string id = client.Create(spec);
  Outcome outcome;
  outcome.job = client.WatchToEnd(id, [](const auto&) {});
  INFO(server.log());
  CHECK(outcome.job.state() == v1::TuningJob::COMPLETED);
  outcome.record = client.Record(id, "validation:loss");
  for (const auto& [number, trial] : outcome.record.trials) {
    if (trial.state != "FAILED") continue;
    const Result shown = RunWinnow({"describe", id, std::to_string(number), "-o", "json"}, server.address());
    outcome.reasons[number] = nlohmann::json::parse(shown.out)["trial"]["state_reason"];
  }
  return outcome;
}

TEST_CASE("HYPERBAND over learning rates that diverge: the same on one node and on two", "[e2e]") {
  const Outcome one = RunJob(1), two = RunJob(2);
  REQUIRE_FALSE(one.reasons.empty());
  for (const auto& [number, reason] : one.reasons) {
    INFO(number);
    CHECK_THAT(reason, Catch::Matches(".*loss is (nan|inf) (at|after) epoch [0-9].*learning_rate = .*"));
  }
  REQUIRE(one.record.trials.contains(one.record.best_trial));
  CHECK(one.record.trials.at(one.record.best_trial).state == "COMPLETED");
  CHECK(one.record.best_objective < 0.3);
  CHECK(one.record.duplicates.empty());
  CHECK(one.record.trials == two.record.trials);
  CHECK(one.record.best_trial == two.record.best_trial);
  CHECK(one.record.best_objective == two.record.best_objective);
  CHECK(one.reasons.size() == two.reasons.size());
}

}  // namespace
}  // namespace winnow
