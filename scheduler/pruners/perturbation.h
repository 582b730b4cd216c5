#pragma once

#include <string>

#include "scheduler/space/space.h"
#include "scheduler/space/types.h"

namespace winnow {

// The configuration of trial `number`, which goes on from the checkpoint of a trial of configuration
// `origin`: each value is drawn anew with probability 1/4, and otherwise moved. A number of a LOG range is
// multiplied by 0.8 or 1.25, of another range moved by a tenth of it, an integer by at least 1; discrete
// values and ordered categories are replaced by a neighbour. Other categories stay as they are unless drawn
// anew. Keeps the constraints: one of 100 tries that does, else `origin`. A function of the job's seed and
// the number. What a changed range leaves out of `origin` is first the nearest value that may be tried; a
// category is drawn anew.
Configuration Perturbed(const SearchSpec& spec, const SearchSpace& space, const Configuration& origin,
                        TrialNumber number);

// What differs: "eta 0.12 -> 0.0960, max_depth 6 -> 7"; "unchanged hyperparameters" if nothing does.
std::string ChangeText(const SearchSpec& spec, const Configuration& from, const Configuration& to);

}  // namespace winnow
