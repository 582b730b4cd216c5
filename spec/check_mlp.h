#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What a spec says of mlp's hyperparameters.
class MlpSettings {
 public:
  // REQUIRES: *spec lives longer.
  explicit MlpSettings(const v1::TuningJobSpec& spec) : spec_(spec) {}

  bool IsTuned(const char* name) const;
  bool IsGiven(const char* name) const;  // tuned or static, by either name
  // What all trials have: the static value, of words the choice that it means, or `otherwise`. nullopt: it is
  // tuned, or no legal choice.
  std::optional<std::string> Fixed(const char* name, const std::string& otherwise) const;
  std::optional<double> FixedNumber(const char* name, double otherwise) const;
  bool FixedIs(const char* name, const std::string& otherwise, const std::string& value) const {
    return Fixed(name, otherwise) == value;
  }
  // Of the widest trial.
  int64_t nodes() const;

 private:
  const v1::TuningJobSpec& spec_;
};

// Hyperparameters that do not go together in every trial, as trainers/mlp checks them. REQUIRES: the built-in
// trainer is mlp.
std::vector<Violation> CheckMlp(const v1::TuningJobSpec& spec);

}  // namespace winnow
