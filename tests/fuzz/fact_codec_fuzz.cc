// Facts and configurations in the tables' form: kind, trial and detail.

#include "server/engine/answers/fact_text.h"
#include "store/fact_codec.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  constexpr std::string_view kKinds[] = {
      "reported",          "attempt_started",   "attempt_ended", "checkpoint_lost", "stop_requested",
      "wall_time_reached", "prior_observed",    "suggested",     "trial_created",   "trial_resumed",
      "trial_paused",      "trial_ended",       "rung_cut",      "bracket_ended",   "completion_met",
      "job_ended",         "node_time_reached", "noticed"};
  fuzz::Input input(data, size);
  const std::string kind(kKinds[input.Below(std::size(kKinds))]);
  const TrialNumber trial = input.Number();
  const std::string detail(input.rest());
  if (const absl::StatusOr<Configuration> configuration = DecodeConfiguration(detail); configuration.ok()) {
    const std::string written = EncodeConfiguration(*configuration);
    const absl::StatusOr<Configuration> again = DecodeConfiguration(written);
    fuzz::Require(again.ok() && EncodeConfiguration(*again) == written, "a configuration comes back");
  }
  const absl::StatusOr<Fact> fact = DecodeFact({kind, trial, detail});
  if (!fact.ok()) return 0;
  const StoredFact stored = EncodeFact(*fact);
  fuzz::Require(stored.kind == kind, "a fact stays of its kind");
  const absl::StatusOr<Fact> again = DecodeFact(stored);
  fuzz::Require(again.ok() && EncodeFact(*again).detail == stored.detail,
                "a fact comes back as it was written");
  fuzz::Require(!FactText(*fact, {"auc"}).empty(), "a fact can be told");
  return 0;
}
