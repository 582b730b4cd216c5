#pragma once

#include <string>
#include <vector>

#include "scheduler/state/facts.h"

namespace winnow {

// Results of earlier work that a job starts with.
struct WarmStart {
  std::vector<EarlierResult> earlier;
  // "41 results used: 20 from job a-1, 21 from study.db; 3 left out: 2 with eta outside its range, 1 without
  // a value."
  // "": the spec names no earlier work.
  std::string text;
};

}  // namespace winnow
