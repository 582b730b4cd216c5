#include "server/engine/answers/fact_text.h"

#include <fmt/format.h>

#include <cmath>

#include "scheduler/space/range_change.h"

namespace winnow {
namespace {

std::string Because(const std::string& reason) { return reason.empty() ? "." : ": " + reason; }

// " by ana: too slow."
std::string By(const std::string& by, const std::string& why) {
  const std::string words = (by.empty() ? "" : " by " + by) + Because(why);
  return words.ends_with('.') ? words : words + ".";
}

// Returns a phrase for the level up to which a trial may train.
std::string Budget(int64_t to) {
  return to > 0 ? fmt::format("to resource {}", to) : std::string("to the trainer's own end");
}

struct Teller {
  const std::vector<std::string>& metrics;
  TrialPhase state;

  std::string operator()(const Reported& f) const {
    return fmt::format("Trial {} reported {} = {:.6g} at resource {}.", f.trial,
                       metrics[static_cast<size_t>(f.metric)], f.objective, f.resource);
  }
  std::string operator()(const AttemptStarted& f) const {
    return f.attempt == 1 ? fmt::format("Trial {} starts, to train {}.", f.trial, Budget(f.to))
                          : fmt::format("Trial {} starts attempt {} from resource {}, to train {}.", f.trial,
                                        f.attempt, f.from, Budget(f.to));
  }
  std::string operator()(const AttemptEnded& f) const {
    switch (f.outcome) {
      case AttemptOutcome::kFinished:
        return fmt::format("Trial {} finished attempt {}.", f.trial, f.attempt);
      case AttemptOutcome::kFailed:
        return fmt::format("Trial {} failed in attempt {}{}", f.trial, f.attempt, Because(f.reason));
      case AttemptOutcome::kLost:
        return fmt::format("Trial {} lost attempt {}{}", f.trial, f.attempt, Because(f.reason));
      case AttemptOutcome::kHandedBack:
        return fmt::format("Trial {} was handed back in attempt {}{}", f.trial, f.attempt,
                           f.reason.empty() ? " by a worker that leaves." : Because(f.reason));
      case AttemptOutcome::kStopped:
        return fmt::format("Trial {} has stopped training in attempt {}.", f.trial, f.attempt);
    }
    return "";
  }
  std::string operator()(const CheckpointLost& f) const {
    return fmt::format(
        "Trial {} starts from scratch: no free worker has its checkpoint or its suspended program.", f.trial);
  }
  std::string operator()(const CheckpointTaken& f) const {
    return fmt::format("Trial {} has its own copy of the checkpoint that it goes on from.", f.trial);
  }
  std::string operator()(const StopRequested& f) const {
    return "The job is asked to stop" + Because(f.reason);
  }
  std::string operator()(const TimeLimitReached& f) const {
    switch (f.limit) {
      case TimeLimit::kWall:
        return "The job has reached its wall-time limit.";
      case TimeLimit::kNode:
        return "The job has reached its limit of node time.";
      case TimeLimit::kCost:
        return "The job has reached its limit of cost.";
    }
    return "";
  }
  std::string operator()(const JobPaused& f) const {
    return "The job is paused" + By(f.by, f.why) + " Nothing starts until it is resumed.";
  }
  std::string operator()(const JobResumed& f) const { return "The job is resumed" + By(f.by, f.why); }
  std::string operator()(const JobContinued& f) const { return "The job is continued" + By(f.by, f.why); }
  std::string operator()(const LimitsChanged& f) const {
    std::string limits;
    const auto add = [&limits](const char* name, auto value) {
      limits += fmt::format("{}{} = {}", limits.empty() ? "" : ", ", name, value);
    };
    if (f.max_trials > 0) add("max_trials", f.max_trials);
    if (f.max_parallel_trials > 0) add("max_parallel_trials", f.max_parallel_trials);
    if (f.max_total_resource > 0) add("max_total_resource", f.max_total_resource);
    if (f.max_wall_time_us > 0) add("max_wall_seconds", static_cast<double>(f.max_wall_time_us) / 1e6);
    if (f.max_node_time_us > 0) add("max_node_seconds", static_cast<double>(f.max_node_time_us) / 1e6);
    if (f.max_cost > 0) add("max_cost", f.max_cost);
    return fmt::format("The limits are now {}: changed{}", limits.empty() ? "none" : limits, By(f.by, f.why));
  }
  std::string operator()(const TrialStopRequested& f) const {
    return fmt::format("Trial {} is asked to stop{}", f.trial, By(f.by, f.why));
  }
  std::string operator()(const TrialKept& f) const {
    return fmt::format("Trial {} is {}{}", f.trial,
                       f.released ? "not kept from being pruned any more" : "kept from being pruned",
                       By(f.by, f.why));
  }
  std::string operator()(const ConfigurationEnqueued& f) const {
    return "A configuration is enqueued" + By(f.by, f.why);
  }
  std::string operator()(const SchedulingChanged& f) const {
    return fmt::format("The priority is now {}, and the weight {:g}: changed{}", f.priority, f.weight,
                       By(f.by, f.why));
  }
  std::string operator()(const RangeChanged& f) const {
    return fmt::format("{} now {}: changed{}",
                       f.listed ? fmt::format("The values of {} are", f.parameter)
                                : fmt::format("The range of {} is", f.parameter),
                       RangeText(f.values, f.listed), By(f.by, f.why));
  }
  std::string operator()(const EarlierResult& f) const {
    return fmt::format("Known from {}: {} = {:.6g}.", f.source, metrics[0], f.objective);
  }
  std::string operator()(const Noticed& f) const { return f.text; }
  std::string operator()(const Suggested& f) const {
    if (f.trial == 0) return fmt::format("The search model proposes no further training{}", Because(f.why));
    return fmt::format("The search model proposes {}trial {}{}", f.configuration.empty() ? "to resume " : "",
                       f.trial, Because(f.why));
  }
  std::string operator()(const TrialCreated& f) const {
    std::string where = f.bracket < 0 ? "" : fmt::format(" in bracket {}", f.bracket + 1);
    return fmt::format("Trial {} is created{}, to train {}{}", f.trial, where, Budget(f.to), Because(f.why));
  }
  std::string operator()(const TrialResumed& f) const {
    return fmt::format("Trial {} goes on, to train {}{}", f.trial, Budget(f.to), Because(f.reason));
  }
  std::string operator()(const TrialPaused& f) const {
    return fmt::format("Trial {} pauses at resource {}.", f.trial, f.resource);
  }
  std::string operator()(const TrialEnded& f) const {
    const char* how = f.end == TrialEnd::kCompleted     ? "is complete"
                      : f.end == TrialEnd::kFailed      ? "has failed"
                      : state == TrialPhase::kCancelled ? "was cancelled"
                                                        : "was pruned";
    return fmt::format("Trial {} {}{}", f.trial, how, Because(f.reason));
  }
  std::string operator()(const RungCut& f) const {
    std::string cutoff =
        std::isnan(f.cutoff) ? "" : fmt::format(" (cut-off {} = {:.6g})", metrics[0], f.cutoff);
    return fmt::format("Bracket {} is cut at resource {}: {} of {} trials go on{}.", f.bracket + 1,
                       f.resource, f.promoted, f.ranking.size(), cutoff);
  }
  std::string operator()(const BracketEnded& f) const {
    return fmt::format("Bracket {} is ended{}", f.bracket + 1, Because(f.reason));
  }
  std::string operator()(const CompletionMet& f) const {
    return (f.nothing_left ? "Nothing is left to train" : "The search is complete") + Because(f.reason);
  }
  std::string operator()(const JobEnded& f) const {
    const char* how = f.end == JobEnd::kCompleted ? "is complete"
                      : f.end == JobEnd::kStopped ? "was stopped"
                                                  : "has failed";
    return fmt::format("The job {}{}", how, Because(f.reason));
  }
};

}  // namespace

std::string FactText(const Fact& fact, const std::vector<std::string>& metrics, TrialPhase state) {
  return std::visit(Teller{metrics, state}, fact.body);
}

}  // namespace winnow
