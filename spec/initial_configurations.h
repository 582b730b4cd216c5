#pragma once

#include <string>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The spec's own initial configurations in their order, then the built-in trainer's portfolio if
// `use_portfolio` is set. Numbers of the portfolio are moved to the nearest value in their range. A
// configuration of the portfolio is left out if it is already there, if a text is not among a category's
// values, or if it breaks a constraint. `search` holds the space.
std::vector<Configuration> InitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search);

// The reasons why the spec's own initial configurations are not points of the space. Constraints are not
// checked. REQUIRES: the names in `search` are valid.
std::vector<Violation> CheckInitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search);

// The same for one configuration, whose path in messages is `at`.
std::vector<Violation> CheckConfiguration(const v1::InitialConfiguration& given, const SearchSpec& search,
                                          const std::string& at);
// REQUIRES: CheckConfiguration finds nothing.
Configuration ReadConfiguration(const v1::InitialConfiguration& given, const SearchSpec& search);

}  // namespace winnow
