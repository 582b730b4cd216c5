#pragma once

#include <memory>

#include "bench/search/families.h"

namespace winnow {

// A family whose levels are repeats of a training: level k is the k-th seed or fold. The value of a
// configuration is `base`'s at its last level, whatever the repeat. What is observed has two errors more,
// both normal, with deviations of a fifth of the distance from the median configuration to the optimum: one
// that all configurations have in the same repeat (a hard fold), and one of its own. max_resource() is 5.
std::unique_ptr<Family> MakeRepeated(std::unique_ptr<Family> base);

}  // namespace winnow
