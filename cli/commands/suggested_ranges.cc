#include "cli/commands/suggested_ranges.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "scheduler/space/range_change.h"
#include "scheduler/suggest_ranges.h"
#include "spec/checks/check_spec.h"
#include "spec/search_spec.h"
#include "spec/values.h"

namespace winnow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostJobs = 20;

bool SameObjective(const v1::ObjectiveSpec& a, const v1::ObjectiveSpec& b) {
  return a.metric() == b.metric() && a.goal() == b.goal();
}

std::string ObjectiveText(const v1::ObjectiveSpec& objective) {
  return fmt::format("{} {}", v1::Goal_Name(objective.goal()), Clean(objective.metric()));
}

// Whether the jobs tune a parameter of one name and kind.
bool ShareParameter(const v1::TuningJobSpec& a, const v1::TuningJobSpec& b) {
  return std::any_of(a.parameters().begin(), a.parameters().end(), [&b](const auto& mine) {
    return std::any_of(b.parameters().begin(), b.parameters().end(), [&mine](const auto& theirs) {
      return mine.name() == theirs.name() && mine.range_case() == theirs.range_case();
    });
  });
}

absl::StatusOr<std::vector<std::string>> NewestThatFit(Client& client, const v1::TuningJobSpec& spec) {
  const auto listed = client.List(0);
  if (!listed.ok()) return listed.status();
  std::vector<std::string> jobs;
  for (const v1::TuningJob& job : listed->jobs()) {
    const bool fits = HasEnded(job) && SameObjective(job.spec().objective(), spec.objective()) &&
                      ShareParameter(spec, job.spec());
    if (fits && jobs.size() < kMostJobs) jobs.push_back(job.id());
  }
  return jobs;
}

EarlierJob EarlierJobOf(const v1::GetAnalyticsResponse& answer, const v1::TuningJobSpec& spec) {
  const SearchSpec earlier = ToSearchSpec(answer.job().spec());
  EarlierJob job{answer.job().id(), earlier.goal, {}, {}};
  std::vector<bool> known;  // whether the earlier job has the parameter
  for (const v1::ParameterSpec& mine : spec.parameters()) {
    known.push_back(false);
    job.ranges.emplace_back();
    for (int i = 0; i < answer.job().spec().parameters_size(); ++i) {
      const v1::ParameterSpec& theirs = answer.job().spec().parameters(i);
      if (theirs.name() != mine.name() || theirs.range_case() != mine.range_case()) continue;
      known.back() = true;
      Range& range = job.ranges.back().emplace(earlier.parameters[static_cast<size_t>(i)].range);
      // What was tried before and after the range was changed.
      if (i >= answer.job().parameters_size()) continue;
      const v1::ParameterSpec& now = answer.job().parameters(i);
      if (now.range_case() == theirs.range_case()) range = Joined(range, ToRange(now));
    }
  }
  for (const v1::Trial& trial : answer.trials()) {
    if (!trial.has_value() || trial.state() == v1::Trial::FAILED) continue;
    EarlierTrial& added = job.trials.emplace_back();
    added.objective = trial.value();
    for (int i = 0; i < spec.parameters_size(); ++i) {
      // The server leaves out hyperparameters that are inactive in the trial.
      const auto& values = trial.hyperparameters();
      const auto value = std::find_if(values.begin(), values.end(), [&](const v1::HyperparameterValue& one) {
        return one.name() == spec.parameters(i).name();
      });
      const bool has = known[static_cast<size_t>(i)] && value != values.end();
      added.configuration.push_back(has ? FromProto(*value) : Value(Inactive{}));
    }
  }
  return job;
}

void SetRange(const Range& range, v1::ParameterSpec& parameter) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    parameter.mutable_integer()->set_min(integer->min);
    parameter.mutable_integer()->set_max(integer->max);
  } else if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    parameter.mutable_continuous()->set_min(real->min);
    parameter.mutable_continuous()->set_max(real->max);
  } else if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    parameter.mutable_discrete()->mutable_values()->Assign(discrete->values.begin(), discrete->values.end());
  } else {
    const auto& values = std::get<CategoricalRange>(range).values;
    parameter.mutable_categorical()->mutable_values()->Assign(values.begin(), values.end());
  }
}

