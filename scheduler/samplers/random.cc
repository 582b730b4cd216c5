#include "scheduler/samplers/random.h"

#include "scheduler/random.h"
#include "scheduler/space.h"

namespace winnow {

Configuration RandomConfiguration(const SearchSpec& spec, TrialNumber number) {
  std::vector<double> unit;
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    unit.push_back(RandomUnit(spec.seed, number, Purpose::kConfiguration, i));
  }
  return SearchSpace(spec.parameters).FromUnit(unit);
}

Configuration RandomSampler::Suggest(const JobState& state, TrialNumber number) const {
  return RandomConfiguration(state.spec(), number);
}

}  // namespace winnow
