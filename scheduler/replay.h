#pragma once

#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/facts.h"

namespace winnow {

// Where a job's record differs from what its observed facts call for.
struct Mismatch {
  int64_t sequence = 0;  // 0: none
  std::string recorded;
  std::string expected;

  bool ok() const { return sequence == 0; }
};

// Whether sentences are compared too, which another version may word otherwise.
enum class Wording { kCompared, kIgnored };

// Decides everything again from the observed facts in their recorded order: each decision must stand
// where it stands and be the same bit for bit, each placement must be the one that was due, and the record
// must not break off between a fact and its decisions. Answers with the first difference. REQUIRES a valid
// spec.
Mismatch Verify(const SearchSpec& spec, const std::vector<Fact>& facts, Wording wording = Wording::kCompared);

}  // namespace winnow