Json ParametersJson(const v1::TuningJobSpec& spec) {
  Json parameters = Json::array();
  for (const v1::ParameterSpec& parameter : spec.parameters())
    parameters.push_back(Json::parse(ToJson(parameter, true)));
  return parameters;
}

}  // namespace

Exit ShowSuggestedRanges(Session& session, const v1::TuningJobSpec& spec,
                         const std::vector<std::string>& from) {
  std::vector<std::string> ids = from;
  if (ids.empty()) {
    auto fitting = NewestThatFit(session.client(), spec);
    if (!fitting.ok()) return fitting.status();
    ids = *std::move(fitting);
  }
  std::vector<EarlierJob> jobs;
  size_t trials = 0;
  for (const std::string& id : ids) {
    v1::GetAnalyticsResponse answer;
    const absl::Status status = session.client().Analytics(id, AddTo(answer));
    if (!status.ok()) return status;
    const v1::TuningJobSpec& theirs = answer.job().spec();
    if (!SameObjective(theirs.objective(), spec.objective())) {
      return absl::InvalidArgumentError(
          fmt::format("--from: job {} is to {}; expected one to {}, as this job file", answer.job().id(),
                      ObjectiveText(theirs.objective()), ObjectiveText(spec.objective())));
    }
    if (!ShareParameter(spec, theirs)) {
      return absl::InvalidArgumentError(
          fmt::format("--from: job {} tunes none of this job file's parameters; expected one with a "
                      "parameter of the same name and "
                      "kind",
                      answer.job().id()));
    }
    jobs.push_back(EarlierJobOf(answer, spec));
    trials += jobs.back().trials.size();
  }

  v1::TuningJobSpec changed = spec;
  Json changes = Json::array(), used = Json::array();
  for (const EarlierJob& job : jobs) used.push_back(job.id);
  std::string text = jobs.empty()
                         ? "No earlier job has the same objective and some of the same parameters.\n"
                         : fmt::format("From {} of {}: {}\n\n", Count(static_cast<int64_t>(trials), "trial"),
                                       Count(static_cast<int64_t>(jobs.size()), "job"),
                                       Clean(fmt::format("{}", fmt::join(used, ", "))));
  const std::vector<Parameter> parameters = ToSearchSpec(spec).parameters;
  for (const SuggestedRange& each : SuggestRanges(parameters, jobs)) {
    const Parameter& parameter = parameters[each.parameter];
    v1::TuningJobSpec with = changed;
    SetRange(each.range, *with.mutable_parameters(static_cast<int>(each.parameter)));
    const std::vector<Violation> violations = CheckSpec(with);
    std::string why = each.why;
    if (violations.empty()) {
      changed = std::move(with);
    } else {
      why += fmt::format(" Not changed, since then {} {}.", violations[0].field, violations[0].description);
    }
    const char* change = !violations.empty() ? "unchanged" : each.wider ? "wider" : "narrower";
    changes.push_back({{"parameter", parameter.name},
                       {"change", change},
                       {"from", RangeText(parameter.range)},
                       {"to", RangeText(violations.empty() ? each.range : parameter.range)},
                       {"why", why}});
    text += fmt::format("{}: {}, {} instead of {}\n", session.out.Paint(Style::kBold, Clean(parameter.name)),
                        change, Clean(RangeText(each.range)), Clean(RangeText(parameter.range)));
    text += session.out.Wrapped("  " + Clean(why) + "\n");
  }
  const Json json = ParametersJson(changed);
  if (session.output == Output::kJson) {
    session.out.Print(Json{{"jobs", used}, {"changes", changes}, {"parameters", json}}.dump(2) + "\n");
    return kSuccess;
  }
  if (changes.empty()) {
    session.out.Print(text + "Nothing speaks for other ranges.\n");
    return kSuccess;
  }
  session.out.Print(text + "\n\"parameters\": " + json.dump(2) + "\n");
  return kSuccess;
}

}  // namespace winnow::cli
