#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "scheduler/state/facts.h"

namespace winnow {

// A row of the table `events`. Doubles keep every bit, including NaN and infinities.
struct StoredFact {
  std::string kind;       // reported, attempt_started, trial_created …
  TrialNumber trial = 0;  // 0: a fact of the job
  std::string detail;     // JSON object; without the trial
};

std::string_view FactKind(const Fact& fact);
StoredFact EncodeFact(const Fact& fact);
// DATA_LOSS names the error in the row.
absl::StatusOr<Fact> DecodeFact(const StoredFact& stored);

// A JSON list: integers without, reals with a decimal point or exponent, categories as strings.
std::string EncodeConfiguration(const Configuration& configuration);
absl::StatusOr<Configuration> DecodeConfiguration(std::string_view json);

}  // namespace winnow
