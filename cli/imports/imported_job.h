#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::cli::imports {

using OrderedJson = nlohmann::ordered_json;

// The job file that was made of another program's, and what of that it does not say.
struct ImportedJob {
  OrderedJson job = OrderedJson::object();
  std::vector<std::string> left_out;  // "earlyStopping: why"
  std::string earlier_results;        // a table for warm_start.csv_files; "": none

  void LeaveOut(const std::string& what, const std::string& why);
  // Adds a static hyperparameter: lists and objects as their JSON; null has no value to pass.
  void AddStatic(const std::string& name, const OrderedJson& value, const std::string& what);
  // Adds each member of `object` to left_out whose name is not in `known`; `path` goes before the name.
  void LeaveOutOthers(const OrderedJson& object, const std::vector<std::string>& known,
                      const std::string& path, const std::string& why);
};

// Each reads a file of the named program. INVALID_ARGUMENT: it is not one, and what was expected.
//
// `definition`: of a tuning job with several definitions of training jobs, the name of the one that becomes
// the job, as winnow-server --sagemaker makes a job of each; "": the first.
absl::StatusOr<ImportedJob> ImportSagemakerJob(const OrderedJson& described, const OrderedJson& training_jobs,
                                               const std::string& definition);
absl::StatusOr<ImportedJob> ImportKatibExperiment(const OrderedJson& experiment);
absl::StatusOr<ImportedJob> ImportWandbSweep(const OrderedJson& sweep);
absl::StatusOr<ImportedJob> ImportRaySpace(const OrderedJson& space);
absl::StatusOr<ImportedJob> ImportOptunaSpace(const OrderedJson& space);

// JSON or YAML as JSON: numbers and booleans are what they look like unless they are quoted.
// INVALID_ARGUMENT: it is neither, is nested too deeply, or has too many values.
absl::StatusOr<OrderedJson> ReadYaml(const std::string& text);

// ---- for the functions above

// A member's text or number as text; "" if it has none.
std::string TextOf(const OrderedJson& object, const std::string& member);
// The member, or an empty object.
const OrderedJson& MemberOf(const OrderedJson& object, const std::string& member);
// "MAXIMIZE" or "MINIMIZE" of a member that says max or minimize, in any case; MINIMIZE if there is none.
// INVALID_ARGUMENT: it says something else; `path` names it.
absl::StatusOr<std::string> GoalOf(const OrderedJson& object, const std::string& member,
                                   const std::string& path);
// A number, also of a text.
bool NumberOf(const OrderedJson& value, double& number);
// Returns the integer of a job file: without the fraction, and within what an integer can be.
int64_t WholeOf(double number);

// {"name": …, "integer"/"continuous": {"min", "max", "scaling"}}; `scaling` "": LINEAR.
OrderedJson NumberParameter(const std::string& name, bool integer, double least, double most,
                            const std::string& scaling);
// "discrete" if all values are numbers, else "categorical".
OrderedJson ListParameter(const std::string& name, const OrderedJson& values);
// least, least + step, … up to most, as a list parameter; nothing for more than 1,000 values.
OrderedJson SteppedValues(double least, double most, double step);

}  // namespace winnow::cli::imports
