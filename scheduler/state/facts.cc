#include "scheduler/state/facts.h"

#include <algorithm>
#include <bit>

#include "scheduler/space/space.h"

namespace winnow {
namespace {

bool Same(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  const double* real = std::get_if<double>(&a);
  return real != nullptr ? Identical(*real, std::get<double>(b)) : a == b;
}

bool Same(const Reported& a, const Reported& b) {
  return a.trial == b.trial && a.attempt == b.attempt && a.resource == b.resource &&
         Identical(a.objective, b.objective);
}
bool Same(const AttemptStarted& a, const AttemptStarted& b) {
  return a.trial == b.trial && a.attempt == b.attempt && a.from == b.from && a.to == b.to;
}
bool Same(const AttemptEnded& a, const AttemptEnded& b) {
  return a.trial == b.trial && a.attempt == b.attempt && a.outcome == b.outcome && a.reason == b.reason &&
         a.started_us == b.started_us && a.ended_us == b.ended_us;
}
bool Same(const CheckpointLost& a, const CheckpointLost& b) { return a.trial == b.trial; }
bool Same(const StopRequested& a, const StopRequested& b) { return a.reason == b.reason; }
bool Same(const TimeLimitReached& a, const TimeLimitReached& b) { return a.limit == b.limit; }
bool Same(const PriorObserved& a, const PriorObserved& b) {
  return Identical(a.configuration, b.configuration) && Identical(a.objective, b.objective) &&
         a.resource == b.resource && a.source == b.source;
}
bool Same(const Noticed& a, const Noticed& b) {
  return a.trial == b.trial && a.kind == b.kind && a.text == b.text;
}
bool Same(const Suggested& a, const Suggested& b) {
  return a.trial == b.trial && Identical(a.configuration, b.configuration) && a.based_on == b.based_on &&
         a.why == b.why && a.rule == b.rule && a.to == b.to &&
         std::equal(a.model.begin(), a.model.end(), b.model.begin(), b.model.end(),
                    [](double x, double y) { return Identical(x, y); });
}
bool Same(const TrialCreated& a, const TrialCreated& b) {
  return a.trial == b.trial && Identical(a.configuration, b.configuration) && a.bracket == b.bracket &&
         a.rung == b.rung && a.to == b.to && a.why == b.why;
}
bool Same(const TrialResumed& a, const TrialResumed& b) {
  return a.trial == b.trial && a.rung == b.rung && a.to == b.to && a.reason == b.reason;
}
bool Same(const TrialPaused& a, const TrialPaused& b) {
  return a.trial == b.trial && a.resource == b.resource;
}
bool Same(const TrialEnded& a, const TrialEnded& b) {
  return a.trial == b.trial && a.end == b.end && a.reason == b.reason;
}
bool Same(const RungCut& a, const RungCut& b) {
  return a.bracket == b.bracket && a.rung == b.rung && a.resource == b.resource && a.ranking == b.ranking &&
         a.promoted == b.promoted && Identical(a.cutoff, b.cutoff);
}
bool Same(const BracketEnded& a, const BracketEnded& b) {
  return a.bracket == b.bracket && a.reason == b.reason;
}
bool Same(const CompletionMet& a, const CompletionMet& b) {
  return a.reason == b.reason && a.nothing_left == b.nothing_left;
}
bool Same(const JobEnded& a, const JobEnded& b) { return a.end == b.end && a.reason == b.reason; }

struct Describer {
  static std::string OfTrial(const char* kind, TrialNumber trial) {
    return std::string(kind) + " of trial " + std::to_string(trial);
  }
  static std::string Text(const Configuration& configuration) {
    std::string text;
    for (const Value& value : configuration) text += (text.empty() ? " (" : ", ") + ValueToString(value);
    return text.empty() ? text : text + ")";
  }
  static std::string To(int64_t to) { return to == 0 ? "its own end" : std::to_string(to); }

  std::string operator()(const Reported& f) const {
    return OfTrial("Reported", f.trial) + ", attempt " + std::to_string(f.attempt) + ", at resource " +
           std::to_string(f.resource);
  }
  std::string operator()(const AttemptStarted& f) const {
    return OfTrial("AttemptStarted", f.trial) + ", attempt " + std::to_string(f.attempt) + ", from " +
           std::to_string(f.from) + " to " + To(f.to);
  }
  std::string operator()(const AttemptEnded& f) const {
    return OfTrial("AttemptEnded", f.trial) + ", attempt " + std::to_string(f.attempt) + ": " + f.reason;
  }
  std::string operator()(const CheckpointLost& f) const { return OfTrial("CheckpointLost", f.trial); }
  std::string operator()(const StopRequested& f) const { return "StopRequested: " + f.reason; }
  std::string operator()(const TimeLimitReached& f) const {
    return f.limit == TimeLimit::kWall ? "TimeLimitReached: wall time" : "TimeLimitReached: node time";
  }
  std::string operator()(const PriorObserved& f) const { return "PriorObserved of " + f.source; }
  std::string operator()(const Noticed& f) const { return OfTrial("Noticed", f.trial) + ": " + f.text; }
  std::string operator()(const Suggested& f) const {
    return OfTrial("Suggested", f.trial) + ", based on fact " + std::to_string(f.based_on) +
           Text(f.configuration) + ": " + f.why;
  }
  std::string operator()(const TrialCreated& f) const {
    return OfTrial("TrialCreated", f.trial) + ", bracket " + std::to_string(f.bracket) + ", to " + To(f.to) +
           Text(f.configuration);
  }
  std::string operator()(const TrialResumed& f) const {
    return OfTrial("TrialResumed", f.trial) + ", rung " + std::to_string(f.rung) + ", to " + To(f.to);
  }
  std::string operator()(const TrialPaused& f) const {
    return OfTrial("TrialPaused", f.trial) + " at resource " + std::to_string(f.resource);
  }
  std::string operator()(const TrialEnded& f) const {
    return OfTrial("TrialEnded", f.trial) + ": " + f.reason;
  }
  std::string operator()(const RungCut& f) const {
    return "RungCut of bracket " + std::to_string(f.bracket) + ", rung " + std::to_string(f.rung) + ": " +
           std::to_string(f.promoted) + " of " + std::to_string(f.ranking.size()) + " go on";
  }
  std::string operator()(const BracketEnded& f) const {
    return "BracketEnded of bracket " + std::to_string(f.bracket) + ": " + f.reason;
  }
  std::string operator()(const CompletionMet& f) const { return "CompletionMet: " + f.reason; }
  std::string operator()(const JobEnded& f) const { return "JobEnded: " + f.reason; }
};

}  // namespace

FactBody ToBody(const Decision& decision) {
  return std::visit([](const auto& d) -> FactBody { return d; }, decision);
}

bool Identical(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool Identical(const Configuration& a, const Configuration& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Same(a[i], b[i])) return false;
  }
  return true;
}

bool Identical(const FactBody& a, const FactBody& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&b](const auto& x) { return Same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
}

std::string Describe(const FactBody& body) { return std::visit(Describer(), body); }

}  // namespace winnow
